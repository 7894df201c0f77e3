"""Goals that are states of the whole ground: predicates that are false wherever the level went on, true wherever it ended well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from lawbook.minds.induce.perceive import Look
from lawbook.minds.induce.study import Moment, Study
from lawbook.minds.induce.tables import Laws
from lawbook.minds.induce.walker import RUNNING, State, Walker, find, patch
from lawbook.record import Status

GOALS = 6
"""How many predicates are kept as rivals."""
COMMON = 12
"""A look that a level shows more often than this is nothing to get rid of."""


def aims(laws: Laws, seen: Study) -> list[Laws]:
    """These laws with each predicate that fits the record, the cheapest to test first; as they are where none does."""
    now = seen.now().ground
    looks = [*dict.fromkeys([*laws.turns, *laws.turns.values(), *_things(laws, seen)])]
    running, ended = set(_running(seen)), set(_ended(laws, seen))
    counts = {look: _count(now, seen.width, look) for look in looks}
    fitting = [
        look
        for look in looks
        if not any(_count(ground, seen.width, look) for ground in ended) and all(_count(g, seen.width, look) for g in running)
    ]
    ranked = sorted(fitting, key=lambda look: (counts[look] == 0, counts[look], looks.index(look)))
    return [replace(laws, goals=(("none", look),)) for look in ranked[:GOALS]] or [laws]


def _count(ground: bytes, width: int, look: Look) -> int:
    return len(find(np.frombuffer(ground, np.uint8).reshape(-1, width), look))


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
            if shown is not None and len({colour for line in shown for colour in line}) > 1:
                counted[shown] += 1
    return [look for look, times in sorted(counted.items(), key=lambda item: item[1]) if times <= COMMON]


def _running(seen: Study) -> Iterator[bytes]:
    """Every ground on which the level went on, but while what lies below the avatar may have changed unseen."""
    for trajectory, moments in zip(seen.record, seen.moments, strict=True):
        unsure: Any = None
        for before, now, status in zip((None, *moments), moments, trajectory.statuses, strict=False):
            if before is not None and before.ground != now.ground and before.spot != now.spot:
                unsure = now.spot
            if status is Status.RUNNING and now.spot != unsure:
                unsure = None
                yield now.ground


def _ended(laws: Laws, seen: Study) -> Iterator[bytes]:
    """The grounds that the laws lead to where the frame already shows the next level."""
    walker = Walker(replace(laws, goals=()))
    for trajectory, moments in zip(seen.record, seen.moments, strict=True):
        if trajectory.closed and trajectory.last.status is Status.COMPLETED and len(moments) >= len(trajectory):
            last: Moment = moments[len(trajectory) - 1]
            state = State(last.ground, seen.width, *last.spot, RUNNING, -1)
            yield walker.step(state, trajectory.actions[-1]).ground
