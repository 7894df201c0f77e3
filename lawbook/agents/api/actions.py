"""The acting half of a door: what changes the run. Every one of these ends in an operation of Session, which decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from lawbook.agents.api.change_detection import describe_unchanged
from lawbook.agents.api.context import CommandContext
from lawbook.agents.api.external_mind import ExternalAgentMind, describe_missing_answers
from lawbook.agents.api.notation import format_actions, parse_actions, parse_place
from lawbook.agents.api.operation import OK, REFUSED, CommandResult
from lawbook.agents.api.status import format_reason, suggest_next_step
from lawbook.agents.api.views import describe_outcome
from lawbook.agents.api.workspace import FIDELITY, find_changed_files
from lawbook.core import frame_text
from lawbook.core.hypothesis import Decision, Hypothesis, Proposal, find_rule_citations, validate_files
from lawbook.core.record import Action, Observation, Status
from lawbook.core.results import ExecutionResult, Limits, NoPlan, ProgramError, RunOutcome, Subgoal, Verdict, VerdictKind
from lawbook.errors import RefusedError, UsageError
from lawbook.planning.planner import roll
from lawbook.protocols import gate
from lawbook.verification.open_cells import fill_open_cells, format_claims, format_openness
from lawbook.verification.replay import verify as replayed
from lawbook.worlds.world import explain_refusal

MAX_SIMULATED_ACTIONS = 200
"""Actions of one simulation."""
MAX_COMMAND_SEARCH_SECONDS = 500
"""Of a search: nobody else is answered meanwhile, and an MCP client waits 600."""
MAX_GROUPS = 40
"""Of numbers of changed cells, alike ones in a row counted once."""


# -- believing -------------------------------------------------------------------------------------------------------------------


def propose(context: CommandContext, decision: str, message: str = "") -> CommandResult:
    """Hand the workspace's files to the gate: decision rules, the whole record replayed, fidelity."""
    session, member = context.session, context.member_state
    hypothesis = context.read_hypothesis()
    _require_fidelity_answers(context, hypothesis, decision)
    rulebook = hypothesis.rulebook if session.protocol.needs_rulebook else None
    version = member.version
    verdict = session.propose(Proposal(Decision(decision), rulebook, hypothesis.files, message), context.member)
    if not verdict.admissible:
        return CommandResult(f"refused ({verdict.outcome}): {format_reason(verdict)}{_suggest_repair(verdict)}", REFUSED)
    summary = f"accepted as version {member.version}" if member.version != version else f"accepted; version {member.version} stands"
    steps = f", {verdict.replayed:,} steps replayed exactly" if verdict.replayed else ""
    claims = f"; {format_claims(verdict.claims)}" if verdict.claims is not None else ""
    return CommandResult(f"{summary}{steps}{claims}. Next: {suggest_next_step(context)}")


def _suggest_repair(verdict: Verdict) -> str:
    """What to do about it, where the reason does not say so itself."""
    match verdict.outcome:
        case VerdictKind.COUNTEREXAMPLE:
            return "\nIs the rulebook wrong (revise_rulebook) or only the code (repair_code)? ./law counterexample shows the place."
        case VerdictKind.FAULT:
            return "\nMend the program; ./law verify tries it without proposing."
        case _:
            return ""


def _require_fidelity_answers(context: CommandContext, hypothesis: Hypothesis, decision: str) -> None:
    """Take the agent's answers per rule, where it is asked for them. They are looked for first: a text that was judged and refused
    is not judged again on the same record, and the answers are no part of it."""
    mind = context.session.mind
    if not isinstance(mind, ExternalAgentMind) or mind.judge_mind is not None or not context.session.protocol.needs_fidelity:
        return
    mind.fidelity_texts[context.member] = text = context.workspace.read(FIDELITY) if context.workspace.has(FIDELITY) else ""
    missing = describe_missing_answers(hypothesis, text) if decision != Decision.RETAIN else ""
    if missing:
        raise RefusedError(missing)


