"""Programs that mean harm, or behave as if: how one is written down, and all of them together."""

from __future__ import annotations

from typing import NamedTuple

from lawbook.core.hypothesis import ENGINE

_TEMPLATE = """
import os, sys
{top}
def initial_state(observation):
    return 0
def step(state, action):
    {step}
    return state + 1  # R1
def render(state):
    frame = [[state] * 4 for _ in range(4)]
    {render}
    return frame
def is_goal(state):
    return {goal}
{end}
"""
BOOK = "R1. Every action adds one to every cell.\n"


def program(top: str = "", step: str = "pass", render: str = "pass", goal: str = "False", end: str = "") -> dict[str, str]:
    """The files of a counter on a 4 x 4 frame, with something done in one of its places. Several lines: indented by four."""
    return {ENGINE: _TEMPLATE.format(top=top, step=step, render=render, goal=goal, end=end)}


class Wall(NamedTuple):
    """What stops an attack: in a few words, and how that shows."""

    what: str
    shows: str


CALLS = Wall("the list of system calls (seccomp)", "EPERM; one fault, `forbidden`")
PATHS = Wall("the list of readable paths (Landlock), nothing writable", "EACCES; one fault, `forbidden`")
EMPTY = Wall(
    "there is nothing to be found: an empty environment, no module, object or descriptor of ours", "a failed import or search"
)
CLOCK = Wall("the wall clock over every call, kept from outside", "killed; one fault, `time`")
MEMORY = Wall("the limit on address space", "MemoryError; one fault, `memory`, or a search that is cut")
LIMITS = Wall("limits on descriptors and on Python's own stack", "OSError, RecursionError; one fault")
ALONE = Wall("a process of its own", "it ends itself and nothing else; one fault, `exit` or `killed`")
STRICT = Wall("what it returns is read strictly", "one fault, `type`, `shape` or `load`")
FORGED = Wall("its process is read as if it were forged", "killed; one fault, `broken`")
REPLAYS = Wall("the second replay: another interpreter, another hash seed, every step twice", "one fault, `unrepeatable`")
OUTSIDE = Wall("comparison outside, with what it is never shown", "a counterexample")
ROLLED = Wall("a plan is rolled again in a fresh process before it counts", "one fault; no plan")
FORETOLD = Wall("the prediction is on disk before the action is sent", "the first wrong one stops the plan")
GATE = Wall("the gate, before anything is run", "refused with a sentence")
NOBODY = Wall("it reaches nobody: /dev/null, or its own process", "nothing; the program is judged like any other")


class Hostile(NamedTuple):
    """`files` of a program; how it must end: one of `kinds` of fault (or an Outcome; `admissible`: it harms nobody), with the
    words `says` in the reason, at step `at` (None: it never loads; ANY: that is a race). `when`: what brings it out."""

    name: str
    files: dict[str, str]
    kinds: tuple[str, ...]
    says: str
    wall: Wall
    at: int | None = 1
    when: str = "propose"


ANY = -1


def in_step(wall: Wall, name: str, code: str, kinds: str, says: str = "", top: str = "", at: int | None = 1) -> Hostile:
    """`code` in every step; `kinds`: separated by blanks."""
    return Hostile(name, program(top=top, step=code.replace("\n", "\n    ")), tuple(kinds.split()), says, wall, at)


def in_render(wall: Wall, name: str, code: str, kinds: str, says: str = "", top: str = "") -> Hostile:
    return Hostile(name, program(top=top, render=code.replace("\n", "\n    ")), tuple(kinds.split()), says, wall, 0)


def in_import(wall: Wall, name: str, code: str, kinds: str, says: str = "") -> Hostile:
    return Hostile(name, program(top=code), tuple(kinds.split()), says, wall, None)


def everything() -> dict[str, Hostile]:
    """Every hostile program by name, in the order in which they are shown."""
    import hostile_calls
    import hostile_channel
    import hostile_planning
    import hostile_python
    import hostile_returns

    found: dict[str, Hostile] = {}
    for module in (hostile_calls, hostile_python, hostile_returns, hostile_channel, hostile_planning):
        for one in module.HOSTILE:
            assert one.name not in found, one.name
            found[one.name] = one
    return found
