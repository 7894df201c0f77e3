"""A world with a bar of hidden length and fog, and programs with `update` for it: an honest one, and such as mean harm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lawbook.core.hypothesis import ENGINE
from lawbook.core.record import RESET, Action, Observation, Record, Status, freeze

BAR = 3
"""Steps until the bar in row 0 loses a cell: shows nowhere before it does."""
HIDDEN = (14, 11, 13, 12)
"""What lies in row 2 below each place: shows once the walker (row 1) has been there, and is fog (9) before."""
RULES = (1, 2)


def walk(actions: list[int]) -> list[np.ndarray]:
    """The frames of one trajectory, the first included."""
    place, visited, frames = 0, {0}, []
    for steps, number in enumerate([0, *actions]):
        place = max(0, min(3, place + {0: 0, 1: 1, 2: -1}[number]))
        visited.add(place)
        frame = np.zeros((4, 4), np.uint8)
        frame[0] = [3 if k < 4 - steps // BAR else 0 for k in range(4)]
        frame[1, place] = 1
        frame[2] = [HIDDEN[k] if k in visited else 9 for k in range(4)]
        frames.append(frame)
    return frames


def make_record(*trajectories: list[int]) -> Record:
    """What the world answers. Each trajectory opens with an animation of two frames."""
    history = Record()
    for k, actions in enumerate(trajectories):
        first, *others = walk(actions)
        history.extend(RESET if k else None, Observation((freeze(first + 1), freeze(first)), Status.RUNNING, 0, (1, 2)))
        for number, frame in zip(actions, others, strict=True):
            history.extend(Action(number), Observation((freeze(frame),), Status.RUNNING, 0, (1, 2)))
    return history


RECORD = make_record([1, 1, 2, 1, 1, 2, 2, 2, 1, 2, 1, 1, 1, 2] * 2, [2, 1, 2, 1, 1, 1, 2, 2, 1] * 2, [1, 1, 1, 2] * 5)

_TEMPLATE = """
import gc, os, sys, time
import numpy as np
{top}
def initial_state(observation):
    {initial}
    return (0, 0, (int(observation["frame"][2, 0]), 0, 0, 0), 0, 0)
def step(state, action):  # R1
    {step}
    steps, place, fog, length, unseen = state
    place = max(0, min(3, place + (1 if action.id == 1 else -1)))
    fog = tuple(-1 if k == place and value == 0 else value for k, value in enumerate(fog))
    return (steps + 1, place, fog, length, unseen + 1)
