"""Laws of clicks: which looks turn into which, where around the place that was clicked; found by description length."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd

import numpy as np

from lawbook.core.record import Action, Record, Status
from lawbook.minds.induce.tracking import select_compared_frames
from lawbook.minds.induce.types import Cell, Grid, Look

MAX_CLICKS = 64
"""Clicks that a law is learnt from: the last ones that changed anything."""
OFFSET_COST = 8
"""What an offset costs, in runs of equal cells."""
MAX_MISSED_PER_CLICK = 16
"""Cells a click may get wrong on average; beyond that nothing is weighed any more."""
MAX_MARGIN = 2
"""Cells around a look that may tell what answers from what only looks like it."""
MAX_LOOKS_PER_CLICK = 64
"""Looks of one change, on average, at most."""
LARGE_CHANGE_DIVISOR = 4
"""A change of more than a frame's share of one in so many is of no law of clicks."""


@dataclass(frozen=True)
class ClickLaws:
    """The laws of clicks, as tables.

    turns: look -> look it turns into. around: (clicked look with `margin` cells around it, colour clicked) -> places (row, col) of
    what turns, counted from the upper left cell of that.
    """

    turns: tuple[tuple[Look, Look], ...] = ()
    around: tuple[tuple[tuple[Look, int], tuple[Cell, ...]], ...] = ()
    margin: int = 0

    def has_effect(self, frame: Grid, action: Action) -> bool:
        """Return whether this click would change something by these laws. frame: H x W uint8."""
        assert action.x is not None and action.y is not None
        h, w = len(self.turns[0][0]), len(self.turns[0][0][0])
        for (clicked_look, colour), _ in self.around:
            if frame[action.y, action.x] == colour:
                for top in range(action.y - h + 1, action.y + 1):
                    for left in range(action.x - w + 1, action.x + 1):
                        margin = self.margin
                        if cut_look(frame, top - margin, left - margin, h + 2 * margin, w + 2 * margin) == clicked_look:
                            return True
        return False


@dataclass(frozen=True)
class ClickEffect:
    """A click that changed something: frames (H x W uint8) before and after, rows and columns (first, last) of what changed."""

    action: Action
    before: Grid
    after: Grid
    rows: tuple[int, int]
    cols: tuple[int, int]


def induce_click_laws(record: Record) -> ClickLaws:
    """Induce the shortest account of what clicks did; empty where there is none that pays for itself.

    Cost is counted in runs of equal cells and in cells that are got wrong, after the minimum description length of Rissanen (1978).
    """
    effects = list(_find_click_effects(record))[-MAX_CLICKS:]
    if not effects:
        return ClickLaws()
    height = _find_common_length(effect.rows for effect in effects)
    width = _find_common_length(effect.cols for effect in effects)
    best: tuple[int, ClickLaws] | None = None
    for h in _find_divisors(height):
        for w in _find_divisors(width):
            fit = _fit_click_laws(effects, h, w, 0)
            if fit is not None and (best is None or fit[0] < best[0]):
                best = fit
    null_cost = sum(int((effect.before != effect.after).sum()) for effect in effects)
    if best is None or best[0] >= null_cost:
        return ClickLaws()
    h, w = len(best[1].turns[0][0]), len(best[1].turns[0][0][0])
    idle_clicks = list(_find_idle_clicks(record))[-4 * MAX_CLICKS :]
    candidates = [fit[1] for margin in range(MAX_MARGIN + 1) if (fit := _fit_click_laws(effects, h, w, margin)) is not None]
    return min(
        candidates,
        key=lambda click_laws: (
            sum(click_laws.has_effect(before, action) for before, action in idle_clicks) + len(click_laws.around)
        ),
    )


def _find_idle_clicks(record: Record) -> Iterator[tuple[Grid, Action]]:
    """Clicks that changed nothing, and the frames they were made on."""
    for trajectory in record:
        frames = select_compared_frames(trajectory)
        for step, (action, _) in enumerate(trajectory.steps[: len(frames) - 1]):
            if action.x is not None and np.array_equal(frames[step], frames[step + 1]):
                yield frames[step], action


def _find_click_effects(record: Record) -> Iterator[ClickEffect]:
    for trajectory in record:
        frames = select_compared_frames(trajectory)
        for step, (action, observation) in enumerate(trajectory.steps[: len(frames) - 1]):
            if action.x is None or observation.status is not Status.RUNNING:
                continue
            changed = frames[step] != frames[step + 1]
            if changed.any() and changed.sum() * LARGE_CHANGE_DIVISOR < changed.size:
                rows, cols = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
                spans = (int(rows[0]), int(rows[-1])), (int(cols[0]), int(cols[-1]))
                yield ClickEffect(action, frames[step], frames[step + 1], *spans)


