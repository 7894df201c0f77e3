"""Inside the sandbox: serves one program to the run process.

Sees first observations and actions; what an action led to only after the prediction of it has been taken, for `update`.
"""

from __future__ import annotations

import mmap
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import Any

import numpy as np

from lawbook.core import ipc
from lawbook.core.record import Action
from lawbook.sandbox import confinement, record_script
from lawbook.sandbox.fault_report import describe_error
from lawbook.sandbox.frame_ring import OPEN_FLAG, STATUS_SETS, STATUSES, FrameRing
from lawbook.sandbox.program_loader import SUBGOAL, Engine, compile_subgoal, load_program
from lawbook.sandbox.return_types import as_bool, as_frame, as_optional_bool, check_sendable
from lawbook.sandbox.search import Bounds, search

REPORT_SECONDS = 0.05
"""A slow replay reports at least this often, so that the run process can stop it early."""

_now = time.perf_counter
_UINT8 = np.dtype(np.uint8)
_SET_CODES = {frozenset(members): len(STATUSES) + k for k, members in enumerate(STATUS_SETS)}
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
        self._rolled: Any = None
        self._shape: tuple[int, ...] = ()
        self._ring: FrameRing
        self._available: list[int] = []
        self._open_rules: frozenset[int] | None = None
        self._visited: list[Any] = []  # states of the trajectory so far, for a search that goes to none of them again

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
        self._open_rules = None if request["open"] is None else frozenset(request["open"])
        self._engine = load_program(self._sources, request["engine"], may_update=self._open_rules is not None)
        return {"updates": self._engine.update is not None}

    def _replay(self, request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        """Step over `actions`, from a new start (`start`) or from where the program stands, and write renderings into the ring.

        from: the number of the first action's rendering. observations: what is handed to update before each action, and after the
        last; null: nothing. keep: False leaves the program standing where it stood.
        """
        first, n_unacknowledged = request["from"], 0
        n_shown = 0 if request["start"] else first
        try:
            frames = iter(blobs)
            state = self._state if request["start"] is None else self._initialise(request["start"], frames)
            n_shown = first
            step, write_to_ring = self._engine.step, self._write_to_ring
            update: Callable[[Any, Mapping[str, Any]], Any] = self._update_state
            if request["twice"]:
                step, update = _make_double(step), _make_double(update)
            observations = [self._read_observation(row, frames) for row in request["observations"]]
            last_observation = observations.pop() if len(observations) > len(request["actions"]) else None
            chunk_frames, is_open = self._ring.chunk_frames, self._open_rules is not None
            chunk_end, report_at = max(first - 1, 0) + chunk_frames, _now() + REPORT_SECONDS
            for index, (action, observation) in enumerate(zip_longest(_decode_actions(request["actions"]), observations), first):
                if index == chunk_end or _now() > report_at:
                    hash(state)
                    ipc.send(self._sock, {"n": request["n"], "upto": index})
                    n_unacknowledged += 1
                    if n_unacknowledged == 3:  # the ring holds this chunk and two that may still be compared
                        n_unacknowledged -= 1
                        self._wait_for_go()
                    chunk_end, report_at = index + chunk_frames, _now() + REPORT_SECONDS
                if observation is not None:
                    state = update(state, observation)
                if is_open and request["keep"]:
                    self._visited.append(state)
                state = step(state, action)
                if index == first:
                    hash(state)  # what follows the record's end is dropped, and so would be a hash that fails there
                write_to_ring(state, index)
                n_shown = index + 1
            if last_observation is not None:
                state = update(state, last_observation)
            hash(state)
            if request["keep"]:
                self._state = state
            else:
                self._rolled = state
            reply: dict[str, Any] = {"upto": n_shown, "done": True}
        except StoppedError:
            return {"upto": n_shown, "done": True}
        except ipc.BrokenConnectionError:
            raise
        except BaseException as error:
            reply = {"upto": n_shown, "done": True, "fault": describe_error(error, self._sources)}
        return reply

    def _initialise(self, start: dict[str, Any], frames: Iterator[bytes]) -> Any:
        """The state of a new start, its rendering in the ring."""
        self._shape = shape = tuple(start["shape"])
        self._ring, self._visited, self._available = FrameRing(self._memory, shape), [], start["available"]
        animation = [np.frombuffer(next(frames), dtype=np.uint8).reshape(shape) for _ in range(start["frames"])]
        observation = {"frame": animation[-1], "level": start["level"], "available_actions": tuple(start["available"])}
        if self._open_rules is not None:
            observation["frames"] = tuple(animation)
            observation["earlier"] = tuple(_read_attempt(row, next(frames), shape) for row in start["earlier"])
        state = self._engine.initial_state(observation)
        hash(state)
        self._write_to_ring(state, 0)
        return state

    def _read_observation(self, row: list[Any] | None, frames: Iterator[bytes]) -> Mapping[str, Any] | None:
        """What a program is shown of a step: nothing of it can be written to (the frames are bytes, and bytes are read-only)."""
        if row is None:
            return None
        n_frames, level, available, reward = row
        animation = tuple(np.frombuffer(next(frames), dtype=np.uint8).reshape(self._shape) for _ in range(n_frames))
        return MappingProxyType(
            {
                "frame": animation[-1],
                "frames": animation,
                "level": level,
                "available_actions": tuple(available),
                "reward": float(reward),
            }
        )

    def _update_state(self, state: Any, observation: Mapping[str, Any]) -> Any:
        assert self._engine.update is not None
        state = self._engine.update(state, observation)
        hash(state)
        return state

    def _wait_for_go(self) -> None:
        if not ipc.receive(self._sock)[0]["go"]:
            raise StoppedError

    def _write_to_ring(self, state: Any, index: int) -> None:
        """Put rendering and status number `index` into the ring."""
        ring, engine = self._ring, self._engine
        at_goal = engine.is_goal(state)
        rendering = engine.render(state)
        slot = index % ring.capacity
        flag = 0
        if type(rendering) is not np.ndarray or rendering.dtype is not _UINT8 or rendering.shape != ring.frames.shape[1:]:
            rendering = as_frame(rendering, ring.frames.shape[1:], self._open_rules)
            if self._open_rules is not None and (is_open := rendering < 0).any():
                ring.open_cells[slot] = np.where(is_open, -rendering, 0)
                rendering, flag = np.where(is_open, 0, rendering), OPEN_FLAG
        ring.frames[slot] = rendering
        ring.statuses[slot] = flag | (
            self._get_status(state, at_goal) if self._open_rules is None else self._get_open_status(state)
        )
        ring.n_done[0] = index + 1

    def _get_status(self, state: Any, at_goal: Any) -> int:
        """The status as an index into STATUSES."""
        engine = self._engine
        if at_goal is not False and as_bool(at_goal, engine.is_goal):
            return _COMPLETED
        if engine.is_over is not None and as_bool(engine.is_over(state), engine.is_over):
            return _OVER
        return _RUNNING

    def _get_open_status(self, state: Any) -> int:
        """The statuses left possible, as the code of their set: is_goal and is_over may say None."""
        engine = self._engine
        at_goal = as_optional_bool(engine.is_goal(state), engine.is_goal)
        if at_goal is True:
            return _COMPLETED
        is_over = False if engine.is_over is None else as_optional_bool(engine.is_over(state), engine.is_over)
        if at_goal is False and is_over is not None:
            return _OVER if is_over else _RUNNING
        possible = {_COMPLETED} if at_goal is None else set()
        possible |= {_OVER} if is_over is not False else set()
        possible |= {_RUNNING} if is_over is not True else set()
        return _SET_CODES[frozenset(possible)]

    def _step(self, request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        observation = self._read_observation(request["observation"], iter(blobs))
        if observation is not None:
            self._state = self._update_state(self._state, observation)
        self._state = self._engine.step(self._state, Action(*request["action"]))
        hash(self._state)
        self._write_to_ring(self._state, 0)
        return {"shown": True}

    def _check_goal(self, request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        goal = self._compile_goal(request) or self._engine.is_goal
        result = goal(self._rolled if request["rolled"] else self._state)
        return {"holds": as_bool(result, goal) if self._open_rules is None else as_optional_bool(result, goal)}

    def _search(self, request: dict[str, Any], blobs: list[bytes]) -> dict[str, Any]:
        bounds = Bounds(request["nodes"], request["depth"], _now() + request["seconds"])
        default_actions = [Action(number) for number in self._available if number not in request["clicks"]]
        is_open = self._open_rules is not None
        goal = self._compile_goal(request)
        result = search(
            self._engine,
            self._state,
            goal,
            default_actions,
            bounds,
            is_open=is_open,
            frontier=is_open and request["frontier"],
            visited=self._visited,
        )
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


def _make_double[T](function: Callable[[Any, T], Any]) -> Callable[[Any, T], Any]:
    def call_twice(state: Any, argument: T) -> Any:
        function(state, argument)
        return function(state, argument)

    return call_twice


def _read_attempt(row: list[Any], block: bytes, shape: tuple[int, ...]) -> Mapping[str, Any]:
    """An attempt at the level before, as a program is shown it: to be read only."""
    actions, statuses = row
    frames = np.frombuffer(block, dtype=np.uint8).reshape(-1, *shape)
    return MappingProxyType({"actions": tuple(_decode_actions(actions)), "frames": frames, "statuses": tuple(statuses)})


def _decode_actions(rows: Sequence[Sequence[int | None]]) -> list[Action]:
    return [Action(*row) for row in rows]  # type: ignore[arg-type]
