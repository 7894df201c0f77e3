"""Runs of programs that take in what was seen: plans go on as rolled anew, or end as changed; all of it resumes and is audited."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from minds import Scripted, replaced

from lawbook.audit.report import audit_run
from lawbook.core.hypothesis import ENGINE, Decision, Hypothesis, Proposal
from lawbook.core.record import Action
from lawbook.core.results import VerdictKind
from lawbook.ledger.ledger import Event, EventKind, Ledger
from lawbook.minds.base import Case, Trigger
from lawbook.runs import loops
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.runs.recheck import recheck_run
from lawbook.runs.session import Session
from lawbook.runs.state import RunOutcome, State
from lawbook.sandbox.host import Host

BOOK = """R1. Action 1 goes right, 2 left.
R2. What lies beside the walker shows.
R3. On the treasure (5) the level is completed.
U1. What lies in the fog shows nowhere before the walker is beside it.
"""
SOURCE = """
import numpy as np
def initial_state(observation):  # R2
    return (0, tuple(map(int, observation["frame"][1])))
def step(state, action):  # R1, R2
    place, seen = state
    place = max(0, min(len(seen) - 1, place + (1 if action.id == 1 else -1)))
    return (place, tuple(-1 if value == 9 and abs(k - place) < 2 else value for k, value in enumerate(seen)))
def render(state):
    place, seen = state
    frame = np.zeros((2, len(seen)), np.int16)
    frame[0, place] = 1
    frame[1] = seen  # U1
    return frame
def aim(seen):
    return seen.index(5) if 5 in seen else next((k for k, value in enumerate(seen) if value in (9, -1)), None)
def is_goal(state):  # R3
    return state[0] == aim(state[1])
def update(state, observation):
    place, seen = state
    return (place, tuple(int(observation["frame"][1, k]) if value == -1 else value for k, value in enumerate(seen)))
