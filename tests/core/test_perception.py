"""Perception against scipy.ndimage and against plain definitions, on drawn frames and on the awkward ones."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import ndimage

from lawbook.core import perception
from lawbook.core.perception import Change, Click, Region

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
from frames import awkward

CROSS, SQUARE = ndimage.generate_binary_structure(2, 1), ndimage.generate_binary_structure(2, 2)
SHAPES = st.tuples(st.integers(1, 9), st.integers(1, 9))
FRAMES = st.integers(1, 4).flatmap(lambda most: arrays.arrays(np.uint8, SHAPES, elements=st.integers(0, most)))
MASKS = arrays.arrays(np.bool_, SHAPES)


def by_scipy(grid: np.ndarray, diagonal: bool, where: np.ndarray) -> np.ndarray:
    """Labels of equal values as scipy finds them, numbered in reading order."""
    labels = np.full(grid.shape, -1)
    count = 0
    for value in np.unique(grid):
        own, found = ndimage.label((grid == value) & where, SQUARE if diagonal else CROSS)
        labels[own > 0] = own[own > 0] - 1 + count
        count += found
    order = {label: number for number, label in enumerate(dict.fromkeys(labels[labels >= 0].tolist()))}
    return np.vectorize(lambda label: order.get(label, -1), otypes=[int])(labels)


# -- components and groups -------------------------------------------------------------------------


@settings(max_examples=200)
@given(FRAMES, st.booleans(), st.booleans(), st.data())
def test_components_are_those_of_scipy(frame: np.ndarray, diagonal: bool, everywhere: bool, data: st.DataObject) -> None:
    where = np.ones(frame.shape, np.bool_) if everywhere else data.draw(arrays.arrays(np.bool_, frame.shape))
    labels, count = perception.components(frame, diagonal=diagonal, where=None if everywhere else where)
    expected = by_scipy(frame, diagonal, where)
    assert np.array_equal(labels, expected) and count == expected.max(initial=-1) + 1


@pytest.mark.parametrize("name", awkward())
@pytest.mark.parametrize("diagonal", [False, True])
def test_components_of_awkward_frames_are_those_of_scipy(name: str, diagonal: bool) -> None:
    frame = awkward()[name]
    labels, count = perception.components(frame, diagonal=diagonal)
    expected = by_scipy(frame, diagonal, np.ones(frame.shape, np.bool_))
    assert np.array_equal(labels, expected) and count == expected.max() + 1


@given(MASKS, st.booleans())
def test_groups_are_the_cells_of_each_component_in_reading_order(mask: np.ndarray, diagonal: bool) -> None:
    labels, count = ndimage.label(mask, SQUARE if diagonal else CROSS)
    expected = sorted([tuple(map(int, cell)) for cell in np.argwhere(labels == number + 1)] for number in range(count))
    assert perception.groups(mask, diagonal=diagonal) == expected


def test_nothing_has_no_components() -> None:
    nothing = np.zeros((3, 4), np.bool_)
    assert perception.groups(nothing) == [] and perception.regions(nothing, nothing) == []
    assert len(perception.objects(nothing, where=nothing)) == 0 and perception.clicks(nothing, where=nothing) == []
    assert perception.components(nothing, where=nothing)[1] == 0


# -- objects ---------------------------------------------------------------------------------------


@given(FRAMES, st.booleans(), st.booleans())
def test_objects_have_the_boxes_of_scipy_and_a_middle_inside(frame: np.ndarray, diagonal: bool, mixed: bool) -> None:
    where = frame > 0
    found = perception.objects(frame, diagonal=diagonal, where=where, mixed=mixed)
    expected = by_scipy(where if mixed else frame, diagonal, where)
    assert np.array_equal(found.labels, expected) and len(found) == expected.max(initial=-1) + 1
    boxes = ndimage.find_objects(expected + 1)
    for number, (one, box) in enumerate(zip(found, boxes, strict=True)):
        rows, columns = np.nonzero(expected == number)
        assert (slice(one.top, one.bottom + 1), slice(one.left, one.right + 1)) == box
        assert one.cells == len(rows) and one.colour == frame[rows[0], columns[0]] and one == found[number]
        away = (rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2
        nearest = [cell for cell, far in zip(zip(rows, columns, strict=True), away, strict=True) if far < away.min() + 1e-9]
        assert (one.row, one.column) == nearest[0]


@settings(max_examples=200)
@given(FRAMES, FRAMES, st.booleans())
def test_same_shape_and_same_look_mean_the_same_cells(first: np.ndarray, second: np.ndarray, mixed: bool) -> None:
    """Over two frames of different size: hashes are equal exactly where the cells, and the colours, are."""
    shapes, looks = {}, {}
    for frame in (first, second):
        for number, one in enumerate(found := perception.objects(frame, where=frame > 0, mixed=mixed)):
            rows, columns = np.nonzero(found.labels == number)
            cells = tuple((int(r) - one.top, int(c) - one.left) for r, c in zip(rows, columns, strict=True))
            colours = tuple(frame[rows, columns].tolist())
            assert shapes.setdefault(one.shape, cells) == cells
            assert looks.setdefault(one.look, (cells, colours)) == (cells, colours)
    assert len(set(shapes.values())) == len(shapes) and len(set(looks.values())) == len(looks)


def test_a_shape_is_the_same_wherever_it_lies_and_in_whatever_colour_a_look_is_not() -> None:
    frame = np.zeros((12, 30), np.uint8)
    piece = np.array([[1, 0, 1], [1, 1, 1]], np.uint8)
    frame[0:2, 0:3] = piece
    frame[7:9, 25:28] = piece
    frame[4:6, 10:13] = piece * 5
    frame[9:11, 1:4] = piece[::-1]
    one, recoloured, moved, turned = perception.objects(frame, where=frame > 0)
    assert one.shape == moved.shape == recoloured.shape != turned.shape
    assert one.look == moved.look != recoloured.look and one.look != one.shape
    alone = perception.objects(piece, where=piece > 0)[0]
    assert (alone.shape, alone.look) == (one.shape, one.look)


def test_mixed_objects_stand_on_the_background_in_one_piece() -> None:
    frame = np.array([[0, 3, 4, 0], [0, 3, 3, 0], [0, 0, 0, 3], [4, 3, 0, 0]], np.uint8)
    found = list(perception.objects(frame, where=frame != 0, mixed=True))
    assert [(one.cells, one.colour, one.top, one.left) for one in found] == [(4, 3, 0, 1), (1, 3, 2, 3), (2, 4, 3, 0)]
    assert len(perception.objects(frame, where=frame != 0, mixed=True, diagonal=True)) == 2


HASHES = """
import numpy as np
from lawbook.core import perception
frame = np.random.default_rng(1).integers(0, 3, (20, 20), dtype=np.uint8)
print([(one.shape, one.look) for one in perception.objects(frame)])
"""


def test_hashes_are_the_same_in_every_process() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", HASHES], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1 and len(said.pop()) > 1000


# -- changes ---------------------------------------------------------------------------------------


@given(MASKS, st.booleans(), st.data())
def test_regions_are_boxes_with_the_colours_in_their_cells(mask: np.ndarray, diagonal: bool, data: st.DataObject) -> None:
    frames = [data.draw(arrays.arrays(np.uint8, mask.shape, elements=st.sampled_from([0, 7, 255]))) for _ in range(2)]
    labels, count = ndimage.label(mask, SQUARE if diagonal else CROSS)
    expected = []
    for number in range(1, count + 1):
        rows, columns = np.nonzero(labels == number)
        colours = tuple(tuple(sorted(set(frame[rows, columns].tolist()))) for frame in frames)
        expected.append(Region(*map(int, (rows.min(), columns.min(), rows.max(), columns.max(), len(rows))), colours))
    first = {number: int(np.flatnonzero(labels.ravel() == number)[0]) for number in range(1, count + 1)}
    order = sorted(range(count), key=lambda k: (-expected[k].cells, first[k + 1]))
    assert perception.regions(mask, *frames, diagonal=diagonal) == [expected[k] for k in order]


def test_changes_read_like_this() -> None:
    before = np.zeros((6, 8), np.uint8)
    before[1, 1:3] = 9
    after = np.zeros((6, 8), np.uint8)
    after[1, 2:4], after[5, 7] = 9, 4
    assert perception.changes(before, after) == [
        Change(1, 1, 1, 1, 1, (9,), (0,)),
        Change(1, 3, 1, 3, 1, (0,), (9,)),
        Change(5, 7, 5, 7, 1, (0,), (4,)),
    ]
    assert perception.changes(before, before) == []
    after[0, 2] = 1
    assert perception.changes(before, after)[0] == Change(0, 1, 1, 3, 3, (0, 9), (0, 1, 9))


# -- text ------------------------------------------------------------------------------------------


def test_text_folds_equal_rows() -> None:
    frame = np.zeros((12, 4), np.uint8)
    frame[4:8, 2:], frame[11] = 15, [1, 2, 3, 10]
    assert perception.text(frame).splitlines() == [" 0-3 0000", " 4-7 00ff", "8-10 0000", "  11 123a"]
    frame[0, 0] = 16
    assert perception.text(frame).splitlines()[:2] == ["   0 10000000", " 1-3 00000000"]


@given(arrays.arrays(np.uint8, SHAPES, elements=st.sampled_from([0, 1, 9, 15, 16, 255])))
def test_a_frame_can_be_read_back_from_its_text(frame: np.ndarray) -> None:
    digits = 1 if frame.max() < 16 else 2
    rows = []
    for line in perception.text(frame).splitlines():
        name, cells = line.split()
        first, _, last = name.partition("-")
        row = [int(cells[k : k + digits], 16) for k in range(0, len(cells), digits)]
        assert int(first) == len(rows) and (not rows or rows[-1] != row)
        rows += [row] * (int(last or first) - int(first) + 1)
    assert np.array_equal(rows, frame)


# -- clicks ----------------------------------------------------------------------------------------


@given(FRAMES, st.booleans())
@example(np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], np.uint8), False)  # the mean of the ring lies outside it
def test_one_click_inside_one_component_of_each_class(frame: np.ndarray, diagonal: bool) -> None:
    found = list(perception.objects(frame, diagonal=diagonal))
    classes = Counter(one.look for one in found)
    first = {}
    for one in found:
        first.setdefault(one.look, one)
    said = perception.clicks(frame, diagonal=diagonal)
    assert [(click.y, click.x, click.colour, click.cells) for click in said] == [
        (one.row, one.column, one.colour, one.cells) for one in first.values()
    ]
    assert [click.alike for click in said] == [classes[look] for look in first]
    labels = perception.components(frame, diagonal=diagonal)[0]
    for click in said:
        assert frame[click.y, click.x] == click.colour
        assert int((labels == labels[click.y, click.x]).sum()) == click.cells


def test_a_ring_is_clicked_on_the_ring() -> None:
    frame = np.zeros((5, 5), np.uint8)
    frame[1:4, 1:4] = 2
    frame[2, 2] = 3
    assert [click for click in perception.clicks(frame) if click.colour] == [Click(2, 1, 2, 8, 1), Click(2, 2, 3, 1, 1)]
