"""The table of operations: one row each, from which commands, MCP tools and the guide's list are made."""

from __future__ import annotations

from lawbook.agents.api import actions, foresight, modelling, scratch, status, views
from lawbook.agents.api.notation import ACTION_NOTATION, PLACE_NOTATION
from lawbook.agents.api.operation import Argument, Operation
from lawbook.agents.api.stop_condition import CONDITION_NOTATION
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
    Argument("seconds", f"the search may take so long (to {foresight.MAX_COMMAND_SEARCH_SECONDS})", "number", flags=("--seconds",)),
    Argument("nodes", "and expand so many states", "number", flags=("--nodes",)),
)
_SENDING_ARGUMENTS = (
    Argument("until", f"stop when this holds after an action, as what was wanted: {CONDITION_NOTATION}", flags=("--until",)),
    Argument("stop_if", "stop when this holds, as what was not wanted; the same words", flags=("--stop-if",)),
    Argument("quiet", "no word of what changed", "flag", flags=("--quiet", "-q")),
    Argument("as_json", "the answer as JSON", "flag", flags=("--json",)),
    Argument(
        "look",
        "and the rows of tiles (of the map, where something hides) that changed since you last looked",
        "flag",
        flags=("--look",),
    ),
)

_OPERATION_LIST = (
    Operation(
        "brief",
        "state of play, rules, questions, last mismatch",
        status.show_brief,
        max_characters=5000,
    ),
    Operation("status", "where the run stands", status.show_status, max_characters=1500),
    Operation(
        "observe",
        "the board in the shortest form, or in the one named",
        views.observe,
        (
            Argument("place", f"which (default: now): {PLACE_NOTATION}"),
            Argument("at", "the same", flags=("--at",)),
            Argument("since", "only what changed since this place", flags=("--since",)),
            Argument("rows", "only these rows: 10-20", flags=("--rows",)),
            Argument("columns", "only these columns: 30-40", flags=("--columns",)),
            Argument(
                "tiles", "a character a tile of N x N cells (without N, or 0: found), with a legend", "size", flags=("--tiles",)
            ),
            Argument("board", "a character a cell", "flag", flags=("--board",)),
            Argument("runs", "rows as runs of equal cells: 5x6 1 bx2", "flag", flags=("--runs",)),
            Argument("starts", "with the column where each run begins: 0:5x6 6:1 7:bx2", "flag", flags=("--starts",)),
            Argument(
                "objects",
                "what hangs together in one colour: places, equal and turned shapes, click ids",
                "flag",
                flags=("--objects",),
            ),
            Argument("mixed", "objects of several colours: whatever touches", "flag", flags=("--mixed",)),
            Argument("animation", "what happened on the way there, as a time line", "flag", flags=("--animation",)),
            Argument("level_map", "all that was seen of this level, over every attempt", "flag", flags=("--map",)),
            Argument("legend", "every letter that a tile has", "flag", flags=("--legend",)),
            Argument("frame", "this animation frame, from 0", "number", flags=("--frame",)),
            Argument("png", "draw it into this file of your workspace", flags=("--png",)),
            Argument("as_json", "the cells as JSON", "flag", flags=("--json",)),
            Argument("file", "write it into this file of your workspace instead of printing it", flags=("--file",)),
        ),
        max_characters=9000,
    ),
    Operation(
        "record",
        "what was done: trajectories, steps, one cell",
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
        "hand your files to the gate",
        modelling.propose,
        (
            Argument(
                "decision", "what you decided (default: the one that fits what changed)", choices=tuple(d.value for d in Decision)
            ),
            Argument("message", "what was wrong, or why, in a sentence", flags=_MESSAGE_FLAGS),
        ),
        has_effects=True,
    ),
    Operation("verify", "try the files on the record; proposes nothing", modelling.verify),
    Operation("counterexample", "where the model was wrong last", views.show_counterexample),
    Operation(
        "simulate",
        "what your program says actions would show",
        foresight.simulate,
        (
            Argument("actions", ACTION_NOTATION, "words", required=True),
            Argument("at", f"from here instead of now: {PLACE_NOTATION}", flags=("--at",)),
            Argument("board", "print the last frame whole", "flag", flags=("--board",)),
        ),
    ),
    Operation(
        "plan",
        "the shortest way in the accepted program",
        foresight.plan,
        (
            _SUBGOAL_ARGUMENT,
            _QUESTION_ARGUMENT,
            *_SEARCH_LIMIT_ARGUMENTS,
            _FRONTIER_ARGUMENT,
            Argument("bare", "print the actions and nothing else", "flag", flags=("--bare",)),
            Argument("show", "and what each step is predicted to do", "flag", flags=("--show",)),
        ),
        max_characters=4000,
    ),
    Operation(
        "execute",
        "plan and send, or send the actions named",
        actions.execute,
        (
            Argument("actions", ACTION_NOTATION, "words"),
            _SUBGOAL_ARGUMENT,
            _QUESTION_ARGUMENT,
            *_SEARCH_LIMIT_ARGUMENTS,
            _FRONTIER_ARGUMENT,
            Argument("on", "without a model: go on after an action that changes nothing", "flag", flags=("--on",)),
            Argument("first", "only so many of its actions", "number", flags=("--first",)),
            Argument("resume", "the rest of the plan that was stopped last", "flag", flags=("--resume",)),
            Argument("show", "tell what each step is predicted to do, and send nothing", "flag", flags=("--show",)),
            *_SENDING_ARGUMENTS,
        ),
        has_effects=True,
    ),
    Operation(
        "probe",
        "send actions to learn something, until a surprise",
        actions.probe,
        (
            Argument("actions", ACTION_NOTATION, "words", required=True),
            Argument("message", "the question that they answer", flags=_MESSAGE_FLAGS),
            Argument("on", "an action that does otherwise than the last time is no reason to stop", "flag", flags=("--on",)),
            *_SENDING_ARGUMENTS,
        ),
        has_effects=True,
    ),
    Operation(
        "reset",
        "the level anew; costs an action",
        actions.reset,
        (
            Argument("message", "why", flags=_MESSAGE_FLAGS),
            Argument("whole", "even where that restarts the whole game", "flag", flags=("--whole",)),
            Argument("look", "and the rows of tiles that changed since you last looked", "flag", flags=("--look",)),
        ),
        has_effects=True,
    ),
    Operation(
        "history",
        "your proposals and what became of them",
        views.show_history,
        (Argument("number", "this proposal, from 1", "number"),),
        max_characters=4000,
    ),
    Operation(
        "diff",
        "your files against what was accepted",
        views.show_diff,
        (Argument("old", "version, from 1", "number"), Argument("new", "version (default: the last)", "number")),
    ),
    Operation(
        "restore",
        "an accepted version back into your workspace",
        views.restore,
        (Argument("version", "from 1 (default: the last)", "number"),),
        has_effects=True,
    ),
    Operation(
        "python",
        "run code over the record, with your program",
        scratch.run_python,
        (
            Argument("words", "a file of your workspace, or - for stdin", "words"),
            Argument("code", "the code itself", flags=("--code", "-c")),
            Argument("seconds", f"it may take so long (10; to {scratch.MAX_SCRIPT_SECONDS})", "number", flags=("--seconds",)),
            Argument("file", "write what it prints into this file of your workspace", flags=("--file",)),
        ),
        max_characters=9000,
        extra_help=f"{record_scripts.GUIDE}\n{scratch.SCRIPT_HELP}",
    ),
    Operation("budget", "actions, characters and minutes, spent and left", status.show_budget, max_characters=2000),
    Operation(
        "note",
        "keep a sentence for ./law brief",
        scratch.note,
        (Argument("words", "the sentence", "words", required=True),),
        has_effects=True,
    ),
    Operation(
        "finish",
        "end the run for good",
        scratch.finish,
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
