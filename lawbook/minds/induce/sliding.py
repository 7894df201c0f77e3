"""Going on: what is slid over until something stops the avatar, and what carries it along."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lawbook.minds.induce.contact_log import Meeting, Study
from lawbook.minds.induce.law_tables import Contact
from lawbook.minds.induce.motion import Cell
from lawbook.minds.induce.walker import Walker

ENDS = ("win", "die", "die outside", "die vanishing")


def slid(walker: Walker, met: Mapping[Contact, Sequence[Meeting]], seen: Study) -> dict[Contact, list[Meeting]]:
    """The meetings, where a level or a game ended after sliding: at the first thing that is not slid over."""
    sliding = {contact for contact, meetings in met.items() if any(meeting.happens == "slide" for meeting in meetings)}
    moved: dict[Contact, list[Meeting]] = {}
    for contact, meetings in met.items():
        for meeting in meetings:
            spot, there = meeting.spot, contact
            move = walker.laws.bodies[spot.body]["moves"].get(meeting.action)
            while move and there in sliding and meeting.happens in ENDS:
                spot = spot._replace(row=spot.row + move[0], col=spot.col + move[1])
                there = walker.meets(meeting.ground, seen.width, *spot)
            moved.setdefault(there, []).append(meeting if there == contact else replace(meeting, spot=spot, paint=set()))
    return moved


def carried(walker: Walker, contact: Contact, meetings: Sequence[Meeting]) -> list[Meeting]:
    """The meetings of one kind of thing, as its carrying the avatar along where that says more of them than its being slid over.

    Carried on by v, the avatar goes on by v from what it has entered; where v takes it back, it seems to have been stopped.
    """
    moves = [walker.laws.bodies[meeting.spot.body]["moves"].get(meeting.action, (0, 0)) for meeting in meetings]
    told = [(meeting, _carrying(meeting, move)) for meeting, move in zip(meetings, moves, strict=True)]
    counted = Counter(way for _, ways in told for way in ways)
    if contact == (("floor",),) or not any(meeting.happens.split()[0] in ("slide", "carry") for meeting in meetings):
        return [*meetings]
    way, times = max(counted.items(), key=lambda item: (item[1], item[0]), default=((0, 0), 0))
    if times <= sum(meeting.happens == "slide" for meeting in meetings):
        return [*meetings]
    happens = f"carry {way[0]} {way[1]}"
    return [replace(meeting, happens=happens) if way in ways or meeting.happens == "enter" else meeting for meeting, ways in told]


def _carrying(meeting: Meeting, move: Cell) -> tuple[Cell, ...]:
    """The ways in which the avatar may have been carried here."""
    match meeting.happens.split():
        case ["carry", rows, cols]:
            return ((int(rows), int(cols)),)
        case ["slide"]:
            return (move,)
        case ["stop"]:
            return ((-move[0], -move[1]),)
    return ()
