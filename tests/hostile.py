"""Programs that mean harm, or behave as if: what each does, and the one Fault it must end in."""

from __future__ import annotations

import platform
from typing import NamedTuple

from lawbook.hypothesis import ENGINE

_TEMPLATE = """
import os, sys
{top}
def initial_state(observation):
    return 0
def step(state, action):
    {step}
    return state + 1
def render(state):
    frame = [[state] * 4 for _ in range(4)]
    {render}
    return frame
def is_goal(state):
    return {goal}
"""


def program(top: str = "", step: str = "pass", render: str = "pass", goal: str = "False") -> dict[str, str]:
    """The files of a counter on a 4 x 4 frame, with something done in one of its places. Several lines: indented by four."""
    return {ENGINE: _TEMPLATE.format(top=top, step=step, render=render, goal=goal)}


class Hostile(NamedTuple):
    """`files` of a program, kind and some words of the Fault it must end in, and the step that names (None: it never loads)."""

    name: str
    files: dict[str, str]
    kind: str
    says: str
    at: int | None = 1


def in_step(name: str, code: str, kind: str, says: str, top: str = "") -> Hostile:
    return Hostile(name, program(top=top, step=code.replace("\n", "\n    ")), kind, says)


def in_render(name: str, code: str, kind: str, says: str) -> Hostile:
    return Hostile(name, program(render=code), kind, says, at=0)


def in_import(name: str, code: str, kind: str, says: str) -> Hostile:
    return Hostile(name, program(top=code), kind, says, at=None)


_FORGE = """
import json, struct
def forge(**header):
    text = json.dumps(header).encode()
    return struct.pack("<4sII", b"LAW1", len(text), 0) + text
def tell(message):
    for descriptor in range(3, 64):
        try: os.write(descriptor, message)
        except OSError: pass
"""

_VIEWS = """
import gc
def views(format):  # of the memory that is shared with the run process
    return [one for one in gc.get_objects() if type(one) is memoryview and one.format == format]
"""

