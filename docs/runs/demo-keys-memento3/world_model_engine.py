"""Walk, take keys, open locks, reach the exit."""

from typing import NamedTuple

import numpy as np

FLOOR, EXIT, EYE, PLAYER = 1, 8, 4, 15
SLOTS = {6: 58, 14: 54}  # R7
WALLS = (2, 3, 5, 7)  # R8
VECTORS = {1: (-4, 0), 2: (4, 0), 3: (0, -4), 4: (0, 4)}  # R1
FIGURE = np.array([[1, 15, 15, 1], [15, 4, 15, 4], [15, 15, 15, 15], [1, 15, 15, 1]], np.uint8)
KEY = np.array([[1, 1, 1, 0], [1, 0, 1, 1], [1, 1, 1, 0], [0, 0, 1, 0]], bool)
RING = np.array([[1, 1, 1, 1], [1, 0, 1, 0], [1, 0, 1, 0], [1, 1, 1, 1]], bool)
SQUARE = np.array([[1, 1, 1, 1], [1, 0, 0, 1], [1, 0, 0, 1], [1, 1, 1, 1]], bool)


class Level:
    def __init__(self, frame):
        self.base, self.bytes = frame.copy(), frame.tobytes()
        self.keys, self.locks, self.exits, self.player = {}, {}, set(), None
        h, w = frame.shape
        for r in range(h - 3):
            for c in range(w - 3):
                block = frame[r:r + 4, c:c + 4]
                a = int(block[0, 0])
                if (block == FIGURE).all():
                    self.player = (r, c)
                    self.base[r:r + 4, c:c + 4] = FLOOR
                elif a == EXIT and (block[SQUARE] == EXIT).all() and (block[~SQUARE] == 0).all():
                    self.exits.add((r, c))  # R5
                elif a not in (FLOOR, EXIT, *WALLS):
                    for shape, found in ((KEY, self.keys), (RING, self.locks)):
                        if (block[shape] == a).all() and (block[~shape] == FLOOR).all():
                            found[(r, c)] = a  # R3, R4

    def __hash__(self):
        return hash(self.bytes)

    def __eq__(self, other):
        return isinstance(other, Level) and self.bytes == other.bytes


class State(NamedTuple):
    at: tuple
    gone: frozenset  # keys taken and locks opened
    held: tuple  # colours of keys carried
    level: object


def initial_state(observation):
    level = Level(np.array(observation["frame"]))
    return State(level.player, frozenset(), (), level)


def step(state, action):
    level = state.level
    dr, dc = VECTORS.get(action.id, (0, 0))
    r, c = there = state.at[0] + dr, state.at[1] + dc
    h, w = level.base.shape
    if not (0 <= r <= h - 4 and 0 <= c <= w - 4) or np.isin(level.base[r:r + 4, c:c + 4], WALLS).any():  # R2
        return state
    gone, held = state.gone, state.held
    if there in level.locks and there not in gone:  # R4
        a = level.locks[there]
        if a not in held:
            return state
        gone = gone | {there}
    if there in level.keys and there not in gone:  # R3
        gone, held = gone | {there}, (*held, level.keys[there])
    return State(there, gone, held, level)


def render(state):
    frame = state.level.base.copy()  # R6
    for r, c in state.gone:
        frame[r:r + 4, c:c + 4] = FLOOR
    for a in state.held:  # R7
        c = SLOTS.get(a, 50)
        frame[0:4, c:c + 4][KEY] = a
    r, c = state.at
    frame[r:r + 4, c:c + 4] = FIGURE  # R1
    return frame


def is_goal(state):
    return state.at in state.level.exits  # R5
