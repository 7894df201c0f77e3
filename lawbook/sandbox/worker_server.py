"""Inside the sandbox: serves one program to the run process. Sees first observations and actions, never what they led to."""

from __future__ import annotations

import mmap
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lawbook.core import ipc
from lawbook.core.record import Action
from lawbook.sandbox import confinement, record_script
from lawbook.sandbox.fault_report import describe_error
from lawbook.sandbox.frame_ring import FrameRing
from lawbook.sandbox.program_loader import SUBGOAL, Engine, compile_subgoal, load_program
from lawbook.sandbox.return_types import as_bool, as_frame, check_sendable
from lawbook.sandbox.search import Bounds, search

REPORT_SECONDS = 0.05
"""A slow replay reports at least this often, so that the run process can stop it early."""

_now = time.perf_counter
_UINT8 = np.dtype(np.uint8)
_RUNNING, _COMPLETED, _OVER = range(3)  # see frame_ring.STATUSES


class StoppedError(Exception):
    """The run process has seen enough of this replay."""


class ProgramServer:
    """One program, one state it stands in. `serve` answers requests until the other side hangs up."""

    def __init__(self, sock: socket.socket, memory: mmap.mmap) -> None:
        self._sock = sock
        self._memory = memory
        self._sources: dict[str, str] = {}
        self._engine: Engine
        self._state: Any = None
        self._ring: FrameRing
        self._available: list[int] = []

    def serve(self) -> None:
        """Answer requests, each {"op", "n", ...}, with {"n", ...} or {"n", "fault"}. Returns when nobody listens any more."""
        handlers: dict[str, Callable[[dict[str, Any], list[bytes]], dict[str, Any]]] = {
            "attempts": self._run_self_test,
            "load": self._load,
            "replay": self._replay,
            "step": self._step,
            "holds": self._check_goal,
            "search": self._search,
            "analyse": self._analyse,
        }
        while True:
            try:
                request, blobs = ipc.receive(self._sock)
                if "go" in request:  # about a replay that has ended meanwhile
                    continue
                reply = self._handle_request(handlers[request["op"]], request, blobs)
                ipc.send(self._sock, {"n": request["n"], **reply})
            except ipc.BrokenConnectionError:
                return

    def _handle_request(
        self, handler: Callable[..., dict[str, Any]], request: dict[str, Any], blobs: list[bytes]
    ) -> dict[str, Any]:
        try:
            return handler(request, blobs)
        except ipc.BrokenConnectionError:
            raise
        except BaseException as error:  # SystemExit and KeyboardInterrupt too: whatever the program raises is its fault
            subject = "The code" if request["op"] == "analyse" else "The program"
            return {"fault": describe_error(error, self._sources, loading=request["op"] == "load", subject=subject)}

    def _run_self_test(self, request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        return {"facts": confinement.run_escape_attempts(request["secret"], request["folder"])}

    def _load(self, request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        self._sources = dict(request["files"])
        self._engine = load_program(self._sources, request["engine"])
        return {}

    def _replay(self, request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        shape = tuple(request["shape"])
        self._ring = ring = FrameRing(self._memory, shape)
        self._available = request["available"]
        first_frame = np.frombuffer(blobs[0], dtype=np.uint8).reshape(shape)  # read-only, because bytes are
        observation = {"frame": first_frame, "level": request["level"], "available_actions": tuple(request["available"])}
        index, n_unacknowledged = 0, 0
        try:
            state = self._engine.initial_state(observation)
            hash(state)
            self._write_to_ring(state, 0)
            step, write_to_ring, chunk_frames = self._engine.step, self._write_to_ring, ring.chunk_frames
            if request["twice"]:
                step = _make_double_step(step)
            chunk_end, report_at = chunk_frames, _now() + REPORT_SECONDS
            for index, action in enumerate(_decode_actions(request["actions"]), 1):
                if index == chunk_end or _now() > report_at:
                    hash(state)
                    ipc.send(self._sock, {"n": request["n"], "upto": index})
                    n_unacknowledged += 1
                    if n_unacknowledged == 3:  # the ring holds this chunk and two that may still be compared
                        n_unacknowledged -= 1
                        self._wait_for_go()
                    chunk_end, report_at = index + chunk_frames, _now() + REPORT_SECONDS
                state = step(state, action)
                write_to_ring(state, index)
            hash(state)
            self._state = state
            reply: dict[str, Any] = {"upto": index + 1, "done": True}
        except StoppedError:
            return {"upto": index, "done": True}
        except ipc.BrokenConnectionError:
            raise
        except BaseException as error:
            reply = {"upto": index, "done": True, "fault": describe_error(error, self._sources)}
        return reply

    def _wait_for_go(self) -> None:
        if not ipc.receive(self._sock)[0]["go"]:
            raise StoppedError

    def _write_to_ring(self, state: Any, index: int) -> None:
        """Put rendering and status number `index` into the ring."""
        ring, engine = self._ring, self._engine
        at_goal = engine.is_goal(state)
        rendering = engine.render(state)
        if type(rendering) is not np.ndarray or rendering.dtype is not _UINT8 or rendering.shape != ring.frames.shape[1:]:
            rendering = as_frame(rendering, ring.frames.shape[1:])
        slot = index % ring.capacity
        ring.frames[slot] = rendering
        status = _RUNNING
        if at_goal is not False and as_bool(at_goal, engine.is_goal):
            status = _COMPLETED
        elif engine.is_over is not None and as_bool(engine.is_over(state), engine.is_over):
            status = _OVER
        ring.statuses[slot] = status
        ring.n_done[0] = index + 1

    def _step(self, request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        self._state = self._engine.step(self._state, Action(*request["action"]))
        hash(self._state)
        self._write_to_ring(self._state, 0)
        return {"shown": True}

    def _check_goal(self, request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        goal = self._compile_goal(request) or self._engine.is_goal
        return {"holds": as_bool(goal(self._state), goal)}

    def _search(self, request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        bounds = Bounds(request["nodes"], request["depth"], _now() + request["seconds"])
        default_actions = [Action(number) for number in self._available if number not in request["clicks"]]
        result = search(self._engine, self._state, self._compile_goal(request), default_actions, bounds)
        for action in result.actions or ():
            check_sendable(action, self._ring.frames.shape[1:])
        return {**result._asdict(), "keyed": self._engine.key is not None}

    def _analyse(self, request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        name, record = request["name"] or record_script.SCRIPT_FILE, record_script.unpack_trajectories(request["rows"], blobs)
        self._sources = {**request["modules"], name: request["code"]}
        record_script.run_script(request["code"], record, self._memory, request["most"], request["modules"], name)
        return {}

    def _compile_goal(self, request: dict[str, Any]) -> Callable[[Any], Any] | None:
        if request["goal"] is None:
            return None
        self._sources[SUBGOAL] = request["goal"]
        return compile_subgoal(request["goal"], self._engine)


def _make_double_step(step: Callable[[Any, Action], Any]) -> Callable[[Any, Action], Any]:
    def step_twice(state: Any, action: Action) -> Any:
        step(state, action)
        return step(state, action)

    return step_twice


def _decode_actions(rows: Sequence[Sequence[int | None]]) -> list[Action]:
    return [Action(*row) for row in rows]  # type: ignore[arg-type]
