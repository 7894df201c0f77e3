"""The audit: silent about every honest run, never about one that was changed, cut, reordered or forged where that can be seen."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from forging import Forgery, broken, copied, events
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from lakes import BACKWARDS, LAKE, MIDDLE, NO_GOAL, NO_HOLES, NOWHERE, TRUE, UNFAITHFUL, Rivals
from minds import Scripted

from lawbook.arc.recording_io import export_run, import_recording
from lawbook.audit.report import AuditReport, audit_run
from lawbook.cli.main import main
from lawbook.core.hypothesis import Decision, Proposal
from lawbook.core.record import RESET, Action
from lawbook.core.results import Probe, RunOutcome
from lawbook.ledger.events import (
    AGENT_OP,
    COMMAND_OP,
    CONFINEMENT_PROBE,
    PERSON,
    CallEvent,
    EventKind,
    NoteEvent,
    RecordedConfinement,
)
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.runs.loops.memento3 import play
from lawbook.sandbox.host import Host
from lawbook.view import html_report


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, RunFolder]]:
    """Honest runs with everything in them, each with its report: refusals, falls, a reset, subgoals, probes, draws, a resume."""
    out = tmp_path_factory.mktemp("runs")
    probes = [Probe(Action(4), "an edge?"), MIDDLE, *[NOWHERE] * 3, Probe(Action(2), "more ice?"), Probe(Action(3), "the end?")]
    made: dict[str, RunFolder] = {}
    with Host() as host:

        def run(name: str, mind: Scripted, until: int = 10**6, **asked: Any) -> None:
            with start_run(RunConfig(LAKE, **asked), out / name, host=host, mind=mind) as (folder, session):
                if until == 10**6:
                    play(session)
                else:
                    session.propose(Proposal(Decision.REVISE_RULEBOOK, TRUE.rulebook, TRUE.files))
                    session.probe(Action(2), "?")
                made[name] = folder
            if until != 10**6:
                with resume_run(made[name], host=host, mind=mind) as session:
                    session.event_log.append(CallEvent(0, 0, COMMAND_OP, None, 0.1, {"command": "note"}))
                    session.event_log.append(NoteEvent("Mind the hole.", PERSON))
                    session.event_log.append(CallEvent(0, 1, AGENT_OP, None, 0.1, {"prompt": "brief 3"}))
                    held = RecordedConfinement("full", "namespaces")
                    session.event_log.append(NoteEvent("An agent is confined.", CONFINEMENT_PROBE, confinement=held))
                    play(session)
                    session.event_log.append(CallEvent(0, 2, AGENT_OP, None, 0.1, {"dollars": 0.1}))
            with Ledger.open(made[name].ledger, readonly=True) as ledger:
                made[name].report.write_text(html_report.render(ledger))

        run("eventful", Scripted([UNFAITHFUL, NO_HOLES, NO_GOAL], [*[NOWHERE] * 4, *probes]), budget=40)
        run("rivals", Rivals([TRUE, BACKWARDS]), population=2, seed=3)
        run("resumed", Scripted([TRUE]), until=1)
        run("vanilla", Scripted([], [Probe(Action(3), "?")]), protocol="vanilla", budget=12)
    yield made


def shaken(folder: RunFolder, **given: Any) -> AuditReport:
    return audit_run(folder, **given)


# -- honest runs -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["eventful", "rivals", "resumed", "vanilla"])
def test_an_honest_run_holds_in_every_line(runs: dict[str, RunFolder], name: str) -> None:
    found = audit_run(runs[name], strict=True)
    assert found.holds, [line for line in found.lines if line.ok is False]
    assert not found.findings
    lines = {line.name: line for line in found.lines}
    assert all(lines[one].ok for one in ("chain", "head", "intents", "plans", "predictions", "world", "programs", "memory"))
    told = events(runs[name])
    assert found.head == told[-1].hash and found.events == len(told)


def test_an_audit_counts_what_there_is(runs: dict[str, RunFolder]) -> None:
    facts = audit_run(runs["eventful"]).to_json()
    kinds = [event.kind for event in events(runs["eventful"])]
    assert (
        facts["actions"] == kinds.count(EventKind.INTEND)
        and facts["outcome"] == "won"
        and facts["calls"] == kinds.count(EventKind.CALL)
    )
    assert facts["seed"] == 0 and facts["hash_seeds"] == "0, 1" and facts["versions"][0]["lawbook"]
    assert facts["assisted"] is False and facts["resumed"] == 0


def test_a_person_who_spoke_and_calls_that_nobody_knows_are_told(runs: dict[str, RunFolder]) -> None:
    found = audit_run(runs["resumed"])
    assert found.holds and found.facts["assisted"] is True and found.facts["resumed"] == 1
    assert found.facts["prompts"] == ["brief 3"]
    said = {line.name: line.says for line in found.lines}
    assert "assisted" in said["help"] and "agents confined by namespaces (full)" in said["sandbox"]


def test_an_audit_leaves_the_folder_as_it_was(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    def seen(folder: RunFolder) -> dict[str, tuple[bytes, int]]:
        files = (path for path in folder.path.rglob("*") if path.is_file() and path.suffix not in (".sqlite-shm", ".sqlite-wal"))
        return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}

    before = seen(runs["eventful"])
    audit_run(runs["eventful"], strict=True)
    assert seen(runs["eventful"]) == before


@pytest.mark.slow
def test_a_run_that_was_imported_holds_and_its_lines_are_those_of_the_recording(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    export_run(runs["vanilla"], tmp_path / "lake.jsonl")
    folder = import_recording(tmp_path / "lake.jsonl", tmp_path / "runs")
    with Host() as host, resume_run(folder, host=host, mind=Scripted([TRUE])) as session:
        play(session)
    found = audit_run(folder, strict=True)
    assert found.holds, [line for line in found.lines if line.ok is False]

    def repainted(forgery: Forgery) -> None:
        body = forgery.pages[forgery.find(EventKind.OBSERVE, 2)].body
        frame = forgery.frame(body["frames"][-1])
        frame[0, 0] ^= 1
        body["frames"] = [forgery.put(frame)]

    forged = Forgery(folder)
    repainted(forged)
    assert "record" in broken(audit_run(forged.written(tmp_path / "forged")))


# -- rows changed, the hashes left alone ---------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=30, deadline=None, phases=[Phase.explicit, Phase.generate])  # an example costs a tenth of a second
@given(data=st.data())
def test_any_row_changed_dropped_moved_or_inserted_breaks_the_chain(runs: dict[str, RunFolder], data: st.DataObject) -> None:
    folder = runs["eventful"]
    told = events(folder)
    kind = data.draw(st.sampled_from(sorted({event.kind for event in told})))
    seq = data.draw(st.sampled_from([event.seq for event in told if event.kind is kind]))
    deed = data.draw(st.sampled_from(["change", "time", "drop", "swap", "insert", "kind"]))
    target = folder.path.parent / "tampered"
    shutil.rmtree(target, ignore_errors=True)
    work = copied(folder, target)
    with sqlite3.connect(work.ledger) as database:
        other = data.draw(st.integers(0, len(told) - 2).filter(lambda n: n != seq)) if len(told) > 2 else 0
        match deed:
            case "change":
                body = json.loads(database.execute("SELECT body FROM events WHERE seq = ?", (seq,)).fetchone()[0])
                name = data.draw(st.sampled_from(sorted(body)))
                body[name] = data.draw(
                    st.none() | st.integers(0, 9) | st.text(max_size=5) | st.lists(st.integers(0, 3), max_size=2)
                )
                if body == dict(told[seq].body):
                    return
                database.execute("UPDATE events SET body = ? WHERE seq = ?", (json.dumps(body), seq))
            case "time":
                database.execute("UPDATE events SET time = time + 1 WHERE seq = ?", (seq,))
            case "kind":
                database.execute("UPDATE events SET kind = ? WHERE seq = ?", ("note" if kind != "note" else "call", seq))
            case "drop":
                if seq == len(told) - 1:
                    return  # cutting off the end is another matter
                database.execute("DELETE FROM events WHERE seq = ?", (seq,))
            case "swap":
                for one, two in ((seq, -1), (other, seq), (-1, other)):
                    database.execute("UPDATE events SET seq = ? WHERE seq = ?", (two, one))
            case "insert":
                database.execute("UPDATE events SET seq = -seq WHERE seq > ?", (seq,))
                database.execute("UPDATE events SET seq = 1 - seq WHERE seq < 0")
                columns = "time, kind, body, stored, prev_hash, hash"
                database.execute(
                    f"INSERT INTO events (seq, {columns}) SELECT ?, {columns} FROM events WHERE seq = ?", (seq + 1, other)
                )
    assert "chain" in broken(shaken(work)), (deed, kind, seq)


def test_a_frame_that_was_repainted_breaks_the_chain(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    work = copied(runs["eventful"], tmp_path / "work")
    with sqlite3.connect(work.ledger) as database:
        one, two = database.execute("SELECT data FROM contents WHERE kind = 'frame' LIMIT 2").fetchall()
        database.execute("UPDATE contents SET data = ? WHERE data = ?", (*two, *one))
    assert "chain" in broken(audit_run(work))


@pytest.mark.parametrize("cut", [1, 2, 20])
def test_a_cut_off_end_shows_against_the_published_head(runs: dict[str, RunFolder], tmp_path: Path, cut: int) -> None:
    work = copied(runs["eventful"], tmp_path / "work")
    last = len(events(work)) - 1
    with sqlite3.connect(work.ledger) as database:
        database.execute("DELETE FROM events WHERE seq > ?", (last - cut,))
        used = sum(len(json.loads(stored)) for (stored,) in database.execute("SELECT stored FROM events"))
        database.execute("DELETE FROM contents WHERE key > ?", (used,))
    found = audit_run(work)
    assert "head" in broken(found) and "chain" not in broken(found)
    assert "head" in broken(audit_run(work, head=audit_run(runs["eventful"]).head))
    assert "head" not in broken(audit_run(work, head=found.head))


def test_the_head_of_a_pause_still_holds_after_the_run_went_on(runs: dict[str, RunFolder]) -> None:
    told = events(runs["eventful"])
    found = audit_run(runs["eventful"], head=told[10].hash)
    assert found.holds and "events old" in next(line.says for line in found.lines if line.name == "head")


def test_settings_that_were_changed_afterwards_show(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    work = copied(runs["eventful"], tmp_path / "work")
    work.toml.write_text(work.toml.read_text().replace("budget = 40", "budget = 50"))
    assert broken(audit_run(work)) == {"settings"}
    work.toml.write_text("nonsense")
    assert broken(audit_run(work)) == {"settings"}


# -- the memory ----------------------------------------------------------------------------------------------------------------


def git(folder: RunFolder, *arguments: str) -> str:
    who = ["-c", "user.name=x", "-c", "user.email=x"]
    return subprocess.run(["git", "-C", str(folder.memory), *who, *arguments], capture_output=True, text=True, check=True).stdout


def _edit(folder: RunFolder) -> None:
    (folder.memory / "m0" / "world_model.md").write_text("R1. Everything is well.\n")


def _amend(folder: RunFolder) -> None:
    git(folder, "commit", "--quiet", "--amend", "--message", "another reason")


def _commit(folder: RunFolder) -> None:
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "one more")


def _corrupt(folder: RunFolder) -> None:
    for pack in (folder.memory / ".git" / "objects").rglob("*.pack"):
        pack.chmod(0o600)
        content = bytearray(pack.read_bytes())
        content[len(content) // 2] ^= 255
        pack.write_bytes(bytes(content))
    for loose in (folder.memory / ".git" / "objects").glob("??/*"):
        loose.chmod(0o600)
        loose.write_bytes(b"nothing")


DEEDS: dict[str, Callable[[RunFolder], object]] = {
    "a file edited": _edit,
    "a file added": lambda folder: (folder.memory / "m0" / "more.py").write_text("x = 1\n"),
    "a file replaced by a link": lambda folder: (
        (folder.memory / "m0" / "world_model.md").unlink(),
        (folder.memory / "m0" / "world_model.md").symlink_to("/etc/passwd"),
    ),
    "a message rewritten": _amend,
    "a commit added": _commit,
    "a tag moved": lambda folder: git(folder, "tag", "--force", "m0-i1", "m0-i2"),
    "a tag dropped": lambda folder: git(folder, "tag", "--delete", "m0-i1"),
    "a tag added": lambda folder: git(folder, "tag", "m0-i9", "m0-i1"),
    "a branch added": lambda folder: git(folder, "branch", "other", "m0-i1"),
    "an object corrupted": _corrupt,
    "all of it gone": lambda folder: shutil.rmtree(folder.memory),
    "git's own part gone": lambda folder: shutil.rmtree(folder.memory / ".git"),
}


@pytest.mark.parametrize("deed", DEEDS)
def test_a_memory_that_was_altered_shows(runs: dict[str, RunFolder], tmp_path: Path, deed: str) -> None:
    work = copied(runs["eventful"], tmp_path / "work")
    DEEDS[deed](work)
    found = audit_run(work)
    assert broken(found) == {"memory"}, found.lines


def test_a_memory_that_was_altered_is_made_anew_from_the_ledger(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    work = copied(runs["eventful"], tmp_path / "work")
    _corrupt(work)
    assert main(["audit", str(work.path)]) == 1
    assert main(["audit", str(work.path), "--mend"]) == 0


def test_a_memory_cannot_make_an_audit_run_anything(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    """A run folder may come from a stranger: its git configuration, hooks and attributes are not obeyed."""
    work, proof = copied(runs["eventful"], tmp_path / "work"), tmp_path / "proof"
    hook = work.memory / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {proof}\n")
    hook.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "core.editor", "diff.external", "filter.x.clean", "filter.x.smudge", "alias.fsck"):
        git(work, "config", name, f"touch {proof}; cat" if name != "alias.fsck" else f"!touch {proof}")
    (work.memory / ".gitattributes").write_text("* filter=x\n")
    (work.memory / "m0" / "world_model.md").touch()
    assert "memory" in broken(audit_run(work)) and not proof.exists()


# -- forged: every hash recomputed -----------------------------------------------------------------------------------------------


def dropped(kind: EventKind, number: int = 0, **having: Any) -> Callable[[Forgery], None]:
    def change(forgery: Forgery) -> None:
        del forgery.pages[forgery.find(kind, number, **having)]

    return change


def doubled(kind: EventKind, number: int = 0, **having: Any) -> Callable[[Forgery], None]:
    def change(forgery: Forgery) -> None:
        place = forgery.find(kind, number, **having)
        forgery.pages.insert(place + 1, forgery.pages[place])

    return change


def swapped(kind: EventKind, number: int = 0, by: int = 1, **having: Any) -> Callable[[Forgery], None]:
    def change(forgery: Forgery) -> None:
        place, pages = forgery.find(kind, number, **having), forgery.pages
        pages[place], pages[place + by] = pages[place + by], pages[place]

    return change


def altered(kind: EventKind, number: int = 0, having: dict[str, Any] | None = None, **to: Any) -> Callable[[Forgery], None]:
    def change(forgery: Forgery) -> None:
        forgery.pages[forgery.find(kind, number, **(having or {}))].body.update(to)

    return change


def _fatal(forgery: Forgery) -> tuple[int, int, int]:
    """Where a prediction was announced that failed: INTEND, OBSERVE and VERDICT."""
    verdict = forgery.find(EventKind.VERDICT, about="prediction")
    return verdict - 2, verdict - 1, verdict


def _repaint(forgery: Forgery) -> None:
    """What was seen after a predicted action, in another colour."""
    place = forgery.find(EventKind.INTEND, 0, sort="plan") + 1
    body = forgery.pages[place].body
    frame = forgery.frame(body["frames"][-1])
    frame[-1, -1] ^= 1
    body["frames"] = [forgery.put(frame)]


def _hide_prediction(forgery: Forgery) -> None:
    """A wrong prediction made right, its verdict left."""
    intend, observe, _ = _fatal(forgery)
    seen = forgery.pages[observe].body
    forgery.pages[intend].body["predictions"] = {"0": [seen["frames"][-1], seen["status"]]}


def _other_mismatch(forgery: Forgery) -> None:
    *_, verdict = _fatal(forgery)
    forgery.pages[verdict].body["verdict"]["counterexample"]["step"] += 1


def _accept(forgery: Forgery) -> None:
    """A refusal by the judge, called an acceptance."""
    body = forgery.pages[forgery.find(EventKind.VERDICT, 0, about="proposal")].body
    assert body["verdict"]["outcome"] == "unfaithful"
    body["verdict"]["outcome"] = "admissible"


def _say_faithful(forgery: Forgery) -> None:
    _accept(forgery)
    body = forgery.pages[forgery.find(EventKind.VERDICT, 0, about="proposal")].body
    body["verdict"]["judgement"]["faithful"] = True


def _refuse(forgery: Forgery) -> None:
    places = [k for k, page in enumerate(forgery.pages) if page.kind is EventKind.VERDICT and page.body["about"] == "proposal"]
    body = next(forgery.pages[k].body for k in places if forgery.pages[k].body["verdict"]["outcome"] == "admissible")
    body["verdict"] |= {"outcome": "refused", "reason": "no", "judgement": None}


def _another_answer(forgery: Forgery) -> None:
    body = forgery.pages[forgery.find(EventKind.CALL, 0, op="propose")].body
    body["answer"]["diagnosis"] = "something else"


def _fake_plan(forgery: Forgery) -> None:
    body = forgery.pages[forgery.find(EventKind.PLAN, 0, reason=None)].body
    body["actions"] = [[3] for _ in body["actions"]]


def _unforeseen(forgery: Forgery) -> None:
    forgery.pages[forgery.find(EventKind.INTEND, 0, sort="plan")].body["predictions"] = {}


def _bigger_budget(forgery: Forgery) -> None:
    forgery.pages[0].body["run"]["budget"] = 10**6


def _see_no_plan(forgery: Forgery) -> None:
    """Instead of the plan that was found and drawn."""
    place = forgery.find(EventKind.DRAW, classes=[[0]])
    forgery.pages[place].body = {"classes": [], "drawn": None, "plan": None, "asked": [0]}
    del forgery.pages[place + 1 :]


def _ask_twice(forgery: Forgery) -> None:
    place = forgery.find(EventKind.DRAW, plan=None)
    forgery.pages.insert(place + 1, forgery.pages[place])


def _plan_an_end(forgery: Forgery) -> None:
    body = forgery.pages[forgery.find(EventKind.DRAW)].body
    body["ahead_statuses"] = ["over" for _ in body["ahead_statuses"]]


FORGERIES: dict[str, tuple[Callable[[Forgery], None], set[str]]] = {
    "an intent dropped": (dropped(EventKind.INTEND, 2), {"intents"}),
    "an observation dropped": (dropped(EventKind.OBSERVE, 2), {"intents"}),
    "an opening observation dropped": (dropped(EventKind.OBSERVE, 0), {"order"}),
    "the opening dropped": (dropped(EventKind.OPEN), {"order"}),
    "a mismatch dropped": (dropped(EventKind.VERDICT, about="prediction"), {"predictions"}),
    "a verdict dropped": (dropped(EventKind.VERDICT, 1, about="proposal"), {"plans"}),
    "a proposal dropped": (dropped(EventKind.PROPOSE, 1), {"verdicts"}),
    "an answer dropped": (dropped(EventKind.CALL, 1, op="judge"), {"order"}),
    "a plan dropped": (dropped(EventKind.PLAN, 0, reason=None), {"plans"}),
    "a draw dropped": (dropped(EventKind.DRAW), {"plans"}),
    "the end dropped": (dropped(EventKind.CLOSE), {"order"}),
    "an intent twice": (doubled(EventKind.INTEND, 1), {"intents"}),
    "an observation twice": (doubled(EventKind.OBSERVE, 1), {"intents"}),
    "a mismatch twice": (doubled(EventKind.VERDICT, about="prediction"), {"predictions"}),
    "a verdict twice": (doubled(EventKind.VERDICT, about="proposal"), {"verdicts"}),
    "the end twice": (doubled(EventKind.CLOSE), {"order"}),
    "the opening twice": (doubled(EventKind.OPEN), {"order"}),
    "a draw twice": (doubled(EventKind.DRAW), {"plans"}),
    "an answer twice": (doubled(EventKind.CALL, 0, op="propose"), {"order"}),
    "observed before it was announced": (swapped(EventKind.INTEND, 1), {"intents"}),
    "told before it was seen": (swapped(EventKind.VERDICT, by=-1, about="prediction"), {"predictions"}),
    "judged before it was proposed": (swapped(EventKind.PROPOSE, 0), {"order"}),
    "drawn before it was planned": (swapped(EventKind.PLAN, 0, reason=None), {"plans"}),
    "another action announced": (altered(EventKind.INTEND, 1, action=[1]), {"intents"}),
    "another action observed": (altered(EventKind.OBSERVE, 2, action=[1]), {"intents"}),
    "a prediction left out": (_unforeseen, {"intents"}),
    "a reason left out": (altered(EventKind.INTEND, 0, {"sort": "probe"}, question=""), {"intents"}),
    "a plan claimed by a probe": (altered(EventKind.INTEND, 0, {"sort": "probe"}, plan=3), {"plans"}),
    "a frame repainted": (_repaint, {"predictions"}),
    "a wrong prediction made right": (_hide_prediction, {"predictions"}),
    "a mismatch elsewhere": (_other_mismatch, {"predictions"}),
    "a mismatch of another kind": (altered(EventKind.VERDICT, 0, {"about": "prediction"}, about="explore"), {"predictions"}),
    "another trajectory": (altered(EventKind.OBSERVE, 3, trajectory=5), {"record"}),
    "another level": (altered(EventKind.OBSERVE, 1, level=3), {"record"}),
    "an action the world has not": (altered(EventKind.OBSERVE, 1, available=[1, 2, 77]), {"record"}),
    "a refusal called an acceptance": (_accept, {"verdicts"}),
    "and the judge said so": (_say_faithful, {"verdicts"}),
    "an acceptance called a refusal": (_refuse, {"verdicts"}),
    "another answer of the mind": (_another_answer, {"verdicts"}),
    "another plan than was followed": (_fake_plan, {"plans"}),
    "another status was planned": (_plan_an_end, {"plans"}),
    "fewer statuses were planned": (altered(EventKind.DRAW, ahead_statuses=[]), {"plans"}),
    "asked why there is no plan, and there was one": (_see_no_plan, {"plans"}),
    "asked twice why there is no plan": (_ask_twice, {"plans"}),
    "asked of nobody": (altered(EventKind.DRAW, 0, {"plan": None}, asked=[]), {"plans"}),
    "a plan of nobody": (altered(EventKind.PLAN, 0, {"reason": None}, actions=[]), {"plans"}),
    "another driver": (altered(EventKind.INTEND, 0, {"sort": "plan"}, question="another"), {"plans"}),
    "fewer actions were sent": (altered(EventKind.PROPOSE, 3, at=0), {"counts"}),
    "another ending": (altered(EventKind.CLOSE, outcome="budget"), {"order"}),
    "more was allowed": (_bigger_budget, {"settings"}),
    "nothing that a run writes": (altered(EventKind.INTEND, 1, predictions=7), {"order"}),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_chain_is_found_by_what_it_tells(runs: dict[str, RunFolder], tmp_path: Path, name: str) -> None:
    change, lines = FORGERIES[name]
    forgery = Forgery(runs["eventful"])
    change(forgery)
    found = audit_run(forgery.written(tmp_path / "forged"))
    assert "chain" not in broken(found), "the forger recomputed every hash"
    assert lines <= broken(found), (broken(found), [str(finding) for finding in found.findings])


@pytest.mark.slow
def test_a_forger_who_changes_nothing_is_not_accused(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    for name, folder in runs.items():
        found = audit_run(Forgery(folder).written(tmp_path / name), strict=True)
        assert found.holds and not found.findings, [str(finding) for finding in found.findings]


def test_a_draw_that_the_seed_did_not_make_is_found(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    forgery = Forgery(runs["rivals"])
    place = forgery.find(EventKind.DRAW, classes=[[0], [1]])
    body = forgery.pages[place].body
    plans = {page.body["member"]: page.was for page in forgery.pages[:place] if page.kind is EventKind.PLAN}
    body["drawn"] = 1 - body["drawn"]
    body["plan"] = plans[body["drawn"]]
    assert "plans" in broken(audit_run(forgery.written(tmp_path / "forged")))


# -- forged so that only running it again shows --------------------------------------------------------------------------------


def _bury(forgery: Forgery) -> None:
    """A mismatch that never was: prediction, verdict and the mind's repair are gone, and the version stands to the end."""
    intend, observe, verdict = _fatal(forgery)
    seen = forgery.pages[observe].body
    forgery.pages[intend].body["predictions"] = {"0": [seen["frames"][-1], seen["status"]]}
    draw = max(k for k in range(intend) if forgery.pages[k].kind is EventKind.DRAW)
    step = sum(page.kind is EventKind.INTEND for page in forgery.pages[draw:intend])
    planned = forgery.pages[draw].body
    planned["ahead"][step], planned["ahead_statuses"][step] = seen["frames"][-1], seen["status"]
    del forgery.pages[verdict:]


