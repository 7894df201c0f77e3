"""A board as a member is shown it: in tiles with its letters, in the form that is shortest, or only the rows that changed."""

from __future__ import annotations

import numpy as np

from lawbook.agents.api.context import CommandContext
from lawbook.core import frame_text
from lawbook.core.event_text import format_changes
from lawbook.core.frame_text import Span
from lawbook.core.level_map import MIN_COVER, LevelMap, build_level_map, find_fog
from lawbook.core.object_text import format_object_list
from lawbook.core.perception import Grid
from lawbook.core.record import Status, Trajectory
from lawbook.core.tile_letters import UNKNOWN, TileView, Tiling, find_changed_rows, format_view

MAX_MAP_FRAMES = 4000
"""Frames that a map is made of, the newest ones."""
MAX_SIGHT_CHARACTERS, MAX_SIGHT_LINES = 2500, 16
"""Of a board that nobody asked for, and of its objects instead."""
MAX_FOG_FRAMES = 100
"""Frames in which fog is looked for, the newest ones."""


def show_tiles(
    context: CommandContext, frame: Grid, size: int | None, rows: Span | None = None, columns: Span | None = None
) -> str:
    """A frame in tiles; rows, columns: of cells, only tiles that reach into these. Empty where no tiles make it shorter."""
    memory = context.memory
    tiling = memory.letters.choose_tiling(frame, size)
    if tiling is None:
        return ""
    view = memory.letters.build_view(
        frame, tiling, _find_numbers(rows, tiling.top, tiling), _find_numbers(columns, tiling.left, tiling)
    )
    if rows is None and columns is None:
        memory.last_view = context.session.record.level, view
    omitted = _describe_omitted(view, frame) if rows is None and columns is None else []
    text = format_view(view, [*memory.letters.take_news("".join(view.rows)), *omitted])
    memory.save_legend(context.workspace)
    return text


def _describe_omitted(view: TileView, frame: Grid) -> list[str]:
    """What tiles leave out of a frame: those beyond the last that is shown, and those that no letter is left for."""
    lines = []
    for name, numbers, cuts in (
        ("rows", view.row_numbers, view.tiling.iterate_rows(frame.shape[0])),
        ("columns", view.column_numbers, view.tiling.iterate_columns(frame.shape[1])),
    ):
        if len(numbers) < len(cuts):
            lines.append(f"({name} of tiles {cuts[len(numbers)][0]}-{cuts[-1][0]} not shown; ask for them: --{name}, of cells)")
    if any(UNKNOWN in row for row in view.rows):
        lines.append(f"{UNKNOWN} other tiles; there are more kinds than letters: --board --rows shows their cells")
    return lines


def show_shortest(context: CommandContext, frame: Grid, rows: Span | None = None, columns: Span | None = None) -> str:
    """A frame, every cell of it, in whichever form is shortest: tiles, rows of cells, or rows as runs."""
    texts = [frame_text.format_board(frame, rows, columns), frame_text.format_runs(frame, rows, columns, starts=True)]
    # what is cut is shorter, and no answer where another form is whole
    shortest = min(texts, key=lambda text: ("not shown; ask" in text or " runs from column " in text, len(text)))
    memory = context.memory
    tiling = memory.letters.choose_tiling(frame)
    if tiling is not None:
        view = memory.letters.build_view(frame, tiling)
        if sum(map(len, view.rows)) < len(shortest) and not _describe_omitted(view, frame):
            tiles = show_tiles(context, frame, None, rows, columns)
            if tiles and len(tiles) < len(shortest):
                return tiles
    return shortest


def show_changed_rows(context: CommandContext, frame: Grid) -> str:
    """A frame in tiles, only the rows that differ from what was shown last of this level; all of it where that does not serve."""
    memory, level = context.memory, context.session.record.level
    tiling = memory.letters.choose_tiling(frame)
    if tiling is None:
        return show_shortest(context, frame)
    view = memory.letters.build_view(frame, tiling)
    changed_rows = None
    if memory.last_view is not None and memory.last_view[0] == level:
        changed_rows = find_changed_rows(memory.last_view[1], view)
    if changed_rows is None:
        return show_shortest(context, frame)
    memory.last_view = level, view
    if not changed_rows:
        return "no tile differs from what you saw last"
    text = format_view(
        view, memory.letters.take_news("".join(view.rows[k] for k in changed_rows)), only_rows=changed_rows, headed=False
    )
    memory.save_legend(context.workspace)
    return text


