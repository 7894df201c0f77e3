"""An agent's command line program, confined: our hold on it, and the process that shuts it in and outlives everything it starts.

Unlike a hypothesis (confinement.py), an agent runs programs of its own, writes files and talks to a model, so what it may do is
listed the other way round: a workspace and a home, the system's programs to read and run, one TCP port. Two rungs: `namespaces`,
where nothing else is there; and `landlock`, where the rest is there and cannot be touched. The second is for machines without the
first.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, NoReturn

import lawbook
from lawbook.core import ipc
from lawbook.errors import HostError
from lawbook.sandbox import landlock, namespaces, seccomp
from lawbook.sandbox.confinement import drop_capabilities

NAMESPACES, LANDLOCK, UNCONFINED = "namespaces", "landlock", "none"
RUNGS = (NAMESPACES, LANDLOCK, UNCONFINED)
"""From the strongest to none."""

PORT = 8100
"""Where a network of its own has the one door to the model. Elsewhere the port is one of the machine's, and is told."""
MAX_FILE_BYTES = 1 << 30
MAX_PROCESSES = 1024
"""In a user namespace of its own; elsewhere the limit would count the user's other processes too."""
START_SECONDS = 30.0
CANNOT_START = 126
"""Exit code when the program could not be started, as a shell has it."""

SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
ETC_ENTRIES = (
    "passwd", "group", "nsswitch.conf", "hosts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl", "ca-certificates", "pki",
    "alternatives", "localtime", "timezone", "os-release", "locale.alias", "inputrc", "terminfo", "mime.types", "crypto-policies",
    "bash.bashrc", "profile", "profile.d",
)  # fmt: skip
"""Of /etc, what programs need to run; nothing in it is secret."""
PROC_ENTRIES = ("cpuinfo", "meminfo", "stat", "version", "loadavg", "uptime", "filesystems", "sys/kernel", "sys/vm", "sys/fs")
"""Of /proc, where it is the machine's own."""

_FLAGS = ("-S", "-s", "-P", "-B", "-X", "utf8")
_BOOT = "import sys; sys.path.append(sys.argv[2]); from lawbook.sandbox.agent_process import main; main(int(sys.argv[1]))"
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER, _PR_CAPBSET_DROP = 1, 4, 36, 24

libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class AccessPolicy:
    """What an agent may touch. readable: to read and run; writable: whole folders of its own; hidden: never, though it lies in
    something readable; listable: folders whose names may be listed; empty: an empty folder for whatever has to be mounted on."""

    readable: tuple[str, ...]
    writable: tuple[str, ...]
    empty: str
    listable: tuple[str, ...] = ()


def find_system_paths(hidden: Iterable[Path]) -> tuple[str, ...]:
    """The system's programs, libraries and harmless settings, without `hidden` and all that lies below it."""
    real_hidden = [os.path.realpath(path) for path in hidden]
    return tuple(
        path for root in (*SYSTEM_FOLDERS, *(f"/etc/{name}" for name in ETC_ENTRIES)) for path in exclude_paths(root, real_hidden)
    )


def exclude_paths(path: str, hidden: Sequence[str]) -> list[str]:
    """The largest parts of `path` in which none of the (real) paths `hidden` lies."""
    real = os.path.realpath(path)
    below = [hidden_path for hidden_path in hidden if hidden_path == real or hidden_path.startswith(real.rstrip("/") + "/")]
    if not below:
        return [path]
    if real in below or not Path(path).is_dir():
        return []
    return [part for entry in sorted(Path(path).iterdir()) for part in exclude_paths(str(entry), below)]


