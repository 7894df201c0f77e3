"""The world's own process: WorldProcess on our side, `main` inside. Only actions go in, only observations come out."""

from __future__ import annotations

import ctypes
import json
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np

from lawbook.core import ipc
from lawbook.core.record import MAX_CELLS, MAX_NUMBER, RESET, Action, Observation, Status, freeze
from lawbook.errors import RefusedError, UsageError, WorldError
from lawbook.worlds.address import WorldAddress, check_scheme, make_world
from lawbook.worlds.world import Rejoinable, World, WorldSpec, explain_refusal

REPLY_SECONDS = 60.0
"""How long a world may take over one answer, its making included."""

_CLOSE_SECONDS = 5.0
_TAIL_BYTES = 8192
_MAX_CHARS = 1000
_PR_SET_PDEATHSIG = 1

# The whole environment of a world process: what Python and graphics-free libraries need, and no keys. An allow-list, because a
# secret may have any name, and because some engines change their rules by environment variables.
_INHERITED_VARIABLES = (
    "PATH",
    "HOME",
    "TMPDIR",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "LD_LIBRARY_PATH",
    "PYTHONHOME",
    "LAWBOOK_GAMES",
)
_FIXED_VARIABLES = {"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

# -P and our own sys.path: the child imports exactly what we would, and nothing that happens to lie in the working directory.
_BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv[2]); from lawbook.worlds.process import main; main(int(sys.argv[1]))"