def show_at_first(context: CommandContext, frame: Grid) -> str:
    """The board in its shortest form; where even that is long, its larger objects, and how to see the rest."""
    shown = show_shortest(context, frame)
    if len(shown) <= MAX_SIGHT_CHARACTERS:
        return shown
    lines = format_object_list(frame).splitlines()
    return "\n".join([*lines[:MAX_SIGHT_LINES], f"(the whole board takes {len(shown):,} characters: ./law observe, --rows, --png)"])


def show_new_level(context: CommandContext, frame: Grid) -> str:
    """The first sight of a level: what is new since the level before began, where that says it in few words; else the board."""
    shown = show_at_first(context, frame)
    earlier = [trajectory for trajectory in context.session.record if trajectory.first.level == context.session.record.level - 1]
    if earlier and earlier[0].first.frame.shape == frame.shape:
        changes = format_changes(earlier[0].first.frame, frame, context.memory.letters.find_letter)
        if "cells" not in changes and len(changes) < len(shown) // 3:
            return f"as level {earlier[0].first.level} began, but: {changes}"
    return shown


def find_hiding_colour(context: CommandContext) -> int | None:
    """The colour that hides what was seen, in the board as it is now; None where nothing does."""
    record, memory = context.session.record, context.memory
    frame = record.current.settled_frames[-1]
    if memory.fog is None:
        frames, n_left = [], MAX_FOG_FRAMES
        for trajectory in reversed(record.trajectories):
            if n_left <= 0 or trajectory.first.frame.shape != frame.shape:
                break
            frames.append(_get_level_frames(trajectory)[-n_left:])
            n_left -= len(frames[-1])
        memory.fog = find_fog(frames[::-1], frame)
    return memory.fog if memory.fog is not None and (frame == memory.fog).mean() >= MIN_COVER else None


def _get_level_frames(trajectory: Trajectory) -> Grid:
    """The settled frames of a trajectory that show its level: after a completed one the last shows the next."""
    settled = trajectory.settled_frames
    return settled[:-1] if trajectory.statuses[-1] is Status.COMPLETED else settled


def map_level(context: CommandContext) -> LevelMap:
    """All that was seen of the present level, over every attempt at it."""
    record = context.session.record
    attempts, n_left = [], MAX_MAP_FRAMES
    for trajectory in reversed(record.trajectories):
        if trajectory.first.level != record.current.first.level or n_left <= 0:
            break
        attempts.append(_get_level_frames(trajectory)[-n_left:])
        n_left -= len(attempts[-1])
    return build_level_map(attempts[::-1], find_hiding_colour(context))


def show_map(context: CommandContext, rows: Span | None = None, columns: Span | None = None) -> str:
    """That map, as text, with what it leaves open."""
    level_map = map_level(context)
    head = "all that was seen of this level"
    if level_map.fog is not None:
        head += f"; {frame_text.format_colour(level_map.fog)} hides, where nothing was seen yet"
    if level_map.has_scrolled:
        head += f"; cell r,c of the view is cell r+{level_map.origin[0]},c+{level_map.origin[1]} here".replace("+-", "-")
        memory, kept = context.memory, context.memory.letters.tiling
        top, left = (
            (0, 0)
            if kept is None
            else ((kept.top + level_map.origin[0]) % kept.size, (kept.left + level_map.origin[1]) % kept.size)
        )
        if kept is not None:
            view = memory.letters.build_view(level_map.cells, Tiling(kept.size, top, left))
            text = format_view(view, memory.letters.take_news("".join(view.rows)))
            memory.save_legend(context.workspace)
            return f"{head}\n{text}"
    return f"{head}\n{show_shortest(context, level_map.cells, rows, columns)}"


def look_after(context: CommandContext) -> str:
    """What there is to see after acting: rows of tiles that changed; where something hides, those of the map."""
    level_map = map_level(context)
    frame = context.session.get_observation().frame
    return show_changed_rows(context, frame if level_map.has_scrolled else np.ascontiguousarray(level_map.cells))


def _find_numbers(span: Span | None, begin: int, tiling: Tiling) -> Span | None:
    if span is None:
        return None
    first, last = sorted(span)
    return (first - begin) // tiling.size, (last - begin) // tiling.size
