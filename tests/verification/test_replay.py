"""Verification: what is compared and what is not, where it says things part, and that nothing unproven passes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from lawbook.core.hypothesis import ENGINE
from lawbook.core.record import RESET, Action, Observation, Record, Status, Trajectory, freeze
from lawbook.core.results import Counterexample, InitialObservation, Prediction, ProgramError, Verdict, VerdictKind
from lawbook.sandbox.host import Host, Program
from lawbook.verification import replay as module
from lawbook.verification.comparison import COMPARED_FIELDS, TrajectoryComparison, compare_prediction, find_frame_difference
from lawbook.verification.counterexample import MAX_REGIONS, build_counterexample
from lawbook.verification.replay import verify

R, C, O, T = Status.RUNNING, Status.COMPLETED, Status.OVER, Status.TRUNCATED  # noqa: E741
SHAPE = (2, 3)
FRAMES = arrays.arrays(np.uint8, SHAPE, elements=st.integers(0, 2))


def seen(frame: object, status: Status = R, level: int = 0) -> Observation:
    return Observation((freeze(frame),), status, level, (1, 2))


# -- pure parts ------------------------------------------------------------------------------------


def naive_parting(
    trajectory: Trajectory, frames: Sequence[np.ndarray], statuses: Sequence[Status], fields: Sequence[str]
) -> int | None:
    """The definition, one rendering at a time."""
    observed = [trajectory.first, *(observation for _, observation in trajectory.steps)]
    for k, one in enumerate(observed):
        if one.status is T:
            return None
        if "status" in fields and statuses[k] is not one.status:
            return k
        if "frame" in fields and one.status is not C and (frames[k] != one.frame).any():
            return k
    return None


@st.composite
def replays(draw: st.DrawFn) -> tuple[Trajectory, np.ndarray, list[Status], list[int]]:
    """A trajectory, a replay of it that is right up to some place or everywhere, and sizes of the chunks it comes in."""
    trajectory = Trajectory(seen(draw(FRAMES)))
    count = draw(st.integers(0, 8))
    for k in range(count):
        status = draw(st.sampled_from([R, C, O, T])) if k == count - 1 else R
        trajectory.append(Action(1 + k % 2), seen(draw(FRAMES), status))
    frames, statuses = trajectory.settled_frames.copy(), [R if status is T else status for status in trajectory.statuses]
    for k in draw(st.sets(st.integers(0, count), max_size=3)):
        if draw(st.booleans()):
            frames[k] = draw(FRAMES)
        else:
            statuses[k] = draw(st.sampled_from([R, C, O]))
    return trajectory, frames, statuses, draw(st.lists(st.integers(1, 4), min_size=9, max_size=9))


@given(replays(), st.sampled_from([("frame", "status"), ("frame",), ("status",)]))
def test_chunks_are_compared_as_the_definition_says(
    replay: tuple[Trajectory, np.ndarray, list[Status], list[int]], fields: tuple[str, ...]
) -> None:
    trajectory, frames, statuses, sizes = replay
    comparison = TrajectoryComparison(4, trajectory, fields)
    assert len(comparison) == len(trajectory) + 1 - (trajectory.statuses[-1] is T)
    at, going = 0, True
    for size in sizes:
        end = min(at + size, len(comparison))
        if going and at < end:
            going = comparison(at, frames[at:end], statuses[at:end])
            at = end
    expected = naive_parting(trajectory, frames, statuses, fields)
    found = comparison.counterexample
    assert (found is None) == going == (expected is None)
    if found is None:
        assert comparison.n_checked == len(comparison)
        return
    assert (found.trajectory, found.step, comparison.n_checked - 1) == (4, expected, expected)
    assert found.action == (None if expected == 0 else trajectory.actions[expected - 1])
    assert (found.expected, found.predicted) == (trajectory.statuses[expected], statuses[expected])


@given(replays(), st.sampled_from([("frame", "status"), ("frame",), ("status",)]))
def test_a_live_comparison_says_what_a_replay_says(
    replay: tuple[Trajectory, np.ndarray, list[Status], list[int]], fields: tuple[str, ...]
) -> None:
    trajectory, frames, statuses, _ = replay
    whole = TrajectoryComparison(4, trajectory, fields)
    whole(0, frames[: len(whole)], statuses[: len(whole)])
    live = None
    observed = [(None, trajectory.first), *trajectory.steps]
    for k, (action, observation) in enumerate(observed):
        predicted, before = Prediction(frames[k], statuses[k]), observed[max(k - 1, 0)][1].frame
        live = compare_prediction(
            predicted, observation, trajectory=4, step=k, level=0, action=action, before=before, compared_fields=fields
        )
        if live is not None:
            break
    assert live == whole.counterexample


def test_what_does_not_continue_or_fit_is_an_error_never_a_pass() -> None:
    trajectory = Trajectory(seen(np.zeros(SHAPE, np.uint8)))
    trajectory.append(Action(1), seen(np.zeros(SHAPE, np.uint8)))
    good = np.zeros((2, *SHAPE), np.uint8)
    for at, frames, statuses in [
        (1, good[:1], [R]),
        (0, good, [R]),
        (0, np.zeros((3, *SHAPE), np.uint8), [R] * 3),
        (0, np.zeros((2, 3, 2), np.uint8), [R] * 2),
    ]:
        with pytest.raises(ValueError, match="do not continue"):
            TrajectoryComparison(0, trajectory)(at, frames, statuses)
    with pytest.raises(ValueError, match="nothing is known of comparing reward"):
        TrajectoryComparison(0, trajectory, ("frame", "reward"))
    with pytest.raises(ValueError, match="cannot be compared"):
        compare_prediction(
            Prediction(np.zeros((3, 2), np.uint8), R), trajectory.first, trajectory=0, step=0, level=0, action=None, before=good[0]
        )


@given(
    arrays.arrays(np.uint8, (4, 2, 2), elements=st.integers(0, 1)), arrays.arrays(np.uint8, (4, 2, 2), elements=st.integers(0, 1))
)
def test_the_first_differing_frame(one: np.ndarray, other: np.ndarray) -> None:
    assert find_frame_difference(one, other) == next((k for k in range(4) if (one[k] != other[k]).any()), None)
    assert find_frame_difference(one, one.copy()) is None and find_frame_difference(one[:0], other[:0]) is None


def description(
    before: np.ndarray, expected: np.ndarray, predicted: np.ndarray, statuses: tuple[Status, Status] = (R, R)
) -> Counterexample:
    return build_counterexample(
        Prediction(freeze(predicted), statuses[1]),
        Prediction(freeze(expected), statuses[0]),
        trajectory=2,
        step=7,
        level=1,
        action=Action(6, 4, 5),
        before=freeze(before),
        compares_frame=statuses[0] is not C,
    )


def test_a_counterexample_reads_like_this() -> None:
    before = np.zeros((8, 8), np.uint8)
    before[2:4, 2:4] = 9
    expected, predicted = before.copy(), before.copy()
    expected[2:4, 2:4], expected[2:4, 4:6] = 0, 9
    expected[7, 0] = 3
    found = description(before, expected, predicted)
    assert found.cells == 9 and [tuple(region) for region in found.regions] == [
        (2, 2, 3, 5, 8, (0, 9), (0, 9), (0, 9)),
        (7, 0, 7, 0, 1, (0,), (3,), (0,)),
    ]
    assert found.text == (
        "Trajectory 2 (level 1), step 7, action 6@4,5; everything before it was reproduced. The status is running, as predicted. "
        "9 of 64 cells are wrong. Rows 2-3, columns 2-5: 4 went from 9 to 0 (predicted 9), 4 went from 0 to 9 (predicted 0). "
        "Row 7, column 0: 1 went from 0 to 3 (predicted 0). Predicted was that nothing changes."
    )
    over = description(before, before, expected, (O, R))
    assert "The status is over, but running was predicted: is_over must hold after this step." in over.text
    assert "None of these cells changed, though a change was predicted." in over.text
    completed = description(before, expected, predicted, (C, R))
    assert completed.regions == () and completed.cells == 0 and completed.text.endswith("is_goal must hold after this step.")


def test_many_regions_are_cut_and_it_is_said() -> None:
    before, predicted = np.zeros((12, 12), np.uint8), np.zeros((12, 12), np.uint8)
    expected = before.copy()
    expected[::2, ::2] = 1
    expected[0:3, 0] = 1
    found = description(before, expected, predicted)
    assert len(found.regions) == MAX_REGIONS and found.cells == 37 and found.regions[0].cells == 3
    assert "And 23 cells in 23 more regions." in found.text


# -- end to end, in the real host ------------------------------------------------------------------

WALK = """
import numpy as np

