"""A worker's answers, read as if they were forged: sizes, types and ranges, and nothing but BrokenReplyError for what is none."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lawbook.core.record import Action, Frame, Status
from lawbook.core.results import InitialObservation, NoPlan, ProgramError
from lawbook.sandbox.frame_ring import STATUSES, FrameRing
from lawbook.sandbox.zygote_server import CHANNEL_BROKEN, OUT_OF_MEMORY

ReplayCheck = Callable[[int, npt.NDArray[np.uint8], Sequence[Status]], bool]

FAULT_KINDS = ("load", "exception", "memory", "shape", "type", "exit", "forbidden", "subgoal")
_STATUSES = tuple(Status(value) for value in STATUSES)
_SEARCH_LIMITS = (None, "nodes", "depth", "seconds", "memory")


@dataclass(frozen=True)
class CandidatePlan:
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
    fault: ProgramError | None = None
    stopped: bool = False


class BrokenReplyError(Exception):
    """The worker answered something that no honest worker answers."""


class ReplayReceiver:
    """What has been taken of a replay so far."""

    def __init__(self, ring: FrameRing, n_total: int, check: ReplayCheck | None) -> None:
        self.ring = ring
        self.n_total = n_total
        self.n_received = 0
        self.frames = np.empty((n_total, *ring.frames.shape[1:]), dtype=np.uint8)
        self.statuses: list[Status] = []
        self.stopped = False
        self._check = check
        ring.n_done[0] = 0

    def can_take(self, upto: Any) -> bool:
        """Whether an honest worker can have shown `upto` frames by now."""
        return type(upto) is int and self.n_received <= upto <= min(self.n_total, self.n_received + self.ring.capacity)

    def take(self, upto: int) -> None:
        """Copy what was shown (the worker could change it while we look) and let `check` look. Raises BrokenReplyError."""
        first = self.n_received
        while self.n_received < upto:
            slot = self.n_received % self.ring.capacity
            count = min(upto - self.n_received, self.ring.capacity - slot)
            statuses = [decode_status(code) for code in self.ring.statuses[slot : slot + count]]
            self.frames[self.n_received : self.n_received + count] = self.ring.frames[slot : slot + count]
            self.statuses += statuses
            self.n_received += count
        if self._check is not None and upto > first and not self.stopped:
            self.stopped = not self._check(first, self.frames[first:upto], self.statuses[first:])


def decode_status(code: int) -> Status:
    if code >= len(_STATUSES):
        raise BrokenReplyError
    return _STATUSES[code]


BROKEN = ProgramError(
    "broken", "The program's process did not answer as it should; a program must leave file descriptors and modules alone."
)


def decode_fault(reply: Mapping[str, Any], step: Any = None) -> ProgramError:
    """A Fault that the worker reports of its program. Raises BrokenReplyError."""
    fields = reply["fault"]
    if not isinstance(fields, dict) or fields.get("kind") not in FAULT_KINDS or not isinstance(fields.get("reason"), str):
        raise BrokenReplyError
    return ProgramError(fields["kind"], _make_printable(fields["reason"]), step=step if type(step) is int else None)


def _make_printable(text: str) -> str:
    """No escape sequences for a terminal, no lone surrogates for a database, and not too long."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text[:2000])


def explain_exit(status: int | None) -> ProgramError:
    """Why a worker is gone that was not killed by us."""
    if status is None or (os.WIFEXITED(status) and os.WEXITSTATUS(status) == CHANNEL_BROKEN):
        return BROKEN
    if os.WIFSIGNALED(status):
        signal_number = os.WTERMSIG(status)
        name = signal.Signals(signal_number).name if signal_number in set(signal.Signals) else f"signal {signal_number}"
        if signal_number == signal.SIGSYS:
            return ProgramError("forbidden", "The program's process was killed for a system call that is not allowed in here.")
        return ProgramError(
            "killed", f"The program's process was killed by {name} (a crash, endless recursion, or too much memory)."
        )
    code = os.WEXITSTATUS(status)
    if code == OUT_OF_MEMORY:
        return ProgramError("memory", "The program used more memory than it may.")
    return ProgramError("exit", f"The program ended its own process (exit code {code}); return from the function instead.")


def decode_search_reply(reply: Mapping[str, Any], start: InitialObservation, depth: int, seconds: float) -> CandidatePlan | NoPlan:
    """A search's answer. Raises BrokenReplyError when no honest worker says this."""
    method, cut, nodes, rows = reply.get("method"), reply.get("cut"), reply.get("nodes"), reply.get("actions")
    if method not in ("bfs", "astar", "own") or cut not in _SEARCH_LIMITS or type(nodes) is not int or not 0 <= nodes < 1 << 62:
        raise BrokenReplyError
    has_key = reply.get("keyed") is not False
    if rows is None:
        if cut is None:
            condition = ", if states with the same key are the same" if has_key else ""
            return NoPlan(f"No state that the program can reach is a goal{condition}.", not has_key, None, nodes, seconds)
        return NoPlan(f"The search was cut by its limit ({cut}) after {nodes:,} states.", False, cut, nodes, seconds)
    if cut is not None or not isinstance(rows, list) or len(rows) > depth:
        raise BrokenReplyError
    certified = not rows or (method == "bfs" and not has_key)
    return CandidatePlan(tuple(_decode_action(row, start.frame) for row in rows), certified, None, nodes, seconds, method)


def _decode_action(row: Any, frame: Frame) -> Action:
    if not isinstance(row, list) or len(row) != 3 or type(row[0]) is not int or not 0 < row[0] < 1 << 31:
        raise BrokenReplyError
    height, width = frame.shape
    if (row[1], row[2]) != (None, None) and not (
        type(row[1]) is int and type(row[2]) is int and 0 <= row[1] < width and 0 <= row[2] < height
    ):
        raise BrokenReplyError
    return Action(*row)
