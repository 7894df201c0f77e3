"""Our hold on one worker: what it is asked, and its answers read as if they were forged."""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from lawbook import wire
from lawbook.answers import Fault, Limits, NoPlan, Prediction, Start
from lawbook.errors import HostError
from lawbook.host.ring import MAX_FRAME, SIZE, STATUSES, Ring, create
from lawbook.host.spawn import Zygote
from lawbook.host.zygote import DISTURBED, OUT_OF_MEMORY
from lawbook.record import Action, Frame, Status, freeze

Check = Callable[[int, npt.NDArray[np.uint8], Sequence[Status]], bool]

AVERAGE_STEP_SECONDS = 0.05
"""A replay of n steps may take n times this, and the time of two single steps, in all."""
MAX_ANSWER = 1 << 20
KINDS = frozenset(("load", "exception", "memory", "shape", "type", "exit", "forbidden"))
_STATUSES = tuple(Status(value) for value in STATUSES)
_CUTS = (None, "nodes", "depth", "seconds", "memory")
_LOOK_SECONDS = 0.05


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


class Worker:
    """A fresh sandboxed process with a program in it. A context manager; `close` kills its whole process group.

    Every call ends within its time limit. A program that fails gives a Fault; one that takes its process down gives the same Fault
    again to every later call.
    """

    def __init__(self, zygote: Zygote, *, step_seconds: float, clicks: Collection[int] = ()) -> None:
        self._zygote = zygote
        self._step_seconds = step_seconds
        self._clicks = tuple(clicks)
        self._sock, theirs = socket.socketpair()
        memory = create()
        try:
            self._memory = mmap.mmap(memory, SIZE)
            self._pid: int | None = zygote.fork(theirs, memory)
        finally:
            theirs.close()
            os.close(memory)
        self._number = 0
        self._gone: Fault | None = None
        self._replaying = False
        self._start: Start | None = None  # None: it stands nowhere
        self._stepped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._gone = self._gone or Fault("killed", "The worker was closed.")
        self._sock.close()
        if self._pid is not None:
            pid, self._pid = self._pid, None
            with contextlib.suppress(HostError):  # the zygote is gone, and its workers with it
                self._zygote.end(pid)

    def load(self, files: Mapping[str, str], engine: str) -> Fault | None:
        """Import the program. For Program; called once."""
        answer = self._ask({"op": "load", "files": dict(files), "engine": engine}, self._step_seconds, "loading the program")
        return answer if isinstance(answer, Fault) else None

    def attempts(self, secret: str, folder: str) -> dict[str, str]:
        """What came of trying what must not work (sandbox.attempts). For Host, in place of a program."""
        answer = self._ask({"op": "attempts", "secret": secret, "folder": folder}, 30.0, "the self-test")
        if isinstance(answer, Fault):
            raise HostError(f"The sandbox's self-test failed ({answer.reason}); run it on another machine or in a container.")
        return {str(name): str(value) for name, value in answer["facts"].items()}

    def replay(self, start: Start, actions: Sequence[Action], check: Check | None = None) -> Replay:
        """Initialise once from `start`, then step over `actions`. Number 0 is the first rendering. Starts anew when called again.

        `check(at, frames, statuses)` is called in order with successive pieces (at: number of the first of them; frames: a view,
        n x H x W) while the worker computes the next ones; returning False stops it early, and the worker then stands nowhere.
        """
        height, width = start.frame.shape
        if height * width > MAX_FRAME:
            raise HostError(f"A frame of {height} x {width} is larger than a worker can show ({MAX_FRAME:,} cells).")
        total = len(actions) + 1
        self._start, self._stepped = None, False
        incoming = _Incoming(Ring(self._memory, (height, width)), total, check)
        request = {
            "op": "replay",
            "shape": (height, width),
            "level": start.level,
            "available": start.available,
            "clicks": self._clicks,
            "actions": actions,
        }
        fault = self._begin(request, [np.ascontiguousarray(start.frame, dtype=np.uint8).tobytes()])
        if fault is None:
            self._replaying = True
            fault = self._follow(incoming, 2 * self._step_seconds + total * AVERAGE_STEP_SECONDS)
        if fault is None and not incoming.stopped:
            self._start = start
        return Replay(incoming.frames[: incoming.taken], tuple(incoming.statuses), fault, incoming.stopped)

    def step(self, action: Action) -> Prediction | Fault:
        """One live step from where the worker stands: after a replay, or an earlier step."""
        start = self._standing()
        self._stepped = True
        answer = self._ask({"op": "step", "action": action}, self._step_seconds, f"step (action {action})")
        if isinstance(answer, Fault):
            self._start = None
            return answer
        ring = Ring(self._memory, (start.frame.shape[0], start.frame.shape[1]))
        try:
            return Prediction(freeze(ring.frames[0]), _status(ring.statuses[0]))
        except BrokenAnswerError:
            return self._broken()

    def holds(self, goal: str | None = None) -> bool | Fault:
        """is_goal, or the source of `def subgoal(state) -> bool`, on the present state."""
        self._standing()
        answer = self._ask({"op": "holds", "goal": goal}, self._step_seconds, "is_goal" if goal is None else "subgoal")
        if isinstance(answer, Fault):
            return answer
        return answer["holds"] if isinstance(answer.get("holds"), bool) else self._broken()

    def search(self, limits: Limits, goal: str | None = None) -> Found | NoPlan | Fault:
        """The shortest way from the present state to is_goal, or to the source of `def subgoal(state) -> bool`.

        `limits.depth` must be given. Raises RuntimeError in a worker that has stepped live: its program may carry traces of that.
        """
        start = self._standing()
        if self._stepped:
            raise RuntimeError("a worker that has stepped live is never searched in; replay in a fresh one")
        if limits.depth is None:
            raise RuntimeError("a search needs a depth: the remaining budget")
        request = {"op": "search", "goal": goal, "nodes": limits.nodes, "depth": limits.depth, "seconds": limits.seconds}
        began = time.monotonic()
        answer = self._ask(request, limits.seconds + self._step_seconds, f"the search (it may take {limits.seconds:g} s)")
        seconds = time.monotonic() - began
        if isinstance(answer, Fault):
            return answer
        try:
            return _found(answer, start, limits.depth, seconds)
        except BrokenAnswerError:
            return self._broken()

    def _standing(self) -> Start:
        if self._start is None:
            raise RuntimeError("this worker stands nowhere; replay a trajectory in it first")
        return self._start

    def _ask(self, request: dict[str, Any], seconds: float, doing: str) -> dict[str, Any] | Fault:
        """One request and its answer."""
        fault = self._begin(request)
        answer = fault or self._receive(seconds, doing)
        if isinstance(answer, Fault):
            return answer
        try:
            return _told(answer) if "fault" in answer else answer
        except BrokenAnswerError:
            return self._broken()

    def _begin(self, request: dict[str, Any], blobs: Sequence[bytes] = ()) -> Fault | None:
        """Send a request, after an earlier replay that was stopped has come to its end."""
        if self._replaying and self._gone is None:
            self._say({"go": False})
            while self._replaying:
                answer = self._receive(self._step_seconds, "stopping a replay")
                self._replaying = not isinstance(answer, Fault) and answer.get("done") is not True
        self._number += 1
        return self._gone or self._say({**request, "n": self._number}, blobs)

    def _say(self, message: dict[str, Any], blobs: Sequence[bytes] = ()) -> Fault | None:
        self._sock.settimeout(self._step_seconds)  # a worker that does not listen must not hold us up
        try:
            wire.send(self._sock, message, blobs)
        except wire.BrokenWireError:
            return self._hung_up()
        return None

    def _receive(self, seconds: float, doing: str) -> dict[str, Any] | Fault:
        try:
            answer, _ = wire.receive(self._sock, seconds=seconds, max_header=MAX_ANSWER, max_blobs=0)
        except wire.BrokenWireError as error:
            text = str(error)
            if text.startswith("timeout"):
                return self._late(doing, seconds)
            return self._broken() if text.startswith("malformed") else self._hung_up()
        return answer if answer.get("n") == self._number else self._broken()

    def _follow(self, incoming: _Incoming, seconds: float) -> Fault | None:
        """Take what a replay shows, piece by piece, until it ends, stalls, or was stopped."""
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        done, alive = 0, time.monotonic()
        deadline = alive + seconds
        while True:
            now = time.monotonic()
            if now > deadline:
                return self._abandoned(incoming, self._late("the replay", seconds))
            if not poll.poll(_LOOK_SECONDS * 1000):
                if incoming.ring.done[0] != done:
                    done, alive = incoming.ring.done[0], now
                elif now - alive > self._step_seconds:
                    return self._abandoned(incoming, self._late("one step", self._step_seconds))
                continue
            answer = self._receive(self._step_seconds, "an answer")
            if isinstance(answer, Fault):
                return self._abandoned(incoming, answer)
            upto: Any = answer.get("upto")
            ended = answer.get("done") is True
            try:
                fault = _told(answer, step=upto) if ended and "fault" in answer else None
                if not incoming.may_take(upto) or (ended and fault is None and upto != incoming.total):
                    raise BrokenAnswerError
                incoming.take(upto)
            except BrokenAnswerError:
                return self._abandoned(incoming, self._broken())
            self._replaying = not ended
            if incoming.stopped:
                return None
            if ended:
                return fault
            self._say({"go": True})
            alive = time.monotonic()

    def _abandoned(self, incoming: _Incoming, fault: Fault) -> Fault:
        """The worker is dead: take what it had finished, and say at which step it ended."""
        self._replaying = False
        done = incoming.ring.done[0]
        step = done if incoming.may_take(done) else incoming.taken
        if fault.kind != "broken":
            try:
                incoming.take(step)
            except BrokenAnswerError:
                fault = _BROKEN
        self._gone = Fault(fault.kind, fault.reason, step=min(step, incoming.total - 1))
        return self._gone

    def _late(self, doing: str, seconds: float) -> Fault:
        sentence = f"{doing[0].upper()}{doing[1:]} took longer than {seconds:g} s; is there an endless loop?"
        return self._end(Fault("time", sentence), 0.0)

    def _broken(self) -> Fault:
        return self._end(_BROKEN, 0.0)

    def _hung_up(self) -> Fault:
        return self._end(None, 0.5)

    def _end(self, fault: Fault | None, grace: float) -> Fault:
        """Kill it. `fault` None: it hung up, and how it ended says why."""
        if self._gone is None:
            pid, self._pid = self._pid, None
            status = self._zygote.end(pid, grace) if pid is not None else None
            self._gone = fault or _ended(status)
        return self._gone


