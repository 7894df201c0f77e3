"""Who the avatar is: of the figures that were seen moving, the one whose moves leave least to explain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from lawbook.minds.induce.perceive import Cell, Look, Spot, cells_of, compared, movers, track
from lawbook.minds.induce.walker import find
from lawbook.record import Action, Trajectory

SAMPLE = 24
"""Changes looked at in one trajectory, to find a figure and to weigh it; the tables are then checked on everything."""
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
    for before, after in pairwise(samples[0].frames):
        counted.update({mover.look for mover in movers(before, after)})
    nothing = sum(int((a != b).sum()) for sample in samples for a, b in pairwise(sample.frames))
    costs = [(_cost(look, samples), rank, look) for rank, (look, _) in enumerate(counted.most_common(12))]
    cost, _, look = min(costs, default=(nothing, 0, ()))
    return look if cost < nothing else None


def _cost(look: Look, samples: Sequence[Changes]) -> int:
    """Cells of the look, of the other places that look like it, and of all that its moves do not explain."""
    cells = [cells_of(look)]
    rows, cols, colours = cells[0]
    cost, moves = len(colours), dict[Action, Counter[Cell]]()
    for sample in samples:
        cost += max(len(find(sample.frames[0], look)) - 1, 0)
        spots = track(sample.frames, [look])
        for action, (before, after), (at, to) in zip(sample.actions, pairwise(sample.frames), pairwise(spots), strict=True):
            cost += _unexplained(before, after, at, to, rows, cols)
            if at.body >= 0 and to.body >= 0:
                moves.setdefault(action, Counter())[to.row - at.row, to.col - at.col] += 1
    for counted in moves.values():
        counted.pop((0, 0), None)
        cost += UNSTEADY * (counted.total() - max(counted.values(), default=0))
    return cost


def _unexplained(before: Any, after: Any, at: Spot, to: Spot, rows: Any, cols: Any) -> int:
    rest = before != after
    for spot in (at, to):
        if spot.body >= 0:
            rest[spot.row + rows, spot.col + cols] = False
    return int(rest.sum())
