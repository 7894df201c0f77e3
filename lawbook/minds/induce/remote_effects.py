"""What a contact changes elsewhere: a copy of what was met, shown at one place, or the same cells painted every time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lawbook.minds.induce.contact_log import Meeting
from lawbook.minds.induce.motion import Cell, Look

Far = tuple[Any, ...]
"""("copy", row, col): what was met is drawn there, its upper left cell first; or cells (row, col, colour)."""
MOST = 256
"""Cells that may change elsewhere; more than that is no law of contacts."""


def elsewhere(figure: Look | None, meetings: Sequence[Meeting], width: int) -> Far:
    """The shortest account of what changed elsewhere in all of these meetings; empty where nothing did, or none fits them all."""
    if not any(meeting.far for meeting in meetings) or any(len(meeting.far) > MOST for meeting in meetings):
        return ()
    if figure is not None:
        for row, col in _places(figure, next(meeting for meeting in meetings if meeting.far)):
            drawn = {(row + r, col + c, colour) for r, line in enumerate(figure) for c, colour in enumerate(line) if colour >= 0}
            if all(_follows(meeting, drawn, width) for meeting in meetings):
                return (("copy", row, col),)
    painted = set().union(*(meeting.far for meeting in meetings))
    alone = len({cell[:2] for cell in painted}) == len(painted)
    return tuple(sorted(painted)) if alone and all(_follows(meeting, painted, width) for meeting in meetings) else ()


def _places(figure: Look, meeting: Meeting) -> Iterator[Cell]:
    """Where the figure may have been drawn: the first cell that changed is one of its own."""
    row, col, colour = min(meeting.far)
    yield from ((row - r, col - c) for r, line in enumerate(figure) for c, cell in enumerate(line) if cell == colour)


def _follows(meeting: Meeting, painted: set[tuple[int, int, int]], width: int) -> bool:
    """Does painting these cells change what was seen to change, and nothing else?"""
    ground = np.frombuffer(meeting.ground, np.uint8).reshape(-1, width)
    if any(not (0 <= r < ground.shape[0] and 0 <= c < width) for r, c, _ in painted):
        return False
    return {(r, c, colour) for r, c, colour in painted if ground[r, c] != colour} == meeting.far
