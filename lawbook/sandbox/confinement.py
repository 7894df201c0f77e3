"""The sandbox: everything that a process running untrusted code is put under, and the test that it holds. There is no other.

Layers, each of which is enough against most of what a program might try, and none against all: a session of its own that dies with
its parent, no open files but those it needs, resource limits, no capabilities, Landlock (files), seccomp (system calls).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import signal
import socket
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from lawbook.sandbox import landlock, seccomp

libc = ctypes.CDLL(None, use_errno=True)

CPU_SECONDS = 3600
"""Backstop in case nobody is left to enforce the wall clock."""
OPEN_FILES = 64

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_CAPABILITIES_3, _DAC_READ_SEARCH = 0x20080522, 1 << 2
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPGET = {"x86_64": 125, "aarch64": 90}


class ProcessConfinement:
    """Built once in the process that forks; `enter` shuts a child in, in well under a millisecond.

    readable: files and folders that may be read; listable: folders whose names may be listed.
    memory: bytes of address space beyond what the forking process holds now.
    A layer that this machine lacks is left out, `facts` says so, and `attempts` shows what that means.
    """

    def __init__(self, readable: Iterable[str], listable: Iterable[str], memory: int) -> None:
        version = landlock.get_abi_version()
        self._rules = landlock.make_ruleset(readable, listable) if version else None
        self._filter = seccomp.build_allow_list(platform.machine()) if seccomp.is_supported() else None
        self._memory = _read_address_space() + memory
        self._parent = os.getpid()
        self.facts = {
            "landlock": f"ABI {version}" if version else "absent",
            "seccomp": "allow-list" if self._filter else "absent",
        }

    def enter(self, keep: Iterable[int]) -> None:
        """Shut this process, just forked, in for good. Only `keep` and /dev/null as 0, 1, 2 stay open. Raises OSError."""
        os.setsid()
        null_fd = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null_fd, standard)
        rules = None if self._rules is None else os.dup(self._rules)
        _close_all_but({0, 1, 2, *keep, *([] if rules is None else [rules])})
        for limit, value in (
            (resource.RLIMIT_AS, self._memory),
            (resource.RLIMIT_CPU, CPU_SECONDS),
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_NOFILE, OPEN_FILES),
            (resource.RLIMIT_NPROC, 0),
        ):
            hard = resource.getrlimit(limit)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(limit, (value, value))
        drop_capabilities(keep=_DAC_READ_SEARCH)
        libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)  # others of the same user cannot trace it
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != self._parent:  # it died before we asked to die with it
            os._exit(1)
        if rules is not None:
            landlock.restrict(rules)
            os.close(rules)
        if self._filter is not None:
            seccomp.install(self._filter)


def run_escape_attempts(secret: str, folder: str) -> dict[str, str]:
    """Try, from inside, what must not work: read `secret`, reach the network, fork, write into `folder`. What came of each."""
    return {
        "read": _attempt(lambda: _read(secret), lambda: _read("/proc/self/environ")),
        "connect": _attempt(_connect, _send_datagram),
        "fork": _attempt(_fork),
        "write": _attempt(lambda: _write(os.path.join(folder, SELF_TEST_FILE))),  # noqa: PTH118 - pathlib is not loaded here
    }


@dataclass(frozen=True)
class SandboxReport:
    """What the self-test found. level: full (nothing worked that must not) or weak. facts: layer or attempt -> what came of it."""

    level: str
    facts: Mapping[str, str]

    @classmethod
    def from_facts(cls, facts: Mapping[str, str]) -> SandboxReport:
        required = ("read", "connect", "fork", "write")
        return cls("full" if all(facts.get(name) == DENIED for name in required) else "weak", dict(facts))

    @property
    def is_confining(self) -> bool:
        """No network and no reads: the least that a run is allowed without being asked for less."""
        return self.facts.get("read") == DENIED and self.facts.get("connect") == DENIED


SELF_TEST_FILE = "lawbook-self-test"
"""The file that the self-test tries to write."""
DENIED, POSSIBLE = "denied", "possible"


def _attempt(*operations: Callable[[], object]) -> str:
    for operation in operations:
        try:
            operation()
        except PermissionError:
            continue
        except BlockingIOError:  # a fork above RLIMIT_NPROC
            continue
        except OSError:  # refused by the other side: so it was reached
            return POSSIBLE
        return POSSIBLE
    return DENIED


def _read(path: str) -> None:
    os.close(os.open(path, os.O_RDONLY))


def _write(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT))


def _connect() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.connect(("127.0.0.1", 9))


def _send_datagram() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"", ("127.0.0.1", 9))


def _fork() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _close_all_but(keep: set[int]) -> None:
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - pathlib is not loaded here
        if int(name) not in keep:
            with contextlib.suppress(OSError):  # the one that listed the folder is gone already
                os.close(int(name))


def drop_capabilities(keep: int) -> None:
    """Keep only `keep`, as far as we have it (a worker: reading what others own, as the standard library may be)."""
    machine = platform.machine()
    if machine not in _CAPSET:
        return
    header = ctypes.create_string_buffer(struct.pack("<Ii", _CAPABILITIES_3, 0))
    data = ctypes.create_string_buffer(24)
    if libc.syscall(_CAPGET[machine], header, data) == 0:
        permitted = struct.unpack_from("<6I", data)[1] & keep
        libc.syscall(_CAPSET[machine], header, struct.pack("<6I", permitted, permitted, 0, 0, 0, 0))


def _read_address_space() -> int:
    """Bytes of address space this process holds now."""
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - pathlib is not loaded here
        return int(file.read().split()[0]) * resource.getpagesize()
