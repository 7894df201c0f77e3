"""What could be met in a level, how rare it is, how far away, and which of it is guessed to be the goal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lawbook.minds.induce.contact_log import Moment, Study
from lawbook.minds.induce.law_tables import Contact, Laws
from lawbook.minds.induce.motion import Cell
from lawbook.minds.induce.tracking import Spot
from lawbook.minds.induce.walker import Walker

GUESSES = 8
"""How many guesses at the goal are kept as rivals."""
FAR = 1 << 30
"""Further than any place within reach."""


def survey(walker: Walker, now: Moment, width: int) -> dict[Contact, list[Cell]]:
    """What could be met in this level, and where: every place that whole steps from here may lead to, the frame's edge aside."""
    if now.spot.body < 0:
        return {}
    body, row, col = now.spot
    look, moves = walker.laws.bodies[body]["look"], walker.laws.bodies[body]["moves"].values()
    down = min([abs(rows) for rows, _ in moves if rows], default=len(look))
    along = min([abs(cols) for _, cols in moves if cols], default=len(look[0]))
    places: dict[Contact, list[Cell]] = {}
    for r in range(row % down, len(now.ground) // width - len(look) + 1, down):
        for c in range(col % along, width - len(look[0]) + 1, along):
            places.setdefault(walker.meets(now.ground, width, body, r, c), []).append((r, c))
    return places


def within_reach(walker: Walker, now: Moment, width: int) -> dict[Contact, int]:
    """What places that can be entered lead to, and after how many steps, if all `unseen` moves could be made."""
    if now.spot.body < 0:
        return {}
    moves = walker.laws.bodies[now.spot.body]["moves"]
    steps = [*moves.values(), *unseen(moves)]
    found: dict[Contact, int] = {}
    fringe, known, distance = [now.spot], {now.spot}, 0
    while fringe:
        distance, following = distance + 1, []
        for spot in fringe:
            for rows, cols in steps:
                there = Spot(spot.body, spot.row + rows, spot.col + cols)
                contact = walker.meets(now.ground, width, *there)
                found.setdefault(contact, distance)
                if there not in known and walker.effect(contact, None)[0] in ("enter", "push"):
                    known.add(there)
                    following.append(there)
        fringe = following
    return found


def unseen(moves: Mapping[Any, Cell]) -> set[Cell]:
    """Moves that no action is known to make yet, though one makes them turned by a quarter or two."""
    turned = {move for rows, cols in moves.values() for move in ((rows, cols), (cols, -rows), (-rows, -cols), (-cols, rows))}
    return turned - set(moves.values())


def rarity(around: Mapping[Contact, Sequence[Cell]]) -> dict[Any, int]:
    """How many places of this level each description fits."""
    counted: Counter[Any] = Counter()
    for contact, places in around.items():
        for key in contact:
            counted[key] += len(places)
    return counted


def guesses(laws: Laws, seen: Study, around: Mapping[Contact, Sequence[Cell]]) -> list[Laws]:
    """These laws with each unexplained kind of thing as the goal: first those within reach, the rarest first, of them the nearest.

    The laws as they are where something known completes this level, or nothing is left unexplained.
    """
    walker = Walker(laws)
    explained = {contact: any(key in laws.contacts for key in contact) for contact in around}
    if any(explained[contact] and walker.effect(contact, None)[0] == "win" for contact in around):
        return [laws]
    counts, near = rarity(around), within_reach(walker, seen.now(), seen.width)
    ranked: dict[Any, tuple[int, int]] = {}
    for contact in around:
        if not explained[contact] and contact[-1][0] == "colour":
            rank = (near.get(contact, FAR), counts[contact[-1]])
            ranked[contact[-1]] = min(ranked.get(contact[-1], rank), rank)
    order = sorted(ranked, key=lambda kind: (ranked[kind][0] == FAR, ranked[kind][1], ranked[kind][0], kind))
    return [replace(laws, guess=kind) for kind in order[:GUESSES]] or [laws]
