"""What a press of a button makes of each cell, by what stands beside that cell in its line; what was never seen so is not known."""

from __future__ import annotations

from typing import Any

import numpy as np

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
BEYOND = "-"
"""In place of a colour: outside the frame."""


def find_button(frame: Any, row: int, col: int) -> tuple[int, int, int]:
    """(colour, upper row, leftmost column) of what hangs together at a cell in one colour."""
    colour = frame[row, col]
    part = np.zeros(frame.shape, bool)
    part[row, col] = True
    while True:
        padded = np.pad(part, 1)
        wider = (frame == colour) & (part | padded[:-2, 1:-1] | padded[2:, 1:-1] | padded[1:-1, :-2] | padded[1:-1, 2:])
        if (wider == part).all():
            rows, cols = np.nonzero(part)
            return int(colour), int(rows.min()), int(cols.min())
        part = wider


def write_line(line: Any) -> str:
    """A line of colours as text, a letter a cell."""
    return "".join(DIGITS[colour] if colour < len(DIGITS) else chr(0x100 + colour) for colour in line.tolist())


def read_windows(ground: Any, axis: int, reach: int) -> Any:
    """(line, place, colours up to `reach` cells on both sides) of every cell beside which there are others: (lines x places) cells.

    axis: 0 where a line is a row, 1 where it is a column."""
    lines = ground if axis == 0 else ground.T
    padded = np.pad(lines.astype(np.int16), ((0, 0), (reach, reach)), mode="edge")
    uniform = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1, axis=1)
    for number, place in np.argwhere((uniform != uniform[:, :, :1]).any(axis=2)).tolist():
        low, high = max(place - reach, 0), min(place + reach + 1, lines.shape[1])
        before, after = BEYOND * (low - place + reach), BEYOND * (place + reach + 1 - high)
        yield number, place, before + write_line(lines[number, low:high]) + after


class Presses:
    """The tables of `unknown.presses`: (axis, reach, {button: (signs, ((lines from, to, {window: colour}), ...))}), or None.

    A cell becomes what its window says; one whose window holds a single colour stays as it is; any other is not known. Where all
    signs (line, window) are shown the button does nothing, and where some are, it is not known whether it does."""

    def __init__(self, tables: Any) -> None:
        self.axis: int = tables[0] if tables else 0
        self.reach: int = tables[1] if tables else 1
        buttons = tables[2] if tables else {}
        self.buttons = {
            button: {line: windows for first, last, windows in groups for line in range(first, last + 1)}
            for button, (_, groups) in buttons.items()
        }
        self.signs = {button: set(signs) for button, (signs, _) in buttons.items()}

    def press(self, ground: Any, doubt: Any, button: Any) -> tuple[Any, Any]:
        """(the ground after a press, the cells of it that are not known). doubt: cells that were not known before, or None."""
        lines, signs = self.buttons[button], set(self.signs[button])
        pressed = ground.copy()
        target = pressed if self.axis == 0 else pressed.T
        is_open = np.zeros(target.shape, bool)
        for line, place, window in read_windows(ground, self.axis, self.reach):
            colour = lines.get(line, {}).get(window, -1)
            if colour < 0:
                is_open[line, place] = True
            else:
                target[line, place] = colour
            signs.discard((line, window))
        if self.signs[button] and not signs:
            pressed, is_open = ground, np.zeros(target.shape, bool)  # it does nothing
        elif len(signs) < len(self.signs[button]):
            is_open |= target != (ground if self.axis == 0 else ground.T)
        if doubt is not None:
            near = np.pad(doubt if self.axis == 0 else doubt.T, ((0, 0), (self.reach, self.reach)))
            is_open |= np.lib.stride_tricks.sliding_window_view(near, 2 * self.reach + 1, axis=1).any(axis=2)
        return pressed, is_open if self.axis == 0 else is_open.T
