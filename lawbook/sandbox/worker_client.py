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
from lawbook.core.record import Action, Observation, Status, select_attempts
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
    explain_exit,
    read_prediction,
)
from lawbook.sandbox.zygote_client import Zygote

__all__ = ["CandidatePlan", "Replay", "ReplayCheck", "Worker"]

AVERAGE_STEP_SECONDS, AVERAGE_START_SECONDS = 0.05, 0.25
"""All replays of a worker may take these for each step and each start, and the time of two single steps on top, once."""
MAX_REPLY_BYTES = 4 << 20
_POLL_SECONDS, _MAX_TIMEOUT_SECONDS = 0.05, 1e6
_PADDING_SECONDS = 1.0
"""How long a worker may take to come back from actions whose answers nobody wants, before it is ended."""
_PIECE_STEPS = 256
"""Steps with their observations that go in one message."""


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
        self._open_rules: tuple[int, ...] | None = None
        self._wants_earlier = False
        self.has_update = False
        """Whether the program has an `update` that counts: only where it may leave things open."""

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

    def load(self, files: Mapping[str, str], engine: str, open_rules: Collection[int] | None = None) -> ProgramError | None:
        """Import the program. For Program; called once. open_rules: see Host.load."""
        self._open_rules = None if open_rules is None else tuple(sorted(open_rules))
        # Megabytes a start, so only for a program that asks: what does not name the key cannot read it.
        self._wants_earlier = open_rules is not None and any("earlier" in text for text in files.values())
        request = {"op": "load", "files": dict(files), "engine": engine, "open": self._open_rules}
        reply = self._request(request, self._step_seconds, "loading the program")
        if isinstance(reply, ProgramError):
            return reply
        self.has_update = open_rules is not None and reply.get("updates") is True
        return None

    @property
    def has_ended(self) -> bool:
        """Whether its process is gone: nothing can be asked of it any more."""
        return self._final_fault is not None

    def run_self_test(self, secret: str, folder: str) -> dict[str, str]:
        """Return what came of trying what must not work (confinement.run_escape_attempts). For Host, in place of a program.

        Raises HostError where the worker does not answer.
        """
        reply = self._request({"op": "attempts", "secret": secret, "folder": folder}, 30.0, "the self-test")
        if isinstance(reply, ProgramError):
            raise HostError(f"The sandbox's self-test failed ({reply.reason}); run it on another machine or in a container.")
        return {str(name): str(value) for name, value in reply["facts"].items()}

    def replay(
        self,
        start: InitialObservation,
        actions: Sequence[Action],
        check: ReplayCheck | None = None,
        *,
        twice: bool = False,
        observations: Sequence[Observation] = (),
        in_lockstep: bool = False,
        padding: Sequence[Action] = (),
    ) -> Replay:
        """Initialise once from `start`, then step over `actions`. Number 0 is the first rendering. Starts anew when called again.

        twice: call step and update two times on the same state, and go on from the second: one that changes its state in place, or
        keeps some of it elsewhere, shows something else then.
        `check(at, frames, statuses, ...)` is called in order with successive pieces (at: number of the first of them; frames: a
        view, n x H x W) while the worker computes the next ones; returning False stops it early, and it then stands nowhere.

        observations: what was seen after the first actions, for a program with `update` (others are never shown it); it stands in
        the updated state at last where all have one. in_lockstep: each is handed in only after the prediction of it was taken, and
        each action only after that, so that nothing depends on what comes later. padding: actions that follow `actions` where these
        go in one piece; what they show, and whatever goes wrong there, is dropped, and the worker stands nowhere (or, where it did
        not come back from there, has ended).
        """
        height, width = start.frame.shape
        if height * width > MAX_FRAME_CELLS:
            raise HostError(f"A frame of {height} x {width} is larger than a worker can show ({MAX_FRAME_CELLS:,} cells).")
        if self._final_fault is not None:
            return Replay(np.empty((0, height, width), dtype=np.uint8), (), self._final_fault)
        self._start, self._has_stepped = None, False
        ring, n_frames = FrameRing(self._memory, (height, width)), len(actions) + 1
        receiver = ReplayReceiver(ring, n_frames, check, self._open_rules)
        self._replay_seconds_left += AVERAGE_START_SECONDS + (n_frames + len(padding)) * AVERAGE_STEP_SECONDS * (1 + twice)
        seen = list(observations[: len(actions)]) if self.has_update else []
        fault = self._replay_pieces(receiver, start, actions, seen, twice, in_lockstep, padding)
        if fault is None and padding:
            self._stop_replay(min(self._step_seconds, _PADDING_SECONDS))
        elif fault is None and not receiver.stopped:
            self._start = start
        return _make_replay(receiver, fault)

    def _replay_pieces(
        self,
        receiver: ReplayReceiver,
        start: InitialObservation,
        actions: Sequence[Action],
        seen: Sequence[Observation],
        twice: bool,
        in_lockstep: bool,
        padding: Sequence[Action],
    ) -> ProgramError | None:
        """The requests of a replay one after the other: in lockstep one for each action that was seen, else in pieces that a
        message can hold; what was not seen in one."""
        opening: tuple[dict[str, Any], list[bytes]] | None = self._pack_start(start)
        if in_lockstep and seen:
            cuts = [*range(len(seen) + 1)]
        else:
            cuts = [*range(_PIECE_STEPS, len(seen), _PIECE_STEPS)]
        handed_in = [None, *seen]  # before action k + 1
        n_sent = 0
        for cut in cuts:
            fault = self._send_piece(receiver, n_sent + 1, actions[n_sent:cut], handed_in[n_sent:cut], twice, opening)
            if fault is not None or receiver.stopped:
                return fault
            n_sent, opening = cut, None
        return self._send_piece(receiver, n_sent + 1, actions[n_sent:], handed_in[n_sent:], twice, opening, padding)

    def _send_piece(
        self,
        receiver: ReplayReceiver,
        number: int,
        actions: Sequence[Action],
        observations: Sequence[Observation | None],
        twice: bool,
        opening: tuple[dict[str, Any], list[bytes]] | None = None,
        padding: Sequence[Action] = (),
        *,
        keep: bool = True,
    ) -> ProgramError | None:
        """One request of a replay, and what it shows. number: of the rendering of its first action."""
        rows, blobs = self._pack_observations(observations)
        request = {
            "op": "replay",
            "start": opening[0] if opening else None,
            "from": number,
            "actions": [*actions, *padding],
            "observations": rows,
            "twice": twice,
            "keep": keep,
        }
        fault = self._send_request(request, [*(opening[1] if opening else []), *blobs])
        if fault is not None:
            return fault
        self._is_replaying = True
        started_at = time.monotonic()
        fault = self._receive_replay(receiver, number + len(actions), len(padding), self._replay_seconds_left)
        self._replay_seconds_left -= time.monotonic() - started_at
        return fault

    def _pack_start(self, start: InitialObservation) -> tuple[dict[str, Any], list[bytes]]:
        frames = [*start.frames[:-1], start.frame] if self._open_rules is not None else [start.frame]
        frames = [frame for frame in frames if frame.shape == start.frame.shape]
        attempts = select_attempts(start.earlier) if self._wants_earlier else []
        header = {
            "shape": start.frame.shape,
            "level": start.level,
            "available": start.available,
            "frames": len(frames),
            "earlier": [[attempt.actions, [status.value for status in attempt.statuses]] for attempt in attempts],
        }
        blobs = [np.ascontiguousarray(frame, dtype=np.uint8).tobytes() for frame in frames]
        return header, [*blobs, *(np.ascontiguousarray(attempt.frames).tobytes() for attempt in attempts)]

    def _pack_observations(self, observations: Sequence[Observation | None]) -> tuple[list[Any], list[bytes]]:
        """Observations for a message; None for those that a program is not shown: where it has no `update`, or the level ended."""
        rows: list[Any] = []
        blobs: list[bytes] = []
        for observation in observations:
            if observation is None or not self.has_update or observation.status is not Status.RUNNING:
                rows.append(None)
                continue
            frames = [frame for frame in observation.frames if frame.shape == observation.frame.shape]
            rows.append((len(frames), observation.level, observation.available, observation.reward))
            blobs += [np.ascontiguousarray(frame, dtype=np.uint8).tobytes() for frame in frames]
        return rows, blobs

    def step(self, action: Action, observation: Observation | None = None) -> Prediction | ProgramError:
        """Take one live step from where the worker stands: after a replay, or an earlier step.

        observation: what was seen after the step before this one; it goes to `update` first, where the program has one.
        """
        start = self._require_start()
        self._has_stepped = True
        rows, blobs = self._pack_observations([observation])
        request = {"op": "step", "action": action, "observation": rows[0]}
        reply = self._request(request, self._step_seconds, f"step (action {action})", blobs)
        if isinstance(reply, ProgramError):
            self._start = None
            return reply
        ring = FrameRing(self._memory, (start.frame.shape[0], start.frame.shape[1]))
        try:
            return read_prediction(ring, self._open_rules)
        except BrokenReplyError:
            return self._end_as_broken()

    def update(self, observation: Observation) -> ProgramError | None:
        """Hand in what was seen after the last step; without an `update` in the program nothing happens."""
        start = self._require_start()
        if not self.has_update or observation.status is not Status.RUNNING:
            return None
        fault = self._walk(start, [], [observation], keep=True).fault
        if fault is not None:
            self._start = None
        return fault

    def roll(
        self, actions: Sequence[Action], observation: Observation | None = None, goal: str | None = None
    ) -> tuple[tuple[Prediction, ...], bool | None] | ProgramError:
        """Go over `actions` from where the worker stands, and leave it there.

        observation: as for `step`. Returns what each action is predicted to show, and whether is_goal, or the subgoal with that
        source, holds at the end (None: is_goal leaves it open).
        """
        start = self._require_start()
        replay = self._walk(start, actions, [observation] if actions else [], keep=False)
        if replay.fault is not None:
            self._start = None
            return replay.fault
        holds = self.check_goal(goal, rolled=True)
        if isinstance(holds, ProgramError):
            return holds
        return tuple(replay.get_prediction(k) for k in range(len(actions))), holds

    def _walk(
        self, start: InitialObservation, actions: Sequence[Action], observations: Sequence[Observation | None], *, keep: bool
    ) -> Replay:
        receiver = ReplayReceiver(
            FrameRing(self._memory, (start.frame.shape[0], start.frame.shape[1])), len(actions), None, self._open_rules
        )
        self._replay_seconds_left += AVERAGE_START_SECONDS + len(actions) * AVERAGE_STEP_SECONDS
        return _make_replay(receiver, self._send_piece(receiver, 0, actions, observations, False, keep=keep))

    def check_goal(self, goal: str | None = None, *, rolled: bool = False) -> bool | ProgramError | None:
        """Ask is_goal, or the source of `def subgoal(state) -> bool`, of the present state. None: is_goal leaves it open.

        rolled: of the state where `roll` came to instead.
        """
        self._require_start()
        reply = self._request(
            {"op": "holds", "goal": goal, "rolled": rolled}, self._step_seconds, "is_goal" if goal is None else "subgoal"
        )
        if isinstance(reply, ProgramError):
            return reply
        holds = reply.get("holds")
        if isinstance(holds, bool) or (holds is None and self._open_rules is not None and goal is None):
            return holds
        return self._end_as_broken()

    def search(
        self, limits: Limits, goal: str | None = None, *, clicks: Collection[int] = (), frontier: bool = False
    ) -> CandidatePlan | NoPlan | ProgramError:
        """Search for the shortest way from the present state to is_goal, or to the source of `def subgoal(state) -> bool`.

        frontier: to the nearest state of which is_goal says None (where it leads is not known), in place of a goal.
        `limits.depth` must be given. clicks: action ids that need x and y, tried only where the program's `actions` says so.
        Raises RuntimeError in a worker that has stepped live: its program may carry traces of that.
        """
        start = self._require_start()
        if self._has_stepped:
            raise RuntimeError("a worker that has stepped live is never searched in; replay in a fresh one")
        if limits.depth is None:
            raise RuntimeError("a search needs a depth: the remaining budget")
        bounds = {"nodes": limits.nodes, "depth": limits.depth, "seconds": limits.seconds}
        request = {"op": "search", "goal": goal, "clicks": tuple(clicks), "frontier": frontier, **bounds}
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
            may_blame = ["load"] * (request["op"] == "load") + ["subgoal"] * (request.get("goal") is not None)
            return decode_fault(reply, may_blame=may_blame) if "fault" in reply else reply
        except BrokenReplyError:
            return self._end_as_broken()

    def _send_request(self, request: dict[str, Any], blobs: Sequence[bytes] = ()) -> ProgramError | None:
        """Send a request, after an earlier replay that was stopped has come to its end."""
        self._stop_replay(self._step_seconds)
        self._request_number += 1
        return self._final_fault or self._send_message({**request, "n": self._request_number}, blobs)

    def _stop_replay(self, seconds: float) -> None:
        """Bring a replay that was stopped to its end; a worker that does not come to it is ended."""
        if not self._is_replaying or self._final_fault is not None:
            return
        self._send_message({"go": False})
        deadline = time.monotonic() + seconds
        while self._is_replaying:  # what is left of it, or what the program makes up
            reply = self._receive(max(0.0, deadline - time.monotonic()), "stopping a replay")
            self._is_replaying = not isinstance(reply, ProgramError) and reply.get("done") is not True

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

    def _receive_replay(self, receiver: ReplayReceiver, upto_wanted: int, n_padding: int, seconds: float) -> ProgramError | None:
        """Take what a request of a replay shows, piece by piece, up to that many renderings; or until it fails, stalls, or was
        stopped. What is shown after these, and how it ends there, does not matter."""
        poller = select.poll()
        poller.register(self._sock, select.POLLIN)
        n_done, last_progress = receiver.ring.n_done[0], time.monotonic()
        deadline = last_progress + seconds
        while True:
            now = time.monotonic()
            if now > deadline:
                return self._abandon_replay(receiver, self._end_for_timeout("the replay", seconds, "make step and render faster."))
            if not poller.poll(_POLL_SECONDS * 1000):
                if n_padding and self._takes_rest(receiver, upto_wanted):
                    return None
                if receiver.ring.n_done[0] != n_done:
                    n_done, last_progress = receiver.ring.n_done[0], now
                elif now - last_progress > self._step_seconds:
                    activity = "one step" if n_done else "initial_state with its rendering"
                    return self._abandon_replay(receiver, self._end_for_timeout(activity, self._step_seconds))
                continue
            reply = self._receive(self._step_seconds, "an answer")
            if isinstance(reply, ProgramError):
                if n_padding and reply.kind != "broken" and self._takes_rest(receiver, upto_wanted):
                    self._is_replaying = False
                    return None
                return self._abandon_replay(receiver, reply)
            upto: Any = reply.get("upto")
            is_done = reply.get("done") is True
            try:
                last_step = max(receiver.n_total - 1, 0)
                fault = (
                    decode_fault(reply, step=min(upto, last_step) if type(upto) is int else None)
                    if is_done and "fault" in reply
                    else None
                )
                if not receiver.can_take(upto, upto_wanted + n_padding) or (
                    is_done and fault is None and upto != upto_wanted + n_padding
                ):
                    raise BrokenReplyError
                receiver.take(min(upto, upto_wanted))
            except BrokenReplyError:
                return self._abandon_replay(receiver, self._end_as_broken())
            self._is_replaying = not is_done
            if receiver.stopped or (n_padding and receiver.n_received == upto_wanted):
                return None
            if is_done:
                return fault
            self._send_message({"go": True})
            last_progress = time.monotonic()

    def _takes_rest(self, receiver: ReplayReceiver, upto_wanted: int) -> bool:
        """Take what is wanted still, where the worker has shown all of it, whatever it does now. False: it has not."""
        if receiver.ring.n_done[0] < upto_wanted or not receiver.can_take(upto_wanted, upto_wanted):
            return False
        try:
            receiver.take(upto_wanted)
        except BrokenReplyError:
            return False
        return True

    def _abandon_replay(self, receiver: ReplayReceiver, fault: ProgramError) -> ProgramError:
        """The worker is dead: take what it had finished, and say at which step it ended."""
        self._is_replaying = False
        n_done = receiver.ring.n_done[0]
        step = n_done if receiver.can_take(n_done, receiver.n_total) else receiver.n_received
        if fault.kind != "broken":
            try:
                receiver.take(step)
            except BrokenReplyError:
                fault = BROKEN
        self._final_fault = ProgramError(fault.kind, fault.reason, step=min(step, max(receiver.n_total - 1, 0)))
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


def _make_replay(receiver: ReplayReceiver, fault: ProgramError | None) -> Replay:
    return Replay(
        receiver.frames[: receiver.n_received],
        tuple(receiver.statuses),
        fault,
        receiver.stopped,
        receiver.open_frames,
        receiver.alternatives,
    )
