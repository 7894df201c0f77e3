"""The ARC toolkit's recording form, one line at a time: read with every field checked, written again byte for byte.

A line is a JSON object: `timestamp`, and `data` with `game_id`, `state`, `levels_completed`, `win_levels`, `action_input` (`id`,
`data`, `reasoning`), `guid`, `full_reset`, `available_actions` and `frame` (all frames of the animation). Ours adds a field where
the form has no word for something: `truncated`, true where a world's own time limit ended the level; `reward`, where one was paid.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from lawbook.core.record import RESET, Action, Frame, freeze

_ACTION_NAME = re.compile(r"ACTION(\d{1,4})")


@dataclass(frozen=True, eq=False)
class RecordingLine:
    """What one line says.

    time: seconds since 1970, None where its timestamp is missing or unusual. frames: H x W uint8, oldest first; none after the end
    of a game. levels: how many the game has, None for 0. rest: from which `format_line` makes the line again.
    """

    time: float | None
    game: str
    guid: str
    action: Action
    frames: tuple[Frame, ...]
    state: str
    completed: int
    levels: int | None
    available: tuple[int, ...]
    truncated: bool
    reward: float
    rest: str


def parse_line(text: str) -> RecordingLine:
    """Read one line, without its line break. Raises ValueError with what is wrong with it."""
    try:
        line = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON ({error.msg} at column {error.colno})") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is no JSON that can be read ({error})") from error
    if not isinstance(line, dict) or not isinstance(line.get("data"), dict):
        raise ValueError("it is no JSON object with `data` in it")
    data: dict[str, Any] = line["data"]
    frames = _parse_frames(data.get("frame"))
    parsed = RecordingLine(
        time=_parse_time(line.get("timestamp")),
        game=_parse_text(data.get("game_id")),
        guid=_parse_text(data.get("guid")),
        action=_parse_action(data.get("action_input")),
        frames=frames,
        state=str(data.get("state")),
        completed=_parse_count(data, "levels_completed"),
        levels=_parse_count(data, "win_levels") or None,
        available=_parse_available(data.get("available_actions")),
        truncated=data.get("truncated") is True,
        reward=_parse_reward(data.get("reward")),
        rest=text,
    )
    # As the toolkit writes it, a line is its rest and its frames. One written in another way is kept whole, to be exact too.
    rest = json.dumps({**line, "data": {**data, "frame": None}})
    return replace(parsed, rest=rest) if format_line(rest, frames) == text else parsed


def format_line(rest: str, frames: Sequence[Frame]) -> str:
    """The line again: `rest` as it is where it holds its frames, else with these put in their place."""
    line = json.loads(rest)
    if line["data"]["frame"] is not None:
        return rest
    line["data"]["frame"] = [frame.tolist() for frame in frames]
    return json.dumps(line)


def compose_line(
    *,
    time: float,
    game: str,
    guid: str,
    action: Action,
    state: str,
    completed: int,
    levels: int | None,
    available: Sequence[int],
    full_reset: bool,
    truncated: bool,
    reward: float,
) -> str:
    """The rest of a line of our own, fields and order as the toolkit has them."""
    data: dict[str, Any] = {
        "game_id": game,
        "state": state,
        "levels_completed": completed,
        "win_levels": levels or 0,
        "action_input": {
            "id": "RESET" if action == RESET else f"ACTION{action.id}",
            "data": {} if action.x is None else {"x": action.x, "y": action.y},
            "reasoning": None,
        },
        "guid": guid,
        "full_reset": full_reset,
        "available_actions": list(available),
        "frame": None,
    }
    if truncated:
        data["truncated"] = True
    if reward:
        data["reward"] = reward
    return json.dumps({"timestamp": datetime.fromtimestamp(time, UTC).isoformat(), "data": data})


def _parse_frames(value: object) -> tuple[Frame, ...]:
    if not isinstance(value, list):
        raise ValueError("it holds no `frame`; record with the frames in it")
    if not value:
        return ()
    try:
        array = np.array(value)
    except ValueError as error:
        raise ValueError("its `frame` is no list of grids, each row as long as the others") from error
    if array.ndim != 3 or array.size == 0 or array.dtype.kind not in "iu" or array.min() < 0 or array.max() > 255:
        raise ValueError("its `frame` is no list of grids of whole numbers from 0 to 255")
    return tuple(freeze(frame) for frame in array)


def _parse_reward(value: object) -> float:
    return value if type(value) is float and math.isfinite(value) else 0.0


def _parse_action(value: object) -> Action:
    name, data = (value.get("id"), value.get("data") or {}) if isinstance(value, dict) else (None, {})
    if name == "RESET" or (type(name) is int and name == RESET.id):
        return RESET
    name_match = _ACTION_NAME.fullmatch(name) if isinstance(name, str) else None
    action_id = int(name_match[1]) if name_match else name
    if type(action_id) is not int or not 0 < action_id < 10_000 or not isinstance(data, dict):
        raise ValueError(f"its `action_input` names no action ({name!r})")
    if "x" not in data and "y" not in data:
        return Action(action_id)
    x, y = data.get("x"), data.get("y")
    if type(x) is not int or type(y) is not int or x < 0 or y < 0:
        raise ValueError(f"its click is nowhere (x={x!r}, y={y!r})")
    return Action(action_id, x, y)


def _parse_available(value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(type(number) is int and number >= 0 for number in value):
        raise ValueError("its `available_actions` is no list of numbers")
    return tuple(number for number in value if number != RESET.id)


def _parse_count(data: dict[str, Any], name: str) -> int:
    value = data.get(name)
    if type(value) is not int or value < 0:
        raise ValueError(f"its `{name}` is no whole number from 0 ({value!r})")
    return value


def _parse_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _parse_time(value: object) -> float | None:
    try:
        return datetime.fromisoformat(value).timestamp() if isinstance(value, str) else None
    except (ValueError, OverflowError, OSError):
        return None
