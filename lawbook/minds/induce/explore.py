"""What to find out next: the nearest untried kind of contact, reached through the program's own laws, or one action from here."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lawbook.answers import Probe, Subgoal
from lawbook.minds.induce.goals import rarity, survey, unseen
from lawbook.minds.induce.memorise import tip
from lawbook.minds.induce.study import Moment, Study
from lawbook.minds.induce.tables import Laws, named
from lawbook.minds.induce.track import Spot
from lawbook.minds.induce.walker import OVER, RUNNING, State, Walker
from lawbook.minds.mind import Case
from lawbook.record import Action, Trajectory

NODES = 4_000
"""States looked at in the search for something untried."""
LATELY, CIRCLES = 40, 4
"""Coming back to one frame this many times within so many steps is going in circles."""
ENOUGH = 12
"""Places in which an action is tried that has never moved the avatar, before it is left for last."""


class Try(NamedTuple):
    """Something untried: take `action` in `state`, `distance` actions from here, the first of them `first`. Smaller comes first."""

    tier: int
    rarity: int
    distance: int
    order: int
    action: int
    first: int
    state: State
    question: str


def exploration(case: Case, laws: Laws, seen: Study) -> Subgoal | Probe:
    """The best thing to try: a way to where it can be tried, or the action itself where that is here."""
    walker = Walker(laws)
    here = tip(walker, case.record.here)
    available = _available(case)
    walking = [action for action in available if action not in case.interface.clicks]
    tries = _tries(walker, here, walking, seen) if here.body >= 0 and not _in_circles(case.record.here) else iter(())
    best = min(tries, default=None)
    if best is None:
        safe = [action for action in available if action not in walking or walker.step(here, Action(action)).status != OVER]
        return _blindly(case, safe or available)
    if not best.distance:
        return Probe(Action(best.action), best.question)
    if case.refusal or not case.admissible:
        # Nobody plans the way, so it is walked one probe at a time.
        return Probe(Action(best.first), f"On the way to this: {best.question}")
    return Subgoal(_source(best.state), best.question)


def _in_circles(trajectory: Trajectory) -> bool:
    """Has this very frame been come back to again and again of late? What was tried then has not helped."""
    frames = trajectory.settled[-LATELY:]
    same = (frames == frames[-1]).all(axis=(1, 2))
    return int((same[1:] & ~same[:-1]).sum()) >= CIRCLES


def _available(case: Case) -> list[int]:
    last = case.record.last
    return [action for action in (last.available if last else ()) or case.interface.actions if action]


def _source(state: State) -> str:
    return f"def subgoal(state):\n    return (state.row, state.col) == ({state.row}, {state.col}) and state.status == {RUNNING}\n"


def _tries(walker: Walker, here: State, actions: Sequence[int], seen: Study) -> Iterator[Try]:
    """Everything untried within reach."""
    tried = _tried(walker, seen)
    counts = rarity(survey(walker, Moment(here.ground, Spot(here.body, here.row, here.col)), here.width))
    for distance, first, state in _reachable(walker, here, actions):
        for order, action in enumerate(actions):
            if (state.ground, state.row, state.col, action) not in tried.places:
                worth = _worth(walker, state, action, tried, counts, distance)
                if worth is not None:
                    tier, rare, question = worth
                    yield Try(tier, rare, distance, order, action, first or action, state, question)


def _worth(
    walker: Walker, state: State, action: int, tried: Tried, counts: Mapping[Any, int], distance: int
) -> tuple[int, int, str] | None:
    """(tier, rarity, question) of an action that has not been tried here; None when it is no use. What is worth more comes first:

    -1  what is held to complete the level (where no plan leads there)
    0  an action that has never moved the avatar, where it could be seen to: the fewest steps for the likeliest sight of it
    1  a kind of thing that no law explains, the rarest kind first
    2  a particular thing of a kind that a law explains, never met itself
    3  a known thing, never met by this action
    4  an action that has never moved the avatar, in a new place
    5  any action in a place where it has not been tried
    """
    moves = walker.laws.bodies[state.body]["moves"]
    if action not in moves:
        ends = [_end(walker, state, move) for move in unseen(moves) - tried.ruled_out[action]]
        if "enter" in ends and "die" not in ends:
            return 0, (distance + 1) * len(ends) * 12 // ends.count("enter"), f"What does action {action} do?"
        return (4, tried.still[action], f"What does action {action} do here?") if tried.still[action] < ENOUGH else None
    row, col = state.row + moves[action][0], state.col + moves[action][1]
    contact, end = walker.meets(state.ground, state.width, state.body, row, col), _end(walker, state, moves[action])
    thing, met = contact[0][0] == "exact", _told(contact)
    if end == "die":
        return None
    if end == "win":
        return -1, 0, f"Does {met} complete the level?"
    if thing and not any(key in walker.laws.contacts for key in contact):
        return 1, counts[contact[-1]], f"What happens on meeting {met}?"
    if thing and contact[0] not in tried.met:
        return 2, counts[contact[0]], f"Does {met} do what its like does?"
    if contact[0][0] != "floor" and (contact[0], action) not in tried.met:
        return 3, counts.get(contact[0], len(state.ground)), f"What does {met} do when action {action} meets it?"
    return 5, 0, f"Is there something at row {row}, column {col} that cannot be seen?"


def _told(contact: Any) -> str:
    match contact[-1]:
        case ("colour", colours):
            return f"the figure of colour {', '.join(map(str, colours))}"
        case ("edge",):
            return "the edge"
    return "open ground"


def _end(walker: Walker, state: State, move: tuple[int, int]) -> str:
    """How that move would end by the laws: enter, stop, win or die."""
    row, col = state.row + move[0], state.col + move[1]
    happens: str = walker.effect(walker.meets(state.ground, state.width, state.body, row, col), None)[0]
    return happens.split()[0]


def _reachable(walker: Walker, here: State, actions: Sequence[int]) -> Iterator[tuple[int, int, State]]:
    """States within reach by these laws, the nearest first: (distance, first action of the way or 0, state)."""
    level, known, distance = [(0, here)], {here._replace(trail=-1)}, 0
    while level and len(known) < NODES:
        yield from ((distance, first, state) for first, state in level)
        following = []
        for first, state in level:
            for action in actions:
                after = walker.step(state, Action(action))
                if after.status == RUNNING and after.body >= 0 and (mark := after._replace(trail=-1)) not in known:
                    known.add(mark)
                    following.append((first or action, after))
        level, distance = following, distance + 1


class Tried(NamedTuple):
    """places: (ground, row, col, action) that have been tried; met: contacts, and contacts with the action that met them;
    still: how often an action was tried that has never moved the avatar; ruled_out: moves it was free to make then, and did not."""

    places: set[Any]
    met: set[Any]
    still: Counter[int]
    ruled_out: dict[int, set[tuple[int, int]]]


def _tried(walker: Walker, seen: Study) -> Tried:
    tried = Tried(set(), set(), Counter(), defaultdict(set))
    for trajectory, moments in zip(seen.record, seen.moments, strict=True):
        for (action, _), (ground, spot) in zip(trajectory.steps, moments, strict=False):
            place = (ground, spot.row, spot.col, action.id)
            if spot.body < 0 or place in tried.places:
                continue
            tried.places.add(place)
            name, moves = named(action), walker.laws.bodies[spot.body]["moves"]
            state = State(ground, seen.width, *spot, RUNNING, -1)
            if name in moves:
                contact = walker.meets(ground, seen.width, spot.body, spot.row + moves[name][0], spot.col + moves[name][1])
                tried.met.update((contact[0], (contact[0], name)))
            else:
                tried.still[action.id] += 1
                tried.ruled_out[action.id] |= {move for move in unseen(moves) if _end(walker, state, move) == "enter"}
    return tried


def _blindly(case: Case, available: Sequence[int]) -> Probe:
    """No avatar, or nothing untried within reach: what this frame has not been answered with, else what was done least here."""
    dice = random.Random(f"induce:{case.seed}:{case.member}:{case.call}")
    frame = case.record.here.last.frame
    here: Counter[int] = Counter()
    ever: Counter[int] = Counter()
    clicked: set[tuple[int, int]] = set()
    for trajectory in case.record:
        for (action, _), before in zip(trajectory.steps, trajectory.settled, strict=False):
            ever[action.id] += 1
            here[action.id] += np.array_equal(before, frame)
            if action.x is not None and action.y is not None:
                clicked.add((action.id, int(before[action.y, action.x])))
    choice = min(available, key=lambda action: (here[action], ever[action]))
    if choice not in case.interface.clicks:
        return Probe(Action(choice), f"What does action {choice} do here?")
    colours = Counter(frame.ravel().tolist())
    fresh = [colour for colour in sorted(colours, key=lambda colour: (colours[colour], colour)) if (choice, colour) not in clicked]
    cells = np.argwhere(frame == fresh[0]) if fresh else np.argwhere(np.ones(frame.shape, dtype=bool))
    row, col = cells[len(cells) // 2] if fresh else cells[dice.randrange(len(cells))]
    return Probe(Action(choice, int(col), int(row)), f"What does a click on colour {int(frame[row, col])} do?")
