"""Letters of tiles: they stay for the whole run, decode to the very cells, and a kept legend is read back."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lawbook.core import frame_text
from lawbook.core.event_text import format_tile_changes
from lawbook.core.perception import Grid
from lawbook.core.tile_letters import (
    LETTERS,
    TileLetters,
    Tiling,
    find_changed_rows,
    format_pattern,
    format_view,
    parse_legend,
)

BOARDS = arrays(np.uint8, (9, 11), elements=st.integers(0, 40))
TILINGS = st.integers(2, 5).flatmap(
    lambda size: st.builds(Tiling, st.just(size), st.integers(0, size - 1), st.integers(0, size - 1))
)


@given(st.lists(BOARDS, min_size=1, max_size=3), TILINGS)
@settings(deadline=None)
def test_a_character_is_one_pattern_for_the_whole_run(boards: list[Grid], tiling: Tiling) -> None:
    letters, meaning = TileLetters(), dict[str, str]()
    for board in boards:
        view = letters.build_view(board, tiling)
        cuts = tiling.iterate_rows(9), tiling.iterate_columns(11)
        assert [cut[0] for cut in cuts[0]] == list(view.row_numbers) and [cut[0] for cut in cuts[1]] == list(view.column_numbers)
        for text, (_, top, bottom) in zip(view.rows, cuts[0], strict=True):
            for character, (_, left, right) in zip(text, cuts[1], strict=True):
                tile = board[top:bottom, left:right]
                if character == "?":
                    continue
                if character in LETTERS:
                    assert meaning.setdefault(character, format_pattern(tile)) == format_pattern(tile)
                else:
                    assert {frame_text.format_colour(code) for code in np.unique(tile).tolist()} == {character}
    assert len(set(meaning.values())) == len(meaning)
    told = dict(line.split(" ", 1) for line in letters.take_news(LETTERS))
    assert told == meaning and letters.take_news(LETTERS) == []


@given(st.lists(BOARDS, min_size=1, max_size=3), TILINGS)
@settings(deadline=None)
def test_a_legend_that_was_kept_goes_on_where_it_was(boards: list[Grid], tiling: Tiling) -> None:
    letters = TileLetters()
    letters.tiling = tiling
    views = [letters.build_view(board, tiling) for board in boards]
    again = parse_legend(letters.format_legend())
    assert again.tiling == tiling and again.format_legend() == letters.format_legend()
    assert [again.build_view(board, tiling) for board in boards] == views and again.take_news(LETTERS) == []
    again.forget_telling()
    assert len(again.take_news(LETTERS)) == len([line for line in letters.format_legend().splitlines() if line[1] == " "])


@given(st.text(max_size=200))
def test_whatever_stands_in_the_file_is_read_without_harm(text: str) -> None:
    letters = parse_legend(text)
    assert parse_legend(letters.format_legend()).format_legend() == letters.format_legend()


@given(BOARDS, BOARDS, TILINGS)
@settings(deadline=None)
def test_rows_and_tiles_that_changed_are_named(before: Grid, after: Grid, tiling: Tiling) -> None:
    letters = TileLetters()
    old, new = letters.build_view(before, tiling), letters.build_view(after, tiling)
    changed = find_changed_rows(old, new)
    assert changed is not None and find_changed_rows(None, new) is None
    for position, (_, top, bottom) in enumerate(tiling.iterate_rows(9)):
        if position in changed:
            assert (before[top:bottom] != after[top:bottom]).any()
        elif "?" not in new.rows[position]:
            assert (before[top:bottom] == after[top:bottom]).all()
    assert bool(format_tile_changes(old, new)) == bool(changed)


def test_every_row_and_column_has_its_number() -> None:
    board = np.zeros((22, 46), dtype=np.uint8)
    board[2:6, 4:8] = np.arange(16, dtype=np.uint8).reshape(4, 4)
    letters = TileLetters()
    view = letters.build_view(board, Tiling(4, 2, 0))
    lines = format_view(view, letters.take_news("".join(view.rows))).splitlines()
    assert lines[0] == "tiles 4x4: tile r,c starts at cell 4r+2,4c"
    assert lines[1:3] == ["              1", "    012345678901"]
    assert lines[3:] == [" -1 000000000000", "  0 0A0000000000", "1-4 000000000000", "A 0123/4567/89ab/cdef"]


def test_the_tiling_stays_while_it_serves() -> None:
    random = np.random.default_rng(0)
    tiles = random.integers(0, 9, (3, 4, 4)).astype(np.uint8)
    boards = [np.block([[tiles[random.integers(3)] for _ in range(12)] for _ in range(12)]) for _ in range(3)]
    letters = TileLetters()
    first = letters.choose_tiling(boards[0])
    assert first == Tiling(4, 0, 0) and all(letters.choose_tiling(board) == first for board in boards)
    assert letters.choose_tiling(random.integers(0, 200, (48, 48)).astype(np.uint8)) is None
    forced = letters.choose_tiling(boards[0], 6)
    assert forced is not None and forced.size == 6 and letters.choose_tiling(boards[0], 6) == forced
