"""Motion: figures, groups of cells that moved rigidly from one frame to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import gcd
from typing import NamedTuple

import numpy as np

from lawbook.core.record import Frame
from lawbook.minds.induce.types import Cell, Indices, Look, Mask


class Mover(NamedTuple):
    """A figure that stood at (row, col) and stands `move` (rows, columns) further on in the next frame."""

    look: Look
    row: int
    col: int
    move: Cell


MAX_CELLS_PER_COLOUR = 64
"""Changed cells of one colour that are looked at, to see how far they moved."""


def find_movers(before: Frame, after: Frame) -> list[Mover]:
    """Find the figures that may have moved between two frames (H x W uint8 of one shape); none where half of the cells changed.

    A piece (cells of one colour that hang together) moved by v when all of it is found again v further on, and what it left
    shows something else. Pieces that touch and moved alike are one group. A group is offered transparent and filled to its box.
    """
    changed = before != after
    if not changed.any() or changed.sum() > changed.size // 2:
        return []
    movers_by_place: dict[tuple[Look, int, int], Mover] = {}
    for source, target, sign in ((before, after, 1), (after, before, -1)):
        pieces = _find_pieces(source, changed)
        for rows, cols in _find_candidate_moves(source, target, changed):
            moved_pieces = [piece for piece, cells in pieces if _has_moved(piece, cells, (rows, cols), target, source, changed)]
            for group in [*_join_touching_pieces(moved_pieces), *moved_pieces]:
                for filled in (False, True):
                    look, row, col = _extract_look(source, group, filled)
                    # Read backwards, the figure is found where it arrived: where an equal neighbour blurred it before.
                    row, col = (row, col) if sign > 0 else (row + rows, col + cols)
                    movers_by_place.setdefault((look, row, col), Mover(look, row, col, (sign * rows, sign * cols)))
    return list(movers_by_place.values())


def _find_candidate_moves(before: Frame, after: Frame, changed: Mask) -> list[Cell]:
    """The moves that take most changed cells to changed cells of their colour, and the parts of those moves: a figure that moves by
    less than its size leaves at one end and arrives at the other."""
    cells = np.argwhere(changed)
    votes: Counter[Cell] = Counter()
    for colour in np.unique(before[changed]).tolist():
        departures, arrivals = (
            cells[before[changed] == colour][:MAX_CELLS_PER_COLOUR],
            cells[after[changed] == colour][:MAX_CELLS_PER_COLOUR],
        )
        if len(arrivals):
            moves, times = np.unique((arrivals[None] - departures[:, None]).reshape(-1, 2), axis=0, return_counts=True)
            votes.update({(int(r), int(c)): int(n) for (r, c), n in zip(moves, times, strict=True)})
    candidates: list[Cell] = []
    for (rows, cols), _ in votes.most_common(4):
        n_parts = gcd(rows, cols)
        candidates += [(rows // n_parts * k, cols // n_parts * k) for k in range(1, n_parts + 1)]
    return list(dict.fromkeys(candidates))


def _find_pieces(frame: Frame, changed: Mask) -> list[tuple[set[Cell], Indices]]:
    """The pieces of `frame` that hold changed cells, as sets and n x 2 arrays; those of more than a quarter of it are ground."""
    height, width = frame.shape
    colours, limit = frame.tolist(), max(1, frame.size // 4)
    visited: set[Cell] = set()
    pieces = []
    for row, col in np.argwhere(changed).tolist():
        if (row, col) in visited:
            continue
        piece, frontier = {(row, col)}, [(row, col)]
        while frontier:
            r, c = frontier.pop()
            for neighbour in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)):
                inside = 0 <= neighbour[0] < height and 0 <= neighbour[1] < width and neighbour not in piece
                if inside and colours[neighbour[0]][neighbour[1]] == colours[r][c]:
                    piece.add(neighbour)
                    frontier.append(neighbour)
        visited |= piece
        if len(piece) <= limit:
            pieces.append((piece, np.array(sorted(piece))))
    return pieces


def _has_moved(piece: set[Cell], cells: Indices, move: Cell, after: Frame, before: Frame, changed: Mask) -> bool:
    """Is all of the piece found again that far on, and is what it left changed?"""
    target_cells = cells + move
    if target_cells.min() < 0 or (target_cells >= before.shape).any():
        return False
    if (after[target_cells[:, 0], target_cells[:, 1]] != before[cells[0, 0], cells[0, 1]]).any():
        return False
    vacated = piece - {(r, c) for r, c in target_cells.tolist()}
    return bool(vacated) and all(changed[r, c] for r, c in vacated)


def _join_touching_pieces(pieces: Sequence[set[Cell]]) -> list[set[Cell]]:
    """Pieces that touch (corners count), joined."""
    groups: list[set[Cell]] = []
    for piece in pieces:
        neighbourhood = {(r + dr, c + dc) for r, c in piece for dr in (-1, 0, 1) for dc in (-1, 0, 1)}
        joined = piece.union(*(group for group in groups if neighbourhood & group))
        groups = [*(group for group in groups if not neighbourhood & group), joined]
    return groups


def _extract_look(frame: Frame, cells: set[Cell], filled: bool) -> tuple[Look, int, int]:
    rows, cols = [r for r, _ in cells], [c for _, c in cells]
    top, left = min(rows), min(cols)
    return (
        tuple(
            tuple(int(frame[r, c]) if filled or (r, c) in cells else -1 for c in range(left, max(cols) + 1))
            for r in range(top, max(rows) + 1)
        ),
        top,
        left,
    )
