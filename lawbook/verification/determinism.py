"""One history has one outcome: a watch over everything observed that notices when a world breaks this."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from lawbook.core.record import Action, Frame, Observation, Status


@dataclass(frozen=True)
class Contradiction:
    """Two outcomes of one history. one, other: (trajectory, step) of both, the earlier first; sentence: for a person."""

    one: tuple[int, int]
    other: tuple[int, int]
    sentence: str


@dataclass(frozen=True, slots=True)
class _Outcome:
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
    def of(cls, trajectory: int, step: int, seen: Observation, available: tuple[int, ...] = ()) -> _Outcome:
        if seen.status is Status.COMPLETED:
            return cls(trajectory, step, seen.status)
        return cls(trajectory, step, seen.status, seen.frame.shape, zlib.compress(seen.frame.tobytes(), 1), available)

    def agrees(self, other: _Outcome) -> bool:
        return (self.status, self.shape, self.cells, self.available) == (other.status, other.shape, other.cells, other.available)

    @property
    def frame(self) -> Frame:
        return np.frombuffer(zlib.decompress(self.cells), dtype=np.uint8).reshape(self.shape)


class DeterminismWatch:
    """Told of every step, it knows each history (level, first settled frame, actions available at first, actions since) by a
    running hash, and what came of it. Constant time and some hundred bytes a step.

    Told of every reset, it knows how each level begins. One that begins otherwise is named and no contradiction: what came before
    the reset was another history (a game may draw its levels by chance, one after the other, from one seed), and a program is
    given the start of every trajectory. How a level shows itself when the one before it is completed belongs to that step.
    """

    def __init__(self) -> None:
        self._openings: dict[int, _Outcome | None] = {}
        self._outcomes: dict[bytes, _Outcome] = {}
        self._trajectory = -1
        self._step = 0
        self._history = b""

    def opened(self, trajectory: int, first: Observation) -> str | None:
        """Take in how a reset, or the opening of the world, began a trajectory. What to say of it, once for each level, when an
        earlier one had begun otherwise."""
        new = _Outcome.of(trajectory, 0, first, first.available)
        old = self._openings.setdefault(first.level, new)
        if old is None or old.agrees(new):
            return None
        self._openings[first.level] = None
        places = f"trajectory {old.trajectory} and trajectory {new.trajectory}"
        return f"Level {first.level} does not always begin alike: compare {places}, where {_parted(old, new)}."

    def see(self, trajectory: int, first: Observation, action: Action, observation: Observation) -> Contradiction | None:
        """Take in the next step of a trajectory (index in the record) that began with `first`; every step, in order, RESET aside.

        Returns a Contradiction when the same history has led elsewhere before. A truncated step says nothing and is passed over.
        """
        if trajectory != self._trajectory:
            self._trajectory, self._step = trajectory, 0
            self._history = _hash(repr((first.level, first.frame.shape, first.available)).encode(), first.frame.tobytes())
        self._step += 1
        self._history = _hash(self._history, repr(tuple(action)).encode())
        if observation.status is Status.TRUNCATED:
            return None
        new = _Outcome.of(trajectory, self._step, observation)
        old = self._outcomes.setdefault(self._history, new)
        if old.agrees(new):
            return None
        sentence = (
            f"The world is not deterministic: action {action} follows the same actions from the same start of level {first.level} "
            f"at step {old.step} of trajectory {old.trajectory} and at step {new.step} of trajectory {new.trajectory}, "
            f"but {_parted(old, new)}."
        )
        return Contradiction((old.trajectory, old.step), (new.trajectory, new.step), sentence)


def _parted(old: _Outcome, new: _Outcome) -> str:
    if old.status is not new.status:
        return f"the first left it {old.status}, the second {new.status}"
    if old.shape != new.shape:
        return f"the first gave a frame of shape {old.shape}, the second one of {new.shape}"
    if old.cells == new.cells:
        return f"the first offers actions {_listed(old.available)}, the second {_listed(new.available)}"
    one, other = old.frame, new.frame
    where = np.argwhere(one != other)
    row, column = where[0].tolist()
    return (
        f"the frames differ in {len(where)} of {one.size} cells, first in row {row}, column {column} "
        f"({one[row, column]} against {other[row, column]})"
    )


def _listed(actions: tuple[int, ...]) -> str:
    return ", ".join(map(str, actions)) or "none"


def _hash(*parts: bytes) -> bytes:
    running = blake2b(digest_size=16)
    for part in parts:
        running.update(part)
    return running.digest()