"""
LOOKER = Hypothesis(BOOK, {ENGINE: SOURCE})
"""Takes the nearest fog for the treasure until it sees that it is not: it claims too much, which no record has shown yet."""
CAREFUL = replaced(
    LOOKER,
    "    return state[0] == aim(state[1])",
    "    return {0: False, 5: True}.get(state[1][state[0]])",
    ("U1. What", "U1. That which"),
)
"""Says that it does not know whether the treasure lies where it has not looked."""
BLIND = replaced(LOOKER, "def update(", "def refresh(")
CLAIMING = replaced(LOOKER, "    return state[0] == aim(state[1])", "    return state[0] == 3", ("U1. What", "U1. That"))
"""Knows where the treasure of the near world is, and not what lies on the way."""


class Retaining(Scripted):
    """Keeps what stands when it is asked whether more can be known."""

    def propose(self, case: Case) -> Proposal:
        if case.trigger is Trigger.UNCLAIMED_END:
            self.cases.append(case)
            return Proposal(Decision.RETAIN)
        return super().propose(case)


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Host() as host:
        yield host


def configure(world: str = "far", **settings: Any) -> RunConfig:
    return RunConfig(f"py:corridors:SOURCE/{world}", protocol="belief", **settings)


def run(tmp_path: Path, host: Host, mind: Scripted, world: str = "far", **settings: Any) -> tuple[State, list[Event], RunFolder]:
    with start_run(configure(world, **settings), tmp_path, host=host, mind=mind) as (folder, session):
        loops.play(session)
        return session.state, list(session.event_log.ledger), folder


def list_plan_verdicts(events: list[Event]) -> list[Event]:
    return [event for event in events if event.kind is EventKind.VERDICT and event.body["about"] == "plan"]


def test_a_plan_that_no_longer_ends_in_the_goal_is_ended_and_nobody_was_wrong(tmp_path: Path, host: Host) -> None:
    state, events, folder = run(tmp_path, host, Retaining([LOOKER]))
    assert state.outcome is RunOutcome.WON and state.n_actions == 12 and state.n_mismatches == 0
    verdicts = list_plan_verdicts(events)
    assert verdicts and {event.body["verdict"]["outcome"] for event in verdicts} == {VerdictKind.CHANGED}
    assert "no longer predicted to end in the goal" in verdicts[0].body["verdict"]["reason"]
    report = audit_run(folder, strict=True)
    assert report.holds, report
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        assert recheck_run(ledger).holds


def test_a_frontier_is_gone_to_as_long_as_it_is_one(tmp_path: Path, host: Host) -> None:
    state, events, folder = run(tmp_path, host, Retaining([CAREFUL]))
    assert state.outcome is RunOutcome.WON and state.n_actions == 12 and state.n_mismatches == 0
    assert {event.body.get("aim") for event in events if event.kind is EventKind.PLAN and event.body["actions"]} >= {"frontier"}
    assert state.members[0].n_changed_plans == 0
    assert audit_run(folder, strict=True).holds


def test_five_goal_plans_in_a_row_that_changed_make_a_mind_due(tmp_path: Path, host: Host) -> None:
    mind = Retaining([LOOKER])
    _, events, _ = run(tmp_path, host, mind)
    asked = [event for event in events if event.kind is EventKind.PROPOSE and event.body["cause"] == Trigger.UNCLAIMED_END]
    changed = [event.seq for event in list_plan_verdicts(events)]
    assert len(changed) >= 10 and len(asked) == len(changed) // 5
    assert changed[4] < asked[0].seq < changed[5]


def test_a_program_that_takes_nothing_in_is_falsified_by_what_it_did_not_see(tmp_path: Path, host: Host) -> None:
    state, events, _ = run(tmp_path, host, Retaining([BLIND, LOOKER]))
    assert state.n_mismatches >= 1 and state.outcome is not None
    assert any(event.body["about"] == "prediction" for event in events if event.kind is EventKind.VERDICT)


@pytest.mark.parametrize("cut", [1, 2, 4, 6, 9])
def test_a_run_cut_short_anywhere_goes_on_to_the_same_events(tmp_path: Path, host: Host, cut: int) -> None:
    """Cut right behind an observation: what is left of the plan is rolled anew by whoever goes on."""
    _, expected, _ = run(tmp_path / "whole", host, Retaining([LOOKER]))
    mind = Retaining([LOOKER])
    with start_run(configure(), tmp_path / "cut", host=host, mind=mind) as (folder, session):
        with pytest.raises(KeyboardInterrupt):
            stop_after(session, cut)
            loops.play(session)
        assert session.state.n_actions == cut
    copy = tmp_path / "copy"
    shutil.copytree(folder.path, copy)
    with resume_run(RunFolder(copy), host=host, mind=Retaining([LOOKER])) as session:
        loops.play(session)
        events = list(session.event_log.ledger)
    assert tell(events) == tell(expected)
    assert audit_run(RunFolder(copy), strict=True).holds


def stop_after(session: Session, n_actions: int) -> None:
    """Interrupt the run as soon as what came of that many actions is on record."""

    def listen(event: Event) -> None:
        if event.kind is EventKind.OBSERVE and session.state.n_actions == n_actions:
            raise KeyboardInterrupt

    session.event_log.listeners.append(listen)


def tell(events: list[Event]) -> list[tuple[object, ...]]:
    """What happened, without clocks and calls."""
    told: list[tuple[object, ...]] = []
    for event in events:
        body = event.body
        if event.kind is EventKind.OBSERVE:
            told.append((body["action"], body["frames"]))
        elif event.kind is EventKind.VERDICT:
            told.append((body["about"], body["verdict"]["outcome"], body["verdict"]["reason"]))
        elif event.kind is EventKind.INTEND:
            told.append((body["action"], body["predictions"]))
    return told


def test_a_verdict_about_a_plan_that_holds_is_found(tmp_path: Path, host: Host) -> None:
    """A plan of one that looks is ended by hand where it still ends in its aim: a strict audit rolls it and says so."""
    with start_run(configure("near"), tmp_path, host=host, mind=Retaining([CLAIMING])) as (folder, session):
        stop_after(session, 1)
        with pytest.raises(KeyboardInterrupt):
            loops.play(session)
    with resume_run(folder, host=host, mind=Retaining([CLAIMING])) as session:
        active = session.state.active_plan
        assert active is not None and active.n_sent == 1 and active.is_open
        session._plan_roller._end_changed_plan(active, "It was given up.")
        session.finish(RunOutcome.FINISHED, "enough")
    assert audit_run(folder).holds
    report = audit_run(folder, strict=True)
    assert not report.holds and "still ends where it was to end" in str(report)


def test_what_leads_elsewhere_is_told_once_and_the_run_goes_on(tmp_path: Path, host: Host) -> None:
    with start_run(configure("forgetful", budget=30), tmp_path, host=host, mind=None) as (_, session):  # type: ignore[arg-type]
        for _ in range(3):
            for _ in range(3):
                session.probe(Action(1), "what lies there?")
            session.reset("once more")
            if session.outcome:
                break
        notes = [
            event
            for event in session.event_log.ledger
            if event.kind is EventKind.NOTE and "not deterministic" in event.body["text"]
        ]
    assert len(notes) == 1


def test_simulating_starts_from_what_was_seen(tmp_path: Path, host: Host) -> None:
    with start_run(configure(), tmp_path, host=host, mind=Retaining([LOOKER])) as (_, session):
        stop_after(session, 3)
        with pytest.raises(KeyboardInterrupt):
            loops.play(session)
        predictions = session.simulate([Action(2)])
    assert predictions[0].is_whole, "what lies beside it was seen"
