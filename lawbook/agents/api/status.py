"""Where a run stands, in few words: status, budget, the brief for a fresh agent, the next step, what others did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lawbook.agents.api.context import CommandContext
from lawbook.agents.api.notation import format_actions, format_counterexample
from lawbook.agents.api.sight import show_at_first
from lawbook.agents.api.workspace import FIDELITY, find_changed_files
from lawbook.core import frame_text
from lawbook.core.hypothesis import RULEBOOK
from lawbook.core.record import RESET, Action, Observation, Status
from lawbook.core.results import Verdict, VerdictKind
from lawbook.errors import RefusedError
from lawbook.runs.state import Member

_LOOK_HINT = "./law observe"


def show_status(context: CommandContext) -> str:
    """Three lines or so: where the run stands, what may be sent, what stands of the model."""
    session, run_status = context.session, context.session.get_status()
    last_observation = session.record.last
    if run_status.outcome:
        return f"The run has ended: {run_status.outcome}. Nothing can be sent any more."
    level_total = f" of {run_status.levels}" if run_status.levels else ""
    is_over = run_status.status in (Status.OVER, Status.TRUNCATED)
    if is_over:
        standing = f"{run_status.status}: ./law reset is all that is sent now, whatever else the world would take"
    else:
        available = ", ".join(map(str, last_observation.available)) if last_observation else "none"
        standing = f"running; actions available: {available}"
    lines = [
        f"level {run_status.level}{level_total} (from 0), trajectory {len(session.record) - 1}, "
        f"step {len(session.record.current)}; {standing}"
    ]
    unpredicted_left = (
        "any number" if run_status.unpredicted_left is None else f"{min(run_status.unpredicted_left, run_status.actions_left):,}"
    )
    lines.append(
        f"{run_status.n_actions:,} actions sent, {run_status.actions_left:,} left; without a prediction: {unpredicted_left}"
    )
    lines.append(describe_model(context))
    return "\n".join(lines)


def describe_model(context: CommandContext) -> str:
    """What stands of this member's model, and what the gate waits for."""
    member, protocol = context.member_state, context.session.protocol
    if member.hypothesis is None:
        advice = "propose before you execute" if protocol.needs_hypothesis else "none is needed here"
        return f"model: none accepted yet; {advice}"
    description = f"model: version {member.version}, "
    if not member.admissible:
        description += "falsified: explain the counterexample, mend, propose"
    else:
        description += "admissible"
        if member.trigger is not None:
            description += f"; you are asked to think it over ({member.trigger}): propose, or retain"
    unproposed = _describe_unproposed(context)
    return description + (f"; not proposed yet: {unproposed}" if unproposed else "")


def _describe_unproposed(context: CommandContext) -> str:
    """Which files of the workspace are not those accepted last, or why that cannot be told."""
    if context.member_state.hypothesis is None:
        return ""
    try:
        return ", ".join(find_changed_files(context.member_state.hypothesis, context.read_hypothesis()))
    except RefusedError as error:
        return str(error)


def show_budget(context: CommandContext) -> str:
    """What there was, what is left, and what reading has cost."""
    session, usage, member = context.session, context.usage, context.member
    run_status = session.get_status()
    unpredicted_left = (
        "any number" if run_status.unpredicted_left is None else f"{min(run_status.unpredicted_left, run_status.actions_left):,}"
    )
    lines = [
        f"actions      {run_status.n_actions:,} of {session.budget:,} sent, {run_status.actions_left:,} left (resets count)",
        f"unpredicted  {unpredicted_left} more may be sent without a prediction",
        f"printed      {usage.n_characters[member]:,} characters in {usage.n_commands[member]:,} commands, "
        f"{usage.n_refused[member]:,} refused or not as predicted",
        f"time         {usage.count_minutes():.1f} minutes",
    ]
    if len(session.state.members) > 1:
        lines[2] += f" (all members: {usage.n_characters.total():,} in {usage.n_commands.total():,})"
    if usage.costs:
        lines.append("agent        " + ", ".join(f"{value:,.6g} {name}" for name, value in usage.costs.items()))
    lines.append(
        f"mismatches   {session.state.n_mismatches:,}; proposals {len(context.member_state.history):,}, versions "
        f"{context.member_state.version:,}"
    )
    per_level = sorted(session.state.actions_per_level.items())
    if per_level:
        lines.append(
            f"levels {per_level[0][0]}-{per_level[-1][0]}   {' '.join(f'{n_spent:,}' for _, n_spent in per_level)} actions"
        )
    return "\n".join(lines)


# -- what a fresh agent needs ----------------------------------------------------------------------------------------------------


