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

LINES = 64
"""Of a board."""
WIDTH = 128
"""Cells of a row of a board."""
PATCH = 24
"""A changed region of at most this many rows and columns is shown cell by cell."""
REGIONS, KINDS, PLACES, MOMENTS = 12, 40, 8, 12
"""How many changed regions, kinds of objects, places of one kind, and frames of an animation are told."""
RUNS = 60
"""Runs of equal cells told of one row."""
SIZES = (2, 8)
"""Smallest and largest size of tiles that is looked for."""
BANDS = 256
"""Rows of tiles that are looked at."""
SIGHT = 24
"""Lines of a first sight."""

_ONE = np.frombuffer(b"0123456789abcdefghijklmnopqrstuvwxyz", dtype=np.uint8)
_PATTERNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ#$%&*+=@^~<>"
_MANY = 26
"""Patterns of a size that is looked for; with more of them a legend is no help."""
_SAMPLE = 128
"""Rows and columns, at most, in which a size is looked for."""
_WORTH = 0.3
"""Tiles and legend of a size that is looked for are at most this share of all cells."""
_TWO = np.frombuffer("".join(f"{colour:02x}" for colour in range(256)).encode(), dtype=np.uint8).reshape(256, 2)


def board(frame: Grid, rows: Span | None = None, columns: Span | None = None) -> str:
    """A frame, or a crop of it, for reading: `4-7 0033f` is rows 4 to 7, one character a cell (0-9, then a-z for 10 to 35).

    Equal rows that follow each other share a line. A ruler names the first column and every tenth, where a line is left for it.
    Two hexadecimal digits a cell if there is a colour above 35. At most 64 lines and 128 columns; what lies beyond is named at
    the end. Spans reaching over the edge end there.
    """
    height, width = frame.shape
    top, bottom = _within(rows, height)
    left, right = _within(columns, width)
    shown = frame[top : bottom + 1, left : min(right, left + WIDTH - 1) + 1]
    lines = _folded(_cells(shown, int(frame.max())))
    starts = [top + row for row, _ in lines]
    ends = [start - 1 for start in starts[1:]] + [bottom]
    names = [_named(a, b) for a, b in zip(starts, ends, strict=True)]
    margin = max(map(len, names))
    told = [f"{name:>{margin}} {cells}" for name, (_, cells) in zip(names, lines, strict=True)]
    cut = []
    if len(told) > LINES:
        cut.append(f"rows {starts[LINES]}-{bottom}")
        told = told[:LINES]
    if left + shown.shape[1] <= right:
        cut.append(f"columns {left + shown.shape[1]}-{right}")
    if len(told) < LINES and shown.shape[1] > 1:
        told.insert(0, " " * margin + " " + _ruler(left, shown.shape[1], 1 if frame.max() < len(_ONE) else 2))
    return "\n".join(told) + (f"\n({' and '.join(cut)} not shown; ask for them)" if cut else "")


def runs(frame: Grid, rows: Span | None = None, columns: Span | None = None, *, starts: bool = False) -> str:
    """A frame, or a crop of it, as runs of equal cells: `30-32: 5x6 1 bx2` is, in rows 30 to 32, 6 cells of 5, one of 1, two of b.

    starts: with the column in which each run begins, `0:5x6 6:1 7:bx2`. Characters are those of a board, equal rows share a line;
    at most 64 lines and 60 runs a row. Spans reaching over the edge end there.
    """
    (top, bottom), (left, right) = _within(rows, len(frame)), _within(columns, frame.shape[1])
    shown = frame[top : bottom + 1, left : right + 1]
    heads = [0, *(np.flatnonzero((shown[1:] != shown[:-1]).any(axis=1)) + 1).tolist()]
    names = [_named(top + a, top + b - 1) for a, b in zip(heads, [*heads[1:], len(shown)], strict=True)]
    margin = max(map(len, names))
    lines = []
    for name, row in list(zip(names, shown[heads], strict=True))[:LINES]:
        begins = [0, *(np.flatnonzero(row[1:] != row[:-1]) + 1).tolist()]
        told = [
            (f"{left + a}:" if starts else "") + colour(int(row[a])) + (f"x{b - a}" if b - a > 1 else "")
            for a, b in zip(begins, [*begins[1:], len(row)], strict=True)
        ]
        more = f" (and {len(told) - RUNS} runs from column {left + begins[RUNS]})" if len(told) > RUNS else ""
        lines.append(f"{name:>{margin}}: {' '.join(told[:RUNS])}{more}")
    cut = f"\n(rows {top + heads[LINES]}-{bottom} not shown; ask for them)" if len(heads) > LINES else ""
    return "\n".join(lines) + cut


