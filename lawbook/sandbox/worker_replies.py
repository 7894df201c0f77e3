"""A worker's answers, read as if they were forged: sizes, types and ranges, and nothing but BrokenReplyError for what is none."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from lawbook.core.record import Action, Frame, Status
from lawbook.core.results import InitialObservation, NoPlan, Prediction, ProgramError
from lawbook.sandbox.frame_ring import OPEN_FLAG, STATUS_SETS, STATUSES, FrameRing
from lawbook.sandbox.zygote_server import CHANNEL_BROKEN, OUT_OF_MEMORY

OpenFrames = Mapping[int, Frame]
"""By number of a rendering: its cells that are left open, H x W uint8, 0 where claimed, k under rule Uk."""
Alternatives = Mapping[int, frozenset[Status]]
"""By number of a rendering: statuses that are left possible besides its own."""
ReplayCheck = Callable[..., bool]
"""Called with the number of the first of some renderings, their frames (k x H x W uint8) and statuses; and with OpenFrames and
Alternatives where a program may leave things open. False: enough was seen."""

FAULT_KINDS = ("load", "exception", "memory", "shape", "type", "exit", "forbidden", "subgoal")
BLAMING_KINDS = ("load", "subgoal")
"""Kinds that say more than that the program failed: that it does not even load, or that somebody else's source failed."""
_STATUSES = tuple(Status(value) for value in STATUSES)
_STATUS_SETS = tuple(tuple(_STATUSES[k] for k in members) for members in STATUS_SETS)
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
    """A program's predictions along a trajectory.

    frames: k x H x W uint8, the first rendering first, our own copy; statuses: k of them.
    fault: why there are no more, with its `step` (0: initial_state or the first rendering). stopped: `check` returned False.
    open_frames, alternatives: what renderings leave open, of those that do.
    """

    frames: npt.NDArray[np.uint8]
    statuses: tuple[Status, ...]
    fault: ProgramError | None = None
    stopped: bool = False
    open_frames: OpenFrames = field(default_factory=dict)
    alternatives: Alternatives = field(default_factory=dict)

    def get_prediction(self, k: int) -> Prediction:
        """Return rendering `k` (negative: from the end) as a prediction; its frame is a copy."""
        k = range(len(self.statuses))[k]
        return Prediction(self.frames[k].copy(), self.statuses[k], self.open_frames.get(k), self.alternatives.get(k, frozenset()))


class BrokenReplyError(Exception):
    """The worker answered something that no honest worker answers."""


class ReplayReceiver:
    """The part of a replay of `n_total` renderings that has been taken so far."""

    def __init__(self, ring: FrameRing, n_total: int, check: ReplayCheck | None, open_rules: Collection[int] | None = None) -> None:
        self._open_rules = open_rules
        self.open_frames: dict[int, Frame] = {}
        self.alternatives: dict[int, frozenset[Status]] = {}
        self.ring = ring
        self.n_total = n_total
        self.n_received = 0
        self.frames = np.empty((n_total, *ring.frames.shape[1:]), dtype=np.uint8)
        self.statuses: list[Status] = []
        self.stopped = False
        self._check = check
        ring.n_done[0] = 0

    def can_take(self, upto: Any, most: int) -> bool:
        """Return whether an honest worker can have shown `upto` frames by now. most: as many as it was asked for."""
        return type(upto) is int and self.n_received <= upto <= min(most, self.n_received + self.ring.capacity)

    def take(self, upto: int) -> None:
        """Copy what was shown (the worker could change it while we look) and let `check` look. Raises BrokenReplyError."""
        first, upto = self.n_received, min(upto, self.n_total)
        while self.n_received < upto:
            slot = self.n_received % self.ring.capacity
            count = min(upto - self.n_received, self.ring.capacity - slot)
            codes = bytes(self.ring.statuses[slot : slot + count])
            self.frames[self.n_received : self.n_received + count] = self.ring.frames[slot : slot + count]
            if self._open_rules is None:
                self.statuses += [decode_status(code) for code in codes]
            else:
                for k, code in enumerate(codes):
                    self._take_open(self.n_received + k, slot + k, code)
            self.n_received += count
        if self._check is not None and upto > first and not self.stopped:
            frames, statuses = self.frames[first:upto], self.statuses[first:]
            left_open = () if self._open_rules is None else (self.open_frames, self.alternatives)
            self.stopped = not self._check(first, frames, statuses, *left_open)

    def _take_open(self, number: int, slot: int, code: int) -> None:
        """Take in a status code that may be of a set, and the cells left open. Raises BrokenReplyError."""
        status, alternatives = decode_status_set(code & ~OPEN_FLAG)
        self.statuses.append(status)
        if alternatives:
            self.alternatives[number] = alternatives
        if code & OPEN_FLAG:
            self.open_frames[number] = take_open_cells(self.frames[number], self.ring.open_cells[slot], self._open_rules or ())


