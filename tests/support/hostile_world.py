"""The world of the hostile programs, `py:hostile_world:SOURCE/counter`: every cell of 4 x 4 counts the actions since the reset."""

import numpy as np

from lawbook.core.record import Observation, Status
from lawbook.worlds.world import WorldSpec


class Counter:
    def __init__(self):
        self.spec = WorldSpec(shape=(4, 4), actions=(1, 2), levels=1, baselines=(None,))
        self.at = 0

    def reset(self):
        self.at = 0
        return self.see()

    def step(self, action):
        self.at += 1
        return self.see()

    def see(self):
        return Observation((np.full((4, 4), self.at % 256, dtype=np.uint8),), Status.RUNNING, 0, (1, 2))

    def close(self):
        pass


class Source:
    summary = "A counter."

    def names(self):
        return [("counter", "")]

    def make(self, name, options):
        return Counter()


SOURCE = Source()