class WorldProcess:
    """A World that lives in a process of its own: other session, no API keys, killed with us (and with the thread that made it).

    address: which world; seconds: the limit on every answer; environment: variables it is given besides the usual few.
    Raises UsageError for an unknown world, a bad option or a missing package, WorldError when it cannot be started.

    `reset` and `step` raise WorldError, and end the process, when the world dies, hangs, raises or breaks its interface;
    `step` raises RefusedError, and sends nothing, for an action that may not be sent: some worlds bill what they do not accept.
    Frames are read-only and nobody else's. For one caller at a time.
    """

    spec: WorldSpec

    def __init__(
        self, address: WorldAddress | str, *, seconds: float = REPLY_SECONDS, environment: Mapping[str, str] | None = None
    ) -> None:
        self.address = WorldAddress.parse(address) if isinstance(address, str) else address
        self.last_observation: Observation | None = None
        self._seconds = seconds
        self._is_open = False
        check_scheme(self.address)
        self._start(environment or {})
        header, _ = self._request(
            {"do": "make", "scheme": self.address.scheme, "name": self.address.name, "options": dict(self.address.options)}, "start"
        )
        if "usage" in header:
            self.close()
            raise UsageError(str(header["usage"])[:_MAX_CHARS])
        try:
            self.spec = _decode_spec(header["spec"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            self._fail(f"describes itself wrongly ({error})", "start")

    @property
    def pid(self) -> int:
        """The process id of the world's own process."""
        return self._process.pid

    def reset(self) -> Observation:
        """Start the level anew (the first call opens the world).

        As in many worlds, a reset with no action since the level began may restart everything: whether that is wanted is the
        caller's business.
        """
        header, blobs = self._request({"do": "reset"}, "reset")
        observation = self._decode_observation(header, blobs, "reset")
        if observation.status is not Status.RUNNING:
            self._fail(f"was {observation.status} straight after a reset", "reset")
        if self.last_observation is None and self.spec.levels is not None and observation.level >= self.spec.levels:
            self._fail(f"began at level {observation.level}, counted from 0, of {self.spec.levels}", "reset")
        if self.last_observation is not None and observation.level > self.last_observation.level:
            self._fail(f"went from level {self.last_observation.level} to {observation.level}", "reset")
        self.last_observation = observation
        return observation

    def step(self, action: Action) -> Observation:
        """Send one action that is not RESET."""
        self._check_action(action)
        activity = f"action {action}"
        header, blobs = self._request({"do": "step", "action": action}, activity)
        observation = self._decode_observation(header, blobs, activity)
        previous_level = self.last_observation.level if self.last_observation else 0
        completed = observation.status is Status.COMPLETED
        # The next level, or all of them at once where a game is won early; otherwise the level stays.
        possible_levels = (previous_level + 1, max(self.spec.levels or 0, previous_level + 1)) if completed else (previous_level,)
        if observation.level not in possible_levels:
            self._fail(f"went from level {previous_level} to {observation.level} and called that {observation.status}", activity)
        self.last_observation = observation
        return observation

    def rejoin(self, last_observation: Observation) -> tuple[int, int] | None:
        """Take up a play that outlived its process, whose last observation is `last_observation`.

        Returns what the world has billed, as Rejoinable.rejoin does; None where it will not say, or is no world that could.
        """
        header, _ = self._request({"do": "rejoin", "level": last_observation.level}, "rejoining")
        self.last_observation = last_observation
        try:
            return None if header["billed"] is None else (int(header["billed"][0]), int(header["billed"][1]))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            self._fail(f"broke its interface ({error})", "rejoining")

    def close(self) -> None:
        """End the process, whatever it is doing. Does nothing the second time."""
        if self._is_open:
            with suppress(ipc.BrokenConnectionError):
                ipc.send(self._sock, {"do": "close"})
                ipc.receive(self._sock, seconds=_CLOSE_SECONDS)
        self._kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _check_action(self, action: Action) -> None:
        """Raise RefusedError unless `action` may be sent now. Minds may read the sentences: they never name the world."""
        if self.last_observation is None:
            raise RefusedError("The world has not been opened; reset it first.")
        if not all(type(number) is int or (number is None and position) for position, number in enumerate(action)):
            raise RefusedError(f"{tuple(action)} is no action; its id, and x and y where it is a click, are whole numbers.")
        if action.id == RESET.id:
            raise RefusedError("RESET (0) is no step; ask for a reset instead.")
        if (
            self.last_observation.status is Status.COMPLETED
            and self.spec.levels is not None
            and self.last_observation.level >= self.spec.levels
        ):
            raise RefusedError("The last level is completed; no action can follow.")
        refusal = explain_refusal(self.spec, self.last_observation, action)
        if refusal:
            raise RefusedError(refusal)

    def _start(self, environment: Mapping[str, str]) -> None:
        ours, theirs = socket.socketpair()
        inherited = {key: value for key, value in os.environ.items() if key in _INHERITED_VARIABLES}
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _BOOT, str(theirs.fileno()), json.dumps(sys.path)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env={**inherited, **_FIXED_VARIABLES, **environment},
            )
        except OSError as error:
            ours.close()
            raise WorldError(f"No process could be started for {self.address} ({error}); free some memory or processes.") from error
        finally:
            theirs.close()
        self._sock = ours
        self._output = _OutputTail(self._process)
        self._is_open = True

    def _request(self, message: dict[str, Any], activity: str) -> tuple[dict[str, Any], list[bytes]]:
        if not self._is_open:
            raise WorldError(f"The world {self.address} has ended; start it anew.")
        try:
            ipc.send(self._sock, message)
            header, blobs = ipc.receive(self._sock, seconds=self._seconds)
        except ipc.BrokenConnectionError as error:
            if str(error).startswith("timeout"):
                self._fail(f"gave no answer within {self._seconds:g} s", activity)
            if "malformed" in str(error):
                self._fail("sent something that is no message", activity)
            self._wait_for_exit()
            self._fail("died", activity)
        except BaseException:
            self._kill()  # interrupted half-way: an answer may still be under way, and would be taken for that of the next action
            raise
        if "error" in header:
            self._fail(f"failed with {header['error']}", activity)
        return header, blobs

    def _decode_observation(self, header: dict[str, Any], blobs: list[bytes], activity: str) -> Observation:
        try:
            count, *shape = header["shape"]
            status, level, available = Status(header["status"]), header["level"], tuple(header["available"])
            reward = header["reward"]
            if tuple(shape) != self.spec.shape:
                raise ValueError(
                    f"a frame of {shape[0]} x {shape[1]} where {self.spec.shape[0]} x {self.spec.shape[1]} was promised"
                )
            if not all(type(number) is int for number in available) or not set(available) <= set(self.spec.actions):
                raise ValueError(f"available actions {list(available)} that are not all among {list(self.spec.actions)}")
            if type(level) is not int or type(count) is not int or level < 0 or count < 1:
                raise ValueError(f"{count} frames at level {level}")
            if type(reward) is not float or not math.isfinite(reward):
                raise ValueError(f"a reward of {reward!r}")
            frames = np.frombuffer(blobs[0], dtype=np.uint8).reshape(count, *shape)  # over bytes: private and read-only for good
        except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
            self._fail(f"broke its interface ({error})", activity)
        return Observation(tuple(frames), status, level, available, reward)

    def _fail(self, failure: str, activity: str) -> NoReturn:
        """End the process and raise WorldError: what happened at what, the last line it wrote, what to do."""
        self._kill()
        code = self._process.returncode
        if failure == "died":
            failure = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended by itself with exit code {code}"
        failure = f"{failure[:_MAX_CHARS]} at {activity}"
        line = self._output.get_last_line()
        if line and line not in failure:
            failure += f" (the last line it wrote was {line!r})"
        raise WorldError(f"The world {self.address} {failure}; mend it or its options.")

    def _wait_for_exit(self) -> None:
        """It hung up: give it a moment to end by itself, so that we report its exit code and not our own SIGKILL. Reaps nothing."""
        deadline = time.monotonic() + 1.0
        while time.monotonic() < deadline:
            if os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
                return
            time.sleep(0.005)

    def _kill(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        # Its whole session, before the leader is reaped: until then the number cannot belong to anybody else.
        with suppress(ProcessLookupError):
            if self._process.returncode is None:
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._sock.close()
        self._output.close()


class _OutputTail:
    """Drains what a world prints, so that it never blocks and never disturbs, and keeps the end of it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        self._pipe = process.stdout
        self._last_bytes = b""
        self._thread = threading.Thread(target=self._drain, name="world's last words", daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        while chunk := os.read(self._pipe.fileno(), 1 << 16):
            self._last_bytes = (self._last_bytes + chunk)[-_TAIL_BYTES:]

    def close(self) -> None:
        self._thread.join(1.0)
        if not self._thread.is_alive():
            self._pipe.close()

    def get_last_line(self) -> str:
        lines = [line.strip() for line in self._last_bytes.decode(errors="replace").splitlines() if line.strip()]
        return lines[-1][:200] if lines else ""


def _decode_spec(fields: dict[str, Any]) -> WorldSpec:
    """The spec as it crossed the wire, checked. Raises KeyError, TypeError or ValueError."""
    height, width = (int(n) for n in fields["shape"])
    actions, clicks = tuple(int(a) for a in fields["actions"]), tuple(int(a) for a in fields["clicks"])
    levels, baselines = fields["levels"], fields["baselines"]
    if height < 1 or width < 1 or height * width > MAX_CELLS:
        raise ValueError(f"frames of {height} x {width}; they have 1 to {MAX_CELLS:,} cells")
    if not actions or len(set(actions)) != len(actions) or not set(clicks) <= set(actions):
        raise ValueError(f"actions {list(actions)} with clicks {list(clicks)}; ids are distinct")
    if not all(RESET.id < number < MAX_NUMBER for number in actions):
        raise ValueError(f"actions {list(actions)}; ids are whole numbers from 1 (0 is RESET)")
    if levels is not None and (type(levels) is not int or levels < 1):
        raise ValueError(f"{levels} levels")
    frameskip, opening = fields["frameskip"], fields["opening"]
    if type(frameskip) is not int or type(opening) is not int or frameskip < 1 or opening < 0:
        raise ValueError(f"a frameskip of {frameskip} and an opening of {opening} frames")
    if baselines is not None and len(baselines) != levels:
        raise ValueError(f"{len(baselines)} baselines for {levels} levels")
    if not all(number is None or (type(number) is int and number >= 0) for number in baselines or ()):
        raise ValueError(f"baselines {baselines}; each is a number of actions, or None")
    return WorldSpec(
        shape=(height, width),
        actions=actions,
        clicks=clicks,
        levels=levels,
        baselines=None if baselines is None else tuple(baselines),
        baseline=str(fields["baseline"]),
        palette=str(fields["palette"]),
        replayable=bool(fields["replayable"]),
        ticket=str(fields["ticket"]),
        frameskip=frameskip,
        opening=opening,
    )


def main(descriptor: int) -> None:
    """Answer messages, inside, on the socket `descriptor` until it is closed, or we are told to close."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    with socket.socket(fileno=descriptor) as sock:
        sock.set_inheritable(False)
        world: World | None = None
        while True:
            try:
                message, _ = ipc.receive(sock)
            except ipc.BrokenConnectionError:
                return  # the run process is gone
            blobs: list[bytes] = []
            try:
                match message["do"]:
                    case "make":
                        world = make_world(WorldAddress(message["scheme"], message["name"], message["options"]))
                        header: dict[str, Any] = {"spec": asdict(world.spec)}
                    case "rejoin" if world:
                        header = {"billed": world.rejoin(message["level"]) if isinstance(world, Rejoinable) else None}
                    case "reset" if world:
                        header, blobs = _pack_observation(world.reset())
                    case "step" if world:
                        header, blobs = _pack_observation(world.step(Action(*message["action"])))
                    case _:
                        if world:
                            world.close()
                        ipc.send(sock, {})
                        return
            except Exception as error:
                if isinstance(error, UsageError) and message["do"] == "make":
                    header = {"usage": str(error)}
                else:
                    traceback.print_exc()
                    header = {"error": " ".join(f"{type(error).__name__}: {error}".split())[:500]}
            ipc.send(sock, header, blobs)


def _pack_observation(observation: Observation) -> tuple[dict[str, Any], list[bytes]]:
    """One observation as a message, its frames copied here and now. Raises ValueError for none, or for several shapes."""
    frames = [freeze(frame) for frame in observation.frames]
    if len({frame.shape for frame in frames}) != 1:
        raise ValueError("an observation needs at least one frame, and all of one shape")
    header = {
        "status": str(Status(observation.status)),
        "level": int(observation.level),
        "available": [int(number) for number in observation.available],
        "reward": float(observation.reward),
        "shape": [len(frames), *frames[0].shape],
    }
    return header, [b"".join(frame.tobytes() for frame in frames)]
