"""The host serves: loading, replays, live steps and goals, each against the plain definition of what it must be."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hostile import program
from workers import PLENTY, START, counter, loaded, worker

from lawbook.core.hypothesis import ENGINE
from lawbook.core.record import Action, Status
from lawbook.core.results import InitialObservation, Prediction, ProgramError
from lawbook.errors import HostError
from lawbook.sandbox.host import Host
from lawbook.sandbox.worker_client import CandidatePlan, Worker

REFERENCE = Path(__file__).parents[2] / "bench" / "programs" / "walled_grid" / ENGINE
R, C, O = Status.RUNNING, Status.COMPLETED, Status.OVER  # noqa: E741


# -- loading ---------------------------------------------------------------------------------------


def test_files_import_each_other(host: Host) -> None:
    files = {
        ENGINE: "from rules import *\nfrom rules import step",
        "rules.py": "import shapes\n" + program()[ENGINE],
        "shapes.py": "",
    }
    with worker(host, files) as it:
        assert it.replay(START, [Action(1)]).frames[:, 0, 0].tolist() == [0, 1]


def test_perception_can_be_imported_and_lawbook_cannot(host: Host) -> None:
    """A program that follows a thing by its shape, with our helpers."""
    source = """
import numpy as np
import perception
from perception import objects
def initial_state(observation):
    return 1
def step(state, action):
    return state + 1
def render(state):
    frame = np.zeros((4, 4), np.uint8)
    frame[1:3, state % 3] = 7
    (thing,) = objects(frame, where=frame > 0)
    frame[thing.row, thing.column] = sum(click.cells for click in perception.clicks(frame))
    return frame
def is_goal(state):
    try:
        import lawbook
    except ModuleNotFoundError:
        return perception.__name__ != "perception" or perception.Object.__module__ != "perception"
    return True
"""
    with worker(host, source) as it:
        replay = it.replay(START, [Action(1)])
        assert replay.fault is None and replay.statuses == (R, R)
        assert replay.frames[:, 1:3].tolist() == [[[0, 16, 0, 0], [0, 7, 0, 0]], [[0, 0, 16, 0], [0, 0, 7, 0]]]
    for name in ("lawbook", "lawbook.core.perception"):
        fault = host.load({ENGINE: f"import {name}\n" + program()[ENGINE]})
        assert (
            isinstance(fault, ProgramError) and fault.kind == "forbidden" and "the standard library, perception and" in fault.reason
        )
    shadowing = host.load({**program(), "perception.py": ""})
    assert isinstance(shadowing, ProgramError) and shadowing.kind == "load" and "rename it" in shadowing.reason


def test_a_dataclass_is_a_state(host: Host) -> None:
    source = """
from dataclasses import dataclass, replace
@dataclass(frozen=True)
class State:
    at: int
def initial_state(observation): return State(observation["level"])
def step(state, action): return replace(state, at=state.at + action.id)
def render(state): return [[state.at] * 4] * 4
def is_goal(state): return state.at > 4
"""
    with worker(host, source) as it:
        replay = it.replay(START, [Action(1), Action(2)])
        assert replay.frames[:, 0, 0].tolist() == [2, 3, 5]
        assert replay.statuses == (R, R, C)


def test_a_program_is_given_what_the_contract_says(host: Host) -> None:
    source = (
        program()[ENGINE]
        + """
def initial_state(observation):
    assert sorted(observation) == ["available_actions", "frame", "level"]
    assert observation["available_actions"] == (1, 2) and observation["level"] == 2
    frame = observation["frame"]
    assert frame.shape == (4, 4) and frame.dtype.name == "uint8" and not frame.flags.writeable
    return 0
def step(state, action):
    assert (action.id, action.x, action.y) in [(6, 3, 1), (1, None, None)]
    return state
