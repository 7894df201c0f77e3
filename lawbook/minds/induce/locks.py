"""Locks: a figure that is open once no figure of another look is left, so that what has been taken changes what a contact does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from lawbook.minds.induce.contact_log import ContactEvent, RecordAnalysis
from lawbook.minds.induce.looks import ANY, figure_in, opened
from lawbook.minds.induce.remote_effects import find_remote_effect
from lawbook.minds.induce.types import ActionName, Cell, Gate, Look
from lawbook.minds.induce.walker import Walker

SHUT_OUTCOMES = ("stop", "act")
"""What happens at a gate that does nothing, or nothing but change its look."""


def find_gates(walker: Walker, analysis: RecordAnalysis) -> tuple[Gate, ...]:
    """Find, for each look that did now this, now that, the look that was gone when it did the one, and there when it did the other.

    The shortest way to say it that no meeting contradicts: with the colour they share left open, else as they were seen.
    """
    events_by_look: dict[tuple[Look, ActionName | None], list[ContactEvent]] = defaultdict(list)
    for event in analysis.contact_events:
        figure = _get_exact_figure(walker, event, analysis.width)
        if figure is not None:
            events_by_look[figure, event.action if event.outcome == "act" else None].append(event)
    carried_places = {
        look: _find_carried_place(look, [event for event in events if _is_taken(event)], analysis.width)
        for (look, _), events in events_by_look.items()
        if any(map(_is_taken, events))
    }
    found_gates: dict[Gate, None] = {}
    for (look, kind), events in events_by_look.items():
        if len({_is_open(event) for event in events}) < 2 or any(figure_in(look, gate[0]) is not None for gate in found_gates):
            continue
        for key, place in carried_places.items():
            for gate in _generate_gates(look, key, place) if key != look else ():
                events_of_kind = {
                    other_look: look_events
                    for (other_look, other_kind), look_events in events_by_look.items()
                    if other_kind == kind
                }
                if all(
                    _is_consistent(gate, other_look, look_events, analysis.width)
                    for other_look, look_events in events_of_kind.items()
                ):
                    found_gates.setdefault(gate)
                    break
            else:
                continue
            break
    return tuple(found_gates)


def _get_exact_figure(walker: Walker, event: ContactEvent, width: int) -> Look | None:
    kind, *details = walker.meets(event.ground, width, *event.spot)[0]
    return details[0] if kind == "exact" else None


def _is_open(event: ContactEvent) -> bool:
    return bool(event.paint) if event.outcome in SHUT_OUTCOMES else True


def _is_taken(event: ContactEvent) -> bool:
    return bool(event.paint) and event.outcome in ("enter", "act")


def _find_carried_place(look: Look, events: Sequence[ContactEvent], width: int) -> Cell | None:
    """Find where a thing that is taken is shown from then on."""
    remote_effect = find_remote_effect(look, events, width)
    return remote_effect[0][1:] if remote_effect and remote_effect[0][0] == "copy" else None


def _generate_gates(look: Look, key: Look, place: Cell | None) -> Iterator[Gate]:
    """This look and this key, first with each colour that they share left open; first gone, then shown where it is carried:
    in that row, in that column, at that place."""
    shared = sorted(({cell for line in look for cell in line} & {cell for line in key for cell in line}) - {-1})
    for key_place in (None, (place[0], None), (None, place[1]), place) if place else (None,):
        for colour in shared:
            yield _generalise_colour(look, colour), _generalise_colour(key, colour), key_place
        yield look, key, key_place


def _generalise_colour(look: Look, colour: int) -> Look:
    return tuple(tuple(ANY if cell == colour else cell for cell in line) for line in look)


def _is_consistent(gate: Gate, look: Look, events: Sequence[ContactEvent], width: int) -> bool:
    """Is this look none of the gate's, or was it open when, and only when, its key was gone?"""
    colour = figure_in(look, gate[0])
    if colour is None:
        return True
    is_open_on: dict[bytes, bool] = {}
    for event in events:
        if event.ground not in is_open_on:
            ground = np.frombuffer(event.ground, np.uint8).reshape(-1, width)
            is_open_on[event.ground] = opened(ground, gate[1], gate[2], colour)
    return all(_is_open(event) == is_open_on[event.ground] for event in events)
