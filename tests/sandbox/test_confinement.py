"""The layers of the sandbox, one by one: what each denies, what a machine without it is told, what is left when all is closed.

What hostile programs make of it is in test_hostile.py."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import re
import signal
import struct
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hostile import program
from strays import processes

from lawbook.core.record import Action
from lawbook.core.results import InitialObservation, ProgramError
from lawbook.errors import HostError
from lawbook.sandbox import landlock, seccomp
from lawbook.sandbox.confinement import SandboxReport
from lawbook.sandbox.host import Host, Program

MEMORY = 300 + os.getpid() % 97  # tells our processes from everybody else's
START = InitialObservation(np.zeros((4, 4), dtype=np.uint8), 0, (1, 2))
ACTIONS = [Action(1)] * 5


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    os.environ["LAWBOOK_TEST_API_KEY"] = "a secret"
    with Host(memory_mb=MEMORY, step_seconds=1.0) as host:
        yield host


def outcome(host: Host, files: dict[str, str]) -> ProgramError | None:
    """How loading and replaying five steps ends."""
    loaded = host.load(files)
    if isinstance(loaded, ProgramError):
        return loaded
    worker = loaded.start_worker()
    if isinstance(worker, ProgramError):
        return worker
    with worker:
        return worker.replay(START, ACTIONS).fault


@pytest.mark.parametrize("path", [landlock.__file__, sys.executable, np.__file__.replace("numpy/__init__", "rich/__init__")])
def test_nothing_outside_numpy_and_the_library_is_readable(host: Host, path: str) -> None:
    assert Path(path).exists()
    fault = outcome(host, program(step=f"open({path!r}, 'rb')"))
    assert fault is not None and fault.kind == "forbidden"


def test_what_is_allowed_is_readable(host: Host) -> None:
    assert outcome(host, program(step=f"open({np.__file__!r}).read(); open({textwrap.__file__!r}).read()")) is None


def test_no_key_of_ours_is_in_there(host: Host) -> None:
    assert "LAWBOOK_TEST_API_KEY" in os.environ
    fault = outcome(host, program(step="raise ValueError((dict(os.environ), sys.argv, sys.orig_argv[1:]))"))
    assert fault is not None and "ValueError: ({}, ['-c'], [])" in fault.reason


def test_the_modules_of_the_project_are_not_in_there(host: Host) -> None:
    fault = outcome(host, program(step="raise ValueError([name for name in sys.modules if 'lawbook' in name] + sys.path[-2:])"))
    assert fault is not None and "lawbook" not in fault.reason.split(" at ")[0]


def test_the_report_says_what_was_tried(host: Host) -> None:
    assert host.sandbox.level == "full"
    assert [host.sandbox.facts[wall] for wall in ("read", "connect", "fork", "write")] == ["denied"] * 4
    assert host.sandbox.facts["hash seeds"] == "0, 1"


def test_a_wall_that_fell_is_seen() -> None:
    whole = {"read": "denied", "connect": "denied", "fork": "denied", "write": "denied"}
    assert SandboxReport.from_facts(whole).level == "full"
    for wall in whole:
        report = SandboxReport.from_facts({**whole, wall: "possible"})
        assert report.level == "weak"
        assert report.is_confining == (wall in ("fork", "write"))
    assert not SandboxReport.from_facts({}).is_confining


LOAD, EQUAL, RETURN, FAIL = 0x20, 0x15, 0x06, 0x00050000  # of classic BPF, and to fail a system call with a number
NO_LANDLOCK = [(LOAD, 0)] + [row for call in (444, 445, 446) for row in ((EQUAL, call, 0, 1), (RETURN, FAIL | errno.ENOSYS))]
PRCTL = {"x86_64": 157, "aarch64": 167}[platform.machine()]
NO_SECCOMP = [(LOAD, 0), (EQUAL, PRCTL, 0, 3), (LOAD, 16), (EQUAL, 22, 0, 1), (RETURN, FAIL | errno.EINVAL)]


def without(blind: list[tuple[int, ...]], code: str) -> subprocess.CompletedProcess[str]:
    """Run `code` in a Python whose kernel seems to lack a layer."""

    def hide() -> None:
        seccomp.install(b"".join(seccomp.make_instruction(*row) for row in [*blind, (RETURN, seccomp.ALLOW)]))

    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], preexec_fn=hide, capture_output=True, text=True, timeout=60
    )


def test_a_machine_without_landlock_is_refused() -> None:
    done = without(NO_LANDLOCK, "from lawbook.sandbox.host import Host; Host()")
    assert done.returncode == 1
    assert re.search(r"HostError: This machine cannot keep .*landlock absent, .*read possible, .*--weak-sandbox", done.stderr)


def test_a_machine_without_seccomp_is_refused() -> None:
    done = without(NO_SECCOMP, "from lawbook.sandbox.host import Host; Host()")
    assert done.returncode == 1
    assert re.search(r"HostError: .*seccomp absent, read denied, connect possible, .*--weak-sandbox", done.stderr)


@pytest.mark.parametrize("version", range(1, landlock.get_abi_version() + 1))
def test_older_landlock_confines_reading_and_writing(version: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(landlock, "get_abi_version", lambda: version)
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "file").write_text("")
    (tmp_path / "shut").write_text("")
    child = os.fork()
    if child == 0:
        landlock.restrict(landlock.make_ruleset([str(tmp_path / "open"), str(tmp_path / "nowhere")]))
        found = []
        for path, mode in [("open/file", os.O_RDONLY), ("open/file", os.O_WRONLY), ("open/new", os.O_CREAT), ("shut", os.O_RDONLY)]:
            try:
                os.open(tmp_path / path, mode)
                found.append(True)
            except PermissionError:
                found.append(False)
        os._exit(0 if found == [True, False, False, False] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_machine_without_landlock_is_taken_when_asked_for() -> None:
    done = without(
        NO_LANDLOCK,
        """
        from lawbook.sandbox.host import Host
        with Host(weak=True) as host:
            print(host.sandbox.level, host.sandbox.facts)
            print(host.load({"world_model_engine.py": "import os; os.fork()"}).kind)
        """,
    )
    level, facts, kind = re.fullmatch(r"(\w+) (.*)\n(\w+)\n", done.stdout).groups()  # type: ignore[union-attr]
    assert level == "weak" and "'read': 'possible'" in facts and "'connect': 'denied'" in facts
    assert kind == "forbidden"


def test_closing_the_host_ends_every_process() -> None:
    memory = MEMORY + 100
    host = Host(memory_mb=memory)
    loaded = host.load(program())
    assert isinstance(loaded, Program)
    worker, twin = loaded.start_worker(), loaded.start_worker(twin=True)
    assert not isinstance(worker, ProgramError) and not isinstance(twin, ProgramError)
    assert len(processes(memory)) == 4
    worker.close()
    worker.close()
    assert len(processes(memory)) == 3
    host.close()
    host.close()
    assert processes(memory) == []
    twin.close()
    assert isinstance(worker.replay(START, []).fault, ProgramError)


def test_a_host_need_not_be_waited_for() -> None:
    memory = MEMORY + 400
    with Host(memory_mb=memory, wait=False) as host:
        host.wait_until_ready()
        host.wait_until_ready()
        assert host.sandbox.level == "full" and len(processes(memory)) == 2
        assert isinstance(host.load(program()), Program)
    Host(memory_mb=memory, wait=False).close()
    assert processes(memory) == []


def test_killing_the_run_process_leaves_nothing() -> None:
    memory = MEMORY + 200
    code = f"""
        import sys; sys.path[:0] = [{str(Path(__file__).parents[1] / "support")!r}, {str(Path(__file__).parents[2])!r}]
        from hostile import program
        from attacks import START
        from lawbook.core.record import Action
        from lawbook.sandbox.host import Host
        host = Host(memory_mb={memory}, step_seconds=60.0)
        worker = host.load(program(step="while True: pass")).start_worker()
        print("here", flush=True)
        worker.replay(START, [Action(1)] * 5)
    """
    run = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE)
    assert run.stdout is not None and run.stdout.readline() == b"here\n"
    assert len(processes(memory)) == 3
    run.kill()
    run.wait()
    run.stdout.close()
    deadline = time.monotonic() + 10
    while processes(memory) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert processes(memory) == []


def test_a_zygote_that_died_is_a_host_error() -> None:
    memory = MEMORY + 300
    with Host(memory_mb=memory) as host:
        loaded = host.load(program())
        assert isinstance(loaded, Program)
        worker = loaded.start_worker()
        assert not isinstance(worker, ProgramError)
        os.kill(host.pids[0], signal.SIGKILL)
        with pytest.raises(HostError, match="--resume"):
            loaded.start_worker()
        deadline = time.monotonic() + 10
        while not set(processes(memory)) <= set(host.pids) and time.monotonic() < deadline:  # its worker dies with it
            time.sleep(0.02)
        with pytest.raises(HostError, match="--resume"):
            worker.replay(START, ACTIONS)
        worker.close()
        assert set(processes(memory)) <= set(host.pids)


def test_nothing_leaks(host: Host) -> None:
    loaded = host.load(program())
    assert isinstance(loaded, Program)

    def once() -> tuple[int, int]:
        worker = loaded.start_worker()
        assert not isinstance(worker, ProgramError)
        with worker:
            worker.replay(START, ACTIONS)
        return len(list(Path("/proc/self/fd").iterdir())), len(Path("/proc/self/maps").read_text().splitlines())

    first = once()
    assert [once() for _ in range(5)][-1] == first


@pytest.mark.parametrize("machine, header", [("x86_64", "x86_64-linux-gnu/asm/unistd_64.h"), ("aarch64", "asm-generic/unistd.h")])
def test_the_numbers_of_the_calls_are_the_kernels(machine: str, header: str) -> None:
    path = Path("/usr/include") / header
    if not path.exists():
        pytest.skip("no kernel headers")
    numbers = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", path.read_text()))
    numbers.setdefault("newfstatat", numbers.get("fstatat", ""))  # its name where there is no 32-bit one
    for name, number in {**seccomp.ALLOWED[machine], **seccomp.COMMANDS[machine]}.items():
        assert int(numbers[name]) == number, name


@pytest.mark.skipif(platform.machine() != "x86_64", reason="two numberings on one machine are an x86 matter")
@pytest.mark.parametrize("call", [0x40000000 + 57, 0x40000000 + 39])
def test_x32_calls_are_refused(call: int) -> None:
    """fork and getpid (allowed) in the x32 numbering."""
    child = os.fork()
    if child == 0:
        seccomp.install(seccomp.build_allow_list("x86_64"))
        seccomp.libc.syscall(call)
        os._exit(ctypes.get_errno())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == errno.EPERM


def test_the_filter_is_well_formed() -> None:
    for machine in seccomp.ALLOWED:
        code = seccomp.build_allow_list(machine)
        rows = list(struct.iter_unpack("<HBBI", code))
        assert len(rows) < 4096 and rows[-1] == (0x06, 0, 0, seccomp.DENY)
        assert all(at + 1 + max(yes, no) < len(rows) for at, (_, yes, no, _) in enumerate(rows[:-1]))