def tiles(frame: Grid, size: int | None = None, rows: Span | None = None, columns: Span | None = None) -> str:
    """A frame as tiles of `size` x `size` cells, one character a tile, with the patterns that the characters stand for.

    A tile of one colour has the colour's character, any other a capital letter (or a sign), the same for the same cells. Numbers
    of rows and columns are those of cells; what an edge cuts off is a smaller tile. size: None for the one from 2 to 8, if there is
    one, whose tiles and legend are shortest, and well below the cells themselves. Where the first whole tile begins is always
    found that way. rows, columns: only tiles that reach into these. Folded and cut like a board.
    """
    found = _tiling(frame, range(SIZES[1], SIZES[0] - 1, -1) if size is None else (size,), sure=size is not None)
    if found is None:
        return f"no size of tiles from {SIZES[0]} to {SIZES[1]} makes this shorter; look at runs or objects, or name a size"
    size, down, across = found
    height, width = frame.shape
    tops, lefts = ([0, *range(begin or size, side, size)] for begin, side in ((down, height), (across, width)))
    (top, bottom), (left, right) = _within(rows, height), _within(columns, width)
    bands = [(a, b) for a, b in zip(tops, [*tops[1:], height], strict=True) if a <= bottom and b > top]
    files = [(a, b) for a, b in zip(lefts, [*lefts[1:], width], strict=True) if a <= right and b > left]
    beyond = bands[BANDS][0] if len(bands) > BANDS else None
    bands = bands[:BANDS]
    parts = [[frame[a:b, c:d] for c, d in files[:WIDTH]] for a, b in bands]
    every = [part for row in parts for part in row]
    mixed = Counter(_pattern(part) for part in every if _is_pattern(part))
    letters = dict(zip(sorted(mixed), _PATTERNS, strict=False))
    lines = _folded(
        ["".join(letters.get(_pattern(p), "?") if _is_pattern(p) else colour(int(p[0, 0])) for p in row) for row in parts]
    )
    ends = [k - 1 for k, _ in lines[1:]] + [len(bands) - 1]
    names = [_named(bands[k][0], bands[end][1] - 1) for (k, _), end in zip(lines, ends, strict=True)]
    margin = max(map(len, names))
    ruler = ""
    for k in range(0, len(parts[0]), 5):
        ruler = ruler.ljust(k) + str(files[k][0]) if len(ruler) < k or not k else ruler
    told = [
        f"tiles of {size} x {size} cells, the first whole one at {down},{across}; a character is a tile",
        " " * margin + f" {ruler}",
    ]
    told += [f"{name:>{margin}} {row}" for name, (_, row) in zip(names, lines, strict=True)][:LINES]
    beyond = bands[lines[LINES][0]][0] if len(lines) > LINES else beyond
    cut = [] if beyond is None else [f"rows {beyond}-{bottom}"]
    cut += [f"columns {files[WIDTH][0]}-{right}"] if len(files) > WIDTH else []
    told += [f"{letter} {pattern}{f' x{mixed[pattern]}' if mixed[pattern] > 1 else ''}" for pattern, letter in letters.items()]
    if len(mixed) > len(letters):
        told.append(f"? {len(mixed) - len(letters)} more patterns")
    return "\n".join(told) + (f"\n({' and '.join(cut)} not shown; ask for them)" if cut else "")


