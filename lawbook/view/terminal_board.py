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
from lawbook.view.palette import RGB, get_palette, is_dark, mix

_MISMATCH_COLOUR: RGB = (255, 0, 90)


@dataclass(frozen=True)
class BoardScale:
    """How big a frame is drawn: each cell `scale` pixels wide and high, or the commonest of `shrink` x `shrink` cells one pixel."""

    scale: int = 1
    shrink: int = 1


def fit_board(shape: tuple[int, int], columns: int, lines: int, largest: int = 6) -> BoardScale:
    """The largest drawing that has room in `columns` x `lines` characters (a character is one pixel wide and two high)."""
    height, width = shape
    scale = min(columns // width, 2 * lines // height, largest)
    if scale >= 4:
        return BoardScale(scale=scale - scale % 2)  # even: a cell ends where a line does
    if scale >= 1:
        return BoardScale(scale=scale)
    return BoardScale(shrink=max(-(-width // max(columns, 1)), -(-height // max(2 * lines, 1))))


@dataclass(frozen=True, eq=False)
class TerminalBoard:
    """A drawn frame, as something rich can print. path: points that lie ahead, nearest first; mismatch_mask: H x W, True where a
    prediction was wrong; mood: 0 running, 1 completed, 2 over, for the faces of palettes that have them; click: the point just
    clicked."""

    frame: Frame
    palette: str
    board_scale: BoardScale = field(default_factory=BoardScale)
    path: Sequence[Point] = ()
    mismatch_mask: npt.NDArray[np.bool_] | None = None
    mood: int = 0
    click: Point | None = None

    @property
    def columns(self) -> int:
        return self._count_pixels(self.frame.shape[1])

    @property
    def lines(self) -> int:
        return -(-self._count_pixels(self.frame.shape[0]) // 2)

    def _count_pixels(self, cells: int) -> int:
        return cells * self.board_scale.scale if self.board_scale.shrink == 1 else -(-cells // self.board_scale.shrink)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        signs = self._place_signs()
        pixels = self._paint_pixels()
        for line in range(self.lines):
            upper = pixels[2 * line]
            lower = pixels[2 * line + 1] if 2 * line + 1 < len(pixels) else [None] * len(upper)
            yield from _merge_segments(upper, lower, {column: sign for (row, column), sign in signs.items() if row == line})
            yield Segment.line()

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(self.columns, self.columns)

    def _paint_pixels(self) -> list[list[RGB | None]]:
        """Colours of all pixels, row by row."""
        frame, colours = self.frame, get_palette(self.palette).colours
        if self.board_scale.shrink > 1:
            frame = shrink_frame(frame, self.board_scale.shrink)
        rows: list[list[RGB | None]] = []
        mismatches = None if self.mismatch_mask is None or self.board_scale.shrink > 1 else self.mismatch_mask.tolist()
        for r, codes in enumerate(frame.tolist()):
            row: list[RGB | None] = []
            for c, code in enumerate(codes):
                colour = colours[code]
                if self.board_scale.scale > 2 and (r + c) % 2:
                    colour = mix(colour, (0, 0, 0), 0.045)  # a hint of a grid where cells are drawn big
                if mismatches is not None and mismatches[r][c]:
                    colour = mix(colour, _MISMATCH_COLOUR, 0.72)
                row += [colour] * self.board_scale.scale
            rows += [row] * self.board_scale.scale
        if self.mismatch_mask is not None and self.board_scale.shrink > 1:
            shrink = self.board_scale.shrink
            for r, c in {(int(r) // shrink, int(c) // shrink) for r, c in np.argwhere(self.mismatch_mask)}:
                rows[r][c] = mix(rows[r][c] or (0, 0, 0), _MISMATCH_COLOUR, 0.72)
        return rows

    def _place_signs(self) -> dict[tuple[int, int], tuple[str, RGB | None]]:
        """(line, column) -> a character to write there, and its colour (None: whatever reads well)."""
        signs: dict[tuple[int, int], tuple[str, RGB | None]] = {}
        for k, (row, column) in enumerate(self.path):
            is_last = k == len(self.path) - 1
            signs[self._locate_character(row, column)] = ("◆" if is_last else "•", None)
        if self.click is not None:
            signs[self._locate_character(*self.click)] = ("✛", None)
        faces = get_palette(self.palette).faces
        if self.board_scale.scale >= 4 and faces:
            for code, texts in faces.items():
                for r, c in np.argwhere(self.frame == code).tolist():
                    line, middle = self._locate_character(r + 0.5, c + 0.5)
                    text = texts[self.mood]
                    for k, letter in enumerate(text):
                        signs[line, middle - (len(text) - 1) // 2 + k] = (letter, None)
        return signs

    def _locate_character(self, row: float, column: float) -> tuple[int, int]:
        """The character at a point of the frame."""
        factor = self.board_scale.scale / self.board_scale.shrink
        line = min(int(row * factor / 2 - 0.01), self.lines - 1)
        return max(line, 0), max(min(int(column * factor - 0.01), self.columns - 1), 0)


def shrink_frame(frame: Frame, block_size: int) -> Frame:
    """The frame with one cell for every n x n, the one that is rarest in the whole frame: what is small stays to be seen."""
    height, width = -(-frame.shape[0] // block_size), -(-frame.shape[1] // block_size)
    padded = np.pad(frame, ((0, height * block_size - frame.shape[0]), (0, width * block_size - frame.shape[1])), mode="edge")
    blocks = padded.reshape(height, block_size, width, block_size).swapaxes(1, 2).reshape(height, width, block_size * block_size)
    counts = np.bincount(frame.ravel(), minlength=256)
    is_dominant = (blocks[..., None] == blocks[..., None, :]).sum(
        axis=-1
    ) * 2 >= block_size * block_size  # codes that fill at least half of their block
    rarity = np.where(is_dominant, counts[blocks], counts.max() + counts[blocks])
    shrunk_frame: Frame = np.take_along_axis(blocks, rarity.argmin(axis=-1)[..., None], axis=-1)[..., 0]
    return shrunk_frame


@lru_cache(4096)
def _make_style(front: RGB | None, back: RGB | None, bold: bool = False) -> Style:
    return Style(
        color=None if front is None else Color.from_rgb(*front), bgcolor=None if back is None else Color.from_rgb(*back), bold=bold
    )


def _merge_segments(
    upper: Sequence[RGB | None], lower: Sequence[RGB | None], signs: Mapping[int, tuple[str, RGB | None]]
) -> Iterable[Segment]:
    """One line of characters as few segments as possible."""
    text, style = "", Style.null()
    for column, (top, bottom) in enumerate(zip(upper, lower, strict=True)):
        sign = signs.get(column)
        if sign is not None and top is not None:
            background = bottom if bottom is not None and bottom != top and column % 2 else top
            foreground = sign[1] or ((255, 255, 255) if is_dark(background) else (20, 24, 32))
            letter, new_style = sign[0], _make_style(foreground, background, True)
        elif top == bottom:
            letter, new_style = " ", _make_style(None, top)
        else:
            letter, new_style = "▀", _make_style(top, bottom)
        if new_style is not style and text:
            yield Segment(text, style)
            text = ""
        text, style = text + letter, new_style
    if text:
        yield Segment(text, style)
