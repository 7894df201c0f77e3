"""What no law explains, learnt by heart: the exceptions that make a program reproduce its record exactly."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lawbook.core.record import Observation, Status, Trajectory
from lawbook.minds.induce.contact_log import Study
from lawbook.minds.induce.law_tables import Laws, named
from lawbook.minds.induce.tracking import compared
from lawbook.minds.induce.walker import COMPLETED, OVER, RUNNING, State, Walker

STATUS = {Status.RUNNING: RUNNING, Status.COMPLETED: COMPLETED, Status.OVER: OVER}
PASSES = 6
"""Passes in which exceptions are kept by place; after that each is kept by its whole history, which cannot contradict itself."""
PACKED = 40
"""More changed runs of cells than this are written as one packed ground."""


def memorised(laws: Laws, seen: Study) -> Laws:
    """These laws with exceptions added until they reproduce the record: every first rendering, frame and status that is compared.

    An exception belongs to a place (this ground, this spot, this action), or, where one place has had two outcomes, to a history
    (this first frame, these actions).
    """
    laws = replace(laws, starts=dict(_starts(laws, seen)))
    places: dict[Any, Any] = {}
    histories: list[dict[int, Any]] = [{} for _ in seen.record]
    fickle: set[Any] = set()
    for _ in range(PASSES):
        laws = replace(laws, places=places, histories=_histories(seen, histories))
        missed = 0
        for step, index, key, effect in _misses(Walker(laws), seen):
            missed += 1
            if key in fickle:
                histories[index][step] = effect
            elif key in places:
                fickle.add(key)
                del places[key]
            else:
                places[key] = effect
        if not missed:
            return laws
    # Places keep contradicting each other; a history cannot.
    by_heart: list[dict[int, Any]] = [{} for _ in seen.record]
    for step, index, _, effect in _misses(Walker(replace(laws, places={}, histories=())), seen):
        by_heart[index][step] = effect
    return replace(laws, places={}, histories=_histories(seen, by_heart))


def _histories(seen: Study, effects: Sequence[Mapping[int, Any]]) -> tuple[Any, ...]:
    """(first frame, ((action, effect or None), ...)) of every trajectory with something to memorise, up to the last of it."""
    return tuple(
        (
            zlib.crc32(trajectory.first.frame.tobytes()),
            tuple((named(action), mine.get(step)) for step, action in enumerate(trajectory.actions[: max(mine)], start=1)),
        )
        for trajectory, mine in zip(seen.record, effects, strict=True)
        if mine
    )


def _starts(laws: Laws, seen: Study) -> Iterator[tuple[int, Any]]:
    """First frames that the general rules start wrongly: where the avatar is, and what lies below it."""
    walker = Walker(laws)
    for trajectory, moments in zip(seen.record, seen.moments, strict=True):
        frame = trajectory.first.frame
        state, (ground, spot, mates) = walker.initial_state({"frame": frame}), moments[0]
        if (state.body, state.row, state.col) != spot or state.mates != mates or state.ground != ground:
            figures = []
            for figure in (spot, *mates):
                below: tuple[int, ...] = ()
                if figure[0] >= 0:
                    r, c, _ = walker.cells[figure[0]]
                    below = tuple(np.frombuffer(ground, np.uint8).reshape(frame.shape)[figure[1] + r, figure[2] + c].tolist())
                figures.append((*figure, below))
            yield zlib.crc32(frame.tobytes()), tuple(figures)


def _misses(walker: Walker, seen: Study) -> Iterator[tuple[int, int, Any, Any]]:
    """Roll the walker over every trajectory; where it errs: (step, trajectory, place, what follows), then on from the truth."""
    for index, (trajectory, moments) in enumerate(zip(seen.record, seen.moments, strict=True)):
        shown = len(compared(trajectory))
        state = walker.initial_state({"frame": trajectory.first.frame})
        for step, (action, observation) in enumerate(trajectory.steps, start=1):
            before, state = state, walker.step(state, action)
            if observation.status is Status.TRUNCATED or _same(walker, state, observation, step < shown):
                continue
            moment = moments[step] if step < len(moments) else moments[step - 1]._replace(ground=before.ground)
            status = STATUS[observation.status]
            key = (zlib.crc32(before.ground), before.body, before.row, before.col, before.mates, named(action))
            yield step, index, key, (*moment.spot, status, _changes(before, moment.ground), moment.mates)
            trail = walker.follow(before.trail, named(action))
            state = State(moment.ground, before.width, *moment.spot, status, trail, moment.mates)


def _same(walker: Walker, state: State, observation: Observation, frame: bool) -> bool:
    status = STATUS[observation.status]
    if state.status != status and not (status == COMPLETED and walker.is_goal(state)):
        return False
    return not frame or np.array_equal(walker.render(state), observation.frame)


def _changes(before: State, ground: bytes) -> Any:
    """How to repaint one ground into another: runs of equal cells in a row, or the whole packed."""
    old, new = (np.frombuffer(cells, np.uint8).reshape(-1, before.width) for cells in (before.ground, ground))
    runs: list[tuple[int, int, int, int]] = []
    for row, col in np.argwhere(old != new).tolist():
        colour = int(new[row, col])
        if runs and runs[-1][0] == row and runs[-1][1] + runs[-1][3] == col and runs[-1][2] == colour:
            runs[-1] = (row, runs[-1][1], colour, runs[-1][3] + 1)
        else:
            runs.append((row, col, colour, 1))
        if len(runs) > PACKED:
            return base64.b85encode(zlib.compress(ground, 9)).decode()
    return tuple(runs)


def tip(walker: Any, trajectory: Trajectory) -> Any:
    """The program's state where a trajectory has got to."""
    state = walker.initial_state({"frame": trajectory.first.frame})
    for action in trajectory.actions:
        state = walker.step(state, action)
    return state
