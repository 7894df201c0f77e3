"""Looks: rows of colours, -1 where a figure is transparent; where a frame shows them, and grounds painted anew."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

ANY = -2
"""In a gate's looks: the colour that what is met and its key have in common."""


def find(frame: Any, look: Any) -> list[tuple[int, int]]:
    """Upper left cells (row, col) of every place where the frame shows this look (rows of colours, -1: any colour)."""
    height, width = len(look), len(look[0])
    rows, cols = frame.shape[0] - height + 1, frame.shape[1] - width + 1
    if rows < 1 or cols < 1:
        return []
    counts = np.bincount(frame.ravel(), minlength=256)
    wanted = [(int(counts[colour]), r, c, colour) for r, line in enumerate(look) for c, colour in enumerate(line) if colour >= 0]
    _, r, c, colour = min(wanted)  # the rarest first leaves fewest places to look at
    there_r, there_c = np.nonzero(frame[r : r + rows, c : c + cols] == colour)
    for _, r, c, colour in sorted(wanted)[1:]:
        if not there_r.size:
            return []
        fits = frame[there_r + r, there_c + c] == colour
        if not fits.all():
            there_r, there_c = there_r[fits], there_c[fits]
    return list(zip(there_r.tolist(), there_c.tolist(), strict=True))


def cells_of(look: Any) -> Any:
    """Rows, columns and colours of a look's own cells, counted from its upper left one, as three arrays."""
    cells = [(r, c, colour) for r, line in enumerate(look) for c, colour in enumerate(line) if colour >= 0]
    return tuple(np.array(cells).T)


def patch(ground: Any, row: int, col: int, height: int, width: int) -> Any:
    """A part of the ground as rows of colours; None where it reaches beyond."""
    if row < 0 or col < 0 or row + height > ground.shape[0] or col + width > ground.shape[1]:
        return None
    return tuple(map(tuple, ground[row : row + height, col : col + width].tolist()))


def figure_in(figure: Any, shown: Any) -> Any:
    """The colour that ANY stands for where this figure is the one shown (-1: it stands nowhere); None where it is not."""
    if len(figure) != len(shown) or len(figure[0]) != len(shown[0]):
        return None
    pairs = {(own, cell) for line, row in zip(figure, shown, strict=True) for own, cell in zip(line, row, strict=True)}
    any_of = {own for own, cell in pairs if cell == ANY}
    if len(any_of) > 1 or -1 in any_of or any(own != cell for own, cell in pairs if cell != ANY):
        return None
    return any_of.pop() if any_of else -1


def opened(ground: Any, key: Any, place: Any, colour: int) -> bool:
    """Is no such key left, or, where a row or a column is named, is it shown there? Its open colour is this one."""
    look = tuple(tuple(colour if cell == ANY else cell for cell in line) for line in key)
    if place is None:
        return not find(ground, look)
    row, col = place
    rows = slice(None) if row is None else slice(row, row + len(look))
    return bool(find(ground[rows, slice(None) if col is None else slice(col, col + len(look[0]))], look))


def repaint(ground: bytes, width: int, changes: Any) -> bytes:
    """The ground after changes: (row, col, colour, how many cells to the right), or the whole ground, packed."""
    if isinstance(changes, str):
        return zlib.decompress(base64.b85decode(changes))
    if not changes:
        return ground
    cells = bytearray(ground)
    for row, col, colour, run in changes:
        for at in range(row * width + col, row * width + col + run):
            if 0 <= at < len(cells):
                cells[at] = colour
    return bytes(cells)