def sight(frame: Grid) -> str:
    """A frame in at most 25 lines, to begin with: as tiles, or else as objects, the largest first."""
    told = tiles(frame)
    if told.startswith("no size") or told.count("\n") >= SIGHT:
        told = objects(frame)
    lines = told.splitlines()
    return told if len(lines) <= SIGHT else "\n".join([*lines[:SIGHT], f"(and {len(lines) - SIGHT} lines more)"])


def difference(before: Grid, after: Grid) -> str:
    """What changed from one frame to another, the largest regions first: where, how many cells, which colours, and cell by cell.

    A block that moved over one colour and left one behind is told in a line; places are `row,column` of its upper left corner. In a
    region's cells `.` is a cell that did not change. Two frames of different shapes are not compared.
    """
    if before.shape != after.shape:
        return f"The frames have different shapes: {_by(before)}, then {_by(after)}."
    found = perception.changes(before, after)
    if not found:
        return "nothing changed"
    cells, top = sum(change.cells for change in found), max(int(before.max()), int(after.max()))
    lines = [f"{_count(cells, 'cell')} changed in {_count(len(found), 'region')}"]
    for change in found[:REGIONS]:
        box = np.s_[change.top : change.bottom + 1, change.left : change.right + 1]
        lines += _region(change, before[box], after[box], top)
    if len(found) > REGIONS:
        rest = sum(change.cells for change in found[REGIONS:])
        lines.append(f"(and {_count(len(found) - REGIONS, 'smaller region')}, {_count(rest, 'cell')})")
    return "\n".join(lines)


def objects(frame: Grid, *, mixed: bool = False) -> str:
    """What hangs together in one colour (4 neighbours), the commonest colour left out as ground: alike ones in one line.

    mixed: colours that touch are one object. Places are `row,column` of the upper left corner of the box around each.
    """
    colours, counts = np.unique(frame, return_counts=True)
    ground = int(colours[counts.argmax()])
    seen = perception.objects(frame, where=frame != ground, mixed=mixed)
    kinds: dict[int, list[perception.Object]] = {}
    numbers: dict[int, int] = {}
    for number, one in enumerate(seen):
        kinds.setdefault(one.look, []).append(one)
        numbers.setdefault(one.look, number)
    lines = [f"ground {colour(ground)}; {_count(len(seen), 'object')} of {_count(len(kinds), 'kind')}"]
    ordered = sorted(kinds.values(), key=lambda alike: (-alike[0].cells, alike[0].colour, alike[0].top, alike[0].left))
    for alike in ordered[:KINDS]:
        one = alike[0]
        size = f"{one.bottom - one.top + 1}x{one.right - one.left + 1}"
        full = one.cells == (one.bottom - one.top + 1) * (one.right - one.left + 1)
        places = " ".join(f"{each.top},{each.left}" for each in alike[:PLACES])
        more = f" (and {len(alike) - PLACES} more)" if len(alike) > PLACES else ""
        times = f"{len(alike)} x " if len(alike) > 1 else ""
        hues = np.unique(frame[seen.labels == numbers[one.look]]).tolist() if mixed else [one.colour]
        hued = f"colour{'s' if len(hues) > 1 else ''} {_colours(hues)}"
        lines.append(f"{times}{hued} {size}{'' if full else f' ({one.cells} cells)'} at {places}{more}")
    if len(ordered) > KINDS:
        rest = sum(map(len, ordered[KINDS:]))
        lines.append(f"(and {_count(len(ordered) - KINDS, 'smaller kind')}, {_count(rest, 'object')})")
    return "\n".join(lines)


