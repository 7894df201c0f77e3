"""What could be met in a level, how rare it is, how far away, and which of it is guessed to be the goal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lawbook.minds.induce.contact_log import RecordAnalysis, TrackedFrame
from lawbook.minds.induce.law_tables import Contact, Laws
from lawbook.minds.induce.motion import Cell
from lawbook.minds.induce.tracking import Spot
from lawbook.minds.induce.walker import Walker

MAX_GUESSES = 8
"""How many guesses at the goal are kept as rivals."""
UNREACHABLE = 1 << 30
"""Further than any place within reach."""


def survey(walker: Walker, current: TrackedFrame, width: int) -> dict[Contact, list[Cell]]:
    """What could be met in this level, and where: every place that whole steps from here may lead to, the frame's edge aside."""
    if current.spot.body < 0:
        return {}
    body, row, col = current.spot
    look, moves = walker.laws.bodies[body]["look"], walker.laws.bodies[body]["moves"].values()
    row_stride = min([abs(rows) for rows, _ in moves if rows], default=len(look))
    col_stride = min([abs(cols) for _, cols in moves if cols], default=len(look[0]))
    places: dict[Contact, list[Cell]] = {}
    for r in range(row % row_stride, len(current.ground) // width - len(look) + 1, row_stride):
        for c in range(col % col_stride, width - len(look[0]) + 1, col_stride):
            places.setdefault(walker.meets(current.ground, width, body, r, c), []).append((r, c))
    return places


def find_within_reach(walker: Walker, current: TrackedFrame, width: int) -> dict[Contact, int]:
    """What places that can be entered lead to, and after how many steps, if all unseen moves could be made."""
    if current.spot.body < 0:
        return {}
    moves = walker.laws.bodies[current.spot.body]["moves"]
    steps = [*moves.values(), *find_unseen_moves(moves)]
    distances: dict[Contact, int] = {}
    frontier, known_spots, distance = [current.spot], {current.spot}, 0
    while frontier:
        distance, next_frontier = distance + 1, []
        for spot in frontier:
            for rows, cols in steps:
                next_spot = Spot(spot.body, spot.row + rows, spot.col + cols)
                contact = walker.meets(current.ground, width, *next_spot)
                distances.setdefault(contact, distance)
                if next_spot not in known_spots and walker.effect(contact, None)[0] in ("enter", "push"):
                    known_spots.add(next_spot)
                    next_frontier.append(next_spot)
        frontier = next_frontier
    return distances


def find_unseen_moves(moves: Mapping[Any, Cell]) -> set[Cell]:
    """Moves that no action is known to make yet, though one makes them turned by a quarter or two."""
    turned_moves = {move for rows, cols in moves.values() for move in ((rows, cols), (cols, -rows), (-rows, -cols), (-cols, rows))}
    return turned_moves - set(moves.values())


def count_places(places_by_contact: Mapping[Contact, Sequence[Cell]]) -> dict[Any, int]:
    """How many places of this level each description fits."""
    counts: Counter[Any] = Counter()
    for contact, places in places_by_contact.items():
        for key in contact:
            counts[key] += len(places)
    return counts


def propose_contact_goals(laws: Laws, analysis: RecordAnalysis, places_by_contact: Mapping[Contact, Sequence[Cell]]) -> list[Laws]:
    """These laws with each unexplained kind of thing as the goal: first those within reach, the rarest first, of them the nearest.

    The laws as they are where something known completes this level, or nothing is left unexplained.
    """
    walker = Walker(laws)
    explained = {contact: any(key in laws.contacts for key in contact) for contact in places_by_contact}
    if any(explained[contact] and walker.effect(contact, None)[0] == "win" for contact in places_by_contact):
        return [laws]
    counts, distances = count_places(places_by_contact), find_within_reach(walker, analysis.get_current_frame(), analysis.width)
    ranked: dict[Any, tuple[int, int]] = {}
    for contact in places_by_contact:
        if not explained[contact] and contact[-1][0] == "colour":
            rank = (distances.get(contact, UNREACHABLE), counts[contact[-1]])
            ranked[contact[-1]] = min(ranked.get(contact[-1], rank), rank)
    ranked_kinds = sorted(ranked, key=lambda kind: (ranked[kind][0] == UNREACHABLE, ranked[kind][1], ranked[kind][0], kind))
    return [replace(laws, guess=kind) for kind in ranked_kinds[:MAX_GUESSES]] or [laws]
