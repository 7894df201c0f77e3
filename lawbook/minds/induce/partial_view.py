"""A view that goes with the avatar: only what is near is shown, so what has been seen is remembered in the place of the dark."""

from __future__ import annotations

import base64
import zlib
from itertools import pairwise
from typing import Any

import numpy as np

from lawbook.core.record import Observation, Record, Trajectory, freeze
from lawbook.minds.induce.avatar_detection import looks_of
from lawbook.minds.induce.contact_log import Study
from lawbook.minds.induce.layers import Layers
from lawbook.minds.induce.tracking import compared
from lawbook.minds.induce.walker import State

STEPS = 2
"""Steps that must have shown and hidden something."""
OFTEN = 0.6
"""Share of the changing steps in which that must be so."""
AREA = 0.2
"""Share of a frame that is dark at least."""


def dark(record: Record) -> int | None:
    """The colour of what is not seen; None where everything always is."""
    first = record.trajectories[0].first.frame
    for colour in np.flatnonzero(np.bincount(first.ravel()) >= AREA * first.size).tolist():
        shifted = changing = 0
        for trajectory in record:
            for before, after in pairwise(compared(trajectory)):
                changed = before != after
                if changed.any():
                    changing += 1
                    came, went = changed & (before == colour), changed & (after == colour)
                    shifted += bool(came.any() and went.any() and (changed & ~came & ~went).any())
        if shifted >= STEPS and shifted >= OFTEN * changing and looks_of(unveiled(record, colour)):
            return int(colour)
    return None


def unveiled(record: Record, colour: int) -> Record:
    """The record as it would be were nothing hidden, as far as it has ever been seen from the same first frame."""
    known: dict[bytes, Any] = {}
    for trajectory in record:
        level = known.setdefault(trajectory.first.frame.tobytes(), np.array(trajectory.first.frame))
        for frame in compared(trajectory):
            new = (level == colour) & (frame != colour)
            level[new] = frame[new]
    plain = Record(record.levels)
    plain.actions, plain.last = record.actions, record.last
    for trajectory in record:
        now = known[trajectory.first.frame.tobytes()].copy()
        first = trajectory.first
        opened = Trajectory(Observation((freeze(now),), first.status, first.level, first.available))
        stack = compared(trajectory)
        for step, (action, seen) in enumerate(trajectory.steps, start=1):
            if step < len(stack):
                now = np.where(stack[step] == colour, now, stack[step])
                seen = Observation((freeze(now),), seen.status, seen.level, seen.available)
            opened.append(action, seen)
        plain.trajectories.append(opened)
    return plain


def view(record: Record, seen: Study, colour: int) -> tuple[int, int, int, int, int] | None:
    """(dark colour, rows above and columns left of the avatar's upper left cell, rows and columns in all) of what is shown."""
    extent: list[tuple[int, int, int, int]] = []
    for trajectory, moments in zip(record, seen.moments, strict=True):
        stack = compared(trajectory)
        hidden = (stack == colour).any(axis=0)  # of what is always lit nothing can be told
        for frame, moment in zip(stack, moments, strict=False):
            lit = np.argwhere(hidden & (frame != colour))
            if moment.spot.body >= 0 and len(lit):
                (top, left), (bottom, right) = lit.min(axis=0), lit.max(axis=0)
                row, col = moment.spot.row, moment.spot.col
                extent.append((row - top, col - left, bottom - row, right - col))
    if not extent:
        return None
    up, left, down, right = (int(max(column)) for column in zip(*extent, strict=True))
    return colour, up, left, up + down + 1, left + right + 1


def maps(record: Record, plain: Record) -> tuple[tuple[int, str], ...]:
    """(first frame, all that has been seen from it, packed) of each level that shows more than its first frame."""
    found: dict[int, str] = {}
    for trajectory, whole in zip(record, plain, strict=True):
        if not np.array_equal(trajectory.first.frame, whole.first.frame):
            packed = base64.b85encode(zlib.compress(whole.first.frame.tobytes(), 9)).decode()
            found[zlib.crc32(trajectory.first.frame.tobytes())] = packed
    return tuple(found.items())


def unseen_from(world: Layers, state: State, colour: int) -> int:
    """How many cells that have not been seen yet would be shown with the avatar where it is in this state."""
    if world.view is None or state.body < 0:
        return 0
    ground = np.frombuffer(state.ground, np.uint8).reshape(-1, state.width)
    return int((ground[world.shown(state.row, state.col, ground.shape)] == colour).sum())
