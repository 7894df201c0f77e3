"""A part of the frame that shows another part again, as it is or flipped: taken off, and drawn from its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lawbook.core.record import Observation, Record, Trajectory, freeze
from lawbook.minds.induce.layers import FLIPS, Copy
from lawbook.minds.induce.tracking import select_compared_frames
from lawbook.minds.induce.types import Box, Frames, Mask

MIN_CHANGES = 6
"""Steps that must have changed the copy."""
MAX_PARTS = 8
"""Parts of a frame that change, at most, for copies to be looked for."""
MIN_GAP = 2
"""Cells that lie between two parts, at least."""
MAX_MARGIN = 2
"""Cells around what changes that must be the same too, as far as the frame reaches."""


def find_mirrored_regions(record: Record) -> tuple[Copy, ...]:
    """Find every part that has shown another part in every frame of the record, and often changed."""
    stacks = [select_compared_frames(trajectory) for trajectory in record]
    changed = [stack[1:] != stack[:-1] for stack in stacks]
    mask = np.any([change.any(axis=0) for change in changed if len(change)], axis=0) if any(map(len, changed)) else None
    if mask is None or sum(map(len, changed)) < MIN_CHANGES:
        return ()
    parts, mirrored_regions = _find_changing_parts(mask), list[Copy]()
    for k, source in enumerate(parts if len(parts) <= MAX_PARTS else ()):
        for part in parts[k + 1 :]:
            if (
                part[2:] == source[2:]
                and _has_changed_often(changed, part)
                and part[:2] not in [copy[:2] for copy in mirrored_regions]
            ):
                mirrored_regions += [copy for copy in _find_copies(stacks, source, part) if copy is not None][:1]
    return tuple(mirrored_regions)


def _has_changed_often(changed: Sequence[Mask], part: Box) -> bool:
    top, left, height, width = part
    steps = sum(int(change[:, top : top + height, left : left + width].any(axis=(1, 2)).sum()) for change in changed)
    return steps >= MIN_CHANGES


def _find_changing_parts(mask: Mask) -> list[Box]:
    """The boxes (top, left, height, width) of all that ever changes, those nearer than GAP joined."""
    boxes: list[tuple[int, int, int, int]] = []  # top, left, bottom, right
    for row, col in np.argwhere(mask).tolist():
        box, has_joined = (row, col, row, col), True
        while has_joined:
            has_joined = False
            for other in boxes:
                if all(box[k] - MIN_GAP <= other[k + 2] and other[k] - MIN_GAP <= box[k + 2] for k in (0, 1)):
                    boxes.remove(other)
                    box = (*map(min, box[:2], other[:2]), *map(max, box[2:], other[2:]))  # type: ignore[assignment]
                    has_joined = True
                    break
        boxes.append(box)
        if len(boxes) > 4 * MAX_PARTS:
            return []
    return [(top, left, bottom - top + 1, right - left + 1) for top, left, bottom, right in sorted(boxes)]


def _find_copies(stacks: Sequence[Frames], source: Box, part: Box) -> Iterator[Copy | None]:
    """The copies of one part by another, with all around them that is the same too."""
    shape = stacks[0].shape[1:]
    for flip in FLIPS:
        margins = [0, 0, 0, 0]  # above, left, below, right of the copy
        if not _is_equal_throughout(stacks, _make_copy(source, part, flip, margins)):
            continue
        for side in (0, 1, 2, 3):
            while _is_within_frame(
                copy := _make_copy(source, part, flip, [*margins[:side], margins[side] + 1, *margins[side + 1 :]]), shape
            ):
                if not _is_equal_throughout(stacks, copy):
                    break
                margins[side] += 1
        copy = _make_copy(source, part, flip, margins)
        rim = [min(MAX_MARGIN, part[0]), min(MAX_MARGIN, part[1])]
        rim += [min(MAX_MARGIN, shape[k] - part[k] - part[k + 2]) for k in (0, 1)]
        if all(cells >= least for cells, least in zip(margins, rim, strict=True)):
            yield copy


def _make_copy(source: Box, part: Box, flip: str, margins: Sequence[int]) -> Copy:
    above, left, below, right = margins
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


def _is_within_frame(copy: Copy, shape: tuple[int, int]) -> bool:
    """Are copy and source within the frame, and apart?"""
    inside = all(
        top >= 0 and left >= 0 and top + copy.height <= shape[0] and left + copy.width <= shape[1]
        for top, left in ((copy.top, copy.left), (copy.row, copy.col))
    )
    return inside and (abs(copy.top - copy.row) >= copy.height or abs(copy.left - copy.col) >= copy.width)


def _is_equal_throughout(stacks: Sequence[Frames], copy: Copy) -> bool:
    return all(np.array_equal(copy.shown(stack), copy.wanted(stack)) for stack in stacks)


def remove_mirrored_regions(record: Record, mirrored_regions: Sequence[Copy]) -> Record:
    """Return the record with every copy as it was at the start of its trajectory."""
    stripped_record = Record(record.levels)
    stripped_record.n_actions, stripped_record.last = record.n_actions, record.last
    for trajectory in record:
        stack = np.array(select_compared_frames(trajectory))
        for copy in mirrored_regions:
            copy.shown(stack)[:] = copy.shown(stack[:1])
        stripped_trajectory = Trajectory(trajectory.first)
        for step, (action, observation) in enumerate(trajectory.steps, start=1):
            if step < len(stack):
                observation = Observation((freeze(stack[step]),), observation.status, observation.level, observation.available)
            stripped_trajectory.append(action, observation)
        stripped_record.trajectories.append(stripped_trajectory)
    return stripped_record
