"""Which of the laws that fit a record a member holds: the best that differ in what they would do, or in what they foresee."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from lawbook.core.hypothesis import Hypothesis
from lawbook.core.record import Action, Record
from lawbook.minds.base import Case, Why
from lawbook.minds.induce.contact_log import Study
from lawbook.minds.induce.exceptions import memorised, tip
from lawbook.minds.induce.law_tables import Laws
from lawbook.minds.induce.layers import Layers
from lawbook.minds.induce.overlay_removal import Over, patched
from lawbook.minds.induce.walker import RUNNING, Walker

NODES = 1_500
"""States that are looked at, to tell one set of laws from another."""


class Behaviour(NamedTuple):
    """What laws would do and what they foresee. plan: the shortest way to a goal from here; empty where they see none.
    foreseen: a digest of every state that they lead to from here, the ends included; of use within one process."""

    plan: tuple[Action, ...]
    foreseen: int


class Team:
    """Laws that fit one record equally well, the cheapest first. What is worked out about them is kept."""

    def __init__(self, laws: Sequence[Laws], seen: Study, over: Over, record: Record) -> None:
        self.laws, self._seen, self._over, self._record = laws, seen, over, record
        self._whole: dict[int, tuple[Laws, Over]] = {}
        self._behaviours: dict[Any, Behaviour] = {}

    def whole(self, index: int) -> tuple[Laws, Over]:
        """One set of laws with every exception that it needs, and what lies over it."""
        if index not in self._whole:
            laws = memorised(self.laws[index], self._seen)
            self._whole[index] = laws, patched(self._over, Walker(laws), self._record)
        return self._whole[index]

    def order(self, case: Case) -> list[int]:
        """The order in which this member is to propose them: first the one to hold.

        That is the one it holds already if it is among the best, else the one of its rank there, else the first; but none that
        another member holds (their texts are in the case). The best are as many as there are members, no two of them alike in plan
        and prediction.
        """
        everything = range(len(self.laws))
        if case.population == 1 or len(self.laws) == 1:
            return [*dict.fromkeys((self._alone(case), *everything))]
        best = self.best(case)
        held = {index for text in case.rivals if (index := self._held(text, case)) is not None}
        mine = None if case.hypothesis is None else self._held(case.hypothesis, case)
        free = [index for index in best if index not in held]
        ranked = best[case.member % len(best)]
        first = next((index for index in (mine, ranked, *free) if index in free), ranked)
        return [*dict.fromkeys((first, *free, *best, *everything))]

    def _alone(self, case: Case) -> int:
        """What a single member holds: the likeliest. Of goals that are states of the whole, the one it holds already; and where
        there is no way to that, the first to which there is."""
        if not any(laws.goals for laws in self.laws):
            return 0
        held = None if case.hypothesis is None else tables(case.hypothesis)
        goals = () if held is None else held.goals
        mine = next((index for index, laws in enumerate(self.laws) if goals and laws.goals == goals), 0)
        if case.why not in (Why.NO_PLAN, Why.EXPLORE) or self.behaviour(mine, case).plan:
            return mine
        return next((index for index in range(len(self.laws)) if self.behaviour(index, case).plan), mine)

    def own(self, case: Case) -> int:
        """The one that this member's text holds; else the one it would propose."""
        if case.population == 1:
            return self._alone(case)
        mine = None if case.hypothesis is None else self._held(case.hypothesis, case)
        return self.order(case)[0] if mine is None else mine

    def best(self, case: Case) -> list[int]:
        """Indices of the first so many as there are members, in the order of the laws; of those that would do the same and foresee
        the same within reach, the first. Laws that see no way to a goal differ in what is out of reach as yet."""
        found: dict[Any, int] = {}
        for index in range(len(self.laws)):
            alike = self.behaviour(index, case)
            found.setdefault(alike if alike.plan else index, index)
            if len(found) == case.population:
                break
        return [*found.values()]

    def behaviour(self, index: int, case: Case) -> Behaviour:
        if index not in self._behaviours:
            laws, over = self.whole(index)
            self._behaviours[index] = behaviour(Layers(over, Walker(laws)), case)
        return self._behaviours[index]

    def _held(self, text: Hypothesis, case: Case) -> int | None:
        """Which of these a text holds: the one with its goals, or where many have them, the one that does and foresees alike."""
        laws = tables(text)
        if laws is None:
            return None
        goal = laws.guess, laws.goals
        alike = [index for index, mine in enumerate(self.laws) if (mine.guess, mine.goals) == goal]
        if len(alike) < 2:
            return alike[0] if alike else None
        key = text.files["learnt.py"]
        if key not in self._behaviours:
            self._behaviours[key] = behaviour(Layers(self._over, Walker(laws)), case)
        found = self._behaviours[key]
        same = [index for index in alike if self.behaviour(index, case) == found]
        same = same or [index for index in alike if found.plan and self.behaviour(index, case).plan == found.plan]
        return same[0] if same else None


def tables(text: Hypothesis) -> Laws | None:
    """The laws of a text of ours, read back as data (nothing of it is run); None where it is nobody's of our kind."""
    try:
        body = ast.parse(text.files.get("learnt.py", "")).body
        found = {
            node.targets[0].id: ast.literal_eval(node.value)
            for node in body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        return Laws(**{field.name: found[field.name] for field in fields(Laws)})
    except (ValueError, SyntaxError, KeyError, TypeError, RecursionError, MemoryError):
        return None


def behaviour(world: Layers, case: Case) -> Behaviour:
    """What these laws would do from here, and what they foresee within reach of it; where the level is over, from its start."""
    here = case.record.here
    start = world.initial_state({"frame": here.first.frame}) if case.record.needs_reset else tip(world, here)
    plan: tuple[Action, ...] = ()
    digest = hash(world.key(start))
    level: list[tuple[tuple[Action, ...], Any]] = [((), start)]
    known = {world.key(start)}
    while level and len(known) < NODES:
        following = []
        for way, state in level:
            for action in _actions(world, state, case):
                after = world.step(state, action)
                mark, status = world.key(after), world.status(after)
                digest = hash((digest, mark, status))
                if mark in known:
                    continue
                known.add(mark)
                if status == RUNNING:
                    following.append(((*way, action), after))
                elif not plan and world.is_goal(after):
                    plan = (*way, action)
        level = following
    return Behaviour(plan, digest)


def _actions(world: Layers, state: Any, case: Case) -> Iterator[Action]:
    """What the host's search would try."""
    if world.core.laws.around:
        yield from (Action(*action) if isinstance(action, tuple) else Action(action) for action in world.actions(state))
        return
    last = case.record.last
    available = (last.available if last else ()) or case.interface.actions
    yield from (Action(number) for number in available if number and number not in case.interface.clicks)