class AgentProcess:
    """A program running confined. Owned by the run process; whatever it starts ends with it, and with the run process.

    rung: of RUNGS. ports: of this machine's loopback that it may connect to. On the rung NAMESPACES there are none: `relay` is then
    a socket that listens on PORT of the agent's own network, and belongs to the caller. Raises HostError when it cannot be shut in.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: str,
        access_policy: AccessPolicy,
        *,
        rung: str,
        ports: Sequence[int] = (),
        stdout: IO[bytes] | int | None = subprocess.DEVNULL,
        stderr: IO[bytes] | int | None = subprocess.DEVNULL,
    ) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, *_FLAGS, "-c", _BOOT, str(theirs.fileno()), str(Path(lawbook.__path__[0]).parent)],
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env={name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
                cwd="/",
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._control = ours
        self.relay: socket.socket | None = None
        self.stdout = self._process.stdout
        try:
            request = {
                "command": list(command),
                "environment": dict(environment),
                "folder": folder,
                "rung": rung,
                "ports": [*ports],
            }
            ipc.send(ours, {**request, "walls": asdict(access_policy)})
            reply = ipc.receive(ours, seconds=START_SECONDS)[0]
            if "failed" in reply:
                raise HostError(f"An agent cannot be confined by {rung} here: {reply['failed']}.")
            self.facts: dict[str, str] = reply["facts"]
            if reply["listens"]:
                descriptor = socket.recv_fds(ours, 1, 1)[1][0]
                self.relay = socket.socket(fileno=descriptor)
        except (ipc.BrokenConnectionError, OSError) as error:
            self.end()
            raise HostError(f"An agent's process ended before it began ({error}).") from error
        except BaseException:
            self.end()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll(self) -> int | None:
        """The exit code of the program once it has ended, with all it had started; None while it runs."""
        return self._process.poll()

    def wait(self, seconds: float | None = None) -> int | None:
        """Like poll, after waiting for up to `seconds`."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.poll()

    def end(self) -> None:
        """End the program and all it has started. Does nothing the second time."""
        self._control.close()  # the keeper sees that and ends them
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


# -- inside ----------------------------------------------------------------------------------------------------------------------


def main(descriptor: int) -> NoReturn:
    """The keeper: shut the program in, wait for it or for the run process to hang up, and leave nothing of it behind."""
    control = socket.socket(fileno=descriptor)
    request = ipc.receive(control)[0]
    policy_fields = request["walls"]
    access_policy = AccessPolicy(
        tuple(policy_fields["readable"]), tuple(policy_fields["writable"]), policy_fields["empty"], tuple(policy_fields["listable"])
    )
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what is orphaned below becomes our child, and can be ended
    facts = {"rung": request["rung"]}
    try:
        if request["rung"] == NAMESPACES:
            facts["namespaces"] = namespaces.unshare_all()
        libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            _run_first_process(control, request, access_policy, facts, parent)
    except OSError as error:
        ipc.send(control, {"failed": str(error)})
        os._exit(CANNOT_START)
    os._exit(_wait_and_clean_up(control, child, own_pid_namespace=request["rung"] == NAMESPACES))


def _run_first_process(
    control: socket.socket, request: dict[str, object], access_policy: AccessPolicy, facts: dict[str, str], parent: int
) -> NoReturn:
    """The first process inside. With namespaces it stays, as the one that reaps; without, it becomes the program."""
    try:
        _die_with_parent(parent)
        ports, relay = request["ports"], None
        if request["rung"] == NAMESPACES:
            namespaces.enable_loopback()
            relay = socket.create_server(("127.0.0.1", PORT))
            namespaces.build_root(access_policy.empty, access_policy.readable, access_policy.writable, platform.machine())
            ports = [PORT]
        elif request["rung"] == LANDLOCK and not landlock.get_abi_version():
            raise OSError("this kernel has no Landlock")
        if request["rung"] != UNCONFINED and not seccomp.is_supported():
            raise OSError("this kernel or machine has no system call filter that we know")
        os.chdir(str(request["folder"]))
        is_unconfined = request["rung"] == UNCONFINED
        facts["landlock"] = (
            "off" if is_unconfined else f"ABI {landlock.get_abi_version()}" if landlock.get_abi_version() else "absent"
        )
        facts["seccomp"] = "off" if is_unconfined else "deny-list"
        rules = None
        if request["rung"] != NAMESPACES:
            rules = _make_ruleset(request, access_policy, ports)
        ipc.send(control, {"facts": facts, "listens": relay is not None})
        if relay is not None:
            socket.send_fds(control, [b"r"], [relay.fileno()])
            relay.close()
        control.close()
    except OSError as error:
        with suppress(ipc.BrokenConnectionError):
            ipc.send(control, {"failed": str(error)})
        os._exit(CANNOT_START)
    if request["rung"] == NAMESPACES:
        first_pid, child = os.getpid(), os.fork()
        if child == 0:
            _die_with_parent(first_pid)
            _exec_program(request, _make_ruleset(request, access_policy, ports))
        drop_capabilities(keep=0)
        _reap(child)
    _exec_program(request, rules)


