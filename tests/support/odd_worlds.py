"""Worlds that behave badly on purpose, played as `py:odd_worlds:SOURCE/name`. Every frame shows what the world was sent."""

import os
import socket
import stat
import subprocess
import sys
import time

import numpy as np

from lawbook.core.record import Action, Observation, Status
from lawbook.errors import UsageError
from lawbook.worlds.world import WorldSpec

SHAPE = (4, 6)


class Plain:
    """Row 0 of the frame: steps sent, resets sent, last x, last y. Action 2 is there after the first step, 6 is a click, 3 is game
    over, 4 truncates, 5 completes one of two levels."""

    def __init__(self):
        self.spec = WorldSpec(shape=SHAPE, actions=(1, 2, 3, 4, 5, 6), clicks=(6,), levels=2, baselines=(1, None))
        self.frame = np.zeros(SHAPE, dtype=np.uint8)  # one array, drawn over again and again
        self.level = 0

    def reset(self):
        self.frame[0, 1] += 1
        return self.see(Status.RUNNING)

    def step(self, action: Action):
        self.frame[0, 0] += 1
        if action.x is not None:
            self.frame[0, 2:4] = action.x, action.y
        self.level += action.id == 5
        return self.see({3: Status.OVER, 4: Status.TRUNCATED, 5: Status.COMPLETED}.get(action.id, Status.RUNNING))

    def see(self, status):
        available = (1, 2, 3, 4, 5, 6) if self.frame[0, 0] else (1, 3, 4, 5, 6)
        return Observation((self.frame,), status, self.level, available)

    def close(self):
        pass


class Noisy(Plain):
    def step(self, action):
        print("x" * 300_000)
        os.write(1, b"straight to the descriptor\n" * 1000)
        print("and to stderr", file=sys.stderr)
        return super().step(action)


class Hangs(Plain):
    def step(self, action):
        print("now I sleep")
        time.sleep(1000)


class HangsAtReset(Plain):
    def reset(self):
        print("now I sleep")
        time.sleep(1000)


class Dies(Plain):
    def step(self, action):
        print("farewell", file=sys.stderr)
        os._exit(7)


class Raises(Plain):
    def step(self, action):
        raise KeyError("two\nlines")


class Garbles(Plain):
    def step(self, action):
        for descriptor in range(3, 64):
            try:
                if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                    socket.socket(fileno=os.dup(descriptor)).sendall(b"this is no message at all")
            except OSError:
                continue
        return super().step(action)


class Breaks(Plain):
    """Answers the first step with whatever `answer` makes of a good observation."""

    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def step(self, action):
        good = super().step(action)
        parts = {"frames": good.frames, "status": good.status, "level": good.level, "available": good.available}
        return Observation(**(parts | self.answer))


class BadSpec(Plain):
    def __init__(self):
        super().__init__()
        self.spec = WorldSpec(shape=SHAPE, actions=(0, 1))


class Parent(Plain):
    """Starts a process of its own and shows its number in row 1, digit by digit."""

    def __init__(self):
        super().__init__()
        child = subprocess.Popen(["sleep", "1000"])
        digits = [int(digit) for digit in f"{child.pid:012d}"]
        self.frame[1, :], self.frame[2, :] = digits[:6], digits[6:]


class Environment(Plain):
    """Shows in row 1: how many environment variables look like keys, and whether LAWBOOK_ODD was passed on."""

    def __init__(self):
        super().__init__()
        self.frame[1, 0] = sum("KEY" in name or "TOKEN" in name for name in os.environ)
        self.frame[1, 1] = "LAWBOOK_ODD" in os.environ


BROKEN = {
    "shape": {"frames": (np.zeros((6, 4), dtype=np.uint8),)},
    "shapes": {"frames": (np.zeros(SHAPE, dtype=np.uint8), np.zeros((1, 1), dtype=np.uint8))},
    "no-frames": {"frames": ()},
    "fractions": {"frames": (np.full(SHAPE, 0.5),)},
    "beyond-255": {"frames": (np.full(SHAPE, 256),)},
    "three-dimensions": {"frames": (np.zeros((4, 6, 3), dtype=np.uint8),)},
    "status": {"status": "splendid"},
    "level": {"level": 1},
    "completed": {"status": Status.COMPLETED},
    "available": {"available": (1, 99)},
}
ODD = {
    "plain": Plain,
    "noisy": Noisy,
    "hangs": Hangs,
    "hangs-at-reset": HangsAtReset,
    "dies": Dies,
    "raises": Raises,
    "garbles": Garbles,
    "bad-spec": BadSpec,
    "parent": Parent,
    "environment": Environment,
    **{name: lambda answer=answer: Breaks(answer) for name, answer in BROKEN.items()},
}


class OddSource:
    summary = "Odd worlds."

    def names(self):
        return [(name, "") for name in ODD]

    def make(self, name, options):
        if name == "refuses":
            raise UsageError("odd:refuses takes no guests; ask for another.")
        if name == "explodes":
            raise RuntimeError("no fuel")
        if name == "needs":
            pass
        return ODD[name]()


SOURCE = OddSource()
