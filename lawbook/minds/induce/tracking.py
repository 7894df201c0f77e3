"""Tracking: where a figure of a known look was, from frame to frame of a trajectory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from lawbook.core.record import Frame, Status, Trajectory
from lawbook.minds.induce.looks import cells_of, find
from lawbook.minds.induce.types import Cell, Frames, Look, LookCells


class Spot(NamedTuple):
    """The place of an avatar: which of the known looks it has, and its upper left cell. body -1: it is not seen."""

    body: int
    row: int
    col: int


NOWHERE = Spot(-1, -1, -1)


def find_covered_cells(spot: Spot, cells: Sequence[LookCells]) -> set[Cell]:
    """Return the cells (row, col) that an avatar there hides."""
    r, c, _ = cells[spot.body]
    return set(zip((spot.row + r).tolist(), (spot.col + c).tolist(), strict=True))


def select_compared_frames(trajectory: Trajectory) -> Frames:
    """Return the settled frames that a replay is compared with, n x H x W uint8: not those after a completing or truncated step."""
    ended = bool(trajectory.steps) and trajectory.last.status in (Status.COMPLETED, Status.TRUNCATED)
    return trajectory.settled_frames[: len(trajectory) + 1 - ended]


def track(frames: Frames, looks: Sequence[Look], start: Spot | None = None) -> list[Spot]:
    """Find the avatar in each frame (n x H x W); where it is at the start too, unless that is given."""
    cells = [cells_of(look) for look in looks]
    spots = [start or _find_start(frames, looks, cells)]
    strides: set[Cell] = set()
    for before, after in pairwise(frames):
        previous = spots[-1]
        if previous.body < 0:
            spots.append(_find_unique_figure(after, looks))
        elif _is_shown(after, previous, cells):
            spots.append(previous)
        else:
            spots.append(
                _find_turned_avatar(after, previous, cells)
                or _find_moved_avatar(before, after, previous, looks[previous.body], cells[previous.body], strides)
            )
            if spots[-1].body >= 0:
                strides.add((spots[-1].row - previous.row, spots[-1].col - previous.col))
    return spots


def _find_start(frames: Frames, looks: Sequence[Look], cells: Sequence[LookCells]) -> Spot:
    for body, look in enumerate(looks):
        spots = [Spot(body, row, col) for row, col in find(frames[0], look)]
        if len(spots) > 1:
            # Several figures look like it: it is the one that is gone first.
            for frame in frames[1:]:
                vanished_spots = [spot for spot in spots if not _is_shown(frame, spot, cells)]
                if vanished_spots:
                    return vanished_spots[0]
        if spots:
            return spots[0]
    return NOWHERE


def _find_unique_figure(frame: Frame, looks: Sequence[Look]) -> Spot:
    """An avatar that was not seen is seen again where there is only one figure like it."""
    for body, look in enumerate(looks):
        places = find(frame, look)
        if len(places) == 1:
            return Spot(body, *places[0])
    return NOWHERE


def _find_moved_avatar(before: Frame, after: Frame, previous: Spot, look: Look, cells: LookCells, strides: Iterable[Cell]) -> Spot:
    """Find an avatar that has left its place: where a new figure like it explains most of what changed, else one of its usual
    strides away, onto a figure that looked like it already."""
    old_places, places = set(find(before, look)), find(after, look)
    stride_places = {(previous.row + rows, previous.col + cols) for rows, cols in strides}
    candidates = [place for place in places if place not in old_places] or [place for place in places if place in stride_places]
    if not candidates:
        return NOWHERE
    changed, (r, c, _) = before != after, cells

    def rank_place(place: Cell) -> tuple[int, int]:
        unexplained = changed.copy()
        unexplained[previous.row + r, previous.col + c] = unexplained[place[0] + r, place[1] + c] = False
        return int(unexplained.sum()), abs(place[0] - previous.row) + abs(place[1] - previous.col)

    return Spot(previous.body, *min(candidates, key=rank_place))


def _find_turned_avatar(frame: Frame, previous: Spot, cells: Sequence[LookCells]) -> Spot | None:
    """The avatar where it was, with another of its looks."""
    spots = (previous._replace(body=body) for body in range(len(cells)) if body != previous.body)
    return next((spot for spot in spots if _is_shown(frame, spot, cells)), None)


def _is_shown(frame: Frame, spot: Spot, cells: Sequence[LookCells]) -> bool:
    r, c, colours = cells[spot.body]
    if spot.row + r[-1] >= frame.shape[0] or spot.col + max(c) >= frame.shape[1]:
        return False
    return bool((frame[spot.row + r, spot.col + c] == colours).all())
