"""Frames and what changed between them as short text, for agents and language models: boards, runs, tiles, differences, objects.

Pure functions of H x W uint8 arrays; rows and columns count from 0 and spans are inclusive, as in `lawbook.core.perception`. What a
reader pays for is characters, so everything here is folded where it repeats, has an upper size, and says what it left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from lawbook.core import perception
from lawbook.core.perception import Change, Grid

Span = tuple[int, int]
"""First and last, inclusive."""

MAX_LINES = 64
"""Of a board."""
MAX_COLUMNS = 128
"""Cells of a row of a board."""
MAX_PATCH = 24
"""A changed region of at most this many rows and columns is shown cell by cell."""
MAX_REGIONS, MAX_KINDS, MAX_PLACES, MAX_MOMENTS = 12, 40, 8, 12
"""How many changed regions, kinds of objects, places of one kind, and frames of an animation are told."""
MAX_RUNS = 60
"""Runs of equal cells told of one row."""
TILE_SIZES = (2, 8)
"""Smallest and largest size of tiles that is looked for."""
MAX_BANDS = 256
"""Rows of tiles that are looked at."""
MAX_OVERVIEW_LINES = 24
"""Lines of a first sight."""

_ONE_CHARACTER = np.frombuffer(b"0123456789abcdefghijklmnopqrstuvwxyz", dtype=np.uint8)
N_CHARACTERS = len(_ONE_CHARACTER)
"""Colours that a board shows with one character."""
_PATTERNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ#$%&*+=@^~<>"
_MAX_PATTERNS = 26
"""Patterns of a size that is looked for; with more of them a legend is no help."""
_SAMPLE_SIZE = 128
"""Rows and columns, at most, in which a size is looked for."""
_MAX_SHARE = 0.3
"""Tiles and legend of a size that is looked for are at most this share of all cells."""
_TWO_DIGITS = np.frombuffer("".join(f"{format_colour:02x}" for format_colour in range(256)).encode(), dtype=np.uint8).reshape(
    256, 2
)


def format_board(frame: Grid, rows: Span | None = None, columns: Span | None = None) -> str:
    """Format a frame, or a crop of it, for reading: `4-7 0033f` is rows 4 to 7, one character a cell (0-9, then a-z for 10 to 35).

    frame: H x W whole numbers. Equal rows that follow each other share a line. A ruler names the first column and every tenth,
    where a line is left for it. Two hexadecimal digits a cell if there is a colour above 35. At most 64 lines and 128 columns; what
    lies beyond is named at the end. Spans reaching over the edge end there.
    """
    height, width = frame.shape
    top, bottom = _clip_span(rows, height)
    left, right = _clip_span(columns, width)
    crop = frame[top : bottom + 1, left : min(right, left + MAX_COLUMNS - 1) + 1]
    lines = _fold_rows(format_cells(crop, int(frame.max())))
    starts = [top + row for row, _ in lines]
    ends = [start - 1 for start in starts[1:]] + [bottom]
    names = [_format_span(first, last) for first, last in zip(starts, ends, strict=True)]
    margin = max(map(len, names))
    text_lines = [f"{name:>{margin}} {cells}" for name, (_, cells) in zip(names, lines, strict=True)]
    omitted = []
    if len(text_lines) > MAX_LINES:
        omitted.append(f"rows {starts[MAX_LINES]}-{bottom}")
        text_lines = text_lines[:MAX_LINES]
    if left + crop.shape[1] <= right:
        omitted.append(f"columns {left + crop.shape[1]}-{right}")
    if len(text_lines) < MAX_LINES and crop.shape[1] > 1:
        text_lines.insert(0, " " * margin + " " + _format_ruler(left, crop.shape[1], 1 if frame.max() < len(_ONE_CHARACTER) else 2))
    return "\n".join(text_lines) + (f"\n({' and '.join(omitted)} not shown; ask for them)" if omitted else "")


def format_runs(frame: Grid, rows: Span | None = None, columns: Span | None = None, *, starts: bool = False) -> str:
    """Format a frame, or a crop of it, as runs of equal cells.

    `30-32: 5x6 1 bx2` is, in rows 30 to 32, 6 cells of 5, one of 1, two of b. starts: with the column in which each run begins,
    `0:5x6 6:1 7:bx2`. Characters are those of a board, equal rows share a line; at most 64 lines and 60 runs a row. Spans reaching
    over the edge end there.
    """
    (top, bottom), (left, right) = _clip_span(rows, len(frame)), _clip_span(columns, frame.shape[1])
    crop = frame[top : bottom + 1, left : right + 1]
    row_starts = [0, *(np.flatnonzero((crop[1:] != crop[:-1]).any(axis=1)) + 1).tolist()]
    names = [
        _format_span(top + start, top + stop - 1) for start, stop in zip(row_starts, [*row_starts[1:], len(crop)], strict=True)
    ]
    margin = max(map(len, names))
    lines = []
    for name, row in list(zip(names, crop[row_starts], strict=True))[:MAX_LINES]:
        run_starts = [0, *(np.flatnonzero(row[1:] != row[:-1]) + 1).tolist()]
        run_texts = [
            (f"{left + start}:" if starts else "")
            + format_colour(int(row[start]))
            + (f"x{stop - start}" if stop - start > 1 else "")
            for start, stop in zip(run_starts, [*run_starts[1:], len(row)], strict=True)
        ]
        remainder = (
            f" (and {len(run_texts) - MAX_RUNS} runs from column {left + run_starts[MAX_RUNS]})"
            if len(run_texts) > MAX_RUNS
            else ""
        )
        lines.append(f"{name:>{margin}}: {' '.join(run_texts[:MAX_RUNS])}{remainder}")
    omitted = f"\n(rows {top + row_starts[MAX_LINES]}-{bottom} not shown; ask for them)" if len(row_starts) > MAX_LINES else ""
    return "\n".join(lines) + omitted


def format_tiles(frame: Grid, size: int | None = None, rows: Span | None = None, columns: Span | None = None) -> str:
    """Format a frame as tiles of `size` x `size` cells, one character a tile, with the patterns that the characters stand for.

    A tile of one colour has the colour's character, any other a capital letter (or a sign), the same for the same cells. Numbers
    of rows and columns are those of cells; what an edge cuts off is a smaller tile. size: None for the one from 2 to 8, if there is
    one, whose tiles and legend are shortest, and well below the cells themselves. Where the first whole tile begins is always
    found that way. rows, columns: only tiles that reach into these. Folded and cut like a board.
    """
    tiling = find_tiling(frame) if size is None else find_tiling(frame, (size,), forced=True)
    if tiling is None:
        return (
            f"no size of tiles from {TILE_SIZES[0]} to {TILE_SIZES[1]} makes this shorter; look at runs or objects, or name a size"
        )
    size, row_offset, column_offset = tiling
    height, width = frame.shape
    tops, lefts = ([0, *range(begin or size, side, size)] for begin, side in ((row_offset, height), (column_offset, width)))
    (top, bottom), (left, right) = _clip_span(rows, height), _clip_span(columns, width)
    row_spans = [(first, stop) for first, stop in zip(tops, [*tops[1:], height], strict=True) if first <= bottom and stop > top]
    column_spans = [(first, stop) for first, stop in zip(lefts, [*lefts[1:], width], strict=True) if first <= right and stop > left]
    first_omitted_row = row_spans[MAX_BANDS][0] if len(row_spans) > MAX_BANDS else None
    row_spans = row_spans[:MAX_BANDS]
    tile_rows = [
        [frame[first:stop, first_column:stop_column] for first_column, stop_column in column_spans[:MAX_COLUMNS]]
        for first, stop in row_spans
    ]
    all_tiles = [tile for row in tile_rows for tile in row]
    mixed = Counter(_format_pattern(tile) for tile in all_tiles if _is_pattern(tile))
    letters = dict(zip(sorted(mixed), _PATTERNS, strict=False))
    lines = _fold_rows(
        [
            "".join(
                letters.get(_format_pattern(cells), "?") if _is_pattern(cells) else format_colour(int(cells[0, 0])) for cells in row
            )
            for row in tile_rows
        ]
    )
    ends = [k - 1 for k, _ in lines[1:]] + [len(row_spans) - 1]
    names = [_format_span(row_spans[k][0], row_spans[end][1] - 1) for (k, _), end in zip(lines, ends, strict=True)]
    margin = max(map(len, names))
    ruler = ""
    for k in range(0, len(tile_rows[0]), 5):
        ruler = ruler.ljust(k) + str(column_spans[k][0]) if len(ruler) < k or not k else ruler
    text_lines = [
        f"tiles of {size} x {size} cells, the first whole one at {row_offset},{column_offset}; a character is a tile",
        " " * margin + f" {ruler}",
    ]
    text_lines += [f"{name:>{margin}} {row}" for name, (_, row) in zip(names, lines, strict=True)][:MAX_LINES]
    first_omitted_row = row_spans[lines[MAX_LINES][0]][0] if len(lines) > MAX_LINES else first_omitted_row
    omitted = [] if first_omitted_row is None else [f"rows {first_omitted_row}-{bottom}"]
    omitted += [f"columns {column_spans[MAX_COLUMNS][0]}-{right}"] if len(column_spans) > MAX_COLUMNS else []
    text_lines += [
        f"{letter} {pattern}{f' x{mixed[pattern]}' if mixed[pattern] > 1 else ''}" for pattern, letter in letters.items()
    ]
    if len(mixed) > len(letters):
        text_lines.append(f"? {len(mixed) - len(letters)} more patterns")
    return "\n".join(text_lines) + (f"\n({' and '.join(omitted)} not shown; ask for them)" if omitted else "")


def format_overview(frame: Grid) -> str:
    """Format a frame in at most 25 lines, to begin with: as tiles, or else as objects, the largest first."""
    text = format_tiles(frame)
    if text.startswith("no size") or text.count("\n") >= MAX_OVERVIEW_LINES:
        text = format_objects(frame)
    lines = text.splitlines()
    return (
        text
        if len(lines) <= MAX_OVERVIEW_LINES
        else "\n".join([*lines[:MAX_OVERVIEW_LINES], f"(and {len(lines) - MAX_OVERVIEW_LINES} lines more)"])
    )


def format_difference(before: Grid, after: Grid) -> str:
    """Format what changed from one frame to another, the largest regions first: where, how many cells, which colours, cell by cell.

    A block that moved over one colour and left one behind is told in a line; places are `row,column` of its upper left corner. In a
    region's cells `.` is a cell that did not change. Two frames of different shapes are not compared.
    """
    if before.shape != after.shape:
        return f"The frames have different shapes: {_format_shape(before)}, then {_format_shape(after)}."
    changes = perception.changes(before, after)
    if not changes:
        return "nothing changed"
    cells, max_colour = sum(change.cells for change in changes), max(int(before.max()), int(after.max()))
    lines = [f"{_format_count(cells, 'cell')} changed in {_format_count(len(changes), 'region')}"]
    for change in changes[:MAX_REGIONS]:
        box = np.s_[change.top : change.bottom + 1, change.left : change.right + 1]
        lines += _describe_region(change, before[box], after[box], max_colour)
    if len(changes) > MAX_REGIONS:
        n_remaining_cells = sum(change.cells for change in changes[MAX_REGIONS:])
        lines.append(
            f"(and {_format_count(len(changes) - MAX_REGIONS, 'smaller region')}, {_format_count(n_remaining_cells, 'cell')})"
        )
    return "\n".join(lines)


def format_objects(frame: Grid, *, mixed: bool = False) -> str:
    """Format what hangs together in one colour (4 neighbours), the commonest left out as ground: alike ones in one line.

    mixed: colours that touch are one object. Places are `row,column` of the upper left corner of the box around each.
    """
    colours, counts = np.unique(frame, return_counts=True)
    background = int(colours[counts.argmax()])
    found_objects = perception.objects(frame, where=frame != background, mixed=mixed)
    kinds: dict[int, list[perception.Object]] = {}
    numbers: dict[int, int] = {}
    for number, representative in enumerate(found_objects):
        kinds.setdefault(representative.look, []).append(representative)
        numbers.setdefault(representative.look, number)
    lines = [
        f"ground {format_colour(background)}; {_format_count(len(found_objects), 'object')} of {_format_count(len(kinds), 'kind')}"
    ]
    ordered = sorted(kinds.values(), key=lambda group: (-group[0].cells, group[0].colour, group[0].top, group[0].left))
    for group in ordered[:MAX_KINDS]:
        representative = group[0]
        size = f"{representative.bottom - representative.top + 1}x{representative.right - representative.left + 1}"
        is_solid = representative.cells == (representative.bottom - representative.top + 1) * (
            representative.right - representative.left + 1
        )
        places = " ".join(f"{item.top},{item.left}" for item in group[:MAX_PLACES])
        more = f" (and {len(group) - MAX_PLACES} more)" if len(group) > MAX_PLACES else ""
        count_prefix = f"{len(group)} x " if len(group) > 1 else ""
        object_colours = (
            np.unique(frame[found_objects.labels == numbers[representative.look]]).tolist() if mixed else [representative.colour]
        )
        colour_text = f"colour{'s' if len(object_colours) > 1 else ''} {_format_colours(object_colours)}"
        lines.append(
            f"{count_prefix}{colour_text} {size}{'' if is_solid else f' ({representative.cells} cells)'} at {places}{more}"
        )
    if len(ordered) > MAX_KINDS:
        n_remaining = sum(map(len, ordered[MAX_KINDS:]))
        lines.append(f"(and {_format_count(len(ordered) - MAX_KINDS, 'smaller kind')}, {_format_count(n_remaining, 'object')})")
    return "\n".join(lines)


def format_animation(frames: Sequence[Grid]) -> str:
    """Format the frames of one observation, oldest first, as what changed from each to the next, without the cells."""
    if len(frames) < 2:
        return "no animation: one frame"
    lines = [f"{len(frames)} frames, the last one settled"]
    for k in range(1, min(len(frames), MAX_MOMENTS + 1)):
        before, after = frames[k - 1], frames[k]
        changes = perception.changes(before, after) if before.shape == after.shape else []
        summary = "; ".join(_describe_change(change) for change in changes[:3]) + (
            f"; {len(changes) - 3} more" if len(changes) > 3 else ""
        )
        lines.append(f"{k - 1} -> {k}: {summary or 'nothing changed'}")
    if len(frames) > MAX_MOMENTS + 1:
        lines.append(f"(frames {MAX_MOMENTS + 1}-{len(frames) - 1} not told; look at them one by one)")
    return "\n".join(lines)


def clip_text(text: str, max_chars: int) -> str:
    """Clip `text` to at most `max_chars` characters, cut after a whole line where there is one, with a last line that says so."""
    if len(text) <= max_chars:
        return text
    note = f"(cut: {len(text):,} characters in all; ask for less at a time)"
    if max_chars <= len(note):
        return note[: max(max_chars, 0)]
    prefix = text[: max_chars - len(note) - 1]
    complete_lines, line_break, _ = prefix.rpartition("\n")
    return f"{complete_lines if line_break and len(complete_lines) > len(prefix) // 2 else prefix}\n{note}"


def find_tiling(frame: Grid, sizes: Sequence[int] = (), *, forced: bool = False) -> tuple[int, int, int] | None:
    """Find (size, first row, first column of a whole tile) whose tiles and legend are shortest. sizes: those that are tried, 8 to 2
    where none is named; forced: however long they are."""
    sizes = sizes or range(TILE_SIZES[1], TILE_SIZES[0] - 1, -1)
    frame, best = frame[:_SAMPLE_SIZE, :_SAMPLE_SIZE], None
    lowest_cost = np.inf if forced else frame.size * _MAX_SHARE
    for size in sizes:
        for row_offset in range(min(size, len(frame))):
            for column_offset in range(min(size, frame.shape[1])):
                cost, patterns = _measure_tiling(frame, size, row_offset, column_offset)
                if cost < lowest_cost and (forced or patterns <= _MAX_PATTERNS):
                    lowest_cost, best = cost, (size, row_offset, column_offset)
    return best


def is_tiling_useful(frame: Grid, size: int, row_offset: int, column_offset: int) -> bool:
    """Say whether a tiling that served another frame makes this one short enough, too."""
    cost, patterns = _measure_tiling(frame[:_SAMPLE_SIZE, :_SAMPLE_SIZE], size, row_offset, column_offset)
    return cost < frame.size * _MAX_SHARE and patterns <= _MAX_PATTERNS


def _measure_tiling(frame: Grid, size: int, row_offset: int, column_offset: int) -> tuple[int, int]:
    """Characters of tiles and legend, and patterns in it, if the first whole tile lies there."""
    height, width = frame.shape
    padding = [(-begin % size, -(side - begin) % size) for begin, side in ((row_offset, height), (column_offset, width))]
    padded = np.pad(frame.astype(np.int16), padding, constant_values=-1)
    blocks = padded.reshape(padded.shape[0] // size, size, -1, size).swapaxes(1, 2).reshape(-1, size * size)
    mixed = np.where(blocks < 0, 256, blocks).min(axis=1) != blocks.max(axis=1)
    patterns = len(np.unique(np.ascontiguousarray(blocks[mixed]).view(np.dtype((np.void, 2 * size * size)))))
    return len(blocks) + patterns * size * size, patterns


def _is_pattern(tile: Grid) -> bool:
    """Whether a tile needs a line in the legend."""
    return bool((tile != tile[0, 0]).any()) or tile[0, 0] >= len(_ONE_CHARACTER)


def _format_pattern(tile: Grid) -> str:
    """A tile's rows, one after the other; only the colour where it has one."""
    if (tile == tile[0, 0]).all():
        return f"all {format_colour(int(tile[0, 0]))}"
    return "/".join(format_cells(tile, int(tile.max())))


