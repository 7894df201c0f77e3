"""What to find out next: the nearest untried kind of contact, reached through the program's own laws, or one action from here."""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lawbook.core.perception import objects
from lawbook.core.record import RESET, Action, Trajectory
from lawbook.core.results import Probe, Subgoal
from lawbook.minds.base import Case
from lawbook.minds.induce.contact_goals import FAR, rarity, survey, unseen
from lawbook.minds.induce.contact_log import Moment, Study
from lawbook.minds.induce.exceptions import tip
from lawbook.minds.induce.law_tables import Laws, named
from lawbook.minds.induce.layers import Layers
from lawbook.minds.induce.overlay_removal import Over
from lawbook.minds.induce.partial_view import unseen_from
from lawbook.minds.induce.tracking import Spot
from lawbook.minds.induce.walker import OVER, RUNNING, State, Walker, front, turns

NODES = 4_000
"""States looked at in the search for something untried."""
LATELY, CIRCLES = 40, 4
"""Coming back to one frame this many times within so many steps is going in circles."""
FEW = 3
"""Things of a kind in a level, at most, for each action to be tried on it."""
WORTHWHILE = 2
"""Tiers up to this are worth beginning a level again for, where it has been spoilt."""
RESETS = 12
"""Times a level is begun at most, for that."""
ENOUGH = 12
"""Places in which an action is tried that has never moved the avatar, before it is left for last."""


RIM, WAITS = 8, 2
"""Things that lie wholly within one part of so many of a frame at its rim; times that other kinds are clicked before them."""


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


def exploration(case: Case, laws: Laws, over: Over, seen: Study) -> Subgoal | Probe:
    """The best thing to try: a way to where it can be tried, or the action itself where that is here."""
    walker = Walker(laws)
    world = Layers(over, walker)
    above = tip(world, case.record.here)
    here = above.core
    available = _available(case)
    walking = [action for action in available if action not in case.interface.clicks]
    circling = here.body < 0 or _in_circles(seen.record.here)
    best = None if circling else min(_tries(world, above, walking, seen), default=None)
    if (best is None or best.tier > WORTHWHILE) and here.body >= 0 and _spoilt(world, above, case):
        opening = world.initial_state({"frame": case.record.here.first.frame})
        if opening.core.body >= 0:
            again = min(_tries(world, opening, walking, seen), default=None)
            if again is not None and (again.tier <= WORTHWHILE or laws.goals):
                return Probe(RESET, f"From the start of the level again: {again.question}")
    if best is None:
        safe = [action for action in available if action not in walking or walker.step(here, Action(action)).status != OVER]
        return _blindly(case, safe or available)
    if not best.distance:
        return Probe(Action(best.action), best.question)
    if case.refusal or not case.admissible:
        # Nobody plans the way, so it is walked one probe at a time.
        return Probe(Action(best.first), f"On the way to this: {best.question}")
    return Subgoal(_source(best.state, here), best.question)


def _spoilt(world: Layers, above: Any, case: Case) -> bool:
    """Has something changed here that may not be undone, while a reset is still something new?"""
    trajectory = case.record.here
    opening = world.initial_state({"frame": trajectory.first.frame})
    again = sum(other.first.level == trajectory.first.level for other in case.record)
    return len(trajectory) > 0 and opening.core.ground != above.core.ground and again <= RESETS


def _in_circles(trajectory: Trajectory) -> bool:
    """Has this very frame been come back to again and again of late? What was tried then has not helped."""
    frames = trajectory.settled[-LATELY:]
    same = (frames == frames[-1]).all(axis=(1, 2))
    return int((same[1:] & ~same[:-1]).sum()) >= CIRCLES


def _available(case: Case) -> list[int]:
    last = case.record.last
    return [action for action in (last.available if last else ()) or case.interface.actions if action]


def _source(state: State, here: State) -> str:
    """The subgoal of being where this state is; with its ground too, where that is not the ground as it is now."""
    there = f"(core.body, core.row, core.col, core.status) == ({state.body}, {state.row}, {state.col}, {RUNNING})"
    if state.mates:
        there += f" and core.mates == {state.mates}"
    if state.ground != here.ground:
        there += f" and zlib.crc32(core.ground) == {zlib.crc32(state.ground)}"
    return f"import zlib\n\n\ndef subgoal(state):\n    core = state.core\n    return {there}\n"