HOSTILE = [
    in_step("endless loop in step", "while True: pass", "time", "One step took longer"),
    in_render("endless loop in render", "while True: pass", "time", "Initial_state with its rendering took longer"),
    in_import("endless loop on import", "while True: pass", "time", "Loading the program took longer"),
    in_step("sleep", "time.sleep(1000)", "time", "One step took longer", top="import time"),
    in_step("catastrophic expression", "re.match(r'(a+)+$', 'a' * 64 + 'b')", "time", "One step took longer", top="import re"),
    in_step("huge allocation", "bytearray(100 << 30)", "memory", "bytearray(100 << 30)"),
    in_step("huge array", "np.ones((1 << 20, 1 << 10))", "memory", "line 7 in step", top="import numpy as np"),
    in_step("growing list", "kept = []\nwhile True: kept.append(bytes(1 << 20))", "memory", "more memory than it may"),
    in_step("fork", "os.fork()", "forbidden", "`os.fork()`"),
    in_step("spawn", "os.posix_spawn('/bin/sh', ['sh'], {})", "forbidden", "posix_spawn"),
    in_step("subprocess", "subprocess.run(['true'])", "forbidden", "not allowed", top="import subprocess"),
    in_step("exec", "os.execv('/bin/sh', ['sh', '-c', 'true'])", "forbidden", "execv"),
    in_step("shell", "os.system('true') == 0 or os.fork()", "forbidden", "not allowed"),
    in_step("thread", "threading.Thread(target=print).start()", "forbidden", "threads", top="import threading"),
    in_step("socket", "socket.socket()", "forbidden", "sockets", top="import socket"),
    in_step("datagram", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)", "forbidden", "sockets", top="import socket"),
    in_step("unix socket", "socket.socket(socket.AF_UNIX)", "forbidden", "sockets", top="import socket"),
    in_step("socket pair", "socket.socketpair()", "forbidden", "sockets", top="import socket"),
    in_step("name lookup", "socket.create_connection(('127.0.0.1', 80))", "forbidden", "not allowed", top="import socket"),
    in_step("read a file", "open('/etc/passwd')", "forbidden", "open('/etc/passwd')"),
    in_step("list a folder", "os.listdir('/')", "forbidden", "os.listdir('/')"),
    in_step("read the environment", "open('/proc/self/environ')", "forbidden", "can open no files"),
    in_step("read its own memory map", "open('/proc/self/maps')", "forbidden", "can open no files"),
    in_step("read its parent's memory", "open(f'/proc/{os.getppid()}/mem')", "forbidden", "can open no files"),
    in_step("write a file", "open('/tmp/lawbook-was-here', 'w')", "forbidden", "can open no files"),
    in_step("write beside itself", "open('world_model_engine.py', 'w')", "forbidden", "can open no files"),
    in_step("make a folder", "os.mkdir('/tmp/lawbook-was-here')", "forbidden", "os.mkdir"),
    in_step("remove a file", "os.remove('/etc/hostname')", "forbidden", "os.remove"),
    in_step("change a mode", "os.chmod('/tmp', 0o777)", "forbidden", "os.chmod"),
    in_step("make a link", "os.symlink('/etc/passwd', '/tmp/lawbook-was-here')", "forbidden", "os.symlink"),
    in_step("kill its parent", "os.kill(os.getppid(), 9)", "forbidden", "os.kill"),
    in_step("kill everybody", "os.kill(-1, 9)", "forbidden", "os.kill"),
    in_step("signal by descriptor", "fcntl.fcntl(1, fcntl.F_SETOWN, 1)", "forbidden", "F_SETOWN", top="import fcntl"),
    in_step("raise its limits", "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))", "exception", "", top="import resource"),
    in_step("become somebody", "os.setuid(0)", "forbidden", "os.setuid"),
    in_step("change root", "os.chroot('/')", "forbidden", "os.chroot"),
    in_step("leave the session", "os.setsid()", "forbidden", "os.setsid"),
    in_step("shared memory", "os.memfd_create('x')", "forbidden", "memfd_create"),
    in_step("pipe", "os.pipe()", "forbidden", "os.pipe"),
    in_import("import from outside", "import rich", "forbidden", "cannot import 'rich'"),
    in_import("import the game engine", "import arcengine.game", "forbidden", "only numpy, the standard library"),
    in_import("import of a system library", "import sqlite3", "forbidden", "out of reach in here"),
    in_import("import this project", "import lawbook.host.worker", "forbidden", "cannot import 'lawbook"),
    in_step("os._exit", "os._exit(0)", "exit", "ended its own process (exit code 0)"),
    in_step("sys.exit", "sys.exit(3)", "exit", "tried to exit"),
    in_import("sys.exit on import", "sys.exit()", "exit", "tried to exit"),
    in_step("segmentation fault", "ctypes.string_at(1)", "killed", "SIGSEGV", top="import ctypes"),
    in_step("abort", "os.abort()", "killed", "killed by SIG"),
    in_step("recursion", "step(state, action)", "exception", "RecursionError"),
    in_step("exception", "{}['nothing']", "exception", "KeyError: 'nothing' at world_model_engine.py line 7 in step: `{}["),
    in_step("interrupt", "raise KeyboardInterrupt", "exception", "KeyboardInterrupt"),
    in_step("long message", "raise ValueError('x' * 10**7)", "exception", "xxx..."),
    in_step("message with a sting", "raise ValueError('\\x1b[31m \\udc80 \\n.')", "exception", "ValueError: ?[31m ? \n."),
    in_step("message that fails", "raise Odd()", "exception", "Odd: (no message)", top="class Odd(Exception):\n    __str__ = None"),
    Hostile("unhashable state", program(step="return [state]", render="frame = [[0] * 4] * 4"), "type", "must be hashable", at=5),
    in_render("wrong shape", "return [[0] * 4] * 3", "shape", "render returned shape (3, 4), the frames here are 4 x 4"),
    in_render("ragged rows", "return [[0] * 4, [0] * 3]", "shape", "rows of different lengths"),
    in_render("nothing", "return", "type", "render returned a NoneType"),
    in_render("floats", "return [[0.5] * 4] * 4", "type", "array of float64"),
    in_render("words", "return [['a'] * 4] * 4", "type", "whole numbers"),
    in_render("large numbers", "return [[300] * 4] * 4", "type", "a cell of 300"),
    in_render("negative numbers", "return [[-1] * 4] * 4", "type", "a cell of -1"),
    Hostile("no answer to is_goal", program(goal="None"), "type", "is_goal returned None (NoneType)", at=0),
    Hostile("no number is a goal", program(goal="state + 2"), "type", "is_goal returned 2 (int)", at=0),
    Hostile("does not compile", {ENGINE: "def step(:\n"}, "load", "line 1: `def step(:`", at=None),
    Hostile("null byte", {ENGINE: "x = 1\0"}, "load", "null bytes", at=None),
    Hostile("lone surrogate", {ENGINE: "x = '\udc80'"}, "load", "", at=None),
    Hostile("nothing in it", {ENGINE: ""}, "load", "does not define initial_state", at=None),
    Hostile("no engine", {"other.py": ""}, "load", "There is no file world_model_engine.py", at=None),
    Hostile("step is no function", {ENGINE: program()[ENGINE] + "step = 3"}, "load", "is a int, not a function", at=None),
    Hostile("name of a module", {**program(), "random.py": ""}, "load", "random.py has the name of a module of Python", at=None),
    Hostile("deep nesting", {ENGINE: "(" * 100_000 + ")" * 100_000}, "load", "", at=None),
    in_import("fails on import", "1 / 0", "load", "ZeroDivisionError: division by zero at world_model_engine.py line 3"),
    in_step("noise on the channel", "tell(b'x' * 100)", "broken", "file descriptors", top=_FORGE),
    in_step("forged length", "tell(struct.pack('<4sII', b'LAW1', 2**32 - 1, 0))", "broken", "", top=_FORGE),
    in_step("forged blobs", "tell(struct.pack('<4sII', b'LAW1', 2, 2**32 - 1) + b'{}')", "broken", "", top=_FORGE),
    in_step("forged nesting", "tell(struct.pack('<4sII', b'LAW1', 10**5, 0) + b'[' * 10**5)", "broken", "", top=_FORGE),
    in_step("forged number", "tell(forge(n=99, upto=6, done=True))", "broken", "", top=_FORGE),
    in_step("forged end", "tell(forge(n=2, upto=1, done=True))", "broken", "", top=_FORGE),
    in_step("forged flood of frames", "tell(forge(n=2, upto=10**9, done=True))", "broken", "", top=_FORGE),
    in_step("forged negative", "tell(forge(n=2, upto=-1, done=True))", "broken", "", top=_FORGE),
    in_step("forged nonsense", "tell(forge(n=2, upto='1', done=True))", "broken", "", top=_FORGE),
    in_step("forged fault", "tell(forge(n=2, upto=0, done=True, fault={'kind': 'admissible'}))", "broken", "", top=_FORGE),
    in_step("forged kind", "tell(forge(n=2, upto=0, done=True, fault={'kind': [], 'reason': ''}))", "broken", "", top=_FORGE),
    in_step("half a message", "tell(struct.pack('<4sII', b'LAW1', 99, 0))\nwhile True: pass", "time", "took longer", top=_FORGE),
    in_step("close everything", "for one in range(64):\n    try: os.close(one)\n    except OSError: pass", "broken", ""),
    in_step("break the modules it is served with", "import json\njson.dumps = None", "broken", ""),
    in_step(
        "forged statuses",
        "for one in views('B'): one[:] = bytes([9]) * len(one)\n1 / 0",
        "broken",
        "",
        top=_VIEWS,
    ),
    in_step(
        "pretend to be alive",
        "while True: views('Q')[0][0] += 1",
        "time",
        "The replay took longer",
        top=_VIEWS,
    )._replace(at=0),
]  # fmt: skip

if platform.machine() == "x86_64":
    _GATE = "import ctypes, mmap\npage = mmap.mmap(-1, 4096, prot=7)\npage.write(bytes.fromhex('b814000000cd80c3'))"
    _CALL = "ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()"  # mov eax, 20; int 0x80; ret
    HOSTILE.append(in_step("system call of another architecture", _CALL, "forbidden", "system call", top=_GATE))

HARMLESS = {
    "a flood on stdout and stderr": program(step="print('x' * 1_000_000); sys.stderr.write('x' * 1_000_000)"),
    "descriptors of its own": program(step="os.write(1, b'x'); os.write(2, b'x')"),
    "a reading of the library": program(top="import statistics, decimal, random, hashlib, unicodedata, numpy.random, numpy.fft"),
    "signals ignored": program(top="import signal\nfor s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)"),
}
"""What may be done, and costs nothing."""
