"""Looking ahead in a program: what actions would show, ways to a goal, and why a plan does not get there. Nothing is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lawbook.agents.api.context import CommandContext
from lawbook.agents.api.memory import KnownPlan
from lawbook.agents.api.notation import format_actions, format_numbers, parse_actions, parse_place
from lawbook.agents.api.operation import REFUSED, CommandResult
from lawbook.agents.api.workspace import find_changed_files
from lawbook.core import frame_text
from lawbook.core.event_text import format_changes
from lawbook.core.record import Action, Observation, Status
from lawbook.core.results import Limits, NoPlan, Plan, Prediction, ProgramError, Subgoal
from lawbook.errors import RefusedError, UsageError
from lawbook.planning.planner import find_plan, roll
from lawbook.verification.open_cells import fill_open_cells, format_openness

MAX_SIMULATED_ACTIONS = 200
"""Actions of one simulation."""
MAX_COMMAND_SEARCH_SECONDS = 500
"""Of a search: nobody else is answered meanwhile, and an MCP client waits 600."""
MAX_SHOWN_STEPS = 60
"""Steps of a plan that are shown before it is sent."""
FURTHER_LIMITS = Limits(nodes=20_000, seconds=3.0)
"""Of the search for what a plan lacks."""
ANYWHERE = "def subgoal(state):\n    return True\n"
"""A subgoal that holds of every state: for the beginning of a way that was found, and its single steps."""


def simulate(context: CommandContext, actions: Sequence[str], at: str = "now", board: bool = False) -> str:
    """What the workspace's program says these actions would show. Nothing is sent. Where they are on record, what differs."""
    session = context.session
    trajectory, step = parse_place(at, session.record)
    chosen_actions = parse_actions(actions)
    if len(chosen_actions) > MAX_SIMULATED_ACTIONS:
        raise UsageError(f"{len(chosen_actions):,} actions are too many to look at; simulate at most {MAX_SIMULATED_ACTIONS}.")
    recorded = session.record.trajectories[trajectory]
    program = context.load_drafted_program()
    rollout = roll(program, session.get_prefix(trajectory, step), chosen_actions)
    if isinstance(rollout, ProgramError):
        raise RefusedError(f"The program fails on those actions: {rollout.reason}")
    predictions, recorded_actions = rollout[0], [action for action, _ in recorded.steps[step : step + len(chosen_actions)]]
    before, lines = recorded.get_frame(step), []
    for k, (action, prediction) in enumerate(zip(chosen_actions, predictions, strict=True), 1):
        shown, openness = fill_open_cells(prediction, before), format_openness(prediction)
        changes = format_changes(before, shown, context.memory.letters.find_letter)
        line = f"+{k} action {action}, {prediction.status}{f' [{openness}]' if openness else ''}: {changes}"
        if k <= len(recorded_actions) and recorded_actions[:k] == list(chosen_actions[:k]):
            observation = recorded.steps[step + k - 1][1]
            if observation.status is Status.COMPLETED:
                difference = "" if prediction.allows(observation.status) else f"on record it is {observation.status}"
            else:
                status_difference = "" if prediction.allows(observation.status) else f"{observation.status}; "
                claimed = fill_open_cells(prediction, observation.frame)
                difference = status_difference + frame_text.format_difference(claimed, observation.frame)
                difference = "" if difference == "nothing changed" else f"predicted -> on record: {difference}"
            line += f"\n  {difference or 'as on record'}"
        lines.append(line)
        before = shown
    if board and predictions:
        lines.append(frame_text.format_board(before))
    return "\n".join(lines)


def plan(
    context: CommandContext,
    subgoal: str | None = None,
    message: str = "",
    seconds: int | None = None,
    nodes: int | None = None,
    bare: bool = False,
    show: bool = False,
    frontier: bool = False,
) -> str | CommandResult:
    """The shortest way in the accepted program, within the budget, to the goal, to a subgoal, or to what it leaves open (frontier).
    show: and what each step does."""
    require_proposed(context)
    target = make_subgoal(subgoal, message, context)
    result = find_way(context, target, seconds, nodes, frontier)
    if isinstance(result, NoPlan):
        return CommandResult(
            f"no plan: {result.reason} {suggest_search_limit(result)}Name a --subgoal, probe, or mend the model.", REFUSED
        )
    if not result.actions:
        return CommandResult("Nothing to do: it holds already, says the program.", REFUSED)
    if bare:
        return format_actions(result.actions, 100_000)
    quality = "shortest" if result.certified else f"found by {result.method}" + (f", cut by {result.cut}" if result.cut else "")
    text = f"{len(result.actions)} actions ({quality}; {result.nodes:,} states): {format_actions(result.actions, 2000)}"
    return f"{text}\n{format_predicted_steps(context, result.actions, result.predictions)}" if show else text


