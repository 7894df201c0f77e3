"""The avatar, detected: of the figures that were seen moving, the one whose moves leave least to explain."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from math import inf
from typing import NamedTuple

import numpy as np

from lawbook.core.record import Action, Trajectory
from lawbook.minds.induce.looks import cells_of, find
from lawbook.minds.induce.motion import find_movers
from lawbook.minds.induce.tracking import NOWHERE, Spot, select_compared_frames, track
from lawbook.minds.induce.types import Cell, Frames, Grid, Indices, Look

MAX_SAMPLE_CHANGES = 24
"""Changes of one trajectory that a figure is weighed by; the tables are then checked on everything."""
MAX_OTHER_SAMPLES = 3
"""How many other trajectories a figure is weighed by."""
MAX_PROPOSING_CHANGES = 8
"""Changes in which figures are looked for."""
MIN_STEERED_SHARE = 0.3
"""Share of its moves that knowing the action must explain beyond the commonest move of all, averaged over all actions but one (the
one that makes that move); a figure below that goes its own way."""
UNSTEADY_MOVE_COST = 4
"""What a move costs that is not the usual one for its action, in cells left unexplained."""


class ChangeSample(NamedTuple):
    """The first frames of a trajectory that differ from the one before, packed, and the actions between them."""

    shape: tuple[int, int]
    packed: tuple[bytes, ...]
    actions: tuple[Action, ...]

    @property
    def frames(self) -> Frames:
        """The frames as one array, n x H x W uint8, the first one first."""
        return np.frombuffer(b"".join(self.packed), np.uint8).reshape(-1, *self.shape)


def find_avatar_looks(trajectories: Iterable[Trajectory]) -> tuple[Look, ...]:
    """Find the looks of the avatar, in the order in which a first frame is searched for them.

    A trajectory in which something changes and no known look stands at its start is searched for a new one, which is weighed by
    some of the others too.
    """
    trajectories, looks = list(trajectories), list[Look]()
    samples = [sample for trajectory in trajectories if (sample := _sample_changes(trajectory)).actions]
    for sample in samples:
        if not any(find(sample.frames[0], look) for look in looks):
            best_look = _find_best_look(
                (sample, *[other for other in samples[: MAX_OTHER_SAMPLES + 1] if other is not sample][:MAX_OTHER_SAMPLES])
            )
            if best_look is not None:
                looks.append(best_look)
    return (*looks, *_find_turned_looks(trajectories, looks))


def _find_turned_looks(trajectories: Iterable[Trajectory], looks: Sequence[Look]) -> list[Look]:
    """Other looks that the avatar takes on where it stands, and out of again: those of an avatar that turns."""
    turned_looks: dict[Look, None] = {}
    for trajectory in trajectories:
        if not looks or any(action.x is not None for action, _ in trajectory.steps[:1]):
            continue
        frames = select_compared_frames(trajectory)
        known_looks = [*looks, *turned_looks]
        spots = track(frames, known_looks)
        chain: list[Look] = []
        last_spot = NOWHERE
        for (before, after), start_spot, end_spot in zip(pairwise(frames), spots, spots[1:], strict=False):
            last_spot = start_spot if start_spot.body >= 0 else last_spot
            if last_spot.body < 0 or np.array_equal(before, after):
                continue
            look = known_looks[last_spot.body]
            box = np.s_[last_spot.row : last_spot.row + len(look), last_spot.col : last_spot.col + len(look[0])]
            changed_outside = before != after
            changed_outside[box] = False
            new_look = tuple(
                tuple(int(cell) if look_cell >= 0 else -1 for cell, look_cell in zip(line, mask, strict=True))
                for line, mask in zip(after[box].tolist(), look, strict=True)
            )
            if not changed_outside.any() and new_look in known_looks:
                turned_looks |= dict.fromkeys(chain)  # it came back to a look it had
            if changed_outside.any() or end_spot.body >= 0:
                chain = []
            if not changed_outside.any() and new_look not in known_looks:
                chain.append(new_look)
                turned_looks |= dict.fromkeys(chain[:-1])  # the last may be an end, not a turn
    return list(turned_looks)


def _sample_changes(trajectory: Trajectory) -> ChangeSample:
    frames = select_compared_frames(trajectory)
    packed_frames, actions = [frames[0].tobytes()], []
    for (action, _), (before, after) in zip(trajectory.steps, pairwise(frames), strict=False):
        if action.x is not None:
            break  # what a click moves is steered by no one: an avatar goes by actions without a place
        if not np.array_equal(before, after):
            packed_frames.append(after.tobytes())
            actions.append(action)
            if len(actions) == MAX_SAMPLE_CHANGES:
                break
    height, width = frames[0].shape
    return ChangeSample((height, width), tuple(packed_frames), tuple(actions))


@lru_cache(maxsize=64)  # a record grows at its end, so most of this is asked again and again
def _find_best_look(samples: tuple[ChangeSample, ...]) -> Look | None:
    """The figure that leaves least unexplained in the samples; None when none pays for its own description."""
    counts: Counter[Look] = Counter()
    for before, after in pairwise(samples[0].packed[: MAX_PROPOSING_CHANGES + 1]):
        counts.update(_find_moved_looks(samples[0].shape, before, after))
    null_cost = sum(int((a != b).sum()) for sample in samples for a, b in pairwise(sample.frames))
    costs = [(_compute_cost(look, samples), rank, look) for rank, (look, _) in enumerate(counts.most_common(12))]
    cost, _, look = min(costs, default=(null_cost, 0, ()))
    return look if cost < null_cost else None


@lru_cache(maxsize=64)
def _find_moved_looks(shape: tuple[int, int], *packed: bytes) -> frozenset[Look]:
    """The figures that may have moved from one frame to the next."""
    before, after = (np.frombuffer(frame, np.uint8).reshape(shape) for frame in packed)
    return frozenset(mover.look for mover in find_movers(before, after))


def _compute_cost(look: Look, samples: Iterable[ChangeSample]) -> float:
    """Cells of the look, of the other places that look like it, and of all that its moves do not explain; infinite if unsteered."""
    cells = [cells_of(look)]
    rows, cols, colours = cells[0]
    cost, moves = len(colours), defaultdict[Action, Counter[Cell]](Counter)
    for sample in samples:
        frames = sample.frames
        cost += max(len(find(frames[0], look)) - 1, 0)
        spots = track(frames, [look])
        for action, (before, after), (start_spot, end_spot) in zip(sample.actions, pairwise(frames), pairwise(spots), strict=True):
            cost += _count_unexplained_cells(before, after, start_spot, end_spot, rows, cols)
            if start_spot.body >= 0 and end_spot.body >= 0:
                moves[action][end_spot.row - start_spot.row, end_spot.col - start_spot.col] += 1
    if not _is_steered(moves.values()):
        return inf
    for counts in moves.values():
        counts.pop((0, 0), None)
        cost += UNSTEADY_MOVE_COST * (counts.total() - max(counts.values(), default=0))
    return cost


def _is_steered(moves: Iterable[Counter[Cell]]) -> bool:
    """Do the actions decide where it goes? Not asked before two actions have been seen to change something twice."""
    frequent_counts = [counts for counts in moves if counts.total() > 1]
    (usual_move, _), *_ = sum(frequent_counts, Counter[Cell]()).most_common(1) or [((0, 0), 0)]
    gains = [(max(counts.values()) - counts[usual_move]) / counts.total() for counts in frequent_counts]
    return len(gains) < 2 or sum(gains) / (len(gains) - 1) > MIN_STEERED_SHARE


def _count_unexplained_cells(before: Grid, after: Grid, start_spot: Spot, end_spot: Spot, rows: Indices, cols: Indices) -> int:
    unexplained = before != after
    for spot in (start_spot, end_spot):
        if spot.body >= 0:
            unexplained[spot.row + rows, spot.col + cols] = False
    return int(unexplained.sum())
