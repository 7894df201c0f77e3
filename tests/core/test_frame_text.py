"""Frames as text: nothing is lost that is not said to be, and nothing is longer than it may be."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lawbook.core import frame_text, perception

Frame = npt.NDArray[np.uint8]
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def frames(colours: int = 36, side: int = 12) -> st.SearchStrategy[Frame]:
    shapes = st.tuples(st.integers(1, side), st.integers(1, side))
    return shapes.flatmap(lambda shape: hnp.arrays(np.uint8, shape, elements=st.integers(0, colours - 1)))


def read_back(text: str) -> dict[int, list[int]]:
    """Rows of a board (one character a cell) by number."""
    rows: dict[int, list[int]] = {}
    for line in text.splitlines():
        found = re.fullmatch(r" *(\d+)(?:-(\d+))? ([0-9a-z]+)", line)
        if found and " " not in line.strip().partition(" ")[2]:
            for row in range(int(found[1]), int(found[2] or found[1]) + 1):
                rows[row] = [DIGITS.index(digit) for digit in found[3]]
    return rows


def without_ruler(text: str) -> str:
    return text.partition("\n")[2]


@given(frames())
@settings(max_examples=150, deadline=None)
def test_a_board_can_be_read_back(frame: Frame) -> None:
    rows = read_back(without_ruler(frame_text.format_board(frame)) if frame.shape[1] > 1 else frame_text.format_board(frame))
    assert [rows[row] for row in range(len(frame))] == frame.tolist()


@given(frames(), st.integers(-3, 15), st.integers(-3, 15), st.integers(-3, 15), st.integers(-3, 15))
@settings(max_examples=150, deadline=None)
def test_a_crop_is_the_same_cells(frame: Frame, top: int, bottom: int, left: int, right: int) -> None:
    height, width = frame.shape
    text = frame_text.format_board(frame, (top, bottom), (left, right))
    a, b = (min(max(edge, 0), height - 1) for edge in sorted((top, bottom)))
    c, d = (min(max(edge, 0), width - 1) for edge in sorted((left, right)))
    rows = read_back(without_ruler(text) if d > c else text)
    assert [rows[row] for row in range(a, b + 1)] == frame[a : b + 1, c : d + 1].tolist() and len(rows) == b + 1 - a


def test_equal_rows_share_a_line_and_the_ruler_names_columns() -> None:
    frame = np.zeros((20, 30), np.uint8)
    frame[5, 10] = 15
    assert frame_text.format_board(frame).splitlines() == [
        "     0         10        20",
        " 0-4 " + "0" * 30,
        "   5 " + "0" * 10 + "f" + "0" * 19,
        "6-19 " + "0" * 30,
    ]
    assert frame_text.format_board(frame, (5, 5), (8, 13)).splitlines() == ["  8 10", "5 00f000"]


def test_colours_above_35_take_two_digits() -> None:
    assert frame_text.format_board(np.array([[0, 35]], np.uint8)).endswith("0 0z")
    assert frame_text.format_board(np.array([[0, 200]], np.uint8)).endswith("0 00c8")


@given(st.integers(1, 200), st.integers(1, 200), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_a_full_board_is_at_most_64_lines_and_says_what_it_left_out(height: int, width: int, seed: int) -> None:
    frame = np.random.default_rng(seed).integers(0, 16, (height, width), dtype=np.uint8)
    lines = frame_text.format_board(frame).splitlines()
    cut = lines.pop() if lines[-1].startswith("(") else ""
    assert len(lines) <= 64 and max(map(len, lines)) <= frame_text.MAX_COLUMNS + 8
    assert ("rows" in cut) == (height > 64) or width <= 3  # narrow rows may be equal by chance
    assert ("columns" in cut) == (width > frame_text.MAX_COLUMNS)


def applied(before: Frame, text: str, changes: list[perception.Change]) -> Frame | None:
    """`before` with a difference carried out; None where some region was not told cell by cell."""
    after, lines = before.copy(), text.splitlines()[1:]
    for change in changes[: frame_text.MAX_REGIONS]:
        line = lines.pop(0)
        moved = re.fullmatch(r"(\d+) x (\d+) cells moved from (\d+),(\d+) to (\d+),(\d+), over (.), leaving (.)", line)
        if moved:
            height, width, a, b, c, d = map(int, moved.groups()[:6])
            block = before[a : a + height, b : b + width]
            after[a : a + height, b : b + width] = DIGITS.index(moved[8])
            after[c : c + height, d : d + width] = block
            continue
        assert line.startswith("row")
        if not lines or not lines[0].startswith("  "):
            if change.cells != (change.bottom - change.top + 1) * (change.right - change.left + 1) or len(change.after) > 1:
                return None
            after[change.top : change.bottom + 1, change.left : change.right + 1] = change.after[0]
        row = change.top
        while lines and lines[0].startswith("  "):
            one, two, times = re.fullmatch(r"  (\S+) -> (\S+)(?: x(\d+))?", lines.pop(0)).groups()  # type: ignore[union-attr]
            for row in range(row, row + int(times or 1)):  # noqa: B020
                for column, (old, new) in enumerate(zip(one, two, strict=True), change.left):
                    assert (old == ".") == (new == ".")
                    if old != ".":
                        assert DIGITS.index(old) == before[row, column]
                        after[row, column] = DIGITS.index(new)
            row += 1
    return after


@given(frames(), st.data())
@settings(max_examples=150, deadline=None)
def test_a_difference_can_be_carried_out(before: Frame, data: st.DataObject) -> None:
    after = data.draw(hnp.arrays(np.uint8, before.shape, elements=st.integers(0, 35)))
    text = frame_text.format_difference(before, after)
    changed = int((before != after).sum())
    if not changed:
        assert text == "nothing changed"
        return
    found = perception.changes(before, after)
    assert text.startswith(f"{changed} cell")
    told = applied(before, text, found)
    assert told is None or (told == after).all() or len(found) > frame_text.MAX_REGIONS


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 4), st.integers(-5, 5), st.booleans(), st.integers(0, 2))
@settings(max_examples=150, deadline=None)
def test_a_move_is_told_as_one_and_can_be_carried_out(
    seed: int, height: int, width: int, step: int, upright: bool, bare: int
) -> None:
    rng = np.random.default_rng(seed)
    before = np.zeros((16, 16), np.uint8)
    block = rng.integers(1, 5, (height, width), dtype=np.uint8)
    before[6 : 6 + height, 6 : 6 + width] = block
    after = before.copy()
    after[6 : 6 + height, 6 : 6 + width] = bare
    row, column = (6 + step, 6) if upright else (6, 6 + step)
    after[row : row + height, column : column + width] = block
    text, found = frame_text.format_difference(before, after), perception.changes(before, after)
    if (before == after).all():
        return
    told = applied(before, text, found)
    assert told is not None and (told == after).all()


def test_a_walker_that_moves_takes_one_line() -> None:
    before, walker = np.zeros((16, 16), np.uint8), np.array([[0, 7, 7, 0], [7, 4, 7, 4], [7, 7, 7, 7], [0, 7, 7, 0]], np.uint8)
    after = before.copy()
    before[4:8, 4:8] = after[4:8, 8:12] = walker
    assert (
        frame_text.format_difference(before, after)
        == "24 cells changed in 1 region\n4 x 4 cells moved from 4,4 to 4,8, over 0, leaving 0"
    )


def test_frames_of_two_shapes_are_told_so() -> None:
    assert "2 x 3, then 3 x 2" in frame_text.format_difference(np.zeros((2, 3), np.uint8), np.zeros((3, 2), np.uint8))


@given(st.integers(0, 2**32 - 1), st.integers(2, 30))
@settings(max_examples=20, deadline=None)
def test_whatever_is_shown_nothing_is_long(seed: int, colours: int) -> None:
    one, two = np.random.default_rng(seed).integers(0, colours, (2, 64, 64), dtype=np.uint8)
    for text in (
        frame_text.format_difference(one, two),
        frame_text.format_objects(one),
        frame_text.format_animation([one, two] * 40),
    ):
        assert len(text) < 6000 and text.count("\n") < frame_text.MAX_REGIONS * (frame_text.MAX_PATCH + 1) + 4


@given(frames(colours=4))
@settings(max_examples=100, deadline=None)
def test_objects_are_counted_whole(frame: Frame) -> None:
    text = frame_text.format_objects(frame)
    colours, counts = np.unique(frame, return_counts=True)
    expected = len(perception.objects(frame, where=frame != colours[counts.argmax()]))
    assert re.match(rf"ground \w+; {expected} objects? of", text)


def test_alike_objects_share_a_line() -> None:
    frame = np.zeros((8, 8), np.uint8)
    frame[1:3, 1:3] = frame[5:7, 4:6] = 3
    frame[0, 7] = 5
    assert frame_text.format_objects(frame).splitlines() == [
        "ground 0; 3 objects of 2 kinds",
        "2 x colour 3 2x2 at 1,1 5,4",
        "colour 5 1x1 at 0,7",
    ]


def test_touching_colours_are_one_object_where_asked_for() -> None:
    frame = np.zeros((8, 8), np.uint8)
    frame[1:3, 1:3] = frame[5:7, 4:6] = 3
    frame[1, 1] = frame[5, 4] = 7
    assert frame_text.format_objects(frame, mixed=True).splitlines() == [
        "ground 0; 2 objects of 1 kind",
        "2 x colours 3,7 2x2 at 1,1 5,4",
    ]


# -- runs and tiles --------------------------------------------------------------------------------------------------------------


def ran_back(text: str) -> dict[int, list[int]]:
    """Rows told as runs by number; where starts are told they must be right."""
    rows: dict[int, list[int]] = {}
    for line in text.splitlines():
        first, last, told = re.fullmatch(r" *(\d+)(?:-(\d+))?: (.+)", line).groups()  # type: ignore[union-attr]
        row: list[int] = []
        for word in told.split():
            start, digit, times = re.fullmatch(r"(?:(\d+):)?([0-9a-z])(?:x(\d+))?", word).groups()  # type: ignore[union-attr]
            assert start is None or int(start) == len(row)
            row += [DIGITS.index(digit)] * int(times or 1)
        rows |= dict.fromkeys(range(int(first), int(last or first) + 1), row)
    return rows


@given(frames(colours=3), st.booleans())
@settings(max_examples=150, deadline=None)
def test_runs_can_be_read_back(frame: Frame, starts: bool) -> None:
    rows = ran_back(frame_text.format_runs(frame, starts=starts))
    assert [rows[row] for row in range(len(frame))] == frame.tolist()


def test_runs_of_a_crop_and_of_too_much() -> None:
    frame = np.zeros((40, 40), np.uint8)
    frame[30:33, 6] = 11
    assert frame_text.format_runs(frame, (28, 99), (4, 99)).splitlines() == ["28-29: 0x36", "30-32: 0x2 b 0x33", "33-39: 0x36"]
    assert frame_text.format_runs(frame, (30, 30), (4, 9), starts=True) == "30: 4:0x2 6:b 7:0x3"
    noise = np.random.default_rng(0).integers(0, 16, (200, 200), dtype=np.uint8)
    lines = frame_text.format_runs(noise).splitlines()
    assert lines.pop() == "(rows 64-199 not shown; ask for them)" and len(lines) == 64
    assert all(re.search(r"\(and \d+ runs from column \d+\)$", line) and len(line) < 300 for line in lines)


def laid_back(text: str, shape: tuple[int, int]) -> Frame:
    """The frame that a text of tiles tells, whole."""
    head, _, *lines = text.splitlines()
    size, down, across = map(int, re.search(r"of (\d+) x .* at (\d+),(\d+);", head).groups())  # type: ignore[union-attr]
    legend = {line[0]: line.split()[1] for line in lines if re.match(r"[^ 0-9a-z(] [0-9a-z/]+( x\d+)?$", line)}
    frame = np.full(shape, 99, np.uint8)
    edges = [[0, *range(begin or size, side, size), side] for begin, side in ((down, shape[0]), (across, shape[1]))]
    for line in lines[: len(lines) - len(legend)]:
        first, last, row = re.fullmatch(r" *(\d+)(?:-(\d+))? (\S+)", line).groups()  # type: ignore[union-attr]
        for a, b in zip(edges[0], edges[0][1:], strict=False):
            if int(first) <= a <= int(last or first):
                for letter, c, d in zip(row, edges[1], edges[1][1:], strict=False):
                    tile = [[DIGITS.index(cell) for cell in part] for part in legend.get(letter, letter).split("/")]
                    frame[a:b, c:d] = tile
    return frame


@given(frames(colours=3, side=12), st.integers(2, 14))
@settings(max_examples=150, deadline=None)
def test_tiles_of_a_size_can_be_read_back(frame: Frame, size: int) -> None:
    text = frame_text.format_tiles(frame, size)
    if "more patterns" not in text:
        assert (laid_back(text, frame.shape) == frame).all()


@given(st.integers(3, 8), st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_the_size_and_the_place_of_tiles_are_found(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 16, (6, size, size), dtype=np.uint8)
    down, across = rng.integers(0, size, 2)
    whole = np.block([[kinds[k] for k in row] for row in rng.integers(0, 6, (14, 14))])
    frame = whole[size - down :, size - across :]
    text = frame_text.format_tiles(frame)
    assert text.startswith(f"tiles of {size} x {size} cells, the first whole one at {down},{across};")
    assert (laid_back(text, frame.shape) == frame).all() and len(text) < frame.size


def test_a_tile_keeps_its_letter_where_it_goes_and_numbers_are_those_of_cells() -> None:
    frame, walker = np.zeros((16, 24), np.uint8), np.array([[5, 6], [7, 5]], np.uint8)
    frame[:, :2] = frame[:, -2:] = 12
    frame[4:6, 6:8] = walker
    assert frame_text.format_tiles(frame, 2).splitlines() == [
        "tiles of 2 x 2 cells, the first whole one at 0,0; a character is a tile",
        "     0    10   20",
        " 0-3 c0000000000c",
        " 4-5 c00A0000000c",
        "6-15 c0000000000c",
        "A 56/75",
    ]
    assert frame_text.format_tiles(frame, 2, (4, 5), (6, 9)).splitlines()[1:] == ["    6", "4-5 A0", "A 56/75"]


@given(st.integers(1, 150), st.integers(1, 300), st.integers(0, 2**32 - 1), st.integers(2, 9))
@settings(max_examples=6, deadline=None)
def test_tiles_are_not_long_either(height: int, width: int, seed: int, size: int) -> None:
    frame = np.random.default_rng(seed).integers(0, 200, (height, width), dtype=np.uint8)
    lines = frame_text.format_tiles(frame, size).splitlines()
    assert len(lines) <= 64 + 3 + 40 + 1 and all(len(line) <= frame_text.MAX_COLUMNS + 40 + 2 * size * size for line in lines)
    assert frame_text.format_tiles(frame).startswith("no size") or frame.size < 40


def test_tiles_of_a_huge_frame_are_cut_and_say_so() -> None:
    text = frame_text.format_tiles(np.zeros((2000, 2000), np.uint8), 2)
    assert "0-511 " + "0" * frame_text.MAX_COLUMNS in text and text.endswith(
        "(rows 512-1999 and columns 256-1999 not shown; ask for them)"
    )


@given(frames(colours=5, side=40))
@settings(max_examples=20, deadline=None)
def test_a_first_sight_is_at_most_25_lines(frame: Frame) -> None:
    assert frame_text.format_overview(frame).count("\n") < 25


def test_an_animation_is_told_from_frame_to_frame() -> None:
    one, two = np.zeros((2, 4, 4), np.uint8)
    two[2, 3] = 7
    assert frame_text.format_animation([one, two, two]).splitlines() == [
        "3 frames, the last one settled",
        "0 -> 1: row 2, column 3: 1 cell, 0 -> 7",
        "1 -> 2: nothing changed",
    ]
    assert frame_text.format_animation([one]).startswith("no animation")


@given(st.text(max_size=400), st.integers(0, 300))
@settings(max_examples=200, deadline=None)
def test_clip_keeps_to_its_size_and_says_that_it_cut(text: str, most: int) -> None:
    short = frame_text.clip_text(text, most)
    assert len(short) <= most
    assert short == text or "(cut: ".startswith(short[:6]) or f"{len(text):,} characters in all" in short