"""
    )
    with worker(host, source) as it:
        assert it.replay(START, [Action(6, 3, 1), Action(1)]).fault is None


# -- replay ----------------------------------------------------------------------------------------


def reference_module() -> ModuleType:
    module = ModuleType("walled_grid")
    exec(compile(REFERENCE.read_text(), "walled_grid", "exec"), module.__dict__)  # noqa: S102 - our own
    return module


def test_replay_is_the_bare_loop_piece_by_piece(host: Host) -> None:
    """Over more steps than the shared ring holds at once."""
    sys.path.insert(0, str(REFERENCE.parents[2]))
    import reference

    engine = reference_module()
    start = InitialObservation(reference.frame(), 0, reference.AVAILABLE)
    actions = [Action(*row) for row in reference.walk(1000)]
    state = engine.initial_state({"frame": start.frame})
    expected = [engine.render(state)]
    for action in actions:
        state = engine.step(state, action)
        expected.append(engine.render(state))
    pieces: list[tuple[int, int]] = []

    def check(at: int, frames: np.ndarray, statuses: Sequence[Status], *_: object) -> bool:
        assert len(frames) == len(statuses)
        assert np.array_equal(frames, expected[at : at + len(frames)])
        pieces.append((at, at + len(frames)))
        return True

    with worker(host, reference.files()) as it:
        replay = it.replay(start, actions, check)
    assert replay.fault is None and not replay.stopped
    assert np.array_equal(replay.frames, np.stack(expected))
    assert replay.statuses == (R,) * 1001
    assert pieces[0][0] == 0 and pieces[-1][1] == 1001 and len(pieces) > 3
    assert all(one[1] == other[0] for one, other in pairwise(pieces))


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (210, 160), (700, 900)])
def test_frames_of_any_shape(host: Host, shape: tuple[int, int]) -> None:
    source = (
        f"import numpy as np\n{program(render=f'frame = np.full({shape}, state % 251, dtype=np.uint8); frame[-1, -1] = 7')[ENGINE]}"
    )
    steps = 3200 if shape[0] < 10 else 20
    with worker(host, source) as it:
        replay = it.replay(InitialObservation(np.zeros(shape, dtype=np.uint8), 0, (1,)), [Action(1)] * steps)
    assert replay.frames.shape == (steps + 1, *shape)
    assert (replay.frames[:, -1, -1] == 7).all()
    if shape != (1, 1):
        assert np.array_equal(replay.frames[:, 0, 0], np.arange(steps + 1) % 251)


def test_frames_too_large_to_show_are_a_host_error(host: Host) -> None:
    with worker(host, counter()) as it, pytest.raises(HostError, match="larger"):
        it.replay(InitialObservation(np.zeros((4096, 4096), dtype=np.uint8), 0, (1,)), [])


@pytest.mark.parametrize(
    "render", ["frame = tuple(map(tuple, frame))", "import numpy; frame = numpy.array(frame)", "frame = frame"]
)
def test_any_whole_numbers_are_a_frame(host: Host, render: str) -> None:
    with worker(host, counter(render=render)) as it:
        assert it.replay(START, [Action(1)]).frames.dtype == np.uint8


def test_replay_starts_anew_and_leaves_the_old_frames_alone(host: Host) -> None:
    with worker(host, counter()) as it:
        one = it.replay(START, [Action(1)] * 3)
        other = it.replay(START, [Action(1)])
    assert one.frames[:, 0, 0].tolist() == [0, 1, 2, 3]
    assert other.frames[:, 0, 0].tolist() == [0, 1]


def test_stopping_early_costs_no_more_and_the_worker_serves_on(host: Host) -> None:
    seen = []

    def check(at: int, frames: np.ndarray, statuses: Sequence[Status], *_: object) -> bool:
        seen.append(at)
        return len(seen) < 2

    with worker(host, counter(render="frame = [[state % 256] * 4] * 4")) as it:
        replay = it.replay(START, [Action(1)] * 100_000, check)
        assert replay.stopped and replay.fault is None and len(seen) == 2
        assert len(replay.frames) == len(replay.statuses) < 10_000
        with pytest.raises(RuntimeError, match="stands nowhere"):
            it.step(Action(1))
        again = it.replay(START, [Action(1)] * 2)
        assert again.fault is None and again.frames[:, 0, 0].tolist() == [0, 1, 2]
        assert isinstance(it.step(Action(1)), Prediction)


def test_a_program_that_will_not_stop_is_ended(host: Host) -> None:
    forge = """
