"""Remote effects of a contact: a copy of what was met, shown at one place, or the same cells painted every time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lawbook.minds.induce.contact_log import ContactEvent
from lawbook.minds.induce.types import Cell, Look, RemoteEffect

MAX_REMOTE_CELLS = 256
"""Cells that may change elsewhere; more than that is no law of contacts."""


def find_remote_effect(figure: Look | None, events: Sequence[ContactEvent], width: int) -> RemoteEffect:
    """Find the shortest account of what changed elsewhere in all of these meetings; empty where nothing did, or none fits them all.

    figure: the look of what was met, if it has one. width: columns of the ground.
    """
    if not any(event.remote_changes for event in events) or any(len(event.remote_changes) > MAX_REMOTE_CELLS for event in events):
        return ()
    if figure is not None:
        for row, col in _find_drawing_places(figure, next(event for event in events if event.remote_changes)):
            drawn = {(row + r, col + c, colour) for r, line in enumerate(figure) for c, colour in enumerate(line) if colour >= 0}
            if all(_is_explained(event, drawn, width) for event in events):
                return (("copy", row, col),)
    painted = set().union(*(event.remote_changes for event in events))
    is_unambiguous = len({cell[:2] for cell in painted}) == len(painted)
    return tuple(sorted(painted)) if is_unambiguous and all(_is_explained(event, painted, width) for event in events) else ()


def _find_drawing_places(figure: Look, event: ContactEvent) -> Iterator[Cell]:
    """Find where the figure may have been drawn: the first cell that changed is one of its own."""
    row, col, colour = min(event.remote_changes)
    yield from ((row - r, col - c) for r, line in enumerate(figure) for c, cell in enumerate(line) if cell == colour)


def _is_explained(event: ContactEvent, painted: set[tuple[int, int, int]], width: int) -> bool:
    """Does painting these cells change what was seen to change, and nothing else?"""
    ground = np.frombuffer(event.ground, np.uint8).reshape(-1, width)
    if any(not (0 <= r < ground.shape[0] and 0 <= c < width) for r, c, _ in painted):
        return False
    return {(r, c, colour) for r, c, colour in painted if ground[r, c] != colour} == event.remote_changes