class _Incoming:
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
            self.frames[self.taken : self.taken + count] = self.ring.frames[slot : slot + count]
            self.statuses += map(_status, self.ring.statuses[slot : slot + count])
            self.taken += count
        if self._check is not None and upto > at and not self.stopped:
            self.stopped = not self._check(at, self.frames[at:upto], self.statuses[at:])


def _status(code: int) -> Status:
    if code >= len(_STATUSES):
        raise BrokenAnswerError
    return _STATUSES[code]


_BROKEN = Fault(
    "broken", "The program's process did not answer as it should; a program must leave file descriptors and modules alone."
)


def _told(answer: Mapping[str, Any], step: Any = None) -> Fault:
    """A Fault that the worker reports of its program. Raises BrokenAnswerError."""
    told = answer["fault"]
    if not isinstance(told, dict) or told.get("kind") not in KINDS or not isinstance(told.get("reason"), str):
        raise BrokenAnswerError
    return Fault(told["kind"], told["reason"][:2000], step=step if type(step) is int else None)


def _ended(status: int | None) -> Fault:
    """Why a worker is gone that was not killed by us."""
    if status is None or (os.WIFEXITED(status) and os.WEXITSTATUS(status) == DISTURBED):
        return _BROKEN
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


def _found(answer: Mapping[str, Any], start: Start, depth: int, seconds: float) -> Found | NoPlan:
    """A search's answer. Raises BrokenAnswerError when no honest worker says this."""
    method, cut, nodes, rows = answer.get("method"), answer.get("cut"), answer.get("nodes"), answer.get("actions")
    if method not in ("bfs", "astar", "own") or cut not in _CUTS or type(nodes) is not int or not 0 <= nodes < 1 << 62:
        raise BrokenAnswerError
    shortest = answer.get("shortest") is True and method == "bfs"
    if rows is None:
        if cut is None:
            return NoPlan("No state that the program can reach is a goal.", answer.get("shortest") is True, None, nodes, seconds)
        return NoPlan(f"The search was cut by its limit ({cut}) after {nodes:,} states.", False, cut, nodes, seconds)
    if cut is not None or not isinstance(rows, list) or len(rows) > depth:
        raise BrokenAnswerError
    return Found(tuple(_action(row, start.frame) for row in rows), shortest, None, nodes, seconds, method)


def _action(row: Any, frame: Frame) -> Action:
    if not isinstance(row, list) or len(row) != 3 or type(row[0]) is not int or not 0 < row[0] < 1 << 31:
        raise BrokenAnswerError
    height, width = frame.shape
    if (row[1], row[2]) != (None, None) and not (
        type(row[1]) is int and type(row[2]) is int and 0 <= row[1] < width and 0 <= row[2] < height
    ):
        raise BrokenAnswerError
    return Action(*row)
