"""A garden: walk among the bushes to the gate. All that a world of one's own takes."""

from random import Random

import numpy as np

from lawbook.core.record import Action, Observation, Status
from lawbook.worlds.address import make_unknown_error
from lawbook.worlds.address_options import AddressOptions
from lawbook.worlds.world import WorldSpec

LAWN, BUSH, GATE, WALKER = range(4)
MOVES = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}


class Garden:
    def __init__(self, seed: int) -> None:
        self.ground = np.full((7, 9), LAWN, dtype=np.uint8)
        bushes = Random(seed).sample([(row, column) for row in (1, 3, 5) for column in (1, 3, 5, 7)], 8)
        for cell in bushes:  # no two of these cells touch, so there is always a way
            self.ground[cell] = BUSH
        self.ground[6, 8] = GATE
        self.spec = WorldSpec(shape=(7, 9), actions=tuple(MOVES), levels=1, baselines=(14,), palette="garden")

    def reset(self) -> Observation:
        self.at = 0, 0
        return self.observe(Status.RUNNING)

    def step(self, action: Action) -> Observation:
        row, column = self.at[0] + MOVES[action.id][0], self.at[1] + MOVES[action.id][1]
        if 0 <= row < 7 and 0 <= column < 9 and self.ground[row, column] != BUSH:
            self.at = row, column
        return self.observe(Status.COMPLETED if self.ground[self.at] == GATE else Status.RUNNING)

    def observe(self, status: Status) -> Observation:
        frame = self.ground.copy()
        frame[self.at] = WALKER
        return Observation((frame,), status, level=int(status is Status.COMPLETED), available=tuple(MOVES))

    def close(self) -> None:
        pass


class Source:
    summary = "A garden, to show how a world comes from outside."

    def names(self):
        yield "bushes?seed=3", "Walk among the bushes to the gate (seed)."

    def make(self, name, options):
        if name != "bushes":
            raise make_unknown_error("garden", name, ["bushes"])
        given = AddressOptions("garden:bushes", options)
        seed = given.get_int("seed", 0, low=0, high=999)
        given.reject_unread()
        return Garden(seed)


SOURCE = Source()
