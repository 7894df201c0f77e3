"""What has been taken changes what a contact does: a figure that is open once no figure of another look is left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lawbook.minds.induce.contact_log import Meeting, Study
from lawbook.minds.induce.looks import ANY, figure_in, opened
from lawbook.minds.induce.motion import Cell, Look
from lawbook.minds.induce.remote_effects import elsewhere
from lawbook.minds.induce.walker import Walker

Place = tuple[int | None, int | None]
Gate = tuple[Look, Look, Place | None]
"""(what is met, its key, place), rows of colours: -1 for open ground, ANY for the one colour that both have in common. It is open
once no such key is left, or, where a row or a column is named, while the key is shown there."""
SHUT = ("stop", "act")
"""What happens at a gate that does nothing, or nothing but change its look."""


def gates(walker: Walker, seen: Study) -> tuple[Gate, ...]:
    """For each look that did now this, now that: the look that was gone whenever it did the one, and there whenever the other.

    The shortest way to say it that no meeting contradicts: with the colour they share left open, else as they were seen.
    """
    met: dict[tuple[Look, Any], list[Meeting]] = defaultdict(list)
    for meeting in seen.meetings:
        shown = _figure(walker, meeting, seen.width)
        if shown is not None:
            met[shown, meeting.action if meeting.happens == "act" else None].append(meeting)
    taken = {
        look: _shown(look, [meeting for meeting in meetings if _taken(meeting)], seen.width)
        for (look, _), meetings in met.items()
        if any(map(_taken, meetings))
    }
    found: dict[Gate, None] = {}
    for (look, kind), meetings in met.items():
        if len({_open(meeting) for meeting in meetings}) < 2 or any(figure_in(look, gate[0]) is not None for gate in found):
            continue
        for key, place in taken.items():
            for gate in _ways(look, key, place) if key != look else ():
                mine = {other: those for (other, acted), those in met.items() if acted == kind}
                if all(_holds(gate, other, those, seen.width) for other, those in mine.items()):
                    found.setdefault(gate)
                    break
            else:
                continue
            break
    return tuple(found)


def _figure(walker: Walker, meeting: Meeting, width: int) -> Look | None:
    kind, *rest = walker.meets(meeting.ground, width, *meeting.spot)[0]
    return rest[0] if kind == "exact" else None


def _open(meeting: Meeting) -> bool:
    return bool(meeting.paint) if meeting.happens in SHUT else True


def _taken(meeting: Meeting) -> bool:
    return bool(meeting.paint) and meeting.happens in ("enter", "act")


def _shown(look: Look, meetings: Sequence[Meeting], width: int) -> Cell | None:
    """Where a thing that is taken is shown from then on."""
    far = elsewhere(look, meetings, width)
    return far[0][1:] if far and far[0][0] == "copy" else None


def _ways(look: Look, key: Look, place: Cell | None) -> Iterator[Gate]:
    """This look and this key, first with each colour that they share left open; first gone, then shown where it is carried:
    in that row, in that column, at that place."""
    shared = sorted(({cell for line in look for cell in line} & {cell for line in key for cell in line}) - {-1})
    for where in (None, (place[0], None), (None, place[1]), place) if place else (None,):
        for colour in shared:
            yield _lifted(look, colour), _lifted(key, colour), where
        yield look, key, where


def _lifted(look: Look, colour: int) -> Look:
    return tuple(tuple(ANY if cell == colour else cell for cell in line) for line in look)


def _holds(gate: Gate, look: Look, meetings: Sequence[Meeting], width: int) -> bool:
    """Is this look none of the gate's, or was it open when, and only when, its key was gone?"""
    colour = figure_in(look, gate[0])
    if colour is None:
        return True
    ways: dict[bytes, bool] = {}
    for meeting in meetings:
        if meeting.ground not in ways:
            ground = np.frombuffer(meeting.ground, np.uint8).reshape(-1, width)
            ways[meeting.ground] = opened(ground, gate[1], gate[2], colour)
    return all(_open(meeting) == ways[meeting.ground] for meeting in meetings)
