"""The acting half of a door: what sends actions. Every one of these ends in an operation of Session, which decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from lawbook.agents.api.change_detection import describe_unchanged
from lawbook.agents.api.context import CommandContext
from lawbook.agents.api.foresight import (
    ANYWHERE,
    explain_shortfall,
    find_way,
    format_predicted_steps,
    is_beginning,
    make_beginning,
    make_subgoal,
    require_proposed,
    roll_accepted,
    suggest_search_limit,
)
from lawbook.agents.api.memory import StoppedPlan
from lawbook.agents.api.notation import format_actions, parse_actions
from lawbook.agents.api.operation import OK, REFUSED, CommandResult
from lawbook.agents.api.outcome import Sent, Shown, describe_remaining, describe_sent, is_unusual
from lawbook.agents.api.sight import look_after
from lawbook.agents.api.status import format_reason
from lawbook.agents.api.stop_condition import parse_condition
from lawbook.core.event_text import format_changes
from lawbook.core.record import Action, Status
from lawbook.core.results import ExecutionResult, NoPlan, Subgoal
from lawbook.errors import RefusedError, UsageError
from lawbook.protocols import gate
from lawbook.worlds.world import explain_refusal

MAX_PROBES = 50
"""Actions of one command that probes."""
NO_REASON, AS_ASKED = "no reason given", "stopped as asked"


class Stop(NamedTuple):
    """Why to stop after an action, with its number for `{}`; is_wanted: it is what was waited for."""

    reason: str
    is_wanted: bool = False


StopCheck = Callable[[], Stop | None]
"""Asked after each action that was sent: whether to stop there."""


# -- plans -----------------------------------------------------------------------------------------------------------------------


def execute(
    context: CommandContext,
    actions: Sequence[str] = (),
    subgoal: str | None = None,
    message: str = "",
    seconds: int | None = None,
    nodes: int | None = None,
    on: bool = False,
    first: int | None = None,
    resume: bool = False,
    show: bool = False,
    until: str | None = None,
    stop_if: str | None = None,
    quiet: bool = False,
    as_json: bool = False,
    look: bool = False,
    frontier: bool = False,
) -> CommandResult:
    """Send a plan; without actions, plan first and send that. Every action is predicted on disk before it is sent.

    Where no model foresees anything, the first action that changes nothing stops the rest, unless `on`. first: only so many of its
    actions. resume: the rest of the plan that was stopped last. show: say what it would do, and send nothing. until, stop_if:
    conditions to stop at, as what was wanted, or as what was not.
    """
    require_proposed(context)
    chosen_actions, target, is_planned = _choose_plan(context, actions, subgoal, message, seconds, nodes, resume, frontier)
    conditions = _make_stop_check(context, until, stop_if, on or context.member_state.admissible or bool(until))
    if first is not None:
        if not 0 < first <= len(chosen_actions):
            raise UsageError(f"--first is 1 to {len(chosen_actions)}, the actions of this plan.")
        chosen_actions = chosen_actions[:first]
    if is_beginning(context, chosen_actions, target):
        target = make_beginning(context, len(chosen_actions))
    if show:
        return _show_plan(context, chosen_actions, target)
    session, member = context.session, context.member_state
    n_before, trajectory, step = session.state.n_actions, len(session.record) - 1, len(session.record.current)
    before = session.get_observation()
    is_stepwise = conditions is not None and len(chosen_actions) > 1
    try:
        if is_stepwise:
            assert conditions is not None
            execution = _execute_one_by_one(context, chosen_actions, target, conditions)
        else:
            execution = session.execute(chosen_actions, target, context.member)
    except RefusedError as error:
        if member.admissible and "is not predicted to end" in str(error):
            raise RefusedError(f"{error}{explain_shortfall(context, chosen_actions, target)}") from error
        raise
    n_sent = session.state.n_actions - n_before
    rest = chosen_actions[n_sent:]
    if rest and not session.outcome and session.protocol.needs_hypothesis:
        context.memory.stopped_plan = StoppedPlan(target, rest)
    summary = f"sent {n_sent} of {len(chosen_actions)} actions"
    if rest or is_planned:
        summary += f": {format_actions(chosen_actions[:n_sent], 400) or 'none'}"
    notes = ["the rest: ./law execute --resume, once the model is mended"] if rest and execution.falsified else []
    sent = Sent(trajectory, step, n_sent, len(chosen_actions), before, execution)
    text = describe_sent(context, sent, Shown(quiet, as_json, look), notes)
    return CommandResult(
        text if as_json or not (rest or is_planned) else f"{summary}\n{text}",
        _choose_exit_code(context, execution, not rest or execution.halt_reason.startswith(AS_ASKED)),
    )


def _choose_plan(
    context: CommandContext,
    actions: Sequence[str],
    subgoal: str | None,
    message: str,
    seconds: int | None,
    nodes: int | None,
    resume: bool,
    frontier: bool,
) -> tuple[tuple[Action, ...], Subgoal | None, bool]:
    """(the actions to send, where they are to end, whether they were not named but found)."""
    target, named_actions = make_subgoal(subgoal, message, context), parse_actions(actions)
    if resume:
        stopped = context.memory.stopped_plan
        if named_actions:
            raise UsageError("--resume sends the rest of the stopped plan; leave the actions out.")
        if stopped is None:
            raise RefusedError("No plan was stopped here since the door was opened; name the actions, or plan.")
        return stopped.actions, target or stopped.target, True
    if named_actions:
        if frontier:
            raise UsageError("Actions or --frontier: give one of the two; with --frontier the way is searched for.")
        return named_actions, target, False
    if not context.member_state.admissible:
        raise RefusedError("There is no admissible program to plan in; name the actions, or propose one that verifies.")
    result = find_way(context, target, seconds, nodes, frontier)
    if isinstance(result, NoPlan):
        raise RefusedError(
            f"There is no plan to execute: {result.reason} {suggest_search_limit(result)}Name a --subgoal, or probe."
        )
    return result.actions, target, True


def _show_plan(context: CommandContext, actions: tuple[Action, ...], target: Subgoal | None) -> CommandResult:
    if not context.member_state.admissible:
        raise RefusedError("--show tells what an accepted program predicts, and there is none; leave it out, or propose.")
    predictions, holds = roll_accepted(context, actions, target)
    refusal = gate.explain_end_refusal(
        context.session.protocol, predictions, holds, "the named subgoal" if target else "the goal", target is None
    )
    lines = [
        f"{len(actions)} actions, nothing sent: {format_actions(actions)}",
        format_predicted_steps(context, actions, predictions),
    ]
    if refusal and context.session.protocol.needs_hypothesis:
        return CommandResult("\n".join([*lines, f"{refusal}{explain_shortfall(context, actions, target)}"]), REFUSED)
    return CommandResult("\n".join(lines))


def _make_stop_check(context: CommandContext, until: str | None, stop_if: str | None, goes_on: bool) -> StopCheck | None:
    """What is asked after each action; None where nothing is. goes_on: an action that changes nothing is no reason to stop."""
    wanted, unwanted = (None if text is None else parse_condition(text) for text in (until, stop_if))
    stops_when_unchanged = not goes_on and not context.session.protocol.needs_hypothesis
    if wanted is None and unwanted is None and not stops_when_unchanged:
        return None

    def check() -> Stop | None:
        record = context.session.record
        frames = record.current.settled_frames[-2:]
        for condition, is_wanted in ((wanted, True), (unwanted, False)):
            if condition is None or len(frames) < 2:
                continue
            if condition.holds(frames[0], frames[1], condition.kind == "unusual" and is_unusual(record)):
                return Stop(str(condition), is_wanted)
        unchanged = describe_unchanged(record) if stops_when_unchanged else ""
        return Stop(f"action {{}} changed {unchanged} (--on sends all)") if unchanged else None

    return check


def _execute_one_by_one(
    context: CommandContext, actions: tuple[Action, ...], target: Subgoal | None, check: StopCheck
) -> ExecutionResult:
    """Send them until a check says stop, or until what a plan ends with. Refused as one, before anything is sent."""
    session = context.session
    refusal = gate.explain_length_refusal(len(actions), session.actions_left)
    for k, action in enumerate(actions):
        refusal = refusal or explain_refusal(session.world.spec, session.get_observation(), action, check_availability=k == 0)
    is_gated = session.protocol.needs_hypothesis
    if is_gated and not refusal:
        refusal = gate.explain_plan_refusal(session.protocol, context.member_state.admissible)
    if is_gated and not refusal:
        predictions, holds = roll_accepted(context, actions, target)
        aim = "the named subgoal" if target else "the goal"
        refusal = gate.explain_end_refusal(session.protocol, predictions, holds, aim, target is None)
    if refusal:
        raise RefusedError(refusal)
    question = f"a step of {len(actions)} to: {target.question if target else 'the goal'}"
    waypoint = Subgoal(ANYWHERE, question) if is_gated else target

    def send(k: int) -> ExecutionResult:
        return session.execute([actions[k]], target if k == len(actions) - 1 else waypoint, context.member)

    return _send_until(context, len(actions), send, check)


def _send_until(
    context: CommandContext, n_actions: int, send: Callable[[int], ExecutionResult], check: StopCheck
) -> ExecutionResult:
    """Send actions 0 to n - 1, until one is refused, one ends the level or the run, a prediction is wrong, or a check says stop."""
    session, sent_actions = context.session, list[Action]()
    result = ExecutionResult((), None)
    for k in range(n_actions):
        try:
            step_result = send(k)
        except RefusedError as error:
            if not sent_actions:
                raise
            return replace(result, actions=tuple(sent_actions), halt_reason=str(error))
        sent_actions += step_result.actions
        result = replace(step_result, actions=tuple(sent_actions))
        observation = step_result.observation
        is_at_end = session.outcome or observation is None or observation.status is not Status.RUNNING
        if step_result.halt_reason or step_result.falsified or is_at_end:
            return result
        stop = check() if k + 1 < n_actions else None
        if stop is not None:
            asked = AS_ASKED if stop.is_wanted else "stopped"
            return replace(result, halt_reason=f"{asked} after {k + 1} of {n_actions}: {stop.reason.format(k + 1)}")
    return result


# -- single actions --------------------------------------------------------------------------------------------------------------


def probe(
    context: CommandContext,
    actions: Sequence[str],
    message: str = "",
    on: bool = False,
    until: str | None = None,
    stop_if: str | None = None,
    quiet: bool = False,
    as_json: bool = False,
    look: bool = False,
) -> CommandResult:
    """Send actions to learn something, with the question they answer: one, or several that stop at the first surprise.

    A surprise is a wrong prediction, the end of a level, and an action that does otherwise than it did the last time (`on`: that is
    none). until, stop_if: conditions to stop at besides.
    """
    session, chosen_actions = context.session, parse_actions(actions)
    if session.protocol.needs_reason and not message.strip():
        if message:
            raise RefusedError("A probe needs the question it answers; say what you expect to learn.")
        raise UsageError("A probe needs -m and the question that it answers.")
    if len(chosen_actions) > MAX_PROBES:
        raise UsageError(f"{len(chosen_actions)} probes are too many at once; send at most {MAX_PROBES}.")
    wanted = _make_stop_check(context, until, stop_if, goes_on=True)

    def check() -> Stop | None:
        stop = None if wanted is None else wanted()
        if stop or on or context.member_state.admissible or not is_unusual(session.record):
            return stop
        return Stop("action {} did otherwise than the last time (--on sends all)")

    n_before, trajectory, step = session.state.n_actions, len(session.record) - 1, len(session.record.current)
    before, question = session.get_observation(), message or "?"
    execution = _send_until(
        context, len(chosen_actions), lambda k: session.probe(chosen_actions[k], question, context.member), check
    )
    n_sent = session.state.n_actions - n_before
    sent = Sent(trajectory, step, n_sent, len(chosen_actions), before, execution)
    text = describe_sent(context, sent, Shown(quiet, as_json, look))
    if n_sent < len(chosen_actions) and not as_json:
        text = f"sent {n_sent} of {len(chosen_actions)} probes\n{text}"
    is_done = n_sent == len(chosen_actions) or execution.halt_reason.startswith(AS_ASKED)
    return CommandResult(text, _choose_exit_code(context, execution, is_done))


def reset(context: CommandContext, message: str = "", whole: bool = False, look: bool = False) -> CommandResult:
    """Start the level anew; costs an action. --whole: even where that restarts the whole game."""
    session = context.session
    before = session.get_observation()
    member = None if session.record.needs_reset else context.member
    execution = session.reset(message.strip() or NO_REASON, whole, member)
    observation = execution.observation or before
    lines = [f"level {observation.level} anew, trajectory {len(session.record) - 1}: {_describe_start(context)}"]
    if context.member in execution.falsified:
        lines.append(f"your model is falsified: {format_reason(context.member_state.verdict)}")
    if look and not session.outcome:
        lines.append(look_after(context))
    return CommandResult("\n".join([*lines, describe_remaining(context)]))


def _describe_start(context: CommandContext) -> str:
    """How a level begins anew: as it began before, which is on record, or what is different."""
    record = context.session.record
    frame = record.current.first.frame
    for number, trajectory in enumerate(record.trajectories[:-1]):
        first = trajectory.first
        if first.level == record.current.first.level and first.frame.shape == frame.shape:
            if (first.frame == frame).all():
                return f"as it began at {number}.0"
            return f"since {number}.0: {format_changes(first.frame, frame, context.memory.letters.find_letter)}"
    return "./law observe shows it"


def _choose_exit_code(context: CommandContext, execution: ExecutionResult, all_sent: bool) -> int:
    completed = execution.observation is not None and execution.observation.status is Status.COMPLETED
    return OK if (all_sent or completed or context.session.outcome) and context.member not in execution.falsified else REFUSED
