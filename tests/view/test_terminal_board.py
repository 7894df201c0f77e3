"""Frames as people see them: half-blocks in a terminal, PNG, SVG rectangles, and the way that something takes through frames."""

from __future__ import annotations

import struct
import zlib
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from screen import plain, text_of

from lawbook.view.motion_path import find_motion_path
from lawbook.view.palette import get_palette
from lawbook.view.svg_png import encode_png, find_rectangles
from lawbook.view.terminal_board import BoardScale, TerminalBoard, fit_board, shrink_frame

frames = arrays(np.uint8, st.tuples(st.integers(1, 20), st.integers(1, 20)), elements=st.integers(0, 15))


@given(frames, st.integers(1, 90), st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_a_board_has_room_where_it_was_fitted(frame: np.ndarray, columns: int, lines: int) -> None:  # type: ignore[type-arg]
    board = TerminalBoard(frame, "arc", fit_board(frame.shape, columns, lines))
    assert board.columns <= columns and board.lines <= lines
    drawn = plain(text_of(board, 100, 50)).rstrip("\n").split("\n")
    assert len(drawn) == board.lines and all(len(line) == board.columns for line in drawn)


def test_two_cells_make_one_character_in_their_colours() -> None:
    text = text_of(TerminalBoard(np.array([[8], [9]], dtype=np.uint8), "arc", BoardScale()))
    assert "38;2;249;60;49" in text and "48;2;30;147;255" in text and "▀" in text


def test_what_is_small_survives_shrinking() -> None:
    frame = np.zeros((64, 64), dtype=np.uint8)
    frame[20:22, 30:32] = 7
    assert (shrink_frame(frame, 2) == 7).sum() == 1
    assert shrink_frame(np.eye(5, dtype=np.uint8), 2).shape == (3, 3)


def walk(path: list[tuple[int, int]], side: int = 2) -> list[np.ndarray]:  # type: ignore[type-arg]
    found = []
    for row, column in path:
        frame = np.zeros((16, 16), dtype=np.uint8)
        frame[row : row + side, column : column + side] = 5
        found.append(frame)
    return found


def test_the_way_is_the_middle_of_what_moves() -> None:
    path = [(0, 0), (2, 0), (4, 0), (4, 2), (4, 2), (4, 4)]
    assert find_motion_path(walk(path)) == [(row + 1, column + 1) for row, column in path]


def test_no_way_where_nothing_moves_or_the_scene_changes() -> None:
    still = walk([(3, 3), (3, 3)])
    assert find_motion_path(still) == [] and find_motion_path([]) == []
    assert find_motion_path([still[0], np.full((16, 16), 9, dtype=np.uint8)]) == []


@given(st.lists(frames, max_size=5))
def test_a_way_has_a_point_for_every_frame_or_none_at_all(found: list[np.ndarray]) -> None:  # type: ignore[type-arg]
    same = [frame for frame in found if frame.shape == found[0].shape]
    assert len(find_motion_path(same)) in (0, len(same))


@given(arrays(np.bool_, st.tuples(st.integers(1, 12), st.integers(1, 12))))
def test_rectangles_cover_exactly_the_marked_cells(mask: np.ndarray) -> None:  # type: ignore[type-arg]
    covered = np.zeros(mask.shape, dtype=int)
    for row, column, height, width in find_rectangles(mask):
        covered[row : row + height, column : column + width] += 1
    assert (covered == mask).all()


def unfiltered(rows: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    """The bytes of a PNG with a byte or less a pixel, whose rows begin with their filter (PNG specification, section 9)."""
    decoded = np.zeros((rows.shape[0] + 1, rows.shape[1]), np.uint8)  # a row and a column of zeros come before all others
    for row, (kind, *filtered) in enumerate(rows.tolist(), 1):
        for column, byte in enumerate(filtered, 1):
            left, above, corner = (int(decoded[at]) for at in ((row, column - 1), (row - 1, column), (row - 1, column - 1)))
            nearest = min((left, above, corner), key=lambda near: abs(left + above - corner - near))
            decoded[row, column] = (byte + (0, left, above, (left + above) // 2, nearest)[kind]) % 256
    return decoded[1:, 1:]


@given(frames)
def test_a_png_decodes_to_the_colours_of_its_frame(frame: np.ndarray) -> None:  # type: ignore[type-arg]
    data, chunks = encode_png(frame, "arc"), {}
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at = 8
    while at < len(data):
        (size,), kind = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        chunks[kind] = data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + chunks[kind])
        at += 12 + size
    width, height, depth, kind_of_colour = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (height, width) == frame.shape and kind_of_colour == 3
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + -(-width * depth // 8))
    bits = np.unpackbits(unfiltered(rows), axis=1)[:, : width * depth].reshape(height, width, depth)
    assert (bits @ (1 << np.arange(depth)[::-1]) == frame).all()
    colours = [tuple(chunks[b"PLTE"][k : k + 3]) for k in range(0, len(chunks[b"PLTE"]), 3)]
    assert colours[: int(frame.max()) + 1] == list(get_palette("arc").colours[: int(frame.max()) + 1])


def test_every_palette_has_256_colours_and_neighbours_differ() -> None:
    for name in ("arc", "lake", "nobody knows"):
        colours = get_palette(name).colours
        assert len(colours) == 256 and all(one != two for one, two in pairwise(colours))
