"""A world for the benchmarks that never shows the same twice: `py:conveyor:SOURCE/belt`, and the program that predicts it.

64 x 64 cells, eight frames an action, nobody wins: a block moves along a belt, and a counter on the wall counts the actions. With
PYTHONPATH (or sys.path) on this folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from lawbook.core.record import Action, Observation, Status
from lawbook.worlds.world import WorldSpec

ADDRESS = "py:conveyor:SOURCE/belt"
FRAMES = 8
BOOK = "R1. Actions 1 and 2 move the block right and left by eight cells, around.\nR2. The wall counts the actions, in binary.\n"
PROGRAM = """
import numpy as np

def initial_state(observation):
    return 0, 0

def step(state, action):
    at, count = state
    return (at + (8 if action.id == 1 else -8)) % 64, count + 1  # R1

def render(state):
    at, count = state
    frame = np.zeros((64, 64), dtype=np.uint8)
    frame[40:48, [(at + k) % 64 for k in range(4)]] = 9  # R1
    for k in range(16):  # R2
        frame[2:6, 4 * k : 4 * k + 4] = 3 + (count >> k & 1)
    return frame

def is_goal(state):
    return False
"""


def drawn(at: int, count: int) -> npt.NDArray[np.uint8]:
    """What the belt shows with the block at column `at` after `count` actions, 64 x 64 uint8."""
    frame = np.zeros((64, 64), dtype=np.uint8)
    frame[40:48, [(at + k) % 64 for k in range(4)]] = 9
    frame[2:6] = np.repeat([3 + (count >> k & 1) for k in range(16)], 4)
    return frame


class Belt:
    """Action 1 moves the block to the right, 2 to the left, a cell a frame."""

    def __init__(self) -> None:
        self.spec = WorldSpec(shape=(64, 64), actions=(1, 2), levels=1, baselines=(None,))
        self._at = self._count = 0

    def reset(self) -> Observation:
        self._at = self._count = 0
        return Observation((drawn(0, 0),), Status.RUNNING, 0, (1, 2))

    def step(self, action: Action) -> Observation:
        way = 1 if action.id == 1 else -1
        self._count += 1
        frames = tuple(drawn(self._at + way * k, self._count) for k in range(1, FRAMES + 1))
        self._at = (self._at + way * FRAMES) % 64
        return Observation(frames, Status.RUNNING, 0, (1, 2))

    def close(self) -> None:
        pass


class Source:
    summary = "A belt for the benchmarks."

    def names(self) -> Sequence[tuple[str, str]]:
        return [("belt", "a block on a belt, a counter on the wall")]

    def make(self, name: str, options: Mapping[str, str]) -> Belt:
        return Belt()


SOURCE = Source()
