"""Boxes of cells, and events that happen in them."""

from __future__ import annotations

from typing import NamedTuple

from lawbook.core.perception import Cell, Grid, Mask


class Box(NamedTuple):
    """Rows top..bottom and columns left..right, inclusive."""

    top: int
    left: int
    bottom: int
    right: int

    @property
    def region(self) -> tuple[slice, slice]:
        """Its cells, as an index of a frame."""
        return slice(self.top, self.bottom + 1), slice(self.left, self.right + 1)

    def join(self, other: Box) -> Box:
        """Return the box around both."""
        return Box(*map(min, self[:2], other[:2]), *map(max, self[2:], other[2:]))

    def move(self, step: Cell) -> Box:
        """Return it as far away as `step` says, in rows and columns."""
        return Box(self.top + step[0], self.left + step[1], self.bottom + step[0], self.right + step[1])

    def is_near(self, other: Box) -> bool:
        """Say whether they touch, a corner included."""
        return (
            self.top <= other.bottom + 1
            and other.top <= self.bottom + 1
            and self.left <= other.right + 1
            and other.left <= self.right + 1
        )

    def is_overlapping(self, other: Box) -> bool:
        """Say whether they share a cell."""
        return self.top <= other.bottom and other.top <= self.bottom and self.left <= other.right and other.left <= self.right


class FrameEvent(NamedTuple):
    """kind: scrolled, moved, turned, recoloured, appeared, vanished, changed. box: where it was (appeared: where it is). step: how
    far it went, (rows, columns). before, after: the cells of the box then and now, where they are (moved: those of the thing).
    detail: how it turned, or that it joined others. cells: how many changed."""

    kind: str
    box: Box
    step: Cell = (0, 0)
    before: Grid | None = None
    after: Grid | None = None
    mask: Mask | None = None
    detail: str = ""
    cells: int = 0
