"""Agents for tests of doors: they have a workspace and its ./law, and nothing else. And a small world to be driven."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lawbook.agents.api.external_mind import ExternalAgentMind
from lawbook.agents.api.framing import send_request
from lawbook.agents.api.socket_server import SocketServer, serve
from lawbook.agents.api.workspace import SOCKET, Workspace
from lawbook.core.hypothesis import ENGINE, RULEBOOK, Hypothesis
from lawbook.core.record import Action, Observation, Record, Status, freeze
from lawbook.ledger.events import OpenEvent, RecordedSandbox
from lawbook.ledger.git_versions import GitVersions
from lawbook.ledger.ledger import Ledger
from lawbook.ledger.opening import RecordedSettings, RecordedSpec
from lawbook.minds.base import Mind
from lawbook.protocols.protocol import get_protocol
from lawbook.runs.event_log import EventLog
from lawbook.runs.folder import RunFolder
from lawbook.runs.session import Session
from lawbook.runs.state import Member, State
from lawbook.sandbox.host import Host
from lawbook.worlds.world import World, WorldSpec


class Said(NamedTuple):
    code: int
    text: str


class Agent:
    """Whoever works in a workspace. real: each command starts ./law; else it goes to the same socket from here, and quicker."""

    def __init__(self, workspace: Path, *, real: bool = False) -> None:
        self.workspace, self.real = workspace, real
        self.printed = 0

    def law(self, *words: str, stdin: str = "", seconds: float = 60) -> Said:
        """Run ./law there, or do what it does."""
        if not self.real:
            request = {"argv": list(words), **({"stdin": stdin} if "-" in words else {})}
            with Workspace(self.workspace) as place:
                reply = send_request(place, SOCKET, request, seconds)
            self.printed += len(reply.text)
            return Said(reply.code, reply.text)
        done = subprocess.run(
            [self.workspace / "law", *words], cwd=self.workspace, input=stdin, capture_output=True, text=True, timeout=seconds
        )
        assert not done.stderr, done.stderr
        self.printed += len(done.stdout) - 1
        return Said(done.returncode, done.stdout.rstrip("\n"))

    def write(self, hypothesis: Hypothesis, answers: str | None = None) -> None:
        """Put rulebook, program and the answers of fidelity there."""
        (self.workspace / RULEBOOK).write_text(hypothesis.rulebook)
        for name, text in hypothesis.files.items():
            (self.workspace / name).write_text(text)
        (self.workspace / "fidelity.md").write_text(answers_of(hypothesis) if answers is None else answers)


def answers_of(hypothesis: Hypothesis) -> str:
    rules = [line.partition(".")[0] for line in hypothesis.rulebook.splitlines() if line.startswith(("R", "U"))]
    return "".join(f"{rule}: the code does exactly what this rule says\n" for rule in rules)


# -- a corridor ------------------------------------------------------------------------------------------------------------------

WALKER, FLOOR, PIT, DOOR = 4, 0, 1, 2
CORRIDORS = ((PIT, FLOOR, WALKER, FLOOR, FLOOR, DOOR), (PIT, WALKER, FLOOR, FLOOR, FLOOR, DOOR))


class Corridor:
    """Two levels of one row: action 1 goes left, 2 right, 3 waits. The pit ends the game, the door completes the level.

    quiet: nothing is asked of whoever looks on.
    """

    spec = WorldSpec((2, 6), (1, 2, 3), levels=len(CORRIDORS))

    def __init__(self) -> None:
        self.level, self.at = 0, 0
        self.sent: list[Action] = []

    def reset(self) -> Observation:
        self.at = CORRIDORS[self.level].index(WALKER)
        return self._seen(Status.RUNNING)

    def step(self, action: Action) -> Observation:
        self.sent.append(action)
        self.at = min(max(self.at + {1: -1, 2: 1, 3: 0}[action.id], 0), 5)
        under = CORRIDORS[self.level][self.at]
        if under == DOOR:
            self.level += 1
            if self.level < len(CORRIDORS):
                self.at = CORRIDORS[self.level].index(WALKER)
            return self._seen(Status.COMPLETED)
        return self._seen(Status.OVER if under == PIT else Status.RUNNING)

    def close(self) -> None:
        pass

    def _seen(self, status: Status) -> Observation:
        level = min(self.level, len(CORRIDORS) - 1)
        row = [FLOOR if code == WALKER else code for code in CORRIDORS[level]]
        row[self.at] = WALKER
        return Observation((freeze(np.array([row, [7] * 6])),), status, self.level, (1, 2, 3))


RULES = """\
R1. The cell with code 4 is the walker, on floor of code 0.
R2. Actions 1 and 2 move it left and right by one cell; 3 does nothing.
R3. The cell with code 1 ends the game.
R4. The cell with code 2 completes the level.
Q1. Is there more?
"""
SOURCE = """\
from typing import NamedTuple

