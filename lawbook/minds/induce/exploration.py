"""Exploration: the nearest untried kind of contact, reached through the program's own laws, or one action from here."""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lawbook.core.perception import objects
from lawbook.core.record import RESET, Action, Trajectory
from lawbook.core.results import Probe, Subgoal
from lawbook.minds.base import Case
from lawbook.minds.induce.contact_goals import UNREACHABLE, count_places, find_unseen_moves, survey
from lawbook.minds.induce.contact_log import RecordAnalysis, TrackedFrame
from lawbook.minds.induce.law_tables import Laws, name_action
from lawbook.minds.induce.layers import Layers
from lawbook.minds.induce.layers import State as LayersState
from lawbook.minds.induce.overlay_removal import Overlay
from lawbook.minds.induce.partial_view import count_unseen_cells
from lawbook.minds.induce.tracking import Spot
from lawbook.minds.induce.types import Contact, Description, Figure
from lawbook.minds.induce.walker import OVER, RUNNING, State, Walker, front, turns

MAX_STATES = 4_000
"""States looked at in the search for something untried."""
CIRCLE_WINDOW, MIN_RETURNS = 40, 4
"""Coming back to one frame this many times within so many steps is going in circles."""
MAX_PLACES = 3
"""Things of a kind in a level, at most, for each action to be tried on it."""
MAX_RESET_TIER = 2
"""Tiers up to this are worth beginning a level again for, where it has been spoilt."""
MAX_RESETS = 12
"""Times a level is begun at most, for that."""
MAX_IDLE_PLACES = 12
"""Places in which an action is tried that has never moved the avatar, before it is left for last."""


RIM_DIVISOR, RIM_PENALTY = 8, 2
"""Things that lie wholly within one part of so many of a frame at its rim; times that other kinds are clicked before them."""


class ExplorationCandidate(NamedTuple):
    """Something untried: `action` in `state`, `distance` actions from here, the first of them `first_action`. Least comes first."""

    tier: int
    rarity: int
    distance: int
    order: int
    action: int
    first_action: int
    state: State
    question: str


def choose_exploration(
    case: Case, laws: Laws, overlay: Overlay, analysis: RecordAnalysis, overlay_state: LayersState
) -> Subgoal | Probe:
    """Choose the best thing to try: a way to where it can be tried, or the action itself where that is here.

    Candidates are found breadth-first through the laws and ranked by tier, rarity and distance, see `_rate_action`.
    """
    walker = Walker(laws)
    world = Layers(overlay, walker)
    core_state = overlay_state.core
    available = _get_available_actions(case)
    walking_actions = [action for action in available if action not in case.interface.clicks]
    is_stuck = core_state.body < 0 or _is_circling(analysis.record.current)
    best = None if is_stuck else min(_find_candidates(world, overlay_state, walking_actions, analysis), default=None)
    if (best is None or best.tier > MAX_RESET_TIER) and core_state.body >= 0 and _is_spoilt(world, overlay_state, case):
        opening_state = world.initial_state({"frame": case.record.current.first.frame})
        if opening_state.core.body >= 0:
            restart_candidate = min(_find_candidates(world, opening_state, walking_actions, analysis), default=None)
            if restart_candidate is not None and (restart_candidate.tier <= MAX_RESET_TIER or laws.goals):
                return Probe(RESET, f"From the start of the level again: {restart_candidate.question}")
    if best is None:
        safe_actions = [
            action
            for action in available
            if action not in walking_actions or walker.step(core_state, Action(action)).status != OVER
        ]
        return _choose_blind_probe(case, safe_actions or available)
    if not best.distance:
        return Probe(Action(best.action), best.question)
    if case.allows_open and analysis.dark_colour is not None and _shows_more(world, overlay_state, best, analysis.dark_colour):
        # No claim is wrong where the dark is left open, so nothing else stops a way on which there is more to be seen already.
        return Probe(Action(best.first_action), f"On the way to this: {best.question}")
    if case.refusal or not case.admissible:
        # Nobody plans the way, so it is walked one probe at a time.
        return Probe(Action(best.first_action), f"On the way to this: {best.question}")
    return Subgoal(_write_subgoal(best.state, core_state), best.question)


