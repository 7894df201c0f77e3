"""Figures that move together, one of them mirrored, each to the ring of its colour."""

from typing import NamedTuple

import numpy as np

EYE, FLOOR, WALLS = 2, 1, (9, 15)
SHAPE = ((0, 1, 1, 0), (1, 2, 1, 2), (1, 1, 1, 1), (0, 1, 1, 0))  # R1
VECTORS = {1: (-4, 0), 2: (4, 0), 3: (0, -4), 4: (0, 4)}  # R2
FLIPPED = {14}


class Level:
    def __init__(self, frame):
        self.base, self.figures, self.colours = frame.copy(), [], []
        h, w = frame.shape
        for r in range(h - 3):
            for c in range(w - 3):
                a = int(frame[r + 2, c])
                if a not in WALLS and a != FLOOR and self.figure(frame, r, c, a):  # R1
                    self.figures.append((r, c))
                    self.colours.append(a)
                    self.base[r:r + 4, c:c + 4] = FLOOR
        self.wall = np.isin(self.base, WALLS)
        self.rings = [self.ring(a) for a in self.colours]
        self.bytes = frame.tobytes()

    @staticmethod
    def figure(frame, r, c, a):
        return all(
            part == 0 or frame[r + i, c + j] == (a if part == 1 else EYE) for i, row in enumerate(SHAPE) for j, part in enumerate(row)
        )

    def ring(self, a):  # R4
        h, w = self.base.shape
        mask = np.ones((4, 4), bool)
        mask[1:3, 1:3] = False
        return {
            (r, c)
            for r in range(h - 3)
            for c in range(w - 3)
            if (self.base[r:r + 4, c:c + 4][mask] == a).all() and (self.base[r + 1:r + 3, c + 1:c + 3] == FLOOR).all()
        }

    def free(self, r, c):  # R3
        h, w = self.base.shape
        return 0 <= r <= h - 4 and 0 <= c <= w - 4 and not self.wall[r:r + 4, c:c + 4].any()

    def __hash__(self):
        return hash(self.bytes)

    def __eq__(self, other):
        return isinstance(other, Level) and self.bytes == other.bytes


class State(NamedTuple):
    places: tuple
    level: object


def initial_state(observation):
    level = Level(np.array(observation["frame"]))
    return State(tuple(level.figures), level)


def step(state, action):
    dr, dc = VECTORS.get(action.id, (0, 0))
    moved = []
    for (r, c), a in zip(state.places, state.level.colours):
        there = (r + (-dr if a in FLIPPED else dr), c + dc)  # R2
        moved.append(there if state.level.free(*there) else (r, c))  # R3
    return State(tuple(moved), state.level)


def render(state):
    frame = state.level.base.copy()  # R5
    for (r, c), a in zip(state.places, state.level.colours):
        for i, row in enumerate(SHAPE):
            for j, part in enumerate(row):
                frame[r + i, c + j] = (FLOOR, a, EYE)[part]  # R1
    return frame


def is_goal(state):
    return bool(state.places) and all(p in ring for p, ring in zip(state.places, state.level.rings))  # R4