def _tries(world: Layers, above: Any, actions: Sequence[int], seen: Study) -> Iterator[Try]:
    """Everything untried within reach."""
    walker, here = world.core, above.core
    tried = _tried(walker, seen)
    counts = rarity(survey(walker, Moment(here.ground, Spot(here.body, here.row, here.col)), here.width))
    if seen.dark is not None:
        counts |= {key: FAR for key in counts if key[0] == "colour" and seen.dark in key[1]}  # the dark is no thing to meet
    for distance, first, state in _reachable(world, above, actions):
        if seen.dark is not None and distance and (shown := unseen_from(world, state, seen.dark)):
            # The most that is new for a step.
            yield Try(1, 1_000 + 4_096 * distance // shown, distance, 0, first, first, state, "What is there in the dark?")
        for order, action in enumerate(actions):
            if (state.ground, state.body, state.row, state.col, state.mates, action) not in tried.places:
                worths = [_worth(walker, turn, action, tried, counts, distance) for turn in turns(state)]
                worth = None if None in worths else min(worth for worth in worths if worth)
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
    body = walker.laws.bodies[state.body]
    moves = body["moves"]
    if action in body.get("turns", ()):
        return None
    ahead = front(walker.laws.bodies, state.body)
    if action not in moves and ahead is not None:
        contact = walker.meets(walker.drawn(state), state.width, state.body, state.row + ahead[0], state.col + ahead[1])
        if (contact[0], action, zlib.crc32(state.ground)) not in tried.met and counts.get(contact[0], 99) <= FEW:
            return 2, counts[contact[0]], f"What does action {action} do to {_told(contact)}?"
        return None
    if action not in moves:
        others = {(k, name): move for k, other in enumerate(walker.laws.bodies) for name, move in other["moves"].items()}
        free = unseen(others) if moves or len(walker.laws.bodies) == 1 else unseen(others) | set(others.values())
        ends = [_end(walker, state, move) for move in free - tried.ruled_out[state.body, action]]
        if "enter" in ends and "die" not in ends:
            return 0, (distance + 1) * len(ends) * 12 // ends.count("enter"), f"What does action {action} do?"
        return (4, tried.still[action], f"What does action {action} do here?") if tried.still[action] < ENOUGH else None
    row, col = state.row + moves[action][0], state.col + moves[action][1]
    contact, end = walker.meets(walker.drawn(state), state.width, state.body, row, col), _end(walker, state, moves[action])
    thing, met = contact[0][0] == "exact", _told(contact)
    if end == "die":
        return None
    if end == "push":
        behind = walker.meets(walker.drawn(state), state.width, state.body, row + moves[action][0], col + moves[action][1])
        if (contact[0], behind[0]) not in tried.met and behind[0][0] == "exact":
            return 1, counts[behind[0]], f"What happens when {met} is pushed onto {_told(behind)}?"
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
    happens: str = walker.effect(walker.meets(walker.drawn(state), state.width, state.body, row, col), None)[0]
    return happens.split()[0]


def _reachable(world: Layers, above: Any, actions: Sequence[int]) -> Iterator[tuple[int, int, State]]:
    """States within reach by these laws, the nearest first: (distance, first action of the way or 0, state)."""
    level, known, distance = [(0, above)], {world.key(above)}, 0
    while level and len(known) < NODES:
        yield from ((distance, first, state.core) for first, state in level)
        following = []
        for first, state in level:
            for action in actions:
                after = world.step(state, Action(action))
                if world.status(after) == RUNNING and after.core.body >= 0 and (mark := world.key(after)) not in known:
                    known.add(mark)
                    following.append((first or action, after))
        level, distance = following, distance + 1


class Tried(NamedTuple):
    """places: (ground, row, col, action) that have been tried; met: contacts, and contacts with the action that met them;
    still: how often an action was tried that has never moved the avatar; ruled_out: moves it was free to make then, and did not."""

    places: set[Any]
    met: set[Any]
    still: Counter[int]
    ruled_out: dict[tuple[int, int], set[tuple[int, int]]]


def _tried(walker: Walker, seen: Study) -> Tried:
    tried = Tried(set(), set(), Counter(), defaultdict(set))
    for trajectory, moments in zip(seen.record, seen.moments, strict=True):
        for (action, _), (ground, spot, mates) in zip(trajectory.steps, moments, strict=False):
            place = (ground, *spot, mates, action.id)
            if spot.body >= 0 and place not in tried.places:
                tried.places.add(place)
                for state in turns(State(ground, seen.width, *spot, RUNNING, -1, mates)):
                    _met(walker, state, action, tried)
    return tried


def _met(walker: Walker, state: State, action: Action, tried: Tried) -> None:
    """Note what the avatar met with this action, or that it has not moved it."""
    name, moves, ground = named(action), walker.laws.bodies[state.body]["moves"], walker.drawn(state)
    if name in moves:
        contact = walker.meets(ground, state.width, state.body, state.row + moves[name][0], state.col + moves[name][1])
        behind = walker.meets(ground, state.width, state.body, state.row + 2 * moves[name][0], state.col + 2 * moves[name][1])
        tried.met.update((contact[0], (contact[0], name), (contact[0], behind[0])))
        return
    ahead = front(walker.laws.bodies, state.body)
    if ahead is not None:
        there = walker.meets(ground, state.width, state.body, state.row + ahead[0], state.col + ahead[1])
        tried.met.add((there[0], action.id, zlib.crc32(ground)))
    tried.still[action.id] += 1
    tried.ruled_out[state.body, action.id] |= {move for move in unseen(moves) if _end(walker, state, move) == "enter"}


def _blindly(case: Case, available: Sequence[int]) -> Probe:
    """No avatar, or nothing untried within reach: what this frame has not been answered with, else what was done least here."""
    frame = case.record.here.last.frame
    here: Counter[int] = Counter()
    ever: Counter[int] = Counter()
    for trajectory in case.record:
        for (action, _), before in zip(trajectory.steps, trajectory.settled, strict=False):
            ever[action.id] += 1
            here[action.id] += np.array_equal(before, frame)
    choice = min(available, key=lambda action: (here[action], ever[action]))
    if choice not in case.interface.clicks:
        return Probe(Action(choice), f"What does action {choice} do here?")
    return _click(case, choice)


def _click(case: Case, action: int) -> Probe:
    """A click on a thing that was not clicked in this level yet, of the kind that was clicked least, the largest.

    What stands at the rim, where displays are, waits."""
    record, frame = case.record, case.record.here.last.frame
    tried: Counter[Any] = Counter()
    places: list[tuple[int, int]] = []
    for trajectory in record:
        if trajectory.first.level == record.here.first.level:
            places += [(done.y, done.x) for done in trajectory.actions if done.x is not None and done.y is not None]
        for step, (done, _) in enumerate(trajectory.steps):
            if done.x is not None and done.y is not None:
                shown = objects(before := trajectory.frame(step))
                label = int(shown.labels[done.y, done.x])
                tried[int(shown.look[label])] += 1
                tried[before.tobytes(), int(shown.look[label])] += 1
    height, width = frame.shape
    found = []
    for thing in objects(frame):
        edge = thing.top == 0 or thing.left == 0 or thing.bottom == height - 1 or thing.right == width - 1
        large = (thing.bottom - thing.top + 1) * (thing.right - thing.left + 1) * 4 > frame.size
        here = frame.tobytes(), thing.look
        rim = min(thing.bottom, height - 1 - thing.top) * RIM < height or min(thing.right, width - 1 - thing.left) * RIM < width
        often = tried[thing.look] + (WAITS if rim else 0)
        there = sum(thing.top <= y <= thing.bottom and thing.left <= x <= thing.right for y, x in places)
        found.append(((there, tried[here], often, edge or large, -thing.cells, thing.row, thing.column), thing))
    _, best = min(found, key=lambda pair: pair[0])
    return Probe(Action(action, best.column, best.row), f"What does a click on colour {best.colour} do?")
