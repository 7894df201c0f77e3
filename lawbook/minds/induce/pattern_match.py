"""Regions that may be meant to look alike: the one that actions change, and those that show a pattern for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from lawbook.minds.induce.looks import find
from lawbook.minds.induce.types import Box, Grid, Look, Mask, Match

TURNS = ("as it is", "left and right", "top and bottom")
SCALES = (1, 2, 3, 4)
"""How much larger than its pattern a region may be."""
MAX_PATTERNS = 4
"""Patterns of one size that are thought of."""


def find_matches(grounds: Sequence[Grid], turns: Mapping[Look, Look]) -> list[Match]:
    """Find what `predicates.holds` takes for a match, of one level: the likeliest first. grounds: H x W each, as the level went on.

    The region that is worked on is where something was seen to change (or where what clicks turn hangs together with that); a
    pattern is a region that never changed, of that size or smaller by a whole number, in colours that were seen in the first.
    """
    stack = np.stack(grounds)
    changed = (stack != stack[0]).any(axis=0)
    found_matches = []
    for box in _find_worked_regions(stack[-1], changed, turns):
        row, col, height, width = box
        for step in SCALES:
            if height % step or width % step or min(height, width) // step < 2:
                continue
            pattern_size = height // step, width // step
            for start in sorted({0, step // 2}):
                sampled = stack[:, row : row + height, col : col + width][:, start::step, start::step]
                if (sampled == sampled[:1]).all():
                    continue  # nothing that was done shows there
                for pattern_row, pattern_col in _find_patterns(stack[-1], changed, box, np.unique(sampled), pattern_size):
                    found_matches += [(*box, pattern_row, pattern_col, step, start, turn) for turn in TURNS]
    return found_matches


def _find_worked_regions(ground: Grid, changed: Mask, turns: Mapping[Look, Look]) -> Iterator[Box]:
    if not changed.any():
        return
    region = changed.copy()
    if turns:
        tiles = np.zeros_like(changed)
        for look in {*turns, *turns.values()}:
            for row, col in find(ground, look):
                tiles[row : row + len(look), col : col + len(look[0])] = True
        region = _join_tiles(tiles | changed, changed, len(next(iter(turns))))
    for cells in (region, changed) if turns else (changed,):
        rows, cols = np.flatnonzero(cells.any(axis=1)), np.flatnonzero(cells.any(axis=0))
        yield int(rows[0]), int(cols[0]), int(rows[-1] - rows[0] + 1), int(cols[-1] - cols[0] + 1)


def _join_tiles(tiles: Mask, seeds: Mask, gap: int) -> Mask:
    """The tiles that hang together with the seeds: less than `gap` cells apart."""
    region = seeds
    while True:
        neighbourhood = region.copy()
        for _ in range(max(1, gap)):
            padded = np.pad(neighbourhood, 1)
            neighbourhood = padded[1:-1, 1:-1] | padded[:-2, 1:-1] | padded[2:, 1:-1] | padded[1:-1, :-2] | padded[1:-1, 2:]
        grown = region | (neighbourhood & tiles)
        if (grown == region).all():
            return region
        region = grown


def _find_patterns(ground: Grid, changed: Mask, box: Box, colours: Grid, size: tuple[int, int]) -> list[tuple[int, int]]:
    """Upper left cells of what may be a pattern: first what stands apart, then what is in line with the box."""
    row, col, height, width = box
    is_candidate = np.isin(ground, colours) & ~changed
    is_candidate[row : row + height, col : col + width] = False
    if is_candidate.shape[0] < size[0] or is_candidate.shape[1] < size[1]:
        return []
    is_candidate_region = np.lib.stride_tricks.sliding_window_view(is_candidate, size).all(axis=(2, 3))
    ranked = []
    for pattern_row, pattern_col in np.argwhere(is_candidate_region).tolist():
        pattern = ground[pattern_row : pattern_row + size[0], pattern_col : pattern_col + size[1]]
        if (pattern == pattern[0, 0]).all():
            continue
        surround = np.pad(is_candidate, 1)[pattern_row : pattern_row + size[0] + 2, pattern_col : pattern_col + size[1] + 2]
        sides = surround[0, 1:-1], surround[-1, 1:-1], surround[1:-1, 0], surround[1:-1, -1]
        n_open_sides = sum(bool(side.any()) for side in sides)
        ranked.append(
            ((n_open_sides, pattern_row != row and pattern_col != col, pattern_row, pattern_col), (pattern_row, pattern_col))
        )
    return [place for _, place in sorted(ranked)[:MAX_PATTERNS]]
