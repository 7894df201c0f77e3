"""What the attacks of test_attack*.py have in common: a simple world, its true rules, a run in it, what must hold after."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from minds import Scripted
from strays import processes

from lawbook.core.hypothesis import ENGINE, Decision, Proposal
from lawbook.core.record import Action
from lawbook.core.results import InitialObservation, Subgoal
from lawbook.ledger.events import EventKind
from lawbook.ledger.ledger import Event
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.runs.session import Session
from lawbook.runs.state import fold_events
from lawbook.sandbox.host import Host

MEMORY = 800 + os.getpid() % 83
"""MB for a program of this process's host: a number that tells its processes from everybody else's."""
WALK = "py:fickle_worlds:SOURCE/walk"
"""A marker on a ring of eight cells: 1 moves it on, 2 moves it on and ends the level badly. Nobody wins."""
BOOK = "# The ring\n\nR1. An action moves the marker on by one cell, around.\nR2. Action 2 ends the level badly.\n"
RING = """
import numpy as np
def initial_state(observation):
    return int(np.argmax(observation["frame"])), False
def step(state, action):
    return (state[0] + 1) % 8, action.id == 2  # R1
def render(state):
    return np.eye(8, dtype=np.uint8)[state[0]][None]
def is_goal(state):
    return False
def is_over(state):
    return state[1]  # R2
"""
START = InitialObservation(np.zeros((4, 4), dtype=np.uint8), 0, (1, 2))
ON, END = Action(1), Action(2)
AT_5 = Subgoal("def subgoal(state): return state[0] == 5", "what is at the fifth cell?")


def ring(*changes: tuple[str, str], book: str = BOOK) -> Proposal:
    """The true rules of the ring, with some of the program's text replaced."""
    source = RING
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    return Proposal(Decision.REVISE_RULEBOOK, book, {ENGINE: source}, "attack")


TRUE = ring()
STUCK = ring(("(state[0] + 1) % 8", "state[0]"))
"""Says that nothing ever moves: verifies on an opening, and is wrong about every action."""

NO_PROPOSALS: dict[str, Any] = {
    "nothing": None,
    "a number": 3,
    "a dictionary": {"decision": "retain"},
    "no decision": Proposal("retained"),  # type: ignore[arg-type]
    "a rulebook of bytes": Proposal(Decision.REVISE_RULEBOOK, b"R1.", TRUE.files),  # type: ignore[arg-type]
    "a file of bytes": Proposal(Decision.REVISE_RULEBOOK, BOOK, {ENGINE: RING.encode()}),  # type: ignore[dict-item]
    "a file named 1": Proposal(Decision.REVISE_RULEBOOK, BOOK, {1: RING}),  # type: ignore[dict-item]
    "files in a list": Proposal(Decision.REVISE_RULEBOOK, BOOK, [(ENGINE, RING)]),  # type: ignore[arg-type]
    "no diagnosis": Proposal(Decision.REVISE_RULEBOOK, BOOK, TRUE.files, None),  # type: ignore[arg-type]
    "a library": Proposal(Decision.REVISE_RULEBOOK, "R1. " + "x" * 30_000_000, TRUE.files),
    "a saga of a diagnosis": Proposal(Decision.REVISE_RULEBOOK, BOOK, TRUE.files, "x" * 30_000_000),
}


def opened(tmp_path: Path, host: Host, world: str = WALK, mind: Any = None, **settings: Any) -> Any:
    return start_run(RunConfig(world, **{"budget": 60, **settings}), tmp_path, host=host, mind=mind or Scripted())


def kinds(session: Session, kind: EventKind) -> list[Event]:
    return list(session.event_log.ledger.read_events([kind]))


def sound(session: Session) -> None:
    """The ledger is whole, and folded anew it tells what the session believes."""
    session.event_log.commit()
    assert session.event_log.ledger.check() is None
    again = fold_events(session.event_log.ledger)
    for one, other in zip(again.members, session.state.members, strict=True):
        assert (one.hypothesis, one.admissible, one.version) == (other.hypothesis, other.admissible, other.version)
    assert (again.n_actions, again.n_unpredicted, again.outcome) == (
        session.state.n_actions,
        session.state.n_unpredicted,
        session.state.outcome,
    )


@contextmanager
def sandbox(memory_mb: int) -> Iterator[Host]:
    """A host with short patience; when it ends, nothing of it may be left."""
    with Host(memory_mb=memory_mb, step_seconds=1.0) as host:
        yield host
        assert sorted(processes(memory_mb)) == sorted(host.pids), "a worker was left behind"
    assert processes(memory_mb) == []
