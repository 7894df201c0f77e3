"""The tables that make a program: what `walker` needs to know, as plain data that can be written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lawbook.core.record import Action
from lawbook.minds.induce.types import (
    ActionName,
    Body,
    Cell,
    ContactKey,
    Description,
    Effect,
    Gate,
    Goal,
    History,
    Look,
    MemorisedEffect,
    Place,
    RemoteEffect,
    Start,
)


@dataclass(frozen=True)
class Laws:
    """The tables of one program; `Walker` says what each means."""

    bodies: tuple[Body, ...] = ()
    floor: tuple[int, ...] = ()
    under: int | None = None
    gates: tuple[Gate, ...] = ()
    contacts: Mapping[ContactKey, Effect] = field(default_factory=dict)
    far: Mapping[ContactKey, RemoteEffect] = field(default_factory=dict)
    guess: Description | None = None
    click: int | None = None
    turns: Mapping[Look, Look] = field(default_factory=dict)
    around: Mapping[tuple[Look, int], tuple[Cell, ...]] = field(default_factory=dict)
    goals: tuple[Goal, ...] = ()
    starts: Mapping[int, Start] = field(default_factory=dict)
    places: Mapping[Place, MemorisedEffect] = field(default_factory=dict)
    histories: tuple[History, ...] = ()


def name_action(action: Action) -> ActionName:
    """Return an action as the tables name it: its id, or (id, x, y) for a click."""
    return action.id if action.x is None else tuple(action)
