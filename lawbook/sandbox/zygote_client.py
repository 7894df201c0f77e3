"""Our hold on a zygote: start it, have it fork and end workers, end it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import lawbook
from lawbook.core import ipc
from lawbook.errors import HostError

START_SECONDS = 30.0

# -S: no site-packages; -s -P: no user's and no working folder; -B: writes no bytecode. Not -I or -E: they ignore PYTHONHASHSEED.
_FLAGS = ("-S", "-s", "-P", "-B", "-X", "utf8")
_BOOT = (
    "import sys; sys.path += sys.argv[3:]; from lawbook.sandbox.zygote_server import main; main(int(sys.argv[1]), int(sys.argv[2]))"
)


class Zygote:
    """Our hold on one zygote. `started` may be called later: until then it starts while we do something else. Raises HostError."""

    def __init__(self, hash_seed: int, memory: int) -> None:
        ours, theirs = socket.socketpair()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        roots = dict.fromkeys(str(Path(module.__path__[0]).parent) for module in (lawbook, np))
        environment = {"PYTHONHASHSEED": str(hash_seed), "OPENBLAS_NUM_THREADS": "1"}
        if "LD_LIBRARY_PATH" in os.environ:  # some interpreters do not find their own library without
            environment["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, *_FLAGS, "-c", _BOOT, str(theirs.fileno()), str(memory), *roots],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                env=environment,
                cwd="/",
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C in the terminal is for us to hear
            )
        self.pid = self._process.pid
        self._sock = ours
        self._request_number = 0
        self._facts: dict[str, str] | None = None

    def wait_until_started(self) -> dict[str, str]:
        """Wait until it is up; the layers of its cage and what came of each."""
        if self._facts is None:
            self._facts = self._receive(START_SECONDS)["facts"]
        return self._facts

    def fork(self, sock: socket.socket, memory: int) -> int:
        """Process id of a new worker that answers on the other end of `sock` and shares `memory` (see ring.create)."""
        self.wait_until_started()
        self._request_number += 1
        try:
            ipc.send(self._sock, {"n": self._request_number, "op": "fork"})
            socket.send_fds(self._sock, [b"f"], [sock.fileno(), memory])
        except (OSError, ipc.BrokenConnectionError) as error:
            raise self._explain_death(error) from error
        return int(self._receive_reply(START_SECONDS)["pid"])

    def end(self, pid: int, grace: float = 0.0) -> int | None:
        """Kill a worker with its whole group; its wait status if it had ended by itself within `grace` seconds, otherwise None."""
        self._request_number += 1
        try:
            ipc.send(self._sock, {"n": self._request_number, "op": "end", "pid": pid, "grace": grace})
        except ipc.BrokenConnectionError as error:
            raise self._explain_death(error) from error
        status = self._receive_reply(START_SECONDS + grace)["status"]
        return None if status is None else int(status)

    def close(self) -> None:
        """End it; every worker it has forked dies with it."""
        self._sock.close()
        if self._facts is None:  # still starting, with nothing to end
            self._process.kill()
        try:
            self._process.wait(timeout=5)
        except Exception:
            self._process.kill()
            self._process.wait()
        self._errors.close()

    def _receive_reply(self, seconds: float) -> dict[str, Any]:
        while True:  # an interrupted call may have left its answer behind
            reply = self._receive(seconds)
            if reply.get("n") == self._request_number:
                return reply

    def _receive(self, seconds: float) -> dict[str, Any]:
        try:
            return ipc.receive(self._sock, seconds=seconds)[0]
        except ipc.BrokenConnectionError as error:
            raise self._explain_death(error) from error

    def _explain_death(self, error: Exception) -> HostError:
        if self._errors.closed:
            return HostError("The host was closed; open another.")
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        reason = lines[-1] if lines else error
        return HostError(f"The process that runs programs is gone ({reason}); start the run again with --resume.")
