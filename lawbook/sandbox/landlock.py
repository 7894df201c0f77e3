"""Landlock: which files a caged process may read, run and write, and which TCP ports it may reach. Nothing else of either."""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

libc = ctypes.CDLL(None, use_errno=True)

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_GET_VERSION, _PATH_BENEATH = 1, 1
_PR_SET_NO_NEW_PRIVS = 38
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_NET_PORT, _CONNECT_TCP = 2, 1 << 1
_FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | 1 << 14 | 1 << 15  # truncate and ioctl belong to files too
_MAKE_DEVICE = 1 << 6 | 1 << 11  # character and block devices


def get_abi_version() -> int:
    """Return the version of the kernel's Landlock interface; 0 where there is none."""
    return max(0, int(libc.syscall(_CREATE_RULESET, None, 0, _GET_VERSION)))


def make_ruleset(
    readable: Iterable[str],
    listable: Iterable[str] = (),
    *,
    runnable: Iterable[str] = (),
    writable: Iterable[str] = (),
    devices: Iterable[str] = (),
    ports: Iterable[int] = (),
) -> int:
    """Make rules that deny all this kernel can deny, but what is named, each with all that lies below it.

    Allowed are reading `readable`, listing `listable`, reading and running `runnable`, everything but making devices in `writable`,
    reading and writing `devices`, connecting by TCP to `ports` (of any host: Landlock knows no other). Paths that do not exist are
    left out. Returns a file descriptor. Raises OSError.
    """
    version = get_abi_version()
    files = (1 << 13) - 1  # execute, write, read, list, remove, make (ABI 1)
    for since_version, bit in ((2, 13), (3, 14), (5, 15)):  # rename across folders, truncate, ioctl on devices
        files |= (version >= since_version) << bit
    attributes = struct.pack("<Q", files)
    if version >= 4:
        attributes += struct.pack("<Q", 0b11)  # binding and connecting TCP
    if version >= 6:
        attributes += struct.pack("<Q", 0b11)  # abstract unix sockets and signals that leave the cage
    rules = _check_result(libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0))
    for path in readable:
        _allow(rules, path, READ_FILE | READ_DIR)
    for path in listable:
        _allow(rules, path, READ_DIR)
    for path in runnable:
        _allow(rules, path, READ_FILE | READ_DIR | EXECUTE)
    for path in writable:
        _allow(rules, path, files & ~_MAKE_DEVICE)
    for path in devices:
        _allow(rules, path, READ_FILE | WRITE_FILE)
    for port in ports if version >= 4 else ():
        _check_result(libc.syscall(_ADD_RULE, rules, _NET_PORT, struct.pack("=QQ", _CONNECT_TCP, port), 0))
    return rules


def restrict(rules: int) -> None:
    """Put this process under `rules`, for good, together with its children. Raises OSError."""
    _check_result(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    flags = 1 if get_abi_version() >= 7 else 0  # a hostile program must not flood the audit log
    _check_result(libc.syscall(_RESTRICT_SELF, rules, flags))


def _allow(rules: int, path: str, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            access &= _FILE_RIGHTS
        _check_result(libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", access, descriptor), 0))
    finally:
        os.close(descriptor)


def _check_result(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return result