def _describe_region(change: Change, before: Grid, after: Grid, max_colour: int) -> list[str]:
    """One changed region: where, and its cells where they are few; or that something moved, where that is all."""
    move = _describe_move(change, before, after)
    if move:
        return [move]
    head = _describe_change(change)
    height, width = after.shape
    is_plain = len(change.before) == len(change.after) == 1 and change.cells == height * width
    if is_plain or height > MAX_PATCH or width > MAX_PATCH:
        return [head]
    unchanged = before == after
    old_rows, new_rows = (
        _fold_rows(mask_unchanged(format_cells(part, max_colour), unchanged, 1 if max_colour < len(_ONE_CHARACTER) else 2))
        for part in (before, after)
    )
    rows = sorted({row for row, _ in (*old_rows, *new_rows)})
    old_text, new_text = dict(old_rows), dict(new_rows)
    lines, old_row, new_row = [], "", ""
    for row, end in zip(rows, [*rows[1:], height], strict=True):
        old_row, new_row = old_text.get(row, old_row), new_text.get(row, new_row)
        times = f" x{end - row}" if end - row > 1 else ""
        lines.append(f"  {old_row} -> {new_row}{times}")
    return [head, *lines]


def _describe_move(change: Change, before: Grid, after: Grid) -> str:
    """Say what happened in a region, if it is this and nothing else: a block as broad as the region moved along it, over one
    colour, leaving one colour behind; else an empty string."""
    height, width = after.shape
    if max(height, width) > MAX_LINES:
        return ""
    for upright, (source, target) in ((True, (before, after)), (False, (before.T, after.T))):
        for step in range(1, len(source)):
            size = len(source) - step
            for start, end in ((step, 0), (0, step)):
                covered, uncovered = (source[:step], target[size:]) if end == 0 else (source[size:], target[:step])
                is_plain = (covered == covered[0, 0]).all() and (uncovered == uncovered[0, 0]).all()
                is_jump = step > size and covered[0, 0] != uncovered[0, 0]  # what lies between would have changed too
                if is_plain and not is_jump and (target[end : end + size] == source[start : start + size]).all():
                    corners = [(change.top + k, change.left) if upright else (change.top, change.left + k) for k in (start, end)]
                    (a, b), (c, d) = corners
                    block = f"{size} x {width}" if upright else f"{height} x {size}"
                    colours = f"over {format_colour(int(covered[0, 0]))}, leaving {format_colour(int(uncovered[0, 0]))}"
                    return f"{block} cells moved from {a},{b} to {c},{d}, {colours}"
    return ""