def take_open_cells(frame: Frame, open_cells: Frame, open_rules: Collection[int]) -> Frame:
    """Take a private copy of the cells that a rendering leaves open; `frame` is made 0 there.

    Raises BrokenReplyError for a rule that is not there: an honest worker has refused that.
    """
    plane = open_cells.copy()
    if not set(np.unique(plane).tolist()) <= {0, *open_rules}:
        raise BrokenReplyError
    frame[plane > 0] = 0
    plane.flags.writeable = False
    return plane


def read_prediction(ring: FrameRing, open_rules: Collection[int] | None) -> Prediction:
    """Read the first rendering in the ring, copied. open_rules: None where everything must be claimed. Raises BrokenReplyError."""
    frame, code = ring.frames[0].copy(), ring.statuses[0]
    open_cells = None
    if open_rules is None:
        status, alternatives = decode_status(code), frozenset[Status]()
    else:
        status, alternatives = decode_status_set(code & ~OPEN_FLAG)
        if code & OPEN_FLAG:
            open_cells = take_open_cells(frame, ring.open_cells[0], open_rules)
    frame.flags.writeable = False
    return Prediction(frame, status, open_cells, alternatives)


def decode_status_set(code: int) -> tuple[Status, frozenset[Status]]:
    """Decode the likeliest status and the others left possible. Raises BrokenReplyError."""
    if code < len(_STATUSES):
        return _STATUSES[code], frozenset()
    if code >= len(_STATUSES) + len(_STATUS_SETS):
        raise BrokenReplyError
    members = _STATUS_SETS[code - len(_STATUSES)]
    return members[0], frozenset(members[1:])


def decode_status(code: int) -> Status:
    """Return the status of a code. Raises BrokenReplyError for a number that stands for none."""
    if code >= len(_STATUSES):
        raise BrokenReplyError
    return _STATUSES[code]


BROKEN = ProgramError(
    "broken", "The program's process did not answer as it should; a program must leave file descriptors and modules alone."
)


def decode_fault(reply: Mapping[str, Any], step: Any = None, *, may_blame: Collection[str] = ()) -> ProgramError:
    """Return the ProgramError that the worker reports of its program. Raises BrokenReplyError.

    may_blame: kinds of fault that what was asked can have (`load`, `subgoal`); a program that claims another of these has failed
    itself, since the process that says so is its own.
    """
    fields = reply["fault"]
    if not isinstance(fields, dict) or fields.get("kind") not in FAULT_KINDS or not isinstance(fields.get("reason"), str):
        raise BrokenReplyError
    kind = fields["kind"] if fields["kind"] not in BLAMING_KINDS or fields["kind"] in may_blame else "exception"
    return ProgramError(kind, _make_printable(fields["reason"]), step=step if type(step) is int else None)


def _make_printable(text: str) -> str:
    """No escape sequences for a terminal, no lone surrogates for a database, and not too long."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text[:2000])


def explain_exit(status: int | None) -> ProgramError:
    """Say why a worker is gone that was not killed by us. status: as os.waitpid gives it, None where there is none."""
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
    """Return a search's answer. Raises BrokenReplyError when no honest worker says this."""
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
