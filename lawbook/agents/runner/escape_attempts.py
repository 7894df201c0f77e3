"""What an agent must not be able to do, tried: a script of its own, standard library only, run where the agent's programs run.

Argument: JSON of what to try it on. Prints JSON: deed -> the first way in which it worked, or an empty text. What it writes, it
leaves: only outside can it be told whether it came there.
"""

# ruff: noqa: PTH123 - with nothing imported but what it needs, the script starts in a few milliseconds

import ctypes
import json
import os
import socket
import sys
from collections.abc import Callable

PTRACE_SEIZE = 0x4206
"""PTRACE_SEIZE: traces without stopping, and lets go when the script ends."""
EscapeAttempt = tuple[str, Callable[[], object]]


def find_successful_attempt(*attempts: EscapeAttempt) -> str:
    """The first of some ways that worked."""
    for name, attempt in attempts:
        try:
            attempt()
        except (OSError, ValueError):
            continue
        return name
    return ""


def attempt_read(path: str) -> EscapeAttempt:
    def attempt() -> None:
        with open(path, "rb") as file:
            if not file.read(1):
                raise OSError("empty")

    return path, attempt


def attempt_write(path: str) -> EscapeAttempt:
    return path, lambda: os.close(os.open(path, os.O_WRONLY | os.O_CREAT))


def attempt_connect(family: socket.AddressFamily, kind: socket.SocketKind, address: object, protocol: int = 0) -> EscapeAttempt:
    def attempt() -> None:
        with socket.socket(family, kind, protocol) as sock:
            sock.settimeout(2)
            sock.connect(address)  # type: ignore[arg-type]
            sock.send(b"lawbook")

    return f"{family.name} {kind.name} {address!r}", attempt


def attempt_fast_open(address: tuple[str, int]) -> EscapeAttempt:
    def attempt() -> None:
        with socket.socket() as sock:
            sock.settimeout(2)
            sock.sendto(b"lawbook", 0x20000000, address)

    return f"fast open {address}", attempt


def attempt_call(name: str, *arguments: int | None) -> EscapeAttempt:
    """A function of the C library that answers with less than 0 when it fails."""

    def attempt() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc[name](*arguments) < 0:
            raise OSError(ctypes.get_errno(), name)

    return f"{name}{arguments}", attempt


def main() -> None:
    targets = json.loads(sys.argv[1])
    host, processes = targets["host"], targets["processes"]
    inet_family, unix_family, stream = socket.AF_INET, socket.AF_UNIX, socket.SOCK_STREAM
    results = {
        "read": find_successful_attempt(*map(attempt_read, targets["secrets"])),
        "connect": find_successful_attempt(
            attempt_connect(inet_family, stream, (host, targets["tcp"])),
            attempt_connect(inet_family, stream, (host, targets["tcp"]), 262),  # MPTCP
            attempt_fast_open((host, targets["tcp"])),
        ),
        "datagram": find_successful_attempt(attempt_connect(inet_family, socket.SOCK_DGRAM, (host, targets["udp"]))),
        "raw": find_successful_attempt(("a raw socket", lambda: socket.socket(inet_family, socket.SOCK_RAW, 1).close())),
        "unix": find_successful_attempt(
            attempt_connect(unix_family, stream, targets["socket"]),
            attempt_connect(unix_family, stream, "\0" + targets["abstract"]),
        ),
        "processes": find_successful_attempt(
            *(attempt_read(f"/proc/{process}/{name}") for process in processes for name in ("environ", "mem", "cmdline", "maps")),
            *((f"a signal to {process}", lambda process=process: os.kill(process, 0)) for process in processes),
            *(attempt_call("ptrace", PTRACE_SEIZE, process, None, None) for process in processes),
        ),
        "privileges": find_successful_attempt(
            attempt_call("unshare", 0x10000000), ("the ids of root's groups", lambda: os.setgroups([0]))
        ),
    }
    for path in targets["places"]:
        find_successful_attempt(attempt_write(path))
    relay = find_successful_attempt(attempt_connect(inet_family, stream, ("127.0.0.1", targets["relay"])))
    print(json.dumps({"deeds": results, "relay": bool(relay)}))


if __name__ == "__main__":
    main()
