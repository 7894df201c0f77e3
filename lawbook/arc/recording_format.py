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

_NAMED = re.compile(r"ACTION(\d{1,4})")


@dataclass(frozen=True, eq=False)
class Line:
    """What one line says.

    time: seconds since 1970, None where its timestamp is missing or unusual. frames: H x W uint8, oldest first; none after the end
    of a game. levels: how many the game has, None for 0. rest: from which `written` makes the line again.
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


def parse(text: str) -> Line:
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
    frames = _frames(data.get("frame"))
    read = Line(
        time=_time(line.get("timestamp")),
        game=_text(data.get("game_id")),
        guid=_text(data.get("guid")),
        action=_action(data.get("action_input")),
        frames=frames,
        state=str(data.get("state")),
        completed=_count(data, "levels_completed"),
        levels=_count(data, "win_levels") or None,
        available=_available(data.get("available_actions")),
        truncated=data.get("truncated") is True,
        reward=_reward(data.get("reward")),
        rest=text,
    )
    # As the toolkit writes it, a line is its rest and its frames. One written in another way is kept whole, to be exact too.
    rest = json.dumps({**line, "data": {**data, "frame": None}})
    return replace(read, rest=rest) if written(rest, frames) == text else read


def written(rest: str, frames: Sequence[Frame]) -> str:
    """The line again: `rest` as it is where it holds its frames, else with these put in their place."""
    line = json.loads(rest)
    if line["data"]["frame"] is not None:
        return rest
    line["data"]["frame"] = [frame.tolist() for frame in frames]
    return json.dumps(line)


def compose(
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


def _frames(given: object) -> tuple[Frame, ...]:
    if not isinstance(given, list):
        raise ValueError("it holds no `frame`; record with the frames in it")
    if not given:
        return ()
    try:
        block = np.array(given)
    except ValueError as error:
        raise ValueError("its `frame` is no list of grids, each row as long as the others") from error
    if block.ndim != 3 or block.size == 0 or block.dtype.kind not in "iu" or block.min() < 0 or block.max() > 255:
        raise ValueError("its `frame` is no list of grids of whole numbers from 0 to 255")
    return tuple(freeze(frame) for frame in block)


def _reward(given: object) -> float:
    return given if type(given) is float and math.isfinite(given) else 0.0


def _action(given: object) -> Action:
    name, data = (given.get("id"), given.get("data") or {}) if isinstance(given, dict) else (None, {})
    if name == "RESET" or (type(name) is int and name == RESET.id):
        return RESET
    named = _NAMED.fullmatch(name) if isinstance(name, str) else None
    number = int(named[1]) if named else name
    if type(number) is not int or not 0 < number < 10_000 or not isinstance(data, dict):
        raise ValueError(f"its `action_input` names no action ({name!r})")
    if "x" not in data and "y" not in data:
        return Action(number)
    x, y = data.get("x"), data.get("y")
    if type(x) is not int or type(y) is not int or x < 0 or y < 0:
        raise ValueError(f"its click is nowhere (x={x!r}, y={y!r})")
    return Action(number, x, y)


def _available(given: object) -> tuple[int, ...]:
    if not isinstance(given, list) or not all(type(number) is int and number >= 0 for number in given):
        raise ValueError("its `available_actions` is no list of numbers")
    return tuple(number for number in given if number != RESET.id)


def _count(data: dict[str, Any], name: str) -> int:
    number = data.get(name)
    if type(number) is not int or number < 0:
        raise ValueError(f"its `{name}` is no whole number from 0 ({number!r})")
    return number


def _text(given: object) -> str:
    return given if isinstance(given, str) else ""


def _time(given: object) -> float | None:
    try:
        return datetime.fromisoformat(given).timestamp() if isinstance(given, str) else None
    except (ValueError, OverflowError, OSError):
        return None
