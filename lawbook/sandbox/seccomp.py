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

# What the programs of an agent (a shell, Node, a compiler) have no business with: other processes' memory, what System V shares,
# mounts and namespaces, the kernel's own state, handles that go around paths.
DENIED: Mapping[str, Mapping[str, int]] = {
    "x86_64": {
        "shmget": 29, "shmat": 30, "shmctl": 31, "semget": 64, "semop": 65, "semctl": 66, "msgget": 68, "msgsnd": 69, "msgrcv": 70,
        "msgctl": 71, "semtimedop": 220, "mq_open": 240, "mq_unlink": 241,
        "ptrace": 101, "syslog": 103, "uselib": 134, "personality": 135, "pivot_root": 155, "adjtimex": 159, "chroot": 161,
        "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169,
        "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173, "init_module": 175, "delete_module": 176,
        "quotactl": 179, "lookup_dcookie": 212, "clock_settime": 227, "kexec_load": 246, "add_key": 248, "request_key": 249,
        "keyctl": 250, "migrate_pages": 256, "unshare": 272, "move_pages": 279, "perf_event_open": 298, "fanotify_init": 300,
        "name_to_handle_at": 303, "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308, "process_vm_readv": 310,
        "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323,
        "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "pidfd_getfd": 438,
        "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443,
    },
    "aarch64": {
        "mq_open": 180, "mq_unlink": 181, "msgget": 186, "msgctl": 187, "msgrcv": 188, "msgsnd": 189, "semget": 190, "semctl": 191,
        "semtimedop": 192, "semop": 193, "shmget": 194, "shmctl": 195, "shmat": 196,
        "lookup_dcookie": 18, "umount2": 39, "mount": 40, "pivot_root": 41, "chroot": 51, "quotactl": 60, "acct": 89,
        "personality": 92, "unshare": 97, "kexec_load": 104, "init_module": 105, "delete_module": 106, "clock_settime": 112,
        "syslog": 116, "ptrace": 117, "reboot": 142, "sethostname": 161, "setdomainname": 162, "settimeofday": 170,
        "adjtimex": 171, "add_key": 217, "request_key": 218, "keyctl": 219, "swapon": 224, "swapoff": 225, "migrate_pages": 238,
        "move_pages": 239, "perf_event_open": 241, "fanotify_init": 262, "name_to_handle_at": 264, "open_by_handle_at": 265,
        "clock_adjtime": 266, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "finit_module": 273,
        "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294, "open_tree": 428, "move_mount": 429, "fsopen": 430,
        "fsconfig": 431, "fsmount": 432, "fspick": 433, "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442,
        "quotactl_fd": 443,
    },
}  # fmt: skip
ABSENT = (425, 426, 427, 435)
"""io_uring_setup, io_uring_enter, io_uring_register, clone3, on both machines: a filter cannot see what they ask for, and everybody
falls back from them where they are absent."""
PRETENDED: Mapping[str, tuple[int, ...]] = {
    "x86_64": (90, 91, 92, 93, 94, 188, 189, 190, 197, 198, 199, 260, 268, 452),
    "aarch64": (5, 6, 7, 14, 15, 16, 52, 53, 54, 55, 452),
}
"""chmod, chown, setxattr, removexattr and their like: Landlock does not govern them, and who owns a file may call them by any path.
They do nothing and say that they did, because too many programs stop where they fail."""
FILTERED: Mapping[str, Mapping[str, int]] = {
    "x86_64": {"ioctl": 16, "socket": 41, "sendto": 44, "sendmsg": 46, "clone": 56, "prlimit64": 302, "sendmmsg": 307},
    "aarch64": {"ioctl": 29, "socket": 198, "sendto": 206, "sendmsg": 211, "clone": 220, "prlimit64": 261, "sendmmsg": 269},
}
NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET
MSG_FASTOPEN = 0x20000000  # connects without a connect that Landlock would see
TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI types into the terminal, TIOCLINUX pastes into it
AF_UNIX, AF_INET, AF_INET6, SOCK_STREAM, IPPROTO_TCP = 1, 2, 10, 1, 6

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
_ANY_BIT, _AND = 0x45, 0x54  # BPF_JMP|JSET|K, BPF_ALU|AND|K
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, (16, 24, 32, 40)  # offsets in struct seccomp_data (little-endian: the low half comes first)
_SECOND_ARGUMENT = _ARGUMENTS[1]
ALLOW, KILL = 0x7FFF0000, 0x80000000
DENY, NO_SUCH_CALL, PRETEND = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS, 0x00050000


