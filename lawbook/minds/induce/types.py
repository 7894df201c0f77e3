"""Types of the plain data that a record is turned into, and that the tables of a program are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NotRequired, Protocol, TypedDict

import numpy as np
import numpy.typing as npt

from lawbook.core.record import Action

Grid = npt.NDArray[np.uint8]
"""H x W colours: a frame, or the ground below the figures of one."""
Frames = npt.NDArray[np.uint8]
"""n x H x W colours: the settled frames of one trajectory."""
Mask = npt.NDArray[np.bool_]
"""Cells (H x W) or steps and cells (n x H x W) of which something is so."""
Indices = npt.NDArray[np.int_]
LookCells = tuple[Indices, Indices, Indices]
"""Rows, columns and colours of a look's own cells, counted from its upper left one, as three arrays of one length."""

Cell = tuple[int, int]
"""(row, column), or how far something goes in rows and columns."""
Box = tuple[int, int, int, int]
"""(top, left, height, width)."""
Look = tuple[tuple[int, ...], ...]
"""Rows of colours; -1 where the figure is transparent."""
Figure = tuple[int, int, int]
"""(body, row, col): which look a figure has, and its upper left cell; body -1: it is not seen."""
ColouredCell = tuple[int, int, int]
"""(row, column, colour)."""
CellChanges = set[ColouredCell]
"""Cells that show something else than before, with the new colour."""
CellRuns = tuple[tuple[int, int, int, int], ...]
"""Cells to paint: (row, column, colour, how many cells to the right)."""
Repainting = CellRuns | str
"""Cells to paint; or the whole grid, packed (zlib, then base 85)."""

ActionName = int | tuple[int | None, ...]
"""An action as the tables name it: its id, or (id, x, y) of a click."""
GateState = Literal["open", "shut"]
Edge = tuple[Literal["edge"]]
Floor = tuple[Literal["floor"]]
Colours = tuple[Literal["colour"], tuple[int, ...]]
Shape = tuple[Literal["shape"], tuple[str, ...]]
Exact = tuple[Literal["exact"], Look]
GateShape = tuple[Literal["shape"], tuple[str, ...], GateState]
GateExact = tuple[Literal["exact"], Look, GateState]
Description = Edge | Floor | Colours | Shape | Exact | GateShape | GateExact
"""One way to say what is met: its exact patch, the shape of the figure in it, or its colours; or edge, or floor."""
Contact = tuple[Description, ...]
"""What is met, described ever less particularly."""
ContactKey = Description | tuple[Description, ActionName]
"""What a law of contacts is about: a description, or one met by a certain action."""
Effect = tuple[str, tuple[ColouredCell, ...]]
"""What happens (enter, slide, carry ROWS COLUMNS, stop, push, act, win, die, die outside, die vanishing), and what is painted
there."""
CopyEffect = tuple[Literal["copy"], int, int]
RemoteEffect = tuple[CopyEffect | ColouredCell, ...]
"""(("copy", row, col),): what was met is drawn there, its upper left cell first; or cells to paint."""

GatePlace = tuple[int | None, int | None]
Gate = tuple[Look, Look, GatePlace | None]
"""(what is met, its key, place), rows of colours: -1 for open ground, ANY for the one colour that both have in common. It is open
once no such key is left, or, where a row or a column is named, while the key is shown there."""
Home = tuple[tuple[int, Description], ...]
"""((look of a figure, what it stands on), ...)."""
Match = tuple[int, int, int, int, int, int, int, int, str]
"""(row, column, height, width, row and column of the pattern, step, start, turn): see `predicates.holds`."""
Goal = (
    tuple[Literal["none"], Look]
    | tuple[Literal["left"], tuple[Look, int]]
    | tuple[Literal["alike"], tuple[Look, ...]]
    | tuple[Literal["match"], Match]
    | tuple[Literal["home"], Home]
)
"""A kind of predicate of the whole ground, and what it is about."""

Start = tuple[tuple[int, int, int, tuple[int, ...]], ...]
"""Of every figure at a start: (body, row, col, colours below it)."""
Place = tuple[int, int, int, int, tuple[Figure, ...], ActionName]
"""(CRC-32 of the ground, body, row, col, mates, action)."""
MemorisedEffect = tuple[int, int, int, int, Repainting, tuple[Figure, ...]]
"""What follows, learnt by heart: (body, row, col, status, changes of the ground, mates)."""
History = tuple[int, tuple[tuple[ActionName, MemorisedEffect | None], ...]]
"""(CRC-32 of the first frame, ((action, what follows or None), ...))."""
Life = tuple[CellRuns, CellRuns]
"""(cells painted when a life is lost, what they showed before)."""
Patch = tuple[Repainting, int | None]
"""(cells that a frame shows wrongly, the status or None where it is right)."""
PatchHistory = tuple[int, tuple[tuple[ActionName | None, Patch | None], ...]]
"""(CRC-32 of the first frame, ((action, None at the start; patch or None), ...))."""


class Body(TypedDict):
    """One look of the avatar, or of another figure that actions move (`mate`, from 1): see `Walker`."""

    look: Look
    moves: Mapping[ActionName, Cell]
    turns: NotRequired[Mapping[ActionName, int]]
    mate: NotRequired[int]


class Simulated[S](Protocol):
    """A program, or a part of one, that can be stepped through a trajectory."""

    def initial_state(self, observation: Mapping[str, Grid]) -> S:
        """Return the state at a first observation, of which only "frame" is read."""
        ...

    def step(self, state: S, action: Action) -> S:
        """Return the state after an action."""
        ...


def get_colours(description: Description) -> tuple[int, ...]:
    """Return the colours of a description by colours; none for any other."""
    return description[1] if description[0] == "colour" else ()
