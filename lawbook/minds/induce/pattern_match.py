"""Regions that may be meant to look alike: the one that actions change, and those that show a pattern for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lawbook.minds.induce.looks import find

TURNS = ("as it is", "left and right", "top and bottom")
STEPS = (1, 2, 3, 4)
"""How much larger than its pattern a region may be."""
PATTERNS = 4
"""Patterns of one size that are thought of."""
Box = tuple[int, int, int, int]
"""(row, column, height, width)."""


def matches(grounds: Sequence[Any], turns: Mapping[Any, Any]) -> list[tuple[Any, ...]]:
    """What `predicates.holds` takes for a match, of one level: the likeliest first. grounds: H x W each, as the level went on.

    The region that is worked on is where something was seen to change (or where what clicks turn hangs together with that); a
    pattern is a region that never changed, of that size or smaller by a whole number, in colours that were seen in the first.
    """
    stack = np.stack(grounds)
    changed = (stack != stack[0]).any(axis=0)
    found = []
    for box in _worked(stack[-1], changed, turns):
        row, col, height, width = box
        for step in STEPS:
            if height % step or width % step or min(height, width) // step < 2:
                continue
            size = height // step, width // step
            for start in sorted({0, step // 2}):
                sampled = stack[:, row : row + height, col : col + width][:, start::step, start::step]
                if (sampled == sampled[:1]).all():
                    continue  # nothing that was done shows there
                for there, along in _patterns(stack[-1], changed, box, np.unique(sampled), size):
                    found += [(*box, there, along, step, start, turn) for turn in TURNS]
    return found


def _worked(ground: Any, changed: Any, turns: Mapping[Any, Any]) -> Iterator[Box]:
    if not changed.any():
        return
    own = changed.copy()
    if turns:
        tiles = np.zeros_like(changed)
        for look in {*turns, *turns.values()}:
            for row, col in find(ground, look):
                tiles[row : row + len(look), col : col + len(look[0])] = True
        own = _joined(tiles | changed, changed, len(next(iter(turns))))
    for cells in (own, changed) if turns else (changed,):
        rows, cols = np.flatnonzero(cells.any(axis=1)), np.flatnonzero(cells.any(axis=0))
        yield int(rows[0]), int(cols[0]), int(rows[-1] - rows[0] + 1), int(cols[-1] - cols[0] + 1)


def _joined(tiles: Any, seeds: Any, gap: int) -> Any:
    """The tiles that hang together with the seeds: less than `gap` cells apart."""
    own = seeds
    while True:
        near = own.copy()
        for _ in range(max(1, gap)):
            wide = np.pad(near, 1)
            near = wide[1:-1, 1:-1] | wide[:-2, 1:-1] | wide[2:, 1:-1] | wide[1:-1, :-2] | wide[1:-1, 2:]
        grown = own | (near & tiles)
        if (grown == own).all():
            return own
        own = grown


def _patterns(ground: Any, changed: Any, box: Box, colours: Any, size: tuple[int, int]) -> list[tuple[int, int]]:
    """Upper left cells of what may be a pattern: first what stands apart, then what is in line with the box."""
    row, col, height, width = box
    fits = np.isin(ground, colours) & ~changed
    fits[row : row + height, col : col + width] = False
    if fits.shape[0] < size[0] or fits.shape[1] < size[1]:
        return []
    inside = np.lib.stride_tricks.sliding_window_view(fits, size).all(axis=(2, 3))
    ranked = []
    for there, along in np.argwhere(inside).tolist():
        shown = ground[there : there + size[0], along : along + size[1]]
        if (shown == shown[0, 0]).all():
            continue
        around = np.pad(fits, 1)[there : there + size[0] + 2, along : along + size[1] + 2]
        sides = around[0, 1:-1], around[-1, 1:-1], around[1:-1, 0], around[1:-1, -1]
        loose = sum(bool(side.any()) for side in sides)
        ranked.append(((loose, there != row and along != col, there, along), (there, along)))
    return [place for _, place in sorted(ranked)[:PATTERNS]]