def _find_common_length(spans: Iterator[tuple[int, int]]) -> int:
    return gcd(*(last - first + 1 for first, last in spans))


def _find_divisors(number: int) -> list[int]:
    return [k for k in range(number, 0, -1) if number % k == 0]


def _fit_click_laws(effects: Sequence[ClickEffect], h: int, w: int, margin: int) -> tuple[int, ClickLaws] | None:
    """(what it costs, what clicks do) if everything is made of looks of h x w cells; None where that cannot be."""
    turns: dict[Look, Counter[Look]] = defaultdict(Counter)
    around: dict[tuple[Look, int], Counter[Cell]] = defaultdict(Counter)
    if (
        sum((change.rows[1] - change.rows[0] + 1) * (change.cols[1] - change.cols[0] + 1) for change in effects)
        > len(effects) * h * w * MAX_LOOKS_PER_CLICK
    ):
        return None
    for effect in effects:
        assert effect.action.x is not None and effect.action.y is not None
        top = effect.rows[0] + (effect.action.y - effect.rows[0]) // h * h
        left = effect.cols[0] + (effect.action.x - effect.cols[0]) // w * w
        clicked_look = cut_look(effect.before, top - margin, left - margin, h + 2 * margin, w + 2 * margin)
        if clicked_look is None:
            return None
        clicked = clicked_look, int(effect.before[effect.action.y, effect.action.x])
        around[clicked].update(())
        for row in range(effect.rows[0], effect.rows[1] + 1, h):
            for col in range(effect.cols[0], effect.cols[1] + 1, w):
                old, new = effect.before[row : row + h, col : col + w], effect.after[row : row + h, col : col + w]
                if not np.array_equal(old, new):
                    one, other = cut_look(effect.before, row, col, h, w), cut_look(effect.after, row, col, h, w)
                    assert one is not None and other is not None
                    turns[one][other] += 1
                    around[clicked][row - top + margin, col - left + margin] += 1
    usual_turns = {one: look_counts.most_common(1)[0][0] for one, look_counts in turns.items()}
    turn_table = tuple(usual_turns.items())
    offset_table = tuple((clicked, tuple(sorted(offsets))) for clicked, offsets in around.items())
    cost = sum(_count_runs(one) + _count_runs(other) for one, other in turn_table) + OFFSET_COST * len(
        {o for _, offsets in offset_table for o in offsets}
    )
    n_missed = _count_missed_cells(effects, usual_turns, dict(offset_table), h, w) if not margin else 0
    return cost + n_missed, ClickLaws(turn_table, offset_table, margin)


def _count_missed_cells(
    effects: Sequence[ClickEffect],
    turns: Mapping[Look, Look],
    around: Mapping[tuple[Look | None, int], Sequence[Cell]],
    h: int,
    w: int,
) -> int:
    """Cells that these laws get wrong."""
    n_missed = 0
    for effect in effects:
        assert effect.action.x is not None and effect.action.y is not None
        top = effect.rows[0] + (effect.action.y - effect.rows[0]) // h * h
        left = effect.cols[0] + (effect.action.x - effect.cols[0]) // w * w
        predicted = effect.before.copy()
        for row, col in around[cut_look(effect.before, top, left, h, w), int(effect.before[effect.action.y, effect.action.x])]:
            reached_look = cut_look(effect.before, top + row, left + col, h, w)
            if reached_look is not None and reached_look in turns:
                predicted[top + row : top + row + h, left + col : left + col + w] = turns[reached_look]
        n_missed += int((predicted != effect.after).sum())
        if n_missed > len(effects) * MAX_MISSED_PER_CLICK:
            break
    return n_missed


def cut_look(frame: Grid, row: int, col: int, h: int, w: int) -> Look | None:
    """Return the look of a part of a frame (H x W uint8), h x w cells from (row, col) on; None where that reaches beyond it."""
    if row < 0 or col < 0 or row + h > frame.shape[0] or col + w > frame.shape[1]:
        return None
    return tuple(map(tuple, frame[row : row + h, col : col + w].tolist()))


def _count_runs(rows: Look) -> int:
    return sum(1 + sum(a != b for a, b in pairwise(row)) for row in rows)
