"""A rulebook and a program for the project's own maze, as an agent might have written them: for tests of doors."""

from __future__ import annotations

from lawbook.core.hypothesis import ENGINE, Hypothesis

RULEBOOK = """\
# The board

R1. The board is 15 x 15 blocks of 4 x 4 cells, beginning at row 4, column 2. A block of one colour is floor.
R2. The walker is the block whose corners are floor and whose third row is all of one other colour.
R3. Actions 1, 2, 3, 4 move the walker up, down, left, right by one block.
R4. It enters floor, the exit and hazards; every other block stops it.
R5. The exit is a block with a ring of one colour around four cells of another; entering it completes the level.
R6. A hazard is a chequered block; entering it ends the game.
Q1. Is the exit always reachable?
"""

PROGRAM = '''\
"""The board, block by block."""

from collections import Counter
from typing import NamedTuple

import numpy as np

MOVES = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}  # R3
TOP, LEFT, SIDE = 4, 2, 15  # R1


class State(NamedTuple):
    ground: bytes  # the frame without the walker
    kinds: str  # a letter a block
    walker: bytes
    row: int
    column: int


def block(frame, row, column):
    return frame[TOP + 4 * row : TOP + 4 * row + 4, LEFT + 4 * column : LEFT + 4 * column + 4]


def kind(cells, floor):
    if (cells == floor).all():
        return "."  # R1
    inner, ring = cells[1:3, 1:3], np.delete(cells.ravel(), [5, 6, 9, 10])
    if len(set(ring.tolist())) == 1 and len(set(inner.ravel().tolist())) == 1 and floor not in ring:
        return "E"  # R5
    if cells[0, 0] != cells[0, 1] and (cells == np.where(np.indices((4, 4)).sum(0) % 2, cells[0, 1], cells[0, 0])).all():
        return "X"  # R6
    return "#"  # R4


def initial_state(observation):
    frame = observation["frame"].copy()
    cells = {(r, c): block(frame, r, c) for r in range(SIDE) for c in range(SIDE)}
    plain = Counter(int(b[0, 0]) for b in cells.values() if (b == b[0, 0]).all())
    floor = plain.most_common(1)[0][0]  # R1
    for (row, column), b in cells.items():
        corners = {int(b[0, 0]), int(b[0, 3]), int(b[3, 0]), int(b[3, 3])}
        if corners == {floor} and len(set(b[2].tolist())) == 1 and b[2, 0] != floor:  # R2
            break
    walker = b.tobytes()
    b[:] = floor
    kinds = "".join(kind(cells[r, c], floor) for r in range(SIDE) for c in range(SIDE))
    return State(frame.tobytes(), kinds, walker, row, column)


def at(state, row, column):
    return state.kinds[row * SIDE + column] if 0 <= row < SIDE and 0 <= column < SIDE else "#"


def step(state, action):
    down, right = MOVES.get(action.id, (0, 0))  # R3
    row, column = state.row + down, state.column + right
    if at(state, row, column) == "#":  # R4
        return state
    return state._replace(row=row, column=column)


def render(state):
    frame = np.frombuffer(state.ground, dtype=np.uint8).reshape(64, 64).copy()
    block(frame, state.row, state.column)[:] = np.frombuffer(state.walker, dtype=np.uint8).reshape(4, 4)  # R2
    return frame


def is_goal(state):
    return at(state, state.row, state.column) == "E"  # R5


def is_over(state):
    return at(state, state.row, state.column) == "X"  # R6
'''

FIDELITY = """\
R1: TOP, LEFT, SIDE and block() cut the board; the commonest plain block is floor
R2: initial_state() finds the walker by corners and third row; render() draws it
R3: MOVES has the four directions; step() adds them
R4: step() leaves the state as it is on '#', which kind() gives for every other block
R5: kind() gives 'E' for ring and middle; is_goal() holds there
R6: kind() gives 'X' for chequered blocks; is_over() holds there
"""

WALKER = Hypothesis(RULEBOOK, {ENGINE: PROGRAM})