def _describe_change(change: Change) -> str:
    rows = f"row {change.top}" if change.top == change.bottom else f"rows {change.top}-{change.bottom}"
    columns = f"column {change.left}" if change.left == change.right else f"columns {change.left}-{change.right}"
    colours = f"{_format_colours(change.before)} -> {_format_colours(change.after)}"
    return f"{rows}, {columns}: {_format_count(change.cells, 'cell')}, {colours}"


def format_cells(frame: Grid, max_colour: int) -> list[str]:
    """Format each row as text; max_colour: the highest colour there is anywhere."""
    digits = (_ONE_CHARACTER if max_colour < len(_ONE_CHARACTER) else _TWO_DIGITS)[frame].reshape(len(frame), -1)
    return [row.tobytes().decode() for row in digits]


def mask_unchanged(rows: list[str], unchanged: Grid, digits: int) -> list[str]:
    """Put points for cells that did not change into rows of text, `digits` characters a cell."""
    return [
        "".join("." * digits if is_same else row[k * digits : (k + 1) * digits] for k, is_same in enumerate(line))
        for row, line in zip(rows, unchanged.tolist(), strict=True)
    ]


def _fold_rows(rows: list[str]) -> list[tuple[int, str]]:
    """(number of the first row, text) of each run of equal rows."""
    return [(k, row) for k, row in enumerate(rows) if k == 0 or row != rows[k - 1]]


def _format_ruler(left: int, width: int, digits: int) -> str:
    """The number of the first column and of every tenth above it."""
    line = ""
    for column in (left, *range(left + 10 - left % 10, left + width, 10)):
        offset = (column - left) * digits
        if column == left or (len(line) < offset and offset + len(str(column)) <= width * digits):
            line = line.ljust(offset) + str(column)
    return line


def _format_span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _clip_span(span: Span | None, size: int) -> Span:
    """A span cut to 0 .. size - 1; the nearest edge where it lies outside."""
    if span is None:
        return 0, size - 1
    first, last = sorted(span)
    return min(max(first, 0), size - 1), min(max(last, 0), size - 1)


def format_colour(code: int) -> str:
    """Return the character that boards show a colour with."""
    return chr(_ONE_CHARACTER[code]) if code < len(_ONE_CHARACTER) else f"{code:02x}"


def _format_colours(colours: Sequence[int]) -> str:
    text = ",".join(map(format_colour, colours[:8]))
    return text + (f",({len(colours) - 8} more)" if len(colours) > 8 else "")


def _format_shape(frame: Grid) -> str:
    return " x ".join(map(str, frame.shape))


def _format_count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
