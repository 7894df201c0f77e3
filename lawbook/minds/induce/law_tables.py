"""The tables that make a program: what `walker` needs to know, as plain data that can be written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Contact = tuple[Any, ...]
"""What is met, described ever less particularly: its exact patch, the shape of the figure in it, its colours; or edge, or floor."""
Effect = tuple[str, tuple[tuple[int, int, int], ...]]
"""What happens (enter, slide, carry ROWS COLUMNS, stop, push, act, win, die, die outside, die vanishing), and what is painted
there: (row, col, colour)."""


@dataclass(frozen=True)
class Laws:
    """The tables of one program; `Walker` says what each means."""

    bodies: tuple[Mapping[str, Any], ...] = ()
    floor: tuple[int, ...] = ()
    under: int | None = None
    gates: tuple[Any, ...] = ()
    contacts: Mapping[Any, Effect] = field(default_factory=dict)
    far: Mapping[Any, Any] = field(default_factory=dict)
    guess: Any = None
    click: int | None = None
    turns: Mapping[Any, Any] = field(default_factory=dict)
    around: Mapping[Any, Any] = field(default_factory=dict)
    goals: tuple[Any, ...] = ()
    starts: Mapping[int, Any] = field(default_factory=dict)
    places: Mapping[Any, Any] = field(default_factory=dict)
    histories: tuple[Any, ...] = ()


def name_action(action: Any) -> Any:
    """An action as the tables name it: its number, or (number, x, y) for a click."""
    return action.id if action.x is None else tuple(action)