def initial_state(observation):
    return (int(np.argwhere(observation["frame"] == 7)[0][1]), 0)

def step(state, action):
    column, bumps = state
    wanted = column + (1 if action.id == 1 else -1)
    return (wanted, bumps) if 0 <= wanted < 6 else (column, bumps + 1)

def render(state):
    frame = np.zeros((3, 6), np.uint8)
    frame[1, state[0]] = 7
    frame[2, :state[1]] = 4
    return frame

def is_goal(state):
    return state[0] == 5

def is_over(state):
    return state[1] >= 3
"""


def walk(*trajectories: tuple[int, str], cut: int | None = None) -> Record:
    """The world that WALK is right about, written apart from it: (first column, moves r and l) a trajectory.

    Frames after a completion, and after step `cut` of the last trajectory, which is truncated there, are nothing one could predict.
    """
    record = Record(levels=1)
    for column, moves in trajectories:
        bumps = 0
        record.extend(RESET, seen(walk_frame(column, bumps)))
        for k, move in enumerate(moves, start=1):
            before, column = column, min(5, max(0, column + (1 if move == "r" else -1)))
            bumps += before == column
            status = C if column == 5 else O if bumps == 3 else R
            if k == cut and moves is trajectories[-1][1]:
                status = T
            shown = walk_frame(column, bumps) if status in (R, O) else np.full((3, 6), 8)
            record.extend(Action(1 if move == "r" else 2), seen(shown, status, int(status is C)))
    return record


def walk_frame(column: int, bumps: int) -> list[list[int]]:
    return [[0] * 6, [7 if k == column else 0 for k in range(6)], [4 if k < bumps else 0 for k in range(6)]]


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Host(step_seconds=2.0) as host:
        yield host


def loaded(host: Host, source: str) -> Program:
    program = host.load({ENGINE: source})
    assert isinstance(program, Program), program
    return program


def judged(host: Host, source: str, record: Record, **options: object) -> Verdict:
    return verify(loaded(host, source), record, **options)  # type: ignore[arg-type]


THREE = [(2, "lrrl"), (0, "lll"), (1, "rrlrrr")]


def test_the_right_program_is_admissible(host: Host) -> None:
    record = walk(*THREE)
    assert [trajectory.statuses[-1] for trajectory in record] == [R, O, C]
    verdict = judged(host, WALK, record)
    assert verdict.admissible and verdict.reason == "" and verdict.replayed == 13 and verdict.seconds > 0
    assert judged(host, WALK, record, twin=False).admissible


def test_a_trajectory_without_steps_is_compared_too(host: Host) -> None:
    record = walk((3, ""))
    assert judged(host, WALK, record).admissible
    verdict = judged(host, WALK.replace("state[0]] = 7", "state[0]] = 6"), record)
    assert verdict.counterexample is not None and verdict.counterexample.step == 0
    assert verdict.counterexample.regions[0] == (1, 3, 1, 3, 1, (), (7,), (6,))
    assert "first rendering" in verdict.reason and "Row 1, column 3: 1 is 7 (predicted 6)." in verdict.reason


@pytest.mark.parametrize(
    ("right", "wrong", "place", "statuses"),
    [
        ("bumps + 1)", "bumps)", (1, 1), (R, R)),
        ("else -1", "else -2", (0, 1), (R, R)),
        ("state[1] >= 3", "state[1] >= 4", (1, 3), (O, R)),
        ("state[1] >= 3", "state[1] >= 2", (1, 2), (R, O)),
        ("state[0] == 5", "state[0] == 4", (2, 5), (R, C)),
        ("state[0] == 5", "False", (2, 6), (C, R)),
        ("state[0] == 5", "state[0] == 2", (0, 0), (R, C)),
    ],
)
def test_what_is_wrong_is_found_where_it_shows_first(
    host: Host, right: str, wrong: str, place: tuple[int, int], statuses: tuple[Status, Status]
) -> None:
    assert right in WALK
    verdict = judged(host, WALK.replace(right, wrong), walk(*THREE))
    found = verdict.counterexample
    assert verdict.outcome is VerdictKind.COUNTEREXAMPLE and found is not None and found.text == verdict.reason
    assert ((found.trajectory, found.step), (found.expected, found.predicted)) == (place, statuses)
    assert verdict.replayed == sum((4, 3, 6)[: place[0]]) + place[1]


def test_fields_that_are_not_compared_do_not_count(host: Host) -> None:
    record = walk(*THREE)
    blind, goalless = WALK.replace("] = 7", "] = 1"), WALK.replace("state[0] == 5", "False")
    assert judged(host, blind, record, compared_fields=["status"]).admissible and not judged(host, blind, record).admissible
    assert judged(host, goalless, record, compared_fields=["frame"]).admissible and not judged(host, goalless, record).admissible


def test_a_truncated_step_is_neither_compared_nor_replayed(host: Host) -> None:
    fails = WALK.replace("column, bumps = state", "column, bumps = state\n    assert column != 3 or action.id != 1")
    record = walk((2, "rr"), cut=2)
    assert record.trajectories[0].statuses == [R, R, T]
    verdict = judged(host, fails, record)
    assert verdict.admissible and verdict.replayed == 1
    assert judged(host, fails, walk((2, "rr"))).outcome is VerdictKind.FAULT


def test_what_failed_last_is_replayed_first(host: Host) -> None:
    wrong = WALK.replace("bumps + 1)", "bumps)")
    record = walk((0, "l"), (2, "r"), (0, "rll"))
    for first, expected in [((), 0), ((2,), 2), ((1, 2), 2), ((2, 2), 2)]:
        verdict = judged(host, wrong, record, first=first)
        assert verdict.counterexample is not None and verdict.counterexample.trajectory == expected
    right = judged(host, WALK, record, first=(2,))
    assert right.admissible and right.replayed == 5
    for bad in ((3,), (-1,)):
        with pytest.raises(ValueError, match="there are 3 trajectories"):
            judged(host, WALK, record, first=bad)


def test_an_empty_record_proves_nothing(host: Host) -> None:
    with pytest.raises(ValueError, match="no trajectory"):
        judged(host, WALK, Record())


def test_a_program_never_sees_what_came_later(host: Host) -> None:
    """One that answers with the first frame for ever passes only where nothing changes."""
    copier = """
