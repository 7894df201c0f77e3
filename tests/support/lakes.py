"""A small frozen lake, what is true of it, ways to be wrong about it, and what runs on it leave behind."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from minds import Scripted, as_proposal, replaced, worked_example

from lawbook.core.hypothesis import Decision, Proposal, Trigger
from lawbook.core.record import Action
from lawbook.core.results import Probe, Subgoal
from lawbook.ledger.events import EventKind
from lawbook.ledger.ledger import Event, Ledger
from lawbook.minds.base import Case, Mind
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.runs.loops.memento3 import play
from lawbook.runs.state import State
from lawbook.sandbox.host import Host

LAKE = "gym:FrozenLake-v1?size=4"
"""Gymnasium's own 4 x 4 map: SFFF FHFH FFFH HFFG. Actions: 1 left, 2 down, 3 right, 4 up. Shortest way: 6."""
RIGHT, DOWN, LEFT, UP = Action(3), Action(2), Action(1), Action(4)
TRUE = worked_example()
NO_HOLES = replaced(TRUE, "return here(state) == 1  # R3", "return False  # R3", ("ends the game", "does nothing"))
STILL_NO_HOLES = replaced(TRUE, "return here(state) == 1  # R3", "return here(state) == 99  # R3", ("ends the game", "is odd"))
"""Wrong in the same place once more: after a fall it is refused with a counterexample."""
NO_GOAL = replaced(TRUE, "return here(state) == 2  # R4", "return False  # R4", ("completes the level", "does nothing"))
UNFAITHFUL = replaced(TRUE, "# R3", "# unfaithful")
BACKWARDS = replaced(TRUE, "1: (0, -1), 2: (1, 0)", "1: (1, 0), 2: (0, -1)")
CORNER = replaced(
    TRUE,
    "return here(state) == 2  # R4",
    "return (state.row, state.column) == (0, 3)  # R4",
    ("Entering the cell with code 2", "The upper right corner"),
)
"""Takes the upper right corner for the goal: three actions away, and open ground."""
NOWHERE = Subgoal("def subgoal(state): return False", "?")
MIDDLE = Subgoal("def subgoal(state): return (state.row, state.column) == (2, 2)", "what is there?")
PROBES = [Probe(Action(4), "an edge?"), MIDDLE, *[NOWHERE] * 3, Probe(Action(2), "more ice?"), Probe(Action(3), "the end?")]


class Rivals(Scripted):
    """Member i starts from the i-th hypothesis; when it is wrong it takes the true one."""

    def propose(self, case: Case) -> Proposal:
        if case.trigger in (Trigger.LEVEL, Trigger.NO_PLAN, Trigger.SIMPLIFY):
            return Proposal(Decision.RETAIN)
        return as_proposal(case, TRUE if case.history else self.hypotheses[case.member])


def run(tmp_path: Path, host: Host, mind: Mind, **settings: Any) -> tuple[State, list[Event], Path]:
    """A whole run to its end: its state, its events, its folder."""
    config = RunConfig(settings.pop("world", LAKE), **settings)
    with start_run(config, tmp_path, host=host, mind=mind) as (folder, session):
        play(session)
        return session.state, list(session.event_log.ledger), folder.path


def bodies(events: list[Event], kind: EventKind) -> list[dict[str, Any]]:
    return [dict(event.body) for event in events if event.kind is kind]


def told(events: list[Event]) -> list[tuple[str, Any]]:
    """Events without what a clock puts into them."""

    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: clean(inner) for key, inner in value.items() if key not in ("seconds", "head")}
        return value

    return [(event.kind.value, clean(dict(event.body))) for event in events if event.kind is not EventKind.OPEN]


def without_plans(events: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [(kind, {**body, "plan": None}) for kind, body in events if kind != EventKind.PLAN]


def images(monkeypatch: pytest.MonkeyPatch, folder: Path) -> dict[int, Path]:
    """From now on, what a crash right after each commit would leave on disk, byte for byte, by number of events."""
    found: dict[int, Path] = {}
    commit = Ledger.commit

    def commit_and_copy(ledger: Ledger) -> None:
        commit(ledger)
        image = folder / f"crash-{len(ledger)}"
        if not image.exists():
            shutil.copytree(ledger.path.parent, image)
            found[len(ledger)] = image

    monkeypatch.setattr(Ledger, "commit", commit_and_copy)
    return found
