"""Ranking: of the laws that fit a record, those a member holds; the best that differ in what they do or predict."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import NamedTuple

from lawbook.core.hypothesis import Hypothesis, Trigger
from lawbook.core.record import Action, Record, Trajectory
from lawbook.minds.base import Case, Interface
from lawbook.minds.induce.contact_log import RecordAnalysis
from lawbook.minds.induce.doubt_induction import Unknown, believe_trajectory, learn_doubts, make_believer
from lawbook.minds.induce.exceptions import add_exceptions, add_start_places, simulate_trajectory
from lawbook.minds.induce.law_tables import Laws
from lawbook.minds.induce.layers import Layers, State
from lawbook.minds.induce.overlay_removal import Overlay, add_patches, add_refills
from lawbook.minds.induce.types import get_colours
from lawbook.minds.induce.walker import RUNNING, Walker

MAX_STATES = 1_500
"""States that are looked at, to tell one set of laws from another."""


class Behaviour(NamedTuple):
    """The plan of some laws and a digest of their predictions.

    plan: the shortest way to a goal from here; empty where they see none. prediction_digest: of every state that they lead to from
    here, the ends included; of use within one process.
    """

    plan: tuple[Action, ...]
    prediction_digest: int


class HypothesisRanking:
    """Laws that fit one record equally well, the cheapest first. What is worked out about them is kept."""

    def __init__(
        self,
        laws: Sequence[Laws],
        analysis: RecordAnalysis,
        overlay: Overlay,
        record: Record,
        open_interface: Interface | None = None,
    ) -> None:
        """open_interface: the world's, where a program may leave open what no law explains; None: that is learnt by heart."""
        self.laws, self._analysis, self._overlay, self._record = laws, analysis, overlay, record
        self._open_interface = open_interface
        self._completed: dict[int, tuple[Laws, Overlay]] = {}
        self._unknown: dict[int, Unknown] = {}
        self._behaviours: dict[int | str, Behaviour] = {}

    def complete_laws(self, index: int) -> tuple[Laws, Overlay]:
        """Return one set of laws with every exception that it needs, and what lies over it.

        Where a program may leave things open, with no exceptions but where figures start.
        """
        if index not in self._completed and self._open_interface is not None:
            laws = add_start_places(self.laws[index], self._analysis)
            self._completed[index] = laws, add_refills(self._overlay, Walker(laws), self._record)
        if index not in self._completed:
            laws = add_exceptions(self.laws[index], self._analysis)
            self._completed[index] = laws, add_patches(self._overlay, Walker(laws), self._record)
        return self._completed[index]

    def learn_unknown(self, index: int) -> Unknown:
        """Return what one set of laws leaves open."""
        assert self._open_interface is not None
        if index not in self._unknown:
            self._unknown[index] = learn_doubts(*self.complete_laws(index), self._record, self._open_interface)
        return self._unknown[index]

    def find_state(self, index: int, trajectory: Trajectory) -> State:
        """Return the state in which one set of laws holds the world to be at the end of a trajectory."""
        laws, overlay = self.complete_laws(index)
        if self._open_interface is None:
            return simulate_trajectory(Layers(overlay, Walker(laws)), trajectory)
        state: State = believe_trajectory(make_believer(laws, overlay, self.learn_unknown(index)), trajectory).world
        current = self._analysis.get_current_frame()
        figures = (state.core.body, state.core.row, state.core.col), state.core.mates
        if trajectory is not self._record.current or figures != (tuple(current.spot), current.mates):
            return state
        return state._replace(core=state.core._replace(ground=current.ground))  # below the figures too, where that is known

    def rank_laws(self, case: Case) -> list[int]:
        """Return indices of the laws in the order in which this member is to propose them: first the one to hold.

        That is the one it holds already if it is among the best, else the one of its rank there, else the first; but none that
        another member holds (their texts are in the case). The best are as many as there are members, no two of them alike in plan
        and prediction.
        """
        all_indices = range(len(self.laws))
        if case.population == 1 or len(self.laws) == 1:
            return [*dict.fromkeys((self._choose_single(case), *all_indices))]
        best = self.find_best(case)
        held_by_others = {index for rival in case.rivals if (index := self._find_held(rival, case)) is not None}
        own_index = None if case.hypothesis is None else self._find_held(case.hypothesis, case)
        free_indices = [index for index in best if index not in held_by_others]
        ranked_index = best[case.member % len(best)]
        first_index = next((index for index in (own_index, ranked_index, *free_indices) if index in free_indices), ranked_index)
        return [*dict.fromkeys((first_index, *free_indices, *best, *all_indices))]

    def _choose_single(self, case: Case) -> int:
        """Choose what a single member holds: the likeliest. Of goals that are states of the whole, the one it holds already; and
        where there is no way to that, the first to which there is."""
        if not any(laws.goals for laws in self.laws):
            return self._choose_guess()
        held_laws = None if case.hypothesis is None else parse_laws(case.hypothesis)
        goals = () if held_laws is None else held_laws.goals
        own_index = next((index for index, laws in enumerate(self.laws) if goals and laws.goals == goals), 0)
        if case.trigger not in (Trigger.NO_PLAN, Trigger.EXPLORE) or self.get_behaviour(own_index, case).plan:
            return own_index
        return next((index for index in range(len(self.laws)) if self.get_behaviour(index, case).plan), own_index)

    def _choose_guess(self) -> int:
        """Choose the likeliest guess at the goal; where areas are left open, the first that is nothing in their colours."""
        if self._open_interface is None or len(self.laws) == 1:
            return 0
        colours = {colour for *_, area_colours in self.learn_unknown(0).areas for colour in area_colours}
        guesses = [set(get_colours(laws.guess)) if laws.guess else set() for laws in self.laws]
        return next((index for index, guess in enumerate(guesses) if not guess & colours), 0)

    def find_own(self, case: Case) -> int:
        """Return the index of the laws that this member's text holds; else of those it would propose."""
        if case.population == 1:
            return self._choose_single(case)
        own_index = None if case.hypothesis is None else self._find_held(case.hypothesis, case)
        return self.rank_laws(case)[0] if own_index is None else own_index

    def find_best(self, case: Case) -> list[int]:
        """Return indices of the first so many laws as there are members, no two of them alike in plan and prediction.

        Of those that are alike within reach, the first. Laws that see no way to a goal differ in what is out of reach as yet.
        """
        index_by_behaviour: dict[Behaviour | int, int] = {}
        for index in range(len(self.laws)):
            behaviour = self.get_behaviour(index, case)
            index_by_behaviour.setdefault(behaviour if behaviour.plan else index, index)
            if len(index_by_behaviour) == case.population:
                break
        return [*index_by_behaviour.values()]

    def get_behaviour(self, index: int, case: Case) -> Behaviour:
        """Return the behaviour of one set of laws, simulated once."""
        if index not in self._behaviours:
            laws, overlay = self.complete_laws(index)
            start = None if self._open_interface is None or case.record.needs_reset else self.find_state(index, case.record.current)
            self._behaviours[index] = simulate_behaviour(Layers(overlay, Walker(laws)), case, start)
        return self._behaviours[index]

    def _find_held(self, hypothesis: Hypothesis, case: Case) -> int | None:
        """Which of these a text holds: the one with its goals, or where many have them, the one that does and foresees alike."""
        laws = parse_laws(hypothesis)
        if laws is None:
            return None
        goal = laws.guess, laws.goals
        same_goal_indices = [index for index, own_laws in enumerate(self.laws) if (own_laws.guess, own_laws.goals) == goal]
        if len(same_goal_indices) < 2:
            return same_goal_indices[0] if same_goal_indices else None
        key = hypothesis.files["learnt.py"]
        if key not in self._behaviours:
            self._behaviours[key] = simulate_behaviour(Layers(self._overlay, Walker(laws)), case)
        held_behaviour = self._behaviours[key]
        matching_indices = [index for index in same_goal_indices if self.get_behaviour(index, case) == held_behaviour]
        matching_indices = matching_indices or [
            index
            for index in same_goal_indices
            if held_behaviour.plan and self.get_behaviour(index, case).plan == held_behaviour.plan
        ]
        return matching_indices[0] if matching_indices else None


