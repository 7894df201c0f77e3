"""Hostile programs that use up time or memory, and those that turn Python itself around."""

from __future__ import annotations

from hostile import (
    ALONE,
    ANY,
    CALLS,
    CLOCK,
    FORGED,
    LIMITS,
    MEMORY,
    NOBODY,
    OUTSIDE,
    REPLAYS,
    STRICT,
    Hostile,
    in_import,
    in_render,
    program,
)
from hostile import in_step as step

FOR_EVER = "\n        while True: pass"
SLOW_START = "Initial_state with its rendering took longer"


def endless(name: str, method: str, code: str, at: int | None = 1) -> Hostile:
    """A class whose `method` never returns, met by `code` in step."""
    top = f"class E(int):\n    __hash__ = int.__hash__\n    def {method}:{FOR_EVER}"
    return step(CLOCK, name, code, "time", "took longer", top, at)


HOSTILE = [
    # -- time
    step(CLOCK, "an endless step", "while True: pass", "time", "One step took longer"),
    in_render(CLOCK, "an endless render", "while True: pass", "time", SLOW_START),
    in_import(CLOCK, "an endless import", "while True: pass", "time", "Loading the program took longer"),
    Hostile("an endless is_goal", program(top=f"def for_ever():{FOR_EVER}", goal="for_ever()"), ("time",), SLOW_START, CLOCK, 0),
    Hostile("an endless is_over", program(end=f"def is_over(state):{FOR_EVER}"), ("time",), SLOW_START, CLOCK, 0),
    Hostile("an endless start", program(end=f"def initial_state(observation):{FOR_EVER}"), ("time",), SLOW_START, CLOCK, 0),
    Hostile(
        "an endless __hash__",
        program(top=f"class S(int):\n    def __hash__(self):{FOR_EVER}", step="return S(state + 1)"),
        ("time",),
        "took longer",
        CLOCK,
        ANY,
    ),
    endless("an endless __eq__", "__eq__(self, other)", "{E(1): 1}[E(1)]"),
    endless("an endless __del__", "__del__(self)", "E()"),
    endless("an endless __iter__", "__iter__(self)", "list(E())"),
    endless("an endless __getattr__", "__getattribute__(self, name)", "E().x"),
    in_render(
        CLOCK, "an endless __array__", "return E()", "time", SLOW_START, f"class E:\n    def __array__(self, *a, **k):{FOR_EVER}"
    ),
    in_render(
        CLOCK,
        "an endless __len__",
        "return E()",
        "time",
        SLOW_START,
        f"class E:\n    def __getitem__(self, k): return 0\n    def __len__(self):{FOR_EVER}",
    ),
    Hostile(
        "an endless __repr__",
        program(top=f"class E:\n    def __repr__(self):{FOR_EVER}", goal="E()"),
        ("time",),
        SLOW_START,
        CLOCK,
        0,
    ),
    Hostile(
        "an endless __class__",
        program(top=f"class E:\n    @property\n    def __class__(self):{FOR_EVER}", goal="E()"),
        ("time",),
        SLOW_START,
        CLOCK,
        0,
    ),
    step(CLOCK, "an error that never tells", "raise E()", "time", "", f"class E(Exception):\n    def __str__(self):{FOR_EVER}"),
    step(CLOCK, "sleep", "time.sleep(1000)", "time", "One step took longer", "import time"),
    step(CLOCK, "time, slowly", "time.sleep(0.97 * @SECONDS@)", "time", "took longer", "import time", ANY),
    step(CLOCK, "a regular expression", "re.match(r'(a+)+$', 'a' * 64 + 'b')", "time", "One step took longer", "import re"),
    step(CLOCK, "another regular expression", "re.match(r'(a|a)*$', 'a' * 40 + 'b')", "time", "One step", "import re"),
    step(CLOCK, "a sum that no signal interrupts", "sum(itertools.repeat(0))", "time", "One step", "import itertools"),
    step(CLOCK, "a power", "10 ** (10 ** 9)", "time memory"),
    step(CLOCK, "arithmetic in numpy", "while True: A @ A", "time", "One step", "import numpy\nA = numpy.ones((999, 999))"),
    # -- memory
    step(MEMORY, "a huge allocation", "bytearray(100 << 30)", "memory", "bytearray(100 << 30)"),
    step(MEMORY, "a huge array", "np.ones((1 << 20, 1 << 10))", "memory", "line 7 in step", "import numpy as np"),
    step(MEMORY, "a growing list", "kept = []\nwhile True: kept.append(bytes(1 << 20))", "memory", "more memory than it may"),
    step(MEMORY, "memory, slowly", "while True: kept.append(bytearray(1 << 18))", "memory time", "", "kept = []", ANY),
    step(
        MEMORY, "memory by the map", "kept = [mmap.mmap(-1, 1 << 24) for _ in range(1000)]", "memory exception", "", "import mmap"
    ),
    step(MEMORY, "a long text", "'x' * (1 << 40)", "memory"),
    step(MEMORY, "a long list", "list(range(10 ** 10))", "memory time"),
    step(MEMORY, "a shift", "1 << (1 << 40)", "memory exception"),
    step(
        MEMORY,
        "a bomb of zeros",
        "b''.join(zlib.decompress(BOMB) for _ in range(999))",
        "memory",
        "",
        "import zlib\nBOMB = zlib.compress(bytes(1 << 20))",
    ),
    Hostile("an enormous state", program(step="return (state,) * 300_000_000"), ("memory",), "", MEMORY, ANY),
    step(MEMORY, "memory that doubles", "KEPT.extend([b + b'x' for b in KEPT])", "memory", "", "KEPT = [bytes(1 << 25)]", ANY),
    # -- depth
    step(LIMITS, "recursion", "step(state, action)", "exception", "RecursionError"),
    Hostile(
        "recursion in __hash__",
        program(top="class S(int):\n    def __hash__(self): return hash(self)", step="return S(state + 1)"),
        ("exception",),
        "RecursionError",
        LIMITS,
        ANY,
    ),
    step(
        ALONE,
        "recursion without a limit",
        "sys.setrecursionlimit(10 ** 9)\ndef f(): return f()\nf()",
        "killed memory exception time",
    ),
    step(LIMITS, "recursion in C", "x = ()\nfor _ in range(10 ** 6): x = (x,)\nhash(x)", "exception killed memory", "", "", ANY),
    in_import(LIMITS, "an endless number", "x = " + "9" * 5000, "load", "digits"),
    step(LIMITS, "a number too long to tell", "raise ValueError(10 ** 5000)", "exception"),
    Hostile("deep nesting", {"world_model_engine.py": "(" * 100_000 + ")" * 100_000}, ("load", "memory"), "", LIMITS, None),
    # -- what it raises
    step(STRICT, "an exception", "{}['nothing']", "exception", "KeyError: 'nothing' at world_model_engine.py line 7 in step: `{}["),
    step(STRICT, "an interrupt", "raise KeyboardInterrupt", "exception", "KeyboardInterrupt"),
    step(STRICT, "a long message", "raise ValueError('x' * 10**7)", "exception", "xxx..."),
    step(STRICT, "a message with a sting", "raise ValueError('\\x1b[31m \\udc80 \\n.')", "exception", "ValueError: ?[31m ? \n."),
    step(
        STRICT, "a message that fails", "raise Odd()", "exception", "Odd: (no message)", "class Odd(Exception):\n    __str__ = None"
    ),
    step(
        STRICT, "a group of exceptions", "raise BaseExceptionGroup('x', [KeyboardInterrupt(), SystemExit()])", "exception", "Group"
    ),
    step(FORGED, "an error with a forged name", "raise type('x' * 100_000, (Exception,), {})()", "exception broken", "", "", ANY),
    step(
        FORGED,
        "an error that exits",
        "raise E()",
        "broken exit",
        "",
        "class E(Exception):\n    def __str__(self): raise SystemExit",
        ANY,
    ),
    # -- Python turned around
    step(FORGED, "json without dumps", "import json\njson.dumps = None", "broken", "", "", ANY),
    step(
        FORGED,
        "json that says what it likes",
        'import json\njson.dumps = lambda *a, **k: \'{"n": 2, "upto": 6, "done": true}\'',
        "broken",
        "",
        "",
        ANY,
    ),
    step(FORGED, "no more modules", "sys.modules.clear()", "admissible exception broken", "", "", ANY),
    step(FORGED, "no more builtins", "import builtins; vars(builtins).clear()", "broken exception exit", "", "", ANY),
    step(
        FORGED,
        "builtins that lie",
        "import builtins\nbuiltins.hash = lambda o: 0\nbuiltins.isinstance = lambda *a: True\nbuiltins.len = None",
        "admissible exception broken",
        "",
        "",
        ANY,
    ),
    step(
        CLOCK, "its server's voice", "sys._getframe(1).f_globals['ipc'].send = lambda *a, **k: None", "time admissible", "", "", ANY
    ),
    step(
        FORGED,
        "its server's ear",
        "sys._getframe(1).f_globals['describe_error'] = sys._getframe(1).f_globals['as_frame'] = None; 1 / 0",
        "broken exit killed",
        "",
        "",
        ANY,
    ),
    step(
        FORGED,
        "its server's memory of itself",
        "sys._getframe(1).f_locals['self'].__dict__.clear()",
        "broken exception",
        "",
        "",
        ANY,
    ),
    step(
        OUTSIDE,
        "its server's eye",
        "sys._getframe(1).f_locals['self'].__class__._write_to_ring = lambda self, state, index: None",
        "unrepeatable broken exception counterexample",
        "",
        "",
        ANY,
    ),
    step(
        FORGED,
        "its server's objects",
        "import gc\nfor o in gc.get_objects():\n    if type(o).__name__ == 'ProgramServer': o.__dict__.clear()",
        "admissible broken exception",
        "",
        "",
        ANY,
    ),
    step(
        FORGED, "numpy without asarray", "import numpy\nnumpy.asarray = lambda *a, **k: 1 / 0", "exception", "ZeroDivision", "", ANY
    ),
    step(
        FORGED,
        "a trace of everything",
        "sys.settrace(lambda *a: 1 / 0); step(state, action)",
        "exception broken killed",
        "",
        "",
        ANY,
    ),
    step(FORGED, "a profile of everything", "sys.setprofile(lambda *a: 1 / 0)", "exception broken", "", "", ANY),
    step(
        NOBODY,
        "another collector",
        "import gc; gc.set_threshold(1); gc.callbacks.append(lambda *a: 1 / 0)",
        "admissible exception broken",
        "",
        "",
        ANY,
    ),
    step(NOBODY, "words at exit", "import atexit; atexit.register(os._exit, 0)", "admissible", "", "", ANY),
    step(
        NOBODY, "a hook for what fails", "sys.excepthook = sys.unraisablehook = lambda *a: os._exit(0)", "admissible", "", "", ANY
    ),
    step(
        CALLS,
        "a handler of its own crash",
        "import signal; signal.signal(signal.SIGSEGV, lambda *a: 0); os.kill(os.getpid(), 11)",
        "forbidden",
        "os.kill",
    ),
    step(
        CALLS, "a watchdog", "import faulthandler; faulthandler.dump_traceback_later(1)", "forbidden exception killed", "", "", ANY
    ),
    Hostile(
        "an endless __reduce__",
        program(top=f"class S(int):\n    def __reduce_ex__(self, p):{FOR_EVER}", step="return S(state + 1)"),
        ("admissible",),
        "",
        NOBODY,
        ANY,
    ),
    Hostile("executable memory", program(step="import mmap; mmap.mmap(-1, 4096, prot=7)"), ("admissible",), "", NOBODY, ANY),
    # -- rules that are none
    in_render(
        REPLAYS,
        "time",
        "frame[0][:3] = time.time_ns().to_bytes(8, 'little')[1:4]",
        "unrepeatable",
        "on time or chance",
        "import time",
    ),
    in_render(
        REPLAYS, "an address", "frame[0][:3] = (id(state) + id([]) >> 4).to_bytes(8, 'little')[:3]", "unrepeatable", "hash or id"
    ),
    in_render(REPLAYS, "a hash", "frame[0][:3] = (hash('a') & 0xffffff).to_bytes(3, 'little')", "unrepeatable", "on hash or id"),
    in_render(
        REPLAYS,
        "the order of a set",
        "frame[0] = [len(w) for w in [*{'x' * n for n in range(60)}][:4]]",
        "unrepeatable",
        "order of sets",
    ),
    in_render(REPLAYS, "chance", "frame[0][:3] = os.urandom(3)", "unrepeatable", "chance"),
    in_render(REPLAYS, "a generator of chance", "frame[0][:3] = random.randbytes(3)", "unrepeatable", "chance", "import random"),
    Hostile(
        "a hash that is right the first time",
        program(render="frame[0][0] += hash('a') % 9999 != @HASH@"),
        ("unrepeatable",),
        "A first replay reproduced the whole record",
        REPLAYS,
        ANY,
    ),
    Hostile(
        "a state changed in place",
        program(
            top="class Cell:\n    at = 0\n    def __eq__(self, other): return self.at == other.at\n"
            "    def __hash__(self): return hash(self.at)",
            end="def initial_state(observation): return Cell()\n"
            "def step(state, action):\n    state.at += 1  # R1\n    return state\n"
            "def render(state): return [[state.at] * 4] * 4",
        ),
        ("unrepeatable",),
        "leave the old one as it is",
        REPLAYS,
        ANY,
    ),
    Hostile(
        "a state outside the state",
        program(
            top="AT = [0]",
            end="def initial_state(observation):\n    AT[0] = 0\n    return 0\ndef step(state, action):\n    AT[0] += 1  # R1\n"
            "    return AT[0]\ndef render(state): return [[AT[0]] * 4] * 4",
        ),
        ("unrepeatable",),
        "variables beside the state",
        REPLAYS,
        ANY,
    ),
    Hostile(
        "a count of its starts",
        program(
            top="STARTS = []",
            end="def initial_state(observation):\n    STARTS.append(0)\n    return 0\ndef render(state):\n"
            "    return [[state + (len(STARTS) > 1)] * 4] * 4",
        ),
        ("unrepeatable",),
        "variables beside the state",
        REPLAYS,
        ANY,
    ),
    Hostile(
        "a promise about what it never saw",
        program(render="frame[0][0] = 99 if state > 3 else state"),
        ("counterexample",),
        "",
        OUTSIDE,
        4,
    ),
]
