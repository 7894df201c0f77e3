"""A view that goes with the avatar: only what is near is shown, so what has been seen is remembered in the place of the dark."""

from __future__ import annotations

import base64
import zlib
from itertools import pairwise

import numpy as np

from lawbook.core.record import Observation, Record, Trajectory, freeze
from lawbook.minds.induce.avatar_detection import find_avatar_looks
from lawbook.minds.induce.contact_log import RecordAnalysis
from lawbook.minds.induce.layers import Layers
from lawbook.minds.induce.tracking import select_compared_frames
from lawbook.minds.induce.types import Grid
from lawbook.minds.induce.walker import State

MIN_SHIFTS = 2
"""Steps that must have shown and hidden something."""
MIN_SHIFT_SHARE = 0.6
"""Share of the changing steps in which that must be so."""
MIN_DARK_SHARE = 0.2
"""Share of a frame that is dark at least."""


def find_dark_colour(record: Record) -> int | None:
    """Find the colour of what is not seen; None where everything always is."""
    first_frame = record.trajectories[0].first.frame
    for colour in np.flatnonzero(np.bincount(first_frame.ravel()) >= MIN_DARK_SHARE * first_frame.size).tolist():
        n_shifted = n_changing = 0
        for trajectory in record:
            for before, after in pairwise(select_compared_frames(trajectory)):
                changed = before != after
                if changed.any():
                    n_changing += 1
                    revealed, obscured = changed & (before == colour), changed & (after == colour)
                    n_shifted += bool(revealed.any() and obscured.any() and (changed & ~revealed & ~obscured).any())
        if (
            n_shifted >= MIN_SHIFTS
            and n_shifted >= MIN_SHIFT_SHARE * n_changing
            and find_avatar_looks(fill_dark_cells(record, colour))
        ):
            return int(colour)
    return None


def fill_dark_cells(record: Record, colour: int) -> Record:
    """Return the record as it would be were nothing hidden, as far as it has ever been seen from the same first frame."""
    known_levels: dict[bytes, Grid] = {}
    for trajectory in record:
        level = known_levels.setdefault(trajectory.first.frame.tobytes(), np.array(trajectory.first.frame))
        for frame in select_compared_frames(trajectory):
            is_new = (level == colour) & (frame != colour)
            level[is_new] = frame[is_new]
    filled_record = Record(record.levels)
    filled_record.n_actions, filled_record.last = record.n_actions, record.last
    for trajectory in record:
        current = known_levels[trajectory.first.frame.tobytes()].copy()
        first = trajectory.first
        filled_trajectory = Trajectory(Observation((freeze(current),), first.status, first.level, first.available))
        stack = select_compared_frames(trajectory)
        for step, (action, observation) in enumerate(trajectory.steps, start=1):
            if step < len(stack):
                current = np.where(stack[step] == colour, current, stack[step])
                observation = Observation((freeze(current),), observation.status, observation.level, observation.available)
            filled_trajectory.append(action, observation)
        filled_record.trajectories.append(filled_trajectory)
    return filled_record


def find_view_window(record: Record, analysis: RecordAnalysis, colour: int) -> tuple[int, int, int, int, int] | None:
    """Find what is shown around the avatar; None where it was never seen with something dark about it.

    Returns (dark colour, rows above and columns left of the avatar's upper left cell, rows and columns in all).
    """
    extents: list[tuple[int, int, int, int]] = []
    for trajectory, tracked_frames in zip(record, analysis.tracked_frames, strict=True):
        stack = select_compared_frames(trajectory)
        is_sometimes_dark = (stack == colour).any(axis=0)  # of what is always lit nothing can be told
        for frame, tracked_frame in zip(stack, tracked_frames, strict=False):
            lit_cells = np.argwhere(is_sometimes_dark & (frame != colour))
            if tracked_frame.spot.body >= 0 and len(lit_cells):
                (top, left), (bottom, right) = lit_cells.min(axis=0), lit_cells.max(axis=0)
                row, col = tracked_frame.spot.row, tracked_frame.spot.col
                extents.append((row - top, col - left, bottom - row, right - col))
    if not extents:
        return None
    up, left, down, right = (int(max(column)) for column in zip(*extents, strict=True))
    return colour, up, left, up + down + 1, left + right + 1


def pack_level_maps(record: Record, filled_record: Record) -> tuple[tuple[int, str], ...]:
    """Pack all that has been seen of each level that shows more than its first frame.

    Returns (CRC-32 of the first frame, all that has been seen from it, by zlib and base 85) of each.
    """
    packed_maps: dict[int, str] = {}
    for trajectory, filled_trajectory in zip(record, filled_record, strict=True):
        if not np.array_equal(trajectory.first.frame, filled_trajectory.first.frame):
            packed = base64.b85encode(zlib.compress(filled_trajectory.first.frame.tobytes(), 9)).decode()
            packed_maps[zlib.crc32(trajectory.first.frame.tobytes())] = packed
    return tuple(packed_maps.items())


def count_unseen_cells(world: Layers, state: State, colour: int) -> int:
    """Count the cells that have not been seen yet and would be shown with the avatar where it is in this state."""
    if world.view is None or state.body < 0:
        return 0
    ground = np.frombuffer(state.ground, np.uint8).reshape(-1, state.width)
    return int((ground[world.shown(state.row, state.col, ground.shape)] == colour).sum())
