"""Worlds in which what lies ahead shows only from beside it, played as `py:corridors:SOURCE/name`."""

import numpy as np

from lawbook.core.record import Observation, Status
from lawbook.worlds.world import WorldSpec

LENGTH, TREASURE = 14, 12


class Corridor:
    """A walker (row 0) and what lies where (row 1: 9 fog, lifted beside it; 5 the treasure). 1 goes right, 2 left."""

    treasure = TREASURE

    def __init__(self):
        self.spec = WorldSpec(shape=(2, LENGTH), actions=(1, 2), levels=1, baselines=(None,))
        self.reset()

    def reset(self):
        self.at, self.seen = 0, {0, 1}
        return self.see(Status.RUNNING)

    def step(self, action):
        self.at = max(0, min(LENGTH - 1, self.at + (1 if action.id == 1 else -1)))
        self.seen |= {self.at - 1, self.at, self.at + 1}
        return self.see(Status.COMPLETED if self.at == self.treasure else Status.RUNNING)

    def see(self, status):
        frame = np.zeros((2, LENGTH), np.uint8)
        frame[0, self.at] = 1
        frame[1] = [(5 if k == self.treasure else 0) if k in self.seen else 9 for k in range(LENGTH)]
        return Observation((frame,), status, int(status is Status.COMPLETED), (1, 2))

    def close(self):
        pass


class Near(Corridor):
    """The treasure is three steps away."""

    treasure = 3


class Forgetful(Corridor):
    """The same actions from the same start show something else after the second reset: what differs shows nowhere."""

    resets = 0

    def reset(self):
        self.resets += 1
        self.treasure = 4 if self.resets < 3 else 5
        return super().reset()


WORLDS = {"far": Corridor, "near": Near, "forgetful": Forgetful}


class Source:
    summary = "Corridors whose ends show late."

    def names(self):
        return [(name, "") for name in WORLDS]

    def make(self, name, options):
        return WORLDS[name]()


SOURCE = Source()
