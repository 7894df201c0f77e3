"""A world brought to where a record stands: the recorded actions are sent again, and every frame is compared."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from lawbook.core.record import RESET, Action, Observation
from lawbook.worlds.world import World


def describe_replay_difference(world: World, recorded_steps: Iterable[tuple[Action | None, Observation]]) -> str | None:
    """Send what was sent (None: the world was opened) to a world that has just been made.

    Returns where it shows something else than is on record, in words; None when it shows the same to the end. Frames of
    animations, statuses, levels, available actions and rewards count as much as settled frames. Raises WorldError where it fails.
    """
    for number, (action, expected) in enumerate(recorded_steps):
        observation = world.reset() if action is None or action == RESET else world.step(action)
        if difference := _describe_difference(observation, expected):
            return f"after action {number} it shows {difference}" if number else f"it opens with {difference}"
    return None


def _describe_difference(observation: Observation, expected: Observation) -> str:
    for field in ("status", "level", "available", "reward"):
        actual, on_record = getattr(observation, field), getattr(expected, field)
        if actual != on_record:
            return f"{field} {actual}, and {on_record} is on record"
    if len(observation.frames) != len(expected.frames):
        return f"{len(observation.frames)} frames, and {len(expected.frames)} are on record"
    for k, (actual, on_record) in enumerate(zip(observation.frames, expected.frames, strict=True), 1):
        if not np.array_equal(actual, on_record):
            where = f" of frame {k} of {len(observation.frames)}" if len(observation.frames) > 1 else ""
            return f"{np.count_nonzero(actual != on_record) if actual.shape == on_record.shape else actual.size} other cells{where}"
    return ""
