"""A record, seen with the avatar in it: where it was, the ground below it, and what came of everything it met."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import gcd
from typing import NamedTuple

import numpy as np

from lawbook.core.record import Record, Status, Trajectory
from lawbook.minds.induce.avatar_detection import find_avatar_looks
from lawbook.minds.induce.law_tables import Laws, name_action
from lawbook.minds.induce.looks import cells_of
from lawbook.minds.induce.tracking import NOWHERE, Spot, find_covered_cells, select_compared_frames, track
from lawbook.minds.induce.types import ActionName, Body, Box, Cell, CellChanges, ColouredCell, Figure, Frames, Grid, Look, LookCells
from lawbook.minds.induce.walker import Walker, box, front

MIN_STEADY_SHARE = 0.8
"""Share of its moves that are one and the same for an action that does not go on until something stops it."""
MAX_CHANGED_CELLS = 2048
"""Changed cells of one step that are looked at; a frame that changes more is learnt by heart anyway."""


class TrackedFrame(NamedTuple):
    """All that is really there in one frame: the ground, as far as it has ever been seen, the avatar on it, and its mates."""

    ground: bytes
    spot: Spot
    mates: tuple[Figure, ...] = ()


@dataclass
class ContactEvent:
    """One step of an avatar whose action is known to move it: what it met where, and what came of it.

    step: (index of the trajectory, of its step; -1: where it stood at the start). ground: before the step, H x W uint8 as bytes;
    spot: where it would stand after it. paint: cells there that changed, counted from the spot. is_fully_seen: everything below it
    has been seen since, so paint is all of it. remote_changes: beyond the patch of ground that was met.
    """

    step: tuple[int, int]
    action: ActionName | None
    ground: bytes
    spot: Spot
    outcome: str
    paint: CellChanges
    is_fully_seen: bool
    remote_changes: CellChanges = field(default_factory=set)


@dataclass(frozen=True)
class RecordAnalysis:
    """A record, seen with the avatar in it."""

    record: Record
    width: int
    bodies: tuple[Body, ...]
    under: int | None
    tracked_frames: Sequence[Sequence[TrackedFrame]]
    uncovered_cells: Sequence[Mapping[Cell, int]]
    """Of each trajectory: what came to light below the avatar's first place."""
    contact_events: Sequence[ContactEvent]
    dark_colour: int | None = None
    """The colour of what has not been seen yet; None where everything is shown."""

    def get_current_frame(self) -> TrackedFrame:
        """Return what is there now; after the end of a trajectory, what was there at its start."""
        return self.tracked_frames[-1][0 if self.record.current.is_closed else -1]


def analyse_avatar(record: Record, blind: bool = False) -> RecordAnalysis:
    """Find the avatar and follow it through the record. blind: there is none to be found."""
    looks = () if blind else find_avatar_looks(record)
    cells = [cells_of(look) for look in looks]
    frames = [select_compared_frames(trajectory) for trajectory in record]
    tracks = _track_trajectories(frames, looks)
    turns = _learn_turns(record, tracks, len(looks))
    bodies = tuple(
        Body(look=look, moves=moves, turns=look_turns) if look_turns else Body(look=look, moves=moves)
        for look, moves, look_turns in zip(looks, _learn_moves(record, tracks, len(looks)), turns, strict=True)
    )
    uncovered_cells = _find_hidden_cells(frames, tracks, cells)
    under = _infer_under_colour(frames, tracks, uncovered_cells, bodies)
    walker = Walker(Laws(bodies, under=under))
    tracked_frames: list[list[TrackedFrame]] = []
    contact_events: list[ContactEvent] = []
    for index, trajectory in enumerate(record):
        first_ground = _build_first_ground(frames[index][0], tracks[index][0], uncovered_cells[index], walker)
        grounds, step_changes = _build_grounds(first_ground, frames[index], tracks[index], cells)
        tracked_frames.append([TrackedFrame(*fields) for fields in zip(grounds, tracks[index], strict=True)])
        if uncovered_cells[index]:
            # It has stood there, so that can be entered.
            contact_events.append(ContactEvent((index, -1), None, grounds[0], tracks[index][0], "enter", set(), True))
        contact_events += _find_contact_events(index, trajectory, tracked_frames[-1], step_changes, bodies, cells)
    return RecordAnalysis(record, frames[0].shape[2], bodies, under, tracked_frames, uncovered_cells, contact_events)


