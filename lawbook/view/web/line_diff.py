"""Two versions of a text line by line, as a page shows them: marked, numbered, cleaned, and never more than a page can bear."""

from __future__ import annotations

import difflib
from typing import Any

from lawbook.view.formatting import clean, count, one_line

LINES, WIDTH = 3000, 1500
"""Most lines of one text, and most characters of one line; what is cut is named in its place."""

Row = list[Any]
"""[mark (`+`, `-`, blank), its number before or None, its number after or None, text]."""


def rows(before: str, after: str) -> tuple[list[Row], str]:
    """Every line of both, in the order of a diff, and what was cut, in a sentence (empty: nothing)."""
    old, new = before.splitlines(), after.splitlines()
    cut = ""
    if max(len(old), len(new)) > LINES:
        cut = f"It has {count(max(len(old), len(new)), 'line')}; the first {LINES:,} are shown."
        old, new = old[:LINES], new[:LINES]
    found: list[Row] = []
    for sign, a, b, c, d in difflib.SequenceMatcher(None, old, new).get_opcodes():
        if sign == "equal":
            found += [[" ", 1 + a + k, 1 + c + k, shown_line(new[c + k])] for k in range(b - a)]
            continue
        found += [["-", 1 + k, None, shown_line(old[k])] for k in range(a, b)]
        found += [["+", None, 1 + k, shown_line(new[k])] for k in range(c, d)]
    return found, cut


def shown_line(line: str) -> str:
    if len(line) > WIDTH:
        return clean(line[:WIDTH]) + f"… ({len(line) - WIDTH:,} characters more)"
    return clean(line)


def name_of(file: str) -> str:
    """A file's name, safe to show."""
    return one_line(file, 80)