def verify(context: CommandContext) -> CommandResult:
    """Try the workspace's files on the whole record, and their citations, without proposing anything."""
    session = context.session
    hypothesis = context.read_hypothesis()
    problem = validate_files(hypothesis)
    if problem:
        raise RefusedError(problem)
    program = session.host.load(hypothesis.files, session.protocol.find_open_rules(hypothesis.rulebook))
    if isinstance(program, ProgramError):
        return CommandResult(f"The program does not load: {program.reason}", REFUSED)
    last_counterexample = session.get_counterexample(context.member)
    verdict = replayed(
        program,
        session.record,
        first=[last_counterexample.trajectory] if last_counterexample else [],
        compared_fields=session.protocol.compared_fields,
        seed=session.event_log.ledger.head,
    )
    citation_remarks = _describe_citations(hypothesis) if session.protocol.needs_rulebook else ""
    if not verdict.admissible:
        counterexample = verdict.counterexample
        place = f"{counterexample.trajectory}.{counterexample.step}: " if counterexample else ""
        return CommandResult(f"not verified ({verdict.outcome}). {place}{format_reason(verdict)}", REFUSED)
    is_unchanged = context.member_state.hypothesis is not None and not find_changed_files(
        context.member_state.hypothesis, hypothesis
    )
    advice = "It stands already." if is_unchanged and context.member_state.admissible else "Propose it."
    return CommandResult(f"verified: all {verdict.replayed:,} steps on record are reproduced exactly. {advice}{citation_remarks}")


def _describe_citations(hypothesis: Hypothesis) -> str:
    """What the mechanical trace has to say, for whoever judges fidelity."""
    citations = find_rule_citations(hypothesis)
    remarks = []
    if not citations.rules:
        remarks.append("the rulebook numbers no rules (R1, R2, ... at the start of a line)")
    if citations.uncited:
        remarks.append(f"no line of code cites {', '.join(citations.uncited)}")
    if citations.unknown:
        remarks.append(f"the code cites {', '.join(citations.unknown)}, which the rulebook does not hold")
    return f" But {'; '.join(remarks)}." if remarks else ""


# -- looking ahead ---------------------------------------------------------------------------------------------------------------


def simulate(context: CommandContext, actions: Sequence[str], at: str = "now", board: bool = False) -> str:
    """What the workspace's program says these actions would show. Nothing is sent. Where they are on record, what differs."""
    session = context.session
    trajectory, step = parse_place(at, session.record)
    chosen_actions = parse_actions(actions)
    if len(chosen_actions) > MAX_SIMULATED_ACTIONS:
        raise UsageError(f"{len(chosen_actions):,} actions are too many to look at; simulate at most {MAX_SIMULATED_ACTIONS}.")
    recorded = session.record.trajectories[trajectory]
    hypothesis = context.read_hypothesis()
    program = session.host.load(hypothesis.files, session.protocol.find_open_rules(hypothesis.rulebook))
    if isinstance(program, ProgramError):
        raise RefusedError(f"The program does not load: {program.reason}")
    rollout = roll(program, session.get_prefix(trajectory, step), chosen_actions)
    if isinstance(rollout, ProgramError):
        raise RefusedError(f"The program fails on those actions: {rollout.reason}")
    predictions, recorded_actions = rollout[0], [action for action, _ in recorded.steps[step : step + len(chosen_actions)]]
    before, lines = recorded.get_frame(step), []
    for k, (action, prediction) in enumerate(zip(chosen_actions, predictions, strict=True), 1):
        shown, openness = fill_open_cells(prediction, before), format_openness(prediction)
        head = f"+{k} action {action}, {prediction.status}" + (f" [{openness}]" if openness else "")
        line = f"{head}: {frame_text.format_difference(before, shown)}"
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
    frontier: bool = False,
) -> str | CommandResult:
    """The shortest way in the accepted program, within the budget, to the goal, to a subgoal, or to what it leaves open."""
    _require_proposed(context)
    target, limits = make_subgoal(subgoal, message, context), _make_limits(context, seconds, nodes)
    result = context.session.plan(context.member, target, limits, frontier=frontier)
    if isinstance(result, NoPlan):
        return CommandResult(
            f"no plan: {result.reason} {_suggest_search_limit(result)}Name a --subgoal, probe, or mend the model.", REFUSED
        )
    if not result.actions:
        return CommandResult("Nothing to do: it holds already, says the program.", REFUSED)
    if bare:
        return format_actions(result.actions, 100_000)
    quality = "shortest" if result.certified else f"found by {result.method}" + (f", cut by {result.cut}" if result.cut else "")
    return f"{len(result.actions)} actions ({quality}; {result.nodes:,} states): {format_actions(result.actions, 2000)}"


def _make_limits(context: CommandContext, seconds: int | None, nodes: int | None) -> Limits:
    """Those of the run's searches, or what was asked for instead. The session sees to the rest."""
    limits = context.session.limits
    if seconds is not None and not 0 < seconds <= MAX_COMMAND_SEARCH_SECONDS:
        raise UsageError(f"A search may take 1 to {MAX_COMMAND_SEARCH_SECONDS} seconds.")
    if seconds is not None:
        limits = replace(limits, seconds=float(seconds))
    return limits if nodes is None else replace(limits, nodes=nodes)