def find_way(
    context: CommandContext, target: Subgoal | None, seconds: int | None, nodes: int | None, frontier: bool = False
) -> Plan | NoPlan:
    """Search, and remember the way that was found: the beginning of it may be sent, too."""
    session, member = context.session, context.member_state
    result = session.plan(context.member, target, _make_limits(context, seconds, nodes), frontier=frontier)
    if isinstance(result, Plan) and result.actions:
        context.memory.known_plan = KnownPlan(session.state.n_actions, member.version, target, result.actions)
    return result


def is_beginning(context: CommandContext, actions: Sequence[Action], target: Subgoal | None) -> bool:
    """Whether these actions begin the way that was found last, from here, by the program that stands, to the same place."""
    known, session = context.memory.known_plan, context.session
    return (
        known is not None
        and context.member_state.admissible
        and (known.n_actions, known.version) == (session.state.n_actions, context.member_state.version)
        and (target is None or target == known.target)
        and 0 < len(actions) < len(known.actions)
        and known.actions[: len(actions)] == tuple(actions)
    )


def make_beginning(context: CommandContext, n_actions: int) -> Subgoal:
    """What the beginning of a known way leads to: the place on it that its actions lead to, whatever that is."""
    known = context.memory.known_plan
    assert known is not None
    target = "the goal" if known.target is None else known.target.question
    return Subgoal(ANYWHERE, f"the first {n_actions} of {len(known.actions)} actions to: {target}")


def _make_limits(context: CommandContext, seconds: int | None, nodes: int | None) -> Limits:
    """Those of the run's searches, or what was asked for instead. The session sees to the rest."""
    limits = context.session.limits
    if seconds is not None and not 0 < seconds <= MAX_COMMAND_SEARCH_SECONDS:
        raise UsageError(f"A search may take 1 to {MAX_COMMAND_SEARCH_SECONDS} seconds.")
    if seconds is not None:
        limits = replace(limits, seconds=float(seconds))
    return limits if nodes is None else replace(limits, nodes=nodes)


def suggest_search_limit(no_plan: NoPlan) -> str:
    """What to do where a search was cut by a limit that can be raised; else an empty string."""
    return {
        "seconds": f"Give it more by --seconds (to {MAX_COMMAND_SEARCH_SECONDS}), or write a heuristic(state). ",
        "nodes": "Give it more by --nodes and --seconds, or write a heuristic(state). ",
    }.get(no_plan.cut or "", "")


# -- what a plan leads to --------------------------------------------------------------------------------------------------------


def format_predicted_steps(context: CommandContext, actions: Sequence[Action], predictions: Sequence[Prediction]) -> str:
    """What each step of a plan is predicted to do, one line each."""
    before, lines = context.session.get_observation().frame, []
    for k, (action, prediction) in enumerate(zip(actions, predictions, strict=False), 1):
        status = "" if prediction.status is Status.RUNNING else f" {prediction.status}"
        shown, openness = fill_open_cells(prediction, before), format_openness(prediction)
        if k <= MAX_SHOWN_STEPS:
            changes = format_changes(before, shown, context.memory.letters.find_letter)
            lines.append(f"{k} (action {action}){status}{f' [{openness}]' if openness else ''}: {changes}")
        before = shown
    return "\n".join(lines + ([f"(and {len(actions) - MAX_SHOWN_STEPS} more)"] if len(actions) > MAX_SHOWN_STEPS else []))