def parse_laws(hypothesis: Hypothesis) -> Laws | None:
    """Read the laws of a text of ours back as data (nothing of it is run); None where it is nobody's of our kind."""
    try:
        statements = ast.parse(hypothesis.files.get("learnt.py", "")).body
        values = {
            node.targets[0].id: ast.literal_eval(node.value)
            for node in statements
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        return Laws(**{field.name: values[field.name] for field in fields(Laws)})
    except (ValueError, SyntaxError, KeyError, TypeError, RecursionError, MemoryError):
        return None


def simulate_behaviour(world: Layers, case: Case, start: State | None = None) -> Behaviour:
    """Find what these laws would do from here, and what they foresee within reach of it; where the level is over, from its start.

    A breadth-first search over at most MAX_STATES states. start: the state that the world is in, where the laws alone do not say.
    """
    trajectory = case.record.current
    start = start or (
        world.initial_state({"frame": trajectory.first.frame})
        if case.record.needs_reset
        else simulate_trajectory(world, trajectory)
    )
    plan: tuple[Action, ...] = ()
    digest = hash(world.key(start))
    frontier: list[tuple[tuple[Action, ...], State]] = [((), start)]
    known_keys = {world.key(start)}
    while frontier and len(known_keys) < MAX_STATES:
        next_frontier = []
        for path, state in frontier:
            for action in _find_search_actions(world, state, case):
                next_state = world.step(state, action)
                state_key, status = world.key(next_state), world.status(next_state)
                digest = hash((digest, state_key, status))
                if state_key in known_keys:
                    continue
                known_keys.add(state_key)
                if status == RUNNING:
                    next_frontier.append(((*path, action), next_state))
                elif not plan and world.is_goal(next_state):
                    plan = (*path, action)
        frontier = next_frontier
    return Behaviour(plan, digest)


def _find_search_actions(world: Layers, state: State, case: Case) -> Iterator[Action]:
    """List what the host's search would try."""
    if world.core.laws.around:
        yield from (Action(*action) if isinstance(action, tuple) else Action(action) for action in world.actions(state))
        return
    last = case.record.last
    available = (last.available if last else ()) or case.interface.actions
    yield from (Action(number) for number in available if number and number not in case.interface.clicks)
