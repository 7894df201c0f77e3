"""What is seen: groups of cells that moved rigidly between two frames, and the track of an avatar through a trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from lawbook.minds.induce.walker import find
from lawbook.record import Frame, Status, Trajectory

Look = tuple[tuple[int, ...], ...]
"""Rows of colours; -1 where the figure is transparent."""
Cell = tuple[int, int]


class Mover(NamedTuple):
    """A figure that stood at (row, col) and stands `move` (rows, columns) further on in the next frame."""

    look: Look
    row: int
    col: int
    move: Cell


class Spot(NamedTuple):
    """Where an avatar is: which of the known looks it has, and its upper left cell. body -1: it is not seen."""

    body: int
    row: int
    col: int


NOWHERE = Spot(-1, -1, -1)


def movers(before: Frame, after: Frame) -> list[Mover]:
    """Figures that may have moved, the whole rigid groups first.

    A piece (cells of one colour that hang together) moved by v when all of it is found again v further on, and what it left
    shows something else. Pieces that touch and moved alike are one group. A group is offered transparent and filled to its box.
    """
    changed = before != after
    if not changed.any() or changed.sum() > changed.size // 2:
        return []
    found: dict[tuple[Look, int, int], Mover] = {}
    for source, target, sign in ((before, after, 1), (after, before, -1)):
        pieces = [(cells, move) for cells in _pieces(source, changed) if (move := _moved(cells, source, target, changed))]
        for group, (rows, cols) in [*_groups(pieces), *pieces]:
            for filled in (False, True):
                look, row, col = _look(source, group, filled)
                # Read backwards, the figure is found where it arrived: where an equal neighbour blurred it before.
                row, col = (row, col) if sign > 0 else (row + rows, col + cols)
                found.setdefault((look, row, col), Mover(look, row, col, (sign * rows, sign * cols)))
    return list(found.values())


def _pieces(frame: Frame, changed: Any) -> list[set[Cell]]:
    """The pieces of `frame` that hold changed cells, ground (pieces of more than a quarter of the frame) left out."""
    height, width = frame.shape
    colours, limit = frame.tolist(), max(1, frame.size // 4)
    seen: set[Cell] = set()
    pieces = []
    for row, col in np.argwhere(changed).tolist():
        if (row, col) in seen:
            continue
        piece, fringe = {(row, col)}, [(row, col)]
        while fringe:
            r, c = fringe.pop()
            for near in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)):
                if 0 <= near[0] < height and 0 <= near[1] < width and near not in piece:
                    if colours[near[0]][near[1]] == colours[r][c]:
                        piece.add(near)
                        fringe.append(near)
        seen |= piece
        if len(piece) <= limit:
            pieces.append(piece)
    return pieces


def _moved(piece: set[Cell], before: Frame, after: Frame, changed: Any) -> Cell | None:
    """The shortest move that takes the piece from `before` to `after`, or None."""
    cells = np.array(sorted(piece))
    colour = before[cells[0, 0], cells[0, 1]]
    arrived = np.argwhere(changed & (after == colour))
    if not len(arrived) or not changed[cells[:, 0], cells[:, 1]].any():
        return None
    moves = arrived[0] - cells
    for move in moves[np.argsort(np.abs(moves).sum(1), kind="stable")]:
        there = cells + move
        if there.min() < 0 or (there >= before.shape).any() or (after[there[:, 0], there[:, 1]] != colour).any():
            continue
        left = piece - {(r, c) for r, c in there.tolist()}
        if left and all(changed[r, c] for r, c in left):
            return int(move[0]), int(move[1])
    return None


def _groups(pieces: Sequence[tuple[set[Cell], Cell]]) -> list[tuple[set[Cell], Cell]]:
    """Pieces that moved alike and touch (corners count), joined."""
    groups: list[tuple[set[Cell], Cell]] = []
    for cells, move in pieces:
        near = {(r + dr, c + dc) for r, c in cells for dr in (-1, 0, 1) for dc in (-1, 0, 1)}
        joined, apart = set(cells), []
        for group, same in groups:
            if same == move and near & group:
                joined |= group
            else:
                apart.append((group, same))
        groups = [*apart, (joined, move)]
    return groups


def _look(frame: Frame, cells: set[Cell], filled: bool) -> tuple[Look, int, int]:
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


def cells_of(look: Look) -> tuple[Any, Any, Any]:
    """Rows, columns and colours of a look's own cells, as three arrays."""
    cells = [(r, c, colour) for r, line in enumerate(look) for c, colour in enumerate(line) if colour >= 0]
    rows, cols, colours = np.array(cells).T
    return rows, cols, colours


def compared(trajectory: Trajectory) -> Any:
    """The settled frames that a replay is compared with: all but those after a completing or truncated step."""
    ended = bool(trajectory.steps) and trajectory.last.status in (Status.COMPLETED, Status.TRUNCATED)
    return trajectory.settled[: len(trajectory) + 1 - ended]


def track(frames: Any, looks: Sequence[Look], start: Spot | None = None) -> list[Spot]:
    """Where the avatar is in each frame (n x H x W); it is found at the start unless that is given."""
    cells = [cells_of(look) for look in looks]
    spots = [start or _start(frames, looks, cells)]
    for before, after in pairwise(frames):
        spots.append(_next(before, after, spots[-1], looks, cells))
    return spots


def shows(frame: Frame, spot: Spot, cells: Sequence[tuple[Any, Any, Any]]) -> bool:
    r, c, colours = cells[spot.body]
    return bool((frame[spot.row + r, spot.col + c] == colours).all())


def _start(frames: Any, looks: Sequence[Look], cells: Sequence[tuple[Any, Any, Any]]) -> Spot:
    for body, look in enumerate(looks):
        spots = [Spot(body, row, col) for row, col in find(frames[0], look)]
        if len(spots) > 1:
            # Several figures look like it: it is the one that is gone first.
            for frame in frames[1:]:
                gone = [spot for spot in spots if not shows(frame, spot, cells)]
                if gone:
                    return gone[0]
        if spots:
            return spots[0]
    return NOWHERE


def _next(before: Frame, after: Frame, at: Spot, looks: Sequence[Look], cells: Sequence[tuple[Any, Any, Any]]) -> Spot:
    if at.body < 0:
        for body, look in enumerate(looks):
            back = [Spot(body, row, col) for row, col in find(after, look)]
            if len(back) == 1:
                return back[0]
        return NOWHERE
    if shows(after, at, cells):
        return at
    old = set(find(before, looks[at.body]))
    new = [Spot(at.body, *place) for place in find(after, looks[at.body]) if place not in old]
    if not new:
        return NOWHERE
    changed = before != after
    rows, cols, _ = cells[at.body]

    def unexplained(spot: Spot) -> tuple[int, int]:
        rest = changed.copy()
        rest[at.row + rows, at.col + cols] = rest[spot.row + rows, spot.col + cols] = False
        return int(rest.sum()), abs(spot.row - at.row) + abs(spot.col - at.col)

    return min(new, key=unexplained)