def show_brief(context: CommandContext) -> str:
    """State of play, rulebook, open questions, last mismatch, budget, in under 60 lines."""
    session, member = context.session, context.member_state
    spec, protocol = session.world.spec, session.protocol
    last_observation = session.record.last
    action_ids = [
        action
        for action in spec.actions
        if last_observation is None or not last_observation.available or action in last_observation.available
    ]
    click_ids = ", ".join(str(action) for action in action_ids if action in spec.clicks)
    click_hint = f"; {click_ids} is a click (id@x,y)" if click_ids else ""
    lines = [
        f"You drive an unknown world: frames of {spec.shape[0]} x {spec.shape[1]} cells, actions "
        f"{', '.join(map(str, action_ids))}{click_hint}. Protocol {protocol.name}. GUIDE.md says how.",
        show_status(context),
    ]
    if len(session.state.members) > 1:
        lines.append(
            f"You are member {context.member} of {len(session.state.members)}: one world, one record, one budget, a model each."
        )
    if protocol.needs_rulebook:
        lines += _format_rulebook(member)
    lines += _format_last_verdict(member)
    if session.state.notes:
        lines.append("notes:")
        lines += [f"  {_shorten(note)}" for note in session.state.notes[-5:]]
    actions = [action for trajectory in session.record for action in trajectory.actions][-30:]
    if actions:
        lines.append(f"last actions: {format_actions(actions, 120)}")
    lines.append(f"next: {suggest_next_step(context)}")
    context.memory.letters.forget_telling()  # whoever begins here has been told none
    text = "\n".join("\n".join(lines).splitlines()[:59])
    if session.state.n_actions or last_observation is None:
        return text
    return f"{text}\n{show_at_first(context, last_observation.frame)}"


def suggest_next_step(context: CommandContext) -> str:
    """One sentence for whoever does not know how to go on."""
    session, member = context.session, context.member_state
    if session.outcome:
        return "nothing; the run has ended."
    if session.record.needs_reset:
        return "./law reset, since the level is over."
    if not session.protocol.needs_hypothesis:
        return f"{_LOOK_HINT}, then ./law execute ACTIONS or ./law probe ACTIONS."
    if member.hypothesis is None and not session.state.n_actions:
        return f"{_LOOK_HINT}, ./law probe ACTIONS -m question, then write rulebook and program and ./law propose."
    if member.hypothesis is None:
        return f"write {RULEBOOK}, its program and {FIDELITY}, then ./law propose -m why."
    if not member.admissible:
        return "mend rulebook or program (./law counterexample shows the place), ./law propose."
    if _describe_unproposed(context):
        return "./law propose what you changed, or ./law restore."
    return "./law execute; no plan: name a --subgoal, or probe."


def _format_rulebook(member: Member) -> list[str]:
    if member.hypothesis is None:
        return ["rulebook: none accepted yet"]
    numbered = [line for line in member.hypothesis.rulebook.splitlines() if line.strip(" \t>*#-")[:1] in ("R", "U", "Q")]
    rules = [line for line in numbered if line.strip(" \t>*#-").startswith(("R", "U"))]
    questions = [line for line in numbered if line.strip(" \t>*#-").startswith("Q")]
    lines = ["rulebook:", *(f"  {_shorten(line)}" for line in rules[:18])]
    if len(rules) > 18:
        lines.append(f"  (and {len(rules) - 18} more; ./law restore puts it into {RULEBOOK})")
    lines += [f"  {_shorten(line)}" for line in questions[:6]]
    return lines


def _format_last_verdict(member: Member) -> list[str]:
    verdict = member.verdict
    if verdict is None or verdict.admissible or not verdict.reason:
        return []
    return [f"last verdict, {verdict.outcome}: {frame_text.clip_text(' '.join(format_reason(verdict).split()), 500)}"]


def format_reason(verdict: Verdict | None) -> str:
    """What a verdict says, a counterexample with the characters of boards; empty without one."""
    if verdict is None:
        return ""
    return format_counterexample(verdict.reason) if verdict.outcome is VerdictKind.COUNTEREXAMPLE else verdict.reason


def _shorten(line: str) -> str:
    line = " ".join(line.split())
    return line if len(line) <= 140 else f"{line[:137]}..."


class PeerStep(NamedTuple):
    """An action of another member (None: the reset of a level that was over), how many cells changed, and what was seen."""

    member: int | None
    action: Action
    n_changed: int
    observation: Observation


def format_peer_steps(peer_steps: Sequence[PeerStep]) -> str:
    """What others sent, and what came back."""
    lines = [f"({len(peer_steps) - 12} more before these; ./law record)"] if len(peer_steps) > 12 else []
    for peer_step in peer_steps[-12:]:
        sender = "somebody" if peer_step.member is None else f"member {peer_step.member}"
        description = "a reset" if peer_step.action == RESET else f"action {peer_step.action}"
        lines.append(
            f"{sender} sent {description}: {peer_step.n_changed} cells changed, {peer_step.observation.status}, level "
            f"{peer_step.observation.level}"
        )
    return "\n".join(lines)
