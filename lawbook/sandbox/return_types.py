"""Returns of a program, read strictly: truths, actions, frames. What is none is refused with a sentence. Runs in the worker."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from lawbook.core.record import Action


class ContractError(Exception):
    """The program answered, with something that is no answer. kind: load, shape or type; reason: for whoever wrote it."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


def as_bool(value: Any, function: Callable[[Any], Any]) -> bool:
    """Return a value that `function` returned as a bool. Raises ContractError for any other (a forgotten `return` gives None)."""
    if value is True or value is False:
        return value
    if isinstance(value, np.bool_) or (type(value) is int and value in (0, 1)):
        return bool(value)
    name = getattr(function, "__name__", "is_goal")
    raise ContractError("type", f"{name} returned {format_value(value)}; it must return True or False.")


def as_action(raw: Any, function_name: str) -> Action:
    """Return an action as the program wrote it: an id, (id, x, y), or anything with .id .x .y. Raises ContractError."""
    if type(raw) is Action:
        return raw
    if hasattr(raw, "id"):
        parts = (raw.id, getattr(raw, "x", None), getattr(raw, "y", None))
    elif isinstance(raw, tuple | list) and len(raw) in (1, 3):
        parts = (*raw, None, None)[:3]
    else:
        parts = (raw, None, None)
    try:
        action_id, x, y = (None if part is None else int(part.__index__()) for part in parts)
        if action_id is not None:
            return Action(action_id, x, y)
    except (AttributeError, TypeError):
        pass
    raise ContractError("type", f"{function_name} gave {format_value(raw)}; an action is an id, (id, x, y), or has .id .x .y.")


def check_sendable(candidate: Action, shape: tuple[int, ...]) -> None:
    """Check that a world can take an action of a way to the goal: `shape` is that of its frames. Raises ContractError."""
    if not 0 < candidate.id < 1 << 31:
        raise ContractError("type", f"The way found holds action {candidate.id}; actions are numbered from 1 (0 is the reset).")
    if (candidate.x, candidate.y) != (None, None) and not (
        candidate.x is not None and candidate.y is not None and 0 <= candidate.x < shape[1] and 0 <= candidate.y < shape[0]
    ):
        position = f"x={candidate.x}, y={candidate.y}"
        raise ContractError("type", f"The way found holds a click at {position}; the frames here are {shape[0]} x {shape[1]}.")


def as_optional_bool(value: Any, function: Callable[[Any], Any]) -> bool | None:
    """Return `value` of `function` as a bool, or None: it leaves open whether. Raises ContractError."""
    return None if value is None else as_bool(value, function)


def as_frame(raw: Any, shape: tuple[int, ...], open_rules: Collection[int] | None = None) -> Any:
    """Return what `render` returned (an array, or rows of numbers) as an array of `shape` that holds nothing but 0..255.

    open_rules: numbers k of the rules Uk of the rulebook; a cell of -k is left open under one of them. None: none may be.
    Raises ContractError.
    """
    try:
        array = np.asarray(raw)
    except ValueError:
        message = f"render returned rows of different lengths; the frames here are {shape[0]} x {shape[1]}."
        raise ContractError("shape", message) from None
    if array.dtype.kind not in "iub":
        description = f"a {type(raw).__name__}" if array.dtype == object or array.ndim == 0 else f"an array of {array.dtype}"
        raise ContractError("type", f"render returned {description}; a frame is an array of whole numbers from 0 to 255 (uint8).")
    if array.shape != shape:
        raise ContractError("shape", f"render returned shape {array.shape}, the frames here are {shape[0]} x {shape[1]}.")
    lowest, highest = int(array.min()), int(array.max())
    if highest > 255 or (lowest < 0 and open_rules is None):
        bad_value = lowest if lowest < 0 else highest
        raise ContractError("type", f"render returned a cell of {bad_value}; a frame holds whole numbers from 0 to 255.")
    if lowest < 0:
        unknown = set(np.unique(array[array < 0]).tolist()) - {-number for number in open_rules or ()}
        if unknown:
            raise ContractError("type", describe_unknown_open_rule(-max(unknown)))
    return array


def describe_unknown_open_rule(number: int) -> str:
    """Return the sentence about a cell that is left open under a rule that the rulebook does not hold."""
    return (
        f"render leaves a cell open under U{number}, and the rulebook has no rule U{number}; write down there what cannot be "
        f"known (`U{number}. ...`, from U1 to U255), or claim the cell."
    )


def format_value(value: Any) -> str:
    """Format a value and its type in a few words, whatever its __repr__ does."""
    try:
        text = repr(value)
    except Exception:  # it is the program's
        text = "something"
    return f"{text[:80]} ({type(value).__name__})"
