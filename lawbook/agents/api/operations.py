"""The table of operations: one row each, from which commands, MCP tools and the guide's list are made."""

from __future__ import annotations

from lawbook.agents.api import actions, status, views
from lawbook.agents.api.notation import HOW_ACTIONS, HOW_PLACES
from lawbook.agents.api.operation import Argument, Operation
from lawbook.core.hypothesis import Decision
from lawbook.runs import record_scripts

_MESSAGE = ("--message", "-m")
_SUBGOAL = Argument(
    "subgoal",
    "what to reach instead of the goal: an expression over `state`, or a file with def subgoal(state)",
    flags=("--subgoal",),
)
_WHY = Argument("message", "the question that the subgoal answers", flags=_MESSAGE)
_MORE = (
    Argument("seconds", f"the search may take so long (to {actions.MOST_SECONDS})", "number", flags=("--seconds",)),
    Argument("nodes", "and expand so many states", "number", flags=("--nodes",)),
)

_ROWS = (
    Operation("brief", "what a fresh agent needs: state of play, rules, questions, last mismatch, budget", status.brief, most=5000),
    Operation("status", "where the run stands, in three lines", status.status, most=1500),
    Operation(
        "observe",
        "a frame as a board, tiles, runs, objects, a crop, a difference, an animation or a picture",
        views.observe,
        (
            Argument("place", f"which (default: now): {HOW_PLACES}"),
            Argument("since", "only what changed since this place", flags=("--since",)),
            Argument("rows", "only these rows: 10-20", flags=("--rows",)),
            Argument("columns", "only these columns: 30-40", flags=("--columns",)),
            Argument(
                "tiles", "a character a tile of N x N cells (without N, or 0: found), with a legend", "size", flags=("--tiles",)
            ),
            Argument("runs", "rows as runs of equal cells: 5x6 1 bx2", "flag", flags=("--runs",)),
            Argument("starts", "with the column where each run begins: 0:5x6 6:1 7:bx2", "flag", flags=("--starts",)),
            Argument("objects", "what hangs together in one colour", "flag", flags=("--objects",)),
            Argument("mixed", "objects of several colours: whatever touches", "flag", flags=("--mixed",)),
            Argument("animation", "what moved on the way there", "flag", flags=("--animation",)),
            Argument("frame", "this animation frame, from 0", "number", flags=("--frame",)),
            Argument("png", "draw it into this file of your workspace", flags=("--png",)),
        ),
        most=9000,
    ),
    Operation(
        "record",
        "trajectories in a line each; or one step by step; or a question to the record",
        views.record,
        (
            Argument("trajectory", "only this one, from 0", "number"),
            Argument("cell", "when did this cell (row,column) change", flags=("--cell",)),
            Argument("still", "which actions changed nothing", "flag", flags=("--still",)),
            Argument("find", "where else was the frame of this place seen", flags=("--find",)),
            Argument("start", "leave out so many lines", "number", flags=("--start",)),
        ),
        most=4000,
    ),
    Operation(
        "propose",
        "hand your files to the gate, which replays the whole record with them",
        actions.propose,
        (
            Argument("decision", "what you decided", required=True, choices=tuple(d.value for d in Decision)),
            Argument("message", "what was wrong, or why, in a sentence", flags=_MESSAGE),
        ),
        acts=True,
    ),
    Operation("verify", "try the files as they stand on the whole record; proposes nothing", actions.verify),
    Operation("counterexample", "where the last proposal or prediction was wrong, and what really changed", views.counterexample),
    Operation(
        "simulate",
        "what your program, as it stands, says these actions would show; on record, where it differs",
        actions.simulate,
        (
            Argument("actions", HOW_ACTIONS, "words", required=True),
            Argument("at", f"from here instead of now: {HOW_PLACES}", flags=("--at",)),
            Argument("board", "print the last frame whole", "flag", flags=("--board",)),
        ),
    ),
    Operation(
        "plan",
        "the shortest way in the accepted program to the goal, or to a subgoal",
        actions.plan,
        (_SUBGOAL, _WHY, *_MORE, Argument("bare", "print the actions and nothing else", "flag", flags=("--bare",))),
        most=4000,
    ),
    Operation(
        "execute",
        "send a plan until a prediction is wrong; without actions: plan first, then send that",
        actions.execute,
        (
            Argument("actions", HOW_ACTIONS, "words"),
            _SUBGOAL,
            _WHY,
            *_MORE,
            Argument("on", "without a model: go on after an action that changes nothing", "flag", flags=("--on",)),
        ),
        acts=True,
    ),
    Operation(
        "probe",
        "send one action to learn something",
        actions.probe,
        (
            Argument("action", HOW_ACTIONS, required=True),
            Argument("message", "the question that it answers", flags=_MESSAGE, required=True),
        ),
        acts=True,
    ),
    Operation(
        "reset",
        "start the level anew; costs an action",
        actions.reset,
        (
            Argument("message", "why", flags=_MESSAGE, required=True),
            Argument("whole", "even where that restarts the whole game", "flag", flags=("--whole",)),
        ),
        acts=True,
    ),
    Operation(
        "history",
        "your proposals and what became of them; one of them whole",
        views.history,
        (Argument("number", "this proposal, from 1", "number"),),
        most=4000,
    ),
    Operation(
        "diff",
        "your files against what was accepted last; or one accepted version against another",
        views.diff,
        (Argument("old", "version, from 1", "number"), Argument("new", "version (default: the last)", "number")),
    ),
    Operation(
        "restore",
        "put an accepted version back into your workspace",
        views.restore,
        (Argument("version", "from 1 (default: the last)", "number"),),
        acts=True,
    ),
    Operation(
        "python",
        "run code over the whole record in the sandbox: numpy, perception, frames as arrays; what it prints",
        actions.python,
        (
            Argument("words", "a file of your workspace, or - for stdin", "words"),
            Argument("code", "the code itself", flags=("--code", "-c")),
        ),
        most=4000,
        more=record_scripts.GUIDE,
    ),
    Operation("budget", "actions, characters, commands and minutes, spent and left", status.budget, most=2000),
    Operation(
        "note",
        "keep a sentence for later; ./law brief shows the last ones",
        actions.note,
        (Argument("words", "the sentence", "words", required=True),),
        acts=True,
    ),
    Operation(
        "finish",
        "end the run for good",
        actions.finish,
        (Argument("message", "why", flags=_MESSAGE, required=True),),
        acts=True,
    ),
)

OPERATIONS = {row.name: row for row in _ROWS}
"""By name, in the order in which they are listed."""


def listed() -> str:
    """Every operation with its usage, for the guide and for `./law help`."""
    return "\n".join(f"{row.usage}\n    {row.about}" for row in _ROWS)


def summary() -> str:
    """Every operation in one short line."""
    width = max(map(len, OPERATIONS))
    return "\n".join(f"{row.name:<{width}}  {row.about}" for row in _ROWS)