def initial_state(observation): return observation["frame"].tobytes()
def step(state, action): return state
def render(state):
    import numpy
    return numpy.frombuffer(state, numpy.uint8).reshape(3, 6)
def is_goal(state): return False
"""
    verdict = judged(host, copier, walk((2, "rl")))
    assert verdict.counterexample is not None and verdict.counterexample.step == 1
    assert "Predicted was that nothing changes." in verdict.reason


def test_a_fault_is_a_refusal_that_says_where(host: Host) -> None:
    broken = WALK.replace("column, bumps = state", "column, bumps = state\n    1 / (column - 3)")
    verdict = judged(host, broken, walk((0, "rl"), (2, "lrrrl")))
    assert verdict.outcome is VerdictKind.FAULT and verdict.fault is not None
    assert (verdict.fault.kind, verdict.fault.trajectory, verdict.fault.step) == ("exception", 1, 4)
    assert verdict.reason.startswith("Replaying trajectory 1 (level 0), step 4: ") and "ZeroDivisionError" in verdict.reason


def test_of_fault_and_counterexample_the_earlier_counts(host: Host) -> None:
    broken = WALK.replace("column, bumps = state", "column, bumps = state\n    1 / (bumps - 2)")
    record = walk((0, "lll"), (1, "r"))
    assert judged(host, broken, record).outcome is VerdictKind.FAULT
    wrong = broken.replace("frame[2, :state[1]] = 4", "frame[2, :state[1]] = 5")
    verdict = judged(host, wrong, record)
    assert verdict.counterexample is not None and verdict.counterexample.step == 1


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("while True: pass", "time"),
        ("import os; os._exit(0)", "exit"),
        ("raise SystemExit", "exit"),
        ("return None", "type"),
        ("return numpy.zeros((2, 2), numpy.uint8)", "shape"),
    ],
)
def test_a_program_that_does_not_answer_is_refused(host: Host, body: str, kind: str) -> None:
    source = WALK.replace("frame = np.zeros", f"import numpy\n    if state[0] == 4:\n        {body}\n    frame = np.zeros", 1)
    verdict = judged(host, source, walk((3, "lrr")))
    assert verdict.outcome is VerdictKind.FAULT and verdict.fault is not None
    assert (verdict.fault.kind, verdict.fault.step) == (kind, 3), verdict


# -- repeatability ---------------------------------------------------------------------------------


def recorded_from(host: Host, source: str, *trajectories: Sequence[int]) -> tuple[Program, Record]:
    """A record made of what the program itself shows in one worker, so that its first replay is right if anything is repeatable."""
    program, record = loaded(host, source), Record()
    first = seen(np.zeros((1, 4), np.uint8))
    worker = program.start_worker()
    assert not isinstance(worker, ProgramError)
    with worker:
        for actions in trajectories:
            replay = worker.replay(InitialObservation.from_trajectory(Trajectory(first)), [Action(number) for number in actions])
            assert replay.fault is None
            record.extend(RESET, seen(replay.frames[0]))
            for number, frame in zip(actions, replay.frames[1:], strict=True):
                record.extend(Action(number), seen(frame))
    return program, record


SHOWS = """
import numpy as np, os, random, time
calls = 0
def initial_state(observation):
    global calls
    calls += 1
    return 0
