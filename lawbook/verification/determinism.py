"""One history has one outcome: a watch over everything observed that notices when a world breaks this."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from lawbook.core.record import Action, Frame, Observation, Status
from lawbook.verification.comparison import is_frame_comparable


@dataclass(frozen=True)
class Contradiction:
    """Two outcomes of one history. one, second: (trajectory, step) of both, the earlier first; sentence: for a person."""

    first: tuple[int, int]
    second: tuple[int, int]
    sentence: str


@dataclass(frozen=True, slots=True)
class _StepOutcome:
    """What came of a history: status and packed settled frame; without one after a completion, where it is the next level's.

    available: the actions a level is opened with; of a step they are left out, since nothing is predicted of them.
    """

    trajectory: int
    step: int
    status: Status
    shape: tuple[int, ...] = ()
    cells: bytes = b""
    available: tuple[int, ...] = ()

    @classmethod
    def from_observation(
        cls, trajectory: int, step: int, observation: Observation, available: tuple[int, ...] = ()
    ) -> _StepOutcome:
        if not is_frame_comparable(observation.status):
            return cls(trajectory, step, observation.status)
        return cls(
            trajectory, step, observation.status, observation.frame.shape, zlib.compress(observation.frame.tobytes(), 1), available
        )

    def is_same_as(self, other: _StepOutcome) -> bool:
        return (self.status, self.shape, self.cells, self.available) == (other.status, other.shape, other.cells, other.available)

    @property
    def frame(self) -> Frame:
        return np.frombuffer(zlib.decompress(self.cells), dtype=np.uint8).reshape(self.shape)


class DeterminismChecker:
    """Told of every step, it knows each history (level, first settled frame, actions available at first, actions since) by a
    running hash, and what came of it. Constant time and some hundred bytes a step.

    Told of every reset, it knows how each level begins. One that begins otherwise is named and no contradiction: what came before
    the reset was another history (a game may draw its levels by chance, one after the other, from one seed), and a program is
    given the start of every trajectory. How a level shows itself when the one before it is completed belongs to that step.

    sees_animation: a history begins with all frames that led to the start, as programs are shown them then.
    """

    def __init__(self, *, sees_animation: bool = False) -> None:
        self._sees_animation = sees_animation
        self.has_contradiction = False
        self._openings: dict[int, _StepOutcome | None] = {}
        self._outcomes: dict[bytes, _StepOutcome] = {}
        self._trajectory = -1
        self._step = 0
        self._history = b""

    def add_opening(self, trajectory: int, first: Observation) -> str | None:
        """Take in how a reset, or the opening of the world, began a trajectory. What to say of it, once for each level, when an
        earlier one had begun otherwise."""
        outcome = _StepOutcome.from_observation(trajectory, 0, first, first.available)
        earlier = self._openings.setdefault(first.level, outcome)
        if earlier is None or earlier.is_same_as(outcome):
            return None
        self._openings[first.level] = None
        places = f"trajectory {earlier.trajectory} and trajectory {outcome.trajectory}"
        return f"Level {first.level} does not always begin alike: compare {places}, where {_describe_difference(earlier, outcome)}."

    def add_step(self, trajectory: int, first: Observation, action: Action, observation: Observation) -> Contradiction | None:
        """Take in the next step of a trajectory (index in the record) that began with `first`; every step, in order, RESET aside.

        Returns a Contradiction when the same history has led elsewhere before. A truncated step says nothing and is passed over.
        """
        if trajectory != self._trajectory:
            self._trajectory, self._step = trajectory, 0
            self._history = _hash(repr((first.level, first.frame.shape, first.available)).encode(), first.frame.tobytes())
            if self._sees_animation:
                self._history = _hash(self._history, *(frame.tobytes() for frame in first.frames[:-1]))
        self._step += 1
        self._history = _hash(self._history, repr(tuple(action)).encode())
        if observation.status is Status.TRUNCATED:
            return None
        outcome = _StepOutcome.from_observation(trajectory, self._step, observation)
        earlier = self._outcomes.setdefault(self._history, outcome)
        if earlier.is_same_as(outcome):
            return None
        sentence = (
            f"The world is not deterministic: action {action} follows the same actions from the same start of level {first.level} "
            f"at step {earlier.step} of trajectory {earlier.trajectory} and at step {outcome.step} of trajectory "
            f"{outcome.trajectory}, "
            f"but {_describe_difference(earlier, outcome)}."
        )
        self.has_contradiction = True
        return Contradiction((earlier.trajectory, earlier.step), (outcome.trajectory, outcome.step), sentence)


def _describe_difference(earlier: _StepOutcome, later: _StepOutcome) -> str:
    if earlier.status is not later.status:
        return f"the first left it {earlier.status}, the second {later.status}"
    if earlier.shape != later.shape:
        return f"the first gave a frame of shape {earlier.shape}, the second one of {later.shape}"
    if earlier.cells == later.cells:
        return f"the first offers actions {_format_actions(earlier.available)}, the second {_format_actions(later.available)}"
    earlier_frame, later_frame = earlier.frame, later.frame
    positions = np.argwhere(earlier_frame != later_frame)
    row, column = positions[0].tolist()
    return (
        f"the frames differ in {len(positions)} of {earlier_frame.size} cells, first in row {row}, column {column} "
        f"({earlier_frame[row, column]} against {later_frame[row, column]})"
    )


def _format_actions(actions: tuple[int, ...]) -> str:
    return ", ".join(map(str, actions)) or "none"


def _hash(*parts: bytes) -> bytes:
    hasher = blake2b(digest_size=16)
    for part in parts:
        hasher.update(part)
    return hasher.digest()
