"""Goals that are states of the whole ground: predicates that are false wherever the level went on, true wherever it ended well."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from lawbook.core.record import Status
from lawbook.minds.induce.contact_log import RecordAnalysis, TrackedFrame
from lawbook.minds.induce.law_tables import Laws
from lawbook.minds.induce.looks import find, patch
from lawbook.minds.induce.pattern_match import find_matches
from lawbook.minds.induce.predicates import holds
from lawbook.minds.induce.tracking import Spot
from lawbook.minds.induce.types import ActionName, Cell, Goal, Grid, Look, Match
from lawbook.minds.induce.walker import RUNNING, State, Walker

MAX_GOALS, MAX_GOALS_OF_A_KIND = 8, 4
"""How many predicates are kept as rivals, and how many of one kind."""
MAX_OCCURRENCES = 12
"""A look that a level shows more often than this is nothing to get rid of."""
LOOK_BITS, NUMBER_BITS = 16, 16
"""What it costs to name a look that has been seen, and to write down a number, in bits."""


class Ground(NamedTuple):
    """One ground of the record, and the level it belongs to."""

    cells: bytes
    width: int
    level: int

    @property
    def grid(self) -> Grid:
        """The ground as an array, H x W uint8, read-only."""
        return np.frombuffer(self.cells, np.uint8).reshape(-1, self.width)

    def count(self, look: Look) -> int:
        """Count the places in which the ground shows a look."""
        return _count_look(self.cells, self.width, look)

    def is_goal_met(self, goal: Goal) -> bool:
        """Return whether a predicate holds on this ground."""
        return holds(goal[0], goal[1], self.grid, self.count)


@lru_cache(maxsize=2048)
def _count_look(cells: bytes, width: int, look: Look) -> int:
    return len(find(np.frombuffer(cells, np.uint8).reshape(-1, width), look))


def propose_state_goals(laws: Laws, analysis: RecordAnalysis) -> list[Laws]:
    """Return these laws with each predicate that fits the record, the cheapest to write down first; as they are where none does."""
    running = list(dict.fromkeys(_find_running_grounds(analysis)))
    completed = list(dict.fromkeys(_find_completed_grounds(laws, analysis)))
    looks = [*dict.fromkeys([*laws.turns, *laws.turns.values(), *_find_rare_looks(laws, analysis)])]
    current = Ground(analysis.get_current_frame().ground, analysis.width, analysis.record.current.first.level)
    fitting: list[tuple[tuple[bool, int, int, int], tuple[Goal, ...]]] = []
    for order, goal in enumerate(_generate_goals(laws, looks, current, running, completed)):
        if any(ground.is_goal_met(goal) for ground in running):
            continue
        additional_goals = _find_additional_goals(goal, laws, running, completed)
        if additional_goals is not None:
            n_left = current.count(goal[1]) if goal[0] == "none" else 1
            fitting.append(((n_left == 0, compute_description_bits(goal), n_left, order), (*additional_goals, goal)))
    ranked = [goals for _, goals in sorted(fitting, key=lambda item: item[0])]
    selected = [
        goals
        for k, goals in enumerate(ranked)
        if sum(earlier[-1][0] == goals[-1][0] for earlier in ranked[:k]) < MAX_GOALS_OF_A_KIND
    ]
    return [replace(laws, goals=goals) for goals in selected[:MAX_GOALS]] or [laws]


def compute_description_bits(goal: Goal) -> int:
    """Compute what a predicate costs to write down, in bits: LOOK_BITS for a look, NUMBER_BITS for a number."""
    kind, argument = goal
    return {
        "none": LOOK_BITS,
        "alike": LOOK_BITS * len(argument),
        "left": LOOK_BITS + NUMBER_BITS,
        "match": NUMBER_BITS * len(argument),
    }[kind]


def _generate_goals(
    laws: Laws, looks: Sequence[Look], current: Ground, running: Sequence[Ground], completed: Sequence[Ground]
) -> Iterator[Goal]:
    """Every predicate that is thought of."""
    yield from (("none", look) for look in looks)
    for look in looks if completed else ():
        max_count = max(ground.count(look) for ground in completed)
        if max_count:
            yield "left", (look, max_count)
    yield from (("alike", alike) for alike in _group_looks(laws, looks))
    yield from (("match", argument) for argument in _find_level_matches(laws, current, running))


def _find_level_matches(laws: Laws, current: Ground, running: Sequence[Ground]) -> list[Match]:
    """Regions of this level that may be meant to look alike."""
    return find_matches([ground.grid for ground in running if ground.level == current.level] or [current.grid], laws.turns)


def _find_additional_goals(
    goal: Goal, laws: Laws, running: Sequence[Ground], completed: Sequence[Ground]
) -> tuple[Goal, ...] | None:
    """Find what has to be said besides, for the completions that this goal does not explain: patterns lie elsewhere in other
    levels. None where that cannot be."""
    additional_goals: dict[Goal, None] = {}
    for ground in completed:
        if ground.is_goal_met(goal) or any(ground.is_goal_met(candidate) for candidate in additional_goals):
            continue
        candidates: Iterator[Goal] = (
            ("match", argument) for argument in (_find_level_matches(laws, ground, running) if goal[0] == "match" else ())
        )
        candidate = next(
            (
                candidate
                for candidate in candidates
                if ground.is_goal_met(candidate) and not any(g.is_goal_met(candidate) for g in running)
            ),
            None,
        )
        if candidate is None:
            return None
        additional_goals[candidate] = None
    return tuple(additional_goals)


def _group_looks(laws: Laws, looks: Sequence[Look]) -> Iterator[tuple[Look, ...]]:
    """Looks of one kind of thing: those that turn into each other; or those of one shape."""
    groups: list[set[Look]] = []
    for one, other in laws.turns.items():
        joined = {one, other}.union(*(group for group in groups if group & {one, other}))
        groups = [*(group for group in groups if not group & joined), joined]
    shapes: dict[tuple[tuple[bool, ...], ...], set[Look]] = defaultdict(set)
    for look in () if laws.turns else looks:
        shapes[tuple(tuple(colour in laws.floor for colour in line) for line in look)].add(look)
    groups += shapes.values()
    yield from (tuple(sorted(group)) for group in groups if len(group) > 1)


def _find_rare_looks(laws: Laws, analysis: RecordAnalysis) -> list[Look]:
    """Find what stands in the level, place by place as the avatar steps: the looks of which there are few, the fewest first."""
    current = analysis.get_current_frame()
    if current.spot.body < 0:
        return []
    walker = Walker(laws)
    top, left, height, width = walker.boxes[current.spot.body]
    moves: Mapping[ActionName, Cell] = laws.bodies[current.spot.body]["moves"]
    row_stride = min([abs(rows) for rows, _ in moves.values() if rows], default=height)
    col_stride = min([abs(cols) for _, cols in moves.values() if cols], default=width)
    ground = np.frombuffer(current.ground, np.uint8).reshape(-1, analysis.width)
    counts: Counter[Look] = Counter()
    for row in range((current.spot.row + top) % row_stride, ground.shape[0], row_stride):
        for col in range((current.spot.col + left) % col_stride, ground.shape[1], col_stride):
            shown_look = patch(ground, row, col, height, width)
            if shown_look is not None and not {colour for line in shown_look for colour in line} <= set(laws.floor):
                counts[shown_look] += 1
    return [look for look, times in sorted(counts.items(), key=lambda item: item[1]) if times <= MAX_OCCURRENCES]


def _find_running_grounds(analysis: RecordAnalysis) -> Iterator[Ground]:
    """Every ground on which the level went on, but while what lies below the avatar may have changed unseen."""
    for trajectory, tracked_frames in zip(analysis.record, analysis.tracked_frames, strict=True):
        unsure_spot: Spot | None = None
        for previous, current, status in zip((None, *tracked_frames), tracked_frames, trajectory.statuses, strict=False):
            if previous is not None and previous.ground != current.ground and previous.spot != current.spot:
                unsure_spot = current.spot
            if status is Status.RUNNING and current.spot != unsure_spot:
                unsure_spot = None
                yield Ground(current.ground, analysis.width, trajectory.first.level)


def _find_completed_grounds(laws: Laws, analysis: RecordAnalysis) -> Iterator[Ground]:
    """The grounds that the laws lead to where the frame already shows the next level."""
    walker = Walker(replace(laws, goals=()))
    for trajectory, tracked_frames in zip(analysis.record, analysis.tracked_frames, strict=True):
        if trajectory.is_closed and trajectory.last.status is Status.COMPLETED and len(tracked_frames) >= len(trajectory):
            last: TrackedFrame = tracked_frames[len(trajectory) - 1]
            state = State(last.ground, analysis.width, *last.spot, RUNNING, -1)
            yield Ground(walker.step(state, trajectory.actions[-1]).ground, analysis.width, trajectory.first.level)
