"""Our hold on one worker: what it is asked, and the wall clock over it."""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import socket
import time
from collections.abc import Collection, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np

from lawbook.core import ipc
from lawbook.core.record import Action, freeze
from lawbook.core.results import Fault, Limits, NoPlan, Prediction, Start
from lawbook.errors import HostError
from lawbook.sandbox.frame_ring import MAX_FRAME, SIZE, Ring, create
from lawbook.sandbox.output_buffer import Pad
from lawbook.sandbox.worker_replies import (
    BROKEN,
    BrokenAnswerError,
    Check,
    Found,
    Incoming,
    Replay,
    found_way,
    status_of,
    told_fault,
    why_gone,
)
from lawbook.sandbox.zygote_client import Zygote

__all__ = ["Check", "Found", "Replay", "Worker"]

AVERAGE_STEP_SECONDS, AVERAGE_START_SECONDS = 0.05, 0.25
"""All replays of a worker may take these for each step and each start, and the time of two single steps on top, once."""
MAX_ANSWER = 4 << 20
_LOOK_SECONDS, _LONGEST_SECONDS = 0.05, 1e6


class Worker:
    """A fresh sandboxed process with a program in it. A context manager; `close` kills its whole process group.

    Every call ends within its time limit. A program that fails gives a Fault; one that takes its process down gives the same Fault
    again to every later call.
    """

    def __init__(self, zygote: Zygote, *, step_seconds: float) -> None:
        self._zygote = zygote
        self._step_seconds = step_seconds
        self._sock, theirs = socket.socketpair()
        memory = create()
        try:
            self._memory = mmap.mmap(memory, SIZE)
            self._pid: int | None = zygote.fork(theirs, memory)
        except BaseException:
            self._sock.close()
            raise
        finally:
            theirs.close()
            os.close(memory)
        self._number = 0
        self._gone: Fault | None = None
        self._replaying = False
        self._patience = 2 * step_seconds
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
        with contextlib.suppress(BufferError):  # somebody still looks at it; then it goes with the last of them
            self._memory.close()

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

    def replay(self, start: Start, actions: Sequence[Action], check: Check | None = None, *, twice: bool = False) -> Replay:
        """Initialise once from `start`, then step over `actions`. Number 0 is the first rendering. Starts anew when called again.

        twice: take every step two times from the same state, and go on from the second: one that changes its state in place, or
        keeps some of it elsewhere, shows something else then.
        `check(at, frames, statuses)` is called in order with successive pieces (at: number of the first of them; frames: a view,
        n x H x W) while the worker computes the next ones; returning False stops it early, and the worker then stands nowhere.
        """
        height, width = start.frame.shape
        if height * width > MAX_FRAME:
            raise HostError(f"A frame of {height} x {width} is larger than a worker can show ({MAX_FRAME:,} cells).")
        if self._gone is not None:
            return Replay(np.empty((0, height, width), dtype=np.uint8), (), self._gone)
        total = len(actions) + 1
        self._start, self._stepped = None, False
        incoming = Incoming(Ring(self._memory, (height, width)), total, check)
        request = {
            "op": "replay",
            "shape": (height, width),
            "level": start.level,
            "available": start.available,
            "actions": actions,
            "twice": twice,
        }
        fault = self._begin(request, [np.ascontiguousarray(start.frame, dtype=np.uint8).tobytes()])
        if fault is None:
            self._replaying = True
            self._patience += AVERAGE_START_SECONDS + total * AVERAGE_STEP_SECONDS * (1 + twice)
            began = time.monotonic()
            fault = self._follow(incoming, self._patience)
            self._patience -= time.monotonic() - began
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
            return Prediction(freeze(ring.frames[0]), status_of(ring.statuses[0]))
        except BrokenAnswerError:
            return self._broken()

    def holds(self, goal: str | None = None) -> bool | Fault:
        """is_goal, or the source of `def subgoal(state) -> bool`, on the present state."""
        self._standing()
        answer = self._ask({"op": "holds", "goal": goal}, self._step_seconds, "is_goal" if goal is None else "subgoal")
        if isinstance(answer, Fault):
            return answer
        return answer["holds"] if isinstance(answer.get("holds"), bool) else self._broken()

    def search(self, limits: Limits, goal: str | None = None, *, clicks: Collection[int] = ()) -> Found | NoPlan | Fault:
        """The shortest way from the present state to is_goal, or to the source of `def subgoal(state) -> bool`.

        `limits.depth` must be given. clicks: action ids that need x and y, tried only where the program's `actions` says so.
        Raises RuntimeError in a worker that has stepped live: its program may carry traces of that.
        """
        start = self._standing()
        if self._stepped:
            raise RuntimeError("a worker that has stepped live is never searched in; replay in a fresh one")
        if limits.depth is None:
            raise RuntimeError("a search needs a depth: the remaining budget")
        bounds = {"nodes": limits.nodes, "depth": limits.depth, "seconds": limits.seconds}
        request = {"op": "search", "goal": goal, "clicks": tuple(clicks), **bounds}
        began = time.monotonic()
        answer = self._ask(request, limits.seconds + self._step_seconds, f"the search (it may take {limits.seconds:g} s)")
        seconds = time.monotonic() - began
        if isinstance(answer, Fault):
            return answer
        try:
            return found_way(answer, start, limits.depth, seconds)
        except BrokenAnswerError:
            return self._broken()

    def analyse(
        self, code: str, rows: Sequence[Mapping[str, Any]], blobs: Sequence[bytes], *, seconds: float, most: int
    ) -> tuple[str, int, Fault | None]:
        """Run somebody's own code over a record (see lawbook.runs.record_scripts) in place of a program.

        Returns the first `most` bytes of what it printed, how many more there were, and what stopped it.
        """
        pad = Pad(self._memory, most)
        pad.clear()
        answer = self._ask({"op": "analyse", "code": code, "rows": rows, "most": most}, seconds, "the analysis", blobs)
        return *pad.read_back(), answer if isinstance(answer, Fault) else None

    def _standing(self) -> Start:
        if self._start is None:
            raise RuntimeError("this worker stands nowhere; replay a trajectory in it first")
        return self._start

    def _ask(self, request: dict[str, Any], seconds: float, doing: str, blobs: Sequence[bytes] = ()) -> dict[str, Any] | Fault:
        """One request and its answer."""
        fault = self._begin(request, blobs)
        answer = fault or self._receive(seconds, doing)
        if isinstance(answer, Fault):
            return answer
        try:
            return told_fault(answer) if "fault" in answer else answer
        except BrokenAnswerError:
            return self._broken()

    def _begin(self, request: dict[str, Any], blobs: Sequence[bytes] = ()) -> Fault | None:
        """Send a request, after an earlier replay that was stopped has come to its end."""
        if self._replaying and self._gone is None:
            self._say({"go": False})
            deadline = time.monotonic() + self._step_seconds
            while self._replaying:  # what is left of it, or what the program makes up
                answer = self._receive(max(0.0, deadline - time.monotonic()), "stopping a replay")
                self._replaying = not isinstance(answer, Fault) and answer.get("done") is not True
        self._number += 1
        return self._gone or self._say({**request, "n": self._number}, blobs)

    def _say(self, message: dict[str, Any], blobs: Sequence[bytes] = ()) -> Fault | None:
        self._sock.settimeout(self._step_seconds)  # a worker that does not listen must not hold us up
        try:
            ipc.send(self._sock, message, blobs)
        except ipc.BrokenWireError:
            return self._hung_up()
        return None

    def _receive(self, seconds: float, doing: str) -> dict[str, Any] | Fault:
        try:
            answer, _ = ipc.receive(self._sock, seconds=min(seconds, _LONGEST_SECONDS), max_header=MAX_ANSWER, max_blobs=0)
        except ipc.BrokenWireError as error:
            text = str(error)
            if text.startswith("timeout"):
                return self._late(doing, seconds)
            return self._broken() if text.startswith("malformed") else self._hung_up()
        return answer if answer.get("n") == self._number else self._broken()

    def _follow(self, incoming: Incoming, seconds: float) -> Fault | None:
        """Take what a replay shows, piece by piece, until it ends, stalls, or was stopped."""
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        done, alive = 0, time.monotonic()
        deadline = alive + seconds
        while True:
            now = time.monotonic()
            if now > deadline:
                return self._abandoned(incoming, self._late("the replay", seconds, "make step and render faster."))
            if not poll.poll(_LOOK_SECONDS * 1000):
                if incoming.ring.done[0] != done:
                    done, alive = incoming.ring.done[0], now
                elif now - alive > self._step_seconds:
                    doing = "one step" if done else "initial_state with its rendering"
                    return self._abandoned(incoming, self._late(doing, self._step_seconds))
                continue
            answer = self._receive(self._step_seconds, "an answer")
            if isinstance(answer, Fault):
                return self._abandoned(incoming, answer)
            upto: Any = answer.get("upto")
            ended = answer.get("done") is True
            try:
                fault = told_fault(answer, step=upto) if ended and "fault" in answer else None
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

    def _abandoned(self, incoming: Incoming, fault: Fault) -> Fault:
        """The worker is dead: take what it had finished, and say at which step it ended."""
        self._replaying = False
        done = incoming.ring.done[0]
        step = done if incoming.may_take(done) else incoming.taken
        if fault.kind != "broken":
            try:
                incoming.take(step)
            except BrokenAnswerError:
                fault = BROKEN
        self._gone = Fault(fault.kind, fault.reason, step=min(step, incoming.total - 1))
        return self._gone

    def _late(self, doing: str, seconds: float, advice: str = "is there an endless loop?") -> Fault:
        sentence = f"{doing[0].upper()}{doing[1:]} took longer than {seconds:.3g} s; {advice}"
        return self._end(Fault("time", sentence), 0.0)

    def _broken(self) -> Fault:
        return self._end(BROKEN, 0.0)

    def _hung_up(self) -> Fault:
        return self._end(None, 0.5)

    def _end(self, fault: Fault | None, grace: float) -> Fault:
        """Kill it. `fault` None: it hung up, and how it ended says why."""
        if self._gone is None:
            pid, self._pid = self._pid, None
            status = self._zygote.end(pid, grace) if pid is not None else None
            self._gone = fault or why_gone(status)
        return self._gone
