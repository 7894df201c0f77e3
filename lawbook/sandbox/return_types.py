"""What a program returned, read strictly: truths, actions, frames. What is none is refused with a sentence. Runs in the worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lawbook.core.record import Action


class NonsenseError(Exception):
    """The program answered, with something that is no answer. kind: load, shape or type; sentence: for whoever wrote it."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence


def truth(answer: Any, function: Callable[[Any], Any]) -> bool:
    """`answer` of `function` as a bool (a forgotten `return` gives None, which is none)."""
    if answer is True or answer is False:
        return answer
    if isinstance(answer, np.bool_) or (type(answer) is int and answer in (0, 1)):
        return bool(answer)
    name = getattr(function, "__name__", "is_goal")
    raise NonsenseError("type", f"{name} returned {short(answer)}; it must return True or False.")


def action(raw: Any, function: str) -> Action:
    """An action as the program wrote it: an id, (id, x, y), or anything with .id .x .y."""
    if type(raw) is Action:
        return raw
    if hasattr(raw, "id"):
        parts = (raw.id, getattr(raw, "x", None), getattr(raw, "y", None))
    elif isinstance(raw, tuple | list) and len(raw) in (1, 3):
        parts = (*raw, None, None)[:3]
    else:
        parts = (raw, None, None)
    try:
        number, x, y = (None if part is None else int(part.__index__()) for part in parts)
        if number is not None:
            return Action(number, x, y)
    except (AttributeError, TypeError):
        pass
    raise NonsenseError("type", f"{function} gave {short(raw)}; an action is an id, (id, x, y), or has .id .x .y.")


def sendable(found: Action, shape: tuple[int, ...]) -> None:
    """Refuses an action in a way to the goal that no world takes: `shape` is that of its frames."""
    if not 0 < found.id < 1 << 31:
        raise NonsenseError("type", f"The way found holds action {found.id}; actions are numbered from 1 (0 is the reset).")
    if (found.x, found.y) != (None, None) and not (
        found.x is not None and found.y is not None and 0 <= found.x < shape[1] and 0 <= found.y < shape[0]
    ):
        where = f"x={found.x}, y={found.y}"
        raise NonsenseError("type", f"The way found holds a click at {where}; the frames here are {shape[0]} x {shape[1]}.")


def frame(raw: Any, shape: tuple[int, ...]) -> Any:
    """What `render` returned (an array, or rows of numbers) as an array of `shape` that holds nothing but 0..255."""
    try:
        array = np.asarray(raw)
    except ValueError:
        message = f"render returned rows of different lengths; the frames here are {shape[0]} x {shape[1]}."
        raise NonsenseError("shape", message) from None
    if array.dtype.kind not in "iub":
        what = f"a {type(raw).__name__}" if array.dtype == object or array.ndim == 0 else f"an array of {array.dtype}"
        raise NonsenseError("type", f"render returned {what}; a frame is an array of whole numbers from 0 to 255 (uint8).")
    if array.shape != shape:
        raise NonsenseError("shape", f"render returned shape {array.shape}, the frames here are {shape[0]} x {shape[1]}.")
    if array.min() < 0 or array.max() > 255:
        wrong = array.min() if array.min() < 0 else array.max()
        raise NonsenseError("type", f"render returned a cell of {wrong}; a frame holds whole numbers from 0 to 255.")
    return array


def short(value: Any) -> str:
    """`value` and its type in a few words, whatever its __repr__ does."""
    try:
        text = repr(value)
    except Exception:  # it is the program's
        text = "something"
    return f"{text[:80]} ({type(value).__name__})"
