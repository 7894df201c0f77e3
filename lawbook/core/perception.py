"""Frames, looked at: components, objects, changes, text, places to click. For minds, and for programs: `import perception`.

Frames are H x W arrays of colours (uint8), masks H x W arrays of bool; rows and columns, x (column) and y (row) count from 0.
Everything here is exact, has no state, needs numpy alone and takes less than 2 ms for 64 x 64 cells, whatever they show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Grid = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.intp]
Hashes = npt.NDArray[np.uint64]
Cell = tuple[int, int]
"""(row, column)."""
Colours = tuple[int, ...]
"""Distinct colours, ascending."""


# -- components ------------------------------------------------------------------------------------


def components(grid: Grid, *, diagonal: bool = False, where: Mask | None = None) -> tuple[Ints, int]:
    """Label which cells of an H x W array hang together: equal values, connected through 4 neighbours, or 8 if `diagonal`.

    Returns (H x W labels, how many there are). Labels count from 0 in reading order of each component's first cell. where: the
    cells to look at, all by default; the others are labelled -1.
    """
    number = np.arange(grid.size).reshape(grid.shape)
    steps: list[tuple[Any, Any]] = [(np.s_[:, 1:], np.s_[:, :-1]), (np.s_[1:, :], np.s_[:-1, :])]
    if diagonal:
        steps += [(np.s_[1:, 1:], np.s_[:-1, :-1]), (np.s_[1:, :-1], np.s_[:-1, 1:])]
    pairs = []
    for cells, neighbours in steps:
        connected = grid[cells] == grid[neighbours]
        if where is not None:
            connected &= where[cells] & where[neighbours]
        pairs.append((number[cells][connected], number[neighbours][connected]))
    roots = _find_roots(grid.size, *(np.concatenate(side) for side in zip(*pairs, strict=True))).reshape(grid.shape)
    first = roots == number
    if where is not None:
        first &= where
    labels = (np.cumsum(first) - 1)[roots]
    if where is not None:
        labels[~where] = -1
    return labels, int(np.count_nonzero(first))


def _find_roots(size: int, first: Ints, second: Ints) -> Ints:
    """For each of `size` numbers the smallest one that the pairs (one[i], other[i]) join it with, directly or by way of others.

    Every round hooks each tree to the smallest of its neighbours and then makes it flat (min-label hooking with pointer jumping);
    the number of rounds grows with the logarithm of the longest way, not with its length.
    """
    root = np.arange(size)
    while True:
        first, second = root[first], root[second]
        differing = first != second
        first, second = first[differing], second[differing]
        if not first.size:
            return root
        np.minimum.at(root, np.maximum(first, second), np.minimum(first, second))
        while not np.array_equal(parents := root[root], root):
            root = parents


class _ComponentCells(NamedTuple):
    """The cells of each component, one component after the other, in reading order."""

    rows: Ints
    columns: Ints
    starts: Ints
    counts: Ints

    @classmethod
    def from_labels(cls, labels: Ints, count: int) -> _ComponentCells:
        cells = np.flatnonzero(labels >= 0)
        cell_labels = labels.ravel()[cells]
        order = np.argsort(
            cell_labels.astype(np.uint16) if count <= 1 << 16 else cell_labels, kind="stable"
        )  # 16 bits are sorted by radix
        counts = np.bincount(cell_labels, minlength=count)
        rows, columns = np.divmod(cells[order], labels.shape[1])
        return cls(rows, columns, np.cumsum(counts) - counts, counts)

    def find_boxes(self) -> tuple[Ints, Ints, Ints, Ints]:
        """First row, first column, last row, last column of each, inclusive."""
        if not self.starts.size:  # reduceat cannot do without
            return self.starts, self.starts, self.starts, self.starts
        left, right = np.minimum.reduceat(self.columns, self.starts), np.maximum.reduceat(self.columns, self.starts)
        return self.rows[self.starts], left, self.rows[self.starts + self.counts - 1], right


def groups(mask: Mask, *, diagonal: bool = False) -> list[list[Cell]]:
    """Group the True cells of an H x W mask, those that hang together in one list of (row, column); all in reading order."""
    rows, columns, starts, counts = _ComponentCells.from_labels(*components(mask, diagonal=diagonal, where=mask))
    cells = list(zip(rows.tolist(), columns.tolist(), strict=True))
    return [cells[start : start + count] for start, count in zip(starts.tolist(), counts.tolist(), strict=True)]


# -- objects ---------------------------------------------------------------------------------------


class Object(NamedTuple):
    """One component. Rows top..bottom and columns left..right, inclusive; row, column: its cell that is nearest to its middle.

    shape: the same number for the same cells, wherever they lie; look: for the same cells in the same colours. Neither changes from
    process to process. colour: of the first cell in reading order.
    """

    colour: int
    cells: int
    top: int
    left: int
    bottom: int
    right: int
    row: int
    column: int
    shape: int
    look: int


@dataclass(frozen=True, eq=False)
class Objects:
    """Objects in reading order, as one array a property, each of length n; `[i]` and iterating give an Object.

    labels: H x W, the number of the object a cell belongs to, -1 for none. For the rest see Object.
    """

    labels: Ints
    colour: npt.NDArray[np.uint8]
    cells: Ints
    top: Ints
    left: Ints
    bottom: Ints
    right: Ints
    row: Ints
    column: Ints
    shape: Hashes
    look: Hashes

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, index: int) -> Object:
        return Object(*(int(getattr(self, name)[index]) for name in Object._fields))

    def __iter__(self) -> Iterator[Object]:
        return map(Object._make, zip(*(getattr(self, name).tolist() for name in Object._fields), strict=True))


def objects(frame: Grid, *, diagonal: bool = False, where: Mask | None = None, mixed: bool = False) -> Objects:
    """Find the components of an H x W frame as objects.

    mixed: objects may be of several colours: whatever hangs together in `where`. So `objects(frame, where=frame != 0, mixed=True)`
    gives everything that stands on a background of colour 0.
    """
    labels, count = components(np.zeros_like(frame) if mixed else frame, diagonal=diagonal, where=where)
    members = _ComponentCells.from_labels(labels, count)
    rows, columns, starts, counts = members
    top, left, bottom, right = members.find_boxes()
    colours = frame[rows, columns]
    offsets = (rows - np.repeat(top, counts)).astype(np.uint64) << np.uint64(16) | (columns - np.repeat(left, counts)).astype(
        np.uint64
    )
    middle = _find_middles(members)
    return Objects(
        labels=labels,
        colour=colours[starts],
        cells=counts,
        top=top,
        left=left,
        bottom=bottom,
        right=right,
        row=rows[middle],
        column=columns[middle],
        shape=_sum_by_component(_scramble(offsets), starts),
        look=_sum_by_component(_scramble(offsets << np.uint64(8) | colours.astype(np.uint64) | np.uint64(1 << 63)), starts),
    )


def _find_middles(members: _ComponentCells) -> Ints:
    """For each component the position, among all members, of the cell nearest to the mean of its cells; the first of several."""
    rows, columns, starts, counts = members
    if not starts.size:
        return starts
    size = np.repeat(counts, counts)
    distances = (size * rows - np.repeat(np.add.reduceat(rows, starts), counts)) ** 2
    distances += (size * columns - np.repeat(np.add.reduceat(columns, starts), counts)) ** 2
    nearest = np.flatnonzero(distances == np.repeat(np.minimum.reduceat(distances, starts), counts))
    return nearest[np.searchsorted(nearest, starts)]


def _sum_by_component(values: Hashes, starts: Ints) -> Hashes:
    """The sum of each component's values, modulo 2^64."""
    return np.add.reduceat(values, starts) if starts.size else values


