"""The desk: an inner call is in the ledger before its answer is used, and is never asked for twice, whatever crashes in between."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lakes import DOWN, LAKE, NO_GOAL, NO_HOLES, RIGHT, TRUE, UP, bodies, images, run, told, without_plans
from minds import replaced
from thinking import RECEIPT, DownError, Thinking

from lawbook.core.record import Action
from lawbook.core.results import Probe, RunOutcome, Subgoal
from lawbook.errors import MindError
from lawbook.ledger.events import MIND_OPERATIONS, EventKind
from lawbook.ledger.ledger import Event, Ledger
from lawbook.minds.base import Exchange
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.runs.loops.memento3 import play
from lawbook.runs.state import fold_events
from lawbook.sandbox.host import Host


def inner(events: list[Event]) -> list[dict[str, Any]]:
    return [body for body in bodies(events, EventKind.CALL) if "request" in body]


def test_inner_calls_stand_in_the_ledger_with_what_they_cost(tmp_path: Path, host: Host) -> None:
    state, events, path = run(tmp_path, host, Thinking([TRUE]))
    assert state.outcome is RunOutcome.WON
    calls = bodies(events, EventKind.CALL)
    assert [body["op"] for body in calls] == ["reflect", "reflect", "compile", "propose", "judge", "judge"]
    assert [body["call"] for body in calls] == [0, 0, 0, 0, 1, 1]
    with Ledger.open(path / "ledger.sqlite", readonly=True) as ledger:
        texts = [ledger.get_text(body["answer"]) for body in inner(events)]
    assert texts[:2] == ["reflect says 14"] * 2 and texts[2].startswith("compile says")
    assert all(body["receipt"] == RECEIPT and body["seconds"] >= 0 for body in inner(events))
    reflections = [body["request"] for body in inner(events) if body["op"] == "reflect"]
    assert len(set(reflections)) == 1 and len(reflections[0]) == 64
    diagnosis = bodies(events, EventKind.PROPOSE)[0]["diagnosis"]
    assert diagnosis == "; ".join(texts[:3])
    spent = state.spending
    assert (spent.calls, spent.tokens, spent.dollars, spent.n_unpriced) == (4, 480, 1.0, 0)


def test_only_calls_of_the_mind_are_counted_as_its_calls(tmp_path: Path, host: Host) -> None:
    """An inner judge or explore is not the judge or explore of the mind."""
    state, events, _ = run(tmp_path, host, Thinking([NO_HOLES, TRUE], [Probe(UP, "?")]))
    outer = [body for body in bodies(events, EventKind.CALL) if "request" not in body]
    assert {body["op"] for body in outer} <= set(MIND_OPERATIONS)
    assert state.members[0].n_calls == len(outer) < len(bodies(events, EventKind.CALL))
    assert [body["call"] for body in outer] == list(range(len(outer)))


@pytest.mark.slow
def test_a_run_cut_at_any_commit_asks_no_answered_request_again(
    tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With refusals, a mismatch, unusable subgoals, probes; in every call the same request twice."""
    middle = Subgoal("def subgoal(state): return (state.row, state.column) == (2, 2)", "what is there?")
    nowhere = Subgoal("def subgoal(state): return False", "?")
    explores = [*[nowhere] * 4, Probe(UP, "an edge?"), middle, *[nowhere] * 3, Probe(DOWN, "more ice?"), Probe(RIGHT, "the end?")]

    def mind() -> Thinking:
        return Thinking([replaced(TRUE, "# R3", "# unfaithful"), NO_HOLES, NO_GOAL], explores)

    found = images(monkeypatch, tmp_path)
    state, events, _ = run(tmp_path / "whole", host, mind(), budget=40)
    monkeypatch.undo()
    want, asked = told(events), len(inner(events))
    assert state.outcome is RunOutcome.WON and asked > 20
    thinking = {length: image for length, image in found.items() if inner_at(image)}
    assert len(thinking) >= 10  # crashes in the middle of what a mind was thinking
    for length, image in list(thinking.items())[:: max(1, len(thinking) // 6)]:
        resumed = mind()
        with resume_run(RunFolder.open(image), host=host, mind=resumed) as session:
            before = len(inner(list(session.event_log.ledger)))
            play(session)
            got = list(session.event_log.ledger)
            assert session.event_log.ledger.check() is None
            assert session.state.spending.calls == state.spending.calls == asked
        assert len(resumed.asked) == asked - before, f"crashed after {length} events"
        assert without_plans(told(got)) == without_plans(want), f"crashed after {length} events"


def inner_at(image: Path) -> int:
    """Answers that a crash left in the middle of a call of the mind."""
    with Ledger.open(image / "ledger.sqlite", readonly=True) as ledger:
        return sum(map(len, fold_events(ledger).members[0].cached_exchanges.values()))


def test_a_provider_that_dies_halfway_pauses_the_run_and_what_it_said_is_used(tmp_path: Path, host: Host) -> None:
    dying = Thinking([TRUE], dies=lambda number: number == 3)
    with start_run(RunConfig(LAKE), tmp_path, host=host, mind=dying) as (folder, session):
        with pytest.raises(DownError, match="down"):
            play(session)
        assert session.outcome is None
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        state, events = fold_events(ledger), list(ledger)
    assert [(body["op"], body["answer"] is None) for body in bodies(events, EventKind.CALL)] == [
        ("reflect", False),
        ("reflect", False),
        ("compile", True),
        ("propose", True),
    ]
    failed = bodies(events, EventKind.CALL)[2]
    assert failed["failed"] == "DownError: The provider is down." and failed["receipt"] == DownError.receipt
    assert (state.spending.calls, state.spending.tokens, state.spending.dollars) == (3, 251, 0.625)  # the failed one counts too
    well = Thinking([TRUE])
    with resume_run(folder, host=host, mind=well) as session:
        play(session)
        assert session.outcome is RunOutcome.WON
    assert [step for step, _ in well.asked] == ["compile", "judge"]


def test_what_was_answered_is_dropped_when_something_came_of_it(tmp_path: Path, host: Host) -> None:
    with start_run(RunConfig(LAKE), tmp_path, host=host, mind=Thinking([NO_GOAL])) as (_, session):
        for _ in range(40):
            assert not session.state.members[0].cached_exchanges
            if session.list_due_members():
                session.propose(session.call_mind(0, "propose"))
            else:
                answer = session.call_mind(0, "explore")
                assert isinstance(answer, Probe)
                session.send_exploration(answer)
            if session.outcome or session.record.needs_reset:
                break


def test_the_same_request_twice_is_two_exchanges_and_another_call_asks_anew(tmp_path: Path, host: Host) -> None:
    said: Counter[str] = Counter()

    def ask(text: str) -> Exchange:
        said[text] += 1
        return Exchange(f"{text} {said[text]}")

    with start_run(RunConfig(LAKE), tmp_path, host=host, mind=Thinking([TRUE])) as (_, session):
        desk = session.build_case(0).tools
        assert desk is not None
        assert [desk.exchange("reflect", "a", lambda: ask("a")) for _ in range(2)] == ["a 1", "a 2"]
        assert desk.exchange("revise", "a", lambda: ask("b")) == "b 1"  # the step is part of the request
        again = session.build_case(0).tools
        assert again is not None
        assert [again.exchange("reflect", "a", lambda: ask("a")) for _ in range(3)] == ["a 1", "a 2", "a 3"]
        session.propose(session.call_mind(0, "propose"))
        after = session.build_case(0).tools
        assert after is not None and after.exchange("reflect", "a", lambda: ask("a")) == "a 4"


def test_what_is_no_answer_is_refused_and_written_down(tmp_path: Path, host: Host) -> None:
    with start_run(RunConfig(LAKE), tmp_path, host=host, mind=Thinking([TRUE])) as (_, session):
        desk = session.build_case(0).tools
        assert desk is not None
        with pytest.raises(MindError, match="no answer"):
            desk.exchange("reflect", "a", lambda: Exchange(None, {"output_tokens": 5}))  # type: ignore[arg-type]
        assert session.state.spending.tokens == 5
        with pytest.raises(KeyboardInterrupt):
            desk.exchange("reflect", "a", _interrupted)
        last = list(session.event_log.ledger)[-1].body
        assert last["answer"] is None and last["failed"] == "KeyboardInterrupt"
        lone = "\ud800 and " + "x" * 100
        assert desk.exchange("reflect", lone, lambda: Exchange(lone)) == lone


def _interrupted() -> Exchange:
    raise KeyboardInterrupt


def test_python_and_simulate_tell_of_the_record_and_the_program(tmp_path: Path, host: Host) -> None:
    with start_run(RunConfig(LAKE), tmp_path, host=host, mind=Thinking([TRUE])) as (_, session):
        desk = session.build_case(0).tools
        assert desk is not None
        assert desk.simulate([RIGHT]) == "There is no program yet; propose one."
        session.propose(session.call_mind(0, "propose"))
        told = desk.simulate([UP, RIGHT])
        first, second = told.split("\n2. ")
        assert first == "1. action 4: running; nothing changed"
        assert second.startswith("action 3: running; ") and "changed" in second
        assert "no trajectory" in desk.simulate([RIGHT], 7)
        assert "no action" in desk.simulate(["up"])  # type: ignore[list-item]
        session.probe(RIGHT, "?")
        assert desk.python("print([a.id for a in actions], (frames[0] != frames[1]).sum())").startswith("[3]")
        assert desk.simulate([Action(3)], 0, 0) != desk.simulate([Action(4)], 0, 0)
