"""Goals that are states of the whole ground: predicates that are false wherever the level went on, true wherever it ended well."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from lawbook.core.record import Status
from lawbook.minds.induce.contact_log import Moment, Study
from lawbook.minds.induce.law_tables import Laws
from lawbook.minds.induce.looks import find, patch
from lawbook.minds.induce.motion import Look
from lawbook.minds.induce.pattern_match import matches
from lawbook.minds.induce.predicates import holds
from lawbook.minds.induce.walker import RUNNING, State, Walker

GOALS, OF_A_KIND = 8, 4
"""How many predicates are kept as rivals, and how many of one kind."""
COMMON = 12
"""A look that a level shows more often than this is nothing to get rid of."""
NAME, NUMBER = 16, 16
"""What it costs to name a look that has been seen, and to write down a number, in bits."""
Goal = tuple[str, Any]


class Ground(NamedTuple):
    """One ground of the record, and the level it belongs to."""

    cells: bytes
    width: int
    level: int

    @property
    def shown(self) -> Any:
        return np.frombuffer(self.cells, np.uint8).reshape(-1, self.width)

    def count(self, look: Look) -> int:
        return _count(self.cells, self.width, look)

    def says(self, goal: Goal) -> bool:
        return holds(*goal, self.shown, self.count)


@lru_cache(maxsize=2048)
def _count(cells: bytes, width: int, look: Look) -> int:
    return len(find(np.frombuffer(cells, np.uint8).reshape(-1, width), look))


def aims(laws: Laws, seen: Study) -> list[Laws]:
    """These laws with each predicate that fits the record, the cheapest to write down first; as they are where none does."""
    running = list(dict.fromkeys(_running(seen)))
    ended = list(dict.fromkeys(_ended(laws, seen)))
    looks = [*dict.fromkeys([*laws.turns, *laws.turns.values(), *_things(laws, seen)])]
    now = Ground(seen.now().ground, seen.width, seen.record.here.first.level)
    fitting: list[tuple[tuple[Any, ...], tuple[Goal, ...]]] = []
    for order, goal in enumerate(_thought(laws, looks, now, running, ended)):
        if any(ground.says(goal) for ground in running):
            continue
        before = _before(goal, laws, running, ended)
        if before is not None:
            left = now.count(goal[1]) if goal[0] == "none" else 1
            fitting.append(((left == 0, bits(goal), left, order), (*before, goal)))
    ranked = [goals for _, goals in sorted(fitting, key=lambda found: found[0])]
    kept = [goals for k, goals in enumerate(ranked) if sum(other[-1][0] == goals[-1][0] for other in ranked[:k]) < OF_A_KIND]
    return [replace(laws, goals=goals) for goals in kept[:GOALS]] or [laws]


def bits(goal: Goal) -> int:
    """What a predicate costs to write down."""
    kind, what = goal
    return {"none": NAME, "alike": NAME * len(what), "left": NAME + NUMBER, "match": NUMBER * len(what)}[kind]


def _thought(laws: Laws, looks: Sequence[Look], now: Ground, running: Sequence[Ground], ended: Sequence[Ground]) -> Iterator[Goal]:
    """Every predicate that is thought of."""
    yield from (("none", look) for look in looks)
    for look in looks if ended else ():
        most = max(ground.count(look) for ground in ended)
        if most:
            yield "left", (look, most)
    yield from (("alike", alike) for alike in _kinds(laws, looks))
    yield from (("match", what) for what in _matches(laws, now, running))


def _matches(laws: Laws, now: Ground, running: Sequence[Ground]) -> list[Any]:
    """Regions of this level that may be meant to look alike."""
    return matches([ground.shown for ground in running if ground.level == now.level] or [now.shown], laws.turns)


def _before(goal: Goal, laws: Laws, running: Sequence[Ground], ended: Sequence[Ground]) -> tuple[Goal, ...] | None:
    """What has to be said besides, for the completions that this goal does not explain: patterns lie elsewhere in other levels.
    None where that cannot be."""
    found: dict[Goal, None] = {}
    for ground in ended:
        if ground.says(goal) or any(ground.says(other) for other in found):
            continue
        others: Iterator[Goal] = (("match", what) for what in (_matches(laws, ground, running) if goal[0] == "match" else ()))
        other = next((other for other in others if ground.says(other) and not any(g.says(other) for g in running)), None)
        if other is None:
            return None
        found[other] = None
    return tuple(found)


def _kinds(laws: Laws, looks: Sequence[Look]) -> Iterator[tuple[Look, ...]]:
    """Looks of one kind of thing: those that turn into each other; or those of one shape."""
    together: list[set[Look]] = []
    for one, other in laws.turns.items():
        joined = {one, other}.union(*(kind for kind in together if kind & {one, other}))
        together = [*(kind for kind in together if not kind & joined), joined]
    shapes: dict[Any, set[Look]] = defaultdict(set)
    for look in () if laws.turns else looks:
        shapes[tuple(tuple(colour in laws.floor for colour in line) for line in look)].add(look)
    together += shapes.values()
    yield from (tuple(sorted(kind)) for kind in together if len(kind) > 1)


def _things(laws: Laws, seen: Study) -> list[Look]:
    """What stands in the level, place by place as the avatar steps: the looks of which there are few, the fewest first."""
    now = seen.now()
    if now.spot.body < 0:
        return []
    walker = Walker(laws)
    top, left, height, width = walker.boxes[now.spot.body]
    moves: Mapping[Any, Any] = laws.bodies[now.spot.body]["moves"]
    down = min([abs(rows) for rows, _ in moves.values() if rows], default=height)
    along = min([abs(cols) for _, cols in moves.values() if cols], default=width)
    ground = np.frombuffer(now.ground, np.uint8).reshape(-1, seen.width)
    counted: Counter[Look] = Counter()
    for row in range((now.spot.row + top) % down, ground.shape[0], down):
        for col in range((now.spot.col + left) % along, ground.shape[1], along):
            shown = patch(ground, row, col, height, width)
            if shown is not None and not {colour for line in shown for colour in line} <= set(laws.floor):
                counted[shown] += 1
    return [look for look, times in sorted(counted.items(), key=lambda item: item[1]) if times <= COMMON]


def _running(seen: Study) -> Iterator[Ground]:
    """Every ground on which the level went on, but while what lies below the avatar may have changed unseen."""
    for trajectory, moments in zip(seen.record, seen.moments, strict=True):
        unsure: Any = None
        for before, now, status in zip((None, *moments), moments, trajectory.statuses, strict=False):
            if before is not None and before.ground != now.ground and before.spot != now.spot:
                unsure = now.spot
            if status is Status.RUNNING and now.spot != unsure:
                unsure = None
                yield Ground(now.ground, seen.width, trajectory.first.level)


def _ended(laws: Laws, seen: Study) -> Iterator[Ground]:
    """The grounds that the laws lead to where the frame already shows the next level."""
    walker = Walker(replace(laws, goals=()))
    for trajectory, moments in zip(seen.record, seen.moments, strict=True):
        if trajectory.closed and trajectory.last.status is Status.COMPLETED and len(moments) >= len(trajectory):
            last: Moment = moments[len(trajectory) - 1]
            state = State(last.ground, seen.width, *last.spot, RUNNING, -1)
            yield Ground(walker.step(state, trajectory.actions[-1]).ground, seen.width, trajectory.first.level)