def render(state):
    steps, place, fog, length, unseen = state
    frame = np.zeros((4, 4), np.int16)
    frame[0] = 3 if steps == 0 else -1  # U1
    if length:
        frame[0] = [3 if k < 4 - steps // length else 0 for k in range(4)]
    frame[1, place] = 1
    frame[2] = [9 if value == 0 else -2 if value == -1 else value for value in fog]  # U2
    {render}
    return frame
def is_goal(state):
    steps, place, fog, length, unseen = state
    return {goal}
def update(state, observation):
    {update}
    steps, place, fog, length, unseen = state
    frame = observation["frame"]
    fog = tuple(int(frame[2, k]) if value == -1 else value for k, value in enumerate(fog))
    if not length and frame[0, 3] == 0:
        length = steps
    return (steps, place, fog, length, 0)
{end}
"""


def program(
    *,
    top: str = "",
    initial: str = "pass",
    step: str = "pass",
    render: str = "pass",
    goal: str = "False",
    update: str = "pass",
    end: str = "",
) -> dict[str, str]:
    """The honest program's files, with something done in one of its places. Several lines: indented by four."""
    parts = {"top": top, "initial": initial, "step": step, "render": render, "goal": goal, "update": update, "end": end}
    return {ENGINE: _TEMPLATE.format(**parts)}


HONEST = program()


class Liar(NamedTuple):
    """A program that means harm, how it must end (kinds of fault, or outcomes), and words of the reason."""

    files: dict[str, str]
    ends: tuple[str, ...]
    says: str = ""


_AHEAD = """
def ahead():
    # whatever array or bytes lies about that shows a colour below the walker which it has not seen
    held = [o for o in gc.get_objects() if type(o) is list and o and type(o[-1]).__name__ == "mappingproxy"]
    return [int(o[-1]["frame"][2, k]) for o in held for k in range(4) if o[-1]["frame"][2, k] > 9]
def remaining():
    frame = sys._getframe()
    while frame is not None:
        if "request" in frame.f_locals and "actions" in frame.f_locals["request"]:
            return len(frame.f_locals["request"]["actions"])
        frame = frame.f_back
    return 0
IS_TWIN = hash("a") % 1000 != {hash}
"""
_TABLE = """
TABLE = {}
def initial_state(observation): return ()
def step(state, action): return (*state, action.id)
def render(state):
    place, seen, steps = 0, {0}, 0
    for steps, number in enumerate(state, 1):
        place = max(0, min(3, place + (1 if number == 1 else -1)))
        seen.add(place)
    frame = np.zeros((4, 4), np.uint8)
    frame[0] = [3 if k < 4 - steps // 3 else 0 for k in range(4)]
    frame[1, place] = 1
    frame[2] = [(14, 11, 13, 12)[k] if k in seen else 9 for k in range(4)]
    return frame
def is_goal(state): return False
def update(state, observation): return state
"""
_OPEN_ALL = "frame[:] = -1"
_FUTURE = "found = {0}\n    "

LIARS: dict[str, Liar] = {
    "update raises": Liar(program(update="raise KeyError('no')"), ("exception",), "KeyError"),
    "update returns a list": Liar(program(update="return [1]"), ("type",), "hashable"),
    "update returns a list in a tuple": Liar(program(update="return (*state[:4], [1])"), ("type",), "hashable"),
    "a hash that raises": Liar(
        program(top="class Odd(tuple):\n    def __hash__(self): raise ValueError('odd')", update="return Odd(state)"),
        ("exception",),
        "odd",
    ),
    "update writes into the frame": Liar(program(update="observation['frame'][0] = 0"), ("exception",), "read-only"),
    "update writes into the animation": Liar(program(update="observation['frames'][-1][0] = 0"), ("exception",), "read-only"),
    "update makes the frame writeable": Liar(
        program(update="observation['frame'].flags.writeable = True"), ("exception",), "WRITEABLE"
    ),
    "update changes the mapping": Liar(program(update="observation['frame'] = None"), ("exception",), "item assignment"),
    "the opening is written into": Liar(program(initial="observation['frames'][0][0] = 0"), ("exception",), "read-only"),
    "update takes one argument": Liar(program(end="def update(state): return state"), ("exception",), "argument"),
    "update is no function": Liar(program(end="update = 3"), ("load",), "update in world_model_engine.py is a int"),
    "update never ends": Liar(program(update="while True: pass"), ("time",), "took longer"),
    "update sleeps": Liar(program(update="time.sleep(60)"), ("time",), "took longer"),
    "update stalls at the tenth": Liar(program(update="time.sleep(60 if state[0] == 10 else 0)"), ("time",), "took longer"),
    "update fills the memory": Liar(
        program(top="HELD = []", update="while True: HELD.append(bytearray(1 << 24))"), ("memory",), "memory"
    ),
    "the state grows": Liar(
        program(update="return (*state[:2], tuple(state[2]) + tuple(range(1 << 27)), *state[3:])"), ("memory",), "memory"
    ),
    "update exits": Liar(program(update="sys.exit()"), ("exit",), "exit"),
    "update ends the process": Liar(program(update="os._exit(0)"), ("exit",), "ended its own process"),
    "update starts a thread": Liar(
        program(top="import threading", update="threading.Thread(target=print).start()"), ("forbidden",), "threads"
    ),
    "a signal changes what was shown": Liar(
        program(
            top="import signal\nHIT = []\nsignal.signal(signal.SIGALRM, lambda *_: HIT.append(1))",
            update="signal.setitimer(signal.ITIMER_REAL, 0.00005)",
            render="if HIT: frame[3] = 1",
        ),
        ("forbidden", "counterexample", "unrepeatable", "killed", "exception"),
    ),
    "the shared memory is read ahead": Liar(
        program(top=_AHEAD, render="frame[2] = [max(ahead() or [15]) if value == -2 else value for value in frame[2]]"),
        ("counterexample",),
        "predicted 15",
    ),
    "what lies ahead is claimed where it is found": Liar(
        program(top=_AHEAD, render="frame[2] = [max(ahead() or [-2]) if value == -2 else value for value in frame[2]]"),
        ("unrepeatable", "counterexample"),
    ),
    "it claims where one action comes at a time": Liar(
        program(top=_AHEAD, render="if remaining() > 1: frame[:] = -1"), ("unrepeatable",), "left open"
    ),
    "it claims where calls are far apart": Liar(
        program(
            top="LAST = [0.0]",
            render="now = time.perf_counter(); gap = now - LAST[0]; LAST[0] = now\n    if gap < 0.00004: frame[1:] = -1",
        ),
        ("unrepeatable",),
    ),
    "what was learned is kept beside the state": Liar(
        program(
            top="LENGTH = [0]",
            update="if observation['frame'][0, 3] == 0 and not LENGTH[0]: LENGTH[0] = state[0]",
            render="if LENGTH[0]: frame[0] = [3 if k < 4 - steps // LENGTH[0] else 0 for k in range(4)]",
        ),
        ("unrepeatable",),
    ),
    "a prediction is remembered until it is seen": Liar(
        program(
            top="SHOWN = [0]",
            render="SHOWN[0] += 1; frame[3] = -1 if SHOWN[0] % 7 == 0 else 0",
            update="SHOWN[0] += int(observation['frame'][2, 1])",
        ),
        ("unrepeatable",),
    ),
    "calls are counted in a module": Liar(
        program(top="COUNT = [0]", update="COUNT[0] += 1", render="frame[3] = -1 if COUNT[0] > 5 else 0"), ("unrepeatable",)
    ),
    "update changes its state in place": Liar(
        program(
            top="class Held:\n    def __init__(self): self.n = 0\nHELD = Held()",
            initial="HELD.n = 0",
            update="HELD.n += 1",
            render="frame[3] = -1 if HELD.n % 4 == 3 else 0",
        ),
        ("unrepeatable",),
    ),
    "update uses chance": Liar(
        program(
            top="import random",
            update="return (*state[:4], random.random())",
            render="frame[3] = -1 if unseen and 0.3 < unseen % 1 < 0.8 else 0",
        ),
        ("unrepeatable",),
    ),
    "claims less in the other interpreter": Liar(program(top=_AHEAD, render="if IS_TWIN: frame[:] = -1"), ("unrepeatable",)),
    "claims less there, where it does not look": Liar(
        program(
            top=_AHEAD,
            render="if IS_TWIN and unseen > 1: frame[:] = -1",
            goal="(None if IS_TWIN else True) if unseen > 3 else False",
        ),
        ("unrepeatable",),
    ),
    "true three unlooked steps on": Liar(program(goal="unseen >= 3"), ("counterexample",), "without looking since"),
    "another colour unlooked": Liar(program(render="frame[3] = 5 if unseen > 2 else 0"), ("counterexample",), "without looking"),
    "a rule that is not there, once it looked": Liar(program(render="frame[3] = -7 if length else 0"), ("type",), "no rule U7"),
    "it answers in the server's place": Liar(
        program(
            update=(
                "from lawbook.core import ipc\n"
                "    import socket\n"
                "    [ipc.send(s, {'n': 2, 'upto': 40, 'done': True}) for s in gc.get_objects() if isinstance(s, socket.socket)]"
            )
        ),
        ("broken", "exception", "forbidden"),
    ),
    "it reads the channel": Liar(
        program(update="import socket\n    [s.recv(1) for s in gc.get_objects() if isinstance(s, socket.socket)]"),
        ("time", "broken", "exception"),
    ),
    "a table of frames": Liar({ENGINE: "import numpy as np\n" + _TABLE}, ("admissible",)),  # known: the first measure shows it
    "it claims nothing at all": Liar(program(render=_OPEN_ALL, goal="None"), ("admissible",)),  # counted, shown and judged
}
