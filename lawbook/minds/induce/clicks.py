"""What clicks do: which looks turn into which, where around the place that was clicked; found by description length."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd
from typing import Any

import numpy as np

from lawbook.core.record import Action, Record, Status
from lawbook.minds.induce.motion import Cell, Look
from lawbook.minds.induce.tracking import compared

LATEST = 64
"""Clicks that a law is learnt from: the last ones that changed anything."""
PLACE = 8
"""What an offset costs, in runs of equal cells."""
TOLERATED = 16
"""Cells a click may get wrong on average; beyond that nothing is weighed any more."""
MARGIN = 2
"""Cells around a look that may tell what answers from what only looks like it."""
MANY = 64
"""Looks of one change, on average, at most."""
LARGE = 4
"""A change of more than a frame's share of one in so many is of no law of clicks."""


@dataclass(frozen=True)
class Taps:
    """turns: look -> look it turns into. around: (clicked look with so many cells of margin
    around it, colour clicked) -> places (row, col) of what turns, counted from the upper left cell of that."""

    turns: tuple[tuple[Look, Look], ...] = ()
    around: tuple[tuple[tuple[Look, int], tuple[Cell, ...]], ...] = ()
    margin: int = 0

    def answers(self, frame: Any, action: Action) -> bool:
        """Would this click change something by these laws?"""
        assert action.x is not None and action.y is not None
        h, w = len(self.turns[0][0]), len(self.turns[0][0][0])
        for (shown, colour), _ in self.around:
            if frame[action.y, action.x] == colour:
                for top in range(action.y - h + 1, action.y + 1):
                    for left in range(action.x - w + 1, action.x + 1):
                        m = self.margin
                        if look(frame, top - m, left - m, h + 2 * m, w + 2 * m) == shown:
                            return True
        return False


@dataclass(frozen=True)
class Tap:
    """A click that changed something: frames before and after, rows and columns (first, last) of what changed."""

    action: Action
    before: Any
    after: Any
    rows: tuple[int, int]
    cols: tuple[int, int]


def taps(record: Record) -> Taps:
    """The shortest account of what clicks did; empty where there is none."""
    seen = list(_seen(record))[-LATEST:]
    if not seen:
        return Taps()
    height = _common(tap.rows for tap in seen)
    width = _common(tap.cols for tap in seen)
    best: tuple[int, Taps] | None = None
    for h in _divisors(height):
        for w in _divisors(width):
            told = _told(seen, h, w, 0)
            if told is not None and (best is None or told[0] < best[0]):
                best = told
    nothing = sum(int((tap.before != tap.after).sum()) for tap in seen)
    if best is None or best[0] >= nothing:
        return Taps()
    h, w = len(best[1].turns[0][0]), len(best[1].turns[0][0][0])
    idle = list(_idle(record))[-4 * LATEST :]
    margins = [told[1] for margin in range(MARGIN + 1) if (told := _told(seen, h, w, margin)) is not None]
    return min(margins, key=lambda found: sum(found.answers(before, action) for before, action in idle) + len(found.around))


def _idle(record: Record) -> Iterator[tuple[Any, Action]]:
    """Clicks that changed nothing, and the frames they were made on."""
    for trajectory in record:
        frames = compared(trajectory)
        for step, (action, _) in enumerate(trajectory.steps[: len(frames) - 1]):
            if action.x is not None and np.array_equal(frames[step], frames[step + 1]):
                yield frames[step], action


def _seen(record: Record) -> Iterator[Tap]:
    for trajectory in record:
        frames = compared(trajectory)
        for step, (action, seen) in enumerate(trajectory.steps[: len(frames) - 1]):
            if action.x is None or seen.status is not Status.RUNNING:
                continue
            changed = frames[step] != frames[step + 1]
            if changed.any() and changed.sum() * LARGE < changed.size:
                rows, cols = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
                spans = (int(rows[0]), int(rows[-1])), (int(cols[0]), int(cols[-1]))
                yield Tap(action, frames[step], frames[step + 1], *spans)


def _common(spans: Iterator[tuple[int, int]]) -> int:
    return gcd(*(last - first + 1 for first, last in spans))


def _divisors(number: int) -> list[int]:
    return [k for k in range(number, 0, -1) if number % k == 0]


def _told(seen: Sequence[Tap], h: int, w: int, margin: int) -> tuple[int, Taps] | None:
    """(what it costs, what clicks do) if everything is made of looks of h x w cells; None where that cannot be."""
    turns: dict[Look, Counter[Look]] = defaultdict(Counter)
    around: dict[tuple[Look, int], Counter[Cell]] = defaultdict(Counter)
    if sum((t.rows[1] - t.rows[0] + 1) * (t.cols[1] - t.cols[0] + 1) for t in seen) > len(seen) * h * w * MANY:
        return None
    for tap in seen:
        assert tap.action.x is not None and tap.action.y is not None
        top = tap.rows[0] + (tap.action.y - tap.rows[0]) // h * h
        left = tap.cols[0] + (tap.action.x - tap.cols[0]) // w * w
        kind = look(tap.before, top - margin, left - margin, h + 2 * margin, w + 2 * margin)
        if kind is None:
            return None
        clicked = kind, int(tap.before[tap.action.y, tap.action.x])
        around[clicked].update(())
        for row in range(tap.rows[0], tap.rows[1] + 1, h):
            for col in range(tap.cols[0], tap.cols[1] + 1, w):
                old, new = tap.before[row : row + h, col : col + w], tap.after[row : row + h, col : col + w]
                if not np.array_equal(old, new):
                    one, other = look(tap.before, row, col, h, w), look(tap.after, row, col, h, w)
                    assert one is not None and other is not None
                    turns[one][other] += 1
                    around[clicked][row - top + margin, col - left + margin] += 1
    usual = {one: others.most_common(1)[0][0] for one, others in turns.items()}
    table = tuple(usual.items())
    places = tuple((clicked, tuple(sorted(offsets))) for clicked, offsets in around.items())
    cost = sum(_runs(one) + _runs(other) for one, other in table) + PLACE * len({o for _, offsets in places for o in offsets})
    missed = _missed(seen, usual, dict(places), h, w) if not margin else 0
    return cost + missed, Taps(table, places, margin)


def _missed(seen: Sequence[Tap], turns: Mapping[Look, Look], around: Mapping[Any, Sequence[Cell]], h: int, w: int) -> int:
    """Cells that these laws get wrong."""
    missed = 0
    for tap in seen:
        assert tap.action.x is not None and tap.action.y is not None
        top = tap.rows[0] + (tap.action.y - tap.rows[0]) // h * h
        left = tap.cols[0] + (tap.action.x - tap.cols[0]) // w * w
        shown = tap.before.copy()
        for row, col in around[look(tap.before, top, left, h, w), int(tap.before[tap.action.y, tap.action.x])]:
            there = look(tap.before, top + row, left + col, h, w)
            if there is not None and there in turns:
                shown[top + row : top + row + h, left + col : left + col + w] = turns[there]
        missed += int((shown != tap.after).sum())
        if missed > len(seen) * TOLERATED:
            break
    return missed


def look(frame: Any, row: int, col: int, h: int, w: int) -> Look | None:
    """The look of a part of a frame; None where that reaches beyond it."""
    if row < 0 or col < 0 or row + h > frame.shape[0] or col + w > frame.shape[1]:
        return None
    return tuple(map(tuple, frame[row : row + h, col : col + w].tolist()))


def _runs(shown: Look) -> int:
    return sum(1 + sum(a != b for a, b in pairwise(row)) for row in shown)
