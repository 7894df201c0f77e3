"""Presses, learnt: how each button changes the lines of a frame, cell by cell, from what stands beside a cell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from lawbook.minds.induce.nearby import Presses, read_windows
from lawbook.minds.induce.types import Grid

AXES, REACHES = (0, 1), (1, 2, 4, 8)
MAX_SIGNS = 8
"""Signs by which it is told that a button does nothing."""
Button = tuple[int, int, int]
"""(colour, upper row, leftmost column)."""
Group = tuple[int, int, dict[str, int]]
"""(lines from, to, what a cell with that window becomes)."""
Sign = tuple[int, str]
"""(line, window)."""
PressTables = tuple[int, int, dict[Button, tuple[tuple[Sign, ...], tuple[Group, ...]]]]
"""(axis, reach, what each button does), see `Presses`."""


class Press(NamedTuple):
    """One press: the button, and the ground before and after it."""

    button: Button
    before: Grid
    after: Grid


def learn_presses(presses: Sequence[Press]) -> PressTables | None:
    """Find the lines and the reach by which presses are foretold best; None where there are none.

    Each way is learnt from two of three and tried on every third: fewest wrong claims, then most right ones.
    """
    tried = presses[2::3]
    learnt = [press for number, press in enumerate(presses) if number % 3 != 2]
    best: tuple[tuple[int, int], int, int] | None = None
    for reach in REACHES if presses else ():
        for axis in AXES:
            n_right, n_wrong = _count_claims(_learn_tables(learnt, axis, reach), tried)
            if best is None or (n_wrong, -n_right) < best[0]:
                best = (n_wrong, -n_right), axis, reach
    return None if best is None else _learn_tables(presses, *best[1:])


def _learn_tables(presses: Sequence[Press], axis: int, reach: int) -> PressTables:
    buttons: dict[Button, list[tuple[Press, list[tuple[int, int, str]]]]] = defaultdict(list)
    for press in presses:
        buttons[press.button].append((press, list(read_windows(press.before, axis, reach))))
    tables = {}
    for button, pressed in buttons.items():
        signs = _find_signs(pressed)
        by_line: dict[int, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        for press, windows in pressed:
            lines = press.after if axis == 0 else press.after.T
            for line, place, window in windows if not signs or _is_effective(press) else ():
                by_line[line][window].add(int(lines[line, place]))
        tables[button] = signs, _group_lines(by_line)
    return axis, reach, tables


def _is_effective(press: Press) -> bool:
    return not np.array_equal(press.before, press.after)


def _find_signs(pressed: Sequence[tuple[Press, Sequence[tuple[int, int, str]]]]) -> tuple[Sign, ...]:
    """(line, window) of what was shown whenever a button did nothing, and never when it did something; none where it always did."""
    shown = [(_is_effective(press), {(line, window) for line, _, window in windows}) for press, windows in pressed]
    idle = [signs for is_effective, signs in shown if not is_effective]
    if not idle or len(idle) == len(shown):
        return ()
    common = set.intersection(*idle).difference(*(signs for is_effective, signs in shown if is_effective))
    return tuple(sorted(common)[:: max(1, len(common) // MAX_SIGNS)][:MAX_SIGNS])


def _group_lines(by_line: Mapping[int, Mapping[str, set[int]]]) -> tuple[Group, ...]:
    """Lines next to each other that do the same, as one; a window that has led to two things says nothing."""
    tables = [
        (line, {window: min(colours) for window, colours in sorted(windows.items()) if len(colours) == 1})
        for line, windows in sorted(by_line.items())
    ]
    groups = []
    for _, members in groupby(enumerate(tables), key=lambda pair: (pair[1][0] - pair[0], tuple(pair[1][1].items()))):
        numbers = [(line, table) for _, (line, table) in members]
        groups.append((numbers[0][0], numbers[-1][0], numbers[0][1]))
    return tuple(group for group in groups if group[2])


def _count_claims(tables: PressTables, presses: Sequence[Press]) -> tuple[int, int]:
    """(changed cells claimed rightly, cells claimed wrongly)."""
    engine, n_right, n_wrong = Presses(tables), 0, 0
    for button, before, after in presses:
        if button in engine.buttons:
            pressed, is_open = engine.press(before, None, button)
            n_right += int(((before != after) & (pressed == after) & ~is_open).sum())
            n_wrong += int(((pressed != after) & ~is_open).sum())
    return n_right, n_wrong
