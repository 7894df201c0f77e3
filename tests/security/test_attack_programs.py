"""Attacks by programs: on the record, which cannot be fooled, and on the host that runs them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from attacks import BOOK, ON, START, TRUE, opened, ring, sound
from hostile import program

from lawbook.core.hypothesis import ENGINE, Decision, Hypothesis, Proposal
from lawbook.core.record import RESET, Observation, Record, Status, freeze
from lawbook.core.results import InitialObservation, Limits, NoPlan, Plan, ProgramError, Verdict, VerdictKind
from lawbook.runs.session import Session
from lawbook.sandbox import seccomp
from lawbook.sandbox.host import Host, Program
from lawbook.sandbox.worker_client import CandidatePlan, Worker
from lawbook.verification.replay import verify


@pytest.fixture
def session(tmp_path: Path, host: Host) -> Iterator[Session]:
    with opened(tmp_path, host) as (_, session):
        yield session


# -- the record cannot be fooled -------------------------------------------------------------------------


def recorded(*trajectories: int, width: int = 4) -> Record:
    """A world that shows how many steps were taken since the reset, in so many trajectories of so many steps."""
    record = Record(levels=1)
    for steps in trajectories:
        for step in range(steps + 1):
            frame = np.zeros((1, width), dtype=np.uint8)
            frame[0, 0] = step
            action = ON if step else RESET
            record.extend(action, Observation((freeze(frame),), Status.RUNNING, 0, (1, 2)))
    return record


def judged(host: Host, source: str, record: Record) -> Verdict:
    loaded = host.load({ENGINE: source})
    assert isinstance(loaded, Program), loaded
    return verify(loaded, record)


COUNTS = """
import numpy as np
class Cell:
    at = 0
G = Cell()
starts = steps = 0
{code}
def is_goal(state): return False
def frame(n, extra=0):
    return np.array([[n, 0, 0, extra]], dtype=np.uint8)
"""
HONEST = """
def initial_state(observation): return 0
def step(state, action): return state + 1
def render(state): return frame(state)
"""
LEAKY = {
    "a state changed in place": """
def initial_state(observation): return Cell()
def step(state, action):
    state.at += 1
    return state
def render(state): return frame(state.at)
""",
    "a copy that is none": """
def initial_state(observation): return ([0],)
class Bag(tuple):
    def __hash__(self): return 1
def initial_state(observation): return Bag(([0],))
def step(state, action):
    state[0][0] += 1
    return Bag((state[0],))
def render(state): return frame(state[0][0])
""",
    "the true state is a variable": """
def initial_state(observation):
    G.at = 0
    return 0
def step(state, action):
    G.at += 1
    return G.at
def render(state): return frame(G.at)
""",
    "an iterator in a variable": """
def initial_state(observation):
    G.at = iter(range(1, 99))
    return 0
def step(state, action): return next(G.at)
def render(state): return frame(state)
""",
    "every other start": """
def initial_state(observation):
    global starts
    starts += 1
    return (0, starts % 2)
def step(state, action): return (state[0] + 1, state[1])
def render(state): return frame(state[0], FRAME)
""",
}


@pytest.mark.parametrize("name", LEAKY)
@pytest.mark.parametrize("trajectories", [(3,), (3, 2), (2, 3, 2)], ids=["one", "two", "three"])
def test_a_state_that_leaks_is_found_out(host: Host, name: str, trajectories: tuple[int, ...]) -> None:
    record = recorded(*trajectories)
    assert judged(host, COUNTS.format(code=HONEST), record).admissible
    source = COUNTS.format(code=LEAKY[name].replace("FRAME", "state[1]"))
    if name == "every other start":  # it shows what it has recorded: ask it
        loaded = host.load({ENGINE: source})
        assert isinstance(loaded, Program)
        record = Record(levels=1)
        worker = loaded.start_worker()
        assert isinstance(worker, Worker)
        with worker:
            for steps in trajectories:
                replay = worker.replay(InitialObservation(np.zeros((1, 4), dtype=np.uint8), 0, (1, 2)), [ON] * steps)
                for step, shown in enumerate(replay.frames):
                    record.extend(ON if step else RESET, Observation((freeze(shown),), Status.RUNNING, 0, (1, 2)))
    verdict = judged(host, source, record)
    assert verdict.outcome is VerdictKind.FAULT and verdict.fault is not None and verdict.fault.kind == "unrepeatable", (
        verdict.reason
    )


ADDRESSES = {
    "where a set begins": ("S = {P(n) for n in range(30)}", "next(iter(S)).n"),
    "the order of a set": ("S = frozenset(P(n) for n in range(9))", "[p.n for p in S][0]"),
    "an order made anew": ("", "sum((k + 1) * p.n for k, p in enumerate({P(n) for n in range(6)}))"),
    "a number in a page": ("", "(id(P(1)) >> 4) % 4"),
    "where a class lies": ("", "id(P) >> 4"),
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_addresses_are_no_rule_of_any_world(host: Host, name: str) -> None:
    """Memory begins at random places, but always with a page: the rest of an address is the same in all interpreters."""
    top, what = ADDRESSES[name]
    source = f"""
