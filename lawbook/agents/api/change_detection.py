"""Whether an action changed anything, where nobody predicted it: what a counter of actions shows does not count."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lawbook.core.record import Record, Status

RECENT_STEPS, MIN_STEPS, COUNTER_SHARE = 50, 6, 0.9
"""Steps that are looked at, how many there have to be, and in which share of them a counter changes."""
EDGE_FRACTION = 16
"""A bar lies within this part (a sixteenth) of the rows or columns from an edge."""


def describe_unchanged(record: Record) -> str:
    """`nothing`, or `nothing but what changes every time`, where the last action changed no more; else an empty string."""
    trajectory = record.current
    if not len(trajectory):
        return ""
    observation, previous = trajectory.last, trajectory.steps[-2][1] if len(trajectory) > 1 else trajectory.first
    if observation.status is not Status.RUNNING or observation.available != previous.available:
        return ""
    changed = trajectory.settled_frames[-1] != trajectory.settled_frames[-2]
    if not changed.any():
        return "nothing"
    return "" if (changed & ~find_counters(record)).any() else "nothing but what changes every time"


def find_counters(record: Record) -> npt.NDArray[np.bool_]:
    """H x W: cells that changed in nearly every one of the last 50 steps; and rows and columns along an edge in which something
    did, no cell of them twice in a trajectory: a bar (what walks along a row changes its cells twice).

    None where too few steps are on record, or where in most of them nothing else changed: that may be all there is to see.
    """
    shape = record.current.first.frame.shape
    steps: list[npt.NDArray[np.bool_]] = []
    changed_twice = np.zeros(shape, dtype=np.bool_)
    n_left = RECENT_STEPS
    for trajectory in reversed(record.trajectories):
        settled = trajectory.settled_frames[
            : -1 if trajectory.statuses[-1] is Status.COMPLETED else None
        ]  # the last shows the next level then
        settled = settled[-max(n_left, 0) - 1 :]
        if n_left <= 0 or settled.shape[1:] != shape:
            break
        changed = settled[1:] != settled[:-1]
        n_left -= len(changed)
        steps.append(changed)
        changed_twice |= changed.sum(axis=0) > 1
    changed = np.concatenate(steps)
    if len(changed) < MIN_STEPS:
        return np.zeros(shape, dtype=np.bool_)
    counter_mask: npt.NDArray[np.bool_] = changed.mean(axis=0) >= COUNTER_SHARE
    for axis in (1, 0):
        length = shape[1 - axis]
        margin = -(-length // EDGE_FRACTION)
        positions = np.arange(length)
        bar_mask = (changed.any(axis=1 + axis).mean(axis=0) >= COUNTER_SHARE) & ~changed_twice.any(axis=axis)
        bar_mask &= (positions < margin) | (positions >= length - margin)
        counter_mask |= bar_mask[:, None] if axis else bar_mask[None, :]
    if (changed & ~counter_mask).any(axis=(1, 2)).mean() < 0.5:
        return np.zeros(shape, dtype=np.bool_)
    return counter_mask
