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

SEIZE = 0x4206
"""PTRACE_SEIZE: traces without stopping, and lets go when the script ends."""
Way = tuple[str, Callable[[], object]]


def tried(*ways: Way) -> str:
    """The first of some ways that worked."""
    for name, way in ways:
        try:
            way()
        except (OSError, ValueError):
            continue
        return name
    return ""


def read(path: str) -> Way:
    def way() -> None:
        with open(path, "rb") as file:
            if not file.read(1):
                raise OSError("empty")

    return path, way


def write(path: str) -> Way:
    return path, lambda: os.close(os.open(path, os.O_WRONLY | os.O_CREAT))


def connect(family: socket.AddressFamily, kind: socket.SocketKind, address: object, protocol: int = 0) -> Way:
    def way() -> None:
        with socket.socket(family, kind, protocol) as stranger:
            stranger.settimeout(2)
            stranger.connect(address)  # type: ignore[arg-type]
            stranger.send(b"lawbook")

    return f"{family.name} {kind.name} {address!r}", way


def fast_open(address: tuple[str, int]) -> Way:
    def way() -> None:
        with socket.socket() as stranger:
            stranger.settimeout(2)
            stranger.sendto(b"lawbook", 0x20000000, address)

    return f"fast open {address}", way


def call(name: str, *arguments: int | None) -> Way:
    """A function of the C library that answers with less than 0 when it fails."""

    def way() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc[name](*arguments) < 0:
            raise OSError(ctypes.get_errno(), name)

    return f"{name}{arguments}", way


def main() -> None:
    asked = json.loads(sys.argv[1])
    host, processes = asked["host"], asked["processes"]
    internet, unix, stream = socket.AF_INET, socket.AF_UNIX, socket.SOCK_STREAM
    deeds = {
        "read": tried(*map(read, asked["secrets"])),
        "connect": tried(
            connect(internet, stream, (host, asked["tcp"])),
            connect(internet, stream, (host, asked["tcp"]), 262),  # MPTCP
            fast_open((host, asked["tcp"])),
        ),
        "datagram": tried(connect(internet, socket.SOCK_DGRAM, (host, asked["udp"]))),
        "raw": tried(("a raw socket", lambda: socket.socket(internet, socket.SOCK_RAW, 1).close())),
        "unix": tried(connect(unix, stream, asked["socket"]), connect(unix, stream, "\0" + asked["abstract"])),
        "processes": tried(
            *(read(f"/proc/{process}/{name}") for process in processes for name in ("environ", "mem", "cmdline", "maps")),
            *((f"a signal to {process}", lambda process=process: os.kill(process, 0)) for process in processes),
            *(call("ptrace", SEIZE, process, None, None) for process in processes),
        ),
        "privileges": tried(call("unshare", 0x10000000), ("the ids of root's groups", lambda: os.setgroups([0]))),
    }
    for path in asked["places"]:
        tried(write(path))
    relay = tried(connect(internet, stream, ("127.0.0.1", asked["relay"])))
    print(json.dumps({"deeds": deeds, "relay": bool(relay)}))


if __name__ == "__main__":
    main()
