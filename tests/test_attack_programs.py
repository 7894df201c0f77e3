"""Attacks by programs and worlds: on the record, on the sandbox, by forged messages, by lies."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attacks import BOOK, ON, RING, START, TRUE, WALK, opened, ring, sandbox, sound
from hostile import program
from hypothesis import given, settings
from hypothesis import strategies as st
from minds import Scripted
from test_sandbox import processes

from lawbook import wire
from lawbook.answers import Fault, Limits, NoPlan, Outcome, Plan, Probe, Start, Verdict
from lawbook.errors import LawbookError, WorldError
from lawbook.host import seccomp
from lawbook.host.decode import BrokenAnswerError, found_way, told_fault
from lawbook.host.handle import Found, Worker
from lawbook.host.host import Host, Program
from lawbook.hypothesis import ENGINE, Decision, Hypothesis, Proposal
from lawbook.launch import resumed_run
from lawbook.memory.ledger import Kind, Ledger
from lawbook.record import RESET, Action, Observation, Record, Status, freeze
from lawbook.run import play
from lawbook.session import Session
from lawbook.state import Ending
from lawbook.verify import verify
from lawbook.worlds.process import WorldProcess

MEMORY = 600 + os.getpid() % 83  # tells our processes from everybody else's


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with sandbox(MEMORY) as host:
        yield host


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
        worker = loaded.worker()
        assert isinstance(worker, Worker)
        with worker:
            for steps in trajectories:
                replay = worker.replay(Start(np.zeros((1, 4), dtype=np.uint8), 0, (1, 2)), [ON] * steps)
                for step, shown in enumerate(replay.frames):
                    record.extend(ON if step else RESET, Observation((freeze(shown),), Status.RUNNING, 0, (1, 2)))
    verdict = judged(host, source, record)
    assert verdict.outcome is Outcome.FAULT and verdict.fault is not None and verdict.fault.kind == "unrepeatable", verdict.reason


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
    worker = loaded.worker()
    assert isinstance(worker, Worker)
    record = Record(levels=1)
    with worker:
        for step, shown in enumerate(worker.replay(Start(np.zeros((1, 4), dtype=np.uint8), 0, (1, 2)), [ON] * 9).frames):
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
        assert not session.admissible()


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
        assert not isinstance(found, Plan) and session.state.sent == 0
        assert not session.admissible()


# -- programs against the host ---------------------------------------------------------------------------


def outcome(host: Host, files: dict[str, str], steps: int = 5, *, twin: bool = False) -> Fault | None:
    loaded = host.load(files)
    if isinstance(loaded, Fault):
        return loaded
    worker = loaded.worker(twin=twin)
    if isinstance(worker, Fault):
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


def in_step(code: str, top: str = "") -> dict[str, str]:
    return program(top=top, step=code.replace("\n", "\n    "))


FORGE = """
import json, struct, time
def forge(**header):
    text = json.dumps(header).encode()
    return struct.pack("<4sII", b"LAW1", len(text), 0) + text
def tell(message):
    for descriptor in range(3, 64):
        try: os.write(descriptor, message)
        except OSError: pass