def make_instruction(code: int, k: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One struct sock_filter of classic BPF."""
    return struct.pack("<HBBI", code, if_true, if_false, k)


def build_allow_list(machine: str) -> bytes:
    """The filter for `machine` (x86_64, aarch64) as BPF. A call in another numbering (int 0x80) kills the process."""
    program = _begin_filter(machine)
    for number in ALLOWED[machine].values():
        program += [make_instruction(_EQUAL, number, 0, 1), make_instruction(_RETURN, ALLOW)]
    for name, number in COMMANDS[machine].items():
        commands = ALLOWED_COMMANDS[name]
        program += [make_instruction(_EQUAL, number, 0, 2 * len(commands) + 2), make_instruction(_LOAD, _SECOND_ARGUMENT)]
        for command in commands:
            program += [make_instruction(_EQUAL, command, 0, 1), make_instruction(_RETURN, ALLOW)]
        program.append(make_instruction(_RETURN, DENY))
    program.append(make_instruction(_RETURN, DENY))
    return b"".join(program)


def build_deny_list(machine: str, *, own_files: bool) -> bytes:
    """The filter for an agent's programs: everything but DENIED, new namespaces, the limits of other processes, and sockets other
    than TCP and unix ones.

    own_files: in a tree of files of their own. Else there are no unix sockets either, and what is PRETENDED is. Socket pairs are
    not sockets here: what they connect is in one's own hands already.
    """
    numbers = FILTERED[machine]
    program = _begin_filter(machine)
    for number in DENIED[machine].values():
        program += [make_instruction(_EQUAL, number, 0, 1), make_instruction(_RETURN, DENY)]
    for number in ABSENT:
        program += [make_instruction(_EQUAL, number, 0, 1), make_instruction(_RETURN, NO_SUCH_CALL)]
    for number in () if own_files else PRETENDED[machine]:
        program += [make_instruction(_EQUAL, number, 0, 1), make_instruction(_RETURN, PRETEND)]
    for name, argument, mask in (
        ("clone", 0, NEW_NAMESPACES),
        ("sendto", 3, MSG_FASTOPEN),
        ("sendmsg", 2, MSG_FASTOPEN),
        ("sendmmsg", 3, MSG_FASTOPEN),
    ):
        program += [
            make_instruction(_EQUAL, numbers[name], 0, 4),
            make_instruction(_LOAD, _ARGUMENTS[argument]),
            make_instruction(_ANY_BIT, mask, 0, 1),
            make_instruction(_RETURN, DENY),
            make_instruction(_RETURN, ALLOW),
        ]
    program += [  # a limit on processor time would end a process of the same user
        make_instruction(_EQUAL, numbers["prlimit64"], 0, 4),
        make_instruction(_LOAD, _ARGUMENTS[0]),
        make_instruction(_EQUAL, 0, 1, 0),
        make_instruction(_RETURN, DENY),
        make_instruction(_RETURN, ALLOW),
    ]
    first, second = TERMINAL_INJECTION
    program += [
        make_instruction(_EQUAL, numbers["ioctl"], 0, 5),
        make_instruction(_LOAD, _SECOND_ARGUMENT),
        make_instruction(_EQUAL, first, 1, 0),
        make_instruction(_EQUAL, second, 0, 1),
        make_instruction(_RETURN, DENY),
        make_instruction(_RETURN, ALLOW),
    ]
    # Of the internet families only TCP proper: UDP, raw, SCTP and MPTCP are not what Landlock calls connecting.
    program += [
        make_instruction(_EQUAL, numbers["socket"], 0, 12),
        make_instruction(_LOAD, _ARGUMENTS[0]),
        make_instruction(_EQUAL, AF_UNIX, 8 if own_files else 9, 0),
        make_instruction(_EQUAL, AF_INET, 1, 0),
        make_instruction(_EQUAL, AF_INET6, 0, 7),
        make_instruction(_LOAD, _SECOND_ARGUMENT),
        make_instruction(_AND, 0xF),  # without SOCK_NONBLOCK and SOCK_CLOEXEC
        make_instruction(_EQUAL, SOCK_STREAM, 0, 4),
        make_instruction(_LOAD, _ARGUMENTS[2]),
        make_instruction(_EQUAL, 0, 1, 0),
        make_instruction(_EQUAL, IPPROTO_TCP, 0, 1),
        make_instruction(_RETURN, ALLOW),
        make_instruction(_RETURN, DENY),
    ]
    program.append(make_instruction(_RETURN, ALLOW))
    return b"".join(program)


def _begin_filter(machine: str) -> list[bytes]:
    """The beginning of every filter: the number of the call, or an end with callers in another numbering."""
    program = [
        make_instruction(_LOAD, _ARCH),
        make_instruction(_EQUAL, AUDIT_ARCH[machine], 1, 0),
        make_instruction(_RETURN, KILL),
        make_instruction(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":  # x32 shares the architecture and sets this bit in the number
        program += [make_instruction(_AT_LEAST, X32_BIT, 0, 1), make_instruction(_RETURN, DENY)]
    return program


def is_supported() -> bool:
    """Whether this kernel filters system calls, and this machine is one whose calls we know."""
    if sys.byteorder != "little" or sys.maxsize < 2**32 or platform.machine() not in ALLOWED:
        return False
    libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, None, 0, 0)  # never succeeds: EFAULT where filters exist, EINVAL where they do not
    return ctypes.get_errno() == errno.EFAULT


def install(program: bytes) -> None:
    """Put this process under `program`, for good, together with its children. Raises OSError."""
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, header, 0, 0):
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")
