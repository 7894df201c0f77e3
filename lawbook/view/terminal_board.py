"""A frame in a terminal: half-blocks, two cells a character, with what is drawn over it (the way ahead, wrong cells)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from rich.color import Color
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.style import Style

from lawbook.core.record import Frame
from lawbook.view.motion_path import Point
from lawbook.view.palette import RGB, dark, mix, palette

_WRONG: RGB = (255, 0, 90)


@dataclass(frozen=True)
class Fit:
    """How big a frame is drawn: each cell `scale` pixels wide and high, or the commonest of `shrink` x `shrink` cells one pixel."""

    scale: int = 1
    shrink: int = 1


def fit(shape: tuple[int, int], columns: int, lines: int, largest: int = 6) -> Fit:
    """The largest drawing that has room in `columns` x `lines` characters (a character is one pixel wide and two high)."""
    height, width = shape
    scale = min(columns // width, 2 * lines // height, largest)
    if scale >= 4:
        return Fit(scale=scale - scale % 2)  # even: a cell ends where a line does
    if scale >= 1:
        return Fit(scale=scale)
    return Fit(shrink=max(-(-width // max(columns, 1)), -(-height // max(2 * lines, 1))))


@dataclass(frozen=True, eq=False)
class Board:
    """A drawn frame, as something rich can print. way: points that lie ahead, nearest first; wrong: H x W, True where a prediction
    was wrong; mood: 0 running, 1 completed, 2 over, for the faces of palettes that have them; click: the point just clicked."""

    frame: Frame
    palette: str
    fit: Fit = field(default_factory=Fit)
    way: Sequence[Point] = ()
    wrong: npt.NDArray[np.bool_] | None = None
    mood: int = 0
    click: Point | None = None

    @property
    def columns(self) -> int:
        return self._pixels(self.frame.shape[1])

    @property
    def lines(self) -> int:
        return -(-self._pixels(self.frame.shape[0]) // 2)

    def _pixels(self, cells: int) -> int:
        return cells * self.fit.scale if self.fit.shrink == 1 else -(-cells // self.fit.shrink)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        signs = self._signs()
        pixels = self._painted()
        for line in range(self.lines):
            upper = pixels[2 * line]
            lower = pixels[2 * line + 1] if 2 * line + 1 < len(pixels) else [None] * len(upper)
            yield from _runs(upper, lower, {column: sign for (row, column), sign in signs.items() if row == line})
            yield Segment.line()

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(self.columns, self.columns)

    def _painted(self) -> list[list[RGB | None]]:
        """Colours of all pixels, row by row."""
        frame, colours = self.frame, palette(self.palette).colours
        if self.fit.shrink > 1:
            frame = shrunk(frame, self.fit.shrink)
        rows: list[list[RGB | None]] = []
        wrong = None if self.wrong is None or self.fit.shrink > 1 else self.wrong.tolist()
        for r, codes in enumerate(frame.tolist()):
            row: list[RGB | None] = []
            for c, code in enumerate(codes):
                colour = colours[code]
                if self.fit.scale > 2 and (r + c) % 2:
                    colour = mix(colour, (0, 0, 0), 0.045)  # a hint of a grid where cells are drawn big
                if wrong is not None and wrong[r][c]:
                    colour = mix(colour, _WRONG, 0.72)
                row += [colour] * self.fit.scale
            rows += [row] * self.fit.scale
        if self.wrong is not None and self.fit.shrink > 1:
            n = self.fit.shrink
            for r, c in {(int(r) // n, int(c) // n) for r, c in np.argwhere(self.wrong)}:
                rows[r][c] = mix(rows[r][c] or (0, 0, 0), _WRONG, 0.72)
        return rows

    def _signs(self) -> dict[tuple[int, int], tuple[str, RGB | None]]:
        """(line, column) -> a character to write there, and its colour (None: whatever reads well)."""
        signs: dict[tuple[int, int], tuple[str, RGB | None]] = {}
        for k, (row, column) in enumerate(self.way):
            last = k == len(self.way) - 1
            signs[self._at(row, column)] = ("◆" if last else "•", None)
        if self.click is not None:
            signs[self._at(*self.click)] = ("✛", None)
        faces = palette(self.palette).faces
        if self.fit.scale >= 4 and faces:
            for code, texts in faces.items():
                for r, c in np.argwhere(self.frame == code).tolist():
                    line, middle = self._at(r + 0.5, c + 0.5)
                    text = texts[self.mood]
                    for k, letter in enumerate(text):
                        signs[line, middle - (len(text) - 1) // 2 + k] = (letter, None)
        return signs

    def _at(self, row: float, column: float) -> tuple[int, int]:
        """The character at a point of the frame."""
        factor = self.fit.scale / self.fit.shrink
        line = min(int(row * factor / 2 - 0.01), self.lines - 1)
        return max(line, 0), max(min(int(column * factor - 0.01), self.columns - 1), 0)


def shrunk(frame: Frame, n: int) -> Frame:
    """The frame with one cell for every n x n, the one that is rarest in the whole frame: what is small stays to be seen."""
    height, width = -(-frame.shape[0] // n), -(-frame.shape[1] // n)
    padded = np.pad(frame, ((0, height * n - frame.shape[0]), (0, width * n - frame.shape[1])), mode="edge")
    blocks = padded.reshape(height, n, width, n).swapaxes(1, 2).reshape(height, width, n * n)
    counts = np.bincount(frame.ravel(), minlength=256)
    half = (blocks[..., None] == blocks[..., None, :]).sum(axis=-1) * 2 >= n * n  # codes that fill at least half of their block
    rarity = np.where(half, counts[blocks], counts.max() + counts[blocks])
    picked: Frame = np.take_along_axis(blocks, rarity.argmin(axis=-1)[..., None], axis=-1)[..., 0]
    return picked


@lru_cache(4096)
def _style(front: RGB | None, back: RGB | None, bold: bool = False) -> Style:
    return Style(
        color=None if front is None else Color.from_rgb(*front), bgcolor=None if back is None else Color.from_rgb(*back), bold=bold
    )


def _runs(
    upper: Sequence[RGB | None], lower: Sequence[RGB | None], signs: Mapping[int, tuple[str, RGB | None]]
) -> Iterable[Segment]:
    """One line of characters as few segments as possible."""
    text, style = "", Style.null()
    for column, (top, bottom) in enumerate(zip(upper, lower, strict=True)):
        sign = signs.get(column)
        if sign is not None and top is not None:
            ground = bottom if bottom is not None and bottom != top and column % 2 else top
            ink = sign[1] or ((255, 255, 255) if dark(ground) else (20, 24, 32))
            letter, new = sign[0], _style(ink, ground, True)
        elif top == bottom:
            letter, new = " ", _style(None, top)
        else:
            letter, new = "▀", _style(top, bottom)
        if new is not style and text:
            yield Segment(text, style)
            text = ""
        text, style = text + letter, new
    if text:
        yield Segment(text, style)
