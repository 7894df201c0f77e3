"""A worker's answers, read as if they were forged: sizes, types and ranges, and nothing but BrokenAnswerError for what is none."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lawbook.core.record import Action, Frame, Status
from lawbook.core.results import Fault, NoPlan, Start
from lawbook.sandbox.frame_ring import STATUSES, Ring
from lawbook.sandbox.zygote_server import DISTURBED, OUT_OF_MEMORY

Check = Callable[[int, npt.NDArray[np.uint8], Sequence[Status]], bool]

KINDS = ("load", "exception", "memory", "shape", "type", "exit", "forbidden", "subgoal")
_STATUSES = tuple(Status(value) for value in STATUSES)
_CUTS = (None, "nodes", "depth", "seconds", "memory")


@dataclass(frozen=True)
class Found:
    """A way that a search found, not yet rolled (actions empty: the goal holds already). The fields are those of Plan."""

    actions: tuple[Action, ...]
    certified: bool
    cut: str | None
    nodes: int
    seconds: float
    method: str


@dataclass(frozen=True, eq=False)
class Replay:
    """What a program predicts along a trajectory.

    frames: k x H x W uint8, the first rendering first, our own copy; statuses: k of them.
    fault: why there are no more, with its `step` (0: initial_state or the first rendering). stopped: `check` returned False.
    """

    frames: npt.NDArray[np.uint8]
    statuses: tuple[Status, ...]
    fault: Fault | None = None
    stopped: bool = False


class BrokenAnswerError(Exception):
    """The worker answered something that no honest worker answers."""


class Incoming:
    """What has been taken of a replay so far."""

    def __init__(self, ring: Ring, total: int, check: Check | None) -> None:
        self.ring = ring
        self.total = total
        self.taken = 0
        self.frames = np.empty((total, *ring.frames.shape[1:]), dtype=np.uint8)
        self.statuses: list[Status] = []
        self.stopped = False
        self._check = check
        ring.done[0] = 0

    def may_take(self, upto: Any) -> bool:
        """Whether an honest worker can have shown `upto` frames by now."""
        return type(upto) is int and self.taken <= upto <= min(self.total, self.taken + self.ring.capacity)

    def take(self, upto: int) -> None:
        """Copy what was shown (the worker could change it while we look) and let `check` look. Raises BrokenAnswerError."""
        at = self.taken
        while self.taken < upto:
            slot = self.taken % self.ring.capacity
            count = min(upto - self.taken, self.ring.capacity - slot)
            statuses = [status_of(code) for code in self.ring.statuses[slot : slot + count]]
            self.frames[self.taken : self.taken + count] = self.ring.frames[slot : slot + count]
            self.statuses += statuses
            self.taken += count
        if self._check is not None and upto > at and not self.stopped:
            self.stopped = not self._check(at, self.frames[at:upto], self.statuses[at:])


def status_of(code: int) -> Status:
    if code >= len(_STATUSES):
        raise BrokenAnswerError
    return _STATUSES[code]


BROKEN = Fault(
    "broken", "The program's process did not answer as it should; a program must leave file descriptors and modules alone."
)


def told_fault(answer: Mapping[str, Any], step: Any = None) -> Fault:
    """A Fault that the worker reports of its program. Raises BrokenAnswerError."""
    told = answer["fault"]
    if not isinstance(told, dict) or told.get("kind") not in KINDS or not isinstance(told.get("reason"), str):
        raise BrokenAnswerError
    return Fault(told["kind"], _printable(told["reason"]), step=step if type(step) is int else None)


def _printable(text: str) -> str:
    """No escape sequences for a terminal, no lone surrogates for a database, and not too long."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text[:2000])


def why_gone(status: int | None) -> Fault:
    """Why a worker is gone that was not killed by us."""
    if status is None or (os.WIFEXITED(status) and os.WEXITSTATUS(status) == DISTURBED):
        return BROKEN
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
        if number == signal.SIGSYS:
            return Fault("forbidden", "The program's process was killed for a system call that is not allowed in here.")
        return Fault("killed", f"The program's process was killed by {name} (a crash, endless recursion, or too much memory).")
    code = os.WEXITSTATUS(status)
    if code == OUT_OF_MEMORY:
        return Fault("memory", "The program used more memory than it may.")
    return Fault("exit", f"The program ended its own process (exit code {code}); return from the function instead.")


def found_way(answer: Mapping[str, Any], start: Start, depth: int, seconds: float) -> Found | NoPlan:
    """A search's answer. Raises BrokenAnswerError when no honest worker says this."""
    method, cut, nodes, rows = answer.get("method"), answer.get("cut"), answer.get("nodes"), answer.get("actions")
    if method not in ("bfs", "astar", "own") or cut not in _CUTS or type(nodes) is not int or not 0 <= nodes < 1 << 62:
        raise BrokenAnswerError
    folded = answer.get("keyed") is not False
    if rows is None:
        if cut is None:
            merged = ", if states with the same key are the same" if folded else ""
            return NoPlan(f"No state that the program can reach is a goal{merged}.", not folded, None, nodes, seconds)
        return NoPlan(f"The search was cut by its limit ({cut}) after {nodes:,} states.", False, cut, nodes, seconds)
    if cut is not None or not isinstance(rows, list) or len(rows) > depth:
        raise BrokenAnswerError
    certified = not rows or (method == "bfs" and not folded)
    return Found(tuple(_action(row, start.frame) for row in rows), certified, None, nodes, seconds, method)


def _action(row: Any, frame: Frame) -> Action:
    if not isinstance(row, list) or len(row) != 3 or type(row[0]) is not int or not 0 < row[0] < 1 << 31:
        raise BrokenAnswerError
    height, width = frame.shape
    if (row[1], row[2]) != (None, None) and not (
        type(row[1]) is int and type(row[2]) is int and 0 <= row[1] < width and 0 <= row[2] < height
    ):
        raise BrokenAnswerError
    return Action(*row)
