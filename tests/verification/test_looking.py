"""Programs that take in what was seen: honest ones hold, and whoever uses `update` for something else is found out."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from lookers import HONEST, LIARS, RECORD, RULES, make_record, program

from lawbook.core.hypothesis import ENGINE
from lawbook.core.record import RESET, Action, Observation, Record, Status, freeze
from lawbook.core.results import InitialObservation, ProgramError, Verdict
from lawbook.sandbox.host import Host, Program
from lawbook.verification.replay import verify
from lawbook.verification.unlooked import draw_look_end, draw_padding

SEEDS = [f"seed {k}" for k in range(20)]


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Host(step_seconds=1.0, memory_mb=256) as host:
        yield host


def judge(
    host: Host, files: dict[str, str], record: Record = RECORD, seed: str = "a", rules: tuple[int, ...] | None = RULES
) -> Verdict:
    """What verification makes of a program, a fault of loading included."""
    program = host.load(files, rules)
    if isinstance(program, ProgramError):
        from lawbook.core.results import VerdictKind

        return Verdict(VerdictKind.FAULT, program.reason, fault=program)
    return verify(program, record, seed=seed)


def name_end(verdict: Verdict) -> str:
    return verdict.fault.kind if verdict.fault else verdict.outcome.value


@pytest.fixture(scope="module")
def first_hash() -> int:
    """What `hash("a") % 1000` is in the first interpreter (hash seed 0)."""
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run([sys.executable, "-c", "print(hash('a') % 1000)"], env=environment, capture_output=True, check=True)
    return int(done.stdout)


@pytest.mark.parametrize("name", LIARS)
def test_who_uses_it_for_something_else_is_found_out(host: Host, first_hash: int, name: str) -> None:
    liar = LIARS[name]
    verdict = judge(host, {ENGINE: liar.files[ENGINE].replace("{hash}", str(first_hash))})
    assert name_end(verdict) in liar.ends, verdict
    assert liar.says in verdict.reason and verdict.reason.count("Traceback") == 0
    assert judge(host, HONEST).admissible, "the host serves on"


@pytest.mark.parametrize("seed", SEEDS)
def test_an_honest_one_holds_however_long_it_does_not_look(host: Host, seed: str) -> None:
    verdict = judge(host, HONEST, seed=seed)
    assert verdict.admissible, verdict.reason
    assert verdict.replayed == sum(map(len, RECORD))


@pytest.mark.parametrize("seed", SEEDS)
def test_what_turns_true_three_unlooked_steps_on_falls_in_every_draw(host: Host, seed: str) -> None:
    verdict = judge(host, program(goal="unseen >= 3"), seed=seed)
    assert verdict.counterexample is not None and "without looking since" in verdict.reason


def test_without_looking_it_would_not_know(host: Host) -> None:
    """The program learns from what it is shown: the bar and the fog are claimed after that and open before."""
    loaded = host.load(HONEST, RULES)
    assert isinstance(loaded, Program) and loaded.has_update
    trajectory = RECORD.trajectories[0]
    start, shown = InitialObservation.from_observation(trajectory.first), {}
    worker = loaded.start_worker()
    assert not isinstance(worker, ProgramError)
    with worker:
        for name, seen in (("looks", trajectory.observations), ("does not", [])):
            for in_lockstep in (False, True):
                replay = worker.replay(start, trajectory.actions, observations=seen, in_lockstep=in_lockstep)
                assert replay.fault is None
                shown[name, in_lockstep] = replay.get_prediction(-1)
    for name in ("looks", "does not"):
        assert shown[name, True].is_same_as(shown[name, False])
    assert shown["looks", True].is_whole and np.array_equal(shown["looks", True].frame, trajectory.last.frame)
    assert shown["does not", True].open_cells.tolist()[0] == [1] * 4  # type: ignore[union-attr]


def test_a_step_at_a_time_is_the_same_as_a_replay(host: Host) -> None:
    loaded, trajectory = host.load(HONEST, RULES), RECORD.trajectories[1]
    assert isinstance(loaded, Program)
    start = InitialObservation.from_observation(trajectory.first)
    one, other = loaded.start_worker(), loaded.start_worker()
    assert not isinstance(one, ProgramError) and not isinstance(other, ProgramError)
    with one, other:
        replay = one.replay(start, trajectory.actions, observations=trajectory.observations)
        other.replay(start, [])
        before = None
        for k, (action, observation) in enumerate(trajectory.steps, 1):
            prediction = other.step(action, before)
            assert not isinstance(prediction, ProgramError) and prediction.is_same_as(replay.get_prediction(k))
            before = observation
        assert before is not None and other.update(before) is None
        rolled = [worker.roll([Action(1), Action(2)]) for worker in (one, other)]
        assert not any(isinstance(rollout, ProgramError) for rollout in rolled)
        assert all(a.is_same_as(b) for a, b in zip(rolled[0][0], rolled[1][0], strict=True))  # type: ignore[index]
        again = other.step(Action(1))
        assert not isinstance(again, ProgramError) and again.is_same_as(rolled[0][0][0])  # type: ignore[index]


def test_only_a_level_that_runs_on_is_shown(host: Host) -> None:
    files = program(update="assert observation['frame'][1].any(), 'the end is shown'")
    record = make_record([1, 1, 2])
    black = freeze(np.zeros((4, 4), np.uint8))
    record.extend(Action(1), Observation((black,), Status.TRUNCATED, 0, (1, 2)))
    assert judge(host, files, record).admissible


def test_other_protocols_leave_a_function_of_that_name_alone(host: Host) -> None:
    files = program(update="raise KeyError('it is called')", render="frame[0] = [3 if k < 4 - steps // 3 else 0 for k in range(4)]")
    whole = files[ENGINE].replace("-2 if value == -1", "(14, 11, 13, 12)[k] if value == -1")
    whole = whole.replace("for value in fog]  # U2", "for k, value in enumerate(fog)]")
    whole = whole.replace(
        "def initial_state(observation):", "def initial_state(observation):\n    assert 'frames' not in observation"
    )
    verdict = judge(host, {ENGINE: whole}, rules=None)
    assert verdict.admissible, verdict.reason


def test_the_animation_that_led_to_a_start_is_shown_and_kept(host: Host) -> None:
    files = program(initial="a, b = observation['frames']; assert (a == b + 1).all() and (b == observation['frame']).all()")
    assert judge(host, files).admissible
    assert all(len(trajectory.first.frames) == 2 for trajectory in RECORD)


# -- the end of the record ------------------------------------------------------------------------------------------------

_COUNTER = """
import sys
import numpy as np
def remaining():
    frame = sys._getframe()
    while "request" not in frame.f_locals: frame = frame.f_back
    return len(frame.f_locals["request"]["actions"])
