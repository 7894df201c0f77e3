"""The zygote: an interpreter that has numpy and perception loaded and forks a caged worker for each request: its life.

It is started with an empty environment, so that no key of ours is in a worker's memory, and with its own hash seed: two workers of
one zygote share the order of sets, and only a second zygote shows that a program depends on it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import mmap
import os
import signal
import socket
import sys
import time
from typing import NoReturn

import numpy as np

import lawbook
from lawbook.core import ipc
from lawbook.sandbox.confinement import ProcessConfinement
from lawbook.sandbox.frame_ring import MEMORY_BYTES
from lawbook.sandbox.worker_server import ProgramServer

_PRELOADED = ("dataclasses", "copy", "heapq", "binascii", "zlib")
"""Loaded before the first fork: what programs often import, and what needs a library of the system (as numpy.random does)."""

OUT_OF_MEMORY, CHANNEL_BROKEN = 97, 96
"""Exit codes of a worker that had not even the memory to say so, and of one whose serving broke or whose channel was closed."""


def main(control: int, memory: int) -> NoReturn:
    """The zygote's life: fork and end workers until the run process hangs up or dies."""
    _install_perception()
    roots = set(sys.argv[3:])
    del sys.argv[1:], sys.orig_argv[1:]
    sys.path[:] = [entry for entry in sys.path if entry not in roots]
    sys.path_importer_cache.clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "lawbook"]:
        del sys.modules[name]  # our own functions keep each other alive
    padding = _allocate_padding(int(os.environ.get("PYTHONHASHSEED", "0")))
    os.environ.clear()
    for name in _PRELOADED:
        with contextlib.suppress(ImportError):  # an interpreter can be built without zlib
            importlib.import_module(name)
    confinement = ProcessConfinement([*_list_standard_library(), *_list_numpy_paths()], sys.path, memory)
    sock = socket.socket(fileno=control)
    children: set[int] = set()
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 10, 10)  # a search keeps many small tuples; looking through them every 700 costs a tenth of its time
    try:
        ipc.send(sock, {"facts": {**confinement.facts, "hash": str(hash("lawbook"))}})
        while True:
            request = ipc.receive(sock)[0]
            if request["op"] == "fork":
                _, descriptors, _, _ = socket.recv_fds(sock, 1, 2)
                pid = os.fork()
                if pid == 0:
                    _run_worker(confinement, *descriptors)
                for descriptor in descriptors:
                    os.close(descriptor)
                children.add(pid)
                ipc.send(sock, {"n": request["n"], "pid": pid})
            else:
                children.discard(request["pid"])
                ipc.send(sock, {"n": request["n"], "status": _end_child(request["pid"], request["grace"])})
    except ipc.BrokenConnectionError:
        pass
    finally:
        for pid in children:
            _end_child(pid, 0.0)
        del padding
    os._exit(0)


def _allocate_padding(seed: int) -> list[bytes]:
    """Something to keep, so that objects lie elsewhere than in an interpreter with another seed.

    Where memory begins is random by whole pages, so what is left of an address, and with it the order of a set of plain objects,
    would be the same in both. Up to 512 bytes Python fills pools of one size each (an odd number of each shifts every power of
    two); above, the C library fills the gaps it has.
    """
    return [bytes(size) for size in range(0, 4096 if seed else 0, 16) for _ in range(1 + (size + 32 * seed) // 16 % 3 * 2)]


def _install_perception() -> None:
    """Load `lawbook.core.perception` as a module of its own: it needs numpy alone, and is all of us that programs can import."""
    spec = importlib.util.spec_from_file_location("perception", f"{lawbook.__path__[0]}/core/perception.py")
    assert spec is not None and spec.loader is not None
    sys.modules["perception"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


def _list_standard_library() -> list[str]:
    """Everything in the folders of the standard library but what was installed into them."""
    folders = [folder for folder in sys.path if os.path.isdir(folder)]  # noqa: PTH112 - pathlib would have to be loaded
    return [
        entry.path for folder in folders for entry in os.scandir(folder) if entry.name not in ("site-packages", "dist-packages")
    ]


def _list_numpy_paths() -> list[str]:
    numpy_folder = os.path.realpath(np.__path__[0])
    return [numpy_folder, numpy_folder + ".libs"]


def _run_worker(confinement: ProcessConfinement, channel: int, memory: int) -> NoReturn:
    """A worker's life, from the fork to its end."""
    code = CHANNEL_BROKEN
    try:
        server = ProgramServer(socket.socket(fileno=channel), mmap.mmap(memory, MEMORY_BYTES))
        confinement.enter(keep=[channel])
        server.serve()
    except MemoryError:
        code = OUT_OF_MEMORY
    finally:
        os._exit(code)


def _end_child(pid: int, grace: float) -> int | None:
    """Reap one child, by force if it does not end within `grace` seconds; its wait status when no force was needed."""
    deadline = time.monotonic() + grace
    while True:
        has_ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        if has_ended or time.monotonic() >= deadline:
            break
        time.sleep(0.001)
    for kill in (os.killpg, os.kill):  # while it is not reaped, nobody else can have its number; it may not be a group yet
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    return status if has_ended else None
