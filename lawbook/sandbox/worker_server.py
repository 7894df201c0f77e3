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
from lawbook.sandbox.fault_report import blame
from lawbook.sandbox.frame_ring import Ring
from lawbook.sandbox.program_loader import SUBGOAL, Engine, load, predicate
from lawbook.sandbox.return_types import frame, sendable, truth
from lawbook.sandbox.search import Bounds, search

RING_SECONDS = 0.05
"""A slow replay reports at least this often, so that the run process can stop it early."""

_now = time.perf_counter
_UINT8 = np.dtype(np.uint8)
_RUNNING, _COMPLETED, _OVER = range(3)  # see ring.STATUSES


class StoppedError(Exception):
    """The run process has seen enough of this replay."""


class Server:
    """One program, one state it stands in. `serve` answers requests until the other side hangs up."""

    def __init__(self, sock: socket.socket, memory: mmap.mmap) -> None:
        self._sock = sock
        self._memory = memory
        self._sources: dict[str, str] = {}
        self._engine: Engine
        self._state: Any = None
        self._ring: Ring
        self._available: list[int] = []

    def serve(self) -> None:
        """Answer requests, each {"op", "n", ...}, with {"n", ...} or {"n", "fault"}. Returns when nobody listens any more."""
        deeds: dict[str, Callable[[dict[str, Any], list[bytes]], dict[str, Any]]] = {
            "attempts": self._attempts,
            "load": self._load,
            "replay": self._replay,
            "step": self._step,
            "holds": self._holds,
            "search": self._search,
            "analyse": self._analyse,
        }
        while True:
            try:
                request, blobs = ipc.receive(self._sock)
                if "go" in request:  # about a replay that has ended meanwhile
                    continue
                answer = self._answer(deeds[request["op"]], request, blobs)
                ipc.send(self._sock, {"n": request["n"], **answer})
            except ipc.BrokenWireError:
                return

    def _answer(self, deed: Callable[..., dict[str, Any]], request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        try:
            return deed(request, blobs)
        except ipc.BrokenWireError:
            raise
        except BaseException as error:  # SystemExit and KeyboardInterrupt too: whatever the program raises is its fault
            who = "The code" if request["op"] == "analyse" else "The program"
            return {"fault": blame(error, self._sources, loading=request["op"] == "load", who=who)}

    def _attempts(self, request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        return {"facts": confinement.attempts(request["secret"], request["folder"])}

    def _load(self, request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        self._sources = dict(request["files"])
        self._engine = load(self._sources, request["engine"])
        return {}

    def _replay(self, request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        shape = tuple(request["shape"])
        self._ring = ring = Ring(self._memory, shape)
        self._available = request["available"]
        seen = np.frombuffer(blobs[0], dtype=np.uint8).reshape(shape)  # read-only, because bytes are
        first = {"frame": seen, "level": request["level"], "available_actions": tuple(request["available"])}
        at, unheard = 0, 0
        try:
            state = self._engine.initial_state(first)
            hash(state)
            self._show(state, 0)
            step, show, chunk = self._engine.step, self._show, ring.chunk
            if request["twice"]:
                step = _twice(step)
            full, late = chunk, _now() + RING_SECONDS
            for at, action in enumerate(_actions(request["actions"]), 1):
                if at == full or _now() > late:
                    hash(state)
                    ipc.send(self._sock, {"n": request["n"], "upto": at})
                    unheard += 1
                    if unheard == 3:  # the ring holds this chunk and two that may still be compared
                        unheard -= 1
                        self._heed()
                    full, late = at + chunk, _now() + RING_SECONDS
                state = step(state, action)
                show(state, at)
            hash(state)
            self._state = state
            answer: dict[str, Any] = {"upto": at + 1, "done": True}
        except StoppedError:
            return {"upto": at, "done": True}
        except ipc.BrokenWireError:
            raise
        except BaseException as error:
            answer = {"upto": at, "done": True, "fault": blame(error, self._sources)}
        return answer

    def _heed(self) -> None:
        if not ipc.receive(self._sock)[0]["go"]:
            raise StoppedError

    def _show(self, state: Any, at: int) -> None:
        """Put rendering and status number `at` into the ring."""
        ring, engine = self._ring, self._engine
        goal = engine.is_goal(state)
        shown = engine.render(state)
        if type(shown) is not np.ndarray or shown.dtype is not _UINT8 or shown.shape != ring.frames.shape[1:]:
            shown = frame(shown, ring.frames.shape[1:])
        slot = at % ring.capacity
        ring.frames[slot] = shown
        status = _RUNNING
        if goal is not False and truth(goal, engine.is_goal):
            status = _COMPLETED
        elif engine.is_over is not None and truth(engine.is_over(state), engine.is_over):
            status = _OVER
        ring.statuses[slot] = status
        ring.done[0] = at + 1

    def _step(self, request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        self._state = self._engine.step(self._state, Action(*request["action"]))
        hash(self._state)
        self._show(self._state, 0)
        return {"shown": True}

    def _holds(self, request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        goal = self._goal(request) or self._engine.is_goal
        return {"holds": truth(goal(self._state), goal)}

    def _search(self, request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        bounds = Bounds(request["nodes"], request["depth"], _now() + request["seconds"])
        defaults = [Action(number) for number in self._available if number not in request["clicks"]]
        way = search(self._engine, self._state, self._goal(request), defaults, bounds)
        for action in way.actions or ():
            sendable(action, self._ring.frames.shape[1:])
        return {**way._asdict(), "keyed": self._engine.key is not None}

    def _analyse(self, request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        self._sources = {record_script.FILE: request["code"]}
        record_script.run(request["code"], record_script.trajectories(request["rows"], blobs), self._memory, request["most"])
        return {}

    def _goal(self, request: dict[str, Any]) -> Callable[[Any], Any] | None:
        if request["goal"] is None:
            return None
        self._sources[SUBGOAL] = request["goal"]
        return predicate(request["goal"], self._engine)


def _twice(step: Callable[[Any, Action], Any]) -> Callable[[Any, Action], Any]:
    def again(state: Any, action: Action) -> Any:
        step(state, action)
        return step(state, action)

    return again


def _actions(rows: Sequence[Sequence[int | None]]) -> list[Action]:
    return [Action(*row) for row in rows]  # type: ignore[arg-type]
