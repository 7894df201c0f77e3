"""Things that were turned or mirrored between two frames, on the spot or while they moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from lawbook.core import perception
from lawbook.core.boxes import Box, FrameEvent
from lawbook.core.perception import Grid, Mask

MAX_REGIONS, MAX_CELLS = 40, 600
"""Regions that are looked at, and cells of one."""
MAX_MARGIN = 2
"""Rows and columns by which a thing may be larger than what changed of it."""

TURNS: tuple[tuple[str, Callable[[Grid], Grid]], ...] = (
    ("turned right", lambda cells: np.rot90(cells, -1)),
    ("turned left", lambda cells: np.rot90(cells)),
    ("turned round", lambda cells: np.rot90(cells, 2)),
    ("mirrored left-right", np.fliplr),
    ("mirrored top-bottom", np.flipud),
    ("mirrored on the diagonal", lambda cells: cells.T),
    ("mirrored on the other diagonal", lambda cells: np.rot90(cells, 2).T),
)
"""What a block of cells can be of another."""


def find_turns(before: Grid, after: Grid, unexplained: Mask) -> list[FrameEvent]:
    """Find what was turned; the cells that this explains are taken out of `unexplained`.

    Solid blocks are left out, and what only moved: a turn is told where nothing plainer says it.
    """
    labels, count = perception.components(unexplained, diagonal=True, where=unexplained)
    if not 0 < count <= MAX_REGIONS:
        return []
    masks = [labels == number for number in range(count)]
    masks = [mask for mask in masks if mask.sum() <= MAX_CELLS]
    events: list[FrameEvent] = []
    remaining = []
    for mask in masks:
        if not (unexplained & mask).any():
            continue
        event = _find_turn_on_the_spot(before, after, mask) or _find_shifted_turn(before, after, mask, mask)
        if event is None:
            remaining.append(mask)
            continue
        events.append(event)
        unexplained &= ~mask
        if event.step == (0, 0):
            unexplained[event.box.region] = False
    for one, other in _find_pairs(remaining):
        event = _find_shifted_turn(before, after, one, other)
        if event is not None and (unexplained & one).any() and (unexplained & other).any():
            events.append(event)
            unexplained &= ~(one | other)
    return events


def _find_pairs(masks: list[Mask]) -> Iterator[tuple[Mask, Mask]]:
    """Regions of the same number of cells, in both orders."""
    sizes = [int(mask.sum()) for mask in masks]
    for i, one in enumerate(masks):
        for j, other in enumerate(masks):
            if i != j and sizes[i] == sizes[j]:
                yield one, other


def _find_shifted_turn(before: Grid, after: Grid, source: Mask, target: Mask) -> FrameEvent | None:
    """A thing that left the one region, which shows one colour now, and lies turned in the other, which showed that colour; both
    may be the same region."""
    changed = source | target
    for colour in np.unique(after[source]).tolist():
        lost, gained = changed & (after == colour), changed & (before == colour)
        if not (lost | gained)[changed].all() or (lost & gained).any() or lost.sum() != gained.sum():
            continue
        old_box, new_box = _find_box(lost), _find_box(gained)
        old, new = (
            np.where(mask[box.region], frame[box.region].astype(np.int16), np.int16(-1))
            for mask, box, frame in ((lost, old_box, before), (gained, new_box, after))
        )
        if np.array_equal(old, new) or (old == old[0, 0]).all():
            return None
        how = next((name for name, turn in TURNS if np.array_equal(turn(old), new)), None)
        if how is not None:
            step = new_box.top - old_box.top, new_box.left - old_box.left
            return FrameEvent("turned", old_box, step, before[old_box.region], None, lost[old_box.region], how, int(changed.sum()))
    return None


def _find_turn_on_the_spot(before: Grid, after: Grid, mask: Mask) -> FrameEvent | None:
    """A square around a region whose cells are those of before, turned."""
    box = _find_box(mask)
    height, width = box.bottom - box.top + 1, box.right - box.left + 1
    if height * width < 4 or _has_slid(before[box.region], after[box.region]):
        return None
    for size in range(max(height, width), max(height, width) + MAX_MARGIN + 1):
        for top in range(box.bottom - size + 1, box.top + 1):
            for left in range(box.right - size + 1, box.left + 1):
                if top < 0 or left < 0 or top + size > before.shape[0] or left + size > before.shape[1]:
                    continue
                square = Box(top, left, top + size - 1, left + size - 1)
                old, new = before[square.region], after[square.region]
                how = next((name for name, turn in TURNS if np.array_equal(turn(old), new)), None)
                inner = _find_box(old != new).region
                if how is not None and not _has_slid(old[inner], new[inner]):
                    return FrameEvent("turned", square, (0, 0), old, new, None, how, int(mask.sum()))
    return None


def _has_slid(old: Grid, new: Grid) -> bool:
    """Whether the cells of a box are those of before, some rows or columns further."""
    for one, other in ((old, new), (new, old), (old.T, new.T), (new.T, old.T)):
        if any(np.array_equal(one[k:], other[: len(one) - k]) for k in range(1, len(one) // 2 + 1)):
            return True
    return False


def _find_box(mask: Mask) -> Box:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return Box(int(rows[0]), int(columns[0]), int(rows[-1]), int(columns[-1]))