def _shows_more(world: Layers, overlay_state: LayersState, best: ExplorationCandidate, dark_colour: int) -> bool:
    """Does the first step of a way show what has not been seen yet?"""
    return count_unseen_cells(world, world.step(overlay_state, Action(best.first_action)).core, dark_colour) > 0


def _is_spoilt(world: Layers, overlay_state: LayersState, case: Case) -> bool:
    """Has something changed here that may not be undone, while a reset is still something new?"""
    trajectory = case.record.current
    opening_state = world.initial_state({"frame": trajectory.first.frame})
    n_attempts = sum(earlier.first.level == trajectory.first.level for earlier in case.record)
    return len(trajectory) > 0 and opening_state.core.ground != overlay_state.core.ground and n_attempts <= MAX_RESETS


def _is_circling(trajectory: Trajectory) -> bool:
    """Has this very frame been come back to again and again of late? What was tried then has not helped."""
    frames = trajectory.settled_frames[-CIRCLE_WINDOW:]
    is_same = (frames == frames[-1]).all(axis=(1, 2))
    return int((is_same[1:] & ~is_same[:-1]).sum()) >= MIN_RETURNS


def _get_available_actions(case: Case) -> list[int]:
    last = case.record.last
    return [action for action in (last.available if last else ()) or case.interface.actions if action]


def _write_subgoal(state: State, current_state: State) -> str:
    """The subgoal of being where this state is; with its ground too, where that is not the ground as it is now."""
    condition = f"(core.body, core.row, core.col, core.status) == ({state.body}, {state.row}, {state.col}, {RUNNING})"
    if state.mates:
        condition += f" and core.mates == {state.mates}"
    if state.ground != current_state.ground:
        condition += f" and zlib.crc32(core.ground) == {zlib.crc32(state.ground)}"
    return f"import zlib\n\n\ndef subgoal(state):\n    core = state.core\n    return {condition}\n"


def _find_candidates(
    world: Layers, overlay_state: LayersState, actions: Sequence[int], analysis: RecordAnalysis
) -> Iterator[ExplorationCandidate]:
    """Everything untried within reach."""
    walker, core_state = world.core, overlay_state.core
    history = _collect_history(walker, analysis)
    counts = count_places(
        survey(walker, TrackedFrame(core_state.ground, Spot(core_state.body, core_state.row, core_state.col)), core_state.width)
    )
    if analysis.dark_colour is not None:
        counts |= {
            key: UNREACHABLE for key in counts if key[0] == "colour" and analysis.dark_colour in key[1]
        }  # the dark is no thing to meet
    for distance, first_action, state in _find_reachable_states(world, overlay_state, actions):
        if analysis.dark_colour is not None and distance and (n_unseen := count_unseen_cells(world, state, analysis.dark_colour)):
            # The most that is new for a step.
            yield ExplorationCandidate(
                1,
                1_000 + 4_096 * distance // n_unseen,
                distance,
                0,
                first_action,
                first_action,
                state,
                "What is there in the dark?",
            )
        for order, action in enumerate(actions):
            if (state.ground, state.body, state.row, state.col, state.mates, action) not in history.places:
                ratings = [_rate_action(walker, figure_state, action, history, counts, distance) for figure_state in turns(state)]
                rating = None if None in ratings else min(rating for rating in ratings if rating)
                if rating is not None:
                    tier, n_places, question = rating
                    yield ExplorationCandidate(tier, n_places, distance, order, action, first_action or action, state, question)


