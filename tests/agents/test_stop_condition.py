"""Conditions to stop at: what is written is what is read, and each holds where it says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawbook.agents.api.stop_condition import StopCondition, parse_condition
from lawbook.errors import UsageError

SPANS = st.tuples(st.integers(0, 200), st.integers(0, 200)).map(lambda pair: (min(pair), max(pair)))
CODES = st.integers(0, 255).filter(lambda code: code < 10 or code < 36 or code > 35)
CONDITIONS = st.one_of(
    st.sampled_from(["unusual", "nothing", "changed"]).map(lambda kind: StopCondition(kind)),  # type: ignore[arg-type]
    st.builds(StopCondition, st.sampled_from(["inside", "outside"]), SPANS, st.none() | SPANS),
    st.builds(StopCondition, st.sampled_from(["inside", "outside"]), st.none(), SPANS),
    st.builds(StopCondition, st.just("more"), number=st.integers(0, 999_999)),
    st.builds(StopCondition, st.just("cell is"), cell=st.tuples(st.integers(0, 99), st.integers(0, 99)), colour=CODES),
    st.builds(StopCondition, st.just("cell changed"), cell=st.tuples(st.integers(0, 99), st.integers(0, 99))),
    st.builds(StopCondition, st.sampled_from(["gone", "there"]), colour=CODES),
)


@given(CONDITIONS)
def test_what_is_written_is_read(condition: StopCondition) -> None:
    assert parse_condition(str(condition)) == condition
    assert parse_condition(f"  {str(condition).upper().replace(' ', '   ')} ") == condition


@given(st.text(max_size=40))
def test_anything_else_is_refused_in_a_sentence(text: str) -> None:
    try:
        parse_condition(text)
    except UsageError as error:
        assert str(error).endswith(".")


@given(CONDITIONS, st.integers(0, 2**32 - 1))
def test_inside_and_outside_share_out_what_changed(condition: StopCondition, seed: int) -> None:
    random = np.random.default_rng(seed)
    before, after = random.integers(0, 3, (2, 7, 9)).astype(np.uint8)
    if condition.kind in ("inside", "outside"):
        both = [StopCondition(kind, condition.rows, condition.columns).holds(before, after) for kind in ("inside", "outside")]  # type: ignore[arg-type]
        assert any(both) == bool((before != after).any())
    assert isinstance(condition.holds(before, after), bool)
    assert condition.kind == "nothing" or condition.holds(before, before) is (
        condition.kind in ("gone", "there", "cell is") and condition.holds(before, before)
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("changed outside rows 61-62", False),
        ("changed outside row 61", True),
        ("changed inside rows 60-70 columns 3", True),
        ("changed inside columns 4-9", False),
        ("cell 62,3 is b", True),
        ("cell 62,3 is 11", True),
        ("cell 99,3 changed", False),
        ("more than 1 changed", True),
        ("more than 2 changed", False),
        ("nothing changed", False),
        ("colour 0 gone", False),
        ("colour b there", True),
        ("colour c there", False),
    ],
)
def test_each_holds_where_it_says(text: str, expected: bool) -> None:
    before, after = np.zeros((2, 64, 64), np.uint8)
    after[61:63, 3] = 11
    assert parse_condition(text).holds(before, after) is expected


@pytest.mark.parametrize(
    "text", ["", "changed outside", "changed outside the box", "cell 3 is 4", "colour zz gone", "colour 256 there"]
)
def test_wrong_ones_say_what_there_is(text: str) -> None:
    with pytest.raises(UsageError):
        parse_condition(text)
