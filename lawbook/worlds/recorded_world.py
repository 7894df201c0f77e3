"""A world brought to where a record stands: the recorded actions are sent again, and every frame is compared."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from lawbook.core.record import RESET, Action, Observation
from lawbook.worlds.world import World


def parted(world: World, recorded: Iterable[tuple[Action | None, Observation]]) -> str | None:
    """Send what was sent (None: the world was opened) to a world that has just been made.

    Returns where it shows something else than is on record, in words; None when it shows the same to the end. Frames of
    animations, statuses, levels, available actions and rewards count as much as settled frames. Raises WorldError where it fails.
    """
    for number, (action, expected) in enumerate(recorded):
        seen = world.reset() if action is None or action == RESET else world.step(action)
        if difference := _difference(seen, expected):
            return f"after action {number} it shows {difference}" if number else f"it opens with {difference}"
    return None


def _difference(seen: Observation, expected: Observation) -> str:
    for what in ("status", "level", "available", "reward"):
        one, other = getattr(seen, what), getattr(expected, what)
        if one != other:
            return f"{what} {one}, and {other} is on record"
    if len(seen.frames) != len(expected.frames):
        return f"{len(seen.frames)} frames, and {len(expected.frames)} are on record"
    for k, (one, other) in enumerate(zip(seen.frames, expected.frames, strict=True), 1):
        if not np.array_equal(one, other):
            where = f" of frame {k} of {len(seen.frames)}" if len(seen.frames) > 1 else ""
            return f"{np.count_nonzero(one != other) if one.shape == other.shape else one.size} other cells{where}"
    return ""