def step(state, action): return state + 1
def render(state): return np.array([[0, state, 0, ({what}) % 256]], np.uint8) if state else np.zeros((1, 4), np.uint8)
def is_goal(state): return False
"""


@pytest.mark.parametrize(
    "what",
    [
        "next(iter({str(n) for n in range(200)})).__len__() + int(next(iter({str(n) for n in range(200)})))",
        "hash('a colour')",
        "calls",
    ],
    ids=["set order", "hash", "what outlives a trajectory"],
)
@pytest.mark.parametrize("trajectories", [([1, 1, 1], [1, 1]), ([1] * 80,)], ids=["two trajectories", "one"])
def test_what_a_second_replay_would_not_show_is_refused(host: Host, what: str, trajectories: Sequence[Sequence[int]]) -> None:
    program, record = recorded_from(host, SHOWS.format(what=what), *trajectories)
    assert verify(program, record, twin=False).admissible, "the first replay alone is taken in"
    verdict = verify(program, record)
    assert verdict.outcome is VerdictKind.FAULT and verdict.fault is not None and verdict.fault.kind == "unrepeatable"
    assert verdict.fault.trajectory is not None and verdict.fault.step == 1
    assert (
        verdict.reason.startswith("A first replay reproduced the whole record, but a second one")
        and "Row 0, column 3" in verdict.reason
    )


@pytest.mark.parametrize(
    "what", ["time.perf_counter_ns() // 7", "random.randrange(256)", "os.urandom(1)[0]", "id(object()) // 16 + time.time_ns()"]
)
def test_chance_and_time_are_called_what_they_are(host: Host, what: str) -> None:
    program, record = recorded_from(host, SHOWS.format(what=what), [1] * 40, [1] * 10)
    verdicts = [verify(program, record) for _ in range(3)]  # once in 256 times chance shows the same wrong cell again
    assert not any(verdict.admissible for verdict in verdicts)
    assert any(verdict.fault is not None and verdict.fault.kind == "unrepeatable" for verdict in verdicts)


def test_a_fault_in_the_second_replay_alone_is_unrepeatable(host: Host) -> None:
    environment = {"PYTHONHASHSEED": "0"}
    value = subprocess.run([sys.executable, "-c", "print(hash('x'))"], env=environment, capture_output=True, check=True).stdout
    source = SHOWS.format(what="1") + f"\nif hash('x') != {int(value)}: raise RuntimeError('another seed')\n"
    verdict = verify(*recorded_from(host, source, [1]))
    assert verdict.fault is not None and verdict.fault.kind == "unrepeatable" and "another seed" in verdict.reason


def test_what_another_interpreter_does_not_show_again_is_no_counterexample(host: Host) -> None:
    """It goes with the fault: whoever repairs the one needs the other."""
    program, record = recorded_from(host, SHOWS.format(what="hash('a colour')"), [1, 1, 1], [1])
    action, last = record.trajectories[1].steps.pop()
    assert action == Action(1)
    record.trajectories[1].append(action, seen(last.frame ^ 1))
    for _ in range(3):
        verdict = verify(program, record)
        assert verdict.fault is not None and (verdict.fault.trajectory, verdict.fault.step) == (1, 1)
        assert verdict.fault.kind == "unrepeatable" and "differ" in verdict.reason


# -- never open ------------------------------------------------------------------------------------


def test_an_error_of_ours_in_either_replay_is_no_verdict(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    record = walk(*THREE)

    class Failing(TrajectoryComparison):
        calls, at = 0, 0

        def __call__(self, *arguments: object) -> bool:
            Failing.calls += 1
            if Failing.calls == Failing.at:
                raise ZeroDivisionError
            return super().__call__(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "TrajectoryComparison", Failing)
    assert judged(host, WALK, record).admissible
    for at in range(1, Failing.calls + 1):
        Failing.calls, Failing.at = 0, at
        with pytest.raises(ZeroDivisionError):
            judged(host, WALK, record)
    assert at == 7, "three trajectories in two replays, and one to warm the second up"


def test_a_comparison_that_looks_at_nothing_is_no_pass(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TrajectoryComparison, "__call__", lambda *_: True)
    with pytest.raises(ValueError, match="without saying why"):
        judged(host, WALK, walk(*THREE))


def test_every_field_of_a_protocol_is_known() -> None:
    from lawbook.protocols.protocol import PROTOCOLS

    assert all(set(row.compared_fields) <= set(COMPARED_FIELDS) for row in PROTOCOLS.values())
