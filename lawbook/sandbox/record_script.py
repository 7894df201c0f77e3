"""A mind's or an agent's own Python over the record: what it finds there, and its run. Runs in a worker without a program."""

from __future__ import annotations

import contextlib
import importlib
import mmap
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lawbook.core.hypothesis import ENGINE
from lawbook.core.record import Action
from lawbook.sandbox.output_buffer import OutputBuffer
from lawbook.sandbox.program_loader import offer_modules

SCRIPT_FILE = "analysis.py"


class ScriptTrajectory:
    """All from the first observation after a reset or level start to the next. `len` counts its actions.

    frames: (n + 1) x H x W uint8, the settled frames, frames[0] the first one, frames[k] after k actions.
    actions: the n actions, each with .id .x .y; action k (from 0) led from frames[k] to frames[k + 1].
    statuses, levels, available: n + 1 of each: "running", "completed", "over" or "truncated"; the level, from 0; action ids.
    """

    def __init__(self, row: Mapping[str, Any], settled: bytes | None, moving: bytes | None) -> None:
        self.actions = [Action(*action) for action in row["actions"]]
        self.statuses: list[str] = row["statuses"]
        self.levels: list[int] = row["levels"]
        self.available = [tuple(ids) for ids in row["available"]]
        self._shape = tuple(row["shape"])
        self._animation_counts: list[int] = row["moving"]
        self._settled = None if settled is None else self._decode_frames(settled)
        self._moving = None if moving is None else self._decode_frames(moving)

    @property
    def frames(self) -> Any:
        """The settled frames, (n + 1) x H x W uint8, read-only. Raises LookupError for a trajectory too old to be handed over."""
        if self._settled is None:
            raise LookupError("the frames of so old a trajectory are not handed over; look at newer ones")
        return self._settled

    def animation(self, k: int) -> Any:
        """Return every frame that came after k actions, m x H x W uint8, the settled one last.

        Raises LookupError for a trajectory too old to be handed over.
        """
        k = range(len(self.frames))[k]
        if self._animation_counts[k] and self._moving is None:
            raise LookupError("animations of so old a trajectory are not handed over; look at newer ones")
        if self._moving is None:
            return self.frames[k : k + 1]
        offset = sum(self._animation_counts[:k])
        return np.concatenate([self._moving[offset : offset + self._animation_counts[k]], self.frames[k : k + 1]])

    def __len__(self) -> int:
        return len(self.actions)

    def __repr__(self) -> str:
        height, width = self._shape
        return f"<trajectory in level {self.levels[0]}: {len(self)} actions, frames {height} x {width}, {self.statuses[-1]}>"

    def _decode_frames(self, data: bytes) -> Any:
        return np.frombuffer(data, dtype=np.uint8).reshape(-1, *self._shape)  # read-only, because bytes are


def unpack_trajectories(rows: Sequence[Mapping[str, Any]], blobs: Sequence[bytes]) -> list[ScriptTrajectory]:
    """Unpack what `record_scripts.pack_record` packed: rows, each of which names its blobs by number."""
    result = []
    for row in rows:
        settled, moving = (None if number is None else blobs[number] for number in row["blobs"])
        result.append(ScriptTrajectory(row, settled, moving))
    return result


def run_script(
    code: str,
    record: list[ScriptTrajectory],
    memory: mmap.mmap,
    max_bytes: int,
    modules: Mapping[str, str] | None = None,
    name: str = SCRIPT_FILE,
) -> None:
    """Run `code` with `record`, `frames` and `actions` of the present trajectory, np and perception; `name`: of its file.

    modules: what it may import besides, and `state_after` where a program is among them. What it prints goes to `memory`, up to
    `max_bytes`. Raises what it raises.
    """
    namespace = {
        "__name__": "__main__",
        "record": record,
        "frames": record[-1].frames if record else None,
        "actions": record[-1].actions if record else [],
        "np": np,
        "numpy": np,
        "perception": sys.modules["perception"],
    }
    if modules:
        offer_modules(modules)
        namespace["state_after"] = _make_state_finder(record)
    output = OutputBuffer(memory, max_bytes)
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        exec(compile(code, name, "exec", dont_inherit=True), namespace)  # noqa: S102 - the reason this process exists


def _make_state_finder(record: list[ScriptTrajectory]) -> Callable[..., Any]:
    def state_after(trajectory: ScriptTrajectory | None = None, k: int | None = None) -> Any:
        """Return the program's state after k actions of a trajectory (all of them; of the present one): replayed from its start."""
        engine = importlib.import_module(ENGINE.removesuffix(".py"))
        t = record[-1] if trajectory is None else trajectory
        state = engine.initial_state({"frame": t.frames[0], "level": t.levels[0], "available_actions": t.available[0]})
        for action in t.actions[:k]:
            state = engine.step(state, action)
        return state

    return state_after
