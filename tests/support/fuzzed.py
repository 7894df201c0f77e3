"""What fuzz tests share: anything that JSON can say, one place of it changed, and a command that must end in a sentence."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from lawbook.cli import main

MORE = int(os.environ.get("LAWBOOK_FUZZ", "0"))
"""How many examples of each to try, other ones every time; 0: a few, the same ones every time."""
SOON = settings(max_examples=MORE or 80, deadline=None, suppress_health_check=list(HealthCheck), derandomize=not MORE)
SLOWER = settings(SOON, max_examples=MORE or 25)

WORDS = st.text(max_size=12) | st.sampled_from(
    ["", "0", "-1", "NaN", "\x00", "\udc80", "../..", "m0", "frame", "\u202e", "9" * 400]
)
NUMBERS = st.integers(-3, 12) | st.sampled_from([-1, 2**31, 2**63, -(2**63) - 1, 10**400]) | st.floats(allow_nan=False, width=32)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in nested lists and dictionaries, as keys and indices from the top."""
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in parts:
        yield from places(inner, (*path, key))


@st.composite
def altered(draw: st.DrawFn, value: Any) -> Any:
    """`value` with one place of it replaced by anything, left out, or doubled. `value` itself is left alone."""
    path = draw(st.sampled_from(sorted(places(value), key=repr)))
    return changed(value, path, draw(st.sampled_from(["replace", "replace", "replace", "leave out", "double"])), draw(ANYTHING))


def changed(value: Any, path: tuple[Any, ...], how: str, new: Any) -> Any:
    if not path:
        return new
    key, *rest = path
    copy = dict(value) if isinstance(value, dict) else list(value)
    if rest or how == "replace":
        copy[key] = changed(copy[key], tuple(rest), how, new)
    elif how == "leave out":
        del copy[key]
    elif isinstance(copy, list):
        copy.insert(key, copy[key])
    else:
        copy[f"{key} "] = copy[key]
    return copy


def commanded(*words: str) -> tuple[int, str]:
    """Exit code and stderr of a command; what it prints to stdout goes nowhere. Fails on a bug of ours, and where a failure is
    not said in one line."""
    said, printed = io.StringIO(), io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(printed):
        try:
            code = main.main(words)
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 2
    told = said.getvalue()
    assert code != main.INTERNAL_ERROR, (words, told)
    assert "Traceback" not in told, told
    if told:
        assert told.startswith("lawbook: ") and told.count("\n") == 1 and len(told) < 5000, (words, told)
    return code, told
