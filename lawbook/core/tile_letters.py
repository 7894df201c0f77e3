"""Tiles with letters that stay: a board as one character a tile, the same tile the same letter for a whole run.

A tile of one colour has the colour's character; any other is given the next free letter when it is first seen, and keeps it. Rows
and columns of tiles are numbered: tile r,c begins at cell (top + size * r, left + size * c); what lies above or left of the first
whole tile has the number -1. Characters are what a reader pays for: a legend holds only the letters it has not been told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lawbook.core import frame_text
from lawbook.core.frame_text import Span
from lawbook.core.perception import Grid

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ#$%&*+=@^~<>ΓΔΘΛΞΠΣΦΨΩБГДЖИЛЦЧШЩЭЮЯ"
"""In the order in which they are given. A tile after the last is `?`."""
UNKNOWN = "?"
MAX_ROWS, MAX_COLUMNS = 256, 128
"""Of tiles that are shown."""

_HEAD = re.compile(r"tiles (\d{1,3}) (\d{1,3}) (\d{1,3})")
_ENTRY = re.compile(r"(\S) ([0-9a-z:/]{1,20000})")


class Tiling(NamedTuple):
    """Size of the tiles in cells, and where the first whole one begins."""

    size: int
    top: int
    left: int

    def iterate_rows(self, height: int) -> list[tuple[int, int, int]]:
        """List (number, first cell, cell after the last) of each row of tiles; the same for columns with `left`."""
        return _cut_side(height, self.size, self.top)

    def iterate_columns(self, width: int) -> list[tuple[int, int, int]]:
        """List the same of each column of tiles."""
        return _cut_side(width, self.size, self.left)


class TileView(NamedTuple):
    """A board in tiles. numbers: of its rows and columns; rows: one text a row of tiles, a character a tile."""

    tiling: Tiling
    row_numbers: tuple[int, ...]
    column_numbers: tuple[int, ...]
    rows: tuple[str, ...]


class TileLetters:
    """The letters of a run. tiling: the one that was last used, which is kept as long as it serves."""

    def __init__(self) -> None:
        self.tiling: Tiling | None = None
        self._letters: dict[str, str] = {}
        self._untold: set[str] = set()

    def choose_tiling(self, frame: Grid, size: int | None = None) -> Tiling | None:
        """Choose the tiling to show a frame in. size: as asked for; None: the one used before, else the one found; None where
        there is none that makes it shorter."""
        if size is not None:
            if self.tiling is None or self.tiling.size != size:
                found = frame_text.find_tiling(frame, (size,), forced=True)
                assert found is not None, "a size that is forced is found"
                self.tiling = Tiling(*found)
            return self.tiling
        if self.tiling is not None and frame_text.is_tiling_useful(frame, *self.tiling):
            return self.tiling
        found = frame_text.find_tiling(frame)
        self.tiling = self.tiling if found is None else Tiling(*found)
        return None if found is None else self.tiling

    def build_view(self, frame: Grid, tiling: Tiling, rows: Span | None = None, columns: Span | None = None) -> TileView:
        """Build a frame in tiles. rows, columns: only the tiles with these numbers. New tiles are given letters."""
        row_cuts = _keep_span(tiling.iterate_rows(frame.shape[0]), rows)[:MAX_ROWS]
        column_cuts = _keep_span(tiling.iterate_columns(frame.shape[1]), columns)[:MAX_COLUMNS]
        texts = [
            "".join(self._get_character(frame[top:bottom, left:right]) for _, left, right in column_cuts)
            for _, top, bottom in row_cuts
        ]
        return TileView(tiling, tuple(c[0] for c in row_cuts), tuple(c[0] for c in column_cuts), tuple(texts))

    def find_letter(self, tile: Grid) -> str:
        """Find the letter that a tile has and that was told, or an empty string."""
        letter = self._letters.get(format_pattern(tile), "")
        return "" if letter in self._untold else letter

    def take_news(self, text: str) -> list[str]:
        """Return lines of the legend for letters of a text that were not told yet, which counts as telling them."""
        lines = [f"{letter} {pattern}" for pattern, letter in self._letters.items() if letter in self._untold and letter in text]
        self._untold -= set(text)
        return lines

    def forget_telling(self) -> None:
        """Tell every letter anew when it comes up again: somebody else reads from here on."""
        self._untold = set(self._letters.values())

    def format_legend(self) -> str:
        """Format every letter there is, as `parse_legend` reads it."""
        head = [] if self.tiling is None else ["tiles {} {} {}".format(*self.tiling)]
        return "\n".join([*head, *(f"{letter} {pattern}" for pattern, letter in self._letters.items())])

    def _get_character(self, tile: Grid) -> str:
        first = int(tile[0, 0])
        if first < frame_text.N_CHARACTERS and (tile == first).all():
            return frame_text.format_colour(first)
        pattern = format_pattern(tile)
        letter = self._letters.get(pattern)
        if letter is None:
            if len(self._letters) >= len(LETTERS):
                return UNKNOWN
            letter = next(one for one in LETTERS if one not in self._letters.values())
            self._letters[pattern] = letter
            self._untold.add(letter)
        return letter


def parse_legend(text: str) -> TileLetters:
    """Read the letters of a legend that was kept; told, all of them. Lines that are none are left out."""
    letters = TileLetters()
    for line in text.splitlines()[: 1 + len(LETTERS)]:
        head, entry = _HEAD.fullmatch(line), _ENTRY.fullmatch(line)
        if head and int(head[1]) >= 2 and max(int(head[2]), int(head[3])) < int(head[1]):
            letters.tiling = Tiling(int(head[1]), int(head[2]), int(head[3]))
        elif entry and entry[1] in LETTERS and entry[2] not in letters._letters and entry[1] not in letters._letters.values():
            letters._letters[entry[2]] = entry[1]
    return letters


def format_view(view: TileView, legend: Sequence[str] = (), *, only_rows: Iterable[int] | None = None, headed: bool = True) -> str:
    """Format a view as text: where tiles lie (headed), numbered columns, numbered rows (equal ones that follow each other in one
    line), and lines of a legend. only_rows: positions of the rows to show."""
    shown = list(range(len(view.rows))) if only_rows is None else sorted(only_rows)
    groups: list[list[int]] = []
    for k in shown:
        if groups and groups[-1][-1] == k - 1 and view.rows[k] == view.rows[k - 1]:
            groups[-1].append(k)
        else:
            groups.append([k])
    names = [_format_numbers(view.row_numbers[group[0]], view.row_numbers[group[-1]]) for group in groups]
    margin = max(map(len, names), default=1)
    lines = [*_format_column_numbers(view.column_numbers, margin)]
    lines += [f"{name:>{margin}} {view.rows[group[0]]}" for name, group in zip(names, groups, strict=True)]
    return "\n".join([*([describe_tiling(view.tiling)] if headed else []), *lines, *legend])


def describe_tiling(tiling: Tiling) -> str:
    """Say where tiles lie, in a line."""
    size, top, left = tiling
    places = ",".join(f"{size}{name}" + (f"+{offset}" if offset else "") for name, offset in (("r", top), ("c", left)))
    return f"tiles {size}x{size}: tile r,c starts at cell {places}"


def find_changed_rows(old: TileView | None, new: TileView) -> list[int] | None:
    """Find positions of the rows that differ from an older view; None where the two cannot be compared."""
    if old is None or old[:3] != new[:3]:
        return None
    return [k for k, (before, after) in enumerate(zip(old.rows, new.rows, strict=True)) if before != after]


def format_pattern(tile: Grid) -> str:
    """Format a tile's rows, one after the other; a colon in front where a cell takes two digits; only the colour where it has
    one."""
    first = int(tile[0, 0])
    if (tile == first).all():
        return f":{first:02x}" if first >= frame_text.N_CHARACTERS else frame_text.format_colour(first)
    highest = int(tile.max())
    return (":" if highest >= frame_text.N_CHARACTERS else "") + "/".join(frame_text.format_cells(tile, highest))


def _cut_side(length: int, size: int, begin: int) -> list[tuple[int, int, int]]:
    starts = list(range(begin, length, size))
    cuts = [(number, start, min(start + size, length)) for number, start in enumerate(starts)]
    return ([(-1, 0, min(begin, length))] if begin else []) + cuts


def _keep_span(cuts: list[tuple[int, int, int]], span: Span | None) -> list[tuple[int, int, int]]:
    if span is None:
        return cuts
    first, last = sorted(span)
    return [cut for cut in cuts if first <= cut[0] <= last] or cuts[-1:]


def _format_numbers(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}" if first >= 0 else f"{first}..{last}"


def _format_column_numbers(numbers: Sequence[int], margin: int) -> list[str]:
    """The number of every column above it: its last digit, and over each ten the rest."""
    tens = "".join(str(number // 10 % 10) if number >= 10 and number % 10 == 0 else " " for number in numbers).rstrip()
    units = "".join("-" if number < 0 else str(number % 10) for number in numbers)
    return [" " * (margin + 1) + line for line in ((tens, units) if tens else (units,))]
