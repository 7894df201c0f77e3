"""What is held to be true: the avatar's moves, what its contacts do, what the goal is; and the rivals the record cannot tell apart."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from lawbook.minds.induce.avatar import looks_of
from lawbook.minds.induce.perceive import NOWHERE, Cell, Look, Spot, cells_of, compared, track
from lawbook.minds.induce.walker import Walker, box
from lawbook.record import Record, Status, Trajectory

Contact = tuple[Any, ...]
"""Descriptions of what is met, the most particular first: exact patch, shape of the figure in it, its colours; or edge, or floor."""
Effect = tuple[str, tuple[tuple[int, int, int], ...]]
"""What happens (enter, stop, win, die, die outside, die vanishing), and what is painted there: (row, col, colour)."""
DESCRIPTIONS = ("colour", "shape", "exact")
"""Ways to say what it is that completes or ends a level, the shortest first."""
GUESSES = 8
"""How many guesses at the goal are kept as rivals."""
FAR = 1 << 30


@dataclass(frozen=True)
class Laws:
    """The tables of one program; `Walker` says what each means."""

    bodies: tuple[Mapping[str, Any], ...] = ()
    floor: tuple[int, ...] = ()
    under: int | None = None
    contacts: Mapping[Any, Effect] = field(default_factory=dict)
    guess: Any = None
    starts: Mapping[int, Any] = field(default_factory=dict)
    places: Mapping[Any, Any] = field(default_factory=dict)
    histories: tuple[Any, ...] = ()


class Moment(NamedTuple):
    """What is really there in one frame: the ground, as far as it has ever been seen, and the avatar on it."""

    ground: bytes
    spot: Spot


@dataclass
class Meeting:
    """One step of an avatar whose action is known to move it: what it met where, and what came of it.

    ground: before the step; spot: where it would stand after it. paint: cells there that changed, (row, col, colour) counted from
    the spot. whole: everything below it has been seen since, so paint is all of it.
    """

    step: tuple[int, int]
    action: Any
    ground: bytes
    spot: Spot
    happens: str
    paint: set[tuple[int, int, int]]
    whole: bool


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

    def now(self) -> Moment:
        """What is there now; after the end of a trajectory, what was there at its start."""
        return self.moments[-1][0 if self.record.here.closed else -1]


def named(action: Any) -> Any:
    """An action as the tables name it: its number, or (number, x, y) for a click."""
    return action.id if action.x is None else tuple(action)


def study(record: Record, blind: bool = False) -> Study:
    """Find the avatar and follow it through the record. blind: there is none to be found."""
    looks = () if blind else looks_of(record)
    cells = [cells_of(look) for look in looks]
    frames = [compared(trajectory) for trajectory in record]
    tracks = _tracks(frames, looks)
    bodies = tuple({"look": look, "moves": moves} for look, moves in zip(looks, _moves(record, tracks, len(looks)), strict=True))
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
    return [{action: moves.most_common(1)[0][0] for action, moves in sorted(seen.items(), key=str)} for seen in counted]


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
    def covers(spot: Spot) -> set[Cell]:
        r, c, _ = cells[spot.body]
        return set(zip((spot.row + r).tolist(), (spot.col + c).tolist(), strict=True))

    waiting = covers(spots[0]) if spots[0].body >= 0 else set()
    for frame, spot in zip(frames[1:], spots[1:], strict=True):
        if not waiting:
            return
        if spot.body >= 0 and spot != spots[0]:
            bare = waiting - covers(spot)
            yield from ((cell, int(frame[cell])) for cell in bare)
            waiting -= bare


def _under(frames: Sequence[Any], tracks: Sequence[Sequence[Spot]], hidden: Sequence[Mapping[Cell, int]], bodies: Any) -> int | None:
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
        r, c, _ = filler.arrays[at.body]
        under = filler.laws.under
        ground[at.row + r, at.col + c] = filler.surrounding(frame, *at) if under is None else under
        for cell, colour in hidden.items():
            ground[cell] = colour
    return ground


def _grounds(first: Any, frames: Any, spots: Sequence[Spot], cells: Sequence[Any]) -> tuple[list[bytes], list[set[tuple[int, int, int]]]]:
    """The ground in every frame, and for every step the cells that show something else than the ground before: (row, col, colour)."""
    ground, grounds, odd = np.array(first), [first.tobytes()], []
    for frame, spot in zip(frames[1:], spots[1:], strict=True):
        seen = np.array(frame)
        if spot.body >= 0:
            r, c, _ = cells[spot.body]
            seen[spot.row + r, spot.col + c] = ground[spot.row + r, spot.col + c]
        new = np.argwhere(seen != ground)
        odd.append({(int(r), int(c), int(seen[r, c])) for r, c in new[:2048]})
        grounds.append(seen.tobytes() if len(new) else grounds[-1])
        ground = seen
    return grounds, odd


def _meetings(
    index: int, trajectory: Trajectory, moments: Sequence[Moment], odd: Sequence[set[tuple[int, int, int]]], bodies: Any, cells: Any
) -> Iterator[Meeting]:
    entered: Meeting | None = None
    for step, (action, observation) in enumerate(trajectory.steps):
        (ground, at), to = moments[step], moments[step + 1].spot if step + 1 < len(moments) else NOWHERE
        move = bodies[at.body]["moves"].get(named(action)) if at.body >= 0 else None
        if observation.status is Status.TRUNCATED:
            return
        if move is None:
            entered = entered if to == at else None
            continue
        aim = Spot(at.body, at.row + move[0], at.col + move[1])
        happens = _happens(observation.status, at, aim, to)
        if happens is None:
            entered = None
            continue
        changes = odd[step] if step < len(odd) else set()
        if entered is not None and to != at:
            r, c, _ = cells[at.body]
            below = set(zip((at.row + r).tolist(), (at.col + c).tolist(), strict=True))
            came = {change for change in changes if change[:2] in below}
            entered.paint |= {(row - entered.spot.row, col - entered.spot.col, colour) for row, col, colour in came}
            entered.whole = True
            changes = changes - came
        top, left, height, width = box(bodies[at.body])
        paint = {(row - aim.row, col - aim.col, colour) for row, col, colour in changes}
        paint = {(r, c, colour) for r, c, colour in paint if 0 <= r - top < height and 0 <= c - left < width}
        meeting = Meeting((index, step), named(action), ground, aim, happens, paint, happens != "enter")
        if to != at:
            entered = meeting if happens == "enter" else None
        yield meeting


def _happens(status: Status, at: Spot, aim: Spot, to: Spot) -> str | None:
    """What came of a contact, or None where no law of contacts says such a thing."""
    if status is Status.COMPLETED:
        return "win"
    if status is Status.OVER:
        return {aim: "die", at: "die outside", NOWHERE: "die vanishing"}.get(to)
    return {aim: "enter", at: "stop"}.get(to)


def rivals(seen: Study) -> list[Laws]:
    """Every set of laws that fits the record and that it cannot tell apart, the shortest first; at least one.

    They differ in how a completing or a deadly contact is described (by colours, by shape, by the exact patch), and, while nothing
    known completes this level, in what is guessed to be its goal. Two that differ in nothing this level holds are one.
    """
    bare = Laws(seen.bodies, _floor(seen), seen.under)
    walker = Walker(bare)
    met: dict[Contact, list[Meeting]] = {}
    for meeting in seen.meetings:
        met.setdefault(walker.meets(meeting.ground, seen.width, *meeting.spot), []).append(meeting)
    effects = {contact: _effect(contact, meetings) for contact, meetings in met.items()}
    one_way = _one_way(met, effects)
    around = survey(walker, seen.now(), seen.width)
    distinct: dict[Any, Laws] = {}
    for die in DESCRIPTIONS:
        for win in DESCRIPTIONS:
            laws = replace(bare, contacts=_contacts(effects, win, die) | one_way)
            held = Walker(laws)
            distinct.setdefault(tuple(held.effect(contact, None) for contact in around), laws)
    first, *others = [_guesses(laws, seen, around) for laws in distinct.values()]
    return [*first, *(guesses[0] for guesses in others)]


def _floor(seen: Study) -> tuple[int, ...]:
    """Colours of open ground: in each level, the one that was entered most often where nothing else lay."""
    counted: dict[int, Counter[int]] = defaultdict(Counter)
    walker = Walker(Laws(seen.bodies))
    for meeting in seen.meetings:
        contact = walker.meets(meeting.ground, seen.width, *meeting.spot)
        if meeting.action is not None and meeting.happens == "enter" and not meeting.paint and len(contact) == 2 and len(contact[1][1]) == 1:
            counted[seen.record.trajectories[meeting.step[0]].first.level][contact[1][1][0]] += 1
    return tuple(sorted({colours.most_common(1)[0][0] for colours in counted.values()}))


def _effect(contact: Contact, meetings: Sequence[Meeting]) -> Effect:
    """What a contact does: what it did most often; that it has once completed a level outweighs that it did not always."""
    counted = Counter(meeting.happens for meeting in meetings)
    happens = "win" if counted["win"] and contact != (("floor",),) else counted.most_common(1)[0][0]
    fitting = [meeting for meeting in meetings if meeting.happens == happens]
    whole = [meeting for meeting in fitting if meeting.whole] or fitting
    paint = Counter(tuple(sorted(meeting.paint)) for meeting in whole).most_common(1)[0][0]
    return happens, () if happens == "win" else paint


def _contacts(effects: Mapping[Contact, Effect], win: str, die: str) -> dict[Any, Effect]:
    """Laws for contacts, each as general as asked for and as the others allow."""
    sharing: dict[Any, set[Effect]] = defaultdict(set)
    for contact, effect in effects.items():
        for key in contact:
            sharing[key].add(effect)
    laws: dict[Any, Effect] = {}
    for contact, effect in effects.items():
        wanted = {"win": win, "die": die}.get(effect[0].split()[0], "colour")
        kinds = [key[0] for key in contact]
        general = kinds.index(wanted) if wanted in kinds else len(kinds) - 1
        key = next((key for key in reversed(contact[: general + 1]) if len(sharing[key]) == 1), contact[0])
        laws[key] = effect
    for contact, effect in effects.items():
        if next((laws[key] for key in contact if key in laws), None) != effect:
            laws[contact[0]] = effect
    return laws


def _one_way(met: Mapping[Contact, Sequence[Meeting]], effects: Mapping[Contact, Effect]) -> dict[Any, Effect]:
    """Contacts that do something else for one action, always, and in more than one place."""
    laws: dict[Any, Effect] = {}
    for contact, meetings in met.items():
        usual = effects[contact][0]
        for action in dict.fromkeys(meeting.action for meeting in meetings if meeting.happens != usual and meeting.action is not None):
            mine = [meeting for meeting in meetings if meeting.action == action]
            if usual != "win" and len({m.happens for m in mine}) == 1 and len({m.spot for m in mine}) > 1:
                laws[contact[0], action] = _effect(contact, mine)
    return laws


def survey(walker: Walker, now: Moment, width: int) -> dict[Contact, list[Cell]]:
    """What could be met in this level, and where: every place that whole steps from here may lead to, the frame's edge aside."""
    if now.spot.body < 0:
        return {}
    body, row, col = now.spot
    look, moves = walker.laws.bodies[body]["look"], walker.laws.bodies[body]["moves"].values()
    down = min([abs(rows) for rows, _ in moves if rows], default=len(look))
    along = min([abs(cols) for _, cols in moves if cols], default=len(look[0]))
    places: dict[Contact, list[Cell]] = {}
    for r in range(row % down, len(now.ground) // width - len(look) + 1, down):
        for c in range(col % along, width - len(look[0]) + 1, along):
            places.setdefault(walker.meets(now.ground, width, body, r, c), []).append((r, c))
    return places


def within_reach(walker: Walker, now: Moment, width: int) -> dict[Contact, int]:
    """What could be met from places that can be entered one after another, and after how many steps, if every turned move existed."""
    if now.spot.body < 0:
        return {}
    moves = walker.laws.bodies[now.spot.body]["moves"]
    steps = [*moves.values(), *unseen(moves)]
    found: dict[Contact, int] = {}
    fringe, known, distance = [now.spot], {now.spot}, 0
    while fringe:
        distance, following = distance + 1, []
        for spot in fringe:
            for rows, cols in steps:
                there = Spot(spot.body, spot.row + rows, spot.col + cols)
                contact = walker.meets(now.ground, width, *there)
                found.setdefault(contact, distance)
                if there not in known and walker.effect(contact, None)[0] == "enter":
                    known.add(there)
                    following.append(there)
        fringe = following
    return found


def unseen(moves: Mapping[Any, Cell]) -> set[Cell]:
    """Moves that no action is known to make yet, though one makes them turned by a quarter or two."""
    turned = {move for rows, cols in moves.values() for move in ((rows, cols), (cols, -rows), (-rows, -cols), (-cols, rows))}
    return turned - set(moves.values())


def rarity(around: Mapping[Contact, Sequence[Cell]]) -> dict[Any, int]:
    """How many places of this level each description fits."""
    counted: Counter[Any] = Counter()
    for contact, places in around.items():
        for key in contact:
            counted[key] += len(places)
    return counted


def _guesses(laws: Laws, seen: Study, around: Mapping[Contact, Sequence[Cell]]) -> list[Laws]:
    """These laws with each unexplained kind of thing as the goal: those within reach first, of them the rarest, of them the nearest.

    The laws as they are where something known completes this level, or nothing is left unexplained.
    """
    walker = Walker(laws)
    explained = {contact: any(key in laws.contacts for key in contact) for contact in around}
    if any(explained[contact] and walker.effect(contact, None)[0] == "win" for contact in around):
        return [laws]
    counts, near = rarity(around), within_reach(walker, seen.now(), seen.width)
    ranked: dict[Any, tuple[int, int]] = {}
    for contact in around:
        if not explained[contact] and contact[-1][0] == "colour":
            rank = (near.get(contact, FAR), counts[contact[-1]])
            ranked[contact[-1]] = min(ranked.get(contact[-1], rank), rank)
    order = sorted(ranked, key=lambda kind: (ranked[kind][0] == FAR, ranked[kind][1], ranked[kind][0], kind))
    return [replace(laws, guess=kind) for kind in order[:GUESSES]] or [laws]