"""
PROGRAMS: dict[str, tuple[dict[str, str], set[str | None]]] = {
    "runs out of descriptors": (
        in_step("kept.append(open(os.__file__))\nwhile True: kept.append(open(os.__file__))", "kept = []"),
        {"exception"},
    ),
    "eats slowly": (
        in_step("kept.append(bytearray(1 << 18))\nwhile True: kept.append(bytearray(1 << 18))", "kept = []"),
        {"memory", "time"},
    ),
    "hashes for ever": (
        program(top="class S(int):\n    def __hash__(self):\n        while True: pass", step="return S(state)"),
        {"time"},
    ),
    "compares for ever": (
        in_step(
            "{S(1): 1}[S(1)]", "class S(int):\n    __hash__ = int.__hash__\n    def __eq__(self, other):\n        while True: pass"
        ),
        {"time"},
    ),
    "dies for ever": (in_step("S()", "class S:\n    def __del__(self):\n        while True: pass"), {"time"}),
    "a number without end": (in_step("raise ValueError(10 ** 5000)"), {"exception"}),
    "an enormous state": (program(step="return (state,) * 30_000_000"), {"memory", "exception", "type", "time", None}),
    "recursion in hash": (
        program(top="class S(int):\n    def __hash__(self): return hash(self)", step="return S(state)"),
        {"exception"},
    ),
    "recursion without limit": (
        in_step("sys.setrecursionlimit(10 ** 9)\ndef f(): return f()\nf()"),
        {"killed", "memory", "exception", "time"},
    ),
    "an error that exits": (
        in_step("raise E()", "class E(Exception):\n    def __str__(self): raise SystemExit"),
        {"broken", "exit"},
    ),
    "an error that never tells": (
        in_step("raise E()", "class E(Exception):\n    def __str__(self):\n        while True: pass"),
        {"time"},
    ),
    "an error with a forged name": (in_step("raise type('x' * 100_000, (Exception,), {})()"), {"exception", "broken"}),
    "a duplicated answer": (in_step("if state == 3: tell(forge(n=2, upto=3))", FORGE), {"broken", None}),
    "a delayed answer": (in_step("time.sleep(1.5)", FORGE), {"time"}),
    "an answer of numbers": (
        in_step("tell(b'LAW1' + struct.pack('<II', 9000, 0) + b'{\"n\":' + b'9' * 8994 + b'}')", FORGE),
        {"broken"},
    ),
    "an endless count": (in_step("tell(forge(n=2, upto=1e999, done=True))", FORGE), {"broken"}),
    "a flood of nothing": (in_step("while True: tell(forge(n=2, upto=0))", FORGE), {"time", "broken"}),
    "a flood of faults": (
        in_step("while True: tell(forge(n=2, upto=0, done=True, fault=dict(kind='type', reason='x' * 4_000_000)))", FORGE),
        {"type", "broken", "time"},
    ),
    "trace everything": (in_step("sys.settrace(lambda *a: 1 / 0); step(state, action)"), {"exception", "broken", "killed"}),
    "no more modules": (in_step("sys.modules.clear()"), {None, "exception", "broken"}),
    "no more builtins": (in_step("import builtins; vars(builtins).clear()"), {"broken", "exception", "exit"}),
    "another collector": (
        in_step("import gc; gc.set_threshold(1); gc.callbacks.append(lambda *a: 1 / 0)"),
        {None, "exception", "broken"},
    ),
    "words at exit": (in_step("import atexit; atexit.register(os._exit, 0)"), {None}),
    "a signal handler": (
        in_step("import signal; signal.signal(signal.SIGSEGV, lambda *a: 0); signal.raise_signal(signal.SIGSEGV)"),
        {"forbidden", "exception", "killed", None},
    ),
    "an alarm": (in_step("import signal; signal.alarm(1)"), {None}),
    "a watchdog": (in_step("import faulthandler; faulthandler.dump_traceback_later(1)"), {"forbidden", "exception", "killed"}),
    "its own text": (in_step("open(__file__)"), {"exception", "forbidden"}),
    "every process": (in_step("os.listdir('/proc')"), {"forbidden"}),
    "its own memory": (in_step("open('/proc/self/mem', 'wb')"), {"forbidden"}),
    "an open path": (in_step("os.read(os.open('/proc/self/environ', os.O_PATH), 1)"), {"forbidden", "exception"}),
    "its descriptors again": (in_step("open('/proc/self/fd/3', 'rb')"), {"forbidden", "exception"}),
    "a link out": (in_step("os.link(os.__file__, '/tmp/lawbook-was-here')"), {"forbidden"}),
    "a terminal": (in_step("open('/dev/tty', 'w')"), {"forbidden", "exception"}),
    "shared memory by name": (
        in_step("from multiprocessing import shared_memory; shared_memory.SharedMemory(create=True, size=9)"),
        {"forbidden"},
    ),
    "a database": (in_step("import dbm.dumb; dbm.dumb.open('/tmp/lawbook-was-here', 'c')"), {"forbidden", "exception"}),
    "its priority": (in_step("os.nice(-5)"), {"forbidden", "exception"}),
    "its name": (in_step("import ctypes; assert ctypes.CDLL(None).prctl(15, b'x') == 0"), {"exception"}),
    "executable memory": (in_step("import mmap; mmap.mmap(-1, 4096, prot=7)"), {None}),
    "memory by the hundred": (
        in_step("import mmap\nkept = [mmap.mmap(-1, 1 << 24) for _ in range(1000)]"),
        {"memory", "exception"},
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_hostile_program_costs_itself(host: Host, name: str) -> None:
    files, wanted = PROGRAMS[name]
    fault = outcome(host, files)
    assert (fault and fault.kind) in wanted, fault
    assert fault is None or len(fault.reason) < 2500
    assert sorted(processes(MEMORY)) == sorted(host.pids)


def search(host: Host, source: str, limits: Limits, goal: str | None = None) -> Found | NoPlan | Fault:
    loaded = host.load({ENGINE: source})
    assert isinstance(loaded, Program), loaded
    worker = loaded.worker()
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


def test_slowness_adds_up_over_many_trajectories(host: Host) -> None:
    """Each start stays below the limit of a step; the hundred of them must not take a hundred times that."""
    loaded = host.load(program(top="import time", render="time.sleep(0.6)"))
    assert isinstance(loaded, Program)
    worker = loaded.worker()
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
    pid = session._forecast._workers[0]._pid
    assert pid is not None
    os.kill(pid, number)
    sent = session.probe(ON, "?")
    assert sent.actions == (ON,) and not sent.falsified and session.admissible() == [0]
    sound(session)


def test_a_program_that_is_killed_every_time_is_at_fault(session: Session) -> None:
    crash = "import ctypes, sys\ndef step(state, action):\n    if sys._getframe(1).f_code.co_name == '_step': ctypes.string_at(1)"
    assert session.propose(ring(("def step(state, action):", crash))).admissible
    sent = session.probe(ON, "?")
    assert sent.actions == () and sent.falsified == (0,)


# -- forged messages -------------------------------------------------------------------------------------

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["bfs", "own", "nodes", "running", 1]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("method", "cut", "nodes", "actions", "keyed"), ANYTHING)), ANYTHING)
def test_whatever_a_worker_answers_is_read_or_broken(answer: dict[str, Any], told: Any) -> None:
    with suppress(BrokenAnswerError):
        found = found_way(answer, START, 50, 1.0)
        if isinstance(found, Found):
            assert all(type(action) is Action and 0 < action.id < 1 << 31 for action in found.actions)
    with suppress(BrokenAnswerError):
        fault = told_fault({"fault": told}, step=told)
        assert fault.step is None or type(fault.step) is int


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=40) | st.binary(max_size=60).map(lambda text: b"LAW1" + len(text).to_bytes(4, "little") + bytes(4) + text)
)
def test_whatever_comes_over_the_wire_is_a_message_or_broken(noise: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(noise)
        theirs.shutdown(socket.SHUT_WR)
        with suppress(wire.BrokenWireError):
            header, blobs = wire.receive(ours, seconds=1.0)
            assert type(header) is dict and blobs == []


class Unkillable(WorldProcess):
    def _fail(self, how: str, what: str) -> Any:
        raise WorldError(f"{how} at {what}")


def test_whatever_a_world_answers_is_an_observation_or_a_sentence() -> None:
    with Unkillable(WALK) as world:

        @settings(max_examples=300, deadline=None)
        @given(
            st.fixed_dictionaries(
                {},
                optional={
                    "shape": ANYTHING | st.just([1, 1, 8]) | st.just([1.0, 1, 8]),
                    "status": ANYTHING | st.sampled_from(list(Status)),
                    "level": ANYTHING,
                    "available": ANYTHING | st.lists(st.sampled_from([1, 2, 1.0, True]), max_size=3),
                },
            ),
            st.lists(st.binary(max_size=9) | st.just(bytes(8)), max_size=2),
        )
        def attack(header: dict[str, Any], blobs: list[bytes]) -> None:
            with suppress(WorldError):
                seen = world._observation(header, blobs, "action 1")
                assert seen.frame.shape == (1, 8) and not seen.frame.flags.writeable
                assert all(type(number) is int for number in (seen.level, *seen.available))

        attack()


# -- worlds that lie -------------------------------------------------------------------------------------


def lying(name: str) -> str:
    return f"py:lying_worlds:SOURCE/{name}"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("jumps", "from level 0 to 2 and called that completed"),
        ("sinks", "from level 1 to 0 and called that running"),
        ("sinks-when-over", "from level 1 to 0 and called that over"),
        ("goes-beyond", "from level 0 to 7"),
        ("completes-nothing", "from level 0 to 0"),
        ("rises-unsaid", "from level 0 to 1 and called that running"),
        ("opens-beyond", "level 9"),
        ("rises-at-reset", "from level 0 to 1"),
        ("shouts", "ValueError"),
    ],
)
def test_a_world_that_lies_is_a_sentence(name: str, says: str) -> None:
    with WorldProcess(lying(name)) as world:
        with pytest.raises(WorldError, match=says) as caught:
            world.reset()
            world.step(ON)
            world.step(ON)
            world.reset()
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 1200


@pytest.mark.parametrize("name", ["half-a-level", "below-nothing", "wordy-baselines", "boundless", "endless"])
def test_a_world_that_describes_itself_wrongly_is_not_begun(tmp_path: Path, host: Host, name: str) -> None:
    with pytest.raises(LawbookError, match=r"^The world .*\.$"), opened(tmp_path, host, lying(name)):
        pass


@pytest.mark.parametrize("protocol", ["vanilla", "memento3"])
def test_a_world_where_nothing_can_be_done_ends_as_stuck(tmp_path: Path, host: Host, protocol: str) -> None:
    mind = Scripted([Hypothesis(BOOK, {ENGINE: RING.replace("8", "4")})], [Probe(ON, "?")])
    with opened(tmp_path, host, lying("nothing-to-do"), mind, protocol=protocol) as (_, session):
        assert play(session) is Ending.STUCK
        assert session.state.sent == 0
        sound(session)


def test_a_lie_in_the_middle_of_a_run_can_be_resumed_and_told_again(tmp_path: Path, host: Host) -> None:
    mind = Scripted([], [Probe(ON, "?")])
    told = pytest.raises(WorldError, match="from level 0 to 2")
    with told, opened(tmp_path, host, lying("jumps"), mind, protocol="vanilla") as (folder, session):
        play(session)
    with pytest.raises(WorldError, match="from level 0 to 2"), resumed_run(folder, host=host, mind=Scripted()) as session:
        play(session)
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        assert ledger.check() is None
        assert sum(event.kind is Kind.INTEND for event in ledger) == 1
