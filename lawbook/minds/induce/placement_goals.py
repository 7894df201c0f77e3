"""Goals of several figures at once: each of them on something of a kind, a lamp on its socket, a stone on its own ring."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from lawbook.core.record import Status
from lawbook.minds.induce.contact_goals import count_places, survey
from lawbook.minds.induce.contact_log import RecordAnalysis, TrackedFrame
from lawbook.minds.induce.law_tables import Laws
from lawbook.minds.induce.tracking import Spot
from lawbook.minds.induce.types import Contact, Home
from lawbook.minds.induce.walker import RUNNING, State, Walker

MAX_HOMES = 8
"""How many such goals are kept as rivals."""
MAX_KINDS = 4
"""Kinds of things that are thought of for each figure."""
MAX_PLACES = 4
"""Places of a kind in a level, at most, for it to be a home."""


def propose_placement_goals(laws: Laws, analysis: RecordAnalysis) -> list[Laws]:
    """Return these laws with each goal of all figures at home that fits the record, the likeliest first; else as they are."""
    walker = Walker(laws)
    running = [_find_supports(walker, analysis, tracked_frame) for tracked_frame in _find_running_frames(analysis)]
    completed = [_find_supports(walker, analysis, tracked_frame) for tracked_frame in _find_completed_frames(walker, analysis)]
    fitting = []
    for home in (*_generate_reached_homes(completed), *_generate_homes(walker, analysis)):
        if (
            home not in fitting
            and all(_is_at_home(home, supports) for supports in completed)
            and not any(_is_at_home(home, supports) for supports in running)
        ):
            fitting.append(home)
    return [replace(laws, goals=(("home", home),)) for home in fitting[:MAX_HOMES]] or [laws]


def _find_supports(walker: Walker, analysis: RecordAnalysis, tracked_frame: TrackedFrame) -> dict[int, Contact]:
    """Find what each figure stood on."""
    figures = (figure for figure in (tracked_frame.spot, *tracked_frame.mates) if figure[0] >= 0)
    return {body: walker.meets(tracked_frame.ground, analysis.width, body, row, col) for body, row, col in figures}


def _is_at_home(home: Home, supports: dict[int, Contact]) -> bool:
    return all(kind in supports.get(body, ()) for body, kind in home)


def _find_running_frames(analysis: RecordAnalysis) -> Iterator[TrackedFrame]:
    for trajectory, tracked_frames in zip(analysis.record, analysis.tracked_frames, strict=True):
        for tracked_frame, status in zip(tracked_frames, trajectory.statuses, strict=False):
            if status is Status.RUNNING:
                yield tracked_frame


def _find_completed_frames(walker: Walker, analysis: RecordAnalysis) -> Iterator[TrackedFrame]:
    """Find where the laws lead to where the frame already shows the next level."""
    plain_walker = Walker(replace(walker.laws, goals=(), places={}, histories=()))
    for trajectory, tracked_frames in zip(analysis.record, analysis.tracked_frames, strict=True):
        if trajectory.is_closed and trajectory.last.status is Status.COMPLETED and len(tracked_frames) >= len(trajectory):
            last = tracked_frames[len(trajectory) - 1]
            next_state = plain_walker.step(
                State(last.ground, analysis.width, *last.spot, RUNNING, -1, last.mates), trajectory.actions[-1]
            )
            yield TrackedFrame(next_state.ground, Spot(next_state.body, next_state.row, next_state.col), next_state.mates)


def _generate_reached_homes(completed: list[dict[int, Contact]]) -> Iterator[Home]:
    """Generate what the figures stood on when a level was last completed, said as generally as can be first."""
    if completed:
        exact_contacts = {body: contact for body, contact in completed[-1].items() if contact[0][0] == "exact"}
        for description_index in (-1, 0):
            yield tuple((body, contact[description_index]) for body, contact in sorted(exact_contacts.items()))


def _generate_homes(walker: Walker, analysis: RecordAnalysis) -> Iterator[Home]:
    """Every figure on a thing of a kind of which there are few, the same colour and the rarest first; then one figure alone."""
    current, candidates = analysis.get_current_frame(), []
    for figure in (current.spot, *current.mates):
        places_by_contact = survey(walker, TrackedFrame(current.ground, Spot(*figure)), analysis.width)
        counts, own_colours = (
            count_places(places_by_contact),
            {cell for line in walker.laws.bodies[figure[0]]["look"] for cell in line} if figure[0] >= 0 else set(),
        )
        kind_ranks = {
            contact[-1]: (not own_colours & set(contact[-1][1]), counts[contact[-1]])
            for contact in places_by_contact
            if contact[-1][0] == "colour" and counts[contact[-1]] <= MAX_PLACES and not _is_blocked(walker, contact)
        }
        candidates.append(
            [
                (kind_ranks[kind], (figure[0], kind))
                for kind in sorted(kind_ranks, key=lambda kind: (kind_ranks[kind], kind))[:MAX_KINDS]
            ]
        )
    combinations = sorted(
        product(*candidates), key=lambda pairs: (sum(rank[0] for rank, _ in pairs), sum(rank[1] for rank, _ in pairs))
    )
    yield from (tuple(pair for _, pair in pairs) for pairs in combinations)
    yield from ((pair,) for figure in candidates for _, pair in figure)


def _is_blocked(walker: Walker, contact: Contact) -> bool:
    """Is it known that this cannot be stood on?"""
    is_known = any(key in walker.laws.contacts for key in contact)
    return is_known and walker.effect(contact, None)[0] not in ("enter", "push")
