"""The worlds of docs/contract.md in which something cannot be known, played as `py:contract_worlds:SOURCE/name`."""

from types import MappingProxyType

import numpy as np

from lawbook.core.record import Observation, Status
from lawbook.worlds.world import WorldSpec


class _World:
    """Levels one after the other; each is begun anew by a reset, and is the same then."""

    def close(self):
        pass

    def reset(self):
        self.begin()
        return self.show(Status.RUNNING)

    def finish(self):
        """Go on to the next level, if there is one; the frame shows it already."""
        self.level += 1
        if self.level < self.spec.levels:
            self.begin()
        return self.show(Status.COMPLETED)


class Bar(_World):
    """A walker (1) to an exit (2) in row 0; row 1 is a bar (3), of which a cell goes out every so many actions."""

    paces = (3, 2)

    def __init__(self):
        self.spec = WorldSpec(shape=(2, 8), actions=(1, 2), levels=2, baselines=(7, 7))
        self.level = 0

    def begin(self):
        self.column, self.sent = 0, 0

    def step(self, action):
        self.column = min(max(self.column + (1 if action.id == 1 else -1), 0), 7)
        self.sent += 1
        if self.column == 7:
            return self.finish()
        return self.show(Status.OVER if self.count_left() == 0 else Status.RUNNING)

    def count_left(self):
        return 8 - self.sent // self.paces[min(self.level, 1)]

    def show(self, status):
        frame = np.zeros((2, 8), np.uint8)
        frame[0, 7], frame[0, self.column] = 2, 1
        frame[1, : self.count_left()] = 3
        return Observation((frame,), status, self.level, self.spec.actions)


class Fog(_World):
    """A walker (1) in a maze of walls (4) with an exit (2); only what is beside it is drawn, the rest is fog (9).

    24 actions, then the game is over: enough for the way, and not for the way and a dead end.
    """

    maze = np.array(
        [[int(code) for code in row] for row in ["0000004", "0444404", "0400004", "0404444", "0400004", "0444404", "0402004"]]
    )
    moves = MappingProxyType({1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)})

    def __init__(self):
        self.spec = WorldSpec(shape=(7, 7), actions=(1, 2, 3, 4), levels=1, baselines=(19,))
        self.level = 0

    def begin(self):
        self.row, self.column, self.left = 0, 0, 24

    def step(self, action):
        down, right = self.moves[action.id]
        row, column = self.row + down, self.column + right
        if 0 <= row < 7 and 0 <= column < 7 and self.maze[row, column] != 4:
            self.row, self.column = row, column
        self.left -= 1
        if self.maze[self.row, self.column] == 2:
            return self.finish()
        return self.show(Status.OVER if self.left == 0 else Status.RUNNING)

    def show(self, status):
        frame = np.full((7, 7), 9, np.uint8)
        near = np.s_[max(self.row - 1, 0) : self.row + 2, max(self.column - 1, 0) : self.column + 2]
        frame[near] = self.maze[near]
        frame[self.row, self.column] = 1
        return Observation((frame,), status, self.level, self.spec.actions)


class Lamps(_World):
    """Four lamps (5) in row 0 flash (7) one after the other as the level begins; click them in that order. Row 1 counts (8)."""

    orders = ((2, 0, 3), (1, 3, 0, 1))

    def __init__(self):
        self.spec = WorldSpec(shape=(2, 4), actions=(6,), clicks=(6,), levels=2, baselines=(3, 4))
        self.level = 0

    def begin(self):
        self.done = 0

    def step(self, action):
        if action.y != 0:
            return Observation((self.draw(),), Status.RUNNING, self.level, (6,))
        order = self.orders[self.level]
        if action.x != order[self.done]:
            return Observation((self.draw(),), Status.OVER, self.level, (6,))
        self.done += 1
        return self.finish() if self.done == len(order) else Observation((self.draw(),), Status.RUNNING, self.level, (6,))

    def draw(self, lit=None):
        frame = np.zeros((2, 4), np.uint8)
        frame[0] = [7 if column == lit else 5 for column in range(4)]
        frame[1, : self.done] = 8
        return frame

    def show(self, status):
        order = self.orders[self.level] if self.level < 2 else ()
        flashes = [self.draw(lit) for lamp in order for lit in (lamp, None)]
        return Observation((*flashes, self.draw()), status, self.level, (6,))


WORLDS = {"bar": Bar, "fog": Fog, "lamps": Lamps}


class Source:
    summary = "What cannot be known: how long a bar lasts, what lies in the fog, what flashed before."

    def names(self):
        return [(name, "") for name in WORLDS]

    def make(self, name, options):
        return WORLDS[name]()


SOURCE = Source()
