"""A mind's or an agent's own Python over the record: what it finds there, and its run. Runs in a worker without a program."""

from __future__ import annotations

import contextlib
import mmap
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lawbook.core.record import Action
from lawbook.sandbox.output_buffer import Pad

FILE = "analysis.py"


class Trajectory:
    """From the first sight after a reset or level start to the next. `len` counts its actions.

    frames: (n + 1) x H x W uint8, the settled frames, frames[0] the first sight, frames[k] after k actions.
    actions: the n actions, each with .id .x .y; action k (from 0) led from frames[k] to frames[k + 1].
    statuses, levels, available: n + 1 of each: "running", "completed", "over" or "truncated"; the level, from 0; action ids.
    """

    def __init__(self, row: Mapping[str, Any], settled: bytes | None, moving: bytes | None) -> None:
        self.actions = [Action(*action) for action in row["actions"]]
        self.statuses: list[str] = row["statuses"]
        self.levels: list[int] = row["levels"]
        self.available = [tuple(ids) for ids in row["available"]]
        self._shape = tuple(row["shape"])
        self._counts: list[int] = row["moving"]
        self._settled = None if settled is None else self._array(settled)
        self._moving = None if moving is None else self._array(moving)

    @property
    def frames(self) -> Any:
        if self._settled is None:
            raise LookupError("the frames of so old a trajectory are not handed over; look at newer ones")
        return self._settled

    def animation(self, k: int) -> Any:
        """Every frame that came after k actions, m x H x W uint8, the settled one last."""
        k = range(len(self.frames))[k]
        if self._counts[k] and self._moving is None:
            raise LookupError("animations of so old a trajectory are not handed over; look at newer ones")
        if self._moving is None:
            return self.frames[k : k + 1]
        at = sum(self._counts[:k])
        return np.concatenate([self._moving[at : at + self._counts[k]], self.frames[k : k + 1]])

    def __len__(self) -> int:
        return len(self.actions)

    def __repr__(self) -> str:
        height, width = self._shape
        return f"<trajectory in level {self.levels[0]}: {len(self)} actions, frames {height} x {width}, {self.statuses[-1]}>"

    def _array(self, data: bytes) -> Any:
        return np.frombuffer(data, dtype=np.uint8).reshape(-1, *self._shape)  # read-only, because bytes are


def trajectories(rows: Sequence[Mapping[str, Any]], blobs: Sequence[bytes]) -> list[Trajectory]:
    """rows: see analysis.pack; each names its blobs by number."""
    found = []
    for row in rows:
        settled, moving = (None if at is None else blobs[at] for at in row["blobs"])
        found.append(Trajectory(row, settled, moving))
    return found


def run(code: str, record: list[Trajectory], memory: mmap.mmap, most: int) -> None:
    """Run `code` with `record`, `frames` and `actions` of the present trajectory, np and perception. Raises what it raises."""
    names = {
        "__name__": "__main__",
        "record": record,
        "frames": record[-1].frames if record else None,
        "actions": record[-1].actions if record else [],
        "np": np,
        "numpy": np,
        "perception": sys.modules["perception"],
    }
    pad = Pad(memory, most)
    with contextlib.redirect_stdout(pad), contextlib.redirect_stderr(pad):
        exec(compile(code, FILE, "exec", dont_inherit=True), names)  # noqa: S102 - the reason this process exists
