"""A rulebook and a program for `demo:maze?seed=0` as an agent would write them, with what it says of each rule."""

from __future__ import annotations

from lawbook.core.hypothesis import ENGINE, RULEBOOK

WORLD = "demo:maze?seed=0"

FILES = {
    RULEBOOK: """\
# What I believe about this world

R1. The avatar is a tile of 4 x 4 cells with the colours 1 and 14; below it lies ground of colour 5.
R2. Actions 1, 2, 3, 4 move it one tile up, down, left, right, if that tile is all ground.
R3. The tile with colours 7 and 9 completes the level when the avatar moves there.
R4. Every other tile stops the avatar.
""",
    ENGINE: """\
from typing import NamedTuple

import numpy as np

MOVES = {1: (-4, 0), 2: (4, 0), 3: (0, -4), 4: (0, 4)}


class State(NamedTuple):
    ground: bytes
    row: int
    column: int
    done: bool


def initial_state(observation):
    frame = np.array(observation["frame"])
    rows, columns = np.nonzero(frame == 14)  # R1
    row, column = int(rows.min()), int(columns.min())
    initial_state.tile = frame[row : row + 4, column : column + 4].copy()
    frame[row : row + 4, column : column + 4] = 5
    return State(frame.tobytes(), row, column, False)


def step(state, action):
    down, right = MOVES.get(action.id, (0, 0))
    row, column = state.row + down, state.column + right  # R2
    tile = board(state)[row : row + 4, column : column + 4]
    if np.isin(tile, (7, 9)).any():  # R3
        return state._replace(row=row, column=column, done=True)
    if tile.shape != (4, 4) or (tile != 5).any():  # R4
        return state
    return state._replace(row=row, column=column)


def board(state):
    return np.frombuffer(state.ground, dtype=np.uint8).reshape(64, 64)


def render(state):
    frame = board(state).copy()
    frame[state.row : state.row + 4, state.column : state.column + 4] = initial_state.tile
    return frame


def is_goal(state):
    return state.done
""",
    "fidelity.md": """\
R1: initial_state() finds the colour 14 and lays ground below the tile
R2: step() looks the move up in MOVES and adds it to the place
R3: step() looks for 7 and 9 in the tile and sets done
R4: step() returns the state unchanged for any tile not all ground
""",
}
"""File of the workspace -> its text."""


def writing() -> str:
    """A shell command that writes them."""
    return "\n".join(f"cat > {name} <<'END'\n{text}END" for name, text in FILES.items())
