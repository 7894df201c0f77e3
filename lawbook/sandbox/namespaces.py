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
_ALL_BUT_USER = _NEW_NS | _NEW_UTS | _NEW_IPC | _NEW_PID | _NEW_NET
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND, _REC, _PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
_DETACH = 2
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
TEMPORARY_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")
"""Folders that begin empty, can be written to, and are gone with the processes."""
TEMPORARY_BYTES = 1 << 30


def unshare_all() -> str:
    """Leave the namespaces of the machine; what was left, for a report. The next child is the first process of its own.

    In a user namespace of its own the caller has every capability over the others, and none over anything else. Raises OSError
    where the machine does not allow it.
    """
    user, group = os.getuid(), os.getgid()
    try:
        _check_result(libc.unshare(_NEW_USER | _ALL_BUT_USER), "unshare")
    except OSError:
        if user != 0:
            raise
        _check_result(libc.unshare(_ALL_BUT_USER), "unshare")  # root where user namespaces are switched off
        return "mount pid network ipc uts"
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    return "user mount pid network ipc uts"


def enable_loopback() -> None:
    """Switch the loopback device of a new network on. There is no other in it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh22x", b"lo", 0)
        flags = struct.unpack_from("16sh", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | _IFF_UP))


def build_root(root: str, readable: Iterable[str], writable: Iterable[str], machine: str) -> None:
    """Make a tree of nothing but `readable` and `writable`, each at its own path, and make it the root.

    root: an empty folder to build it on. Besides, there are a few devices, this namespace's own /proc, and TEMPORARY_FOLDERS.
    """
    _mount(None, "/", None, _REC | _PRIVATE)
    _mount("lawbook", root, "tmpfs", _NOSUID | _NODEV, "mode=755,size=16m")
    for path in TEMPORARY_FOLDERS:
        os.makedirs(root + path, exist_ok=True)
        _mount("lawbook", root + path, "tmpfs", _NOSUID | _NODEV, f"mode=1777,size={TEMPORARY_BYTES}")
    for path in readable:
        _bind_path(root, path, _RDONLY)
    for path in writable:
        _bind_path(root, path, 0)
    for path in DEVICES:
        _bind_path(root, path, 0)
    for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(f"/proc/self/{target}", f"{root}/dev/{name}")
    os.mkdir(f"{root}/proc")
    _mount("proc", f"{root}/proc", "proc", _NOSUID | _NODEV | _NOEXEC)
    os.chdir(root)
    _check_result(libc.syscall(_PIVOT_ROOT[machine], b".", b"."), "pivot_root")
    _check_result(libc.umount2(b".", _DETACH), "umount")  # the old root, stacked on the new
    os.chdir("/")
    _mount(None, "/", None, _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV)


def _bind_path(root: str, path: str, flags: int) -> None:
    """Bind `path` to its own place below `root`, with the symbolic links on the way to it. Nothing where it does not exist."""
    for link, target in _iterate_links(path):
        os.makedirs(root + os.path.dirname(link), exist_ok=True)
        with suppress(FileExistsError):
            os.symlink(target, root + link)
    real = os.path.realpath(path)
    mount_point = root + real
    if os.path.isdir(real):
        os.makedirs(mount_point, exist_ok=True)
    elif os.path.exists(real):
        os.makedirs(os.path.dirname(mount_point), exist_ok=True)
        if not os.path.exists(mount_point):
            os.close(os.open(mount_point, os.O_CREAT | os.O_WRONLY, 0o644))
    else:
        return
    _mount(real, mount_point, None, _BIND | _REC)
    if flags:
        with suppress(OSError):  # a mount with flags of its own that may not be taken away: Landlock denies writing all the same
            _mount(None, mount_point, None, _REMOUNT | _BIND | flags | _NOSUID | (0 if real.startswith("/dev/") else _NODEV))


def _iterate_links(path: str, depth: int = 40) -> Iterator[tuple[str, str]]:
    """Every symbolic link on the way to `path`, as (where its folder really is + its name, what it says)."""
    current = "/"
    parts = os.path.normpath(path).strip("/").split("/")
    for number, part in enumerate(parts):
        current = os.path.join(current, part)
        if os.path.islink(current):
            target = os.readlink(current)
            yield current, target
            if depth:
                rest = os.path.join(os.path.dirname(current), target, *parts[number + 1 :])
                yield from _iterate_links(rest, depth - 1)
            return


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    arguments = [None if argument is None else argument.encode() for argument in (source, target, kind, data)]
    _check_result(libc.mount(arguments[0], arguments[1], arguments[2], ctypes.c_ulong(flags), arguments[3]), f"mount {target}")


def _check_result(result: int, operation: str) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{operation}: {os.strerror(ctypes.get_errno())}")
