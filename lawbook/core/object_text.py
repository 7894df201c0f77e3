"""Objects of a frame as a list: alike ones in a line, equal shapes named as such, turned and mirrored ones too, a click for
each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lawbook.core import perception
from lawbook.core.frame_text import format_colour
from lawbook.core.perception import Grid
from lawbook.core.turning import TURNS

MAX_KINDS, MAX_PLACES = 40, 8
"""Kinds of objects that are told, and places of each."""
CRUMB_CELLS = 2
"""Objects of at most so many cells are summed up in a line."""


class _Kind(NamedTuple):
    """Objects that look the same. patch: cells of the first, -1 for those in its box that are not its own."""

    objects: list[perception.Object]
    patch: Grid


def format_object_list(frame: Grid, *, mixed: bool = False, click: int | None = None) -> str:
    """List what hangs together in one colour (4 neighbours), the commonest colour left out as ground.

    `#2 3 of 4x4 e at 8,6 20,6 click 6@8,10 6@8,22 = #1 turned right`: three objects of 4 rows and 4 columns, of colour e, their
    upper left corners at row,column, their shape that of kind #1 turned. mixed: colours that touch are one object. click: the id
    of the click action, where there is one.
    """
    colours, counts = np.unique(frame, return_counts=True)
    ground = int(colours[counts.argmax()])
    found = perception.objects(frame, where=frame != ground, mixed=mixed)
    by_look: dict[int, _Kind] = {}
    for number, item in enumerate(found):
        if item.look not in by_look:
            box = np.s_[item.top : item.bottom + 1, item.left : item.right + 1]
            patch = np.where(found.labels[box] == number, frame[box].astype(np.int16), np.int16(-1))
            by_look[item.look] = _Kind([], patch)
        by_look[item.look].objects.append(item)
    kinds = sorted(by_look.values(), key=lambda kind: (-kind.objects[0].cells, kind.objects[0].top, kind.objects[0].left))
    crumbs = [kind for kind in kinds if kind.objects[0].cells <= CRUMB_CELLS and len(kind.objects) > 4]
    kinds = [kind for kind in kinds if kind not in crumbs]
    lines = [f"ground {format_colour(ground)}; {len(found)} objects of {len(by_look)} kinds"]
    for number, kind in enumerate(kinds[:MAX_KINDS], 1):
        lines.append(f"#{number} {_describe_kind(kind, click)}{_find_relative(kind, kinds[: number - 1])}")
    if len(kinds) > MAX_KINDS:
        lines.append(
            f"(and {len(kinds) - MAX_KINDS} smaller kinds, {sum(len(kind.objects) for kind in kinds[MAX_KINDS:])} objects)"
        )
    if crumbs:
        texts = (f"{len(kind.objects)} of {_format_size(kind)} {_format_colours(kind)}" for kind in crumbs)
        lines.append(f"crumbs: {', '.join(texts)}")
    return "\n".join(lines)


def _describe_kind(kind: _Kind, click: int | None) -> str:
    first = kind.objects[0]
    count = f"{len(kind.objects)} of " if len(kind.objects) > 1 else ""
    cells = "" if (kind.patch >= 0).all() else f"({first.cells})"
    places = " ".join(f"{item.top},{item.left}" for item in kind.objects[:MAX_PLACES])
    more = f" (and {len(kind.objects) - MAX_PLACES} more)" if len(kind.objects) > MAX_PLACES else ""
    clicks = (
        "" if click is None else " click " + " ".join(f"{click}@{item.column},{item.row}" for item in kind.objects[:MAX_PLACES])
    )
    return f"{count}{_format_size(kind)} {_format_colours(kind)}{cells} at {places}{more}{clicks}"


def _format_size(kind: _Kind) -> str:
    return f"{kind.patch.shape[0]}x{kind.patch.shape[1]}"


def _format_colours(kind: _Kind) -> str:
    colours, counts = np.unique(kind.patch[kind.patch >= 0], return_counts=True)
    ordered = colours[np.argsort(-counts, kind="stable")].tolist()
    return ",".join(format_colour(colour) for colour in ordered[:6])


def _find_relative(kind: _Kind, earlier: list[_Kind]) -> str:
    """An earlier kind of the same shape, as it lies or turned; of several colours: in the same ones. Solid blocks are not
    compared."""
    if kind.patch.min() >= 0 and len(np.unique(kind.patch)) == 1:
        return ""
    for number, other in enumerate(earlier, 1):
        if kind.objects[0].cells != other.objects[0].cells:
            continue
        one, two = _get_form(kind), _get_form(other)
        if np.array_equal(one, two):
            return f" = #{number} in another colour"
        for how, turn in TURNS:
            if np.array_equal(turn(two), one):
                return f" = #{number} {how}"
    return ""


def _get_form(kind: _Kind) -> Grid:
    """The cells of its shape; where it has several colours, those."""
    is_plain = len(np.unique(kind.patch[kind.patch >= 0])) == 1
    return (kind.patch >= 0).astype(np.int16) if is_plain else kind.patch
