"""The filter of system calls for agents, read as the kernel would read it, on both machines that it is written for."""

from __future__ import annotations

import struct

import pytest

from lawbook.sandbox import seccomp
from lawbook.sandbox.seccomp import ALLOW, DENY, KILL, NO_SUCH_CALL, PRETEND

MACHINES = ("x86_64", "aarch64")
STREAM, DGRAM, RAW, SEQPACKET = 1, 2, 3, 5
FLAGS = 0o2004000  # SOCK_CLOEXEC | SOCK_NONBLOCK


def verdict(program: bytes, machine: str, number: int, *arguments: int) -> int:
    """What classic BPF answers for a call: a filter that runs off its end or meets an unknown instruction fails the test."""
    words = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, seccomp.AUDIT_ARCH[machine], 0, *words)
    code = [struct.unpack_from("<HBBI", program, at) for at in range(0, len(program), 8)]
    at = accumulator = 0
    while True:
        operation, if_true, if_false, k = code[at]
        at += 1
        match operation:
            case 0x20:
                accumulator = struct.unpack_from("<I", data, k)[0]
            case 0x15:
                at += if_true if accumulator == k else if_false
            case 0x35:
                at += if_true if accumulator >= k else if_false
            case 0x45:
                at += if_true if accumulator & k else if_false
            case 0x54:
                accumulator &= k
            case 0x06:
                return int(k)
            case _:
                raise AssertionError(f"no such instruction: {operation:#x}")


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("alone", [False, True])
def test_every_call_is_let_through_or_denied_as_listed(machine: str, alone: bool) -> None:
    program = seccomp.build_deny_list(machine, own_files=alone)
    for number in range(600):
        if number in seccomp.FILTERED[machine].values():
            continue
        denied, pretended = seccomp.DENIED[machine].values(), () if alone else seccomp.PRETENDED[machine]
        expected = (
            DENY if number in denied else NO_SUCH_CALL if number in seccomp.ABSENT else PRETEND if number in pretended else ALLOW
        )
        assert verdict(program, machine, number) == expected, number
    assert len(program) // 8 <= 4096  # the kernel takes no more


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("socket", (seccomp.AF_INET, STREAM, 0), ALLOW),
        ("socket", (seccomp.AF_INET6, STREAM | FLAGS, 6), ALLOW),
        ("socket", (seccomp.AF_INET, DGRAM, 0), DENY),
        ("socket", (seccomp.AF_INET6, DGRAM | FLAGS, 17), DENY),
        ("socket", (seccomp.AF_INET, RAW, 1), DENY),
        ("socket", (seccomp.AF_INET, STREAM, 262), DENY),  # MPTCP
        ("socket", (seccomp.AF_INET, STREAM, 132), DENY),  # SCTP
        ("socket", (seccomp.AF_INET, SEQPACKET, 132), DENY),
        ("socket", (16, RAW, 0), DENY),  # netlink
        ("socket", (17, RAW, 3), DENY),  # packet
        ("socket", (38, SEQPACKET, 0), DENY),  # the kernel's own cryptography
        ("socket", (40, STREAM, 0), DENY),  # to the host of a virtual machine
        ("socket", ((1 << 32) | seccomp.AF_INET, DGRAM, 0), DENY),  # the kernel looks at the low half only
        ("sendto", (3, 0, 0, 0x4000), ALLOW),
        ("sendto", (3, 0, 0, 0x4000 | seccomp.MSG_FASTOPEN), DENY),
        ("sendmsg", (3, 0, seccomp.MSG_FASTOPEN), DENY),
        ("sendmmsg", (3, 0, 1, seccomp.MSG_FASTOPEN), DENY),
        ("clone", (0x1200011,), ALLOW),  # fork
        ("clone", (0x3D0F00,), ALLOW),  # a thread
        ("clone", (0x10000011,), DENY),  # CLONE_NEWUSER
        ("clone", (0x20000,), DENY),  # CLONE_NEWNS
        ("ioctl", (0, 0x5401), ALLOW),
        ("ioctl", (0, 0x5412), DENY),
        ("ioctl", (0, 0x541C), DENY),
        ("prlimit64", (0, 7), ALLOW),
        ("prlimit64", (4711, 0), DENY),
    ],
)
def test_what_a_call_asks_for_decides(machine: str, name: str, arguments: tuple[int, ...], expected: int) -> None:
    program = seccomp.build_deny_list(machine, own_files=True)
    assert verdict(program, machine, seccomp.FILTERED[machine][name], *arguments) == expected


@pytest.mark.parametrize("machine", MACHINES)
def test_unix_sockets_only_where_files_are_out_of_sight(machine: str) -> None:
    for alone, expected in ((True, ALLOW), (False, DENY)):
        program = seccomp.build_deny_list(machine, own_files=alone)
        assert verdict(program, machine, seccomp.FILTERED[machine]["socket"], seccomp.AF_UNIX, STREAM, 0) == expected


def test_another_numbering_ends_the_process() -> None:
    program = seccomp.build_deny_list("x86_64", own_files=True)
    other = bytearray(program)
    assert verdict(program, "x86_64", seccomp.X32_BIT | 41, seccomp.AF_INET, STREAM) == DENY
    struct.pack_into("<I", other, 8 + 4, 0x40000003)  # as if the filter were for another machine than the call comes from
    assert verdict(bytes(other), "x86_64", 0) == KILL
