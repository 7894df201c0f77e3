"""Namespaces: files, processes and a network of one's own, where the machine allows it. In them, what is not given is not there."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress

# pathlib is not loaded here: this runs in a bare interpreter, while its file tree is changed under it.
# ruff: noqa: PTH102, PTH103, PTH110, PTH112, PTH114, PTH115, PTH118, PTH120, PTH123, PTH211

libc = ctypes.CDLL(None, use_errno=True)

_NEW_NS, _NEW_UTS, _NEW_IPC, _NEW_USER, _NEW_PID, _NEW_NET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
_KINDS = _NEW_NS | _NEW_UTS | _NEW_IPC | _NEW_PID | _NEW_NET
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND, _REC, _PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
_DETACH = 2
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
SHORT_LIVED = ("/tmp", "/var/tmp", "/dev/shm")
"""Folders that begin empty, can be written to, and are gone with the processes."""
SHORT_LIVED_BYTES = 1 << 30


def leave() -> str:
    """Leave the namespaces of the machine; what was left, for a report. The next child is the first process of its own.

    In a user namespace of its own the caller has every capability over the others, and none over anything else. Raises OSError
    where the machine does not allow it.
    """
    user, group = os.getuid(), os.getgid()
    try:
        _checked(libc.unshare(_NEW_USER | _KINDS), "unshare")
    except OSError:
        if user != 0:
            raise
        _checked(libc.unshare(_KINDS), "unshare")  # root where user namespaces are switched off
        return "mount pid network ipc uts"
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    return "user mount pid network ipc uts"


def loopback() -> None:
    """Switch the loopback device of a new network on. There is no other in it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = struct.pack("16sh22x", b"lo", 0)
        flags = struct.unpack_from("16sh", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, asked))[1]
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | _IFF_UP))


def grow(root: str, readable: Iterable[str], writable: Iterable[str], machine: str) -> None:
    """Make a tree of nothing but `readable` and `writable`, each at its own path, and make it the root.

    root: an empty folder to build it on. Besides, there are a few devices, this namespace's own /proc, and SHORT_LIVED.
    """
    _mount(None, "/", None, _REC | _PRIVATE)
    _mount("lawbook", root, "tmpfs", _NOSUID | _NODEV, "mode=755,size=16m")
    for path in SHORT_LIVED:
        os.makedirs(root + path, exist_ok=True)
        _mount("lawbook", root + path, "tmpfs", _NOSUID | _NODEV, f"mode=1777,size={SHORT_LIVED_BYTES}")
    for path in readable:
        _show(root, path, _RDONLY)
    for path in writable:
        _show(root, path, 0)
    for path in DEVICES:
        _show(root, path, 0)
    for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(f"/proc/self/{target}", f"{root}/dev/{name}")
    os.mkdir(f"{root}/proc")
    _mount("proc", f"{root}/proc", "proc", _NOSUID | _NODEV | _NOEXEC)
    os.chdir(root)
    _checked(libc.syscall(_PIVOT_ROOT[machine], b".", b"."), "pivot_root")
    _checked(libc.umount2(b".", _DETACH), "umount")  # the old root, stacked on the new
    os.chdir("/")
    _mount(None, "/", None, _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV)


def _show(root: str, path: str, flags: int) -> None:
    """Bind `path` to its own place below `root`, with the symbolic links on the way to it. Nothing where it does not exist."""
    for link, target in _links(path):
        os.makedirs(root + os.path.dirname(link), exist_ok=True)
        with suppress(FileExistsError):
            os.symlink(target, root + link)
    real = os.path.realpath(path)
    place = root + real
    if os.path.isdir(real):
        os.makedirs(place, exist_ok=True)
    elif os.path.exists(real):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if not os.path.exists(place):
            os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o644))
    else:
        return
    _mount(real, place, None, _BIND | _REC)
    if flags:
        with suppress(OSError):  # a mount with flags of its own that may not be taken away: Landlock denies writing all the same
            _mount(None, place, None, _REMOUNT | _BIND | flags | _NOSUID | (0 if real.startswith("/dev/") else _NODEV))


def _links(path: str, depth: int = 40) -> Iterator[tuple[str, str]]:
    """Every symbolic link on the way to `path`, as (where its folder really is + its name, what it says)."""
    here = "/"
    parts = os.path.normpath(path).strip("/").split("/")
    for number, part in enumerate(parts):
        here = os.path.join(here, part)
        if os.path.islink(here):
            target = os.readlink(here)
            yield here, target
            if depth:
                rest = os.path.join(os.path.dirname(here), target, *parts[number + 1 :])
                yield from _links(rest, depth - 1)
            return


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    words = [None if word is None else word.encode() for word in (source, target, kind, data)]
    _checked(libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]), f"mount {target}")


def _checked(result: int, what: str) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
