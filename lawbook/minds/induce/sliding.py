"""Going on: what is slid over until something stops the avatar, and what carries it along."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lawbook.minds.induce.contact_log import ContactEvent, RecordAnalysis
from lawbook.minds.induce.types import Cell, Contact
from lawbook.minds.induce.walker import Walker

END_OUTCOMES = ("win", "die", "die outside", "die vanishing")


def relocate_slide_ends(
    walker: Walker, events_by_contact: Mapping[Contact, Sequence[ContactEvent]], analysis: RecordAnalysis
) -> dict[Contact, list[ContactEvent]]:
    """Move the meetings in which a level or a game ended after sliding to the first thing that is not slid over."""
    sliding_contacts = {
        contact for contact, events in events_by_contact.items() if any(event.outcome == "slide" for event in events)
    }
    relocated: dict[Contact, list[ContactEvent]] = {}
    for contact, events in events_by_contact.items():
        for event in events:
            spot, current_contact = event.spot, contact
            move = walker.laws.bodies[spot.body]["moves"].get(event.action)
            while move and current_contact in sliding_contacts and event.outcome in END_OUTCOMES:
                spot = spot._replace(row=spot.row + move[0], col=spot.col + move[1])
                current_contact = walker.meets(event.ground, analysis.width, *spot)
            relocated.setdefault(current_contact, []).append(
                event if current_contact == contact else replace(event, spot=spot, paint=set())
            )
    return relocated


def relabel_carrying(walker: Walker, contact: Contact, events: Sequence[ContactEvent]) -> list[ContactEvent]:
    """Relabel the meetings of one kind of thing as carrying, where that says more of them than sliding over it.

    Carried on by v, the avatar goes on by v from what it has entered; where v takes it back, it seems to have been stopped.
    """
    moves = [walker.laws.bodies[event.spot.body]["moves"].get(event.action, (0, 0)) for event in events]
    event_carry_moves = [(event, _find_carry_moves(event, move)) for event, move in zip(events, moves, strict=True)]
    counts = Counter(carry_move for _, carry_moves in event_carry_moves for carry_move in carry_moves)
    if contact == (("floor",),) or not any(event.outcome.split()[0] in ("slide", "carry") for event in events):
        return [*events]
    carry_move, times = max(counts.items(), key=lambda item: (item[1], item[0]), default=((0, 0), 0))
    if times <= sum(event.outcome == "slide" for event in events):
        return [*events]
    outcome = f"carry {carry_move[0]} {carry_move[1]}"
    return [
        replace(event, outcome=outcome) if carry_move in carry_moves or event.outcome == "enter" else event
        for event, carry_moves in event_carry_moves
    ]


def _find_carry_moves(event: ContactEvent, move: Cell) -> tuple[Cell, ...]:
    """The ways in which the avatar may have been carried here."""
    match event.outcome.split():
        case ["carry", rows, cols]:
            return ((int(rows), int(cols)),)
        case ["slide"]:
            return (move,)
        case ["stop"]:
            return ((-move[0], -move[1]),)
    return ()
