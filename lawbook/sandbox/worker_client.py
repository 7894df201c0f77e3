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
from lawbook.core.results import InitialObservation, Limits, NoPlan, Prediction, ProgramError
from lawbook.errors import HostError
from lawbook.sandbox.frame_ring import MAX_FRAME_CELLS, MEMORY_BYTES, FrameRing, create_shared_memory
from lawbook.sandbox.output_buffer import OutputBuffer
from lawbook.sandbox.worker_replies import (
    BROKEN,
    BrokenReplyError,
    CandidatePlan,
    Replay,
    ReplayCheck,
    ReplayReceiver,
    decode_fault,
    decode_search_reply,
    decode_status,
    explain_exit,
)
from lawbook.sandbox.zygote_client import Zygote

__all__ = ["CandidatePlan", "Replay", "ReplayCheck", "Worker"]

AVERAGE_STEP_SECONDS, AVERAGE_START_SECONDS = 0.05, 0.25
"""All replays of a worker may take these for each step and each start, and the time of two single steps on top, once."""
MAX_REPLY_BYTES = 4 << 20
_POLL_SECONDS, _MAX_TIMEOUT_SECONDS = 0.05, 1e6


class Worker:
    """A fresh sandboxed process with a program in it. A context manager; `close` kills its whole process group.

    Every call ends within its time limit. A program that fails gives a ProgramError; one that takes its process down gives the same
    again to every later call.
    """

    def __init__(self, zygote: Zygote, *, step_seconds: float) -> None:
        self._zygote = zygote
        self._step_seconds = step_seconds
        self._sock, child_sock = socket.socketpair()
        memory_fd = create_shared_memory()
        try:
            self._memory = mmap.mmap(memory_fd, MEMORY_BYTES)
            self._pid: int | None = zygote.fork(child_sock, memory_fd)
        except BaseException:
            self._sock.close()
            raise
        finally:
            child_sock.close()
            os.close(memory_fd)
        self._request_number = 0
        self._final_fault: ProgramError | None = None
        self._is_replaying = False
        self._replay_seconds_left = 2 * step_seconds
        self._start: InitialObservation | None = None  # None: it stands nowhere
        self._has_stepped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Kill the worker with its whole process group. May be called again."""
        self._final_fault = self._final_fault or ProgramError("killed", "The worker was closed.")
        self._sock.close()
        if self._pid is not None:
            pid, self._pid = self._pid, None
            with contextlib.suppress(HostError):  # the zygote is gone, and its workers with it
                self._zygote.end(pid)
        with contextlib.suppress(BufferError):  # somebody still looks at it; then it goes with the last of them
            self._memory.close()

    def load(self, files: Mapping[str, str], engine: str) -> ProgramError | None:
        """Import the program. For Program; called once. Returns a ProgramError where it does not load."""
        reply = self._request({"op": "load", "files": dict(files), "engine": engine}, self._step_seconds, "loading the program")
        return reply if isinstance(reply, ProgramError) else None

    def run_self_test(self, secret: str, folder: str) -> dict[str, str]:
        """Return what came of trying what must not work (confinement.run_escape_attempts). For Host, in place of a program.

        Raises HostError where the worker does not answer.
        """
        reply = self._request({"op": "attempts", "secret": secret, "folder": folder}, 30.0, "the self-test")
        if isinstance(reply, ProgramError):
            raise HostError(f"The sandbox's self-test failed ({reply.reason}); run it on another machine or in a container.")
        return {str(name): str(value) for name, value in reply["facts"].items()}

    def replay(
        self, start: InitialObservation, actions: Sequence[Action], check: ReplayCheck | None = None, *, twice: bool = False
    ) -> Replay:
        """Initialise once from `start`, then step over `actions`. Number 0 is the first rendering. Starts anew when called again.

        twice: take every step two times from the same state, and go on from the second: one that changes its state in place, or
        keeps some of it elsewhere, shows something else then.
        `check(at, frames, statuses)` is called in order with successive pieces (at: number of the first of them; frames: a view,
        n x H x W) while the worker computes the next ones; returning False stops it early, and the worker then stands nowhere.
        """
        height, width = start.frame.shape
        if height * width > MAX_FRAME_CELLS:
            raise HostError(f"A frame of {height} x {width} is larger than a worker can show ({MAX_FRAME_CELLS:,} cells).")
        if self._final_fault is not None:
            return Replay(np.empty((0, height, width), dtype=np.uint8), (), self._final_fault)
        n_frames = len(actions) + 1
        self._start, self._has_stepped = None, False
        receiver = ReplayReceiver(FrameRing(self._memory, (height, width)), n_frames, check)
        request = {
            "op": "replay",
            "shape": (height, width),
            "level": start.level,
            "available": start.available,
            "actions": actions,
            "twice": twice,
        }
        fault = self._send_request(request, [np.ascontiguousarray(start.frame, dtype=np.uint8).tobytes()])
        if fault is None:
            self._is_replaying = True
            self._replay_seconds_left += AVERAGE_START_SECONDS + n_frames * AVERAGE_STEP_SECONDS * (1 + twice)
            started_at = time.monotonic()
            fault = self._receive_replay(receiver, self._replay_seconds_left)
            self._replay_seconds_left -= time.monotonic() - started_at
        if fault is None and not receiver.stopped:
            self._start = start
        return Replay(receiver.frames[: receiver.n_received], tuple(receiver.statuses), fault, receiver.stopped)

    def step(self, action: Action) -> Prediction | ProgramError:
        """Take one live step from where the worker stands: after a replay, or an earlier step."""
        start = self._require_start()
        self._has_stepped = True
        reply = self._request({"op": "step", "action": action}, self._step_seconds, f"step (action {action})")
        if isinstance(reply, ProgramError):
            self._start = None
            return reply
        ring = FrameRing(self._memory, (start.frame.shape[0], start.frame.shape[1]))
        try:
            return Prediction(freeze(ring.frames[0]), decode_status(ring.statuses[0]))
        except BrokenReplyError:
            return self._end_as_broken()

    def check_goal(self, goal: str | None = None) -> bool | ProgramError:
        """Evaluate is_goal, or the source of `def subgoal(state) -> bool`, on the present state."""
        self._require_start()
        reply = self._request({"op": "holds", "goal": goal}, self._step_seconds, "is_goal" if goal is None else "subgoal")
        if isinstance(reply, ProgramError):
            return reply
        return reply["holds"] if isinstance(reply.get("holds"), bool) else self._end_as_broken()

    def search(
        self, limits: Limits, goal: str | None = None, *, clicks: Collection[int] = ()
    ) -> CandidatePlan | NoPlan | ProgramError:
        """Search for the shortest way from the present state to is_goal, or to the source of `def subgoal(state) -> bool`.

        `limits.depth` must be given. clicks: action ids that need x and y, tried only where the program's `actions` says so.
        Raises RuntimeError in a worker that has stepped live: its program may carry traces of that.
        """
        start = self._require_start()
        if self._has_stepped:
            raise RuntimeError("a worker that has stepped live is never searched in; replay in a fresh one")
        if limits.depth is None:
            raise RuntimeError("a search needs a depth: the remaining budget")
        bounds = {"nodes": limits.nodes, "depth": limits.depth, "seconds": limits.seconds}
        request = {"op": "search", "goal": goal, "clicks": tuple(clicks), **bounds}
        started_at = time.monotonic()
        reply = self._request(request, limits.seconds + self._step_seconds, f"the search (it may take {limits.seconds:g} s)")
        seconds = time.monotonic() - started_at
        if isinstance(reply, ProgramError):
            return reply
        try:
            return decode_search_reply(reply, start, limits.depth, seconds)
        except BrokenReplyError:
            return self._end_as_broken()

    def analyse(
        self,
        code: str,
        rows: Sequence[Mapping[str, Any]],
        blobs: Sequence[bytes],
        *,
        seconds: float,
        max_bytes: int,
        modules: Mapping[str, str] | None = None,
        name: str | None = None,
    ) -> tuple[str, int, ProgramError | None]:
        """Run somebody's own code over a record (see lawbook.runs.record_scripts) in place of a program, for up to `seconds`.

        modules: file name -> source of what it may import; name: of its own file, for what is said of its errors. Returns the first
        `max_bytes` of what it printed, how many more there were, and what stopped it.
        """
        output = OutputBuffer(self._memory, max_bytes)
        output.clear()
        request = {"op": "analyse", "code": code, "rows": rows, "most": max_bytes, "modules": dict(modules or {}), "name": name}
        reply = self._request(request, seconds, "the analysis", blobs)
        return *output.read_back(), reply if isinstance(reply, ProgramError) else None

    def _require_start(self) -> InitialObservation:
        if self._start is None:
            raise RuntimeError("this worker stands nowhere; replay a trajectory in it first")
        return self._start

    def _request(
        self, request: dict[str, Any], seconds: float, activity: str, blobs: Sequence[bytes] = ()
    ) -> dict[str, Any] | ProgramError:
        """One request and its answer."""
        fault = self._send_request(request, blobs)
        reply = fault or self._receive(seconds, activity)
        if isinstance(reply, ProgramError):
            return reply
        try:
            return decode_fault(reply) if "fault" in reply else reply
        except BrokenReplyError:
            return self._end_as_broken()

    def _send_request(self, request: dict[str, Any], blobs: Sequence[bytes] = ()) -> ProgramError | None:
        """Send a request, after an earlier replay that was stopped has come to its end."""
        if self._is_replaying and self._final_fault is None:
            self._send_message({"go": False})
            deadline = time.monotonic() + self._step_seconds
            while self._is_replaying:  # what is left of it, or what the program makes up
                reply = self._receive(max(0.0, deadline - time.monotonic()), "stopping a replay")
                self._is_replaying = not isinstance(reply, ProgramError) and reply.get("done") is not True
        self._request_number += 1
        return self._final_fault or self._send_message({**request, "n": self._request_number}, blobs)

    def _send_message(self, message: dict[str, Any], blobs: Sequence[bytes] = ()) -> ProgramError | None:
        self._sock.settimeout(self._step_seconds)  # a worker that does not listen must not hold us up
        try:
            ipc.send(self._sock, message, blobs)
        except ipc.BrokenConnectionError:
            return self._end_after_hangup()
        return None

    def _receive(self, seconds: float, activity: str) -> dict[str, Any] | ProgramError:
        try:
            reply, _ = ipc.receive(self._sock, seconds=min(seconds, _MAX_TIMEOUT_SECONDS), max_header=MAX_REPLY_BYTES, max_blobs=0)
        except ipc.BrokenConnectionError as error:
            message = str(error)
            if message.startswith("timeout"):
                return self._end_for_timeout(activity, seconds)
            return self._end_as_broken() if message.startswith("malformed") else self._end_after_hangup()
        return reply if reply.get("n") == self._request_number else self._end_as_broken()

    def _receive_replay(self, receiver: ReplayReceiver, seconds: float) -> ProgramError | None:
        """Take what a replay shows, piece by piece, until it ends, stalls, or was stopped."""
        poller = select.poll()
        poller.register(self._sock, select.POLLIN)
        n_done, last_progress = 0, time.monotonic()
        deadline = last_progress + seconds
        while True:
            now = time.monotonic()
            if now > deadline:
                return self._abandon_replay(receiver, self._end_for_timeout("the replay", seconds, "make step and render faster."))
            if not poller.poll(_POLL_SECONDS * 1000):
                if receiver.ring.n_done[0] != n_done:
                    n_done, last_progress = receiver.ring.n_done[0], now
                elif now - last_progress > self._step_seconds:
                    activity = "one step" if n_done else "initial_state with its rendering"
                    return self._abandon_replay(receiver, self._end_for_timeout(activity, self._step_seconds))
                continue
            reply = self._receive(self._step_seconds, "an answer")
            if isinstance(reply, ProgramError):
                return self._abandon_replay(receiver, reply)
            upto: Any = reply.get("upto")
            is_done = reply.get("done") is True
            try:
                fault = decode_fault(reply, step=upto) if is_done and "fault" in reply else None
                if not receiver.can_take(upto) or (is_done and fault is None and upto != receiver.n_total):
                    raise BrokenReplyError
                receiver.take(upto)
            except BrokenReplyError:
                return self._abandon_replay(receiver, self._end_as_broken())
            self._is_replaying = not is_done
            if receiver.stopped:
                return None
            if is_done:
                return fault
            self._send_message({"go": True})
            last_progress = time.monotonic()

    def _abandon_replay(self, receiver: ReplayReceiver, fault: ProgramError) -> ProgramError:
        """The worker is dead: take what it had finished, and say at which step it ended."""
        self._is_replaying = False
        n_done = receiver.ring.n_done[0]
        step = n_done if receiver.can_take(n_done) else receiver.n_received
        if fault.kind != "broken":
            try:
                receiver.take(step)
            except BrokenReplyError:
                fault = BROKEN
        self._final_fault = ProgramError(fault.kind, fault.reason, step=min(step, receiver.n_total - 1))
        return self._final_fault

    def _end_for_timeout(self, activity: str, seconds: float, advice: str = "is there an endless loop?") -> ProgramError:
        reason = f"{activity[0].upper()}{activity[1:]} took longer than {seconds:.3g} s; {advice}"
        return self._end(ProgramError("time", reason), 0.0)

    def _end_as_broken(self) -> ProgramError:
        return self._end(BROKEN, 0.0)

    def _end_after_hangup(self) -> ProgramError:
        return self._end(None, 0.5)

    def _end(self, fault: ProgramError | None, grace: float) -> ProgramError:
        """Kill it. `fault` None: it hung up, and how it ended says why."""
        if self._final_fault is None:
            pid, self._pid = self._pid, None
            status = self._zygote.end(pid, grace) if pid is not None else None
            self._final_fault = fault or explain_exit(status)
        return self._final_fault
