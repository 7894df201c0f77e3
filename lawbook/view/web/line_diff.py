"""Two versions of a text line by line, as a page shows them: marked, numbered, cleaned, and never more than a page can bear."""

from __future__ import annotations

import difflib
from typing import Any

from lawbook.view.formatting import clean, format_count, format_one_line

MAX_LINES, MAX_LINE_CHARACTERS = 3000, 1500
"""Most lines of one text, and most characters of one line; what is cut is named in its place."""

DiffRow = list[Any]
"""[mark (`+`, `-`, blank), its number before or None, its number after or None, text]."""


def diff_rows(before: str, after: str) -> tuple[list[DiffRow], str]:
    """List every line of both texts, in the order of a diff, and say in a sentence what was cut (empty: nothing)."""
    old, new = before.splitlines(), after.splitlines()
    cut_note = ""
    if max(len(old), len(new)) > MAX_LINES:
        cut_note = f"It has {format_count(max(len(old), len(new)), 'line')}; the first {MAX_LINES:,} are shown."
        old, new = old[:MAX_LINES], new[:MAX_LINES]
    diff_lines: list[DiffRow] = []
    for tag, old_start, old_end, new_start, new_end in difflib.SequenceMatcher(None, old, new).get_opcodes():
        if tag == "equal":
            diff_lines += [
                [" ", 1 + old_start + k, 1 + new_start + k, truncate_line(new[new_start + k])] for k in range(old_end - old_start)
            ]
            continue
        diff_lines += [["-", 1 + k, None, truncate_line(old[k])] for k in range(old_start, old_end)]
        diff_lines += [["+", None, 1 + k, truncate_line(new[k])] for k in range(new_start, new_end)]
    return diff_lines, cut_note


def truncate_line(line: str) -> str:
    """Return a line cleaned and cut after MAX_LINE_CHARACTERS, with a word about how many characters are missing."""
    if len(line) > MAX_LINE_CHARACTERS:
        return clean(line[:MAX_LINE_CHARACTERS]) + f"… ({len(line) - MAX_LINE_CHARACTERS:,} characters more)"
    return clean(line)


def format_file_name(file: str) -> str:
    """Return a file's name, safe to show."""
    return format_one_line(file, 80)
