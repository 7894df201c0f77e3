"""Figures that move with the avatar: found in the ground that it leaves, followed, and taken off the ground too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from lawbook.core.record import Observation, Record, Trajectory, freeze
from lawbook.minds.induce.contact_log import Changes, Meeting, Moment, Study, study
from lawbook.minds.induce.looks import cells_of
from lawbook.minds.induce.tracking import Spot
from lawbook.minds.induce.walker import box

STEPS = 2
"""Steps that must have changed the ground beyond the avatar's reach before a mate is looked for."""
STRIDES = 3
"""Steps that a mate must have been seen to make."""
SHARE = 0.5
"""Share of the steps that changed the ground that must have done so beyond its reach."""


def studied(record: Record, blind: bool = False) -> Study:
    """Find the avatar and every further figure that actions move, and follow them through the record. blind: there is none."""
    seen = study(record, blind)
    if not seen.bodies or not _beyond(seen):
        return seen
    others = studied(_grounds(seen))
    if not _walks(others, seen):
        return seen
    first = len(seen.bodies)
    bodies = (*seen.bodies, *({**body, "mate": body.get("mate", 0) + 1} for body in others.bodies))
    moments = [
        [Moment(below.ground, own.spot, _mates(below, first)) for own, below in zip(mine, theirs, strict=True)]
        for mine, theirs in zip(seen.moments, others.moments, strict=True)
    ]
    meetings = [*_own(seen, moments), *_theirs(seen, others, first)]
    return replace(seen, bodies=bodies, moments=moments, meetings=meetings)


def _walks(others: Study, seen: Study) -> bool:
    """Does the figure move step by step, as the avatar does, and has it often enough been seen to?"""
    stride = max(abs(part) for body in seen.bodies for move in body["moves"].values() for part in move)
    strides = [
        max(abs(after.spot.row - before.spot.row), abs(after.spot.col - before.spot.col))
        for moments in others.moments
        for before, after in pairwise(moments)
        if before.spot.body >= 0 and after.spot.body >= 0 and before.spot != after.spot
    ]
    return len(strides) >= STRIDES and max(strides) <= 2 * stride


def _mates(below: Moment, first: int) -> tuple[tuple[int, int, int], ...]:
    figures = [figure for figure in (below.spot, *below.mates) if figure[0] >= 0]
    return tuple((body + first, row, col) for body, row, col in figures)


def _beyond(seen: Study) -> bool:
    """Does the ground change where the avatar cannot have touched it, again and again?"""
    far = changing = 0
    for moments in seen.moments:
        for before, after in pairwise(moments):
            if before.ground == after.ground or before.spot.body < 0:
                continue
            changing += 1
            body = seen.bodies[before.spot.body]
            reach = 2 * max(box(body)[2:])
            rows, cols = np.nonzero(_frame(before, seen.width) != _frame(after, seen.width))
            near = (abs(rows - before.spot.row) <= reach) & (abs(cols - before.spot.col) <= reach)
            far += not near.all()
    return far >= STEPS and far >= SHARE * changing


def _frame(moment: Moment, width: int) -> Any:
    return np.frombuffer(moment.ground, np.uint8).reshape(-1, width)


def _grounds(seen: Study) -> Record:
    """The record as it would be without the avatar."""
    plain = Record(seen.record.levels)
    plain.actions, plain.last = seen.record.actions, seen.record.last
    for trajectory, moments in zip(seen.record, seen.moments, strict=True):
        first = trajectory.first
        bare = Trajectory(Observation((freeze(_frame(moments[0], seen.width)),), first.status, first.level, first.available))
        for step, (action, shown) in enumerate(trajectory.steps, start=1):
            if step < len(moments):
                frame = freeze(_frame(moments[step], seen.width))
                shown = Observation((frame,), shown.status, shown.level, shown.available)
            bare.append(action, shown)
        plain.trajectories.append(bare)
    return plain


def _own(seen: Study, moments: Sequence[Sequence[Moment]]) -> list[Meeting]:
    """What the avatar met, without what its mates did: of what changed elsewhere, only what is the ground below them all."""
    kept = []
    for meeting in seen.meetings:
        index, step = meeting.step
        changed = _changed(moments[index], step, seen.width)
        kept.append(replace(_softened(meeting), far=meeting.far & changed))
    return kept


def _theirs(seen: Study, others: Study, first: int) -> list[Meeting]:
    """What the mates met, the avatar included."""
    cells: Mapping[int, Any] = {body: cells_of(seen.bodies[body]["look"]) for body in range(first)}
    found = []
    for meeting in others.meetings:
        index, step = meeting.step
        spot = Spot(meeting.spot.body + first, meeting.spot.row, meeting.spot.col)
        ground = meeting.ground
        own = seen.moments[index][min(step + 1, len(seen.moments[index]) - 1)].spot
        if own.body >= 0 and step >= 0:
            drawn = np.frombuffer(ground, np.uint8).reshape(-1, seen.width).copy()
            r, c, colours = cells[own.body]
            drawn[own.row + r, own.col + c] = colours
            ground = drawn.tobytes()
        found.append(replace(_softened(meeting), spot=spot, ground=ground, far=set()))
    return found


def _softened(meeting: Meeting) -> Meeting:
    """Which of several figures completed the level, no contact tells."""
    return replace(meeting, happens="enter", paint=set(), whole=False) if meeting.happens == "win" else meeting


def _changed(moments: Sequence[Moment], step: int, width: int) -> Changes:
    if step < 0 or step + 1 >= len(moments) or moments[step].ground == moments[step + 1].ground:
        return set()
    before, after = _frame(moments[step], width), _frame(moments[step + 1], width)
    return {(int(r), int(c), int(after[r, c])) for r, c in np.argwhere(before != after)}
