"""How an agent writes actions and places on record: `3`, `6@10,20`, `1x4`; `2.5`, `2`, `now`, `start`. And what it reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from lawbook.core import frame_text
from lawbook.core.frame_text import Span
from lawbook.core.record import Action, Record
from lawbook.errors import UsageError

HOW_ACTIONS = "an action is its id (3), a click id@x,y with x the column (6@10,20), and 1x4 is action 1 four times"
HOW_PLACES = "a place is T.S (after step S of trajectory T), S (of the present trajectory), start, or now"
MOST_ACTIONS = 10_000

_ACTION = re.compile(r"\s*(\d{1,9})(?:@(\d{1,6}),(\d{1,6}))?(?:[x*](\d{1,4}))?(?:[\s,;]+|$)")
_PLACE = re.compile(r"(?:(\d{1,9})\.)?(\d{1,9})")
_SPAN = re.compile(r"(\d{1,9})(?:[-:](\d{1,9}))?")
_CODE = re.compile(r"\b(is|are|stayed|from|to|predicted) (\d{1,3})\b")


def actions_of(words: Iterable[str]) -> tuple[Action, ...]:
    """Actions as an agent writes them, with spaces, commas or semicolons between. Raises UsageError."""
    found: list[Action] = []
    for word in words:
        at = 0
        while at < len(word):
            match = _ACTION.match(word, at)
            if not match:
                raise UsageError(f"{word[at : at + 40]!r} is no action: {HOW_ACTIONS}.")
            number, x, y, times = match.groups()
            found += [Action(int(number)) if x is None else Action(int(number), int(x), int(y))] * int(times or 1)
            if len(found) > MOST_ACTIONS:
                raise UsageError(f"More than {MOST_ACTIONS:,} actions at once; give fewer.")
            at = match.end()
    return tuple(found)


def written(actions: Sequence[Action], most: int = 400) -> str:
    """Actions as an agent would write them, repeated ones folded, cut after so many characters."""
    words = []
    for action, alike in groupby(actions):
        times = len(list(alike))
        words.append(f"{action}x{times}" if times > 1 else str(action))
    text = " ".join(words)
    if len(text) <= most:
        return text
    return f"{text[:most].rpartition(' ')[0]} ... ({len(actions)} actions in all)"


def shown(counterexample: str) -> str:
    """The text of a counterexample with the characters that boards have for colours."""
    return _CODE.sub(lambda found: f"{found[1]} {frame_text.colour(int(found[2]))}", counterexample)


def place_of(text: str, record: Record) -> tuple[int, int]:
    """(trajectory, step) of a place on record. Raises UsageError."""
    last = len(record) - 1
    word = text.strip().lower()
    if word == "now":
        return last, len(record.here)
    if word == "start":
        return last, 0
    match = _PLACE.fullmatch(word)
    if not match:
        raise UsageError(f"{text[:40]!r} is no place: {HOW_PLACES}.")
    trajectory = last if match[1] is None else int(match[1])
    step = int(match[2])
    if trajectory > last or step > len(record.trajectories[trajectory]):
        steps = f"; trajectory {trajectory} has steps 0 to {len(record.trajectories[trajectory])}" if trajectory <= last else ""
        raise UsageError(f"There is no {text[:40]} on record: trajectories are numbered 0 to {last}{steps}.")
    return trajectory, step


def span_of(text: str) -> Span:
    """`3-7` or `3`: first and last, inclusive. Raises UsageError."""
    match = _SPAN.fullmatch(text.strip())
    if not match:
        raise UsageError(f"{text[:40]!r} is no span; write 3-7, or 3.")
    return int(match[1]), int(match[2] or match[1])


def cell_of(text: str, shape: tuple[int, int]) -> tuple[int, int]:
    """`row,column` within a frame. Raises UsageError."""
    row, comma, column = text.strip().partition(",")
    if not comma or not row.strip().isdecimal() or not column.strip().isdecimal() or len(text) > 20:
        raise UsageError(f"{text[:40]!r} is no cell; write row,column.")
    found = int(row), int(column)
    if not (found[0] < shape[0] and found[1] < shape[1]):
        raise UsageError(f"Cell {text[:40]} lies outside; rows are 0 to {shape[0] - 1}, columns 0 to {shape[1] - 1}.")
    return found
