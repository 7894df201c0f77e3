"""Who the avatar is: of the figures that were seen moving, the one whose moves leave least to explain."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

import numpy as np

from lawbook.core.record import Action, Trajectory
from lawbook.minds.induce.looks import cells_of, find
from lawbook.minds.induce.motion import Cell, Look, movers
from lawbook.minds.induce.tracking import NOWHERE, Spot, compared, track

SAMPLE = 24
"""Changes of one trajectory that a figure is weighed by; the tables are then checked on everything."""
OTHERS = 3
"""How many other trajectories a figure is weighed by."""
PROPOSING = 8
"""Changes in which figures are looked for."""
STEERED = 0.3
"""Share of its moves that knowing the action must explain beyond the commonest move of all, averaged over all actions but one (the
one that makes that move); a figure below that goes its own way."""
UNSTEADY = 4
"""What a move costs that is not the usual one for its action, in cells left unexplained."""


class Changes(NamedTuple):
    """The first frames of a trajectory that differ from the one before, packed, and the actions between them."""

    shape: tuple[int, int]
    packed: tuple[bytes, ...]
    actions: tuple[Action, ...]

    @property
    def frames(self) -> list[Any]:
        return [np.frombuffer(frame, np.uint8).reshape(self.shape) for frame in self.packed]


def looks_of(trajectories: Iterable[Trajectory]) -> tuple[Look, ...]:
    """The looks of the avatar, in the order in which a first frame is searched for them.

    A trajectory in which something changes and no known look stands at its start is searched for a new one, which is weighed by
    some of the others too.
    """
    trajectories, looks = list(trajectories), list[Look]()
    changing = [changes for trajectory in trajectories if (changes := _changes(trajectory)).actions]
    for changes in changing:
        if not any(find(changes.frames[0], look) for look in looks):
            best = _best((changes, *[other for other in changing[: OTHERS + 1] if other is not changes][:OTHERS]))
            if best is not None:
                looks.append(best)
    return (*looks, *_turned(trajectories, looks))


def _turned(trajectories: Iterable[Trajectory], looks: Sequence[Look]) -> list[Look]:
    """Other looks that the avatar takes on where it stands, and out of again: those of an avatar that turns."""
    found: dict[Look, None] = {}
    for trajectory in trajectories:
        if not looks or any(action.x is not None for action, _ in trajectory.steps[:1]):
            continue
        frames = compared(trajectory)
        known = [*looks, *found]
        spots = track(frames, known)
        chain: list[Look] = []
        place = NOWHERE
        for (before, after), at, to in zip(pairwise(frames), spots, spots[1:], strict=False):
            place = at if at.body >= 0 else place
            if place.body < 0 or np.array_equal(before, after):
                continue
            shown = known[place.body]
            box = np.s_[place.row : place.row + len(shown), place.col : place.col + len(shown[0])]
            rest = before != after
            rest[box] = False
            new = tuple(
                tuple(int(cell) if own >= 0 else -1 for cell, own in zip(line, mask, strict=True))
                for line, mask in zip(after[box].tolist(), shown, strict=True)
            )
            if not rest.any() and new in known:
                found |= dict.fromkeys(chain)  # it came back to a look it had
            if rest.any() or to.body >= 0:
                chain = []
            if not rest.any() and new not in known:
                chain.append(new)
                found |= dict.fromkeys(chain[:-1])  # the last may be an end, not a turn
    return list(found)


def _changes(trajectory: Trajectory) -> Changes:
    frames = compared(trajectory)
    kept, actions = [frames[0].tobytes()], []
    for (action, _), (before, after) in zip(trajectory.steps, pairwise(frames), strict=False):
        if action.x is not None:
            break  # what a click moves is steered by no one: an avatar goes by actions without a place
        if not np.array_equal(before, after):
            kept.append(after.tobytes())
            actions.append(action)
            if len(actions) == SAMPLE:
                break
    height, width = frames[0].shape
    return Changes((height, width), tuple(kept), tuple(actions))


@lru_cache(maxsize=64)  # a record grows at its end, so most of this is asked again and again
def _best(samples: tuple[Changes, ...]) -> Look | None:
    """The figure that leaves least unexplained in the samples; None when none pays for its own description."""
    counted: Counter[Look] = Counter()
    for before, after in pairwise(samples[0].packed[: PROPOSING + 1]):
        counted.update(_looks(samples[0].shape, before, after))
    nothing = sum(int((a != b).sum()) for sample in samples for a, b in pairwise(sample.frames))
    costs = [(_cost(look, samples), rank, look) for rank, (look, _) in enumerate(counted.most_common(12))]
    cost, _, look = min(costs, default=(nothing, 0, ()))
    return look if cost < nothing else None


@lru_cache(maxsize=64)
def _looks(shape: tuple[int, int], *packed: bytes) -> frozenset[Look]:
    """The figures that may have moved from one frame to the next."""
    before, after = (np.frombuffer(frame, np.uint8).reshape(shape) for frame in packed)
    return frozenset(mover.look for mover in movers(before, after))


def _cost(look: Look, samples: Iterable[Changes]) -> float:
    """Cells of the look, of the other places that look like it, and of all that its moves do not explain; infinite if unsteered."""
    cells = [cells_of(look)]
    rows, cols, colours = cells[0]
    cost, moves = len(colours), defaultdict[Action, Counter[Cell]](Counter)
    for sample in samples:
        frames = sample.frames
        cost += max(len(find(frames[0], look)) - 1, 0)
        spots = track(frames, [look])
        for action, (before, after), (at, to) in zip(sample.actions, pairwise(frames), pairwise(spots), strict=True):
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
    return len(gains) < 2 or sum(gains) / (len(gains) - 1) > STEERED


def _unexplained(before: Any, after: Any, at: Spot, to: Spot, rows: Any, cols: Any) -> int:
    rest = before != after
    for spot in (at, to):
        if spot.body >= 0:
            rest[spot.row + rows, spot.col + cols] = False
    return int(rest.sum())
