"""Figures that move with the avatar: found in the ground that it leaves, followed, and taken off the ground too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from lawbook.core.record import Observation, Record, Trajectory, freeze
from lawbook.minds.induce.contact_log import ContactEvent, RecordAnalysis, TrackedFrame, analyse_avatar
from lawbook.minds.induce.looks import cells_of
from lawbook.minds.induce.tracking import Spot
from lawbook.minds.induce.types import Body, CellChanges, Figure, Grid, LookCells
from lawbook.minds.induce.walker import box

MIN_REMOTE_STEPS = 2
"""Steps that must have changed the ground beyond the avatar's reach before a mate is looked for."""
MIN_STRIDES = 3
"""Steps that a mate must have been seen to make."""
MIN_REMOTE_SHARE = 0.5
"""Share of the steps that changed the ground that must have done so beyond its reach."""


def analyse_record(record: Record, blind: bool = False) -> RecordAnalysis:
    """Find the avatar and every further figure that actions move, and follow them through the record. blind: there is none."""
    analysis = analyse_avatar(record, blind)
    if not analysis.bodies or not _has_remote_changes(analysis):
        return analysis
    mate_analysis = analyse_record(_remove_avatar(analysis))
    if not _is_walking(mate_analysis, analysis):
        return analysis
    n_bodies = len(analysis.bodies)
    bodies = (*analysis.bodies, *map(_add_mate, mate_analysis.bodies))
    tracked_frames = [
        [
            TrackedFrame(mate_frame.ground, own_frame.spot, _collect_mates(mate_frame, n_bodies))
            for own_frame, mate_frame in zip(own_frames, mate_frames, strict=True)
        ]
        for own_frames, mate_frames in zip(analysis.tracked_frames, mate_analysis.tracked_frames, strict=True)
    ]
    contact_events = [*_filter_own_events(analysis, tracked_frames), *_convert_mate_events(analysis, mate_analysis, n_bodies)]
    return replace(analysis, bodies=bodies, tracked_frames=tracked_frames, contact_events=contact_events)


def _add_mate(body: Body) -> Body:
    """Return a look of the record without the avatar as a look of one further figure."""
    mate_body = body.copy()
    mate_body["mate"] = body.get("mate", 0) + 1
    return mate_body


def _is_walking(mate_analysis: RecordAnalysis, analysis: RecordAnalysis) -> bool:
    """Does the figure move step by step, as the avatar does, and has it often enough been seen to?"""
    stride = max(abs(part) for body in analysis.bodies for move in body["moves"].values() for part in move)
    strides = [
        max(abs(after.spot.row - before.spot.row), abs(after.spot.col - before.spot.col))
        for tracked_frames in mate_analysis.tracked_frames
        for before, after in pairwise(tracked_frames)
        if before.spot.body >= 0 and after.spot.body >= 0 and before.spot != after.spot
    ]
    return len(strides) >= MIN_STRIDES and max(strides) <= 2 * stride


def _collect_mates(tracked_frame: TrackedFrame, first_body: int) -> tuple[Figure, ...]:
    figures = [figure for figure in (tracked_frame.spot, *tracked_frame.mates) if figure[0] >= 0]
    return tuple((body + first_body, row, col) for body, row, col in figures)


def _has_remote_changes(analysis: RecordAnalysis) -> bool:
    """Does the ground change where the avatar cannot have touched it, again and again?"""
    n_remote = n_changing = 0
    for tracked_frames in analysis.tracked_frames:
        for before, after in pairwise(tracked_frames):
            if before.ground == after.ground or before.spot.body < 0:
                continue
            n_changing += 1
            body = analysis.bodies[before.spot.body]
            reach = 2 * max(box(body)[2:])
            rows, cols = np.nonzero(_get_ground_grid(before, analysis.width) != _get_ground_grid(after, analysis.width))
            is_near = (abs(rows - before.spot.row) <= reach) & (abs(cols - before.spot.col) <= reach)
            n_remote += not is_near.all()
    return n_remote >= MIN_REMOTE_STEPS and n_remote >= MIN_REMOTE_SHARE * n_changing


def _get_ground_grid(tracked_frame: TrackedFrame, width: int) -> Grid:
    return np.frombuffer(tracked_frame.ground, np.uint8).reshape(-1, width)


def _remove_avatar(analysis: RecordAnalysis) -> Record:
    """The record as it would be without the avatar."""
    stripped_record = Record(analysis.record.levels)
    stripped_record.n_actions, stripped_record.last = analysis.record.n_actions, analysis.record.last
    for trajectory, tracked_frames in zip(analysis.record, analysis.tracked_frames, strict=True):
        first = trajectory.first
        stripped_trajectory = Trajectory(
            Observation((freeze(_get_ground_grid(tracked_frames[0], analysis.width)),), first.status, first.level, first.available)
        )
        for step, (action, observation) in enumerate(trajectory.steps, start=1):
            if step < len(tracked_frames):
                frame = freeze(_get_ground_grid(tracked_frames[step], analysis.width))
                observation = Observation((frame,), observation.status, observation.level, observation.available)
            stripped_trajectory.append(action, observation)
        stripped_record.trajectories.append(stripped_trajectory)
    return stripped_record


def _filter_own_events(analysis: RecordAnalysis, tracked_frames: Sequence[Sequence[TrackedFrame]]) -> list[ContactEvent]:
    """Keep what the avatar met, not what its mates did: of what changed elsewhere, only what is the ground below them all."""
    own_events = []
    for event in analysis.contact_events:
        index, step = event.step
        ground_changes = _find_ground_changes(tracked_frames[index], step, analysis.width)
        own_events.append(replace(_ignore_completion(event), remote_changes=event.remote_changes & ground_changes))
    return own_events


def _convert_mate_events(analysis: RecordAnalysis, mate_analysis: RecordAnalysis, first_body: int) -> list[ContactEvent]:
    """Return what the mates met, the avatar included."""
    cells: Mapping[int, LookCells] = {body: cells_of(analysis.bodies[body]["look"]) for body in range(first_body)}
    mate_events = []
    for event in mate_analysis.contact_events:
        index, step = event.step
        spot = Spot(event.spot.body + first_body, event.spot.row, event.spot.col)
        ground = event.ground
        avatar_spot = analysis.tracked_frames[index][min(step + 1, len(analysis.tracked_frames[index]) - 1)].spot
        if avatar_spot.body >= 0 and step >= 0:
            drawn_ground = np.frombuffer(ground, np.uint8).reshape(-1, analysis.width).copy()
            r, c, colours = cells[avatar_spot.body]
            drawn_ground[avatar_spot.row + r, avatar_spot.col + c] = colours
            ground = drawn_ground.tobytes()
        mate_events.append(replace(_ignore_completion(event), spot=spot, ground=ground, remote_changes=set()))
    return mate_events


def _ignore_completion(event: ContactEvent) -> ContactEvent:
    """Which of several figures completed the level, no contact tells."""
    return replace(event, outcome="enter", paint=set(), is_fully_seen=False) if event.outcome == "win" else event


def _find_ground_changes(tracked_frames: Sequence[TrackedFrame], step: int, width: int) -> CellChanges:
    if step < 0 or step + 1 >= len(tracked_frames) or tracked_frames[step].ground == tracked_frames[step + 1].ground:
        return set()
    before, after = _get_ground_grid(tracked_frames[step], width), _get_ground_grid(tracked_frames[step + 1], width)
    return {(int(r), int(c), int(after[r, c])) for r, c in np.argwhere(before != after)}