import json, os, struct
def flood():
    text = json.dumps(dict(n=2, upto=0)).encode()
    while True:
        for descriptor in (3, 4, 5, 6, 7):
            try: os.write(descriptor, struct.pack("<4sII", b"LAW1", len(text), 0) + text)
            except OSError: pass
"""
    with worker(host, counter(top=forge, step="if state == 1500: flood()", render="frame = [[0] * 4] * 4")) as it:
        assert it.replay(START, [Action(1)] * 5000, lambda *chunk: False).stopped
        fault = it.replay(START, []).fault
        assert fault is not None and fault.kind == "time"


def test_a_slow_replay_is_checked_before_it_ends(host: Host) -> None:
    with worker(host, counter(top="import time", step="time.sleep(0.02)")) as it:
        replay = it.replay(START, [Action(1)] * 200, lambda at, frames, statuses: at == 0)
        assert replay.stopped and len(replay.frames) < 50


def test_a_check_that_fails_leaves_a_worker_that_can_be_closed(host: Host) -> None:
    def check(at: int, frames: np.ndarray, statuses: Sequence[Status], *_: object) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), worker(host, counter(render="frame = [[0] * 4] * 4")) as it:
        it.replay(START, [Action(1)] * 10_000, check)


@pytest.mark.parametrize(
    "code",
    ["1 / 0", "os._exit(7)", "while True: pass", "import ctypes; ctypes.string_at(1)"],
    ids=["raise", "exit", "loop", "crash"],
)
def test_a_fault_names_its_step_and_keeps_what_came_before(host: Host, code: str) -> None:
    checked: list[int] = []

    def check(at: int, frames: np.ndarray, statuses: Sequence[Status], *_: object) -> bool:
        checked.extend(frames[:, 0, 0].tolist())
        return True

    with worker(host, counter(step=f"if state == 16:\n        {code}")) as it:
        replay = it.replay(START, [Action(1)] * 30, check)
        assert replay.fault is not None and replay.fault.step == 17
        assert replay.frames[:, 0, 0].tolist() == checked == list(range(17))
        assert len(replay.statuses) == 17
        if code == "1 / 0":
            assert it.replay(START, [Action(1)]).fault is None
        else:
            assert it.replay(START, [Action(1)]).fault == replay.fault


def test_goal_goes_before_game_over(host: Host) -> None:
    source = counter(goal="state == 2")[ENGINE] + "def is_over(state): return state >= 2\n"
    with worker(host, source) as it:
        assert it.replay(START, [Action(1)] * 3).statuses == (R, R, C, O)


# -- live ------------------------------------------------------------------------------------------


def test_live_steps_go_on_from_where_the_replay_ended(host: Host) -> None:
    with worker(host, counter(goal="state >= 4")) as it:
        with pytest.raises(RuntimeError, match="replay"):
            it.step(Action(1))
        it.replay(START, [Action(1)] * 2)
        assert it.check_goal() is False
        one, two = it.step(Action(1)), it.step(Action(2))
        assert isinstance(one, Prediction) and isinstance(two, Prediction)
        assert (one.frame[0, 0], one.status, two.frame[0, 0], two.status) == (3, R, 4, C)
        assert not one.frame.flags.writeable
        assert it.check_goal() is True
        with pytest.raises(RuntimeError, match="never searched"):
            it.search(PLENTY)
        it.replay(START, [])
        assert isinstance(it.search(PLENTY), CandidatePlan)


def test_a_live_step_that_fails_is_a_fault_and_the_worker_stands_nowhere(host: Host) -> None:
    with worker(host, counter(step="if state == 1: raise ValueError('no')")) as it:
        it.replay(START, [Action(1)])
        fault = it.step(Action(1))
        assert isinstance(fault, ProgramError) and fault.kind == "exception" and "ValueError: no" in fault.reason
        with pytest.raises(RuntimeError):
            it.step(Action(1))


def test_a_live_step_that_stalls_ends(host: Host) -> None:
    with worker(host, counter(step="while state: pass")) as it:
        it.replay(START, [Action(1)])
        fault = it.step(Action(1))
        assert isinstance(fault, ProgramError) and fault.kind == "time"
        assert it.step is not None and it.replay(START, []).fault == fault


def test_a_subgoal_sees_the_programs_names(host: Host) -> None:
    with worker(host, counter(top="LIMIT = 2")) as it:
        it.replay(START, [Action(1)] * 3)
        assert it.check_goal("def subgoal(state):\n    return state > LIMIT") is True
        assert it.check_goal("def subgoal(state):\n    return state < LIMIT") is False
        for source, says in [
            ("def other(state): pass", "`def subgoal(state) -> bool`"),
            ("def subgoal(:", "The subgoal does not compile (SyntaxError"),
            ("def subgoal(state): return state.x", "The subgoal raised AttributeError"),
            ("def subgoal(state): return step(state, None) and 1 / 0", "at subgoal.py line 1 in subgoal"),
            ("def subgoal(): return True", "takes 0 positional arguments"),
            ("def subgoal(state): pass", "subgoal returned None"),
            ("def subgoal(state): raise SystemExit", "tried to exit"),
            ("def subgoal(state): open('/etc/passwd')", "not allowed"),
        ]:
            for fault in (it.check_goal(source), it.search(PLENTY, source)):
                assert isinstance(fault, ProgramError) and fault.kind == "subgoal" and says in fault.reason, fault
        found = it.search(PLENTY, "def subgoal(state): return state == 7")
        assert isinstance(found, CandidatePlan) and len(found.actions) == 4


# -- two interpreters ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("render", "same", "twin_same"),
    [
        ("frame = [[len(word)] * 4 for word in ORDER[:4]]", True, False),
        ("frame = [[hash('a') % 251] * 4] * 4", True, False),
        ("frame = [[x] * 4 for x in time.perf_counter_ns().to_bytes(8, 'little')[:4]]", False, False),
        ("frame = [[x] * 4 for x in os.urandom(4)]", False, False),
        ("frame = [[state] * 4] * 4", True, True),
    ],
    ids=["set order", "hash", "time", "chance", "repeatable"],
)
def test_nondeterminism_shows(host: Host, render: str, same: bool, twin_same: bool) -> None:
    one = loaded(host, counter(top="import time\nORDER = list({'a' * n for n in range(1, 60)})", render=render))
    shown = []
    for twin in (False, False, True):
        it = one.start_worker(twin=twin)
        assert isinstance(it, Worker)
        with it:
            shown.append(it.replay(START, [Action(1)]).frames)
    assert np.array_equal(shown[0], shown[1]) is same
    assert np.array_equal(shown[0], shown[2]) is twin_same


def test_hash_seeds_are_pinned(host: Host) -> None:
    """The same in every run, whatever the environment of the run process says."""
    shown = []
    with Host() as other:
        for one in (host, other):
            for twin in (False, True):
                with worker(
                    one, counter(render="frame = [[x] * 4 for x in hash('a').to_bytes(8, 'little', signed=True)[:4]]"), twin=twin
                ) as it:
                    shown.append(it.replay(START, []).frames.tobytes())
    assert shown[:2] == shown[2:] and shown[0] != shown[1]
