"""Worlds that lie about themselves, played as `py:lying_worlds:SOURCE/name`. Action 1 does what the name says; 2 does nothing."""

import numpy as np

from lawbook.core.record import Observation, Status
from lawbook.worlds.world import WorldSpec

R, C = Status.RUNNING, Status.COMPLETED
LIES = {
    "jumps": [(C, 2)],
    "sinks": [(C, 1), (R, 0)],
    "sinks-when-over": [(C, 1), (Status.OVER, 0)],
    "goes-beyond": [(C, 7)],
    "completes-nothing": [(C, 0)],
    "rises-unsaid": [(R, 1)],
}
"""What each answers to action 1, one after the other: status and level of three."""


class Liar:
    """A 1 x 4 frame that shows how many steps were sent."""

    available, opens, again = (1, 2), 0, 0
    spec = WorldSpec(shape=(1, 4), actions=(1, 2), levels=3, baselines=(1, None, None))

    def __init__(self, script=()):
        self.script, self.sent, self.resets, self.level = list(script), 0, 0, 0

    def reset(self):
        self.resets += 1
        self.level = self.opens if self.resets == 1 else self.again
        return self.see(R)

    def step(self, action):
        self.sent += 1
        status = R
        if action.id == 1 and self.script:
            status, self.level = self.script.pop(0)
        return self.see(status)

    def see(self, status):
        return Observation((np.full((1, 4), self.sent % 256, dtype=np.uint8),), status, self.level, self.available)

    def close(self):
        pass


class NothingToDo(Liar):
    available = ()


class OpensBeyond(Liar):
    opens = 9


class RisesAtReset(Liar):
    again = 1


class Shouts(Liar):
    def step(self, action):
        raise ValueError("\x1b[2J" + "x" * 10_000_000)


class HalfALevel(Liar):
    spec = WorldSpec(shape=(1, 4), actions=(1, 2), levels=2.5)  # type: ignore[arg-type]


class Endless(Liar):
    spec = WorldSpec(shape=(float("inf"), 4), actions=(1, 2))  # type: ignore[arg-type]


class BelowNothing(Liar):
    spec = WorldSpec(shape=(1, 4), actions=(-1, 1))


class Boundless(Liar):
    spec = WorldSpec(shape=(1 << 20, 1 << 20), actions=(1, 2))


class WordyBaselines(Liar):
    spec = WorldSpec(shape=(1, 4), actions=(1, 2), levels=1, baselines=("six",))  # type: ignore[arg-type]


WORLDS = {
    "honest": Liar,
    "nothing-to-do": NothingToDo,
    "opens-beyond": OpensBeyond,
    "rises-at-reset": RisesAtReset,
    "shouts": Shouts,
    "half-a-level": HalfALevel,
    "below-nothing": BelowNothing,
    "endless": Endless,
    "boundless": Boundless,
    "wordy-baselines": WordyBaselines,
    **{name: lambda script=script: Liar(script) for name, script in LIES.items()},
}


class Source:
    summary = "Worlds that lie."

    def names(self):
        return [(name, "") for name in WORLDS]

    def make(self, name, options):
        return WORLDS[name]()


SOURCE = Source()
