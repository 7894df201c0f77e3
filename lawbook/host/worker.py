"""Inside the sandbox: serves one program to the run process. Sees first observations and actions, never what they led to."""

from __future__ import annotations

import mmap
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lawbook import wire
from lawbook.host import sandbox
from lawbook.host.blame import NonsenseError, blame
from lawbook.host.load import SUBGOAL, Engine, load, predicate
from lawbook.host.ring import Ring
from lawbook.host.search import Bounds, search, truth
from lawbook.record import Action

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
        self._defaults: list[Action] = []

    def serve(self) -> None:
        """Answer requests, each {"op", "n", ...}, with {"n", ...} or {"n", "fault"}. Returns when nobody listens any more."""
        deeds: dict[str, Callable[[dict[str, Any], list[bytes]], dict[str, Any]]] = {
            "attempts": self._attempts,
            "load": self._load,
            "replay": self._replay,
            "step": self._step,
            "holds": self._holds,
            "search": self._search,
        }
        while True:
            try:
                request, blobs = wire.receive(self._sock)
                if "go" in request:  # about a replay that has ended meanwhile
                    continue
                answer = self._answer(deeds[request["op"]], request, blobs)
                wire.send(self._sock, {"n": request["n"], **answer})
            except wire.BrokenWireError:
                return

    def _answer(self, deed: Callable[..., dict[str, Any]], request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        try:
            return deed(request, blobs)
        except wire.BrokenWireError:
            raise
        except BaseException as error:  # SystemExit and KeyboardInterrupt too: whatever the program raises is its fault
            return {"fault": blame(error, self._sources, loading=request["op"] == "load")}

    def _attempts(self, request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        return {"facts": sandbox.attempts(request["secret"], request["folder"])}

    def _load(self, request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        self._sources = dict(request["files"])
        self._engine = load(self._sources, request["engine"])
        return {}

    def _replay(self, request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        shape = tuple(request["shape"])
        self._ring = ring = Ring(self._memory, shape)
        self._defaults = [Action(number) for number in request["available"] if number not in request["clicks"]]
        frame = np.frombuffer(blobs[0], dtype=np.uint8).reshape(shape)  # read-only, because bytes are
        first = {"frame": frame, "level": request["level"], "available_actions": tuple(request["available"])}
        at, unheard = 0, 0
        try:
            state = self._engine.initial_state(first)
            hash(state)
            self._show(state, 0)
            step, show, chunk = self._engine.step, self._show, ring.chunk
            full, late = chunk, _now() + RING_SECONDS
            for at, action in enumerate(_actions(request["actions"]), 1):
                if at == full or _now() > late:
                    hash(state)
                    wire.send(self._sock, {"n": request["n"], "upto": at})
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
        except wire.BrokenWireError:
            raise
        except BaseException as error:
            answer = {"upto": at, "done": True, "fault": blame(error, self._sources)}
        return answer

    def _heed(self) -> None:
        if not wire.receive(self._sock)[0]["go"]:
            raise StoppedError

    def _show(self, state: Any, at: int) -> None:
        """Put rendering and status number `at` into the ring."""
        ring, engine = self._ring, self._engine
        goal = engine.is_goal(state)
        frame = engine.render(state)
        if type(frame) is not np.ndarray or frame.dtype is not _UINT8 or frame.shape != ring.frames.shape[1:]:
            frame = _frame(frame, ring.frames.shape[1:])
        slot = at % ring.capacity
        ring.frames[slot] = frame
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
        way = search(self._engine, self._state, self._goal(request), self._defaults, bounds)
        for action in way.actions or ():
            _check(action, self._ring.frames.shape[1:])
        shortest = way.method == "bfs" and self._engine.key is None
        return {"actions": way.actions, "method": way.method, "cut": way.cut, "nodes": way.nodes, "shortest": shortest}

    def _goal(self, request: dict[str, Any]) -> Callable[[Any], Any] | None:
        if request["goal"] is None:
            return None
        self._sources[SUBGOAL] = request["goal"]
        return predicate(request["goal"], self._engine)


def _actions(rows: Sequence[Sequence[int | None]]) -> list[Action]:
    return [Action(*row) for row in rows]  # type: ignore[arg-type]


def _check(action: Action, shape: tuple[int, ...]) -> None:
    """Raises NonsenseError for what no world takes."""
    if action.id < 1:
        raise NonsenseError(
            "type", f"The way found holds action {action.id}; a program's actions are numbered from 1 (0 is the reset)."
        )
    if action.x is not None or action.y is not None:
        on_it = action.x is not None and action.y is not None and 0 <= action.x < shape[1] and 0 <= action.y < shape[0]
        if not on_it:
            where = f"x={action.x}, y={action.y}"
            raise NonsenseError("type", f"The way found holds a click at {where}; the frames here are {shape[0]} x {shape[1]}.")


def _frame(frame: Any, shape: tuple[int, int]) -> Any:
    """What `render` returned as an array that fits, where it is not already one. Raises NonsenseError."""
    try:
        array = np.asarray(frame)
    except ValueError:
        message = f"render returned rows of different lengths; the frames here are {shape[0]} x {shape[1]}."
        raise NonsenseError("shape", message) from None
    if array.dtype.kind not in "iub":
        what = f"a {type(frame).__name__}" if array.dtype == object or array.ndim == 0 else f"an array of {array.dtype}"
        raise NonsenseError("type", f"render returned {what}; a frame is an array of whole numbers from 0 to 255 (uint8).")
    if array.shape != shape:
        raise NonsenseError("shape", f"render returned shape {array.shape}, the frames here are {shape[0]} x {shape[1]}.")
    if array.size and (array.min() < 0 or array.max() > 255):
        wrong = array.min() if array.min() < 0 else array.max()
        raise NonsenseError("type", f"render returned a cell of {wrong}; a frame holds whole numbers from 0 to 255.")
    return array
