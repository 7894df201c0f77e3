"""How an agent writes actions and places on record: `3`, `6@10,20`, `1x4`; `2.5`, `2`, `now`, `start`. And what it reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from lawbook.core import frame_text
from lawbook.core.frame_text import Span
from lawbook.core.record import Action, Record
from lawbook.errors import UsageError

ACTION_NOTATION = "an action is its id (3), a click id@x,y with x the column (6@10,20), and 1x4 is action 1 four times"
PLACE_NOTATION = "a place is T.S (after step S of trajectory T), S (of the present trajectory), start, or now"
MAX_ACTIONS = 10_000

_ACTION = re.compile(r"\s*(\d{1,9})(?:@(\d{1,6}),(\d{1,6}))?(?:[x*](\d{1,4}))?(?:[\s,;]+|$)")
_PLACE = re.compile(r"(?:(\d{1,9})\.)?(\d{1,9})")
_SPAN = re.compile(r"(\d{1,9})(?:[-:](\d{1,9}))?")
_COLOUR_CODE = re.compile(r"\b(is|are|stayed|from|to|predicted) (\d{1,3})\b")


def parse_actions(words: Iterable[str]) -> tuple[Action, ...]:
    """Actions as an agent writes them, with spaces, commas or semicolons between. Raises UsageError."""
    actions: list[Action] = []
    for word in words:
        offset = 0
        while offset < len(word):
            match = _ACTION.match(word, offset)
            if not match:
                raise UsageError(f"{word[offset : offset + 40]!r} is no action: {ACTION_NOTATION}.")
            action_id, x, y, repeats = match.groups()
            actions += [Action(int(action_id)) if x is None else Action(int(action_id), int(x), int(y))] * int(repeats or 1)
            if len(actions) > MAX_ACTIONS:
                raise UsageError(f"More than {MAX_ACTIONS:,} actions at once; give fewer.")
            offset = match.end()
    return tuple(actions)


def format_actions(actions: Sequence[Action], max_characters: int = 400) -> str:
    """Actions as an agent would write them, repeated ones folded, cut after so many characters."""
    words = []
    for action, group in groupby(actions):
        repeats = len(list(group))
        words.append(f"{action}x{repeats}" if repeats > 1 else str(action))
    text = " ".join(words)
    if len(text) <= max_characters:
        return text
    return f"{text[:max_characters].rpartition(' ')[0]} ... ({len(actions)} actions in all)"


def format_numbers(numbers: Sequence[int]) -> str:
    """`2-4,7` for 2 3 4 7."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def format_counterexample(text: str) -> str:
    """The text of a counterexample with the characters that boards have for colours."""
    return _COLOUR_CODE.sub(lambda match: f"{match[1]} {frame_text.format_colour(int(match[2]))}", text)


def parse_place(text: str, record: Record) -> tuple[int, int]:
    """(trajectory, step) of a place on record. Raises UsageError."""
    last_trajectory = len(record) - 1
    word = text.strip().lower()
    if word == "now":
        return last_trajectory, len(record.current)
    if word == "start":
        return last_trajectory, 0
    match = _PLACE.fullmatch(word)
    if not match:
        raise UsageError(f"{text[:40]!r} is no place: {PLACE_NOTATION}.")
    trajectory = last_trajectory if match[1] is None else int(match[1])
    step = int(match[2])
    if trajectory > last_trajectory or step > len(record.trajectories[trajectory]):
        steps = (
            f"; trajectory {trajectory} has steps 0 to {len(record.trajectories[trajectory])}"
            if trajectory <= last_trajectory
            else ""
        )
        raise UsageError(f"There is no {text[:40]} on record: trajectories are numbered 0 to {last_trajectory}{steps}.")
    return trajectory, step


def parse_span(text: str) -> Span:
    """`3-7` or `3`: first and last, inclusive. Raises UsageError."""
    match = _SPAN.fullmatch(text.strip())
    if not match:
        raise UsageError(f"{text[:40]!r} is no span; write 3-7, or 3.")
    return int(match[1]), int(match[2] or match[1])


def parse_cell(text: str, shape: tuple[int, int]) -> tuple[int, int]:
    """`row,column` within a frame. Raises UsageError."""
    row, separator, column = text.strip().partition(",")
    if not separator or not row.strip().isdecimal() or not column.strip().isdecimal() or len(text) > 20:
        raise UsageError(f"{text[:40]!r} is no cell; write row,column.")
    cell = int(row), int(column)
    if not (cell[0] < shape[0] and cell[1] < shape[1]):
        raise UsageError(f"Cell {text[:40]} lies outside; rows are 0 to {shape[0] - 1}, columns 0 to {shape[1] - 1}.")
    return cell
