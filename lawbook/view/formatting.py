"""Small words for people: numbers, times, and texts by others made safe to show."""

from __future__ import annotations

import re
import time

# Control characters (new line and tab aside), marks that turn the direction of writing, lone surrogates: whatever a terminal or a
# browser would obey, or choke on, instead of showing it.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff\ud800-\udfff]")


def clean(text: str) -> str:
    """`text` with everything that would be obeyed instead of shown written as an escape (`\\x1b`)."""
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text.replace("\r\n", "\n"))


def one_line(text: str, most: int = 0) -> str:
    """Cleaned, on one line, and cut after `most` characters (0: never) with an ellipsis."""
    line = " ".join(clean(text).split())
    return line if not most or len(line) <= most else line[: max(most - 1, 0)].rstrip() + "…"


def first_sentence(text: str, most: int = 0) -> str:
    """The first sentence of a paragraph, on one line."""
    line = one_line(text)
    end = re.search(r"[.!?](?=\s+[A-Z(`'\"])", line)
    return one_line(line[: end.end()] if end else line, most)


def count(number: int, one: str, many: str = "") -> str:
    """`1 action`, `2,000 actions`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}%" if whole else "-"


def seconds(number: float) -> str:
    """`0.35 s`, `12 s`, `3 min 20 s`, `2 h 05 min`."""
    if number < 10:
        return f"{number:.2f} s" if number < 1 else f"{number:.1f} s"
    whole = round(number)
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def moment(when: float) -> str:
    """Local date and time of seconds since 1970."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(when))


def shown(text: str, most: int) -> str:
    """Cleaned, with its lines, and cut after `most` characters with a word about how many are missing."""
    cleaned = clean(text)
    return cleaned if len(cleaned) <= most else f"{cleaned[:most]}… ({len(cleaned) - most:,} characters more)"