def _rate_action(
    walker: Walker, state: State, action: int, history: ExplorationHistory, counts: Mapping[Description, int], distance: int
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
    front_move = front(walker.laws.bodies, state.body)
    if action not in moves and front_move is not None:
        contact = walker.meets(walker.drawn(state), state.width, state.body, state.row + front_move[0], state.col + front_move[1])
        if (contact[0], action, zlib.crc32(state.ground)) not in history.contacts and counts.get(contact[0], 99) <= MAX_PLACES:
            return 2, counts[contact[0]], f"What does action {action} do to {_format_contact(contact)}?"
        return None
    if action not in moves:
        known_moves = {
            (k, name): move for k, other_body in enumerate(walker.laws.bodies) for name, move in other_body["moves"].items()
        }
        candidate_moves = (
            find_unseen_moves(known_moves)
            if moves or len(walker.laws.bodies) == 1
            else find_unseen_moves(known_moves) | set(known_moves.values())
        )
        outcomes = [_predict_outcome(walker, state, move) for move in candidate_moves - history.ruled_out_moves[state.body, action]]
        if "enter" in outcomes and "die" not in outcomes:
            return 0, (distance + 1) * len(outcomes) * 12 // outcomes.count("enter"), f"What does action {action} do?"
        return (
            (4, history.idle_counts[action], f"What does action {action} do here?")
            if history.idle_counts[action] < MAX_IDLE_PLACES
            else None
        )
    row, col = state.row + moves[action][0], state.col + moves[action][1]
    contact, outcome = (
        walker.meets(walker.drawn(state), state.width, state.body, row, col),
        _predict_outcome(walker, state, moves[action]),
    )
    is_figure, contact_text = contact[0][0] == "exact", _format_contact(contact)
    if outcome == "die":
        return None
    if outcome == "push":
        behind = walker.meets(walker.drawn(state), state.width, state.body, row + moves[action][0], col + moves[action][1])
        if (contact[0], behind[0]) not in history.contacts and behind[0][0] == "exact":
            return 1, counts[behind[0]], f"What happens when {contact_text} is pushed onto {_format_contact(behind)}?"
    if outcome == "win":
        return -1, 0, f"Does {contact_text} complete the level?"
    if is_figure and not any(key in walker.laws.contacts for key in contact):
        return 1, counts[contact[-1]], f"What happens on meeting {contact_text}?"
    if is_figure and contact[0] not in history.contacts:
        return 2, counts[contact[0]], f"Does {contact_text} do what its like does?"
    if contact[0][0] != "floor" and (contact[0], action) not in history.contacts:
        return 3, counts.get(contact[0], len(state.ground)), f"What does {contact_text} do when action {action} meets it?"
    return 5, 0, f"Is there something at row {row}, column {col} that cannot be seen?"


def _format_contact(contact: Contact) -> str:
    match contact[-1]:
        case ("colour", colours):
            return f"the figure of colour {', '.join(map(str, colours))}"
        case ("edge",):
            return "the edge"
    return "open ground"


def _predict_outcome(walker: Walker, state: State, move: tuple[int, int]) -> str:
    """How that move would end by the laws: enter, stop, win or die."""
    row, col = state.row + move[0], state.col + move[1]
    outcome: str = walker.effect(walker.meets(walker.drawn(state), state.width, state.body, row, col), None)[0]
    return outcome.split()[0]


def _find_reachable_states(world: Layers, start_state: LayersState, actions: Sequence[int]) -> Iterator[tuple[int, int, State]]:
    """States within reach by these laws, the nearest first: (distance, first action of the way or 0, state)."""
    frontier, known_keys, distance = [(0, start_state)], {world.key(start_state)}, 0
    while frontier and len(known_keys) < MAX_STATES:
        yield from ((distance, first_action, state.core) for first_action, state in frontier)
        next_frontier = []
        for first_action, state in frontier:
            for action in actions:
                next_state = world.step(state, Action(action))
                if (
                    world.status(next_state) == RUNNING
                    and next_state.core.body >= 0
                    and (state_key := world.key(next_state)) not in known_keys
                ):
                    known_keys.add(state_key)
                    next_frontier.append((first_action or action, next_state))
        frontier, distance = next_frontier, distance + 1


class ExplorationHistory(NamedTuple):
    """The trials so far.

    places: (ground, body, row, col, mates, action) that have been tried. contacts: met ones, and met ones with the action that met
    them. idle_counts: how often an action was tried that has never moved the avatar. ruled_out_moves: those it was free to make
    then, and did not.
    """

    places: set[tuple[bytes, int, int, int, tuple[Figure, ...], int]]
    contacts: set[tuple[object, ...]]
    idle_counts: Counter[int]
    ruled_out_moves: dict[tuple[int, int], set[tuple[int, int]]]


def _collect_history(walker: Walker, analysis: RecordAnalysis) -> ExplorationHistory:
    history = ExplorationHistory(set(), set(), Counter(), defaultdict(set))
    for trajectory, tracked_frames in zip(analysis.record, analysis.tracked_frames, strict=True):
        for (action, _), (ground, spot, mates) in zip(trajectory.steps, tracked_frames, strict=False):
            place = (ground, *spot, mates, action.id)
            if spot.body >= 0 and place not in history.places:
                history.places.add(place)
                for state in turns(State(ground, analysis.width, *spot, RUNNING, -1, mates)):
                    _add_contact(walker, state, action, history)
    return history


def _add_contact(walker: Walker, state: State, action: Action, history: ExplorationHistory) -> None:
    """Note what the avatar met with this action, or that it has not moved it."""
    name, moves, ground = name_action(action), walker.laws.bodies[state.body]["moves"], walker.drawn(state)
    if name in moves:
        contact = walker.meets(ground, state.width, state.body, state.row + moves[name][0], state.col + moves[name][1])
        behind = walker.meets(ground, state.width, state.body, state.row + 2 * moves[name][0], state.col + 2 * moves[name][1])
        history.contacts.update((contact[0], (contact[0], name), (contact[0], behind[0])))
        return
    front_move = front(walker.laws.bodies, state.body)
    if front_move is not None:
        front_contact = walker.meets(ground, state.width, state.body, state.row + front_move[0], state.col + front_move[1])
        history.contacts.add((front_contact[0], action.id, zlib.crc32(ground)))
    history.idle_counts[action.id] += 1
    history.ruled_out_moves[state.body, action.id] |= {
        move for move in find_unseen_moves(moves) if _predict_outcome(walker, state, move) == "enter"
    }


def _choose_blind_probe(case: Case, available: Sequence[int]) -> Probe:
    """No avatar, or nothing untried within reach: what this frame has not been answered with, else what was done least here."""
    frame = case.record.current.last.frame
    frame_counts: Counter[int] = Counter()
    total_counts: Counter[int] = Counter()
    for trajectory in case.record:
        for (action, _), before in zip(trajectory.steps, trajectory.settled_frames, strict=False):
            total_counts[action.id] += 1
            frame_counts[action.id] += np.array_equal(before, frame)
    choice = min(available, key=lambda action: (frame_counts[action], total_counts[action]))
    if choice not in case.interface.clicks:
        return Probe(Action(choice), f"What does action {choice} do here?")
    return _choose_click(case, choice)


def _choose_click(case: Case, action: int) -> Probe:
    """A click on a thing that was not clicked in this level yet, of the kind that was clicked least, the largest.

    What stands at the rim, where displays are, waits."""
    record, frame = case.record, case.record.current.last.frame
    click_counts: Counter[int | tuple[bytes, int]] = Counter()
    clicked_places: list[tuple[int, int]] = []
    for trajectory in record:
        if trajectory.first.level == record.current.first.level:
            clicked_places += [
                (past_action.y, past_action.x)
                for past_action in trajectory.actions
                if past_action.x is not None and past_action.y is not None
            ]
        for step, (past_action, _) in enumerate(trajectory.steps):
            if past_action.x is not None and past_action.y is not None:
                segmentation = objects(previous_frame := trajectory.get_frame(step))
                label = int(segmentation.labels[past_action.y, past_action.x])
                click_counts[int(segmentation.look[label])] += 1
                click_counts[previous_frame.tobytes(), int(segmentation.look[label])] += 1
    height, width = frame.shape
    candidates = []
    for candidate in objects(frame):
        is_at_edge = candidate.top == 0 or candidate.left == 0 or candidate.bottom == height - 1 or candidate.right == width - 1
        is_large = (candidate.bottom - candidate.top + 1) * (candidate.right - candidate.left + 1) * 4 > frame.size
        frame_look = frame.tobytes(), candidate.look
        is_at_rim = (
            min(candidate.bottom, height - 1 - candidate.top) * RIM_DIVISOR < height
            or min(candidate.right, width - 1 - candidate.left) * RIM_DIVISOR < width
        )
        n_look_clicks = click_counts[candidate.look] + (RIM_PENALTY if is_at_rim else 0)
        n_clicks_inside = sum(
            candidate.top <= y <= candidate.bottom and candidate.left <= x <= candidate.right for y, x in clicked_places
        )
        candidates.append(
            (
                (
                    n_clicks_inside,
                    click_counts[frame_look],
                    n_look_clicks,
                    is_at_edge or is_large,
                    -candidate.cells,
                    candidate.row,
                    candidate.column,
                ),
                candidate,
            )
        )
    _, best = min(candidates, key=lambda pair: pair[0])
    return Probe(Action(action, best.column, best.row), f"What does a click on colour {best.colour} do?")
