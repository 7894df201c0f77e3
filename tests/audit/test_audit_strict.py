"""What only running it again shows: choices by what members foresee, plans that claim to be shortest, refusals by a judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from forging import Forgery, broken
from lakes import CORNER, LAKE, TRUE, UNFAITHFUL, Rivals
from minds import Scripted, replaced

from lawbook.audit.report import AuditReport, audit_run
from lawbook.core.hypothesis import Decision, Proposal
from lawbook.core.results import RunOutcome
from lawbook.ledger.events import EventKind
from lawbook.minds.base import Case
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.lifecycle import start_run
from lawbook.runs.loops.memento3 import play
from lawbook.sandbox.host import Host

STUCK = replaced(CORNER, "1: (0, -1), 2: (1, 0)", "1: (0, -1), 2: (0, 0)")
BELOW = replaced(TRUE, "return here(state) == 2  # R4", "return (state.row, state.column) == (0, 2)  # R4", ("code 2", "code 9"))
OTHER = replaced(BELOW, "1: (0, -1), 2: (1, 0)", "1: (0, -1), 2: (0, 0)")
"""Two goals, and two that do not believe that 2 goes down: that one action tells more than any plan."""


class Mumbling(Scripted):
    """Its first words are of no use."""

    def propose(self, case: Case) -> Proposal:
        if not case.history:
            return Proposal(Decision.REVISE_RULEBOOK, TRUE.rulebook, TRUE.files, "", "The reply could not be read; say it again.")
        return super().propose(case)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, RunFolder]]:
    """Honest runs: one with a draw and one with a trial by what members foresee, one whose judge refused, one that mumbled."""
    out, made = tmp_path_factory.mktemp("runs"), dict[str, RunFolder]()
    with Host() as host:
        for name, mind, asked in (
            ("drawn", Rivals([TRUE, CORNER]), {"population": 2, "policy": "disagree"}),
            ("tried", Rivals([CORNER, BELOW, STUCK, OTHER]), {"population": 4, "policy": "disagree"}),
            ("judged", Scripted([UNFAITHFUL, TRUE]), {}),
            ("mumbled", Mumbling([TRUE]), {}),
        ):
            with start_run(RunConfig(LAKE, **asked), out / name, host=host, mind=mind) as (folder, session):
                assert play(session) is RunOutcome.WON
                made[name] = folder
    yield made


def told(found: AuditReport, name: str) -> str:
    return next(line.says for line in found.lines if line.name == name)


def forged(folder: RunFolder, out: Path, *changes: Callable[[Forgery], None]) -> RunFolder:
    forgery = Forgery(folder)
    for change in changes:
        change(forgery)
    return forgery.written(out)


@pytest.mark.parametrize("name", ["drawn", "tried", "judged", "mumbled"])
def test_an_honest_run_holds_when_all_of_it_is_run_again(runs: dict[str, RunFolder], name: str) -> None:
    found = audit_run(runs[name], strict=True)
    assert found.holds and not found.findings, [str(finding) for finding in found.findings]
    assert "searched for again, none shorter" in told(found, "programs")
    assert ("by what members foresee" in told(found, "programs")) == (name in ("drawn", "tried"))


# -- what members foresee ------------------------------------------------------------------------------------------------------


def _first_draw(forgery: Forgery) -> dict[str, Any]:
    return next(p.body for p in forgery.pages if p.kind is EventKind.DRAW and len(p.body["classes"]) > 1)


def _draw_the_other(forgery: Forgery) -> None:
    """The other class of the first draw, with a plan of its own; the run ends there, before its first action."""
    body = _first_draw(forgery)
    place = next(k for k, p in enumerate(forgery.pages) if p.body is body)
    plans = {page.body["member"]: page.was for page in forgery.pages[:place] if page.kind is EventKind.PLAN}
    body["drawn"] = 1 - body["drawn"]
    body["plan"] = plans[body["classes"][body["drawn"]][0]]
    body["ahead"] = body["ahead_statuses"] = []
    del forgery.pages[place + 1 :]


def test_without_strict_it_says_that_choices_were_not_looked_at(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    assert "1 choice by what members foresee not looked at without --strict" in told(audit_run(runs["drawn"]), "plans")
    assert "not looked at" not in told(audit_run(runs["drawn"], strict=True), "plans")
    assert "foresee" not in told(audit_run(runs["judged"]), "plans")


def test_a_draw_that_members_do_not_dispute_most_is_found(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    work = forged(runs["drawn"], tmp_path / "forged", _draw_the_other)
    assert audit_run(work).holds or broken(audit_run(work)) == {"memory"}  # later versions stand in git
    found = audit_run(work, strict=True)
    assert "programs" in broken(found) and "members part most tellingly on" in told(found, "programs")


def _trial(forgery: Forgery) -> dict[str, Any]:
    page = forgery.pages[forgery.find(EventKind.INTEND)]
    assert page.body["sort"] == "probe" and "each side foresees" in page.body["question"]
    return page.body


def _ask_another(forgery: Forgery) -> None:
    _trial(forgery)["question"] = "What does action 2 show here? Of members 0 and 1, 2, 3 each side foresees something else."


def _send_another(forgery: Forgery) -> None:
    """Another action in the INTEND, nothing after it."""
    place = forgery.find(EventKind.INTEND)
    _trial(forgery)["action"] = [4]
    del forgery.pages[place + 1 :]


def _for_another(forgery: Forgery) -> None:
    _trial(forgery)["member"] = 3


@pytest.mark.parametrize("change", [_ask_another, _send_another, _for_another])
def test_a_trial_that_members_do_not_dispute_is_found(
    runs: dict[str, RunFolder], tmp_path: Path, change: Callable[[Forgery], None]
) -> None:
    found = audit_run(forged(runs["tried"], tmp_path / "forged", change), strict=True)
    assert "programs" in broken(found) and "they part otherwise" in told(found, "programs")


def _without_plans(forgery: Forgery) -> None:
    first = forgery.find(EventKind.INTEND)
    forgery.pages = [page for k, page in enumerate(forgery.pages) if k > first or page.kind is not EventKind.PLAN]


def test_a_trial_without_plans_that_part_is_found(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    found = audit_run(forged(runs["tried"], tmp_path / "forged", _without_plans))
    assert "plans" in broken(found) and "said to part" in told(found, "plans")


# -- shortest plans --------------------------------------------------------------------------------------------------------------


def _detour(forgery: Forgery) -> None:
    """The first plan with two idle actions before it (1 goes nowhere in the corner), called the shortest; nothing after it."""
    place = forgery.find(EventKind.PLAN)
    body = forgery.pages[place].body
    assert body["certified"] and body["method"] == "bfs"
    body["actions"] = [[1], [1], *body["actions"]]
    del forgery.pages[place + 1 :]


def test_a_plan_that_is_not_the_shortest_is_found_when_it_is_searched_for_again(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    work = forged(runs["judged"], tmp_path / "forged", _detour)
    assert audit_run(work).holds
    found = audit_run(work, strict=True)
    assert broken(found) == {"programs"} and "calls 8 actions the shortest plan; found again, it has 6" in told(found, "programs")


@pytest.mark.parametrize("lie", [{"method": "astar"}, {"method": "given"}, {"cut": "nodes"}, {"certified": 1}])
def test_a_search_that_cannot_know_a_shortest_plan_is_not_believed(
    runs: dict[str, RunFolder], tmp_path: Path, lie: dict[str, Any]
) -> None:
    def change(forgery: Forgery) -> None:
        forgery.pages[forgery.find(EventKind.PLAN)].body.update(lie)

    assert "plans" in broken(audit_run(forged(runs["judged"], tmp_path / "forged", change)))


def test_fewer_states_than_it_takes_do_not_find_it(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    def change(forgery: Forgery) -> None:
        forgery.pages[forgery.find(EventKind.PLAN)].body["nodes"] = 1

    found = audit_run(forged(runs["judged"], tmp_path / "forged", change), strict=True)
    assert broken(found) == {"programs"} and "does not find" in told(found, "programs")


# -- refusals ----------------------------------------------------------------------------------------------------------------------


def test_a_judge_is_asked_only_of_what_was_replayed_and_that_is_replayed_again(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    def change(forgery: Forgery) -> None:
        """The text that the judge refused, with another program: one that no replay would have let through to the judge."""
        proposal = forgery.pages[forgery.find(EventKind.PROPOSE)].body
        source = forgery.contents[proposal["files"]["world_model_engine.py"]][1].decode()
        name = forgery.put(source.replace("def render(", "def rendering("))
        files = dict(proposal["files"])
        for page in forgery.pages:
            inside = page.body.get("answer") if page.kind is EventKind.CALL else page.body
            if isinstance(inside, dict) and inside.get("files") == files:
                inside["files"] = {"world_model_engine.py": name}

    work = forged(runs["judged"], tmp_path / "forged", change)
    assert audit_run(work).holds
    assert "programs" in broken(audit_run(work, strict=True))


def test_an_answer_of_no_use_that_was_refused_as_such_is_honest_and_one_that_was_let_through_is_not(
    runs: dict[str, RunFolder], tmp_path: Path
) -> None:
    assert audit_run(runs["mumbled"]).holds

    def change(forgery: Forgery) -> None:
        for page in forgery.pages:
            inside = page.body.get("answer") if page.kind is EventKind.CALL else page.body
            if page.kind in (EventKind.CALL, EventKind.PROPOSE) and isinstance(inside, dict) and inside.get("decision"):
                inside["unusable"] = "The reply could not be read."

    found = audit_run(forged(runs["mumbled"], tmp_path / "forged", change))
    assert "verdicts" in broken(found) and "could not be read" in told(found, "verdicts")


# -- the sandbox -------------------------------------------------------------------------------------------------------------------


def _box(level: str, **facts: str) -> Callable[[Forgery], None]:
    def change(forgery: Forgery) -> None:
        box = forgery.pages[0].body["sandbox"]
        box["level"] = level
        box["facts"] |= facts

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_box("weak"), "calls a sandbox weak that was found full"),
        (_box("full", read="possible"), "calls a sandbox full that was found weak"),
        (_box("weak", read="possible"), "--weak-sandbox was not given"),
        (_box("weak", connect="possible"), "--weak-sandbox was not given"),
        (_box(""), "tells of no sandbox"),
    ],
)
def test_a_sandbox_that_did_not_hold_though_nobody_had_allowed_that_does_not_hold(
    runs: dict[str, RunFolder], tmp_path: Path, change: Callable[[Forgery], None], says: str
) -> None:
    found = audit_run(forged(runs["judged"], tmp_path / "forged", change))
    assert broken(found) == {"sandbox"} and says in told(found, "sandbox")


def test_a_weak_sandbox_that_was_asked_for_is_told_and_is_no_fault(tmp_path: Path) -> None:
    with Host(weak=True) as host:
        config = RunConfig(LAKE, weak_sandbox=True)
        with start_run(config, tmp_path / "runs", host=host, mind=Scripted([TRUE])) as (folder, session):
            assert play(session) is RunOutcome.WON
    work = forged(folder, tmp_path / "forged", _box("weak", read="possible"))
    (line,) = (line for line in audit_run(work).lines if line.name == "sandbox")
    assert line.ok is None and "--weak-sandbox was given" in line.says


def test_an_agent_that_was_not_confined_though_nobody_had_allowed_that_does_not_hold(
    runs: dict[str, RunFolder], tmp_path: Path
) -> None:
    def change(forgery: Forgery) -> None:
        page = forgery.pages[forgery.find(EventKind.INTEND)]
        held = {"rung": "none", "level": "weak", "facts": {}}
        note = type(page)(EventKind.NOTE, {"text": "An agent is confined.", "by": "probe", "confinement": held}, page.time, None)
        forgery.pages.insert(forgery.pages.index(page), note)

    found = audit_run(forged(runs["judged"], tmp_path / "forged", change))
    assert broken(found) == {"sandbox"} and "not confined" in told(found, "sandbox")
