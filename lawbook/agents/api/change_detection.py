"""Whether an action changed anything, where nobody predicted it: what a counter of actions shows does not count."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lawbook.core.record import Record, Status

RECENT, ENOUGH, NEARLY = 50, 6, 0.9
"""Steps that are looked at, how many there have to be, and in which share of them a counter changes."""
EDGE = 16
"""A bar lies within this part (a sixteenth) of the rows or columns from an edge."""


def changed_nothing(record: Record) -> str:
    """`nothing`, or `nothing but what changes every time`, where the last action changed no more; else an empty string."""
    here = record.here
    if not len(here):
        return ""
    seen, before = here.last, here.steps[-2][1] if len(here) > 1 else here.first
    if seen.status is not Status.RUNNING or seen.available != before.available:
        return ""
    changed = here.settled[-1] != here.settled[-2]
    if not changed.any():
        return "nothing"
    return "" if (changed & ~counters(record)).any() else "nothing but what changes every time"


def counters(record: Record) -> npt.NDArray[np.bool_]:
    """H x W: cells that changed in nearly every one of the last 50 steps; and rows and columns along an edge in which something
    did, no cell of them twice in a trajectory: a bar (what walks along a row changes its cells twice).

    None where too few steps are on record, or where in most of them nothing else changed: that may be all there is to see.
    """
    shape = record.here.first.frame.shape
    steps: list[npt.NDArray[np.bool_]] = []
    again = np.zeros(shape, dtype=np.bool_)
    left = RECENT
    for there in reversed(record.trajectories):
        settled = there.settled[: -1 if there.statuses[-1] is Status.COMPLETED else None]  # the last shows the next level then
        settled = settled[-max(left, 0) - 1 :]
        if left <= 0 or settled.shape[1:] != shape:
            break
        changed = settled[1:] != settled[:-1]
        left -= len(changed)
        steps.append(changed)
        again |= changed.sum(axis=0) > 1
    changed = np.concatenate(steps)
    if len(changed) < ENOUGH:
        return np.zeros(shape, dtype=np.bool_)
    found: npt.NDArray[np.bool_] = changed.mean(axis=0) >= NEARLY
    for along in (1, 0):
        side = shape[1 - along]
        margin = -(-side // EDGE)
        place = np.arange(side)
        bar = (changed.any(axis=1 + along).mean(axis=0) >= NEARLY) & ~again.any(axis=along)
        bar &= (place < margin) | (place >= side - margin)
        found |= bar[:, None] if along else bar[None, :]
    if (changed & ~found).any(axis=(1, 2)).mean() < 0.5:
        return np.zeros(shape, dtype=np.bool_)
    return found