def _make_ruleset(request: dict[str, object], access_policy: AccessPolicy, ports: object) -> int | None:
    """Rules for this very process (its own folder of /proc is in them); None on the rung that has none."""
    if request["rung"] == UNCONFINED or not landlock.get_abi_version():
        return None
    has_namespaces = request["rung"] == NAMESPACES
    return landlock.make_ruleset(
        ("/proc",) if has_namespaces else (*(f"/proc/{name}" for name in PROC_ENTRIES), f"/proc/{os.getpid()}"),
        ("/", *access_policy.listable) if has_namespaces else access_policy.listable,
        runnable=access_policy.readable,
        writable=(*access_policy.writable, *(namespaces.TEMPORARY_FOLDERS if has_namespaces else ())),
        devices=namespaces.DEVICES,
        ports=ports if isinstance(ports, list) else [],
    )


def _exec_program(request: dict[str, object], rules: int | None) -> NoReturn:
    """Shut this process in for good, and be the program from here on."""
    try:
        os.setsid()
        for limit, value in (
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_FSIZE, MAX_FILE_BYTES),
            *([(resource.RLIMIT_NPROC, MAX_PROCESSES)] if request["rung"] == NAMESPACES else []),
        ):
            hard = resource.getrlimit(limit)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(limit, (value, value))
        for number in range(64):
            libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
        drop_capabilities(keep=0)
        if rules is not None:
            landlock.restrict(rules)
        if request["rung"] != UNCONFINED:
            seccomp.install(seccomp.build_deny_list(platform.machine(), own_files=request["rung"] == NAMESPACES))
        os.closerange(3, 1 << 16)
        command, environment = request["command"], request["environment"]
        assert isinstance(command, list) and isinstance(environment, dict)
        os.execvpe(command[0], command, environment)
    except OSError as error:
        os.write(2, f"{error}\n".encode())
    finally:
        os._exit(CANNOT_START)


def _die_with_parent(parent: int) -> None:
    """Be killed when the parent goes. In a process namespace of one's own its number cannot be seen, and reads 0."""
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() not in (parent, 0):
        os._exit(CANNOT_START)


def _reap(child: int) -> NoReturn:
    """The life of the first process of a namespace: reap what is orphaned, end when the program ends. The kernel ends the rest."""
    while True:
        pid, status = os.wait()
        if pid == child:
            os._exit(_to_exit_code(status))


def _wait_and_clean_up(control: socket.socket, child: int, *, own_pid_namespace: bool) -> int:
    """Wait until the program ends or the run process hangs up; then end every process that is left below us.

    own_pid_namespace: they are in a process namespace that ends with its first process, `child`. We are in its tree of files by
    now, so that /proc tells nothing of ours.
    """
    has_ended, code, child_fd = False, CANNOT_START, os.pidfd_open(child)
    while not has_ended:
        ready = select.select([control.fileno(), child_fd], [], [], 1.0)[0]
        with suppress(ChildProcessError):
            while (reaped := os.waitpid(-1, os.WNOHANG))[0]:
                if reaped[0] == child:
                    has_ended, code = True, _to_exit_code(reaped[1])
        if control.fileno() in ready and not control.recv(1):
            break
    while True:
        for process in [child][has_ended:] if own_pid_namespace else _list_children():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        try:
            while process := os.waitpid(-1, os.WNOHANG)[0]:
                has_ended = has_ended or process == child
        except ChildProcessError:
            return code
        time.sleep(0.002)


def _list_children() -> list[int]:
    own_pid = os.getpid()
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and _read_parent_pid(name) == own_pid]  # noqa: PTH208


def _read_parent_pid(name: str) -> int:
    try:
        with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return 0


def _to_exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code
