"""The table of operations: one row each, from which commands, MCP tools and the guide's list are made."""

from __future__ import annotations

from lawbook.agents.api import actions, status, views
from lawbook.agents.api.notation import ACTION_NOTATION, PLACE_NOTATION
from lawbook.agents.api.operation import Argument, Operation
from lawbook.core.hypothesis import Decision
from lawbook.runs import record_scripts

_MESSAGE_FLAGS = ("--message", "-m")
_SUBGOAL_ARGUMENT = Argument(
    "subgoal",
    "what to reach instead of the goal: an expression over `state`, or a file with def subgoal(state)",
    flags=("--subgoal",),
)
_FRONTIER_ARGUMENT = Argument(
    "frontier", "under belief: to the nearest state whose is_goal is None, to see", "flag", flags=("--frontier",)
)
_QUESTION_ARGUMENT = Argument("message", "the question that the subgoal answers", flags=_MESSAGE_FLAGS)
_SEARCH_LIMIT_ARGUMENTS = (
    Argument("seconds", f"the search may take so long (to {actions.MAX_COMMAND_SEARCH_SECONDS})", "number", flags=("--seconds",)),
    Argument("nodes", "and expand so many states", "number", flags=("--nodes",)),
)

_OPERATION_LIST = (
    Operation(
        "brief",
        "what a fresh agent needs: state of play, rules, questions, last mismatch, budget",
        status.show_brief,
        max_characters=5000,
    ),
    Operation("status", "where the run stands, in three lines", status.show_status, max_characters=1500),
    Operation(
        "observe",
        "a frame as a board, tiles, runs, objects, a crop, a difference, an animation or a picture",
        views.observe,
        (
            Argument("place", f"which (default: now): {PLACE_NOTATION}"),
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
        max_characters=9000,
    ),
    Operation(
        "record",
        "trajectories in a line each; or one step by step; or a question to the record",
        views.show_record,
        (
            Argument("trajectory", "only this one, from 0", "number"),
            Argument("cell", "when did this cell (row,column) change", flags=("--cell",)),
            Argument("still", "which actions changed nothing", "flag", flags=("--still",)),
            Argument("find", "where else was the frame of this place seen", flags=("--find",)),
            Argument("start", "leave out so many lines", "number", flags=("--start",)),
        ),
        max_characters=4000,
    ),
    Operation(
        "propose",
        "hand your files to the gate, which replays the whole record with them",
        actions.propose,
        (
            Argument("decision", "what you decided", required=True, choices=tuple(d.value for d in Decision)),
            Argument("message", "what was wrong, or why, in a sentence", flags=_MESSAGE_FLAGS),
        ),
        has_effects=True,
    ),
    Operation("verify", "try the files as they stand on the whole record; proposes nothing", actions.verify),
    Operation(
        "counterexample", "where the last proposal or prediction was wrong, and what really changed", views.show_counterexample
    ),
    Operation(
        "simulate",
        "what your program, as it stands, says these actions would show; on record, where it differs",
        actions.simulate,
        (
            Argument("actions", ACTION_NOTATION, "words", required=True),
            Argument("at", f"from here instead of now: {PLACE_NOTATION}", flags=("--at",)),
            Argument("board", "print the last frame whole", "flag", flags=("--board",)),
        ),
    ),
    Operation(
        "plan",
        "the shortest way in the accepted program to the goal, or to a subgoal",
        actions.plan,
        (
            _SUBGOAL_ARGUMENT,
            _QUESTION_ARGUMENT,
            *_SEARCH_LIMIT_ARGUMENTS,
            _FRONTIER_ARGUMENT,
            Argument("bare", "print the actions and nothing else", "flag", flags=("--bare",)),
        ),
        max_characters=4000,
    ),
    Operation(
        "execute",
        "send a plan until a prediction is wrong; without actions: plan first, then send that",
        actions.execute,
        (
            Argument("actions", ACTION_NOTATION, "words"),
            _SUBGOAL_ARGUMENT,
            _QUESTION_ARGUMENT,
            *_SEARCH_LIMIT_ARGUMENTS,
            _FRONTIER_ARGUMENT,
            Argument("on", "without a model: go on after an action that changes nothing", "flag", flags=("--on",)),
        ),
        has_effects=True,
    ),
    Operation(
        "probe",
        "send one action to learn something",
        actions.probe,
        (
            Argument("action", ACTION_NOTATION, required=True),
            Argument("message", "the question that it answers", flags=_MESSAGE_FLAGS, required=True),
        ),
        has_effects=True,
    ),
    Operation(
        "reset",
        "start the level anew; costs an action",
        actions.reset,
        (
            Argument("message", "why", flags=_MESSAGE_FLAGS, required=True),
            Argument("whole", "even where that restarts the whole game", "flag", flags=("--whole",)),
        ),
        has_effects=True,
    ),
    Operation(
        "history",
        "your proposals and what became of them; one of them whole",
        views.show_history,
        (Argument("number", "this proposal, from 1", "number"),),
        max_characters=4000,
    ),
    Operation(
        "diff",
        "your files against what was accepted last; or one accepted version against another",
        views.show_diff,
        (Argument("old", "version, from 1", "number"), Argument("new", "version (default: the last)", "number")),
    ),
    Operation(
        "restore",
        "put an accepted version back into your workspace",
        views.restore,
        (Argument("version", "from 1 (default: the last)", "number"),),
        has_effects=True,
    ),
    Operation(
        "python",
        "run code over the whole record in the sandbox: numpy, perception, frames as arrays; what it prints",
        actions.run_python,
        (
            Argument("words", "a file of your workspace, or - for stdin", "words"),
            Argument("code", "the code itself", flags=("--code", "-c")),
        ),
        max_characters=4000,
        extra_help=record_scripts.GUIDE,
    ),
    Operation("budget", "actions, characters, commands and minutes, spent and left", status.show_budget, max_characters=2000),
    Operation(
        "note",
        "keep a sentence for later; ./law brief shows the last ones",
        actions.note,
        (Argument("words", "the sentence", "words", required=True),),
        has_effects=True,
    ),
    Operation(
        "finish",
        "end the run for good",
        actions.finish,
        (Argument("message", "why", flags=_MESSAGE_FLAGS, required=True),),
        has_effects=True,
    ),
)

OPERATIONS = {row.name: row for row in _OPERATION_LIST}
"""By name, in the order in which they are listed."""


def format_operations() -> str:
    """Every operation with its usage, for the guide and for `./law help`."""
    return "\n".join(f"{operation.usage}\n    {operation.description}" for operation in _OPERATION_LIST)


def format_summary() -> str:
    """Every operation in one short line."""
    width = max(map(len, OPERATIONS))
    return "\n".join(f"{operation.name:<{width}}  {operation.description}" for operation in _OPERATION_LIST)
