"""Events between frames: whatever is painted, what is told is true of the cells; and known scenes are told as what they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lawbook.core.animation_text import format_timeline
from lawbook.core.event_text import NOTHING, build_signature, format_changes
from lawbook.core.frame_events import find_events
from lawbook.core.level_map import build_level_map, find_fog
from lawbook.core.object_text import format_object_list
from lawbook.core.perception import Grid
from lawbook.core.scrolling import find_scroll, shift_frame
from lawbook.core.turning import TURNS

ARROW = np.array([[8, 0, 0, 0], [8, 8, 0, 0], [8, 8, 8, 0], [9, 0, 0, 0]], dtype=np.uint8)
KEY = np.array([[8, 8, 8, 7], [6, 0, 0, 8], [6, 9, 0, 0], [5, 5, 9, 9]], dtype=np.uint8)
"""Looks different whichever way it lies, and reaches every side of its box."""
FRAMES = arrays(np.uint8, (12, 14), elements=st.integers(0, 3))


def paint(*things: tuple[Grid | int, int, int], ground: int = 0, shape: tuple[int, int] = (40, 40)) -> Grid:
    """A board with things on it: (cells, or the colour of a 4 x 4 block; row; column)."""
    frame = np.full(shape, ground, dtype=np.uint8)
    for thing, row, column in things:
        cells = np.full((4, 4), thing, dtype=np.uint8) if isinstance(thing, int) else thing
        frame[row : row + cells.shape[0], column : column + cells.shape[1]] = cells
    return frame


@given(FRAMES, FRAMES)
@settings(max_examples=200, deadline=None)
def test_every_changed_cell_belongs_to_an_event_and_every_event_changed_something(before: Grid, after: Grid) -> None:
    events = find_events(before, after)
    changed, covered = before != after, np.zeros(before.shape, dtype=bool)
    assert bool(events) == bool(changed.any())
    for event in events:
        covered[event.box.region] = True
        if event.kind == "scrolled":
            continue
        target = event.box.move(event.step)
        covered[target.region] = True
        assert changed[event.box.region].any() or changed[target.region].any() or events[0].kind == "scrolled"
    assert not (changed & ~covered).any()
    assert "\n" not in format_changes(before, after) and format_changes(before, before) == NOTHING


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
@settings(deadline=None)
def test_a_thing_that_moves_is_told_in_one_event(row: int, column: int, to_row: int, to_column: int) -> None:
    if (row, column) == (to_row, to_column):
        return
    before, after = (paint((ARROW, *place), (5, 36, 36)) for place in ((row, column), (to_row, to_column)))
    events = find_events(before, after)
    assert [(event.kind, event.step) for event in events] == [("moved", (to_row - row, to_column - column))]


@given(st.sampled_from(TURNS), st.integers(0, 5), st.integers(-2, 2))
def test_a_thing_that_turns_is_told_as_that(turn: tuple[str, object], column: int, away: int) -> None:
    turned = turn[1](KEY)  # type: ignore[operator]
    before = paint((KEY, 8, 4 * column + 8))
    after = paint((turned, 8, 4 * (column + away) + 8))
    (event,) = find_events(before, after)
    assert (event.kind, event.detail) == ("turned", turn[0]) and event.step == (0, 4 * away)


def test_a_recolouring_is_no_move_where_two_lamps_change_places() -> None:
    before, after = (paint((one, 8, 8), (two, 8, 16), (9, 20, 20), ground=1) for one, two in ((6, 7), (7, 6)))
    assert sorted(event.kind for event in find_events(before, after)) == ["recoloured", "recoloured"]
    assert format_changes(before, after) == "4x4 8,8 6 -> 7; 4x4 8,16 7 -> 6"


def test_the_ground_does_not_move_and_equal_events_are_one() -> None:
    corridor = paint((5, 8, 8), ground=2)
    corridor[8:12, 12:20] = 0
    after = corridor.copy()
    after[8:12, 8:12], after[8:12, 12:16] = 0, 5
    assert format_changes(corridor, after) == "4x4 5 8,8 -> 8,12"
    several = paint((3, 0, 0), (3, 0, 10), (3, 20, 0))
    assert format_changes(several, np.where(several == 3, 4, several)) == "3 x 4x4 0,0, 0,10, 20,0 3 -> 4"
    assert format_changes(paint(), paint((3, 8, 8))) == "4x4 8,8 0 -> 3"
    assert format_changes(paint(), paint((ARROW, 8, 8))) == "new 8,8: 8../88./888/9.. on 0"
    assert format_changes(paint((ARROW, 8, 8)), paint()) == "gone 4x3 8,9 8,8 to 0"


def test_what_joins_its_like_is_said_to_merge() -> None:
    before, after = paint((3, 8, 8), (3, 8, 20)), paint((3, 8, 16), (3, 8, 20))
    assert format_changes(before, after) == "4x4 3 8,8 -> 8,16 merging with its like"


@given(st.integers(-8, 8), st.integers(-8, 8), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_a_view_that_scrolls_is_found_and_told_first(rows: int, columns: int, seed: int) -> None:
    if (rows, columns) == (0, 0):
        return
    world = np.kron(np.random.default_rng(seed).integers(1, 5, (20, 20)), np.ones((3, 3))).astype(np.uint8)
    before = world[10:42, 10:42]
    after = world[10 - rows : 42 - rows, 10 - columns : 42 - columns]
    found = find_scroll(before, after)
    assert found is not None and found[0] == (rows, columns)
    shifted, is_new = shift_frame(before, *found)
    assert (shifted == after)[~is_new].all()
    assert find_events(before, after)[0].kind == "scrolled"
    assert format_changes(before, after).startswith(f"the view moved: what it shows went by {rows},{columns}")


def test_a_signature_says_what_and_not_where() -> None:
    one, two = (find_events(paint((5, row, 0)), paint((5, row, 4))) for row in (0, 12))
    other = find_events(paint((5, 0, 0)), paint((5, 0, 8)))
    assert build_signature(one) == build_signature(two) != build_signature(other)
    bar = np.zeros((40, 40), dtype=bool)
    bar[39] = True
    ticking = paint((5, 0, 4))
    ticking[39, 3] = 7
    assert build_signature(find_events(paint((5, 0, 0)), ticking), bar) == build_signature(one)


# -- animations ------------------------------------------------------------------------------------------------------------------


def test_a_time_line_is_short_and_never_cut() -> None:
    walk = [paint((5, 0, k)) for k in range(30)]
    assert format_timeline(walk).splitlines()[1:] == ["1-29: 4x4 5 0,0 -> 0,29, by 0,1 each"]
    flash = [paint(), paint((7, 8, 8)), paint((7, 8, 8)), paint(), paint(), paint((7, 8, 8)), paint()]
    assert format_timeline(flash).splitlines()[1:] == ["in 1-2,5: 4x4 8,8 0 -> 7, then back"]
    assert format_timeline([paint(), paint()]).endswith("nothing changed") and "one frame" in format_timeline([paint()])
    noise = list(np.random.default_rng(1).integers(0, 9, (60, 12, 12)).astype(np.uint8))
    assert format_timeline(noise).splitlines()[-1].startswith("59: ")


@given(st.lists(FRAMES, min_size=2, max_size=6))
@settings(deadline=None)
def test_every_frame_that_differs_is_in_the_time_line(frames: list[Grid]) -> None:
    text = format_timeline(frames)
    assert text.startswith(f"frames 0-{len(frames) - 1}, the last one settled")
    if (frames[-1] != frames[-2]).any():
        assert str(len(frames) - 1) in text or "then back" in text


# -- maps ------------------------------------------------------------------------------------------------------------------------


def test_a_map_remembers_what_fog_covers() -> None:
    board = np.random.default_rng(3).integers(1, 6, (30, 30)).astype(np.uint8)
    frames = []
    for column in range(0, 24, 2):
        frame = np.full((30, 30), 9, dtype=np.uint8)
        frame[10:20, column : column + 6] = board[10:20, column : column + 6]
        frames.append(frame)
    level_map = build_level_map([np.array(frames[:6]), np.array(frames[6:])])
    assert level_map.fog == 9 and not level_map.has_scrolled
    assert (level_map.cells[10:20, :28] == board[10:20, :28]).all() and (level_map.cells[:10] == 9).all()


def test_a_walker_is_no_fog_and_the_map_of_one_view_is_that_view() -> None:
    frames = np.array([paint((5, 0, k)) for k in range(30)])
    assert find_fog([frames]) is None
    assert (build_level_map([frames]).cells == frames[-1]).all()


@given(st.lists(st.sampled_from([(0, 2), (2, 0), (0, -2), (-2, 0)]), max_size=8), st.integers(0, 999))
@settings(deadline=None)
def test_a_map_unrolls_a_view_that_scrolls(ways: list[tuple[int, int]], seed: int) -> None:
    world = np.kron(np.random.default_rng(seed).integers(1, 6, (40, 40)), np.ones((2, 2))).astype(np.uint8)
    row = column = 24
    frames = [world[row : row + 32, column : column + 32]]
    for rows, columns in ways:
        row, column = row + rows, column + columns
        frames.append(world[row : row + 32, column : column + 32])
    level_map = build_level_map([np.array(frames)])
    top, left = level_map.origin
    assert (level_map.cells[top : top + 32, left : left + 32] == frames[-1]).all()
    if level_map.has_scrolled:
        row, column = 24 - row + top, 24 - column + left
        assert (level_map.cells[row : row + 32, column : column + 32] == frames[0]).all()


# -- objects ---------------------------------------------------------------------------------------------------------------------


def test_objects_say_which_are_turned_and_where_to_click() -> None:
    arrow = np.where(ARROW == 9, 8, ARROW).astype(np.uint8)
    frame = paint((arrow, 4, 4), (np.rot90(arrow), 4, 20), (arrow, 20, 4), (np.where(arrow == 8, 3, arrow), 20, 20))
    lines = format_object_list(frame, click=6).splitlines()
    assert lines[0] == "ground 0; 4 objects of 3 kinds"
    assert lines[1] == "#1 2 of 4x3 8(7) at 4,4 20,4 click 6@5,6 6@5,22"
    assert lines[2].endswith(" = #1 turned left") and lines[3].endswith(" = #1 in another colour")
    assert "click" not in format_object_list(frame) and "#1 4x3 8,9" in format_object_list(paint((ARROW, 0, 0)), mixed=True)


@given(FRAMES, st.booleans())
def test_every_click_hits_an_object(frame: Grid, mixed: bool) -> None:
    text = format_object_list(frame, mixed=mixed, click=6)
    assert text.startswith("ground ") and "objects of" in text.splitlines()[0]
    ground = int(text.split()[1].rstrip(";"))
    for word in text.split():
        if word.startswith("6@"):
            x, y = map(int, word[2:].split(","))
            assert frame[y, x] != ground


@pytest.mark.parametrize("shape", [(1, 1), (1, 30), (64, 3)])
def test_odd_shapes_do_no_harm(shape: tuple[int, int]) -> None:
    random = np.random.default_rng(0)
    frames = random.integers(0, 200, (4, *shape)).astype(np.uint8)
    assert format_changes(frames[0], frames[1]) and format_timeline(list(frames))
    assert build_level_map([frames]).cells.shape == shape and format_object_list(frames[0])
    assert "no longer" in format_changes(frames[0], np.zeros((2, 2), np.uint8))
