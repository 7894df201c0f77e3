"""Programs that behave while they are verified, and misbehave when a plan is looked for in them or the next action is asked for.

`when` is `plan`: the program is accepted and its plan asked for; `act`: a prediction is; `follow`: it has a plan, and that is sent.
"""

from __future__ import annotations

from hostile import ALONE, ANY, CALLS, CLOCK, FORETOLD, FORGED, LIMITS, MEMORY, PATHS, ROLLED, STRICT, Hostile, Wall, program

WHO = """
def who():  # the names of the functions that call: a program can tell a search from a replay by them
    names, frame = set(), sys._getframe(1)
    while frame is not None:
        names.add(frame.f_code.co_name)
        frame = frame.f_back
    return names
"""
_FORGE = """
import json, struct
def plan(state):
    text = json.dumps({{"n": 3, "method": "bfs", "cut": None, "nodes": 1, "keyed": False, **dict({forged})}}).encode()
    for descriptor in range(3, 64):
        try: os.write(descriptor, struct.pack("<4sII", b"LAW1", len(text), 0) + text)
        except OSError: pass
"""


def in_search(name: str, source: str, kinds: str, wall: Wall, says: str = "", top: str = "", goal: str = "False") -> Hostile:
    return Hostile(name, program(top=top, end=source, goal=goal), tuple(kinds.split()), says, wall, ANY, "plan")


def forged(name: str, answer: str, kinds: str = "broken", wall: Wall = FORGED) -> Hostile:
    return in_search(name, _FORGE.format(forged=answer), kinds, wall)


HOSTILE = [
    in_search("endless actions", "def actions(state):\n    while True: pass", "time", CLOCK),
    in_search("actions without end", "def actions(state):\n    while True: yield 1", "time seconds memory", CLOCK),
    in_search("an endless key", "def key(state):\n    while True: pass", "time", CLOCK),
    in_search("an endless heuristic", "def heuristic(state):\n    while True: pass", "time", CLOCK),
    in_search("an endless plan", "def plan(state):\n    while True: pass", "time", CLOCK),
    in_search("a plan without end", "def plan(state):\n    while True: yield 1", "depth seconds nodes time memory", CLOCK),
    in_search(
        "a frontier without end",
        "def actions(state): return range(1, 2000)\ndef key(state): return object()",
        "nodes seconds memory",
        MEMORY,
    ),
    in_search(
        "states that swell",
        "def key(state):\n    KEPT.append(bytes(1 << 22))\n    return len(KEPT)",
        "memory nodes",
        MEMORY,
        "",
        "KEPT = []",
    ),
    in_search("a key that is none", "def key(state): return []", "type exception", STRICT),
    in_search("a heuristic that is none", "def heuristic(state): return float('nan')", "type", STRICT),
    in_search("actions that are none", "def actions(state): return ['up']", "type", STRICT),
    in_search("a file from a search", "def actions(state): open('/etc/passwd')", "forbidden", PATHS),
    in_search("a process from a search", "def key(state): os.fork()", "forbidden", CALLS),
    in_search("an end in a search", "def heuristic(state): os._exit(0)", "exit", ALONE),
    in_search("a crash in a search", "def actions(state):\n    import ctypes\n    ctypes.string_at(1)", "killed", ALONE),
    in_search("recursion in a search", "def actions(state): return actions(state)", "exception", LIMITS),
    forged("a forged plan of no actions known", "actions=[[0, None, None]]"),
    forged("a forged plan off the board", "actions=[[1, 9, 9]]"),
    forged("a forged plan without end", "actions=[[1, None, None]] * 20000"),
    forged("a forged plan by magic", "actions=[[1, None, None]], method='magic'"),
    forged("a forged plan in order", "actions=[[1, None, None]]", "unrepeatable broken", ROLLED),
    Hostile(
        "a goal that only a search sees",
        program(top=WHO, goal="'_search' in who()"),
        ("unrepeatable",),
        "rolled",
        ROLLED,
        ANY,
        "plan",
    ),
    Hostile(
        "a way that only a search finds",
        program(
            top=WHO,
            end="def is_goal(state): return state == 99\n" + "def step(state, action):\n"
            "    return 99 if '_search' in who() else state + 1  # R1",
        ),
        ("unrepeatable",),
        "rolled",
        ROLLED,
        ANY,
        "plan",
    ),
    in_search("a plan that does not get there", "def plan(state): return [1, 1]", "nodes depth", STRICT),
    Hostile(
        "another step when it is asked live",
        program(top=WHO, end="def step(state, action):\n    return state + (2 if '_step' in who() else 1)  # R1"),
        ("mismatch",),
        "",
        FORETOLD,
        ANY,
        "act",
    ),
    Hostile(
        "a fault when it is asked live",
        program(top=WHO, end="def step(state, action):\n    return 1 // ('_step' not in who()) and state + 1  # R1"),
        ("exception",),
        "ZeroDivision",
        FORETOLD,
        ANY,
        "act",
    ),
    Hostile(
        "a crash when it is asked live",
        program(top=WHO, end="def step(state, action):\n    if '_step' in who(): os._exit(3)\n    return state + 1  # R1"),
        ("exit",),
        "",
        ALONE,
        ANY,
        "act",
    ),
    Hostile(
        "an endless step when it is asked live",
        program(top=WHO, end="def step(state, action):\n    while '_step' in who(): pass\n    return state + 1  # R1"),
        ("time",),
        "",
        CLOCK,
        ANY,
        "act",
    ),
    Hostile(
        "a table by the number of the step",
        program(
            end="SHOWN = [@TABLE@]\ndef step(state, action): return min(state + 1, len(SHOWN) - 1)"
            "  # R1\ndef render(state): return [[SHOWN[state]] * 4] * 4"
        ),
        ("mismatch",),
        "",
        FORETOLD,
        ANY,
        "act",
    ),
    Hostile("a goal that is none", program(goal="state == @LONGEST@ + 1"), ("mismatch",), "", FORETOLD, ANY, "follow"),
]