def animation(frames: Sequence[Grid]) -> str:
    """The frames of one observation, oldest first, as what changed from each to the next, without the cells."""
    if len(frames) < 2:
        return "no animation: one frame"
    lines = [f"{len(frames)} frames, the last one settled"]
    for k in range(1, min(len(frames), MOMENTS + 1)):
        before, after = frames[k - 1], frames[k]
        found = perception.changes(before, after) if before.shape == after.shape else []
        told = "; ".join(_where(change) for change in found[:3]) + (f"; {len(found) - 3} more" if len(found) > 3 else "")
        lines.append(f"{k - 1} -> {k}: {told or 'nothing changed'}")
    if len(frames) > MOMENTS + 1:
        lines.append(f"(frames {MOMENTS + 1}-{len(frames) - 1} not told; look at them one by one)")
    return "\n".join(lines)


def clip(text: str, most: int) -> str:
    """`text` in at most `most` characters, cut after a whole line where there is one, with a last line that says so."""
    if len(text) <= most:
        return text
    note = f"(cut: {len(text):,} characters in all; ask for less at a time)"
    if most <= len(note):
        return note[: max(most, 0)]
    kept = text[: most - len(note) - 1]
    whole, line_break, _ = kept.rpartition("\n")
    return f"{whole if line_break and len(whole) > len(kept) // 2 else kept}\n{note}"


def _tiling(frame: Grid, sizes: Sequence[int], *, sure: bool) -> tuple[int, int, int] | None:
    """(size, first row, first column of a whole tile) whose tiles and legend are shortest. sure: however long they are."""
    frame, best = frame[:_SAMPLE, :_SAMPLE], None
    least = np.inf if sure else frame.size * _WORTH
    for size in sizes:
        for down in range(min(size, len(frame))):
            for across in range(min(size, frame.shape[1])):
                cost, patterns = _length(frame, size, down, across)
                if cost < least and (sure or patterns <= _MANY):
                    least, best = cost, (size, down, across)
    return best


