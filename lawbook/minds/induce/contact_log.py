"""A record, seen with the avatar in it: where it was, the ground below it, and what came of everything it met."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import gcd
from typing import Any, NamedTuple

import numpy as np

from lawbook.core.record import Record, Status, Trajectory
from lawbook.minds.induce.avatar_detection import looks_of
from lawbook.minds.induce.law_tables import Laws, named
from lawbook.minds.induce.looks import cells_of
from lawbook.minds.induce.motion import Cell, Look
from lawbook.minds.induce.tracking import NOWHERE, Spot, compared, covers, track
from lawbook.minds.induce.walker import Walker, box, front

Changes = set[tuple[int, int, int]]
"""Cells that show something else than before: (row, col, new colour)."""
STEADY = 0.8
"""Share of its moves that are one and the same for an action that does not go on until something stops it."""
ODD = 2048
"""Changed cells of one step that are looked at; a frame that changes more is learnt by heart anyway."""


class Moment(NamedTuple):
    """What is really there in one frame: the ground, as far as it has ever been seen, the avatar on it, and its mates."""

    ground: bytes
    spot: Spot
    mates: tuple[tuple[int, int, int], ...] = ()


@dataclass
class Meeting:
    """One step of an avatar whose action is known to move it: what it met where, and what came of it.

    ground: before the step; spot: where it would stand after it. paint: cells there that changed, (row, col, colour) counted from
    the spot. whole: everything below it has been seen since, so paint is all of it. far: what changed beyond the patch of ground
    that was met, (row, col, colour).
    """

    step: tuple[int, int]
    action: Any
    ground: bytes
    spot: Spot
    happens: str
    paint: Changes
    whole: bool
    far: Changes = field(default_factory=set)


@dataclass(frozen=True)
class Study:
    """A record, seen with the avatar in it."""

    record: Record
    width: int
    bodies: tuple[Mapping[str, Any], ...]
    under: int | None
    moments: Sequence[Sequence[Moment]]
    hidden: Sequence[Mapping[Cell, int]]
    """Of each trajectory: what came to light below the avatar's first place."""
    meetings: Sequence[Meeting]
    dark: int | None = None
    """The colour of what has not been seen yet; None where everything is shown."""

    def now(self) -> Moment:
        """What is there now; after the end of a trajectory, what was there at its start."""
        return self.moments[-1][0 if self.record.here.closed else -1]


def study(record: Record, blind: bool = False) -> Study:
    """Find the avatar and follow it through the record. blind: there is none to be found."""
    looks = () if blind else looks_of(record)
    cells = [cells_of(look) for look in looks]
    frames = [compared(trajectory) for trajectory in record]
    tracks = _tracks(frames, looks)
    turns = _turns(record, tracks, len(looks))
    bodies = tuple(
        {"look": look, "moves": moves} | ({"turns": turned} if turned else {})
        for look, moves, turned in zip(looks, _moves(record, tracks, len(looks)), turns, strict=True)
    )
    hidden = _hidden(frames, tracks, cells)
    under = _under(frames, tracks, hidden, bodies)
    filler = Walker(Laws(bodies, under=under))
    moments: list[list[Moment]] = []
    meetings: list[Meeting] = []
    for index, trajectory in enumerate(record):
        first = _first(frames[index][0], tracks[index][0], hidden[index], filler)
        grounds, odd = _grounds(first, frames[index], tracks[index], cells)
        moments.append([Moment(*moment) for moment in zip(grounds, tracks[index], strict=True)])
        if hidden[index]:
            # It has stood there, so that can be entered.
            meetings.append(Meeting((index, -1), None, grounds[0], tracks[index][0], "enter", set(), True))
        meetings += _meetings(index, trajectory, moments[-1], odd, bodies, cells)
    return Study(record, frames[0].shape[2], bodies, under, moments, hidden, meetings)


def _moves(record: Record, tracks: Sequence[Sequence[Spot]], bodies: int) -> list[dict[Any, Cell]]:
    """For each look, the usual move of each action that has ever moved it."""
    counted: list[dict[Any, Counter[Cell]]] = [defaultdict(Counter) for _ in range(bodies)]
    for trajectory, spots in zip(record, tracks, strict=True):
        for (action, _), (at, to) in zip(trajectory.steps, pairwise(spots), strict=False):
            if at.body >= 0 and to.body == at.body and to != at:
                counted[at.body][named(action)][to.row - at.row, to.col - at.col] += 1
    return [{action: _step(moves) for action, moves in sorted(seen.items(), key=str)} for seen in counted]


