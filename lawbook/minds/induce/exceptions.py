"""Exceptions: what no law explains, learnt by heart, so that a program reproduces its record exactly."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from lawbook.core.record import Observation, Status, Trajectory
from lawbook.minds.induce.contact_log import RecordAnalysis
from lawbook.minds.induce.law_tables import Laws, name_action
from lawbook.minds.induce.tracking import select_compared_frames
from lawbook.minds.induce.types import History, MemorisedEffect, Place, Repainting, Simulated, Start
from lawbook.minds.induce.walker import COMPLETED, OVER, RUNNING, State, Walker

STATUS_CODES = {Status.RUNNING: RUNNING, Status.COMPLETED: COMPLETED, Status.OVER: OVER}
MAX_PASSES = 6
"""Passes in which exceptions are kept by place; after that each is kept by its whole history, which cannot contradict itself."""
MAX_RUNS = 40
"""More changed runs of cells than this are written as one packed ground."""


def add_exceptions(laws: Laws, analysis: RecordAnalysis) -> Laws:
    """Add exceptions to laws until they reproduce the record: every first rendering, frame and status that is compared.

    An exception belongs to a place (this ground, this spot, this action), or, where one place has had two outcomes, to a history
    (this first frame, these actions).
    """
    laws = replace(laws, starts=dict(_find_start_exceptions(laws, analysis)))
    places: dict[Place, MemorisedEffect] = {}
    histories: list[dict[int, MemorisedEffect]] = [{} for _ in analysis.record]
    contradicted_places: set[Place] = set()
    for _ in range(MAX_PASSES):
        laws = replace(laws, places=places, histories=_build_histories(analysis, histories))
        n_missed = 0
        for step, index, key, effect in _find_misses(Walker(laws), analysis):
            n_missed += 1
            if key in contradicted_places:
                histories[index][step] = effect
            elif key in places:
                contradicted_places.add(key)
                del places[key]
            else:
                places[key] = effect
        if not n_missed:
            return laws
    # Places keep contradicting each other; a history cannot.
    effects_by_step: list[dict[int, MemorisedEffect]] = [{} for _ in analysis.record]
    for step, index, _, effect in _find_misses(Walker(replace(laws, places={}, histories=())), analysis):
        effects_by_step[index][step] = effect
    return replace(laws, places={}, histories=_build_histories(analysis, effects_by_step))


def add_starts(laws: Laws, analysis: RecordAnalysis) -> Laws:
    """Add where figures start and what lies below them, of first frames that the general rules start wrongly."""
    return replace(laws, starts=dict(_find_start_exceptions(laws, analysis)))


def add_start_places(laws: Laws, analysis: RecordAnalysis) -> Laws:
    """Add where figures start, of first frames in which the general rules place them wrongly; not what lies below them."""
    walker = Walker(laws)
    starts = {}
    for mark, figures in _find_start_exceptions(laws, analysis):
        places = tuple(figure[:3] for figure in figures)
        state = next(t.first.frame for t in analysis.record if zlib.crc32(t.first.frame.tobytes()) == mark)
        if places != tuple(figure[:3] for figure in walker.sight(state)):
            starts[mark] = figures
    return replace(laws, starts=starts)


def _build_histories(analysis: RecordAnalysis, effects: Sequence[Mapping[int, MemorisedEffect]]) -> tuple[History, ...]:
    """(first frame, ((action, effect or None), ...)) of every trajectory with something to memorise, up to the last of it."""
    return tuple(
        (
            zlib.crc32(trajectory.first.frame.tobytes()),
            tuple(
                (name_action(action), step_effects.get(step))
                for step, action in enumerate(trajectory.actions[: max(step_effects)], start=1)
            ),
        )
        for trajectory, step_effects in zip(analysis.record, effects, strict=True)
        if step_effects
    )


def _find_start_exceptions(laws: Laws, analysis: RecordAnalysis) -> Iterator[tuple[int, Start]]:
    """First frames that the general rules start wrongly: where the avatar is, and what lies below it."""
    walker = Walker(laws)
    for trajectory, tracked_frames in zip(analysis.record, analysis.tracked_frames, strict=True):
        frame = trajectory.first.frame
        state, (ground, spot, mates) = walker.initial_state({"frame": frame}), tracked_frames[0]
        if (state.body, state.row, state.col) != spot or state.mates != mates or state.ground != ground:
            figures = []
            for figure in (spot, *mates):
                below: tuple[int, ...] = ()
                if figure[0] >= 0:
                    r, c, _ = walker.cells[figure[0]]
                    below = tuple(np.frombuffer(ground, np.uint8).reshape(frame.shape)[figure[1] + r, figure[2] + c].tolist())
                figures.append((*figure, below))
            yield zlib.crc32(frame.tobytes()), tuple(figures)


def _find_misses(walker: Walker, analysis: RecordAnalysis) -> Iterator[tuple[int, int, Place, MemorisedEffect]]:
    """Roll the walker over every trajectory; where it errs: (step, trajectory, place, what follows), then on from the truth."""
    for index, (trajectory, tracked_frames) in enumerate(zip(analysis.record, analysis.tracked_frames, strict=True)):
        n_compared = len(select_compared_frames(trajectory))
        state = walker.initial_state({"frame": trajectory.first.frame})
        for step, (action, observation) in enumerate(trajectory.steps, start=1):
            before, state = state, walker.step(state, action)
            if observation.status is Status.TRUNCATED or _is_reproduced(walker, state, observation, step < n_compared):
                continue
            tracked_frame = (
                tracked_frames[step] if step < len(tracked_frames) else tracked_frames[step - 1]._replace(ground=before.ground)
            )
            status = STATUS_CODES[observation.status]
            key = (zlib.crc32(before.ground), before.body, before.row, before.col, before.mates, name_action(action))
            yield (
                step,
                index,
                key,
                (*tracked_frame.spot, status, _encode_changes(before, tracked_frame.ground), tracked_frame.mates),
            )
            trail = walker.follow(before.trail, name_action(action))
            state = State(tracked_frame.ground, before.width, *tracked_frame.spot, status, trail, tracked_frame.mates)


def _is_reproduced(walker: Walker, state: State, observation: Observation, compare_frame: bool) -> bool:
    status = STATUS_CODES[observation.status]
    if state.status != status and not (status == COMPLETED and walker.is_goal(state)):
        return False
    return not compare_frame or np.array_equal(walker.render(state), observation.frame)


def _encode_changes(before: State, ground: bytes) -> Repainting:
    """How to repaint one ground into another: runs of equal cells in a row, or the whole packed."""
    old, new = (np.frombuffer(cells, np.uint8).reshape(-1, before.width) for cells in (before.ground, ground))
    runs: list[tuple[int, int, int, int]] = []
    for row, col in np.argwhere(old != new).tolist():
        colour = int(new[row, col])
        if runs and runs[-1][0] == row and runs[-1][1] + runs[-1][3] == col and runs[-1][2] == colour:
            runs[-1] = (row, runs[-1][1], colour, runs[-1][3] + 1)
        else:
            runs.append((row, col, colour, 1))
        if len(runs) > MAX_RUNS:
            return base64.b85encode(zlib.compress(ground, 9)).decode()
    return tuple(runs)


def simulate_trajectory[S](program: Simulated[S], trajectory: Trajectory) -> S:
    """Return the program's state where a trajectory has got to, after all of its actions."""
    state = program.initial_state({"frame": trajectory.first.frame})
    for action in trajectory.actions:
        state = program.step(state, action)
    return state