def initial_state(observation): return 0
def step(state, action):
    {step}
    return state + 1
def render(state): return np.full((2, 2), state, np.uint8)
def is_goal(state): return False
def is_over(state): return {over}
"""


def ending_record(*lengths: int) -> Record:
    """A counter whose game is over after so many steps, and nothing tells when."""
    record = Record()
    for k, length in enumerate(lengths):
        record.extend(RESET if k else None, Observation((freeze(np.zeros((2, 2), np.uint8)),), Status.RUNNING, 0, (1, 2)))
        for n in range(1, length + 1):
            status = Status.OVER if n == length else Status.RUNNING
            record.extend(Action(1 + n % 2), Observation((freeze(np.full((2, 2), n, np.uint8)),), status, 0, (1, 2)))
    return record


@pytest.mark.parametrize("rules", [None, (1,)])
@pytest.mark.parametrize("seed", SEEDS[:5])
def test_who_reads_where_the_record_ends_is_wrong_about_it(host: Host, seed: str, rules: tuple[int, ...] | None) -> None:
    files = {ENGINE: _COUNTER.format(step="pass", over="state == remaining()")}
    verdict = judge(host, files, ending_record(7, 4, 11, 5), seed, rules)
    assert verdict.counterexample is not None and verdict.counterexample.expected is Status.OVER


@pytest.mark.parametrize("trouble", ["raise KeyError", "sum(iter(int, 1))", "import os; os._exit(1)", "return [1]", "sys.exit()"])
def test_what_goes_wrong_after_the_end_does_not_matter(host: Host, trouble: str) -> None:
    files = {ENGINE: _COUNTER.format(step=f"if state >= 6: {trouble}", over="False")}
    record = ending_record(6, 6, 6)
    for trajectory in record:
        action, last = trajectory.steps[-1]
        trajectory.steps[-1] = action, Observation(last.frames, Status.RUNNING, 0, (1, 2))
    verdict = judge(host, files, record)
    assert verdict.admissible, verdict.reason
    assert verdict.replayed == 18


def test_what_is_drawn_depends_on_the_seed_and_repeats() -> None:
    trajectory = RECORD.trajectories[0]
    ends = {draw_look_end(seed, 0, len(trajectory)) for seed in SEEDS}
    assert len(ends) > 8 and ends <= set(range(len(trajectory)))
    paddings = [draw_padding(seed, 0, trajectory) for seed in SEEDS]
    assert paddings == [draw_padding(seed, 0, trajectory) for seed in SEEDS]
    assert len({len(padding) for padding in paddings}) > 8 and min(map(len, paddings)) >= 1
    assert {action for padding in paddings for action in padding} == {Action(1), Action(2)}
