"""Hostile programs that reach for what is outside: files, processes, the network, the kernel.

@WORD@ in a program stands for what only the run that meets it knows: where its ledger is, on which port somebody listens.
"""

from __future__ import annotations

import platform

from hostile import ALONE, ANY, CALLS, EMPTY, LIMITS, NOBODY, PATHS, Hostile, in_import, in_step, program

NO_FILES = "can open no files"
_CALL = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *rest):
    if libc.syscall(number, *rest) < 0:
        raise OSError(ctypes.get_errno(), "denied")
"""
_NUMBERS = {
    "x86_64": {
        "io_uring": (425, "8, bytes(120)"), "userfaultfd": (323, "0"), "pidfd": (434, "os.getppid(), 0"),
        "ptrace": (101, "16, os.getppid(), 0, 0"), "another's memory by call": (310, "os.getppid(), 0, 0, 0, 0, 0"),
        "a message queue": (68, "0, 0o1600"), "System V shared memory": (29, "0, 4096, 0o1600"),
        "a semaphore": (64, "0, 1, 0o1600"),
        "a key ring": (248, "0, 0, 0, 0, 0"), "a program for the kernel": (321, "0, 0, 0"), "a namespace": (272, "0x10000000"),
        "a mount": (165, "b'none', b'/tmp', b'tmpfs', 0, 0"), "a signal to a thread": (234, "os.getppid(), os.getppid(), 9"),
        "an event descriptor": (290, "0, 0"), "a timer that signals": (222, "1, 0, bytes(8)"), "a clone": (56, "17, 0, 0, 0, 0"),
    },
    "aarch64": {
        "io_uring": (425, "8, bytes(120)"), "userfaultfd": (282, "0"), "pidfd": (434, "os.getppid(), 0"),
        "ptrace": (117, "16, os.getppid(), 0, 0"), "another's memory by call": (270, "os.getppid(), 0, 0, 0, 0, 0"),
        "a message queue": (186, "0, 0o1600"), "System V shared memory": (194, "0, 4096, 0o1600"),
        "a semaphore": (190, "0, 1, 0o1600"),
        "a key ring": (217, "0, 0, 0, 0, 0"), "a program for the kernel": (280, "0, 0, 0"), "a namespace": (97, "0x10000000"),
        "a mount": (40, "b'none', b'/tmp', b'tmpfs', 0, 0"), "a signal to a thread": (131, "os.getppid(), os.getppid(), 9"),
        "an event descriptor": (19, "0, 0"), "a timer that signals": (107, "1, 0, bytes(8)"), "a clone": (220, "17, 0, 0, 0, 0"),
    },
}  # fmt: skip


def denied(name: str, code: str, says: str = "", top: str = "") -> Hostile:
    return in_step(CALLS, name, code, "forbidden", says, top)


def shut(name: str, code: str, says: str = NO_FILES, top: str = "") -> Hostile:
    return in_step(PATHS, name, code, "forbidden", says, top)


HOSTILE = [
    # -- reading
    shut("the game's source", "open('@GAME@')"),
    shut("the source of the world's engine", "open('@ENGINE@')"),
    shut("this project's source", "open('@LAWBOOK@')"),
    shut("the ledger", "open('@RUN@/ledger.sqlite', 'rb')"),
    shut("the ledger's log", "open('@RUN@/ledger.sqlite-wal', 'rb')"),
    shut("what the run was asked for", "open('@RUN@/run.toml')"),
    shut("another member's rulebook", "open('@RUN@/memory/m1/world_model.md')"),
    shut("another member's program", "open('@RUN@/memory/m1/world_model_engine.py')"),
    shut("the versions in git", "os.listdir('@RUN@/memory/.git')", "os.listdir"),
    shut("a file of the system", "open('/etc/passwd')", "open('/etc/passwd')"),
    shut("the root folder", "os.listdir('/')", "os.listdir('/')"),
    shut("its own environment", "open('/proc/self/environ')"),
    shut("its own memory map", "open('/proc/self/maps')"),
    shut("its own memory", "open('/proc/self/mem', 'wb')"),
    shut("its own descriptors", "os.listdir('/proc/self/fd')", "os.listdir"),
    shut("its parent's memory", "open(f'/proc/{os.getppid()}/mem')"),
    shut("its parent's environment", "open(f'/proc/{os.getppid()}/environ')"),
    shut("the run process's environment", "open('/proc/@PID@/environ')"),
    shut("the run process's command", "open('/proc/@PID@/cmdline')"),
    shut("a process of the system", "open('/proc/1/status')"),
    shut("every process", "os.listdir('/proc')", "os.listdir"),
    shut("the kernel's settings", "open('/proc/sys/kernel/random/boot_id')"),
    shut("a device", "open('/dev/zero', 'rb')"),
    in_step(PATHS, "a path opened for nothing", "os.read(os.open('/proc/self/environ', os.O_PATH), 1)", "forbidden exception"),
    in_step(
        PATHS,
        "any process whatever",
        "found = []\nfor n in range(1, 3000):\n    for name in ('environ', 'mem', 'maps', 'cmdline', 'root/etc/passwd'):\n"
        "        try: found.append(open(f'/proc/{n}/{name}', 'rb').read(9))\n        except OSError: pass\n"
        "if not found: raise PermissionError('nothing')\nraise ValueError(found)",
        "forbidden",
        "nothing",
    ),
    # -- writing
    shut("a file among the temporary ones", "open('/tmp/lawbook-was-here', 'w')"),
    shut("a file in memory", "open('/dev/shm/lawbook-was-here', 'w')"),
    shut("a file beside itself", "open('world_model_engine.py', 'w')"),
    shut("a file in the run", "open('@RUN@/lawbook-was-here', 'w')"),
    shut("an event into the ledger", "open('@RUN@/ledger.sqlite', 'r+b')"),
    shut("a version into git", "open('@RUN@/memory/.git/HEAD', 'a')"),
    shut("a file of numpy's", "open(sys.modules['numpy'].__file__, 'a')", NO_FILES, "import numpy"),
    shut("the terminal", "open('/dev/tty', 'w')"),
    in_step(PATHS, "a database", "import dbm.dumb; dbm.dumb.open('/tmp/lawbook-was-here', 'c')", "forbidden exception"),
    denied("a folder", "os.mkdir('/tmp/lawbook-was-here')", "os.mkdir"),
    denied("the removal of a file", "os.remove('@RUN@/ledger.sqlite')", "os.remove"),
    denied("another name for a file", "os.rename('@RUN@/ledger.sqlite', '/tmp/lawbook-was-here')", "os.rename"),
    denied("a shorter ledger", "os.truncate('@RUN@/ledger.sqlite', 0)", "os.truncate"),
    denied("another mode", "os.chmod('@RUN@/ledger.sqlite', 0)", "os.chmod"),
    denied("another owner", "os.chown('@RUN@/ledger.sqlite', 1, 1)", "os.chown"),
    denied("another time", "os.utime('@RUN@/ledger.sqlite', (0, 0))", "os.utime"),
    denied("an attribute", "os.setxattr('@RUN@/ledger.sqlite', 'user.x', b'1')", "os.setxattr"),
    denied("a link", "os.symlink('/etc/passwd', '/tmp/lawbook-was-here')", "os.symlink"),
    denied("a second name", "os.link(os.__file__, '/tmp/lawbook-was-here')", "os.link"),
    denied("a named pipe", "os.mkfifo('/tmp/lawbook-was-here')", "os.mkfifo"),
    shut("shared memory by name", "from multiprocessing import shared_memory as s; s.SharedMemory(create=True, size=9)", ""),
    # -- other processes
    denied("fork", "os.fork()", "`os.fork()`"),
    denied("spawn", "os.posix_spawn('/bin/sh', ['sh'], {})", "posix_spawn"),
    denied("a subprocess", "subprocess.run(['true'])", "not allowed", "import subprocess"),
    denied("another program in its place", "os.execv('/bin/sh', ['sh', '-c', 'true'])", "execv"),
    denied("a shell", "os.system('true') == 0 or os.fork()", "not allowed"),
    denied("a thread", "threading.Thread(target=print).start()", "threads", "import threading"),
    denied("a pool of processes", "import multiprocessing; multiprocessing.Process(target=print).start()"),
    denied("death to its parent", "os.kill(os.getppid(), 9)", "os.kill"),
    denied("death to the run process", "os.kill(@PID@, 9)", "os.kill"),
    denied("death to everybody", "os.kill(-1, 9)", "os.kill"),
    denied("death to a group", "os.killpg(1, 9)", "os.killpg"),
    denied("a signal by descriptor", "fcntl.fcntl(1, fcntl.F_SETOWN, 1)", "F_SETOWN", "import fcntl"),
    denied("leaving its session", "os.setsid()", "os.setsid"),
    denied("its priority", "os.nice(-5)"),
    denied("another's priority", "os.setpriority(os.PRIO_PROCESS, @PID@, 19)", "os.setpriority"),
    denied("another user", "os.setuid(0)", "os.setuid"),
    denied("another root", "os.chroot('/')", "os.chroot"),
    in_step(
        CALLS, "higher limits", "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))", "forbidden exception", "", "import resource"
    ),
    in_step(CALLS, "another name", "assert ctypes.CDLL(None).prctl(15, b'x') == 0", "exception", "Assertion", "import ctypes"),
    # -- the network and other ways to talk
    denied("a socket", "socket.socket()", "sockets", "import socket"),
    denied("a datagram", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)", "sockets", "import socket"),
    denied("a Unix socket", "socket.socket(socket.AF_UNIX)", "sockets", "import socket"),
    denied("a pair of sockets", "socket.socketpair()", "sockets", "import socket"),
    denied("an abstract Unix socket", "socket.socket(socket.AF_UNIX).connect('\\0@ABSTRACT@')", "sockets", "import socket"),
    denied("a connection", "socket.create_connection(('127.0.0.1', @PORT@))", "not allowed", "import socket"),
    in_step(CALLS, "the name of a host", "socket.getaddrinfo('localhost', 80)", "forbidden exception", "", "import socket"),
    in_step(
        CALLS, "a page", "request.urlopen('http://127.0.0.1:@PORT@/')", "forbidden exception", "", "from urllib import request"
    ),
    in_step(
        CALLS,
        "a socket of any family",
        "for family in range(64):\n    for sort in (1, 2, 3, 5):\n"
        "        try: raise ValueError(socket.socket(family, sort))\n        except PermissionError: pass\n"
        "raise PermissionError('none of them')",
        "forbidden",
        "none of them",
        "import socket",
    ),
    denied("a pipe", "os.pipe()", "os.pipe"),
    denied("memory with a name", "os.memfd_create('x')", "memfd_create"),
    *[denied(name, f"call({number}, {rest})", "", _CALL) for name, (number, rest) in _NUMBERS[platform.machine()].items()],
    # -- what it might find already inside
    in_import(EMPTY, "a package from outside", "import rich", "forbidden", "cannot import 'rich'"),
    in_import(EMPTY, "the game engine", "import arcengine.game", "forbidden", "only numpy, the standard library"),
    in_import(EMPTY, "a library of the system", "import sqlite3", "forbidden", "out of reach in here"),
    in_import(EMPTY, "this project", "import lawbook.sandbox.worker_server", "forbidden", "cannot import 'lawbook"),
    in_import(
        EMPTY, "the modules that serve it", "raise ValueError([n for n in sys.modules if 'lawbook' in n])", "load", "ValueError: []"
    ),
    in_import(EMPTY, "a key in the environment", "raise ValueError((dict(os.environ), sys.argv))", "load", "({}, ['-c'])"),
    in_import(
        EMPTY,
        "a key in the C library's environment",
        "import ctypes\nraise ValueError(ctypes.c_void_p.in_dll(ctypes.CDLL(None), 'environ').value and "
        "ctypes.cast(ctypes.c_void_p.in_dll(ctypes.CDLL(None), 'environ').value, ctypes.POINTER(ctypes.c_char_p))[0])",
        "load",
        "ValueError: None",
    ),
    in_import(
        EMPTY,
        "a key that some object still holds",
        "import gc\nfound = [1 for o in gc.get_objects() if type(o) is dict for s in o.values() if type(s) is str and "
        "'a ' + 'sec' + 'ret' in s]\nraise ValueError(len(found))",
        "load",
        "ValueError: 0",
    ),
    in_step(EMPTY, "a descriptor of the run process", "os.read(@DESCRIPTOR@, 1)", "exception", "Bad file descriptor"),
    # -- what is no other's business
    in_step(
        LIMITS, "every descriptor there is", "while True: kept.append(open(os.__file__))", "exception", "Too many", "kept = []"
    ),
    Hostile(
        "a flood on standard output",
        program(step="print('x' * 100_000); sys.stderr.write('x' * 100_000)"),
        ("admissible",),
        "",
        NOBODY,
        ANY,
    ),
    Hostile("descriptors 1 and 2", program(step="os.write(1, b'x'); os.write(2, b'x')"), ("admissible",), "", NOBODY, ANY),
    Hostile(
        "signals ignored",
        program(top="import signal\nfor s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)"),
        ("admissible",),
        "",
        NOBODY,
        ANY,
    ),
    Hostile("an alarm", program(step="import signal; signal.alarm(1)"), ("admissible", "forbidden"), "", CALLS, ANY),
    in_step(ALONE, "its own end", "os._exit(0)", "exit", "ended its own process (exit code 0)"),
    in_step(ALONE, "its own end by sys.exit", "sys.exit(3)", "exit", "tried to exit"),
    in_import(ALONE, "its own end on import", "sys.exit()", "exit", "tried to exit"),
    in_step(ALONE, "a segmentation fault", "ctypes.string_at(1)", "killed", "SIGSEGV", "import ctypes"),
    in_step(ALONE, "abort", "os.abort()", "killed", "killed by SIG"),
]

if platform.machine() == "x86_64":
    _GATE = "import ctypes, mmap\npage = mmap.mmap(-1, 4096, prot=7)\npage.write(bytes.fromhex('b814000000cd80c3'))"
    _GETPID = "ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()"  # mov eax, 20; int 0x80; ret
    HOSTILE.append(in_step(CALLS, "a call in another numbering", _GETPID, "forbidden", "system call", _GATE))