def _length(frame: Grid, size: int, down: int, across: int) -> tuple[int, int]:
    """Characters of tiles and legend, and patterns in it, if the first whole tile lies there."""
    height, width = frame.shape
    edges = [(-begin % size, -(side - begin) % size) for begin, side in ((down, height), (across, width))]
    wide = np.pad(frame.astype(np.int16), edges, constant_values=-1)
    blocks = wide.reshape(wide.shape[0] // size, size, -1, size).swapaxes(1, 2).reshape(-1, size * size)
    mixed = np.where(blocks < 0, 256, blocks).min(axis=1) != blocks.max(axis=1)
    patterns = len(np.unique(np.ascontiguousarray(blocks[mixed]).view(np.dtype((np.void, 2 * size * size)))))
    return len(blocks) + patterns * size * size, patterns


def _is_pattern(tile: Grid) -> bool:
    """Whether a tile needs a line in the legend."""
    return bool((tile != tile[0, 0]).any()) or tile[0, 0] >= len(_ONE)


def _pattern(tile: Grid) -> str:
    """A tile's rows, one after the other; only the colour where it has one."""
    if (tile == tile[0, 0]).all():
        return f"all {colour(int(tile[0, 0]))}"
    return "/".join(_cells(tile, int(tile.max())))


def _region(change: Change, before: Grid, after: Grid, top: int) -> list[str]:
    """One changed region: where, and its cells where they are few; or that something moved, where that is all."""
    told = _moved(change, before, after)
    if told:
        return [told]
    head = _where(change)
    height, width = after.shape
    plain = len(change.before) == len(change.after) == 1 and change.cells == height * width
    if plain or height > PATCH or width > PATCH:
        return [head]
    same = before == after
    old, new = (_folded(_dotted(_cells(part, top), same, 1 if top < len(_ONE) else 2)) for part in (before, after))
    rows = sorted({row for row, _ in (*old, *new)})
    was, now = dict(old), dict(new)
    lines, one, two = [], "", ""
    for row, end in zip(rows, [*rows[1:], height], strict=True):
        one, two = was.get(row, one), now.get(row, two)
        times = f" x{end - row}" if end - row > 1 else ""
        lines.append(f"  {one} -> {two}{times}")
    return [head, *lines]


def _moved(change: Change, before: Grid, after: Grid) -> str:
    """What happened in a region, where it is this and nothing else: a block as broad as the region moved along it, over one colour,
    leaving one colour behind; else an empty string."""
    height, width = after.shape
    if max(height, width) > LINES:
        return ""
    for upright, (one, two) in ((True, (before, after)), (False, (before.T, after.T))):
        for step in range(1, len(one)):
            size = len(one) - step
            for start, end in ((step, 0), (0, step)):
                covered, bared = (one[:step], two[size:]) if end == 0 else (one[size:], two[:step])
                plain = (covered == covered[0, 0]).all() and (bared == bared[0, 0]).all()
                jumped = step > size and covered[0, 0] != bared[0, 0]  # what lies between would have changed too
                if plain and not jumped and (two[end : end + size] == one[start : start + size]).all():
                    ways = [(change.top + k, change.left) if upright else (change.top, change.left + k) for k in (start, end)]
                    (a, b), (c, d) = ways
                    block = f"{size} x {width}" if upright else f"{height} x {size}"
                    colours = f"over {colour(int(covered[0, 0]))}, leaving {colour(int(bared[0, 0]))}"
                    return f"{block} cells moved from {a},{b} to {c},{d}, {colours}"
    return ""


def _where(change: Change) -> str:
    rows = f"row {change.top}" if change.top == change.bottom else f"rows {change.top}-{change.bottom}"
    columns = f"column {change.left}" if change.left == change.right else f"columns {change.left}-{change.right}"
    return f"{rows}, {columns}: {_count(change.cells, 'cell')}, {_colours(change.before)} -> {_colours(change.after)}"


def _cells(frame: Grid, top: int) -> list[str]:
    """Each row as text; top: the highest colour there is anywhere."""
    digits = (_ONE if top < len(_ONE) else _TWO)[frame].reshape(len(frame), -1)
    return [row.tobytes().decode() for row in digits]


def _dotted(rows: list[str], same: Grid, digits: int) -> list[str]:
    return [
        "".join("." * digits if kept else row[k * digits : (k + 1) * digits] for k, kept in enumerate(line))
        for row, line in zip(rows, same.tolist(), strict=True)
    ]


def _folded(rows: list[str]) -> list[tuple[int, str]]:
    """(number of the first row, text) of each run of equal rows."""
    return [(k, row) for k, row in enumerate(rows) if k == 0 or row != rows[k - 1]]


def _ruler(left: int, width: int, digits: int) -> str:
    """The number of the first column and of every tenth above it."""
    line = ""
    for column in (left, *range(left + 10 - left % 10, left + width, 10)):
        at = (column - left) * digits
        if column == left or (len(line) < at and at + len(str(column)) <= width * digits):
            line = line.ljust(at) + str(column)
    return line


def _named(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _within(span: Span | None, size: int) -> Span:
    """A span cut to 0 .. size - 1; the nearest edge where it lies outside."""
    if span is None:
        return 0, size - 1
    first, last = sorted(span)
    return min(max(first, 0), size - 1), min(max(last, 0), size - 1)


def colour(code: int) -> str:
    """A colour by the character that boards show it with."""
    return chr(_ONE[code]) if code < len(_ONE) else f"{code:02x}"


def _colours(colours: Sequence[int]) -> str:
    shown = ",".join(map(colour, colours[:8]))
    return shown + (f",({len(colours) - 8} more)" if len(colours) > 8 else "")


def _by(frame: Grid) -> str:
    return " x ".join(map(str, frame.shape))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