def _learn_moves(record: Record, tracks: Sequence[Sequence[Spot]], n_bodies: int) -> list[dict[ActionName, Cell]]:
    """For each look, the usual move of each action that has ever moved it."""
    counts: list[dict[ActionName, Counter[Cell]]] = [defaultdict(Counter) for _ in range(n_bodies)]
    for trajectory, spots in zip(record, tracks, strict=True):
        for (action, _), (start_spot, end_spot) in zip(trajectory.steps, pairwise(spots), strict=False):
            if start_spot.body >= 0 and end_spot.body == start_spot.body and end_spot != start_spot:
                counts[start_spot.body][name_action(action)][end_spot.row - start_spot.row, end_spot.col - start_spot.col] += 1
    return [{action: _find_stride(moves) for action, moves in sorted(action_moves.items(), key=str)} for action_moves in counts]


def _find_stride(moves: Counter[Cell]) -> Cell:
    """The commonest move; where it goes one way, but now further and now less far, the step that they are made of."""
    (rows, cols), times = moves.most_common(1)[0]
    length = gcd(rows, cols)
    direction = rows // length, cols // length
    lengths = [gcd(*move) for move in moves if (move[0] // gcd(*move), move[1] // gcd(*move)) == direction]
    if times >= MIN_STEADY_SHARE * moves.total() or len(lengths) < 2:
        return rows, cols
    return direction[0] * gcd(*lengths), direction[1] * gcd(*lengths)


def _learn_turns(record: Record, tracks: Sequence[Sequence[Spot]], n_bodies: int) -> list[dict[ActionName, int]]:
    """For each look, the look that each action usually turns it into, where it stands."""
    counts: list[dict[ActionName, Counter[int]]] = [defaultdict(Counter) for _ in range(n_bodies)]
    for trajectory, spots in zip(record, tracks, strict=True):
        for (action, _), (start_spot, end_spot) in zip(trajectory.steps, pairwise(spots), strict=False):
            if start_spot.body >= 0 and end_spot.body >= 0 and end_spot.body != start_spot.body and end_spot[1:] == start_spot[1:]:
                counts[start_spot.body][name_action(action)][end_spot.body] += 1
    return [
        {action: look_counts.most_common(1)[0][0] for action, look_counts in sorted(action_turns.items(), key=str)}
        for action_turns in counts
    ]


def _track_trajectories(frames: Sequence[Frames], looks: Sequence[Look]) -> list[list[Spot]]:
    """The avatar's track in each trajectory. Equal first frames have it in the same place: where it was seen to leave."""
    if not looks:
        return [[NOWHERE] * len(stack) for stack in frames]
    tracks = [track(stack, looks) for stack in frames]
    starts: dict[bytes, Spot] = {}
    for stack, spots in sorted(zip(frames, tracks, strict=True), key=lambda pair: len(set(pair[1])) == 1):
        starts.setdefault(stack[0].tobytes(), spots[0])
    return [
        spots if spots[0] == (start := starts[stack[0].tobytes()]) else track(stack, looks, start)
        for stack, spots in zip(frames, tracks, strict=True)
    ]


def _find_hidden_cells(
    frames: Sequence[Frames], tracks: Sequence[Sequence[Spot]], cells: Sequence[LookCells]
) -> list[dict[Cell, int]]:
    """Find what came to light below the first place of the avatar, as far as it has ever left it: (row, col) -> colour."""
    known_cells: dict[bytes, dict[Cell, int]] = {}
    for stack, spots in zip(frames, tracks, strict=True):
        below = known_cells.setdefault(stack[0].tobytes(), {})
        for cell, colour in _find_uncovered_cells(stack, spots, cells):
            below.setdefault(cell, colour)
    return [known_cells[stack[0].tobytes()] for stack in frames]


def _find_uncovered_cells(frames: Frames, spots: Sequence[Spot], cells: Sequence[LookCells]) -> Iterator[tuple[Cell, int]]:
    covered = find_covered_cells(spots[0], cells) if spots[0].body >= 0 else set()
    for frame, spot in zip(frames[1:], spots[1:], strict=True):
        if not covered:
            return
        if spot.body >= 0 and spot != spots[0]:
            uncovered = covered - find_covered_cells(spot, cells)
            yield from ((cell, int(frame[cell])) for cell in uncovered)
            covered -= uncovered


def _infer_under_colour(
    frames: Sequence[Frames], tracks: Sequence[Sequence[Spot]], hidden: Sequence[Mapping[Cell, int]], bodies: tuple[Body, ...]
) -> int | None:
    """Infer what lies below the avatar at first: None (what surrounds it) if that fits as often as the commonest colour."""
    walker, n_fits, colours = Walker(Laws(bodies)), 0, Counter[int]()
    for stack, spots, below in zip(frames, tracks, hidden, strict=True):
        if below and len(below_colours := set(below.values())) == 1:
            colours.update(below_colours)
            n_fits += walker.surrounding(stack[0], *spots[0]) in below_colours
    colour, times = colours.most_common(1)[0] if colours else (None, 0)
    return colour if times > n_fits else None


def _build_first_ground(frame: Grid, spot: Spot, hidden: Mapping[Cell, int], filler: Walker) -> Grid:
    """The first ground: the first frame without the avatar."""
    ground = np.array(frame)
    if spot.body >= 0:
        r, c, _ = filler.cells[spot.body]
        under = filler.laws.under
        ground[spot.row + r, spot.col + c] = filler.surrounding(frame, *spot) if under is None else under
        for cell, colour in hidden.items():
            ground[cell] = colour
    return ground


def _build_grounds(
    first_ground: Grid, frames: Frames, spots: Sequence[Spot], cells: Sequence[LookCells]
) -> tuple[list[bytes], list[CellChanges]]:
    """The ground in every frame, and for every step the cells that show something else than the ground before."""
    ground, grounds, step_changes = np.array(first_ground), [first_ground.tobytes()], []
    for frame, spot in zip(frames[1:], spots[1:], strict=True):
        next_ground = np.array(frame)
        if spot.body >= 0:
            r, c, _ = cells[spot.body]
            next_ground[spot.row + r, spot.col + c] = ground[spot.row + r, spot.col + c]
        changed_cells = np.argwhere(next_ground != ground)
        step_changes.append({(int(r), int(c), int(next_ground[r, c])) for r, c in changed_cells[:MAX_CHANGED_CELLS]})
        grounds.append(next_ground.tobytes() if len(changed_cells) else grounds[-1])
        ground = next_ground
    return grounds, step_changes


def _find_contact_events(
    index: int,
    trajectory: Trajectory,
    tracked_frames: Sequence[TrackedFrame],
    step_changes: Sequence[CellChanges],
    bodies: Sequence[Body],
    cells: Sequence[LookCells],
) -> Iterator[ContactEvent]:
    entered_event: ContactEvent | None = None
    for step, (action, observation) in enumerate(trajectory.steps):
        (ground, start_spot, _), end_spot = (
            tracked_frames[step],
            tracked_frames[step + 1].spot if step + 1 < len(tracked_frames) else NOWHERE,
        )
        move = bodies[start_spot.body]["moves"].get(name_action(action)) if start_spot.body >= 0 else None
        if observation.status is Status.TRUNCATED:
            return
        ahead = None
        if start_spot.body >= 0 and name_action(action) not in bodies[start_spot.body].get("turns", ()):
            ahead = front(bodies, start_spot.body)
        if move is None and ahead is not None and end_spot == start_spot and observation.status is Status.RUNNING:
            target_spot = Spot(start_spot.body, start_spot.row + ahead[0], start_spot.col + ahead[1])
            near_changes, far_changes = _split_changes(
                step_changes[step] if step < len(step_changes) else set(), target_spot, box(bodies[start_spot.body])
            )
            yield ContactEvent((index, step), name_action(action), ground, target_spot, "act", near_changes, True, far_changes)
        if move is None:
            entered_event = entered_event if end_spot == start_spot else None
            continue
        target_spot = Spot(start_spot.body, start_spot.row + move[0], start_spot.col + move[1])
        outcome = _classify_outcome(observation.status, start_spot, target_spot, end_spot)
        if outcome is None and end_spot.body != start_spot.body:
            entered_event = None
            continue
        changes = step_changes[step] if step < len(step_changes) else set()
        if entered_event is not None and end_spot != start_spot:
            covered = find_covered_cells(start_spot, cells)
            uncovered = {change for change in changes if change[:2] in covered}
            entered_event.paint |= {
                (row - entered_event.spot.row, col - entered_event.spot.col, colour) for row, col, colour in uncovered
            }
            entered_event.is_fully_seen = True
            changes = changes - uncovered
        if outcome is None:
            continued_events, entered_event = _find_continued_contacts(
                (index, step), name_action(action), ground, start_spot, move, end_spot, changes, box(bodies[start_spot.body])
            )
            yield from continued_events
            continue
        ground_width = trajectory.first.frame.shape[1]
        paint, far_changes = _split_changes(changes, target_spot, box(bodies[start_spot.body]))
        if outcome == "enter" and _is_push(ground, ground_width, target_spot, move, box(bodies[start_spot.body]), changes):
            outcome, far_changes = "push", set()
        event = ContactEvent(
            (index, step), name_action(action), ground, target_spot, outcome, paint, outcome not in ("enter", "push"), far_changes
        )
        if end_spot != start_spot:
            entered_event = event if outcome in ("enter", "push") else None
        yield event


def _find_continued_contacts(
    step: tuple[int, int],
    action: ActionName,
    ground: bytes,
    start_spot: Spot,
    move: Cell,
    end_spot: Spot,
    changes: CellChanges,
    patch: Box,
) -> tuple[list[ContactEvent], ContactEvent | None]:
    """Find what was met by an avatar that went on beyond where its action takes it, and what it entered last: it slid the same
    way, or was carried from where it had got to."""
    times = max(
        (end_spot.row - start_spot.row) // move[0] if move[0] else 0, (end_spot.col - start_spot.col) // move[1] if move[1] else 0
    )
    if times > 1 and (start_spot.row + times * move[0], start_spot.col + times * move[1]) == end_spot[1:]:
        spots = [Spot(start_spot.body, start_spot.row + k * move[0], start_spot.col + k * move[1]) for k in range(1, times + 1)]
        events = [
            ContactEvent(
                step,
                action,
                ground,
                spot,
                "slide" if spot != end_spot else "enter",
                _split_changes(changes, spot, patch)[0],
                spot != end_spot,
            )
            for spot in spots
        ]
        return events, events[-1]
    target_spot = Spot(start_spot.body, start_spot.row + move[0], start_spot.col + move[1])
    paint, far_changes = _split_changes(changes, target_spot, patch)
    return [
        ContactEvent(
            step,
            action,
            ground,
            target_spot,
            f"carry {end_spot.row - target_spot.row} {end_spot.col - target_spot.col}",
            paint,
            True,
            far_changes,
        )
    ], None


def _split_changes(changes: CellChanges, target_spot: Spot, patch: Box) -> tuple[CellChanges, CellChanges]:
    """(changes within the patch that was met, counted from where the avatar would stand; all the others)."""
    top, left, height, width = patch
    near_changes, far_changes = set[ColouredCell](), set[ColouredCell]()
    for row, col, colour in changes:
        r, c = row - target_spot.row, col - target_spot.col
        if 0 <= r - top < height and 0 <= c - left < width:
            near_changes.add((r, c, colour))
        else:
            far_changes.add((row, col, colour))
    return near_changes, far_changes


def _is_push(ground: bytes, ground_width: int, target_spot: Spot, move: Cell, patch: Box, changes: CellChanges) -> bool:
    """Does what stood where the avatar went stand one move further on now? ground: before the step, `wide` cells a row."""
    top, left, height, width = patch
    top, left = top + target_spot.row + move[0], left + target_spot.col + move[1]
    moved_cells = [(r, c, colour) for r, c, colour in changes if 0 <= r - top < height and 0 <= c - left < width]
    sources = [((r - move[0]) * ground_width + c - move[1], colour) for r, c, colour in moved_cells]
    return bool(sources) and all(source < len(ground) and ground[source] == colour for source, colour in sources)


def _classify_outcome(status: Status, start_spot: Spot, target_spot: Spot, end_spot: Spot) -> str | None:
    """Name what came of a contact, or None where no law of contacts says such a thing."""
    if status is Status.COMPLETED:
        return "win"
    if status is Status.OVER:
        return {target_spot: "die", start_spot: "die outside", NOWHERE: "die vanishing"}.get(end_spot)
    return {target_spot: "enter", start_spot: "stop"}.get(end_spot)
