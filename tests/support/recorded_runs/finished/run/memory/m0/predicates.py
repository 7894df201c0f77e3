"""Goals that are states of the whole ground: each a kind and what it is about. No goal reads what lies over the ground."""

from __future__ import annotations

from typing import Any


def holds(kind: str, what: Any, ground: Any, count: Any) -> bool:
    """Is this so on a ground (H x W)? count(look): how often it shows a look.

    ("none", look): it does not show it. ("left", (look, most)): it shows it so many times at most. ("alike", looks): of these it
    shows one, and no other. ("match", (row, col, height, width, row, col, step, start, turn)): the first region, taken every `step`
    cells each way from its cell (start, start), looks like the region whose upper left cell is given then, turned.
    """
    if kind == "none":
        return bool(count(what) == 0)
    if kind == "left":
        return bool(count(what[0]) <= what[1])
    if kind == "alike":
        return bool(sum(count(look) > 0 for look in what) == 1)
    one, other = regions(ground, what)
    return one.size > 0 and one.shape == other.shape and bool((one == other).all())


def regions(ground: Any, what: Any) -> tuple[Any, Any]:
    """The two regions of a match as they are to be equal: the one that is worked on, and the pattern."""
    row, col, height, width, there, along, step, start, turn = what
    one = ground[row : row + height, col : col + width][start::step, start::step]
    other = ground[there : there + height // step, along : along + width // step]
    if turn == "left and right":
        other = other[:, ::-1]
    elif turn == "top and bottom":
        other = other[::-1]
    return one, other