def _scramble(codes: Hashes) -> Hashes:
    """Each number as 64 bits without any order (the finaliser of SplitMix64), so that sums of different sets differ."""
    bits = (codes + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ bits >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ bits >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return bits ^ bits >> np.uint64(31)


# -- changes ---------------------------------------------------------------------------------------


class Region(NamedTuple):
    """A rectangle around cells that hang together: rows top..bottom, columns left..right, inclusive.

    cells: how many; colours: for each frame that was given, which colours it has in these cells.
    """

    top: int
    left: int
    bottom: int
    right: int
    cells: int
    colours: tuple[Colours, ...]


def regions(mask: Mask, *frames: Grid, diagonal: bool = True) -> list[Region]:
    """Return the True cells of a mask by `groups`, as rectangles: the largest number of cells first, then in reading order."""
    return [Region._make((*row[:5], row[5:])) for row in _find_rectangles(mask, frames, diagonal)]


class Change(NamedTuple):
    """A rectangle in which cells changed (see Region). before, after: the distinct colours of the changed cells."""

    top: int
    left: int
    bottom: int
    right: int
    cells: int
    before: Colours
    after: Colours


def changes(before: Grid, after: Grid) -> list[Change]:
    """Find what differs between two frames of one shape, region by region (8 neighbours), the largest first."""
    return list(map(Change._make, _find_rectangles(before != after, (before, after), diagonal=True)))


def _find_rectangles(mask: Mask, frames: tuple[Grid, ...], diagonal: bool) -> Iterator[Any]:
    """(top, left, bottom, right, cells, colours in each frame) of each region."""
    labels, count = components(mask, diagonal=diagonal, where=mask)
    members = _ComponentCells.from_labels(labels, count)
    order = np.argsort(-members.counts, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(count)
    numbers = np.repeat(rank, members.counts)
    boxes = [column[order].tolist() for column in (*members.find_boxes(), members.counts)]
    return zip(*boxes, *(_list_colours(numbers, frame[members.rows, members.columns], count) for frame in frames), strict=True)


def _list_colours(numbers: Ints, values: Grid, count: int) -> list[Colours]:
    """Distinct values, ascending, for each of the `numbers` 0 .. count - 1."""
    number, value = np.divmod(np.unique(numbers * 256 + values), 256)
    ends = np.cumsum(np.bincount(number, minlength=count)).tolist()
    listed = value.tolist()
    return [tuple(listed[start:end]) for start, end in zip([0, *ends], ends, strict=False)]


# -- text ------------------------------------------------------------------------------------------

_ONE_DIGIT = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
_TWO_DIGITS = np.frombuffer("".join(f"{colour:02x}" for colour in range(256)).encode(), dtype=np.uint8).reshape(256, 2)


def text(frame: Grid) -> str:
    """Format a frame for reading: a line for each run of equal rows, such as `4-7 0033f`, one hexadecimal digit a cell.

    Two digits a cell if there is a colour above 15.
    """
    digits = (_ONE_DIGIT if frame.max() < 16 else _TWO_DIGITS)[frame].reshape(len(frame), -1)
    starts = np.flatnonzero(np.append(True, (frame[1:] != frame[:-1]).any(axis=1))).tolist()
    names = [f"{a}" if b - a == 1 else f"{a}-{b - 1}" for a, b in zip(starts, [*starts[1:], len(frame)], strict=True)]
    width = max(map(len, names))
    return "\n".join(f"{name:>{width}} {digits[row].tobytes().decode()}" for name, row in zip(names, starts, strict=True))


# -- clicks ----------------------------------------------------------------------------------------


class Click(NamedTuple):
    """A place to click one of `alike` identical components, each of so many `cells` of one colour."""

    x: int
    y: int
    colour: int
    cells: int
    alike: int


def clicks(frame: Grid, *, diagonal: bool = False, where: Mask | None = None) -> list[Click]:
    """Find one place to click for each class of components of one shape and colour.

    It is, on the first of them in reading order, the cell nearest to its middle.
    """
    components_found = objects(frame, diagonal=diagonal, where=where)
    _, first, alike = np.unique(components_found.look, return_index=True, return_counts=True)
    order = np.argsort(first)
    first = first[order]
    columns = (
        components_found.column[first],
        components_found.row[first],
        components_found.colour[first],
        components_found.cells[first],
        alike[order],
    )
    return [Click(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
