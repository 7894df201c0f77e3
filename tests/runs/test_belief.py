"""The protocol `belief` on a real lake: programs that say what they do not know are let through, held to the rest, and metered."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from minds import Scripted, replaced, worked_example

from lawbook.audit.report import audit_run
from lawbook.core.hypothesis import Hypothesis, Trigger
from lawbook.core.record import Action, ActionKind
from lawbook.core.results import Probe, RunOutcome, VerdictKind
from lawbook.ledger.contents import load_prediction, store_prediction
from lawbook.ledger.events import IntendEvent, ObserveEvent, PlanEvent, ProposeEvent, VerdictEvent
from lawbook.ledger.ledger import Event, Ledger
from lawbook.runs import loops
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.runs.state import State
from lawbook.sandbox.host import Host

LAKE = "gym:FrozenLake-v1?size=4"
TRUE = worked_example()
OPEN_RENDER = "    return grid\n\n\ndef here"


def leave_open(hypothesis: Hypothesis, cells: str, rule: str = "U1. What lies there shows nowhere.\n") -> Hypothesis:
    """The same program, its rendering open (under U1) where `cells`, an expression over `grid`, is true."""
    text = f"    return np.where({cells}, -1, grid.astype(np.int16))  # U1\n\n\ndef here"
    changed = replaced(hypothesis, OPEN_RENDER, text)
    return Hypothesis(rule + hypothesis.rulebook, changed.files)


HOLES = leave_open(TRUE, "grid == 1")
WRONG = leave_open(
    replaced(TRUE, "grid[state.row, state.column] = 4  # R1", "grid[state.row, state.column] = 9  # R1"), "grid == 1"
)
HIDDEN = leave_open(
    replaced(TRUE, "grid[state.row, state.column] = 4  # R1", "grid[state.row, state.column] = 9  # R1"), "grid == 9"
)
UNKNOWN_GOAL = replaced(
    HOLES, "return here(state) == 2  # R4", "return None if here(state) == 2 else False  # R4", ("completes the level", "may do so")
)
CLAIMS_NOTHING = leave_open(
    replaced(TRUE, "return here(state) == 2  # R4", "return False  # R4", ("completes the level", "does nothing")), "grid >= 0"
)
MAYBE_OVER = replaced(
    HOLES, "return here(state) == 1  # R3", "return None if here(state) == 1 else False  # R3", ("ends", "may end")
)


def find[Data](events: list[Event], data_class: type[Data]) -> list[Data]:
    """What events of one kind tell, in order."""
    return [event.data for event in events if isinstance(event.data, data_class)]


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Host() as host:
        yield host


def run(tmp_path: Path, host: Host, mind: Scripted, **settings: Any) -> tuple[State, list[Event], RunFolder]:
    config = RunConfig(LAKE, protocol=settings.pop("protocol", "belief"), **settings)
    with start_run(config, tmp_path, host=host, mind=mind) as (folder, session):
        loops.play(session)
        return session.state, list(session.event_log.ledger), folder


def test_a_program_that_leaves_cells_open_wins_and_its_run_is_sound(tmp_path: Path, host: Host) -> None:
    state, events, folder = run(tmp_path, host, Scripted([HOLES]))
    assert state.outcome is RunOutcome.WON and state.n_actions == 6 and state.n_mismatches == 0
    outcomes = [outcome for intent in find(events, IntendEvent) for outcome in intent.predictions.values()]
    assert len(outcomes) == 6 and all(outcome.open_cells for outcome in outcomes)
    assert audit_run(folder, strict=True).holds


def test_it_is_held_to_what_it_does_claim(tmp_path: Path, host: Host) -> None:
    state, events, _ = run(tmp_path, host, Scripted([WRONG, HOLES]))
    verdict = find(events, VerdictEvent)[0].verdict
    assert verdict.outcome is VerdictKind.COUNTEREXAMPLE
    assert "predicted 9" in verdict.reason and state.outcome is RunOutcome.WON


def test_what_moves_may_be_left_open_but_is_then_sent_without_a_claim(tmp_path: Path, host: Host) -> None:
    """The walker itself is open: what it uncovers is claimed, so nothing is counted; a level of open cells only is."""
    state, _, _ = run(tmp_path, host, Scripted([HIDDEN]))
    assert state.outcome is RunOutcome.WON and state.n_unpredicted == 0


@pytest.mark.parametrize("protocol", ["memento3", "no-rulebook"])
def test_no_other_protocol_lets_it_through(tmp_path: Path, host: Host, protocol: str) -> None:
    state, events, _ = run(tmp_path, host, Scripted([HOLES]), protocol=protocol, budget=20)
    verdicts = [judged.verdict for judged in find(events, VerdictEvent) if judged.about == "proposal"]
    assert {verdict.outcome for verdict in verdicts} <= {"fault", "refused"} and "cell of -1" in verdicts[0].reason
    assert not any(member.admissible for member in state.members)


def test_a_rule_that_the_rulebook_does_not_hold_is_named(tmp_path: Path, host: Host) -> None:
    unnamed = Hypothesis(TRUE.rulebook, HOLES.files)
    _, events, _ = run(tmp_path, host, Scripted([unnamed]), budget=12)
    assert "the rulebook has no rule U1" in find(events, VerdictEvent)[0].verdict.reason


def test_a_goal_that_is_not_known_is_gone_to_before_a_mind_is_asked(tmp_path: Path, host: Host) -> None:
    mind = Scripted([UNKNOWN_GOAL])
    state, events, folder = run(tmp_path, host, mind)
    assert state.outcome is RunOutcome.WON and state.n_actions == 6
    assert not any(case.trigger in (Trigger.EXPLORE, Trigger.NO_PLAN) for case in mind.cases)
    assert [plan.aim for plan in find(events, PlanEvent) if plan.actions] == ["frontier"]
    assert audit_run(folder, strict=True).holds


def test_a_way_past_what_may_be_over_is_counted_as_risk(tmp_path: Path, host: Host) -> None:
    _, events, _ = run(tmp_path, host, Scripted([MAYBE_OVER]), budget=40)
    plan = next(plan for plan in find(events, PlanEvent) if plan.actions)
    assert plan.risk == 1 and plan.aim == "goal" and len(plan.actions or ()) == 6  # through a hole, as far as it knows
    assert Trigger.UNCLAIMED_END in [proposed.cause for proposed in find(events, ProposeEvent)]


def test_claims_of_nothing_are_metered_like_actions_without_a_prediction(tmp_path: Path, host: Host) -> None:
    probes = [Probe(Action(1 + k % 4), "what does it do?") for k in range(60)]
    state, events, folder = run(tmp_path, host, Scripted([CLAIMS_NOTHING], probes), budget=60)
    assert state.n_unpredicted == 10 and state.outcome in (RunOutcome.STUCK, RunOutcome.BUDGET, RunOutcome.WON)
    faults = [judged.verdict.fault for judged in find(events, VerdictEvent) if judged.verdict.fault]
    assert any(fault.kind == "unclaimed" for fault in faults)
    assert sum(observed.is_unclaimed for observed in find(events, ObserveEvent)) == 10
    assert audit_run(folder).holds


def test_a_crash_image_of_such_a_run_resumes_to_the_same_events(tmp_path: Path, host: Host) -> None:
    config = RunConfig(LAKE, protocol="belief")
    with start_run(config, tmp_path / "whole", host=host, mind=Scripted([UNKNOWN_GOAL])) as (folder, session):
        session.limits = session.limits
        loops.play(session)
        expected = [observed.action for observed in find(list(session.event_log.ledger), ObserveEvent)]
    with start_run(config, tmp_path / "cut", host=host, mind=Scripted([UNKNOWN_GOAL])) as (folder, session):
        for member in session.list_due_members():
            session.propose(session.call_mind(member, "propose"), member)
        assert session.draw({0: session.plan(0, frontier=True)}) == 0
        session._executor.act(
            session.state.active_plan.executable.get_action(0), ActionKind.PLAN, 0, session.state.active_plan.plan_seq, ""
        )  # type: ignore[union-attr]
    copy = tmp_path / "copy"
    shutil.copytree(folder.path, copy)
    with resume_run(RunFolder(copy), host=host, mind=Scripted([UNKNOWN_GOAL])) as session:
        loops.play(session)
        assert [observed.action for observed in find(list(session.event_log.ledger), ObserveEvent)] == expected


def test_predictions_on_record_read_back_as_they_were(tmp_path: Path, host: Host) -> None:
    _, events, folder = run(tmp_path, host, Scripted([HOLES]))
    with Ledger.open(folder.ledger) as ledger:
        for intent in find(events, IntendEvent):
            for outcome in intent.predictions.values():
                prediction = load_prediction(ledger, outcome)
                assert not prediction.is_whole and store_prediction(ledger, prediction) == outcome
