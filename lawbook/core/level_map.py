"""A map of all that was seen of a level, over every attempt: what fog covers again is remembered, a view that scrolls is
unrolled."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lawbook.core.perception import Cell, Grid
from lawbook.core.scrolling import Area, find_scroll

MIN_FOG_SHARE = 0.03
"""Of all cells: a colour that came and went over so many cells without anything having moved over it is fog."""
MIN_COVER = 0.1
"""Of the cells of a board: less than that hides nothing worth a map."""
MAX_SIDE = 512
"""Rows and columns of a map."""


class LevelMap(NamedTuple):
    """cells: H x W as far as anything was seen. fog: the colour that hides, None where nothing does; it stands for what was never
    seen. origin: where the view's upper left corner lies now. has_scrolled: whether the view ever moved."""

    cells: Grid
    fog: int | None
    origin: Cell
    has_scrolled: bool


def build_level_map(attempts: Sequence[Grid], fog: int | None = None) -> LevelMap:
    """Build the map of a level. attempts: of each, (n + 1) x H x W settled frames in order, the newest attempt last. fog: where it
    is known already."""
    fog = find_fog(attempts) if fog is None else fog
    offsets, area = _follow_view(attempts)
    last = attempts[-1][-1]
    if area is None:
        cells = last.copy()
        if fog is not None:
            for frames in attempts:
                for frame in frames:
                    _lay(cells, frame, fog)
            _lay(cells, last, fog)
        return LevelMap(cells, fog, (0, 0), False)
    top, left, bottom, right = area
    flat = [offset for attempt in offsets for offset in attempt]
    low = min(row for row, _ in flat), min(column for _, column in flat)
    high = max(row for row, _ in flat), max(column for _, column in flat)
    shape = bottom - top + 1 + high[0] - low[0], right - left + 1 + high[1] - low[1]
    if max(shape) > MAX_SIDE:
        return LevelMap(last.copy(), fog, (0, 0), False)
    hidden = int(np.bincount(last.ravel()).argmax()) if fog is None else fog
    cells = np.full(shape, hidden, dtype=np.uint8)
    for frames, attempt in zip(attempts, offsets, strict=True):
        for frame, (row, column) in zip(frames, attempt, strict=True):
            view = frame[top : bottom + 1, left : right + 1]
            place = cells[row - low[0] : row - low[0] + len(view), column - low[1] : column - low[1] + view.shape[1]]
            _lay(place, view, fog)
    row, column = offsets[-1][-1]
    return LevelMap(cells, fog, (row - low[0] - top, column - low[1] - left), True)


def find_fog(attempts: Sequence[Grid], now: Grid | None = None) -> int | None:
    """Find the colour that what was seen disappears under, or came out of: what goes over it is not what left it, as with things
    that move. now: the board that it would have to cover in part, the last one by default."""
    score = np.zeros(256)
    for frames in attempts:
        for before, after in itertools.pairwise(frames):
            changed = before != after
            if not changed.any():
                continue
            pairs = np.bincount(before[changed].astype(np.int64) * 256 + after[changed], minlength=65536).reshape(256, 256)
            score += np.abs(pairs - pairs.T).sum(axis=1)
    now = attempts[-1][-1] if now is None else now
    likeliest = int(score.argmax())
    return likeliest if score[likeliest] >= MIN_FOG_SHARE * now.size and (now == likeliest).mean() >= MIN_COVER else None


def _lay(cells: Grid, frame: Grid, fog: int | None) -> None:
    """Put what a frame shows over what is there, but for its fog."""
    if fog is None:
        cells[:] = frame
    else:
        seen = frame != fog
        cells[seen] = frame[seen]


def _follow_view(attempts: Sequence[Grid]) -> tuple[list[list[Cell]], Area | None]:
    """(where the view lies at each frame of each attempt, counted from the first; the area that scrolls, None where none does)."""
    offsets: list[list[Cell]] = []
    area: Area | None = None
    for frames in attempts:
        place: Cell = (0, 0)
        if offsets and (frames[0] != attempts[0][0]).any():
            place, area = _add_scroll(attempts[0][0], frames[0], place, area)
        places = [place]
        for before, after in itertools.pairwise(frames):
            place, area = _add_scroll(before, after, place, area)
            places.append(place)
        offsets.append(places)
    return offsets, area


def _add_scroll(before: Grid, after: Grid, place: Cell, area: Area | None) -> tuple[Cell, Area | None]:
    found = find_scroll(before, after)
    if found is None:
        return place, area
    (rows, columns), where = found
    joined = where if area is None else (*map(min, area[:2], where[:2]), *map(max, area[2:], where[2:]))
    return (place[0] - rows, place[1] - columns), joined  # type: ignore[return-value]
