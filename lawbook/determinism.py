"""One history has one outcome: a watch over everything observed that notices when a world breaks this."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from lawbook.record import Action, Frame, Observation, Status


@dataclass(frozen=True)
class Contradiction:
    """Two outcomes of one history. one, other: (trajectory, step) of both, the earlier first; sentence: for a person."""

    one: tuple[int, int]
    other: tuple[int, int]
    sentence: str


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What came of a history: status and packed settled frame; without one after a completion, where it is the next level's."""

    trajectory: int
    step: int
    status: Status
    shape: tuple[int, ...] = ()
    cells: bytes = b""

    @property
    def frame(self) -> Frame:
        return np.frombuffer(zlib.decompress(self.cells), dtype=np.uint8).reshape(self.shape)


class DeterminismWatch:
    """Told of every step, it knows each history (level, first settled frame, actions available at first, actions since) by a
    running hash, and what came of it. Constant time and some hundred bytes a step."""

    def __init__(self) -> None:
        self._outcomes: dict[bytes, _Outcome] = {}
        self._trajectory = -1
        self._step = 0
        self._history = b""

    def see(self, trajectory: int, first: Observation, action: Action, observation: Observation) -> Contradiction | None:
        """Take in the next step of a trajectory (index in the record) that began with `first`; every step, in order, RESET aside.

        Returns a Contradiction when the same history has led elsewhere before. A truncated step says nothing and is passed over.
        """
        if trajectory != self._trajectory:
            self._trajectory, self._step = trajectory, 0
            self._history = _hash(repr((first.level, first.frame.shape, first.available)).encode(), first.frame.tobytes())
        self._step += 1
        self._history = _hash(self._history, repr(tuple(action)).encode())
        status = observation.status
        if status is Status.TRUNCATED:
            return None
        new = _Outcome(trajectory, self._step, status)
        if status is not Status.COMPLETED:
            frame = observation.frame
            new = _Outcome(trajectory, self._step, status, frame.shape, zlib.compress(frame.tobytes(), 1))
        old = self._outcomes.setdefault(self._history, new)
        if (old.status, old.shape, old.cells) == (new.status, new.shape, new.cells):
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
    one, other = old.frame, new.frame
    where = np.argwhere(one != other)
    row, column = where[0].tolist()
    return (
        f"the frames differ in {len(where)} of {one.size} cells, first in row {row}, column {column} "
        f"({one[row, column]} against {other[row, column]})"
    )


def _hash(*parts: bytes) -> bytes:
    running = blake2b(digest_size=16)
    for part in parts:
        running.update(part)
    return running.digest()
