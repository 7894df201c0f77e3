"""Hypotheses about demo:lights for tests, as a language model would write them: a true one, and one that is wrong."""

from __future__ import annotations

from lawbook.core.hypothesis import ENGINE, Hypothesis

WORLD = "demo:lights?seed=0"
CLICKS = (3, 4, 5, 6)
"""Fewest, by level."""

_BOOK = """\
R1. A lamp is an 8 x 8 block with a ring of colour 7 (dark) or 8 (lit) around a middle of 1 or 0, on a board of colour 1.
R2. A click on a lamp switches it{beside}. A click elsewhere does nothing.
R3. When every lamp is lit the level is completed.
Q1. Is there anything else that can be clicked?
"""
BESIDE = " and the lamps right beside it, above it and below it"

_PROGRAM = """\
from typing import NamedTuple

import numpy as np

SIDE = 8


class State(NamedTuple):
    ground: bytes
    shape: tuple[int, int]
    lamps: frozenset
    dark: frozenset


def initial_state(observation):
    frame = observation["frame"]
    height, width = frame.shape
    lamps, dark = set(), set()
    for row in range(0, height - SIDE + 1, 4):  # R1
        for column in range(0, width - SIDE + 1, 4):
            block = frame[row : row + SIDE, column : column + SIDE]
            if is_lamp(block):
                lamps.add((row, column))
                if block[0, 3] == 7:
                    dark.add((row, column))
    return State(frame.tobytes(), frame.shape, frozenset(lamps), frozenset(dark))


def is_lamp(block):
    ring, middle = block[0, 3], block[3, 3]
    sides = block[7, 3] == block[3, 0] == block[3, 7] == ring
    return sides and (ring, middle) in ((7, 1), (8, 0))


def step(state, action):
    if action.x is None:
        return state
    hit = next((lamp for lamp in state.lamps if 0 <= action.y - lamp[0] < SIDE and 0 <= action.x - lamp[1] < SIDE), None)
    if hit is None:
        return state
    return state._replace(dark=state.dark ^ (switched(hit) & state.lamps))  # R2


def switched(lamp):
    row, column = lamp
    return frozenset({lamp}){beside}


def render(state):
    frame = np.frombuffer(state.ground, dtype=np.uint8).reshape(state.shape).copy()
    for row, column in state.lamps:  # R1
        block = frame[row : row + SIDE, column : column + SIDE]
        ring, middle = (7, 1) if (row, column) in state.dark else (8, 0)
        block[:, 2:6] = block[2:6, :] = ring
        block[2:6, 2:6] = middle
    return frame


def is_goal(state):
    return not state.dark  # R3


def actions(state):
    return [(6, column + 3, row + 3) for row, column in sorted(state.lamps)]
"""

_CODE_BESIDE = " | {(row, column - SIDE), (row, column + SIDE), (row - SIDE, column), (row + SIDE, column)}"


def _hypothesis(book: str, code: str) -> Hypothesis:
    return Hypothesis(_BOOK.replace("{beside}", book), {ENGINE: _PROGRAM.replace("{beside}", code)})


TRUE = _hypothesis(BESIDE, _CODE_BESIDE)
WRONG = _hypothesis("", "")
"""Says, and does, that a click switches one lamp alone."""
UNFAITHFUL = _hypothesis(BESIDE, "")
"""Says what is true, and does otherwise. Holds on a record of one frame."""