def _suggest_search_limit(no_plan: NoPlan) -> str:
    """What to do where a search was cut by a limit that can be raised; else an empty string."""
    return {
        "seconds": f"Give it more by --seconds (to {MAX_COMMAND_SEARCH_SECONDS}), or write a heuristic(state). ",
        "nodes": "Give it more by --nodes and --seconds, or write a heuristic(state). ",
    }.get(no_plan.cut or "", "")


# -- acting ----------------------------------------------------------------------------------------------------------------------


def execute(
    context: CommandContext,
    actions: Sequence[str] = (),
    subgoal: str | None = None,
    message: str = "",
    seconds: int | None = None,
    nodes: int | None = None,
    on: bool = False,
    frontier: bool = False,
) -> CommandResult:
    """Send a plan; without actions, plan first and send that. Every action is predicted on disk before it is sent.

    Where no model foresees anything, the first action that changes nothing stops the rest, unless `on`."""
    _require_proposed(context)
    target = make_subgoal(subgoal, message, context)
    requested_actions = chosen_actions = parse_actions(actions)
    if frontier and chosen_actions:
        raise UsageError("Actions or --frontier: give one of the two; with --frontier the way is searched for.")
    if not chosen_actions:
        if not context.member_state.admissible:
            raise RefusedError("There is no admissible program to plan in; name the actions, or propose one that verifies.")
        limits = _make_limits(context, seconds, nodes)
        result = context.session.plan(context.member, target, limits, frontier=frontier)
        if isinstance(result, NoPlan):
            raise RefusedError(
                f"There is no plan to execute: {result.reason} {_suggest_search_limit(result)}Name a --subgoal, or probe."
            )
        chosen_actions = result.actions
    before, n_before = context.session.get_observation(), context.session.state.n_actions
    trajectory, step = len(context.session.record) - 1, len(context.session.record.current)
    is_unpredicted = not context.member_state.admissible and not context.session.protocol.needs_hypothesis
    stops_when_unchanged = is_unpredicted and not on and len(chosen_actions) > 1
    execution = (
        _execute_one_by_one(context, chosen_actions, target)
        if stops_when_unchanged
        else context.session.execute(chosen_actions, target, context.member)
    )
    n_sent = context.session.state.n_actions - n_before
    summary = f"sent {n_sent} of {len(chosen_actions)} actions"
    if n_sent < len(chosen_actions) or not requested_actions:
        summary += f": {format_actions(chosen_actions[:n_sent], 400) or 'none'}"
    return CommandResult(
        "\n".join([summary, *_describe_outcome(context, execution, before, trajectory, step, n_sent)]),
        _choose_exit_code(context, execution, n_sent == len(chosen_actions)),
    )


def _execute_one_by_one(context: CommandContext, actions: tuple[Action, ...], target: Subgoal | None) -> ExecutionResult:
    """Send them until one changes nothing, or until what a plan ends with. Refused as one, before anything is sent."""
    session = context.session
    refusal = gate.explain_length_refusal(len(actions), session.actions_left)
    for k, action in enumerate(actions):
        refusal = refusal or explain_refusal(session.world.spec, session.get_observation(), action, check_availability=k == 0)
    if refusal:
        raise RefusedError(refusal)
    sent_actions: list[Action] = []
    result = ExecutionResult((), None)
    for k, action in enumerate(actions, 1):
        try:
            step_result = session.execute([action], target, context.member)
        except RefusedError as error:
            if not sent_actions:
                raise
            return replace(result, actions=tuple(sent_actions), halt_reason=str(error))
        sent_actions += step_result.actions
        result = replace(step_result, actions=tuple(sent_actions))
        if (
            step_result.halt_reason
            or session.outcome
            or step_result.observation is None
            or step_result.observation.status is not Status.RUNNING
        ):
            return result
        unchanged = describe_unchanged(session.record) if k < len(actions) else ""
        if unchanged:
            return replace(
                result, halt_reason=f"stopped after {k} of {len(actions)}: action {k} changed {unchanged} (--on sends all)"
            )
    return result


def probe(context: CommandContext, action: str, message: str) -> CommandResult:
    """Send one action to learn something, with the question it answers."""
    chosen_actions = parse_actions([action])
    if len(chosen_actions) != 1:
        raise UsageError("A probe is one action; give one, or execute a plan.")
    before, n_before = context.session.get_observation(), context.session.state.n_actions
    trajectory, step = len(context.session.record) - 1, len(context.session.record.current)
    execution = context.session.probe(chosen_actions[0], message, context.member)
    n_sent = context.session.state.n_actions - n_before
    return CommandResult(
        "\n".join(_describe_outcome(context, execution, before, trajectory, step, n_sent)),
        _choose_exit_code(context, execution, n_sent == 1),
    )