def _world_lies(forgery: Forgery) -> None:
    """An unpredicted frame in another colour."""
    place = next(k for k, p in enumerate(forgery.pages) if p.kind is EventKind.INTEND and not p.body["predictions"])
    body = forgery.pages[place + 1].body
    frame = forgery.frame(body["frames"][-1])
    frame[0, 0] ^= 1
    body["frames"] = [forgery.put(frame)]


def _better_program(forgery: Forgery) -> None:
    """The accepted text itself, rewritten where it was proposed and where the mind had answered it."""
    proposal = forgery.pages[forgery.find(EventKind.PROPOSE, 1)].body
    source = forgery.contents[proposal["files"]["world_model_engine.py"]][1].decode()
    name = forgery.put(source.replace("3: (0, 1)", "3: (0, -1)"))
    for page in forgery.pages:
        inside = page.body.get("answer") if page.kind is EventKind.CALL else page.body
        if isinstance(inside, dict) and inside.get("files") == proposal["files"] and page.body is not proposal:
            inside["files"] = {"world_model_engine.py": name}
    proposal["files"] = {"world_model_engine.py": name}


def test_a_mismatch_that_was_buried_with_all_its_traces_shows_when_the_version_is_run_again(
    runs: dict[str, RunFolder], tmp_path: Path
) -> None:
    forgery = Forgery(runs["eventful"])
    _bury(forgery)
    forged = forgery.written(tmp_path / "forged")
    assert not broken(audit_run(forged)) & {"chain", "order", "intents", "plans", "predictions", "verdicts"}
    assert "programs" in broken(audit_run(forged, strict=True))


