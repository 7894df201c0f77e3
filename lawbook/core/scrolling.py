"""Whether a view scrolled from one frame to the next, and by how much."""

from __future__ import annotations

import numpy as np

from lawbook.core.perception import Cell, Grid, Mask

MIN_CHANGED_SHARE = 0.08
"""Of all cells: with fewer changed nothing is said to have scrolled."""
MIN_EXPLAINED = 0.85
"""Of the changed cells that were in the view before: so many have to be what the scrolling says."""
MIN_AREA_SHARE = 0.3
"""Of all cells: a smaller area that went somewhere is an object."""

MAX_CELLS = 1 << 14
"""Of a frame: in larger ones scrolling is not looked for, which would take too long."""

Area = tuple[int, int, int, int]
"""First row, first column, last row, last column, inclusive."""


def find_scroll(before: Grid, after: Grid) -> tuple[Cell, Area] | None:
    """Find (by how many rows and columns the content moved on the screen, the area that scrolled); None where it did not.

    The area is what lies around the changed cells. A shift counts where it explains nearly all of them, and where the content is no
    plain ground, which could have gone anywhere.
    """
    changed = before != after
    if changed.mean() < MIN_CHANGED_SHARE or before.size > MAX_CELLS:
        return None
    rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
    area = int(rows[0]), int(columns[0]), int(rows[-1]), int(columns[-1])
    old, new = (frame[area[0] : area[2] + 1, area[1] : area[3] + 1] for frame in (before, after))
    if old.size < MIN_AREA_SHARE * before.size:
        return None
    different = old != new
    for dr, dc in _rank_shifts(old, new):
        source, target = _overlap(old.shape, (dr, dc))
        relevant = different[target]
        n_relevant = int(relevant.sum())
        if n_relevant < 0.3 * different.sum() or abs(dr) > old.shape[0] // 2 or abs(dc) > old.shape[1] // 2:
            continue
        if (old[source] == new[target])[relevant].mean() < MIN_EXPLAINED or (old[source] == new[target]).mean() < MIN_EXPLAINED:
            continue
        return (dr, dc), area
    return None


def shift_frame(frame: Grid, step: Cell, area: Area) -> tuple[Grid, Mask]:
    """Return (the frame with its area scrolled, H x W; which of its cells nothing was scrolled to, H x W)."""
    top, left, bottom, right = area
    region = np.s_[top : bottom + 1, left : right + 1]
    shifted, is_new = frame.copy(), np.zeros(frame.shape, dtype=np.bool_)
    source, target = _overlap(frame[region].shape, step)
    is_new[region] = True
    is_new[region][target] = False
    shifted[region][target] = frame[region][source]
    return shifted, is_new


def _rank_shifts(old: Grid, new: Grid) -> list[Cell]:
    """The likeliest shifts, from the correlation of edges (where a cell differs from its neighbour) in both."""
    height, width = old.shape
    size = (2 * height, 2 * width)
    score = np.zeros(size)
    colours, counts = np.unique(old, return_counts=True)
    for colour in colours[np.argsort(counts)][:-1][-6:]:  # not the ground
        score += np.fft.irfft2(np.fft.rfft2(new == colour, size) * np.conj(np.fft.rfft2(old == colour, size)), size)
    best = np.argsort(score, axis=None)[::-1][:6]
    shifts = [(int(k // size[1]), int(k % size[1])) for k in best]
    centred = [(dr - size[0] if dr > height else dr, dc - size[1] if dc > width else dc) for dr, dc in shifts]
    return [shift for shift in centred if shift != (0, 0)]


def _overlap(shape: tuple[int, ...], step: Cell) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
    """Cells that stay in the area: where they were, and where they are."""
    source, target = [], []
    for length, distance in zip(shape, step, strict=True):
        source.append(slice(max(0, -distance), length - max(0, distance)))
        target.append(slice(max(0, distance), length - max(0, -distance)))
    return (source[0], source[1]), (target[0], target[1])
