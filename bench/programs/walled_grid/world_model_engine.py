"""The reference program of the benchmarks: an avatar walks a walled grid of 4 x 4 blocks, takes every key, leaves by the exit.

Costs about 20 us a step and rendering on a 64 x 64 frame. Written the way a mind would write it: no caches, no tricks.
"""

from typing import NamedTuple

import numpy as np

BLOCK = 4
FLOOR, WALL, AVATAR, KEY, EXIT = 0, 5, 9, 4, 11
MOVES = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}  # R1 1 up, 2 down, 3 left, 4 right


class State(NamedTuple):
    row: int
    column: int
    keys: frozenset
    pillars: frozenset
    exit: tuple


def initial_state(observation):
    blocks = observation["frame"][::BLOCK, ::BLOCK]
    found = {colour: [(int(r), int(c)) for r, c in np.argwhere(blocks == colour)] for colour in (WALL, AVATAR, KEY, EXIT)}
    ((row, column),) = found[AVATAR]
    pillars = frozenset((r, c) for r, c in found[WALL] if 0 < r < 15 and 0 < c < 15)
    return State(row, column, frozenset(found[KEY]), pillars, found[EXIT][0])


def step(state, action):
    down, right = MOVES[action.id]
    row, column, keys, pillars, way_out = state
    row += down
    column += right
    if not (0 < row < 15 and 0 < column < 15) or (row, column) in pillars:  # R2 the border and the pillars stop the avatar
        return state
    if (row, column) in keys:  # R3 a key is taken by walking onto it
        keys = keys - {(row, column)}
    return State(row, column, keys, pillars, way_out)


def block(row, column):
    return slice(row * BLOCK, row * BLOCK + BLOCK), slice(column * BLOCK, column * BLOCK + BLOCK)


def render(state):
    frame = np.full((64, 64), WALL, dtype=np.uint8)
    frame[BLOCK:-BLOCK, BLOCK:-BLOCK] = FLOOR
    for row, column in state.pillars:
        frame[block(row, column)] = WALL
    for row, column in state.keys:
        frame[block(row, column)] = KEY
    frame[block(*state.exit)] = EXIT
    frame[block(state.row, state.column)] = AVATAR
    return frame


def is_goal(state):
    return not state.keys and (state.row, state.column) == state.exit  # R4 the exit opens when no key is left