def test_an_unpredicted_frame_that_was_repainted_shows_when_the_world_is_played_again(
    runs: dict[str, RunFolder], tmp_path: Path
) -> None:
    forgery = Forgery(runs["vanilla"])
    _world_lies(forgery)
    forged = forgery.written(tmp_path / "forged")
    found = audit_run(forged, strict=True)
    assert "world" in broken(found) and "other cells" in next(line.says for line in found.lines if line.name == "world")


def test_a_rewritten_program_shows_in_the_memory_and_when_it_is_run_again(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    forgery = Forgery(runs["eventful"])
    _better_program(forgery)
    found = audit_run(forgery.written(tmp_path / "forged"), strict=True)
    assert {"memory", "programs"} <= broken(found)


def test_a_full_rewrite_can_hide_a_persons_words_and_only_the_published_head_shows_it(
    runs: dict[str, RunFolder], tmp_path: Path
) -> None:
    """What docs/audit.md says an audit cannot see: who owns the machine can leave out what nothing else depends on."""
    forgery = Forgery(runs["resumed"])
    dropped(EventKind.NOTE, by="person")(forgery)
    forged = forgery.written(tmp_path / "forged")
    assert audit_run(forged, strict=True).holds
    assert broken(audit_run(forged, head=audit_run(runs["resumed"]).head)) == {"head"}


def test_a_world_that_cannot_be_had_or_shows_something_else_does_not_hold(tmp_path: Path) -> None:
    mind = Scripted([], [Probe(Action(1), "?"), Probe(Action(2), "the end?"), Probe(Action(1), "?")] * 10)
    config = RunConfig("py:fickle_worlds:SOURCE/fickle", protocol="vanilla", budget=30)
    with Host() as host, start_run(config, tmp_path, host=host, mind=mind) as (folder, session):
        assert play(session) is RunOutcome.NONDETERMINISTIC
    assert audit_run(folder, strict=True).holds  # it shows the same again when everything is sent again
    forgery = Forgery(folder)
    for page in forgery.pages:
        if page.kind is EventKind.OPEN:
            page.body["run"]["world"] = "py:fickle_worlds:SOURCE/gone"
    work = forgery.written(tmp_path / "forged")
    work.toml.write_text(work.toml.read_text().replace("SOURCE/fickle", "SOURCE/gone"))
    found = audit_run(work, strict=True)
    assert broken(found) == {"world"} and "cannot be played again" in next(
        line.says for line in found.lines if line.name == "world"
    )


# -- whatever is in it, a sentence ---------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 300) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(data=st.data())
def test_nonsense_with_good_hashes_is_told_and_crashes_nothing(runs: dict[str, RunFolder], data: st.DataObject) -> None:
    forgery = Forgery(runs[data.draw(st.sampled_from(["eventful", "resumed"]))])
    for _ in range(data.draw(st.integers(1, 3))):
        page = forgery.pages[data.draw(st.integers(0, len(forgery.pages) - 1))]
        where: Any = page.body
        while isinstance(where, dict) and where:
            name = data.draw(st.sampled_from(sorted(where)))
            if not isinstance(where[name], dict) or not where[name] or data.draw(st.booleans()):
                where[name] = data.draw(JSON)
                break
            where = where[name]
    target = runs["eventful"].path.parent / "nonsense"
    shutil.rmtree(target, ignore_errors=True)
    found = audit_run(forgery.written(target))
    assert found.lines and json.dumps(found.to_json())


# -- the command -----------------------------------------------------------------------------------------------------------------


def test_the_command_says_it_in_a_table_and_in_its_exit_code(
    runs: dict[str, RunFolder], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(runs["eventful"].path)
    assert main(["audit", path]) == 0
    said = capsys.readouterr().out
    assert "intents      ok" in said and "world        --" in said and "all that was looked at holds" in said
    assert main(["audit", path, "--strict", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["holds"] and told["strict"] and told["lines"]["world"]["ok"] is True
    work = copied(runs["eventful"], tmp_path / "work")
    with sqlite3.connect(work.ledger) as database:
        database.execute("UPDATE events SET time = time + 1 WHERE seq = 9")
    assert main(["audit", str(work.path)]) == 1
    assert "chain        NOT  Event 9 has been altered." in capsys.readouterr().out


def test_a_head_that_is_none_and_a_run_that_is_none_are_refused(
    runs: dict[str, RunFolder], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", str(runs["eventful"].path), "--head", "abc"]) == 2
    assert "64 hexadecimal digits" in capsys.readouterr().err
    assert main(["audit", str(tmp_path / "none")]) == 2


def test_resets_are_announced_with_their_reason(runs: dict[str, RunFolder]) -> None:
    intends = [
        event.body for event in events(runs["eventful"]) if event.kind is EventKind.INTEND and event.body["action"] == [RESET.id]
    ]
    assert intends and all(body["question"] for body in intends)