class P:
    def __init__(self, n): self.n = n
{top}
def initial_state(observation): return 0
def step(state, action): return state + 1
def render(state): return [[state, 0, 0, ({what}) % 256]]
def is_goal(state): return False
"""
    loaded = host.load({ENGINE: source})
    assert isinstance(loaded, Program)
    worker = loaded.start_worker()
    assert isinstance(worker, Worker)
    record = Record(levels=1)
    with worker:
        for step, shown in enumerate(
            worker.replay(InitialObservation(np.zeros((1, 4), dtype=np.uint8), 0, (1, 2)), [ON] * 9).frames
        ):
            record.extend(ON if step else RESET, Observation((freeze(shown),), Status.RUNNING, 0, (1, 2)))
    assert not verify(loaded, record).admissible


def test_a_table_by_step_is_admissible_and_falls_at_its_first_new_step(tmp_path: Path, host: Host) -> None:
    table = """
SHOWN = [(1, 0, 0, 0, 0, 0, 0, 0), (0, 1, 0, 0, 0, 0, 0, 0), (0, 0, 1, 0, 0, 0, 0, 0)]
def initial_state(observation): return 0
def step(state, action): return min(state + 1, 2)  # R1
def render(state): return [SHOWN[state]]
def is_goal(state): return False  # R2
"""
    with opened(tmp_path, host) as (_, session):
        session.probe(ON, "?")
        session.probe(ON, "?")
        assert session.propose(Proposal(Decision.REVISE_RULEBOOK, BOOK, {ENGINE: table})).admissible
        assert session.probe(ON, "?").falsified == (0,)
        assert not session.list_admissible_members()


def test_a_table_by_step_gives_itself_away_by_its_length(host: Host) -> None:
    """Both say the same about everything on record; only one of the two grows with it (Eq. 23)."""
    lengths = {}
    for steps in (10, 20, 40):
        record = recorded(steps)
        table = f"SHOWN = {[shown.tolist() for shown in record.current.settled_frames]}\n" + (
            "def initial_state(observation): return 0\ndef step(state, action): return state + 1\n"
            "def render(state): return SHOWN[state]\ndef is_goal(state): return False\n"
        )
        law = COUNTS.format(code=HONEST)
        assert judged(host, table, record).admissible and judged(host, law, record).admissible
        lengths[steps] = [Hypothesis(BOOK, {ENGINE: source}).description_bytes for source in (table, law)]
    assert lengths[40][1] == lengths[20][1] == lengths[10][1]
    assert lengths[40][0] - lengths[20][0] > 1.9 * (lengths[20][0] - lengths[10][0]) > 0
    assert lengths[40][0] > lengths[40][1]


def test_a_program_that_behaves_only_when_it_is_verified(tmp_path: Path, host: Host) -> None:
    """It looks up who calls it: honest in replays, it promises a goal to a search, and another way alive."""
    spy = "import sys\ndef who(): return {sys._getframe(n).f_code.co_name for n in range(1, 6)}\n"
    liar = ring(
        ("import numpy as np", "import numpy as np\n" + spy),
        ("return False", "return '_search' in who() and state[0] == 2"),
    )
    with opened(tmp_path, host) as (_, session):
        assert session.propose(liar).admissible
        found = session.plan()
        assert not isinstance(found, Plan) and session.state.n_actions == 0
        assert not session.list_admissible_members()


# -- programs against the host ---------------------------------------------------------------------------


def outcome(host: Host, files: dict[str, str], steps: int = 5, *, twin: bool = False) -> ProgramError | None:
    loaded = host.load(files)
    if isinstance(loaded, ProgramError):
        return loaded
    worker = loaded.start_worker(twin=twin)
    if isinstance(worker, ProgramError):
        return worker
    with worker:
        return worker.replay(START, [ON] * steps).fault


def test_every_system_call_but_those_that_are_meant_is_denied(host: Host) -> None:
    """io_uring, userfaultfd, memfd, pidfd, ptrace, sockets of every family, shared memory, keys, mounts, clone: all of them."""
    import platform

    machine = platform.machine()
    probes = {335, 336} if machine == "x86_64" else set()  # uretprobe and uprobe: the kernel exempts them, and they do nothing here
    spared = sorted({*seccomp.ALLOWED[machine].values(), *seccomp.COMMANDS[machine].values(), *probes})
    sweep = f"""
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
passed = []
for number in set(range(600)) - set({spared}):
    ctypes.set_errno(0)
    if libc.syscall(number, 0, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() != errno.EPERM:
        passed.append(number)
if passed: raise ValueError(passed)
"""
    assert outcome(host, program(top=sweep)) is None


def search(host: Host, source: str, limits: Limits, goal: str | None = None) -> CandidatePlan | NoPlan | ProgramError:
    loaded = host.load({ENGINE: source})
    assert isinstance(loaded, Program), loaded
    worker = loaded.start_worker()
    assert isinstance(worker, Worker)
    with worker:
        assert worker.replay(START, []).fault is None
        return worker.search(limits, goal)


def test_a_frontier_without_end_is_a_limit(host: Host) -> None:
    grows = program()[ENGINE] + "def step(state, action): return state * 2 + action.id, bytes(1 << 20)\n"
    grows = program(render="return [[0] * 4] * 4")[ENGINE] + "def step(state, action): return (state, action.id, bytes(1 << 20))\n"
    answer = search(host, grows, Limits(nodes=10**9, depth=10**6, seconds=20))
    assert isinstance(answer, NoPlan) and answer.cut == "memory"


@pytest.mark.parametrize(
    ("step", "offers"),
    [("time.sleep(0.03)", "(1, 2, 3, 4)"), ("time.sleep(0.001)", "[(6, x, y) for x in range(40) for y in range(40)]")],
    ids=["slow steps", "many clicks"],
)
@pytest.mark.parametrize("extra", ["", "def heuristic(state): return 0\n"], ids=["breadth first", "a star"])
def test_a_slow_program_is_cut_by_the_clock_and_not_called_broken(host: Host, step: str, offers: str, extra: str) -> None:
    source = program(top="import time", step=step, render="return [[0] * 4] * 4")[ENGINE].replace(
        "return state + 1", "return state, action.id"
    )
    source += f"def actions(state): return {offers}\n{extra}"
    answer = search(host, source, Limits(nodes=10**9, depth=100, seconds=0.5))
    assert isinstance(answer, NoPlan) and answer.cut == "seconds", answer


@pytest.mark.timing
def test_slowness_adds_up_over_many_trajectories(host: Host) -> None:
    """Each start stays below the limit of a step; the hundred of them must not take a hundred times that."""
    loaded = host.load(program(top="import time", render="time.sleep(0.6)"))
    assert isinstance(loaded, Program)
    worker = loaded.start_worker()
    assert isinstance(worker, Worker)
    began = time.monotonic()
    with worker:
        faults = [worker.replay(START, []).fault for _ in range(12)]
    assert faults[0] is None
    assert faults[-1] is not None and faults[-1].kind == "time"
    assert time.monotonic() - began < 6


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_that_somebody_kills_says_nothing_against_its_program(session: Session, number: int) -> None:
    """Whoever runs out of memory on a machine may be anybody; the one who is killed for it too."""
    session.propose(TRUE)
    session.probe(ON, "?")
    pid = session._predictor._workers[0]._pid
    assert pid is not None
    os.kill(pid, number)
    sent = session.probe(ON, "?")
    assert sent.actions == (ON,) and not sent.falsified and session.list_admissible_members() == [0]
    sound(session)


def test_a_program_that_is_killed_every_time_is_at_fault(session: Session) -> None:
    crash = "import ctypes, sys\ndef step(state, action):\n    if sys._getframe(1).f_code.co_name == '_step': ctypes.string_at(1)"
    assert session.propose(ring(("def step(state, action):", crash))).admissible
    sent = session.probe(ON, "?")
    assert sent.actions == () and sent.falsified == (0,)