def _step(moves: Counter[Cell]) -> Cell:
    """The commonest move; where it goes one way, but now further and now less far, the step that they are made of."""
    (rows, cols), times = moves.most_common(1)[0]
    length = gcd(rows, cols)
    way = rows // length, cols // length
    lengths = [gcd(*move) for move in moves if (move[0] // gcd(*move), move[1] // gcd(*move)) == way]
    if times >= STEADY * moves.total() or len(lengths) < 2:
        return rows, cols
    return way[0] * gcd(*lengths), way[1] * gcd(*lengths)


def _turns(record: Record, tracks: Sequence[Sequence[Spot]], bodies: int) -> list[dict[Any, int]]:
    """For each look, the look that each action usually turns it into, where it stands."""
    counted: list[dict[Any, Counter[int]]] = [defaultdict(Counter) for _ in range(bodies)]
    for trajectory, spots in zip(record, tracks, strict=True):
        for (action, _), (at, to) in zip(trajectory.steps, pairwise(spots), strict=False):
            if at.body >= 0 and to.body >= 0 and to.body != at.body and to[1:] == at[1:]:
                counted[at.body][named(action)][to.body] += 1
    return [{action: seen.most_common(1)[0][0] for action, seen in sorted(turned.items(), key=str)} for turned in counted]


def _tracks(frames: Sequence[Any], looks: Sequence[Look]) -> list[list[Spot]]:
    """The avatar's track in each trajectory. Equal first frames have it in the same place: where it was seen to leave."""
    if not looks:
        return [[NOWHERE] * len(seen) for seen in frames]
    tracks = [track(seen, looks) for seen in frames]
    starts: dict[bytes, Spot] = {}
    for seen, spots in sorted(zip(frames, tracks, strict=True), key=lambda pair: len(set(pair[1])) == 1):
        starts.setdefault(seen[0].tobytes(), spots[0])
    return [
        spots if spots[0] == (start := starts[seen[0].tobytes()]) else track(seen, looks, start)
        for seen, spots in zip(frames, tracks, strict=True)
    ]


def _hidden(frames: Sequence[Any], tracks: Sequence[Sequence[Spot]], cells: Sequence[Any]) -> list[dict[Cell, int]]:
    """What came to light below the first place of the avatar, as far as it has ever left it: (row, col) -> colour."""
    known: dict[bytes, dict[Cell, int]] = {}
    for seen, spots in zip(frames, tracks, strict=True):
        below = known.setdefault(seen[0].tobytes(), {})
        for cell, colour in _uncovered(seen, spots, cells):
            below.setdefault(cell, colour)
    return [known[seen[0].tobytes()] for seen in frames]


def _uncovered(frames: Any, spots: Sequence[Spot], cells: Sequence[Any]) -> Iterator[tuple[Cell, int]]:
    waiting = covers(spots[0], cells) if spots[0].body >= 0 else set()
    for frame, spot in zip(frames[1:], spots[1:], strict=True):
        if not waiting:
            return
        if spot.body >= 0 and spot != spots[0]:
            bare = waiting - covers(spot, cells)
            yield from ((cell, int(frame[cell])) for cell in bare)
            waiting -= bare


def _under(
    frames: Sequence[Any], tracks: Sequence[Sequence[Spot]], hidden: Sequence[Mapping[Cell, int]], bodies: Any
) -> int | None:
    """What lies below the avatar at the start: None (what surrounds it) where that fits as often as the commonest single colour."""
    walker, fits, colours = Walker(Laws(bodies)), 0, Counter[int]()
    for seen, spots, below in zip(frames, tracks, hidden, strict=True):
        if below and len(found := set(below.values())) == 1:
            colours.update(found)
            fits += walker.surrounding(seen[0], *spots[0]) in found
    colour, times = colours.most_common(1)[0] if colours else (None, 0)
    return colour if times > fits else None


def _first(frame: Any, at: Spot, hidden: Mapping[Cell, int], filler: Walker) -> Any:
    """The first ground: the first frame without the avatar."""
    ground = np.array(frame)
    if at.body >= 0:
        r, c, _ = filler.cells[at.body]
        under = filler.laws.under
        ground[at.row + r, at.col + c] = filler.surrounding(frame, *at) if under is None else under
        for cell, colour in hidden.items():
            ground[cell] = colour
    return ground


def _grounds(first: Any, frames: Any, spots: Sequence[Spot], cells: Sequence[Any]) -> tuple[list[bytes], list[Changes]]:
    """The ground in every frame, and for every step the cells that show something else than the ground before."""
    ground, grounds, odd = np.array(first), [first.tobytes()], []
    for frame, spot in zip(frames[1:], spots[1:], strict=True):
        seen = np.array(frame)
        if spot.body >= 0:
            r, c, _ = cells[spot.body]
            seen[spot.row + r, spot.col + c] = ground[spot.row + r, spot.col + c]
        new = np.argwhere(seen != ground)
        odd.append({(int(r), int(c), int(seen[r, c])) for r, c in new[:ODD]})
        grounds.append(seen.tobytes() if len(new) else grounds[-1])
        ground = seen
    return grounds, odd


def _meetings(
    index: int, trajectory: Trajectory, moments: Sequence[Moment], odd: Sequence[Changes], bodies: Any, cells: Any
) -> Iterator[Meeting]:
    entered: Meeting | None = None
    for step, (action, observation) in enumerate(trajectory.steps):
        (ground, at, _), to = moments[step], moments[step + 1].spot if step + 1 < len(moments) else NOWHERE
        move = bodies[at.body]["moves"].get(named(action)) if at.body >= 0 else None
        if observation.status is Status.TRUNCATED:
            return
        ahead = None
        if at.body >= 0 and named(action) not in bodies[at.body].get("turns", ()):
            ahead = front(bodies, at.body)
        if move is None and ahead is not None and to == at and observation.status is Status.RUNNING:
            aim = Spot(at.body, at.row + ahead[0], at.col + ahead[1])
            own, far = _near(odd[step] if step < len(odd) else set(), aim, box(bodies[at.body]))
            yield Meeting((index, step), named(action), ground, aim, "act", own, True, far)
        if move is None:
            entered = entered if to == at else None
            continue
        aim = Spot(at.body, at.row + move[0], at.col + move[1])
        happens = _happens(observation.status, at, aim, to)
        if happens is None and to.body != at.body:
            entered = None
            continue
        changes = odd[step] if step < len(odd) else set()
        if entered is not None and to != at:
            below = covers(at, cells)
            came = {change for change in changes if change[:2] in below}
            entered.paint |= {(row - entered.spot.row, col - entered.spot.col, colour) for row, col, colour in came}
            entered.whole = True
            changes = changes - came
        if happens is None:
            on, entered = _on((index, step), named(action), ground, at, move, to, changes, box(bodies[at.body]))
            yield from on
            continue
        wide = trajectory.first.frame.shape[1]
        paint, far = _near(changes, aim, box(bodies[at.body]))
        if happens == "enter" and _pushed(ground, wide, aim, move, box(bodies[at.body]), changes):
            happens, far = "push", set()
        meeting = Meeting((index, step), named(action), ground, aim, happens, paint, happens not in ("enter", "push"), far)
        if to != at:
            entered = meeting if happens in ("enter", "push") else None
        yield meeting


def _on(
    step: tuple[int, int], action: Any, ground: bytes, at: Spot, move: Cell, to: Spot, changes: Changes, patch: Any
) -> tuple[list[Meeting], Meeting | None]:
    """What was met by an avatar that went on beyond where its action takes it, and what it entered last: it slid the same way, or
    was carried from where it had got to."""
    times = max((to.row - at.row) // move[0] if move[0] else 0, (to.col - at.col) // move[1] if move[1] else 0)
    if times > 1 and (at.row + times * move[0], at.col + times * move[1]) == to[1:]:
        spots = [Spot(at.body, at.row + k * move[0], at.col + k * move[1]) for k in range(1, times + 1)]
        met = [
            Meeting(step, action, ground, spot, "slide" if spot != to else "enter", _near(changes, spot, patch)[0], spot != to)
            for spot in spots
        ]
        return met, met[-1]
    aim = Spot(at.body, at.row + move[0], at.col + move[1])
    paint, far = _near(changes, aim, patch)
    return [Meeting(step, action, ground, aim, f"carry {to.row - aim.row} {to.col - aim.col}", paint, True, far)], None


def _near(changes: Changes, aim: Spot, patch: tuple[int, int, int, int]) -> tuple[Changes, Changes]:
    """(changes within the patch that was met, counted from where the avatar would stand; all the others)."""
    top, left, height, width = patch
    near, far = set[tuple[int, int, int]](), set[tuple[int, int, int]]()
    for row, col, colour in changes:
        r, c = row - aim.row, col - aim.col
        if 0 <= r - top < height and 0 <= c - left < width:
            near.add((r, c, colour))
        else:
            far.add((row, col, colour))
    return near, far


def _pushed(ground: bytes, wide: int, aim: Spot, move: Cell, patch: tuple[int, int, int, int], changes: Changes) -> bool:
    """Does what stood where the avatar went stand one move further on now? ground: before the step, `wide` cells a row."""
    top, left, height, width = patch
    top, left = top + aim.row + move[0], left + aim.col + move[1]
    there = [(r, c, colour) for r, c, colour in changes if 0 <= r - top < height and 0 <= c - left < width]
    return bool(there) and all(ground[(r - move[0]) * wide + c - move[1]] == colour for r, c, colour in there)


def _happens(status: Status, at: Spot, aim: Spot, to: Spot) -> str | None:
    """What came of a contact, or None where no law of contacts says such a thing."""
    if status is Status.COMPLETED:
        return "win"
    if status is Status.OVER:
        return {aim: "die", at: "die outside", NOWHERE: "die vanishing"}.get(to)
    return {aim: "enter", at: "stop"}.get(to)
