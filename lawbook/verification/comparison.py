"""The one comparison: does a prediction differ from what was observed, under the fields that a protocol compares?

Compared is what a prediction claims: the cells that it does not leave open, and the status by the set it leaves possible. A frame
that completes a level is the next level's and is never compared; of a truncated step nothing is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from lawbook.core.record import Action, Frame, Observation, Status, Trajectory
from lawbook.core.results import Counterexample, Prediction
from lawbook.verification.counterexample import build_counterexample

COMPARED_FIELDS = ("frame", "status")
"""What a prediction can be compared on."""


def is_frame_comparable(status: Status) -> bool:
    """Say whether the frame of a step that left the level in `status` says anything about a prediction of that step."""
    return status is not Status.COMPLETED and status is not Status.TRUNCATED


def is_right(
    prediction: Prediction, frame: Frame, status: Status, compared_fields: Collection[str] = COMPARED_FIELDS
) -> bool | None:
    """Say whether a prediction holds against a settled frame (H x W uint8) and its status; None where nothing is compared.

    Raises ValueError when the frames have different shapes.
    """
    if status is Status.TRUNCATED:
        return None
    if frame.shape != prediction.frame.shape:
        raise ValueError(f"a prediction of shape {prediction.frame.shape} cannot be compared with a frame of shape {frame.shape}")
    if "status" in compared_fields and not prediction.allows(status):
        return False
    return "frame" not in compared_fields or not is_frame_comparable(status) or is_frame_right(prediction, frame)


def is_frame_right(prediction: Prediction, frame: Frame) -> bool:
    """Say whether every cell that is claimed is as observed. Both frames H x W uint8."""
    if prediction.open_cells is None:
        return prediction.frame.tobytes() == frame.tobytes()
    return not ((prediction.frame != frame) & (prediction.open_cells == 0)).any()


def are_compatible(first: Prediction, second: Prediction) -> bool:
    """Say whether one observation could bear out both: no cell that both claim differs, and both leave some status possible."""
    shared = first.statuses & second.statuses
    if not shared:
        return False
    if not all(is_frame_comparable(status) for status in shared):
        return True
    claimed = np.ones(first.frame.shape, dtype=np.bool_)
    for prediction in (first, second):
        if prediction.open_cells is not None:
            claimed &= prediction.open_cells == 0
    return not ((first.frame != second.frame) & claimed).any()


def claims_change(prediction: Prediction, before: Frame) -> bool:
    """Say whether a prediction claims that something changes: a cell it does not leave open, or the end of the level."""
    return not prediction.allows(Status.RUNNING) or not is_frame_right(prediction, before)


def is_unclaimed(prediction: Prediction, before: Frame, observation: Observation) -> bool:
    """Say whether an action changed cells of which this prediction claimed none. before: the settled frame before it, H x W uint8.

    False where every cell is claimed, where nothing changed, and where the frame is the next level's.
    """
    if prediction.open_cells is None or not is_frame_comparable(observation.status):
        return False
    changed = observation.frame != before
    return bool(changed.any()) and not bool((changed & (prediction.open_cells == 0)).any())


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
    """Compare one live prediction with what came: None where they agree (a few microseconds), else the counterexample.

    step: from 1, and action the one it followed; 0 and None for the first rendering of a trajectory. before: the settled frame
    before it (H x W uint8). Raises ValueError when the frames have different shapes.
    """
    if is_right(prediction, observation.frame, observation.status, compared_fields) is not False:
        return None
    return build_counterexample(
        prediction,
        Prediction(observation.frame, observation.status),
        trajectory=trajectory,
        step=step,
        level=level,
        action=action,
        before=before,
        compares_frame="frame" in compared_fields and is_frame_comparable(observation.status),
    )


class TrajectoryComparison:
    """Compares one trajectory, or its first `steps` steps, with the chunks of its replay as they come.

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
        self._n_framed = 0 if "frame" not in compared_fields else len(statuses) - (not is_frame_comparable(statuses[-1]))
        self.n_checked = 0
        self.counterexample: Counterexample | None = None

    def __call__(
        self,
        start: int,
        frames: npt.NDArray[np.uint8],
        statuses: Sequence[Status],
        open_frames: Mapping[int, Frame] | None = None,
        alternatives: Mapping[int, frozenset[Status]] | None = None,
    ) -> bool:
        """Compare renderings `start`, `start` + 1, ... (k x H x W uint8) and their statuses; False at the first difference.

        open_frames: by number of the rendering, the cells it leaves open (H x W uint8, 0 where claimed); alternatives: further
        statuses it leaves possible. Raises ValueError when a chunk is missing or not of the record's shape: nothing is ever taken
        on trust.
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
        open_frames, alternatives = open_frames or {}, alternatives or {}
        n_comparable = max(min(end, self._n_framed) - start, 0)
        frame_offset = _find_frame_mismatch(self._settled[start : start + n_comparable], frames[:n_comparable], start, open_frames)
        offsets = [frame_offset, self._find_status_mismatch(start, statuses, alternatives)]
        offset = min((offset for offset in offsets if offset is not None), default=None)
        if offset is None:
            self.n_checked = end
            return True
        step = start + offset
        self.n_checked = step + 1
        self.counterexample = build_counterexample(
            Prediction(frames[offset].copy(), statuses[offset], open_frames.get(step), alternatives.get(step, frozenset())),
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
        """Return how many renderings a whole replay gives."""
        return len(self.actions) + 1

    def _find_status_mismatch(
        self, start: int, statuses: Sequence[Status], alternatives: Mapping[int, frozenset[Status]]
    ) -> int | None:
        expected = self._statuses[start : start + len(statuses)]
        if expected == statuses:
            return None
        pairs = enumerate(zip(expected, statuses, strict=False))
        wrong = (k for k, (one, other) in pairs if one is not other and one not in alternatives.get(start + k, ()))
        return next(wrong, None)


def _find_frame_mismatch(
    expected: npt.NDArray[np.uint8], predicted: npt.NDArray[np.uint8], start: int, open_frames: Mapping[int, Frame]
) -> int | None:
    """Index of the first of k frames (k x H x W uint8) that differ in a claimed cell; None when there is none."""
    offset = find_frame_difference(expected, predicted)
    if offset is None or not open_frames:
        return offset
    for k in range(offset, len(expected)):
        if not is_frame_right(Prediction(predicted[k], Status.RUNNING, open_frames.get(start + k)), expected[k]):
            return k
    return None


def find_frame_difference(expected: npt.NDArray[np.uint8], predicted: npt.NDArray[np.uint8]) -> int | None:
    """Index of the first frame in which two blocks (k x H x W uint8) differ; None when they are equal."""
    if np.array_equal(expected, predicted):
        return None
    return int(np.argmax((expected != predicted).any(axis=(1, 2))))
