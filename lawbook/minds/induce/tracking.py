"""Where a figure of a known look was, from frame to frame of a trajectory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from lawbook.core.record import Frame, Status, Trajectory
from lawbook.minds.induce.looks import cells_of, find
from lawbook.minds.induce.motion import Cell, Look

Cells = tuple[Any, Any, Any]
"""Rows, columns and colours of a look's own cells, counted from its upper left one, as three arrays."""


class Spot(NamedTuple):
    """Where an avatar is: which of the known looks it has, and its upper left cell. body -1: it is not seen."""

    body: int
    row: int
    col: int


NOWHERE = Spot(-1, -1, -1)


def covers(spot: Spot, cells: Sequence[Cells]) -> set[Cell]:
    """The cells that an avatar there hides."""
    r, c, _ = cells[spot.body]
    return set(zip((spot.row + r).tolist(), (spot.col + c).tolist(), strict=True))


def compared(trajectory: Trajectory) -> Any:
    """The settled frames that a replay is compared with: all but those after a completing or truncated step."""
    ended = bool(trajectory.steps) and trajectory.last.status in (Status.COMPLETED, Status.TRUNCATED)
    return trajectory.settled[: len(trajectory) + 1 - ended]


def track(frames: Any, looks: Sequence[Look], start: Spot | None = None) -> list[Spot]:
    """Where the avatar is in each frame (n x H x W); it is found at the start unless that is given."""
    cells = [cells_of(look) for look in looks]
    spots = [start or _start(frames, looks, cells)]
    strides: set[Cell] = set()
    for before, after in pairwise(frames):
        at = spots[-1]
        if at.body < 0:
            spots.append(_back(after, looks))
        elif _shows(after, at, cells):
            spots.append(at)
        else:
            spots.append(_turned(after, at, cells) or _moved(before, after, at, looks[at.body], cells[at.body], strides))
            if spots[-1].body >= 0:
                strides.add((spots[-1].row - at.row, spots[-1].col - at.col))
    return spots


def _start(frames: Any, looks: Sequence[Look], cells: Sequence[Cells]) -> Spot:
    for body, look in enumerate(looks):
        spots = [Spot(body, row, col) for row, col in find(frames[0], look)]
        if len(spots) > 1:
            # Several figures look like it: it is the one that is gone first.
            for frame in frames[1:]:
                gone = [spot for spot in spots if not _shows(frame, spot, cells)]
                if gone:
                    return gone[0]
        if spots:
            return spots[0]
    return NOWHERE


def _back(frame: Frame, looks: Sequence[Look]) -> Spot:
    """An avatar that was not seen is seen again where there is only one figure like it."""
    for body, look in enumerate(looks):
        back = find(frame, look)
        if len(back) == 1:
            return Spot(body, *back[0])
    return NOWHERE


def _moved(before: Frame, after: Frame, at: Spot, look: Look, cells: Cells, strides: Iterable[Cell]) -> Spot:
    """Where an avatar is that has left its place: where a new figure like it explains most of what changed, else one of its usual
    strides away, onto a figure that looked like it already."""
    old, there = set(find(before, look)), find(after, look)
    usual = {(at.row + rows, at.col + cols) for rows, cols in strides}
    new = [place for place in there if place not in old] or [place for place in there if place in usual]
    if not new:
        return NOWHERE
    changed, (r, c, _) = before != after, cells

    def unexplained(place: Cell) -> tuple[int, int]:
        rest = changed.copy()
        rest[at.row + r, at.col + c] = rest[place[0] + r, place[1] + c] = False
        return int(rest.sum()), abs(place[0] - at.row) + abs(place[1] - at.col)

    return Spot(at.body, *min(new, key=unexplained))


def _turned(frame: Frame, at: Spot, cells: Sequence[Cells]) -> Spot | None:
    """The avatar where it was, with another of its looks."""
    spots = (at._replace(body=body) for body in range(len(cells)) if body != at.body)
    return next((spot for spot in spots if _shows(frame, spot, cells)), None)


def _shows(frame: Frame, spot: Spot, cells: Sequence[Cells]) -> bool:
    r, c, colours = cells[spot.body]
    if spot.row + r[-1] >= frame.shape[0] or spot.col + max(c) >= frame.shape[1]:
        return False
    return bool((frame[spot.row + r, spot.col + c] == colours).all())
