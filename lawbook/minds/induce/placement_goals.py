"""Goals of several figures at once: each of them on something of a kind, a lamp on its socket, a stone on its own ring."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from lawbook.core.record import Status
from lawbook.minds.induce.contact_goals import rarity, survey
from lawbook.minds.induce.contact_log import Moment, Study
from lawbook.minds.induce.law_tables import Contact, Laws
from lawbook.minds.induce.tracking import Spot
from lawbook.minds.induce.walker import RUNNING, State, Walker

HOMES = 8
"""How many such goals are kept as rivals."""
KINDS = 4
"""Kinds of things that are thought of for each figure."""
FEW = 4
"""Places of a kind in a level, at most, for it to be a home."""
Home = tuple[tuple[int, Any], ...]
"""((look of a figure, what it stands on), ...)."""


def homes(laws: Laws, seen: Study) -> list[Laws]:
    """These laws with each goal of all figures at home that fits the record, the likeliest first; as they are where none does."""
    walker = Walker(laws)
    running = [_stood(walker, seen, moment) for moment in _running(seen)]
    ended = [_stood(walker, seen, moment) for moment in _ended(walker, seen)]
    fitting = []
    for home in (*_reached(ended), *_thought(walker, seen)):
        if (
            home not in fitting
            and all(_holds(home, stood) for stood in ended)
            and not any(_holds(home, stood) for stood in running)
        ):
            fitting.append(home)
    return [replace(laws, goals=(("home", home),)) for home in fitting[:HOMES]] or [laws]


def _stood(walker: Walker, seen: Study, moment: Moment) -> dict[int, Contact]:
    """What each figure stood on."""
    figures = (figure for figure in (moment.spot, *moment.mates) if figure[0] >= 0)
    return {body: walker.meets(moment.ground, seen.width, body, row, col) for body, row, col in figures}


def _holds(home: Home, stood: dict[int, Contact]) -> bool:
    return all(kind in stood.get(body, ()) for body, kind in home)


def _running(seen: Study) -> Iterator[Moment]:
    for trajectory, moments in zip(seen.record, seen.moments, strict=True):
        for moment, status in zip(moments, trajectory.statuses, strict=False):
            if status is Status.RUNNING:
                yield moment


def _ended(walker: Walker, seen: Study) -> Iterator[Moment]:
    """Where the laws lead to where the frame already shows the next level."""
    bare = Walker(replace(walker.laws, goals=(), places={}, histories=()))
    for trajectory, moments in zip(seen.record, seen.moments, strict=True):
        if trajectory.closed and trajectory.last.status is Status.COMPLETED and len(moments) >= len(trajectory):
            last = moments[len(trajectory) - 1]
            after = bare.step(State(last.ground, seen.width, *last.spot, RUNNING, -1, last.mates), trajectory.actions[-1])
            yield Moment(after.ground, Spot(after.body, after.row, after.col), after.mates)


def _reached(ended: list[dict[int, Contact]]) -> Iterator[Home]:
    """What the figures stood on when a level was last completed, said as generally as can be first."""
    if ended:
        things = {body: contact for body, contact in ended[-1].items() if contact[0][0] == "exact"}
        for general in (-1, 0):
            yield tuple((body, contact[general]) for body, contact in sorted(things.items()))


def _thought(walker: Walker, seen: Study) -> Iterator[Home]:
    """Every figure on a thing of a kind of which there are few, the same colour and the rarest first; then one figure alone."""
    now, wanted = seen.now(), []
    for figure in (now.spot, *now.mates):
        around = survey(walker, Moment(now.ground, Spot(*figure)), seen.width)
        counts, own = (
            rarity(around),
            {cell for line in walker.laws.bodies[figure[0]]["look"] for cell in line} if figure[0] >= 0 else set(),
        )
        kinds = {
            contact[-1]: (not own & set(contact[-1][1]), counts[contact[-1]])
            for contact in around
            if contact[-1][0] == "colour" and counts[contact[-1]] <= FEW and not _barred(walker, contact)
        }
        wanted.append([(kinds[kind], (figure[0], kind)) for kind in sorted(kinds, key=lambda kind: (kinds[kind], kind))[:KINDS]])
    every = sorted(product(*wanted), key=lambda pairs: (sum(rank[0] for rank, _ in pairs), sum(rank[1] for rank, _ in pairs)))
    yield from (tuple(pair for _, pair in pairs) for pairs in every)
    yield from ((pair,) for figure in wanted for _, pair in figure)


def _barred(walker: Walker, contact: Contact) -> bool:
    """Is it known that this cannot be stood on?"""
    known = any(key in walker.laws.contacts for key in contact)
    return known and walker.effect(contact, None)[0] not in ("enter", "push")
