"""Where something goes: the way that a sequence of frames shows, whatever it is that moves in them. Knows nothing of any world."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from lawbook.core.record import Frame

Point = tuple[float, float]
"""(row, column) in cells, fractions allowed: the middle of the upper left cell is (0.5, 0.5)."""

_MAX_CHANGED_SHARE = 0.25
"""A frame that differs from the one before in a larger share of its cells shows another scene, and no step of a way."""


def find_motion_path(frames: Sequence[Frame]) -> list[Point]:
    """Find the middle of what moves, in cells: one point for each frame, the first included; empty when nothing moves.

    frames: uint8, H x W. What moves has arrived at the cells that change now and change again with the next move, and has left
    those that changed with the last move too. Where nothing changes it stands still.
    """
    changed_cells = [np.argwhere(one != two) for one, two in pairwise(frames) if one.shape == two.shape]
    moves = [
        {(int(r), int(c)) for r, c in cells} if 0 < len(cells) <= _MAX_CHANGED_SHARE * frames[0].size else set()
        for cells in changed_cells
    ]
    moving_indices = [k for k, cells in enumerate(moves) if cells]
    if not moving_indices:
        return []
    positions: dict[int, set[tuple[int, int]]] = {}
    for current, following in pairwise(moving_indices):
        positions[current] = moves[current] & moves[following] or moves[current]
    if len(moving_indices) == 1:
        # One move only: the changed cells farther along are where it went, but which end that is cannot be told; take the middle.
        positions[moving_indices[0]] = moves[moving_indices[0]]
    else:
        last, previous = moving_indices[-1], moving_indices[-2]
        positions[last] = moves[last] - positions[previous] or moves[last]
    start = moves[moving_indices[0]] - positions[moving_indices[0]] or moves[moving_indices[0]]
    points, position = [_compute_centre(start)], _compute_centre(start)
    for k in range(len(moves)):
        position = _compute_centre(positions[k]) if k in positions else position
        points.append(position)
    return points


def _compute_centre(cells: set[tuple[int, int]]) -> Point:
    """Middle of the box around the cells."""
    rows, columns = [r for r, _ in cells], [c for _, c in cells]
    return (min(rows) + max(rows) + 1) / 2, (min(columns) + max(columns) + 1) / 2
