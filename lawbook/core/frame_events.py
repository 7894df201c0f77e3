"""Find what happened between two frames, as events of objects: scrolled, moved, turned, recoloured, appeared, vanished, and what is
left.

The view's scrolling is taken out first. An object is what hangs together in one colour; parts that go the same way side by side are
one. The rarer colour moves, not the ground. What is told is always true of the cells; how it is put together is a reading of them.
Places are `row,column` of the upper left corner of a box; sizes are rows x columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from lawbook.core import perception
from lawbook.core.boxes import Box, FrameEvent
from lawbook.core.perception import Cell, Grid, Mask
from lawbook.core.scrolling import find_scroll, shift_frame
from lawbook.core.turning import find_turns

MAX_PART_SHARE = 0.25
"""Of all cells: what is larger is no thing that moves."""
MAX_PARTS = 120
"""Objects with changed cells, in either frame, that are looked at one by one."""
MAX_REGIONS = 60
"""Changed regions that are looked at, the largest ones; of the others it is told that they changed."""
MAX_MOVERS = 6
"""Things that go different ways at once; with more of them nothing is said to move."""

MIN_FAR_CELLS, MAX_CRUMB_STEP = 4, 8
"""What has fewer cells than that goes at most so far: crumbs that come and go look as if they did."""


def find_events(before: Grid, after: Grid) -> list[FrameEvent]:
    """Find what happened from one H x W frame to the next of the same shape, what moved first."""
    changed = before != after
    if not changed.any():
        return []
    events: list[FrameEvent] = []
    scroll = find_scroll(before, after)
    if scroll is not None:
        step, area = scroll
        before, is_new = shift_frame(before, step, area)
        changed = (before != after) & ~is_new
        events.append(FrameEvent("scrolled", Box(*area), step, cells=int(is_new.sum())))
    unexplained = changed.copy()
    events += find_turns(before, after, unexplained)
    events += _find_moves(before, after, unexplained.copy(), unexplained)
    return events + list(_find_rest(before, after, unexplained))


# -- what moved ------------------------------------------------------------------------------------------------------------------


class _Part(NamedTuple):
    """One object that went somewhere."""

    box: Box
    step: Cell
    source: Mask
    target: Mask
    detail: str = ""


def _find_moves(before: Grid, after: Grid, changed: Mask, unexplained: Mask) -> list[FrameEvent]:
    """Objects that lie elsewhere now, those of rare colours first; what they explain is taken out of `unexplained`."""
    remaining = unexplained.copy()
    parts = _match_parts(before, after, changed, remaining)
    parts += _match_lost_cells(before, after, remaining)
    groups: list[list[_Part]] = []
    for part in parts:
        touching = [group for group in groups if any(one.step == part.step and one.box.is_near(part.box) for one in group)]
        groups = [group for group in groups if group not in touching] + [[part, *(one for group in touching for one in group)]]
    if len({group[0].step for group in groups}) > MAX_MOVERS or len(groups) > 4 * MAX_MOVERS:
        return []
    events = []
    objects = perception.objects(before), perception.objects(after)
    for group in groups:
        box, source = group[0].box, group[0].source.copy()
        for part in group[1:]:
            box = box.join(part.box)
            source |= part.source
        step = group[0].step
        is_crumb = source.sum() < MIN_FAR_CELLS and abs(step[0]) + abs(step[1]) > MAX_CRUMB_STEP
        if is_crumb or _is_exchange(*objects, changed, box, box.move(step)):
            continue
        for part in group:
            unexplained &= ~(part.source | part.target)
        detail = next((part.detail for part in group if part.detail), "")
        events.append(
            FrameEvent("moved", box, group[0].step, before[box.region], None, source[box.region], detail, int(source.sum()))
        )
    return events


def _is_exchange(old: perception.Objects, new: perception.Objects, changed: Mask, source: Box, target: Box) -> bool:
    """Whether what looks like a move is two things that changed places of their looks: what a mover uncovers, and what it covers,
    is ground that goes on beside it; here both are things of their own, as large as the places themselves."""
    if source.is_overlapping(target):
        return False
    for objects, box in ((new, source), (old, target)):
        labels = objects.labels[box.region][changed[box.region]]
        inside = np.bincount(objects.labels[box.region].ravel(), minlength=len(objects))
        if not all(inside[label] == objects.cells[label] for label in np.unique(labels).tolist()):
            return False
    return True


def _match_parts(before: Grid, after: Grid, changed: Mask, unexplained: Mask) -> list[_Part]:
    old, new = perception.objects(before), perception.objects(after)
    candidates: list[tuple[list[int], list[int]]] = []
    by_look: dict[int, tuple[list[int], list[int]]] = {}
    for side, objects in enumerate((old, new)):
        touched = np.unique(objects.labels[changed])
        touched = touched[objects.cells[touched] <= MAX_PART_SHARE * before.size]
        if len(touched) > MAX_PARTS:
            return []
        for index in touched.tolist():
            by_look.setdefault(int(objects.look[index]), ([], []))[side].append(index)
    candidates = [pair for pair in by_look.values() if pair[0] and pair[1]]
    frequency = np.bincount(before.ravel(), minlength=256)
    candidates.sort(key=lambda pair: (frequency[old.colour[pair[0][0]]], -old.cells[pair[0][0]]))
    parts: list[_Part] = []
    for olds, news in candidates:
        votes = Counter((int(new.top[j] - old.top[i]), int(new.left[j] - old.left[i])) for i in olds for j in news)
        votes.update({part.step: len(olds) for part in parts if part.step in votes})
        places = {(int(new.top[j]), int(new.left[j])): j for j in news}
        for step, _ in sorted(votes.items(), key=lambda item: (-item[1], abs(item[0][0]) + abs(item[0][1]))):
            for i in list(olds):
                j = places.get((int(old.top[i]) + step[0], int(old.left[i]) + step[1]))
                if j is None:
                    continue
                source, target = old.labels == i, new.labels == j
                if not ((source | target) & unexplained).any():
                    continue
                olds.remove(i)
                del places[(int(new.top[j]), int(new.left[j]))]
                unexplained &= ~(source | target)
                box = Box(int(old.top[i]), int(old.left[i]), int(old.bottom[i]), int(old.right[i]))
                parts.append(_Part(box, step, source, target))
    return parts


def _match_lost_cells(before: Grid, after: Grid, unexplained: Mask) -> list[_Part]:
    """A colour lost in one place and found in another in the same shape: it went there, beside or away from others of its
    colour."""
    parts = []
    frequency = np.bincount(before.ravel(), minlength=256)
    ground = int(frequency.argmax())
    for colour in sorted(np.unique(before[unexplained]).tolist(), key=lambda c: frequency[c])[:16]:
        if colour == ground:
            continue
        lost, gained = unexplained & (before == colour), unexplained & (after == colour)
        if not lost.any() or lost.sum() != gained.sum():
            continue
        one, two = (perception.objects(before, where=mask, mixed=True) for mask in (lost, gained))
        if len(one) != 1 or len(two) != 1 or one.shape[0] != two.shape[0]:
            continue
        step = int(two.top[0] - one.top[0]), int(two.left[0] - one.left[0])
        box = Box(int(one.top[0]), int(one.left[0]), int(one.bottom[0]), int(one.right[0]))
        around = np.zeros_like(gained)
        around[1:] |= gained[:-1]
        around[:-1] |= gained[1:]
        around[:, 1:] |= gained[:, :-1]
        around[:, :-1] |= gained[:, 1:]
        is_joined = bool((around & ~gained & (after == colour)).any())
        parts.append(_Part(box, step, lost, gained, "merging with its like" if is_joined else ""))
        unexplained &= ~(lost | gained)
    return parts


# -- what did not move -----------------------------------------------------------------------------------------------------------


def _find_rest(before: Grid, after: Grid, unexplained: Mask) -> Iterator[FrameEvent]:
    regions = [Box(*region[:4]) for region in perception.regions(unexplained)]
    if not regions:
        return
    old_objects, new_objects, changed = perception.objects(before), perception.objects(after), before != after

    def is_exchange(source: Box, step: Cell) -> bool:
        return _is_exchange(old_objects, new_objects, changed, source, source.move(step))

    for box in regions[MAX_REGIONS:]:
        old, new, mask = before[box.region], after[box.region], unexplained[box.region]
        yield FrameEvent("changed", box, (0, 0), old, new, mask, "", int(mask.sum()))
    for box in regions[:MAX_REGIONS]:
        yield from _classify(box, before[box.region], after[box.region], _mask_region(unexplained, box), is_exchange)


def _mask_region(mask: Mask, box: Box) -> Mask:
    """The cells of a mask in a box that hang together with each other over 8 neighbours: those of the region, nothing beside it."""
    labels, _ = perception.components(mask[box.region], diagonal=True, where=mask[box.region])
    counts = np.bincount(labels[labels >= 0])
    return np.asarray(labels == int(counts.argmax()))


def _classify(box: Box, old: Grid, new: Grid, mask: Mask, is_exchange: Callable[[Box, Cell], bool]) -> Iterator[FrameEvent]:
    """What happened in a region; where two things side by side changed, one after the other."""
    cells = int(mask.sum())
    was, now = np.unique(old[mask]), np.unique(new[mask])
    slide = find_slide(old, new)
    if slide is not None:
        start, step = slide
        moved = start.move((box.top, box.left))
        if not is_exchange(moved, step):
            yield FrameEvent("moved", moved, step, old[start.region], cells=cells)
            return
    halves = next(filter(None, (_split(old, new, lower) for lower in (False, True))), None)
    if halves is not None and is_exchange(halves[0].move((box.top, box.left)), _step_between(*halves)):
        for half in halves:
            part = mask[half.region]
            if part.any():
                yield from _classify(half.move((box.top, box.left)), old[half.region], new[half.region], part, is_exchange)
        return
    if len(was) == 1 and len(now) == 1:
        kind = "recoloured"
    elif len(was) == 1:
        kind = "appeared"
    else:
        kind = "vanished" if len(now) == 1 else "changed"
    yield FrameEvent(kind, box, (0, 0), old, new, mask, "", cells)


def find_slide(before: Grid, after: Grid) -> tuple[Box, Cell] | None:
    """Find a block as broad as the region that went along it, over one colour, leaving one behind: (its box in the region,
    step)."""
    if max(before.shape) > 64:
        return None
    for upright, (source, target) in ((True, (before, after)), (False, (before.T, after.T))):
        for distance in range(1, len(source)):
            size = len(source) - distance
            for start, end in ((distance, 0), (0, distance)):
                covered, uncovered = (source[:distance], target[size:]) if end == 0 else (source[size:], target[:distance])
                is_plain = _is_flat(covered) and _is_flat(uncovered)
                is_jump = distance > size and covered[0, 0] != uncovered[0, 0]  # what lies between would have changed too
                if is_plain and not is_jump and (target[end : end + size] == source[start : start + size]).all():
                    if upright:
                        return Box(start, 0, start + size - 1, before.shape[1] - 1), (end - start, 0)
                    return Box(0, start, before.shape[0] - 1, start + size - 1), (0, end - start)
    return None


def _split(old: Grid, new: Grid, lower: bool) -> tuple[Box, Box] | None:
    """Two halves, one above the other (lower) or beside it, that changed places."""
    height, width = old.shape
    if (height if lower else width) % 2:
        return None
    first = Box(0, 0, height // 2 - 1, width - 1) if lower else Box(0, 0, height - 1, width // 2 - 1)
    second = first.move((height // 2, 0) if lower else (0, width // 2))
    is_swapped = _is_same(old[first.region], new[second.region]) and _is_same(old[second.region], new[first.region])
    return (first, second) if is_swapped else None


def _step_between(one: Box, other: Box) -> Cell:
    return other.top - one.top, other.left - one.left


def _is_same(one: Grid, other: Grid) -> bool:
    return one.shape == other.shape and bool((one == other).all())


def _is_flat(cells: Grid) -> bool:
    return bool((cells == cells[0, 0]).all())