import numpy as np


class State(NamedTuple):
    ground: bytes
    at: int


def initial_state(observation):
    frame = observation["frame"].copy()
    at = int(np.argwhere(frame[0] == 4)[0][0])  # R1
    frame[0, at] = 0
    return State(frame.tobytes(), at)


def step(state, action):
    return state._replace(at=min(max(state.at + {1: -1, 2: 1}.get(action.id, 0), 0), 5))  # R2


def render(state):
    frame = np.frombuffer(state.ground, dtype=np.uint8).reshape(2, 6).copy()
    frame[0, state.at] = 4  # R1
    return frame


def is_over(state):
    return state.ground[state.at] == 1  # R3


def is_goal(state):
    return state.ground[state.at] == 2  # R4
"""
TRUE = Hypothesis(RULES, {ENGINE: SOURCE})
BLIND = Hypothesis(RULES, {ENGINE: SOURCE.replace("== 1  # R3", "== 9  # R3")})
"""Does not know the pit: verified until somebody falls into it."""
STUCK = Hypothesis(RULES, {ENGINE: SOURCE.replace("{1: -1, 2: 1}", "{1: -1, 2: 0}")})
"""Wrong at the first step to the right."""


@contextmanager
def session_of(
    folder: Path,
    host: Host,
    *,
    world: World | None = None,
    mind: Mind | None = None,
    protocol: str = "memento3",
    budget: int = 60,
    members: int = 1,
) -> Iterator[Session]:
    """A live run in this process, without a world process: quick to make, everything else as ever."""
    world = world or Corridor()
    folder.mkdir(parents=True, exist_ok=True)
    ledger = Ledger.create(folder / "ledger.sqlite")
    state = State(Record(world.spec.levels), [Member(index) for index in range(members)])
    rules = get_protocol(protocol)
    session = Session(
        EventLog(ledger, state),
        world,
        host,
        GitVersions(folder / "memory"),
        mind or ExternalAgentMind(),
        rules,
        budget=budget,
        seed=0,
    )
    run = {"world": "corridor", "mind": "drive", "protocol": protocol, "population": members, "budget": budget, "seed": 0}
    spec = {"levels": world.spec.levels, "shape": world.spec.shape, "actions": world.spec.actions, "baselines": None}
    try:
        spec |= {"baseline": "optimal", "palette": "arc"}
        session.open(OpenEvent(RecordedSettings(run), RecordedSpec(spec), {}, RecordedSandbox("", {})))
        yield session
    finally:
        session.close()


def changed(hypothesis: Hypothesis, files: Mapping[str, str] | None = None, rulebook: str | None = None) -> Hypothesis:
    return Hypothesis(hypothesis.rulebook if rulebook is None else rulebook, {**hypothesis.files, **(files or {})})


def words(actions: Sequence[Action]) -> list[str]:
    return [str(action) for action in actions]


@contextmanager
def corridor(folder: Path, host: Host, protocol: str = "memento3") -> Iterator[tuple[Session, SocketServer, Agent]]:
    """A run of that world in `folder`/run, served to a workspace in `folder`/ws, and an agent there."""
    with (
        session_of(folder / "run", host, protocol=protocol) as session,
        serve(session, [folder / "ws"], folder=RunFolder(folder / "run")) as server,
    ):
        yield session, server, Agent(folder / "ws")
