"""Strips and lives, found in a record: what empties step by step, how fast, when, and what happens when it has run out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lawbook.core.record import Record, Status
from lawbook.minds.induce.layers import Strip
from lawbook.minds.induce.tracking import select_compared_frames
from lawbook.minds.induce.types import Frames, Mask

MIN_NOTCHES = 5
"""Times that a strip must have been seen to shrink."""


MIN_EXPLAINED_SHARE = 0.85
"""Share of what was seen of a strip that its law must tell."""


class Notch(NamedTuple):
    """Cells that emptied in one step of a trajectory: places first..last of a line."""

    trajectory: int
    step: int
    first: int
    last: int


LineLaw = tuple[int, int, tuple[Notch, ...]]
"""Of a line that empties: the colour of a full place, of an empty one, and the steps in which it emptied."""
Span = tuple[list[int], int, int]
"""Places emptied after each tick, from full on; the tick at which it had run out, or 0; how many places there are."""


def find_strips(record: Record) -> list[Strip]:
    """Find every strip that explains enough steps; those of equal lines next to each other are one."""
    stacks = [select_compared_frames(trajectory) for trajectory in record]
    found_strips: list[Strip] = []
    for axis in (0, 1):
        lines: list[tuple[int, LineLaw]] = []
        oriented_stacks = [stack if axis == 0 else stack.transpose(0, 2, 1) for stack in stacks]
        changed = [stack[1:] != stack[:-1] for stack in oriented_stacks]
        change_counts = sum(
            (c.any(axis=2).sum(axis=0) for c in changed if len(c)), np.zeros(oriented_stacks[0].shape[1], dtype=int)
        )
        for line in np.flatnonzero(change_counts >= MIN_NOTCHES).tolist():
            line_law = _find_emptying_line(oriented_stacks, changed, line)
            if line_law is not None:
                lines.append((line, line_law))
        for group in _group_adjacent_lines(lines):
            strip = _fit_strip(record, oriented_stacks, changed, axis, (group[0][0], group[-1][0]), *group[0][1])
            if strip is not None:
                found_strips.append(strip)
    return found_strips


def _group_adjacent_lines(lines: Sequence[tuple[int, LineLaw]]) -> Iterator[list[tuple[int, LineLaw]]]:
    group: list[tuple[int, LineLaw]] = []
    for line in lines:
        if group and (line[0] != group[-1][0] + 1 or line[1] != group[-1][1]):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _find_emptying_line(stacks: Sequence[Frames], changed: Sequence[Mask], line: int) -> LineLaw | None:
    """(full, empty, notches) of a line that empties, or None."""
    events: dict[tuple[int, int], list[Notch]] = defaultdict(list)
    for index, (stack, change) in enumerate(zip(stacks, changed, strict=True)):
        for step in np.flatnonzero(change[:, line].any(axis=1)).tolist():
            places = np.flatnonzero(change[step, line])
            before, after = stack[step, line, places], stack[step + 1, line, places]
            if (before == before[0]).all() and (after == after[0]).all() and places[-1] - places[0] + 1 == len(places):
                events[int(before[0]), int(after[0])].append(Notch(index, step, int(places[0]), int(places[-1])))
    if not events:
        return None
    (full, empty), notches = max(events.items(), key=lambda item: len(item[1]))
    if len(notches) < MIN_NOTCHES:
        return None
    direction_counts = Counter[int]()
    for one, other in pairwise(notches):
        if one.trajectory == other.trajectory:
            direction_counts[1 if other.first == one.last + 1 else -1 if other.last == one.first - 1 else 0] += 1
    direction, times = max(direction_counts.items(), key=lambda item: item[1], default=(0, 0))
    return (full, empty, tuple(notches)) if direction and times >= 0.8 * direction_counts.total() else None


def _fit_strip(
    record: Record,
    stacks: Sequence[Frames],
    changed: Sequence[Mask],
    axis: int,
    lines: tuple[int, int],
    full: int,
    empty: int,
    notches: Sequence[Notch],
) -> Strip | None:
    low, high = min(n.first for n in notches), max(n.last for n in notches)
    row = stacks[notches[0].trajectory][0, lines[0]]
    while low > 0 and row[low - 1] == full:
        low -= 1
    while high + 1 < len(row) and row[high + 1] == full:
        high += 1
    pairs = pairwise(notches)
    is_ascending = sum((b.first > a.first) - (b.first < a.first) for a, b in pairs if a.trajectory == b.trajectory) > 0
    start, stop = (low, high) if is_ascending else (high, low)
    mask = np.zeros(stacks[0].shape[1:], dtype=bool)
    mask[lines[0] : lines[1] + 1, low : high + 1] = True
    draft = Strip(0, lines, start, stop, full, empty, (1, 1, 0), "always", -1)
    best: tuple[int, Strip] | None = None
    for when in ("always", "changes"):
        spans: list[Span] = []
        for trajectory, stack, change in zip(record, stacks, changed, strict=True):
            ticking = np.ones(len(change), bool) if when == "always" else (change & ~mask).any(axis=(1, 2))
            spans += _find_spans(draft, stack, ticking, trajectory.last.status)
        rate = _fit_rate([(counts, length) for counts, _, length in spans])
        if rate is None:
            continue
        strip = draft._replace(axis=axis, rate=rate, when=when)
        slacks = Counter(_compute_slack(strip, end, length) for _, end, length in spans if end)
        strip = strip._replace(slack=slacks.most_common(1)[0][0] if slacks else -1)
        n_explained = sum(min(strip.emptied(t), length) == n for counts, _, length in spans for t, n in enumerate(counts))
        if best is None or n_explained > best[0]:
            best = n_explained, strip
    return best[1] if best and best[0] >= MIN_NOTCHES else None


def _compute_slack(strip: Strip, end: int, length: int) -> int:
    """How many ticks after its last place had emptied it ran out."""
    return end - next(t for t in range(4096) if strip.emptied(t) >= length)


def _find_spans(strip: Strip, stack: Frames, ticking: Mask, status: Status) -> Iterator[Span]:
    start, _ = strip.read(stack[0])
    if start < 0:
        return
    counts: list[int] = []
    length = abs(strip.stop - start) + 1
    ticks = 0
    for step, frame in enumerate(stack):
        n_empty = int((strip.band(frame, start)[0] == strip.empty).sum())
        ticks += step > 0 and bool(ticking[step - 1])
        if counts and n_empty < counts[-1]:  # it was filled again
            has_run_out = n_empty == 0 and counts[-1] >= length - 1
            yield counts, ticks if has_run_out else 0, length
            counts, ticks = [n_empty] if n_empty == 0 else [], 0
        elif counts or n_empty == 0:
            if ticks == len(counts):
                counts.append(n_empty)
            elif counts and n_empty != counts[-1]:
                counts.append(-1)  # it moved without a tick
                break
    is_over = status is Status.OVER and len(counts) and counts[-1] >= length - 1
    yield counts, ticks if is_over else 0, length


def _fit_rate(spans: Sequence[tuple[Sequence[int], int]]) -> tuple[int, int, int] | None:
    """The simplest (p, q, c) with floor(t p / q + c / 2) emptied after t ticks, nearly always; None where there is none."""
    # At its end it cannot empty further.
    observed = Counter((t, n) for counts, length in spans for t, n in enumerate(counts) if t and n < length)
    total = sum(observed.values())
    if total < MIN_NOTCHES - 1:
        return None
    (t, n), needed = max(observed), int(MIN_EXPLAINED_SHARE * total) - 1
    t, n = max(((t, n) for (t, n), times in observed.items() if times * 2 >= max(observed.values())), default=(t, n))
    best: tuple[int, tuple[int, int, int]] = needed, (0, 0, 0)
    for c in (0, 1):
        for q in range(1, 65):
            for p in range(max(1, n * q // t - 1), n * q // t + 3):
                n_explained = sum(times for (t_, n_), times in observed.items() if (2 * t_ * p + c * q) // (2 * q) == n_)
                if n_explained > best[0]:
                    best = n_explained, (p, q, c)
                if n_explained == total:
                    return p, q, c
    return best[1] if best[1][0] else None
