"""Who the avatar is: of the figures that were seen moving, the one whose moves leave least to explain."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

import numpy as np

from lawbook.minds.induce.perceive import Cell, Look, movers
from lawbook.minds.induce.track import Spot, cells_of, compared, track
from lawbook.minds.induce.walker import find
from lawbook.record import Action, Trajectory

SAMPLE = 24
"""Changes of one trajectory that a figure is weighed by; the tables are then checked on everything."""
PROPOSING = 8
"""Changes in which figures are looked for."""
STEERED = 0.3
"""Share of its moves, averaged over the actions, that knowing the action must explain beyond the commonest move of all; a figure
below that goes its own way."""
UNSTEADY = 4
"""What a move costs that is not the usual one for its action, in cells left unexplained."""


class Changes(NamedTuple):
    """The first frames of a trajectory that differ from the one before, and the actions between them."""

    frames: list[Any]
    actions: list[Action]


def looks_of(trajectories: Iterable[Trajectory]) -> tuple[Look, ...]:
    """The looks of the avatar, in the order in which a first frame is searched for them.

    A trajectory in which something changes and no known look stands at its start is searched for a new one.
    """
    looks: list[Look] = []
    for trajectory in trajectories:
        changes = _changes(trajectory)
        if len(changes.frames) > 1 and not any(find(changes.frames[0], look) for look in looks):
            best = _best([changes, *(c for t in trajectories if t is not trajectory and len((c := _changes(t)).frames) > 1)][:4])
            if best is not None:
                looks.append(best)
    return tuple(looks)


def _changes(trajectory: Trajectory) -> Changes:
    frames = compared(trajectory)
    kept, actions = [frames[0]], []
    for (action, _), (before, after) in zip(trajectory.steps, pairwise(frames), strict=False):
        if not np.array_equal(before, after):
            kept.append(after)
            actions.append(action)
            if len(kept) > SAMPLE:
                break
    return Changes(kept, actions)


def _best(samples: Sequence[Changes]) -> Look | None:
    """The figure that leaves least unexplained in the samples; None when none pays for its own description."""
    counted: Counter[Look] = Counter()
    for before, after in pairwise(samples[0].frames[: PROPOSING + 1]):
        counted.update({mover.look for mover in movers(before, after)})
    nothing = sum(int((a != b).sum()) for sample in samples for a, b in pairwise(sample.frames))
    costs = [(_cost(look, samples), rank, look) for rank, (look, _) in enumerate(counted.most_common(12))]
    cost, _, look = min(costs, default=(nothing, 0, ()))
    return look if cost < nothing else None


def _cost(look: Look, samples: Sequence[Changes]) -> float:
    """Cells of the look, of the other places that look like it, and of all that its moves do not explain; infinite if unsteered."""
    cells = [cells_of(look)]
    rows, cols, colours = cells[0]
    cost, moves = len(colours), defaultdict[Action, Counter[Cell]](Counter)
    for sample in samples:
        cost += max(len(find(sample.frames[0], look)) - 1, 0)
        spots = track(sample.frames, [look])
        for action, (before, after), (at, to) in zip(sample.actions, pairwise(sample.frames), pairwise(spots), strict=True):
            cost += _unexplained(before, after, at, to, rows, cols)
            if at.body >= 0 and to.body >= 0:
                moves[action][to.row - at.row, to.col - at.col] += 1
    if not _steered(moves.values()):
        return inf
    for counted in moves.values():
        counted.pop((0, 0), None)
        cost += UNSTEADY * (counted.total() - max(counted.values(), default=0))
    return cost


def _steered(moves: Iterable[Counter[Cell]]) -> bool:
    """Do the actions decide where it goes? Not asked before two actions have been seen to change something twice."""
    often = [counted for counted in moves if counted.total() > 1]
    (usual, _), *_ = sum(often, Counter[Cell]()).most_common(1) or [((0, 0), 0)]
    gains = [(max(counted.values()) - counted[usual]) / counted.total() for counted in often]
    return len(gains) < 2 or sum(gains) / len(gains) > STEERED


def _unexplained(before: Any, after: Any, at: Spot, to: Spot, rows: Any, cols: Any) -> int:
    rest = before != after
    for spot in (at, to):
        if spot.body >= 0:
            rest[spot.row + rows, spot.col + cols] = False
    return int(rest.sum())
