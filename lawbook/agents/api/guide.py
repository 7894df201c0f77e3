"""What an agent reads in its workspace: GUIDE.md, the stubs of rulebook, program and answers. Made from the table of operations."""

from __future__ import annotations

from lawbook.agents.api.operations import OPERATIONS
from lawbook.agents.api.workspace import FIDELITY
from lawbook.core.hypothesis import ENGINE, RULEBOOK
from lawbook.protocols.protocol import Protocol

MAX_LINES = 120

_HEAD = """\
# You drive an unknown world

Somewhere behind `./law` is a world: a grid of small numbers, a few actions, levels to complete. Nobody tells you its rules.
Find them out, write them down, and complete the levels in as few actions as you can. Begin with `./law brief`.
"""

_TEAM = """\

You are one of {members} members: one world, one record, one budget, a model each. What the others send, and what comes back, is
told in front of your next answer; their actions are evidence for your model too. Keep yours different.
"""

_LOOK = """\
## The loop

1. Look: `./law observe --tiles`, `./law observe --objects`, or `./law observe`. Learn what actions do:
   `./law probe 1 -m "what does action 1 do?"`. Each costs one of your budget.
"""

_RULEBOOK = f"""\
2. Write what you believe into `{RULEBOOK}`: numbered rules (`R1. ...`), open questions (`Q1. ...`), each beginning a line.
3. Compile the rulebook into `{ENGINE}`, citing rules in comments (`# R3`).
4. `./law verify` replays the whole record with it. One wrong cell is a counterexample: mend, verify again. It costs nothing.
5. `./law propose revise_rulebook -m "first rules"` hands it to the gate. Decisions: `revise_rulebook` (the rules changed),
   `repair_code` (only the code was wrong), `retain` (nothing changes), `simplify` (shorter, and still exact).
"""

_NO_RULEBOOK = f"""\
2. Write what you believe as a program: `{ENGINE}`.
3. Comment it for yourself; there is no rulebook here.
4. `./law verify` replays the whole record with it. One wrong cell is a counterexample: mend, verify again. It costs nothing.
5. `./law propose repair_code -m "first program"` hands it to the gate. Other decisions: `retain` (nothing changes), `simplify`
   (shorter, and still exact).
"""

_PLAN = """\
6. `./law plan` searches your accepted program for the shortest way to the goal; `./law execute` sends it. No way known yet?
   Name what to reach first: `./law execute --subgoal "state.row == 3" -m "what is there?"`, or probe. A search that was cut can
   have more: `./law plan --seconds 120 --nodes 2000000`; then send its actions, `./law execute 1x4 2`.
7. A wrong prediction stops the plan and falsifies the model: `./law counterexample`, then decide what was wrong, and go on at 2.
   After a completed level: does your model still say everything? The same program has to start the next level too.
"""

_NO_MODEL_HEAD = """\

Four commands are enough: `./law observe --tiles` (look), `./law probe 1 -m "what does it do?"` (one action), `./law execute 1 2 2`
(several), `./law reset -m "stuck"` (the level anew; costs an action). All the rest saves you reading, or mistakes.
"""

_NO_MODEL_LOOP = f"""\
2. Think: `./law python look.py` runs a file of yours over everything seen so far (what it finds: below), to count, measure and
   search instead of by eye.
3. Act: `./law execute 1 2 2` sends actions one after the other, until one changes nothing (`--on`: whatever comes), and stops at
   the end of a level. Then look, and go on at 2.
4. No model is asked of you here. If you want one: write `{ENGINE}`, `./law verify`,
   `./law propose repair_code -m "why"`; then `./law plan` searches it for the shortest way, and `./law execute` stops at the
   first prediction that is wrong.
"""

_GATE = """\
## The gate

- Nothing but an accepted program steers. `./law execute` refuses while none is accepted, or while your files differ from it.
- A plan must be predicted to end in the goal, or in the subgoal that you name. Only `./law probe` goes without, one action at a
  time, each with its question; while you have no accepted program there is an allowance for that (`./law budget`).
- The gate decides by replay, never by argument. Everything you do is on record; the record cannot be edited.
"""

_FIDELITY = f"""\
- The program must do what the rulebook says: every rule cited by code, no citation without a rule, and for every rule a line in
  `{FIDELITY}` that says where and how the code keeps to it (`R3: step() ends the game on colour 1, line 40`). Compare, then write.
"""

