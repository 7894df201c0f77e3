"""An animation as a time line: what moved on and on is one line, what flashed is one line, nothing is cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lawbook.core import perception
from lawbook.core.boxes import Box, FrameEvent
from lawbook.core.event_text import FindLetter, format_events
from lawbook.core.frame_events import find_events
from lawbook.core.perception import Grid

MAX_REGIONS = 40
"""Changed regions of a step whose events are told one by one."""


@dataclass
class _Item:
    """One line: an event, from which frame to which, and how often it went on."""

    event: FrameEvent
    first: int
    last: int
    n_steps: int = 1
    flash_frames: list[tuple[int, int]] | None = None


def format_timeline(frames: Sequence[Grid], find_letter: FindLetter | None = None) -> str:
    """Format the frames of one observation, oldest first, the last one settled: what happened from each to the next. A thing that
    goes on in the same way is told once; what changes and comes back is a flash, told with the frames in which it is to be seen;
    steps in which nothing changes are left out."""
    if len(frames) < 2:
        return "no animation: one frame"
    items: list[_Item] = []
    for k in range(1, len(frames)):
        if frames[k].shape != frames[k - 1].shape:
            continue
        for event in _find_few_events(frames[k - 1], frames[k]):
            if not any(_extend(item, event, k) for item in reversed(items)):
                items.append(_Item(event, k, k))
    lines = [_describe(item, find_letter) for item in _merge_flashes(items)]
    return "\n".join([f"frames 0-{len(frames) - 1}, the last one settled", *(lines or ["nothing changed"])])


def _find_few_events(before: Grid, after: Grid) -> list[FrameEvent]:
    """What happened; as one change where it is scattered all over."""
    regions = perception.regions(before != after)
    if len(regions) <= MAX_REGIONS:
        return find_events(before, after)
    box = Box(
        min(region.top for region in regions),
        min(region.left for region in regions),
        max(region.bottom for region in regions),
        max(region.right for region in regions),
    )
    mask = before[box.region] != after[box.region]
    return [FrameEvent("changed", box, (0, 0), before[box.region], after[box.region], mask, "", int(mask.sum()))]


def _extend(item: _Item, event: FrameEvent, k: int) -> bool:
    """Whether an event goes on with an earlier one, or takes it back; then it is part of that."""
    old = item.event
    if old.kind == event.kind == "moved" and item.last == k - 1 and old.step == event.step and _is_alike(old, event):
        place = old.box.top + item.n_steps * old.step[0], old.box.left + item.n_steps * old.step[1]
        if place == event.box[:2]:
            item.last, item.n_steps = k, item.n_steps + 1
            return True
    is_undone = (
        old.box == event.box
        and old.kind != "moved"
        and item.flash_frames is None
        and old.before is not None
        and old.after is not None
        and event.before is not None
        and event.after is not None
        and np.array_equal(old.before, event.after)
        and np.array_equal(old.after, event.before)
    )
    if is_undone:
        item.last = k
        item.flash_frames = [(item.first, k - 1)]
    return is_undone


def _is_alike(one: FrameEvent, other: FrameEvent) -> bool:
    return one.before is not None and other.before is not None and np.array_equal(one.before, other.before)


def _merge_flashes(items: list[_Item]) -> list[_Item]:
    """The same flash again and again is one line."""
    merged: list[_Item] = []
    for item in items:
        same = None
        if item.flash_frames is not None:
            same = next(
                (
                    one
                    for one in merged
                    if one.flash_frames is not None
                    and one.event.box == item.event.box
                    and np.array_equal(one.event.after, item.event.after)  # type: ignore[arg-type]
                ),
                None,
            )
        if same is not None and same.flash_frames is not None and item.flash_frames is not None:
            same.flash_frames += item.flash_frames
        else:
            merged.append(item)
    return merged


def _describe(item: _Item, find_letter: FindLetter | None) -> str:
    event = item.event
    if item.flash_frames is not None:
        spans = ",".join(str(a) if a == b else f"{a}-{b}" for a, b in item.flash_frames)
        return f"in {spans}: {format_events([event], find_letter)}, then back"
    if item.n_steps > 1:
        step = item.n_steps * event.step[0], item.n_steps * event.step[1]
        text = format_events([event._replace(step=step)], find_letter)
        return f"{item.first}-{item.last}: {text}, by {event.step[0]},{event.step[1]} each"
    return f"{item.first}: {format_events([event], find_letter)}"
