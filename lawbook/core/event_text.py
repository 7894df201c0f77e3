"""Events between frames in few words: what moved from where to where, equal ones told once, in tiles where that is shorter."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np

from lawbook.core import frame_text
from lawbook.core.boxes import Box, FrameEvent
from lawbook.core.frame_events import find_events
from lawbook.core.perception import Grid, Mask
from lawbook.core.tile_letters import TileView

MAX_PATTERN_CELLS, MAX_CHANGE_CELLS = 64, 36
"""Of something new, and of a place that changed otherwise: larger ones are told without their cells."""
MAX_PLACES = 6
"""Places of equal events."""
MAX_EVENTS = 14
"""Kinds of events of one step."""

MAX_TILE_SHARE = 0.7
"""Of the characters of events: tiles that take more are not worth being told instead."""

NOTHING = "nothing changed"
FindLetter = Callable[[Grid], str]


def format_changes(
    before: Grid,
    after: Grid,
    find_letter: FindLetter | None = None,
    views: tuple[TileView, TileView] | None = None,
    events: Sequence[FrameEvent] | None = None,
) -> str:
    """Format what changed from one frame to the next of the same shape, in a line.

    views: both in tiles, for where that is shorter; events: those between them, where they are known.
    """
    if before.shape != after.shape:
        return f"the frame is {after.shape[0]} x {after.shape[1]} cells now, no longer {before.shape[0]} x {before.shape[1]}"
    events = find_events(before, after) if events is None else events
    text = format_events(events, find_letter)
    if views is None or len(text) < 60 or any(event.kind == "scrolled" for event in events):
        return text
    tile_text = format_tile_changes(*views)
    return tile_text if tile_text and len(tile_text) < MAX_TILE_SHARE * len(text) else text


def format_events(events: Sequence[FrameEvent], find_letter: FindLetter | None = None) -> str:
    """Format events in a line, equal ones merged."""
    if not events:
        return NOTHING
    texts: dict[tuple[str, str], list[str]] = {}
    for event in events:
        head, place, tail = _describe(event, find_letter)
        texts.setdefault((head, tail), []).append(place)
    parts = []
    for (head, tail), places in list(texts.items())[:MAX_EVENTS]:
        count = f"{len(places)} x " if len(places) > 1 else ""
        more = f" (and {len(places) - MAX_PLACES} more)" if len(places) > MAX_PLACES else ""
        parts.append(" ".join(filter(None, (f"{count}{head}", f"{', '.join(places[:MAX_PLACES])}{more}", tail))))
    if len(texts) > MAX_EVENTS:
        n_cells = sum(event.cells for event in events[MAX_EVENTS:])
        parts.append(f"and {len(texts) - MAX_EVENTS} more kinds of changes, about {n_cells:,} cells")
    return "; ".join(parts)


def build_signature(events: Iterable[FrameEvent], ignored: Mask | None = None) -> frozenset[Hashable]:
    """Build what happened without where: for telling whether a step did what another did. ignored: H x W, cells that do not count
    (a counter's)."""
    signature: set[Hashable] = set()
    for event in events:
        if (
            ignored is not None
            and event.kind in ("recoloured", "changed", "appeared", "vanished")
            and ignored[event.box.region].all()
        ):
            continue
        size = event.box.bottom - event.box.top, event.box.right - event.box.left
        colours = tuple(() if cells is None else tuple(np.unique(cells).tolist()) for cells in (event.before, event.after))
        signature.add((event.kind, () if event.kind == "scrolled" else size, event.step, event.detail, colours))
    return frozenset(signature)


def format_tile_changes(old: TileView, new: TileView) -> str:
    """Format rows of tiles that changed, from the first tile to the last; empty where the views cannot be compared or do not
    differ."""
    if old[:3] != new[:3]:
        return ""
    texts: dict[str, list[int]] = {}
    for number, before, after in zip(new.row_numbers, old.rows, new.rows, strict=True):
        places = [k for k, (one, two) in enumerate(zip(before, after, strict=True)) if one != two]
        for start, stop in _join_near(places):
            span = _format_span(new.column_numbers[start], new.column_numbers[stop])
            texts.setdefault(f"{span} {before[start : stop + 1]} -> {after[start : stop + 1]}", []).append(number)
    parts = [f"r{_format_numbers(rows)} c{text}" for text, rows in texts.items()]
    return "tiles " + "; ".join(parts) if parts else ""


def _join_near(places: list[int]) -> list[tuple[int, int]]:
    """Runs of places, with gaps of at most two between them."""
    runs: list[tuple[int, int]] = []
    for place in places:
        if runs and place - runs[-1][1] <= 3:
            runs[-1] = runs[-1][0], place
        else:
            runs.append((place, place))
    return runs


# -- one event -------------------------------------------------------------------------------------------------------------------


def _describe(event: FrameEvent, find_letter: FindLetter | None) -> tuple[str, str, str]:
    """(what, where, how): equal in the first and last, events are one."""
    box = event.box
    place = f"{box.top},{box.left}"
    if event.kind == "scrolled":
        return "the view moved:", f"what it shows went by {event.step[0]},{event.step[1]}", "(below: besides that)"
    if event.kind in ("moved", "turned"):
        thing = _name_thing(event, find_letter)
        if event.step != (0, 0):
            place += f" -> {box.top + event.step[0]},{box.left + event.step[1]}"
        return thing, place, event.detail
    assert event.before is not None and event.after is not None
    size, mask = _format_size(box), event.mask if event.mask is not None else event.before != event.after
    was, now = (_format_colours(cells[mask]) for cells in (event.before, event.after))
    if event.kind == "recoloured":
        cells = "" if mask.all() else f" ({event.cells} cells)"
        return f"{size}{cells}", place, f"{was} -> {now}"
    letter = _find_letter(event.after, find_letter) or (_find_letter(event.before, find_letter) and f"{size} {now}")
    if event.kind == "appeared":
        return "new", f"{place}:", f"{letter or _format_cells(event.after, mask, MAX_PATTERN_CELLS) or f'{size} {now}'} on {was}"
    if event.kind == "vanished":
        return f"gone {_find_letter(event.before, find_letter) or f'{size} {was}'}", place, f"to {now}"
    old_letter, new_letter = (_find_letter(cells, find_letter) for cells in (event.before, event.after))
    if old_letter and new_letter:
        return f"{old_letter} -> {new_letter}", place, ""
    old, new = (_format_cells(cells, mask, MAX_CHANGE_CELLS) for cells in (event.before, event.after))
    if old and new:
        return "", f"{place}:", f"{old} -> {new}"
    return f"{size}", place, f"({event.cells} cells {was} -> {now})"


def _name_thing(event: FrameEvent, find_letter: FindLetter | None) -> str:
    assert event.before is not None
    letter = _find_letter(event.before, find_letter)
    cells = event.before if event.mask is None else event.before[event.mask]
    return letter or f"{_format_size(event.box)} {_format_colours(cells)}"


def _find_letter(cells: Grid, find_letter: FindLetter | None) -> str:
    return find_letter(cells) if find_letter is not None and cells.size > 1 and (cells != cells[0, 0]).any() else ""


def _format_size(box: Box) -> str:
    return f"{box.bottom - box.top + 1}x{box.right - box.left + 1}"


def _format_colours(cells: Grid) -> str:
    """Colours of some cells, the most frequent first."""
    colours, counts = np.unique(cells, return_counts=True)
    ordered = colours[np.argsort(-counts, kind="stable")].tolist()
    text = ",".join(frame_text.format_colour(colour) for colour in ordered[:5])
    return text + (f",({len(ordered) - 5} more)" if len(ordered) > 5 else "")


def _format_cells(cells: Grid, mask: Mask, max_cells: int) -> str:
    """Rows of a small block with slashes between, a point for a cell that stayed; empty where it is too large."""
    if cells.size > max_cells:
        return ""
    rows = frame_text.format_cells(cells, int(cells.max()))
    digits = len(rows[0]) // cells.shape[1]
    return "/".join(frame_text.mask_unchanged(rows, ~mask, digits))


def _format_span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _format_numbers(numbers: Sequence[int]) -> str:
    """`2-4,7` for 2 3 4 7."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(_format_span(*run) for run in runs)
