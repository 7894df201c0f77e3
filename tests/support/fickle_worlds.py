"""Worlds for tests of the command line, played as `py:fickle_worlds:SOURCE/name`: one fickle, one slow, one that dies."""

import os
import time

import numpy as np

from lawbook.core.record import Observation, Status
from lawbook.worlds.world import WorldSpec


class Walk:
    """A marker on a ring of eight cells; action 1 moves it on, action 2 ends the level badly."""

    seconds = 0.0

    def __init__(self):
        self.spec = WorldSpec(shape=(1, 8), actions=(1, 2), levels=1, baselines=(None,))
        self.at = self.steps = 0

    def reset(self):
        self.at = 0
        return self.see(Status.RUNNING)

    def step(self, action):
        time.sleep(self.seconds)
        self.at = (self.at + 1) % 8
        self.steps += 1
        return self.see(Status.OVER if action.id == 2 else Status.RUNNING)

    def see(self, status):
        frame = np.zeros((1, 8), dtype=np.uint8)
        frame[0, self.at] = 1
        return Observation((frame,), status, 0, (1, 2))

    def close(self):
        pass


class Fickle(Walk):
    """After three steps, what the same history shows depends on how many have gone before."""

    def step(self, action):
        observation = super().step(action)
        if self.steps > 3:
            observation.frame[0, 7] = self.steps
        return observation


class Restless(Walk):
    """Every reset begins one cell further on."""

    resets = 0

    def reset(self):
        self.resets += 1
        self.at = self.resets % 8
        return self.see(Status.RUNNING)


class Slow(Walk):
    seconds = 0.3


class Dies(Walk):
    def step(self, action):
        os._exit(7)


class Mute(Walk):
    def reset(self):
        raise RuntimeError("nothing to see")


WORLDS = {"walk": Walk, "fickle": Fickle, "restless": Restless, "slow": Slow, "dies": Dies, "mute": Mute}


class Source:
    summary = "Worlds that try the patience of a command line."

    def names(self):
        return [(name, "") for name in WORLDS]

    def make(self, name, options):
        return WORLDS[name]()


SOURCE = Source()
