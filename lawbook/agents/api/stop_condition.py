"""Conditions on a step that an agent names, for stopping there: `changed outside rows 61-62`, `cell 3,4 is b`, `nothing
changed`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lawbook.core.frame_text import N_CHARACTERS, Span, format_colour
from lawbook.core.perception import Cell, Grid
from lawbook.errors import UsageError

CONDITION_NOTATION = (
    "`changed`, `nothing changed`, `changed inside rows 3-9 columns 2-5`, `changed outside rows 61-62`, `more than 40 changed`, "
    "`cell 3,4 is b`, `cell 3,4 changed`, `colour b gone`, `colour b there`, `unusual` (not what the same action did the last time)"
)
MAX_NUMBER = 999_999

_AREA = re.compile(r"(?:rows? (\d{1,4})(?:-(\d{1,4}))?)? ?(?:columns? (\d{1,4})(?:-(\d{1,4}))?)?")
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("unusual", re.compile(r"unusual")),
    ("nothing", re.compile(r"nothing changed|unchanged")),
    ("changed", re.compile(r"changed")),
    ("inside", re.compile(r"changed inside (.+)")),
    ("outside", re.compile(r"changed outside (.+)")),
    ("more", re.compile(r"more than (\d{1,6}) changed")),
    ("cell is", re.compile(r"cell (\d{1,4}),(\d{1,4}) is ([0-9a-z]{1,3})")),
    ("cell changed", re.compile(r"cell (\d{1,4}),(\d{1,4}) changed")),
    ("gone", re.compile(r"colou?r ([0-9a-z]{1,3}) gone")),
    ("there", re.compile(r"colou?r ([0-9a-z]{1,3}) there")),
)

Kind = Literal["unusual", "nothing", "changed", "inside", "outside", "more", "cell is", "cell changed", "gone", "there"]


@dataclass(frozen=True)
class StopCondition:
    """What has to hold of a step. rows, columns: an area, None for all; number: of cells; cell: row, column; colour: a code."""

    kind: Kind
    rows: Span | None = None
    columns: Span | None = None
    number: int = 0
    cell: Cell = (0, 0)
    colour: int = 0

    def holds(self, before: Grid, after: Grid, is_unusual: bool = False) -> bool:
        """Whether it holds of a step from one H x W frame to another. Cells outside the frame never change."""
        changed = before != after
        match self.kind:
            case "unusual":
                return is_unusual
            case "nothing":
                return not changed.any()
            case "changed":
                return bool(changed.any())
            case "inside":
                return bool((changed & self._mask(changed.shape)).any())
            case "outside":
                return bool((changed & ~self._mask(changed.shape)).any())
            case "more":
                return bool(changed.sum() > self.number)
            case "cell is" | "cell changed":
                if self.cell[0] >= after.shape[0] or self.cell[1] >= after.shape[1]:
                    return False
                return bool(after[self.cell] == self.colour if self.kind == "cell is" else changed[self.cell])
            case "gone":
                return not (after == self.colour).any()
            case "there":
                return bool((after == self.colour).any())

    def _mask(self, shape: tuple[int, ...]) -> np.typing.NDArray[np.bool_]:
        mask = np.zeros(shape, dtype=np.bool_)
        rows, columns = (slice(None) if span is None else slice(span[0], span[1] + 1) for span in (self.rows, self.columns))
        mask[rows, columns] = True
        return mask

    def __str__(self) -> str:
        match self.kind:
            case "nothing":
                return "nothing changed"
            case "inside" | "outside":
                area = [
                    f"{name} {span[0]}" if span[0] == span[1] else f"{name}s {span[0]}-{span[1]}"
                    for name, span in (("row", self.rows), ("column", self.columns))
                    if span is not None
                ]
                return f"changed {self.kind} {' '.join(area)}"
            case "more":
                return f"more than {self.number} changed"
            case "cell is":
                return f"cell {self.cell[0]},{self.cell[1]} is {_format_code(self.colour)}"
            case "cell changed":
                return f"cell {self.cell[0]},{self.cell[1]} changed"
            case "gone" | "there":
                return f"colour {_format_code(self.colour)} {self.kind}"
        return self.kind


def parse_condition(text: str) -> StopCondition:
    """A condition as an agent writes it. A colour is its character on boards; of several digits: its number. Raises UsageError."""
    words = " ".join(text.lower().split())
    for kind, pattern in _PATTERNS:
        match = pattern.fullmatch(words)
        if match is None:
            continue
        if kind in ("inside", "outside"):
            rows, columns = _parse_area(match[1], text)
            return StopCondition(kind, rows, columns)  # type: ignore[arg-type]
        if kind == "more":
            return StopCondition("more", number=int(match[1]))
        if kind in ("cell is", "cell changed"):
            colour = _parse_code(match[3], text) if kind == "cell is" else 0
            return StopCondition(kind, cell=(int(match[1]), int(match[2])), colour=colour)  # type: ignore[arg-type]
        if kind in ("gone", "there"):
            return StopCondition(kind, colour=_parse_code(match[1], text))  # type: ignore[arg-type]
        return StopCondition(kind)  # type: ignore[arg-type]
    raise UsageError(f"{text[:60]!r} is no condition; there are: {CONDITION_NOTATION}.")


def _parse_area(text: str, whole: str) -> tuple[Span | None, Span | None]:
    match = _AREA.fullmatch(text)
    if match is None or not any(match.groups()):
        raise UsageError(f"{whole[:60]!r} names no area; write `rows 3-9`, `columns 2-5`, or both.")
    spans = []
    for first, last in ((match[1], match[2]), (match[3], match[4])):
        one, two = sorted((int(first), int(last or first))) if first else (0, 0)
        spans.append((one, two) if first else None)
    return spans[0], spans[1]


def _parse_code(text: str, whole: str) -> int:
    code = int(text, 36) if len(text) == 1 else int(text) if text.isdecimal() else 256
    if code > 255:
        raise UsageError(f"{whole[:60]!r} names no colour: one is a character of the board, or a number up to 255.")
    return code


def _format_code(code: int) -> str:
    return format_colour(code) if code < N_CHARACTERS else str(code)