def roll_accepted(
    context: CommandContext, actions: Sequence[Action], target: Subgoal | None
) -> tuple[tuple[Prediction, ...], bool | None]:
    """What the accepted program makes of actions from here: predictions, and whether they end where they should. Raises
    RefusedError."""
    hypothesis = context.member_state.hypothesis
    if hypothesis is None:
        raise RefusedError("There is no accepted program to ask; propose one that verifies.")
    if context.session.record.current.is_closed:
        raise RefusedError("The level is over, so nothing follows from here; ./law reset starts it anew.")
    program = context.load_program(hypothesis)
    rollout = roll(program, context.session.record.current, actions, target.source if target else None)
    if isinstance(rollout, ProgramError):
        raise RefusedError(f"The program fails on those actions: {rollout.reason}")
    return rollout


def explain_shortfall(context: CommandContext, actions: Sequence[Action], target: Subgoal | None) -> str:
    """Why a plan does not end where it should, and how far that is: which of its actions change nothing, where it ends the level,
    and what leads on from its end."""
    try:
        predictions, holds = roll_accepted(context, actions, target)
    except RefusedError:
        return ""
    session = context.session
    before, idle = session.get_observation().frame, []
    for k, prediction in enumerate(predictions, 1):
        shown = fill_open_cells(prediction, before)
        if prediction.is_whole and prediction.status is Status.RUNNING and (shown == before).all():
            idle.append(k)
        before = shown
    parts = []
    if idle:
        parts.append(f"of its {len(actions)} actions {format_numbers(idle)} change{'s' if len(idle) == 1 else ''} nothing")
    is_running = all(prediction.status is Status.RUNNING for prediction in predictions)
    if is_running and not holds:
        parts.append(_describe_rest(context, actions, predictions, target))
    return f" ({'; '.join(filter(None, parts))}.)" if any(parts) else ""


def _describe_rest(
    context: CommandContext, actions: Sequence[Action], predictions: Sequence[Prediction], target: Subgoal | None
) -> str:
    """What is missing behind the last action of a plan."""
    session, hypothesis = context.session, context.member_state.hypothesis
    prefix, last = session.get_prefix(), session.get_observation()
    for action, prediction in zip(actions, predictions, strict=True):
        prefix.append(action, Observation((prediction.frame,), prediction.status, last.level, last.available))
    if hypothesis is None or not all(prediction.is_whole for prediction in predictions):
        return ""
    program = context.load_program(hypothesis)
    limits = replace(FURTHER_LIMITS, depth=max(1, session.actions_left))
    rest = find_plan(program, prefix, limits, target.source if target else None, session.world.spec.clicks)
    if isinstance(rest, Plan):
        return f"after its last action {len(rest.actions)} more lead there: {format_actions(rest.actions, 200)}"
    return f"and from its end there is no way: {rest.reason.rstrip('.')}" if isinstance(rest, NoPlan) else ""


def make_subgoal_source(text: str, context: CommandContext) -> str:
    """Source of `def subgoal(state)`: as given, out of a file of the workspace, or made of an expression over `state`."""
    if "def subgoal" in text:
        return text
    if text.endswith(".py") and context.workspace.has(text):
        return context.workspace.read(text, 100_000)
    if "\n" in text or "state" not in text:
        raise UsageError("A subgoal is an expression over `state`, a file of your workspace, or the source of def subgoal(state).")
    return f"def subgoal(state):\n    return bool({text})\n"


def make_subgoal(text: str | None, message: str, context: CommandContext) -> Subgoal | None:
    if text is None:
        return None
    return Subgoal(make_subgoal_source(text, context), message or text[:200])


def require_proposed(context: CommandContext) -> None:
    """Raise RefusedError where the protocol needs a hypothesis and the workspace holds another than the accepted one."""
    refusal = describe_unproposed_changes(context)
    if refusal:
        raise RefusedError(refusal)


def describe_unproposed_changes(context: CommandContext) -> str | None:
    """Why the gate refuses a plan although the program in memory would do: what stands in the workspace is something else."""
    session, accepted = context.session, context.member_state.hypothesis
    if not session.protocol.needs_hypothesis or accepted is None or not context.member_state.admissible:
        return None  # the session refuses by itself, or asks for no hypothesis
    try:
        changed = find_changed_files(accepted, context.read_hypothesis())
    except RefusedError as error:
        return (
            f"{error} What was accepted as version {context.member_state.version} is not what stands there: ./law "
            "restore, or mend and propose."
        )
    if changed:
        return (
            f"{', '.join(changed)} changed since version {context.member_state.version} was accepted; ./law propose it first, "
            "or ./law restore what was accepted."
        )
    return None
