"""A part of the frame that shows another part again, as it is or flipped: taken off, and drawn from its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lawbook.core.record import Observation, Record, Trajectory, freeze
from lawbook.minds.induce.layers import FLIPS, Copy
from lawbook.minds.induce.tracking import compared

CHANGES = 6
"""Steps that must have changed the copy."""
PARTS = 8
"""Parts of a frame that change, at most, for copies to be looked for."""
GAP = 2
"""Cells that lie between two parts, at least."""
MARGIN = 2
"""Cells around what changes that must be the same too, as far as the frame reaches."""


def copies(record: Record) -> tuple[Copy, ...]:
    """Every part that has shown another part in every frame of the record, and often changed."""
    stacks = [compared(trajectory) for trajectory in record]
    changed = [stack[1:] != stack[:-1] for stack in stacks]
    mask = np.any([change.any(axis=0) for change in changed if len(change)], axis=0) if any(map(len, changed)) else None
    if mask is None or sum(map(len, changed)) < CHANGES:
        return ()
    parts, found = _parts(mask), list[Copy]()
    for k, source in enumerate(parts if len(parts) <= PARTS else ()):
        for part in parts[k + 1 :]:
            if part[2:] == source[2:] and _often(changed, part) and part[:2] not in [copy[:2] for copy in found]:
                found += [copy for copy in _same(stacks, source, part) if copy is not None][:1]
    return tuple(found)


def _often(changed: Sequence[Any], part: tuple[int, int, int, int]) -> bool:
    top, left, height, width = part
    steps = sum(int(change[:, top : top + height, left : left + width].any(axis=(1, 2)).sum()) for change in changed)
    return steps >= CHANGES


def _parts(mask: Any) -> list[tuple[int, int, int, int]]:
    """The boxes (top, left, height, width) of all that ever changes, those nearer than GAP joined."""
    boxes: list[tuple[int, int, int, int]] = []  # top, left, bottom, right
    for row, col in np.argwhere(mask).tolist():
        box, near = (row, col, row, col), True
        while near:
            near = False
            for other in boxes:
                if all(box[k] - GAP <= other[k + 2] and other[k] - GAP <= box[k + 2] for k in (0, 1)):
                    boxes.remove(other)
                    box = (*map(min, box[:2], other[:2]), *map(max, box[2:], other[2:]))  # type: ignore[assignment]
                    near = True
                    break
        boxes.append(box)
        if len(boxes) > 4 * PARTS:
            return []
    return [(top, left, bottom - top + 1, right - left + 1) for top, left, bottom, right in sorted(boxes)]


def _same(stacks: Sequence[Any], source: Any, part: Any) -> Iterator[Copy | None]:
    """The copies of one part by another, with all around them that is the same too."""
    shape = stacks[0].shape[1:]
    for flip in FLIPS:
        grown = [0, 0, 0, 0]  # above, left, below, right of the copy
        if not _equal(stacks, _copy(source, part, flip, grown)):
            continue
        for side in (0, 1, 2, 3):
            while _fits(copy := _copy(source, part, flip, [*grown[:side], grown[side] + 1, *grown[side + 1 :]]), shape):
                if not _equal(stacks, copy):
                    break
                grown[side] += 1
        copy = _copy(source, part, flip, grown)
        rim = [min(MARGIN, part[0]), min(MARGIN, part[1])]
        rim += [min(MARGIN, shape[k] - part[k] - part[k + 2]) for k in (0, 1)]
        if all(cells >= least for cells, least in zip(grown, rim, strict=True)):
            yield copy


def _copy(source: Any, part: Any, flip: str, grown: Sequence[int]) -> Copy:
    above, left, below, right = grown
    down, along = FLIPS[flip]
    height, width = part[2] + above + below, part[3] + left + right
    return Copy(
        part[0] - above,
        part[1] - left,
        height,
        width,
        source[0] - (above, below)[down < 0],
        source[1] - (left, right)[along < 0],
        flip,
    )


def _fits(copy: Copy, shape: tuple[int, int]) -> bool:
    """Are copy and source within the frame, and apart?"""
    inside = all(
        top >= 0 and left >= 0 and top + copy.height <= shape[0] and left + copy.width <= shape[1]
        for top, left in ((copy.top, copy.left), (copy.row, copy.col))
    )
    return inside and (abs(copy.top - copy.row) >= copy.height or abs(copy.left - copy.col) >= copy.width)


def _equal(stacks: Sequence[Any], copy: Copy) -> bool:
    return all(np.array_equal(copy.shown(stack), copy.wanted(stack)) for stack in stacks)


def without(record: Record, found: Sequence[Copy]) -> Record:
    """The record with every copy as it was at the start of its trajectory."""
    plain = Record(record.levels)
    plain.actions, plain.last = record.actions, record.last
    for trajectory in record:
        stack = np.array(compared(trajectory))
        for copy in found:
            copy.shown(stack)[:] = copy.shown(stack[:1])
        opened = Trajectory(trajectory.first)
        for step, (action, seen) in enumerate(trajectory.steps, start=1):
            if step < len(stack):
                seen = Observation((freeze(stack[step]),), seen.status, seen.level, seen.available)
            opened.append(action, seen)
        plain.trajectories.append(opened)
    return plain