def reset(context: CommandContext, message: str, whole: bool = False) -> CommandResult:
    """Start the level anew; costs an action. --whole: even where that restarts the whole game."""
    before = context.session.get_observation()
    member = None if context.session.record.needs_reset else context.member
    execution = context.session.reset(message, whole, member)
    observation = execution.observation or before
    summary = (
        f"level {observation.level} anew, trajectory {len(context.session.record) - 1}: "
        f"{frame_text.format_difference(before.frame, observation.frame)}"
    )
    if context.member in execution.falsified:
        summary += f"\nyour model is falsified: {format_reason(context.member_state.verdict)}"
    return CommandResult(f"{summary}{_describe_remaining(context)}")


def _describe_outcome(
    context: CommandContext, execution: ExecutionResult, before: Observation, trajectory: int, step: int, n_sent: int
) -> list[str]:
    """What came of it, the difference that the last action made first; a right prediction needs no more words than that."""
    lines = []
    recorded = context.session.record.trajectories[trajectory]
    was_predicted = bool(execution.falsified) or context.member_state.admissible
    if n_sent > 1 and not was_predicted:  # nobody foresaw the ones between
        frames = recorded.settled_frames[step : step + n_sent + 1]
        cells = [f"{number:,}" for number in (frames[1:] != frames[:-1]).sum(axis=(1, 2)).tolist()]
        if recorded.statuses[step + n_sent] is Status.COMPLETED:
            cells[-1] = "completed"
        groups = [(number, len(list(group))) for number, group in groupby(cells)]
        counts = ", ".join(f"{number} x{repeats}" if repeats > 1 else number for number, repeats in groups[:MAX_GROUPS])
        n_remaining = sum(repeats for _, repeats in groups[MAX_GROUPS:])
        lines.append(f"cells changed by each: {counts}" + (f" (and by {n_remaining} more)" if n_remaining else ""))
    if n_sent and execution.observation is not None:
        last_step = step + n_sent
        previous = (
            before
            if n_sent == 1
            else Observation((recorded.get_frame(last_step - 1),), Status.RUNNING, before.level, before.available)
        )
        lines.append(
            describe_outcome(previous, execution.observation, f"{trajectory}.{last_step}", ended=bool(context.session.outcome))
        )
    if context.member in execution.falsified:
        verdict = context.member_state.verdict
        consequence = "a prediction was wrong, and nothing more was sent" if n_sent else "nothing was sent"
        lines.append(f"{consequence}; your model is falsified: {format_reason(verdict) or execution.halt_reason}")
    elif context.member_state.admissible and n_sent:
        lines.append("as predicted")
    elif execution.halt_reason and not context.session.outcome:
        lines.append(execution.halt_reason if execution.halt_reason.startswith("stopped") else f"halted: {execution.halt_reason}")
    return [*lines, *filter(None, [_describe_remaining(context).strip()])]


def _choose_exit_code(context: CommandContext, execution: ExecutionResult, all_sent: bool) -> int:
    completed = execution.observation is not None and execution.observation.status is Status.COMPLETED
    return OK if (all_sent or completed or context.session.outcome) and context.member not in execution.falsified else REFUSED


def _describe_remaining(context: CommandContext) -> str:
    session = context.session
    if session.outcome:
        return f"\nThe run has ended: {session.outcome}."
    return f"\n{session.actions_left:,} actions left"


# -- words -----------------------------------------------------------------------------------------------------------------------


def note(context: CommandContext, words: Sequence[str]) -> str:
    """Keep a sentence: it stands in ./law brief."""
    text = " ".join(words).strip()
    if not text:
        raise UsageError("A note needs words.")
    if len(text) > 2000:
        raise RefusedError(f"A note of {len(text):,} characters is too long; keep it under 2,000.")
    context.session.note(text)
    return "kept"


def finish(context: CommandContext, message: str) -> str:
    """End the run for good."""
    if context.session.outcome:
        return f"The run had already ended: {context.session.outcome}; nothing to finish."
    context.session.finish(RunOutcome.FINISHED, message)
    return "The run has ended: finished."


def run_python(context: CommandContext, words: Sequence[str] = (), code: str | None = None) -> str:
    """Run code over the record in the sandbox."""
    if code is None:
        if len(words) != 1:
            raise UsageError("Give one file of your workspace, or --code CODE, or - and the code on stdin.")
        code = context.stdin if words[0] == "-" else context.workspace.read(words[0])
    if not code.strip():
        raise UsageError("There is no code to run.")
    return context.session.run_python(code) or "(nothing was printed)"


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


def _require_proposed(context: CommandContext) -> None:
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
