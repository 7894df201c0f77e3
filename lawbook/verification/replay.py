"""Exact replay of the whole record (Eq. 20): a Verdict, and the first place where a replay and the record part."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from lawbook.core.record import Action, Frame, Observation, Record, Status, Trajectory
from lawbook.core.results import Counterexample, InitialObservation, Prediction, ProgramError, Verdict, VerdictKind
from lawbook.sandbox.host import Program
from lawbook.sandbox.worker_client import Worker
from lawbook.verification.counterexample import build_counterexample

COMPARED_FIELDS = ("frame", "status")
"""What a prediction can be compared on."""

_WARM_UP_STEPS = 50
"""Steps of a trajectory that the second replay goes through beforehand where their number is odd: turned round, the lone or the
middle one would come in the same place again, and every one in as even a place as before."""


def verify(
    program: Program,
    record: Record,
    *,
    first: Sequence[int] = (),
    twin: bool = True,
    compared_fields: Collection[str] = COMPARED_FIELDS,
) -> Verdict:
    """Replay every trajectory from its own first observation, initialised once, and compare exactly with what was observed.

    first: trajectories to begin with (the one that failed last). twin: replay a second time in another interpreter with another
    hash seed, the trajectories in the opposite order and every step taken twice, so that set order, time, state that outlives a
    trajectory, and state that a step changes in place or keeps elsewhere show.
    Compared are the first rendering and status of each trajectory, then status and settled frame of each step; of a completing
    step the status only (its frame is the next level's), of a truncated step nothing.

    Returns ADMISSIBLE, COUNTEREXAMPLE or FAULT (`unrepeatable` when two replays differ: a difference from the record that another
    interpreter does not show again is no counterexample). Raises ValueError for an empty record, which would prove nothing, and
    HostError when the host fails.
    """
    if not len(record):
        raise ValueError("there is no trajectory to replay")
    started_at, order = time.perf_counter(), _order_trajectories(len(record), first)
    result, n_replayed = _replay_all(program, record, [(k, None) for k in order], compared_fields)
    if isinstance(result, Counterexample) and twin:
        result = _find_unrepeatable_mismatch(program, record, result, compared_fields) or result
    elif result is None and twin:
        warm_up: list[tuple[int, int | None]] = [(order[0], _WARM_UP_STEPS)] if len(order) % 2 else []
        second_order = [*warm_up, *((k, None) for k in reversed(order))]
        result = _to_unrepeatable_fault(_replay_all(program, record, second_order, compared_fields, twin=True)[0])
    seconds = time.perf_counter() - started_at
    match result:
        case None:
            return Verdict(VerdictKind.ADMISSIBLE, replayed=n_replayed, seconds=seconds)
        case Counterexample():
            return Verdict(VerdictKind.COUNTEREXAMPLE, result.text, counterexample=result, replayed=n_replayed, seconds=seconds)
        case ProgramError():
            return Verdict(VerdictKind.FAULT, result.reason, fault=result, replayed=n_replayed, seconds=seconds)


def compare_prediction(
    prediction: Prediction,
    observation: Observation,
    *,
    trajectory: int,
    step: int,
    level: int,
    action: Action | None,
    before: Frame,
    compared_fields: Collection[str] = COMPARED_FIELDS,
) -> Counterexample | None:
    """One live prediction against what came: None where they agree (a few microseconds), else the counterexample.

    step: from 1, and action the one it followed; 0 and None for the first rendering of a trajectory. before: the settled frame
    before it (H x W uint8). Raises ValueError when the frames have different shapes.
    """
    if observation.status is Status.TRUNCATED:
        return None
    observed_frame, predicted_frame = observation.frame, prediction.frame
    if observed_frame.shape != predicted_frame.shape:
        raise ValueError(
            f"a prediction of shape {predicted_frame.shape} cannot be compared with a frame of shape {observed_frame.shape}"
        )
    compares_frame = "frame" in compared_fields and observation.status is not Status.COMPLETED
    if (not compares_frame or observed_frame.tobytes() == predicted_frame.tobytes()) and (
        "status" not in compared_fields or prediction.status is observation.status
    ):
        return None
    return build_counterexample(
        prediction,
        Prediction(observed_frame, observation.status),
        trajectory=trajectory,
        step=step,
        level=level,
        action=action,
        before=before,
        compares_frame=compares_frame,
    )


_ADVICE = "Let nothing depend on the order of sets, on hash or id, on time or chance, or on variables beside the state"


class TrajectoryComparison:
    """One trajectory, or its first `steps` steps, against the chunks of its replay as they come.

    actions: what to replay. counterexample: the first difference, once there is one. n_checked: renderings compared so far.
    """

    def __init__(
        self, index: int, trajectory: Trajectory, compared_fields: Collection[str] = COMPARED_FIELDS, steps: int | None = None
    ) -> None:
        unknown = set(compared_fields) - set(COMPARED_FIELDS)
        if unknown:
            raise ValueError(f"nothing is known of comparing {', '.join(sorted(unknown))}")
        self.index, self.trajectory = index, trajectory
        statuses = trajectory.statuses[: None if steps is None else steps + 1]
        if statuses[-1] is Status.TRUNCATED:
            statuses.pop()
        self.actions = trajectory.actions[: len(statuses) - 1]
        self._settled = trajectory.settled_frames
        self._statuses = statuses if "status" in compared_fields else []
        self._n_framed = 0 if "frame" not in compared_fields else len(statuses) - (statuses[-1] is Status.COMPLETED)
        self.n_checked = 0
        self.counterexample: Counterexample | None = None

    def __call__(self, start: int, frames: npt.NDArray[np.uint8], statuses: Sequence[Status]) -> bool:
        """Compare renderings `at`, `at` + 1, ... (k x H x W uint8) and their statuses; False at the first difference.

        Raises ValueError when a chunk is missing or not of the record's shape: nothing is ever taken on trust.
        """
        end = start + len(frames)
        if (
            start != self.n_checked
            or len(statuses) != len(frames)
            or frames.shape[1:] != self._settled.shape[1:]
            or end > len(self)
        ):
            raise ValueError(
                f"renderings {start} to {end} of shape {frames.shape[1:]} do not continue at {self.n_checked} of {len(self)}"
            )
        n_comparable = self._n_framed - start
        offset = _find_first(
            [
                find_frame_difference(self._settled[start : min(end, self._n_framed)], frames[: max(n_comparable, 0)]),
                self._find_status_mismatch(start, statuses),
            ]
        )
        if offset is None:
            self.n_checked = end
            return True
        step = start + offset
        self.n_checked = step + 1
        self.counterexample = build_counterexample(
            Prediction(frames[offset].copy(), statuses[offset]),
            Prediction(self._settled[step], self.trajectory.statuses[step]),
            trajectory=self.index,
            step=step,
            level=self.trajectory.first.level,
            action=self.actions[step - 1] if step else None,
            before=self._settled[max(step - 1, 0)],
            compares_frame=step < self._n_framed,
        )
        return False

    def __len__(self) -> int:
        """Renderings that a whole replay gives."""
        return len(self.actions) + 1

    def _find_status_mismatch(self, start: int, statuses: Sequence[Status]) -> int | None:
        expected = self._statuses[start : start + len(statuses)]
        if expected == statuses:
            return None
        return next(
            (
                k
                for k, (expected_status, status) in enumerate(zip(expected, statuses, strict=False))
                if expected_status is not status
            ),
            None,
        )


def find_frame_difference(expected: npt.NDArray[np.uint8], predicted: npt.NDArray[np.uint8]) -> int | None:
    """Index of the first frame in which two blocks (k x H x W uint8) differ; None when they are equal."""
    if np.array_equal(expected, predicted):
        return None
    return int(np.argmax((expected != predicted).any(axis=(1, 2))))


def _replay_all(
    program: Program,
    record: Record,
    order: Iterable[tuple[int, int | None]],
    compared_fields: Collection[str],
    *,
    twin: bool = False,
    twice: bool | None = None,
) -> tuple[Counterexample | ProgramError | None, int]:
    """What one worker's replay of trajectories (index, steps or None for all) finds first, and how many steps it took."""
    worker = program.start_worker(twin=twin)
    if isinstance(worker, ProgramError):
        return worker, 0
    n_replayed = 0
    with worker:
        for index, steps in order:
            comparison = TrajectoryComparison(index, record.trajectories[index], compared_fields, steps)
            result = _replay(worker, comparison, twice=twin if twice is None else twice)
            n_replayed += max(comparison.n_checked - 1, 0)
            if result is not None:
                return result, n_replayed
    return None, n_replayed


def _replay(worker: Worker, comparison: TrajectoryComparison, *, twice: bool) -> Counterexample | ProgramError | None:
    replay = worker.replay(
        InitialObservation.from_observation(comparison.trajectory.first), comparison.actions, check=comparison, twice=twice
    )
    if comparison.counterexample is not None:
        return comparison.counterexample
    if replay.fault is not None:
        location = f"Replaying trajectory {comparison.index} (level {comparison.trajectory.first.level})"
        step_text = f"step {replay.fault.step}" if replay.fault.step else "its start"
        return replace(replay.fault, reason=f"{location}, {step_text}: {replay.fault.reason}", trajectory=comparison.index)
    if comparison.n_checked != len(comparison):
        raise ValueError(f"a replay ended after {comparison.n_checked} of {len(comparison)} renderings without saying why")
    return None


def _find_unrepeatable_mismatch(
    program: Program, record: Record, counterexample: Counterexample, compared_fields: Collection[str]
) -> ProgramError | None:
    """What is to be said of a program that fails otherwise, or not at all, in the other interpreter. None where it fails again."""
    second_result, _ = _replay_all(
        program, record, [(counterexample.trajectory, counterexample.step)], compared_fields, twin=True, twice=False
    )
    if isinstance(second_result, ProgramError) or second_result == counterexample:
        return None
    second_outcome = (
        f"the second time this: {second_result.text}" if second_result else "the second time this trajectory went right."
    )
    return ProgramError(
        "unrepeatable",
        "Replayed twice, in two interpreters with different hash seeds, the program showed different things: "
        f"{counterexample.text} And "
        f"{second_outcome} {_ADVICE}.",
        counterexample.trajectory,
        counterexample.step,
    )


def _to_unrepeatable_fault(result: Counterexample | ProgramError | None) -> ProgramError | None:
    """What the second replay found, said of a program whose first replay was right in everything."""
    if result is None or (isinstance(result, ProgramError) and result.kind in ("time", "memory", "killed")):
        return result
    reason = result.text if isinstance(result, Counterexample) else result.reason
    return ProgramError(
        "unrepeatable",
        "A first replay reproduced the whole record, but a second one, in another interpreter with another hash seed, with the "
        f"trajectories in the opposite order and every step taken twice from its state, did not. {reason} {_ADVICE}; and let step "
        "return a new state and leave the old one as it is.",
        result.trajectory,
        result.step,
    )


def _order_trajectories(n_trajectories: int, first: Sequence[int]) -> list[int]:
    if any(not 0 <= k < n_trajectories for k in first):
        raise ValueError(f"there are {n_trajectories} trajectories, so not all of {list(first)}")
    return list(dict.fromkeys([*first, *range(n_trajectories)]))


def _find_first(positions: Iterable[int | None]) -> int | None:
    return min((position for position in positions if position is not None), default=None)
