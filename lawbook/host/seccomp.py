"""seccomp: which system calls a caged process may make. The others fail with EPERM, so that Python raises PermissionError."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Mapping

libc = ctypes.CDLL(None, use_errno=True)

# What CPython and numpy need to compute, import and answer; no process, socket, signal or write to a file begins with one of these.
ALLOWED: Mapping[str, Mapping[str, int]] = {
    "x86_64": {
        "read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "lseek": 8, "mmap": 9,
        "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "pread64": 17,
        "readv": 19, "writev": 20, "access": 21, "sched_yield": 24, "mremap": 25, "madvise": 28, "nanosleep": 35,
        "getpid": 39, "sendto": 44, "recvfrom": 45, "exit": 60, "getcwd": 79, "gettimeofday": 96, "getuid": 102,
        "getgid": 104, "geteuid": 107, "getegid": 108, "getppid": 110, "sigaltstack": 131, "gettid": 186, "futex": 202,
        "sched_getaffinity": 204, "getdents64": 217, "restart_syscall": 219, "clock_gettime": 228, "clock_getres": 229,
        "clock_nanosleep": 230, "exit_group": 231, "openat": 257, "newfstatat": 262, "faccessat": 269, "getrandom": 318,
        "statx": 332, "faccessat2": 439,
    },
    "aarch64": {
        "getcwd": 17, "faccessat": 48, "openat": 56, "close": 57, "getdents64": 61, "lseek": 62, "read": 63, "write": 64,
        "readv": 65, "writev": 66, "pread64": 67, "newfstatat": 79, "fstat": 80, "exit": 93, "exit_group": 94, "futex": 98,
        "nanosleep": 101, "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115, "sched_getaffinity": 123,
        "sched_yield": 124, "restart_syscall": 128, "sigaltstack": 132, "rt_sigaction": 134, "rt_sigprocmask": 135,
        "rt_sigreturn": 139, "gettimeofday": 169, "getpid": 172, "getppid": 173, "getuid": 174, "geteuid": 175, "getgid": 176,
        "getegid": 177, "gettid": 178, "sendto": 206, "recvfrom": 207, "brk": 214, "munmap": 215, "mremap": 216, "mmap": 222,
        "mprotect": 226, "madvise": 233, "getrandom": 278, "statx": 291, "faccessat2": 439,
    },
}  # fmt: skip

# Calls that are let through for a few commands (their second argument) only. Others would signal strangers or reach devices:
# F_SETOWN with F_SETSIG kills any process of the same user.
COMMANDS: Mapping[str, Mapping[str, int]] = {"x86_64": {"ioctl": 16, "fcntl": 72}, "aarch64": {"ioctl": 29, "fcntl": 25}}
FIONBIO, FIOCLEX, TCGETS = 0x5421, 0x5451, 0x5401
F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC = 1, 2, 3, 1030
ALLOWED_COMMANDS: Mapping[str, tuple[int, ...]] = {
    "ioctl": (FIONBIO, FIOCLEX, TCGETS),
    "fcntl": (F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC),
}

AUDIT_ARCH: Mapping[str, int] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32_BIT = 0x40000000

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_PR_SET_NO_NEW_PRIVS = 38
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_JMP|JGE|K, BPF_RET|K
_NUMBER, _ARCH, _SECOND_ARGUMENT = 0, 4, 24  # offsets in struct seccomp_data (little-endian: the low half comes first)
ALLOW, KILL = 0x7FFF0000, 0x80000000
DENY = 0x00050000 | errno.EPERM


def instruction(code: int, k: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One struct sock_filter of classic BPF."""
    return struct.pack("<HBBI", code, if_true, if_false, k)


def allow_list(machine: str) -> bytes:
    """The filter for `machine` (x86_64, aarch64) as BPF. A call in another numbering (int 0x80) kills the process."""
    program = [
        instruction(_LOAD, _ARCH),
        instruction(_EQUAL, AUDIT_ARCH[machine], 1, 0),
        instruction(_RETURN, KILL),
        instruction(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":  # x32 shares the architecture and sets this bit in the number
        program += [instruction(_AT_LEAST, X32_BIT, 0, 1), instruction(_RETURN, DENY)]
    for number in ALLOWED[machine].values():
        program += [instruction(_EQUAL, number, 0, 1), instruction(_RETURN, ALLOW)]
    for name, number in COMMANDS[machine].items():
        commands = ALLOWED_COMMANDS[name]
        program += [instruction(_EQUAL, number, 0, 2 * len(commands) + 2), instruction(_LOAD, _SECOND_ARGUMENT)]
        for command in commands:
            program += [instruction(_EQUAL, command, 0, 1), instruction(_RETURN, ALLOW)]
        program.append(instruction(_RETURN, DENY))
    program.append(instruction(_RETURN, DENY))
    return b"".join(program)


def supported() -> bool:
    """Whether this kernel filters system calls, and this machine is one whose calls we know."""
    if sys.byteorder != "little" or sys.maxsize < 2**32 or platform.machine() not in ALLOWED:
        return False
    libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, None, 0, 0)  # never succeeds: EFAULT where filters exist, EINVAL where they do not
    return ctypes.get_errno() == errno.EFAULT


def install(program: bytes) -> None:
    """Put this process under `program`, for good, together with its children. Raises OSError."""
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, head, 0, 0):
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")
