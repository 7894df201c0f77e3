"""The one comparison: what a prediction claims is held against what came, cell by cell and status by status."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lawbook.core.record import Action, Observation, Status
from lawbook.core.results import Prediction
from lawbook.verification.comparison import (
    are_compatible,
    claims_change,
    compare_prediction,
    is_frame_comparable,
    is_right,
    is_unclaimed,
)

PREDICTABLE = (Status.RUNNING, Status.COMPLETED, Status.OVER)
frames = arrays(np.uint8, (3, 4), elements=st.integers(0, 2))


@st.composite
def predictions(draw: st.DrawFn) -> Prediction:
    statuses = draw(st.lists(st.sampled_from(PREDICTABLE), min_size=1, max_size=3, unique=True))
    plane = draw(st.none() | arrays(np.uint8, (3, 4), elements=st.integers(0, 3)))
    frame = draw(frames)
    if plane is not None:
        frame = np.where(plane > 0, 0, frame).astype(np.uint8)
    return Prediction(frame, statuses[0], plane, frozenset(statuses[1:]))


def observe(frame: np.ndarray, status: Status) -> Observation:
    return Observation((frame,), status, 0, (1,))


@given(predictions(), frames, st.sampled_from(Status))
def test_it_is_right_where_every_claim_is(prediction: Prediction, frame: np.ndarray, status: Status) -> None:
    plane = np.zeros((3, 4)) if prediction.open_cells is None else prediction.open_cells
    wrong = [cell for cell in np.ndindex(3, 4) if not plane[cell] and prediction.frame[cell] != frame[cell]]
    expected = status in prediction.statuses and (status is Status.COMPLETED or not wrong)
    assert is_right(prediction, frame, status) is (None if status is Status.TRUNCATED else expected)
    example = compare_prediction(
        prediction, observe(frame, status), trajectory=0, step=1, level=0, action=Action(1), before=np.zeros((3, 4), np.uint8)
    )
    assert (example is None) == (expected or status is Status.TRUNCATED)
    if example is not None:
        assert example.cells == (len(wrong) if is_frame_comparable(status) else 0)


@given(predictions(), predictions(), frames, st.sampled_from(PREDICTABLE))
def test_what_one_observation_bears_out_is_compatible(one: Prediction, two: Prediction, frame: np.ndarray, status: Status) -> None:
    if is_right(one, frame, status) and is_right(two, frame, status):
        assert are_compatible(one, two)


@given(predictions(), frames, frames)
def test_unclaimed_is_what_changed_and_was_left_open_altogether(
    prediction: Prediction, before: np.ndarray, after: np.ndarray
) -> None:
    changed = before != after
    claimed = changed & (prediction.open_cells == 0) if prediction.open_cells is not None else changed
    expected = prediction.open_cells is not None and bool(changed.any()) and not claimed.any()
    assert is_unclaimed(prediction, before, observe(after, Status.RUNNING)) is expected
    assert not is_unclaimed(prediction, before, observe(after, Status.COMPLETED))


def test_frames_of_other_shapes_are_not_compared() -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        is_right(Prediction(np.zeros((2, 2), np.uint8), Status.RUNNING), np.zeros((3, 4), np.uint8), Status.RUNNING)


def test_a_status_alone_can_be_a_claim_of_change() -> None:
    still = np.zeros((3, 4), np.uint8)
    plane = np.ones((3, 4), np.uint8)
    assert not claims_change(Prediction(still, Status.RUNNING, plane, frozenset({Status.OVER})), still)
    assert claims_change(Prediction(still, Status.OVER, plane), still)
    assert claims_change(Prediction(still + 1, Status.RUNNING), still)
