"""Parts of a replay that are drawn, and what it showed in short: how far it looks, what follows its end, a digest a rendering."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from random import Random

import numpy as np
import numpy.typing as npt

from lawbook.core.record import Action, Frame, Status, Trajectory
from lawbook.core.results import Prediction

MAX_PADDING = 64
"""Actions that follow a trajectory's own in a replay at most: how many there are shows nowhere, so neither does where it ends."""


def draw_look_end(seed: str, index: int, n_steps: int) -> int:
    """Draw the step up to which a replay of trajectory `index` is shown what was seen: from 0 (nothing) to one before its last."""
    return _make_random("looks", seed, index).randrange(n_steps) if n_steps else 0


def draw_padding(seed: str, index: int, trajectory: Trajectory) -> list[Action]:
    """Draw 1 to 64 actions to follow those of trajectory `index`, of those that were sent in it or on offer."""
    random = _make_random("padding", seed, index)
    candidates = sorted({*trajectory.actions}, key=repr) or [Action(number) for number in trajectory.first.available if number]
    n_actions = random.randint(1, MAX_PADDING)
    return random.choices(candidates, k=n_actions) if candidates else []


def digest_prediction(prediction: Prediction) -> bytes:
    """Return sixteen bytes that stand for all that a prediction says, what it leaves open included."""
    hasher = blake2b(prediction.frame.tobytes(), digest_size=16)
    hasher.update(repr((prediction.status.value, sorted(prediction.alternatives), prediction.frame.shape)).encode())
    if prediction.open_cells is not None and prediction.open_cells.any():
        hasher.update(prediction.open_cells.tobytes())
    return hasher.digest()


class RenderingDigests:
    """Takes in the pieces of a replay as they come, hands them on to `check`, and keeps a digest of each rendering.

    expected: digests that the first renderings must have; `differs_at` is the number of the first that has another, which ends the
    replay.
    """

    def __init__(self, check: Callable[..., bool], expected: Sequence[bytes] = ()) -> None:
        self._check, self._expected = check, expected
        self.digests: list[bytes] = []
        self.differs_at: int | None = None

    def __call__(
        self,
        start: int,
        frames: npt.NDArray[np.uint8],
        statuses: Sequence[Status],
        open_frames: Mapping[int, Frame],
        alternatives: Mapping[int, frozenset[Status]],
    ) -> bool:
        for number, (frame, status) in enumerate(zip(frames, statuses, strict=True), start):
            prediction = Prediction(frame, status, open_frames.get(number), alternatives.get(number, frozenset()))
            self.digests.append(digest_prediction(prediction))
            if number < len(self._expected) and self.digests[-1] != self._expected[number]:
                self.differs_at = number
                return False
        return self._check(start, frames, statuses, open_frames, alternatives)


def _make_random(purpose: str, seed: str, index: int) -> Random:
    return Random(blake2b(f"{purpose}/{index}/{seed}".encode(), digest_size=16).digest())
