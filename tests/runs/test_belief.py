"""The protocol `belief` on a real lake: programs that say what they do not know are let through, held to the rest, and metered."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from minds import Scripted, replaced, worked_example

from lawbook.audit.report import audit_run
from lawbook.core.hypothesis import ENGINE, Hypothesis
from lawbook.core.record import Action
from lawbook.core.results import Probe, VerdictKind
from lawbook.ledger.codec import RecordedPrediction
from lawbook.ledger.ledger import Event, EventKind
from lawbook.minds.base import Trigger
from lawbook.runs import loops
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.runs.state import ActionKind, RunOutcome, State
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
    intents = [event.body for event in events if event.kind is EventKind.INTEND]
    assert all(len(packed) == 3 and packed[2] for body in intents for packed in body["predictions"].values())
    assert audit_run(folder, strict=True).holds


def test_it_is_held_to_what_it_does_claim(tmp_path: Path, host: Host) -> None:
    state, events, _ = run(tmp_path, host, Scripted([WRONG, HOLES]))
    verdicts = [event.body for event in events if event.kind is EventKind.VERDICT]
    assert verdicts[0]["verdict"]["outcome"] == VerdictKind.COUNTEREXAMPLE
    assert "predicted 9" in verdicts[0]["verdict"]["reason"] and state.outcome is RunOutcome.WON


def test_what_moves_may_be_left_open_but_is_then_sent_without_a_claim(tmp_path: Path, host: Host) -> None:
    """The walker itself is open: what it uncovers is claimed, so nothing is counted; a level of open cells only is."""
    state, _, _ = run(tmp_path, host, Scripted([HIDDEN]))
    assert state.outcome is RunOutcome.WON and state.n_unpredicted == 0


@pytest.mark.parametrize("protocol", ["memento3", "no-rulebook"])
def test_no_other_protocol_lets_it_through(tmp_path: Path, host: Host, protocol: str) -> None:
    state, events, _ = run(tmp_path, host, Scripted([HOLES]), protocol=protocol, budget=20)
    verdicts = [event.body["verdict"] for event in events if event.kind is EventKind.VERDICT and event.body["about"] == "proposal"]
    assert (
        verdicts and {verdict["outcome"] for verdict in verdicts} <= {"fault", "refused"} and "cell of -1" in verdicts[0]["reason"]
    )
    assert not any(member.admissible for member in state.members)


def test_a_rule_that_the_rulebook_does_not_hold_is_named(tmp_path: Path, host: Host) -> None:
    unnamed = Hypothesis(TRUE.rulebook, HOLES.files)
    _, events, _ = run(tmp_path, host, Scripted([unnamed]), budget=12)
    reasons = [event.body["verdict"]["reason"] for event in events if event.kind is EventKind.VERDICT]
    assert "the rulebook has no rule U1" in reasons[0]


def test_a_goal_that_is_not_known_is_gone_to_before_a_mind_is_asked(tmp_path: Path, host: Host) -> None:
    mind = Scripted([UNKNOWN_GOAL])
    state, events, folder = run(tmp_path, host, mind)
    assert state.outcome is RunOutcome.WON and state.n_actions == 6
    assert not any(case.trigger in (Trigger.EXPLORE, Trigger.NO_PLAN) for case in mind.cases)
    aims = [event.body.get("aim", "goal") for event in events if event.kind is EventKind.PLAN and event.body["actions"]]
    assert aims == ["frontier"]
    assert audit_run(folder, strict=True).holds


def test_a_way_past_what_may_be_over_is_counted_as_risk(tmp_path: Path, host: Host) -> None:
    _, events, _ = run(tmp_path, host, Scripted([MAYBE_OVER]))
    plans = [event.body for event in events if event.kind is EventKind.PLAN and event.body["actions"]]
    assert plans[0]["risk"] == 1 and len(plans[0]["actions"]) == 6  # through a hole, as far as it knows
    ended = [case.trigger for case in _cases(events)]
    assert "unclaimed_end" in ended


def test_claims_of_nothing_are_metered_like_actions_without_a_prediction(tmp_path: Path, host: Host) -> None:
    probes = [Probe(Action(1 + k % 4), "what does it do?") for k in range(60)]
    state, events, folder = run(tmp_path, host, Scripted([CLAIMS_NOTHING], probes), budget=60)
    assert state.n_unpredicted == 10 and state.outcome in (RunOutcome.STUCK, RunOutcome.BUDGET, RunOutcome.WON)
    faults = [
        event.body["verdict"]["fault"] for event in events if event.kind is EventKind.VERDICT and event.body["verdict"]["fault"]
    ]
    assert any(fault["kind"] == "unclaimed" for fault in faults)
    counted = [event for event in events if event.kind is EventKind.OBSERVE and event.body.get("unclaimed")]
    assert len(counted) == 10
    assert audit_run(folder).holds


def test_a_crash_image_of_such_a_run_resumes_to_the_same_events(tmp_path: Path, host: Host) -> None:
    config = RunConfig(LAKE, protocol="belief")
    with start_run(config, tmp_path / "whole", host=host, mind=Scripted([UNKNOWN_GOAL])) as (folder, session):
        session.limits = session.limits
        loops.play(session)
        expected = [event.body["action"] for event in session.event_log.ledger if event.kind is EventKind.OBSERVE]
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
        assert [event.body["action"] for event in session.event_log.ledger if event.kind is EventKind.OBSERVE] == expected


def test_predictions_on_record_read_back_as_they_were(tmp_path: Path, host: Host) -> None:
    _, events, folder = run(tmp_path, host, Scripted([HOLES]))
    from lawbook.ledger.codec import pack_prediction
    from lawbook.ledger.ledger import Ledger

    with Ledger.open(folder.ledger, readonly=True) as ledger:
        for event in events:
            if event.kind is EventKind.INTEND:
                for packed in event.body["predictions"].values():
                    prediction = RecordedPrediction.unpack(packed).load(ledger)
                    assert not prediction.is_whole
    assert ENGINE and pack_prediction


def _cases(events: list[Event]) -> Any:
    from types import SimpleNamespace

    return [SimpleNamespace(trigger=event.body["cause"]) for event in events if event.kind is EventKind.PROPOSE]
