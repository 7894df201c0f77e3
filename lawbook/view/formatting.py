"""Small words for people: numbers, times, and texts by others made safe to show."""

from __future__ import annotations

import re
import time

# Control characters (new line and tab aside), marks that turn the direction of writing, lone surrogates: whatever a terminal or a
# browser would obey, or choke on, instead of showing it.
_CONTROL_CHARACTERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)


def clean(text: str) -> str:
    r"""Return `text` with everything that would be obeyed instead of shown written as an escape (`\x1b`)."""
    return _CONTROL_CHARACTERS.sub(lambda match: match[0].encode("unicode_escape").decode(), text.replace("\r\n", "\n"))


def format_one_line(text: str, max_length: int = 0) -> str:
    """Return `text` cleaned, on one line, and cut after `max_length` characters (0: never) with an ellipsis."""
    line = " ".join(clean(text).split())
    return line if not max_length or len(line) <= max_length else line[: max(max_length - 1, 0)].rstrip() + "…"


def extract_first_sentence(text: str, max_length: int = 0) -> str:
    """Return the first sentence of a paragraph on one line, cut after `max_length` characters (0: never)."""
    line = format_one_line(text)
    end = re.search(r"[.!?](?=\s+[A-Z(`'\"])", line)
    return format_one_line(line[: end.end()] if end else line, max_length)


def format_count(number: int, singular: str, plural: str = "") -> str:
    """Write a number with what is counted: `1 action`, `2,000 actions`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def format_percent(part: int, whole: int) -> str:
    """Write a share as `42%`; `-` of nothing."""
    return f"{100 * part / whole:.0f}%" if whole else "-"


def format_seconds(duration: float) -> str:
    """Write a duration in seconds as a person says it: `0.35 s`, `12 s`, `3 min 20 s`, `2 h 05 min`."""
    if duration < 10:
        return f"{duration:.2f} s" if duration < 1 else f"{duration:.1f} s"
    whole = round(duration)
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def format_timestamp(timestamp: float) -> str:
    """Write seconds since 1970 as local date and time; as seconds where no calendar goes so far."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(timestamp))
    except (OverflowError, OSError, ValueError):  # a ledger that somebody altered may say any number
        return f"{timestamp:g} s after 1970"


def truncate_text(text: str, max_length: int) -> str:
    """Return `text` cleaned, with its lines, and cut after `max_length` characters with a word about how many are missing."""
    cleaned = clean(text)
    return cleaned if len(cleaned) <= max_length else f"{cleaned[:max_length]}… ({len(cleaned) - max_length:,} characters more)"