_CONTRACT = f"""\
## The contract of `{ENGINE}`

    initial_state(observation) -> state   # a mapping: frame (H x W uint8 array), level (from 0), available_actions (ids)
    step(state, action) -> state          # pure and deterministic; action.id, and action.x (column), action.y (row) of a click
    render(state) -> H x W uint8 array    # exactly what is seen once things have settled
    is_goal(state) -> bool                # this state completes the level
    is_over(state) -> bool                # optional: the level is lost here
    actions(state) -> actions             # optional: what a search should try; needed for clicks: (id, x, y) each
    heuristic(state) -> int, key(state)   # optional: for larger searches
    plan(state) -> actions                # optional: a search of your own

- A state is a small hashable value (tuple, NamedTuple); put what never changes into bytes. No clock, no chance, no module state.
- It is given the first frame of a trajectory, once, and never what followed. Initialise from what is seen, not from the level.
- On the step that completes a level only the status is compared: the frame shows the next level already.
- Modules of your own beside it belong to the program when it imports them at the start of a line. numpy is there, and so is
  `perception`: `objects(frame)`, `components`, `changes(before, after)`, `clicks(frame)`; `perception.py` says what they give.
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
## The commands

{commands}

`./law observe --help` tells a command's arguments. An action is its id; a click is id@x,y; 1x4 is action 1 four times.
A cell's character is its code: 0 to 9, then a for 10 to z for 35. In a change (`.5 -> .a`) a `.` is a cell that stayed as it was.
The same operations are MCP tools: `./law mcp`, on stdio.
"""

_ECONOMY = """\
## Economy

What you read is what you cost; `./law budget` counts it. Every answer is cut at a size and says what it cut.

- Differences first: acting shows only what changed. `./law observe --since 0.0` compares any two moments; places are `T.S`
  (after step S of trajectory T), `S` (of the present trajectory), `start` or `now`.
- Do not count characters in long rows. `./law observe --tiles`: one character a tile (size found, or `./law observe --tiles 4`);
  `./law observe --runs --starts`: rows as runs of equal cells, with the column where each begins.
- Look at a part: `./law observe --rows 0-7 --columns 0-15`, `./law observe --objects`, `./law observe --mixed` (colours that touch
  are one object), `./law observe --animation`. `./law observe --png now.png` draws a picture.
- Ask the record, not your memory: `./law record --still` (which actions changed nothing), `./law record --cell 0,1` (when did it
  change), `./law record --find now` (where was this frame seen), `./law record 0` (step by step).
- Compute: `./law python -c "print(len(record), frames.shape)"` runs code over the whole record in the sandbox. It finds `record`,
  a list of trajectories (each with `.frames`, `.actions`, `.statuses`, `.animation(k)`), `frames` and `actions` of the present
  one, `np` and `perception`; `./law python --help` tells all. A file: `./law python look.py`; from stdin: `./law python -`.
- Try before you propose: `./law simulate 1 2 --at 0.0` says what your program, as it stands, makes of actions on record.
- Write down what you want to find again: `./law note "..."`; `./law brief` is what you, or whoever follows you, starts from.
"""

_END = """\
## The end

The run ends when the last level is completed, when the budget is spent, or with `./law finish -m "why"`; every command says so.
A command's exit code: 0 done; 1 refused, or not as predicted; 2 wrong use; 3 nobody is behind the door any more.
A line `A person says: ...` in front of an answer is from whoever watches you.
"""


def build_guide(protocol: Protocol, *, members: int, asks_fidelity: bool) -> str:
    """GUIDE.md of a protocol. members: how many play together; asks_fidelity: the agent's answers per rule are asked for."""
    team = _TEAM.format(members=members) if members > 1 else ""
    gate = _GATE + (_FIDELITY if asks_fidelity else "") if protocol.needs_hypothesis else ""
    loop = _LOOK + (
        (_RULEBOOK if protocol.needs_rulebook else _NO_RULEBOOK) + _PLAN if protocol.needs_hypothesis else _NO_MODEL_LOOP
    )
    width = max(map(len, OPERATIONS))
    commands = "\n".join(f"    ./law {operation.name:<{width}}  {operation.description}" for operation in OPERATIONS.values())
    parts = [
        _HEAD + team + ("" if protocol.needs_hypothesis else _NO_MODEL_HEAD),
        loop,
        gate,
        _CONTRACT,
        _BELIEF if protocol.allows_open else "",
        _COMMANDS.format(commands=commands),
        _ECONOMY,
        _END,
    ]
    return "\n".join(part for part in parts if part)


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
