"""What an agent reads in its workspace: GUIDE.md, the stubs of rulebook, program and answers. Made from the table of operations."""

from __future__ import annotations

from lawbook.agents.api.operations import OPERATIONS
from lawbook.agents.api.workspace import FIDELITY
from lawbook.core.hypothesis import ENGINE, RULEBOOK
from lawbook.protocols.protocol import Protocol

MAX_LINES, MAX_CHARACTERS = 70, 4000
"""Of a guide: who plays pays for every one of them."""
MAX_BELIEF_LINES, MAX_BELIEF_CHARACTERS = 20, 1600
"""What may come on top where a program may leave things open."""

_HEAD = """\
# You drive an unknown world

Behind `./law` is a world: a grid of colour codes, a few actions, levels to complete in as few of them as you can. Its rules
are yours to find out. Begin with `./law brief`.
"""

_TEAM = """\

You are one of {members} members: one world, one record, one budget, a model each. What others send is told before your next answer.
"""

_RULEBOOK = f"""\
2. Write numbered rules (`R1. ...`) and questions (`Q1. ...`) into `{RULEBOOK}`, compile them into `{ENGINE}`,
   citing them (`# R3`). `./law propose -m "first rules"` replays the whole record: a wrong cell refuses it, and costs nothing.
"""

_NO_RULEBOOK = f"""\
2. Write `{ENGINE}`. `./law propose -m "first program"` replays the whole record: a wrong cell refuses it, and costs
   nothing.
"""

_GATED_LOOP = """\
1. `./law observe`; `./law probe 1 2 3 -m "what does each do?"` stops at the first surprise. Every action counts.
{believe}3. `./law execute` plans the shortest way to the goal in the accepted program and sends it (`./law execute --show`: tells).
   No way yet: `./law execute --subgoal "state.row == 3" -m "what is there?"`, or probe.
4. A wrong prediction stops it. Mend, propose, `./law execute --resume` (the rest), or plan anew.

Only an accepted program, unchanged since, steers. A plan must be predicted to end in the goal or subgoal; of one that was found the
first part may go alone (`./law execute --first 2`). Probes go without, each with its question; without an accepted program there is
an allowance for them (`./law budget`). One program plays every level.
"""

_FREE_LOOP = f"""\
1. `./law observe`; `./law probe 1 2 3 -m "what does each do?"` stops at the first surprise. Every action counts.
2. `./law execute 1 2 2` sends actions until one changes nothing (`--on`: all) or the level ends.
3. A model if you want one: `{ENGINE}`, `./law propose -m "why"`; `./law execute` plans in it and stops at a wrong
   prediction.
"""

_FIDELITY = f"""\
`{FIDELITY}` says in a line for every rule how the code keeps to it (`R3: step() ends the game on colour 1`).
"""

_CONTRACT = f"""\
## `{ENGINE}`

    initial_state(observation) -> state   # a mapping: frame (H x W uint8), level (from 0), available_actions
    step(state, action) -> state          # pure; action.id, for a click action.x (column), action.y (row)
    render(state) -> H x W uint8 array    # exactly what is seen once things have settled
    is_goal(state) -> bool                # this state completes the level
    is_over(state), actions(state), heuristic(state), key(state), plan(state)   # optional; clicks need actions: (id, x, y)

A state is small and hashable; no clock, chance or module state. It comes from a trajectory's first frame alone. Of the step that
completes a level only the status counts. Modules imported from here belong to it; numpy and `perception` (here too) exist.
"""

_BELIEF = f"""\
## What nobody can know

Do not guess what shows nowhere yet (fog, how long a bar lasts, what is drawn in front), and do not learn it by heart: number it in
`{RULEBOOK}` (`U1. What lies in the fog.`), leave it open in the program and cite `# U1`. You are held to all the rest.

    render(state) -> int16 array          # 0 to 255 is a claim, -k leaves a cell open under rule Uk
    is_goal(state), is_over(state)        # None: not known here
    update(state, observation) -> state   # optional, pure: after each step on which the level runs on, with the predicted state and
                                          # what was seen: frame, frames (the animation), level, available_actions, reward

- `initial_state` sees `frames` too, the animation that led here, and `earlier`, the attempts at this level before (each: actions,
  frames, statuses). Nothing else outlives a reset.
- The second replay goes without observations from some step on: what not looking makes unknown, leave open too.
- No way to a goal? `./law execute --frontier` goes to the nearest state whose is_goal is None, to see. After a step with something
  open the rest of a plan is rolled anew; one that no longer leads there ends as `changed`, and nothing is falsified.
- An action that changes cells of which none was claimed counts as a probe without a prediction: claim all you can.
"""

_COMMANDS = """\
## Commands (`./law execute --help` tells arguments)

{commands}

Action: its id, a click id@x,y (x: column), 1x4 is 1 four times. Place: T.S (step S of trajectory T), S, `start`, `now`. Cell:
row,column; its character is its code, 0-9, a = 10 to z = 35. A tile's letter stays for the run. With probe and execute: `--look`
(changed rows of the map), `--quiet`, `--json`, `--stop-if "changed outside rows 61-62"`, `--until "cell 3,4 is b"`. What you read
is what you cost. `./law observe`: `--objects` (shapes, click ids), `--map` (all seen of this level), `--animation`, `--since
0.0`, `--rows 0-7`, `--png now.png`. Exit codes: 0 done, 1 refused or not as predicted, 2 wrong use, 3 closed. MCP: `./law mcp`.
The end: the last level, the budget, or `./law finish -m "why"`.
"""


def build_guide(protocol: Protocol, *, members: int, asks_fidelity: bool) -> str:
    """GUIDE.md of a protocol. members: how many play together; asks_fidelity: the agent's answers per rule are asked for."""
    team = _TEAM.format(members=members) if members > 1 else ""
    believe = _RULEBOOK if protocol.needs_rulebook else _NO_RULEBOOK
    loop = _GATED_LOOP.format(believe=believe) if protocol.needs_hypothesis else _FREE_LOOP
    commands = "\n".join(f"    ./law {operation.name}: {operation.description}" for operation in OPERATIONS.values())
    fidelity = _FIDELITY if asks_fidelity and protocol.needs_hypothesis else ""
    belief = [_BELIEF] if protocol.allows_open else []
    return "\n".join([_HEAD + team, loop + fidelity, _CONTRACT, *belief, _COMMANDS.format(commands=commands)])


POINTER = """\
You drive an unknown world through ./law in this folder.
Read GUIDE.md; it is short, and all there is to read.
Nothing else explains the game.
"""
"""AGENTS.md and CLAUDE.md, which agents read by themselves."""

STUBS = {
    RULEBOOK: """\
# What I believe about this world

R1. Every cell has code 0. (A stub: `./law observe` shows that it is not so. Replace it by what you see.)
Q1. What does each action do?
Q2. What completes a level?
""",
    ENGINE: '''\
"""A stub that is wrong: it draws nothing. `./law verify` shows the first cell that differs; GUIDE.md has the contract."""

from typing import NamedTuple

import numpy as np


class State(NamedTuple):
    shape: tuple[int, int]


def initial_state(observation):
    return State(observation["frame"].shape)


def step(state, action):
    return state


def render(state):
    return np.zeros(state.shape, dtype=np.uint8)  # R1


def is_goal(state):
    return False
''',
    FIDELITY: """\
R1: render() fills the whole frame with 0 (a stub, like the rule)
""",
}
"""File -> what stands there before the agent writes its own."""
