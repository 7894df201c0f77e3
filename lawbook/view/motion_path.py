"""Where something goes: the way that a sequence of frames shows, whatever it is that moves in them. Knows nothing of any world."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from lawbook.core.record import Frame

Point = tuple[float, float]
"""(row, column) in cells, fractions allowed: the middle of the upper left cell is (0.5, 0.5)."""

_MOST = 0.25
"""A frame that differs from the one before in a larger share of its cells shows another scene, and no step of a way."""


def way(frames: Sequence[Frame]) -> list[Point]:
    """Middle of what moves, one point for each frame, the first included; empty when nothing moves.

    What moves has arrived at the cells that change now and change again with the next move, and has left those that changed
    with the last move too. Where nothing changes it stands still.
    """
    changed = [np.argwhere(one != two) for one, two in pairwise(frames) if one.shape == two.shape]
    moves = [{(int(r), int(c)) for r, c in cells} if 0 < len(cells) <= _MOST * frames[0].size else set() for cells in changed]
    real = [k for k, cells in enumerate(moves) if cells]
    if not real:
        return []
    places: dict[int, set[tuple[int, int]]] = {}
    for this, after in pairwise(real):
        places[this] = moves[this] & moves[after] or moves[this]
    if len(real) == 1:
        # One move only: the changed cells farther along are where it went, but which end that is cannot be told; take the middle.
        places[real[0]] = moves[real[0]]
    else:
        last, before = real[-1], real[-2]
        places[last] = moves[last] - places[before] or moves[last]
    first = moves[real[0]] - places[real[0]] or moves[real[0]]
    points, now = [_middle(first)], _middle(first)
    for k in range(len(moves)):
        now = _middle(places[k]) if k in places else now
        points.append(now)
    return points


def _middle(cells: set[tuple[int, int]]) -> Point:
    """Middle of the box around the cells."""
    rows, columns = [r for r, _ in cells], [c for _, c in cells]
    return (min(rows) + max(rows) + 1) / 2, (min(columns) + max(columns) + 1) / 2
