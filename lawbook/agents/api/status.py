"""Where a run stands, in few words: status, budget, the brief for a fresh agent, the next step, what others did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from lawbook.agents.api.notation import shown, written
from lawbook.agents.api.workspace import FIDELITY, differing
from lawbook.core import frame_text
from lawbook.core.hypothesis import RULEBOOK
from lawbook.core.record import RESET, Action, Observation, Status
from lawbook.core.results import Outcome, Verdict
from lawbook.errors import RefusedError
from lawbook.runs.state import Member

if TYPE_CHECKING:
    from lawbook.agents.api.dispatcher import Call


_LOOK = "./law observe --tiles (or --runs, --objects)"


def status(call: Call) -> str:
    """Three lines or so: where the run stands, what may be sent, what stands of the model."""
    session, standing = call.session, call.session.status()
    last = session.record.last
    if standing.ended:
        return f"The run has ended: {standing.ended}. Nothing can be sent any more."
    of = f" of {standing.levels}" if standing.levels else ""
    lines = [
        f"level {standing.level}{of} (from 0), {standing.status}; trajectory {len(session.record) - 1}, step "
        f"{len(session.record.here)}; actions available: {', '.join(map(str, last.available)) if last else 'none'}"
    ]
    if standing.status in (Status.OVER, Status.TRUNCATED):
        lines[0] += f"; the level is {standing.status}: ./law reset -m why"
    free = "any number" if standing.unpredicted is None else f"{min(standing.unpredicted, standing.left):,}"
    lines.append(f"{standing.sent:,} actions sent, {standing.left:,} left; without a prediction: {free}")
    lines.append(model_line(call))
    return "\n".join(lines)


def model_line(call: Call) -> str:
    """What stands of this member's model, and what the gate waits for."""
    member, rules = call.own, call.session.rules
    if member.hypothesis is None:
        asked = "propose before you execute" if rules.needs_hypothesis else "none is needed here"
        return f"model: none accepted yet; {asked}"
    told = f"model: version {member.version}, "
    if not member.admissible:
        told += "falsified: explain the counterexample, mend, propose"
    else:
        told += "admissible"
        if member.why is not None:
            told += f"; you are asked to think it over ({member.why}): propose, or retain"
    changed = _changed(call)
    return told + (f"; not proposed yet: {changed}" if changed else "")


def _changed(call: Call) -> str:
    """Which files of the workspace are not those accepted last, or why that cannot be told."""
    if call.own.hypothesis is None:
        return ""
    try:
        return ", ".join(differing(call.own.hypothesis, call.workspace_hypothesis()))
    except RefusedError as error:
        return str(error)


def budget(call: Call) -> str:
    """What there was, what is left, and what reading has cost."""
    session, tally, mine = call.session, call.door.tally, call.member
    standing = session.status()
    free = "any number" if standing.unpredicted is None else f"{min(standing.unpredicted, standing.left):,}"
    lines = [
        f"actions      {standing.sent:,} of {session.budget:,} sent, {standing.left:,} left (resets count)",
        f"unpredicted  {free} more may be sent without a prediction",
        f"printed      {tally.characters[mine]:,} characters in {tally.turns[mine]:,} commands, "
        f"{tally.refused[mine]:,} refused or not as predicted",
        f"time         {tally.minutes():.1f} minutes",
    ]
    if len(session.state.members) > 1:
        lines[2] += f" (all members: {tally.characters.total():,} in {tally.turns.total():,})"
    if tally.costs:
        lines.append("agent        " + ", ".join(f"{value:,.6g} {name}" for name, value in tally.costs.items()))
    lines.append(f"mismatches   {session.state.mismatches:,}; proposals {len(call.own.history):,}, versions {call.own.version:,}")
    lines += [f"level {level}      {spent:,} actions" for level, spent in sorted(session.state.per_level.items())[-8:]]
    return "\n".join(lines)


# -- what a fresh agent needs ----------------------------------------------------------------------------------------------------


def brief(call: Call) -> str:
    """State of play, rulebook, open questions, last mismatch, budget, in under 60 lines."""
    session, member = call.session, call.own
    spec, rules = session.world.spec, session.rules
    last = session.record.last
    named = [action for action in spec.actions if last is None or not last.available or action in last.available]
    clicked = ", ".join(str(action) for action in named if action in spec.clicks)
    clicks = f"; {clicked} is a click (id@x,y)" if clicked else ""
    lines = [
        f"You drive an unknown world: frames of {spec.shape[0]} x {spec.shape[1]} cells, actions "
        f"{', '.join(map(str, named))}{clicks}. Protocol {rules.name}. GUIDE.md says how.",
        status(call),
    ]
    if len(session.state.members) > 1:
        lines.append(
            f"You are member {call.member} of {len(session.state.members)}: one world, one record, one budget, a model each."
        )
    if rules.needs_rulebook:
        lines += _book(member)
    lines += _last_wrong(member)
    if session.state.notes:
        lines.append("notes:")
        lines += [f"  {_short(note)}" for note in session.state.notes[-5:]]
    actions = [action for there in session.record for action in there.actions][-30:]
    if actions:
        lines.append(f"last actions: {written(actions, 120)}")
    lines += [f"next: {next_step(call)}", *budget(call).splitlines()[2:4]]
    return "\n".join("\n".join(lines).splitlines()[:59])


def next_step(call: Call) -> str:
    """One sentence for whoever does not know how to go on."""
    session, member = call.session, call.own
    if session.ended:
        return "nothing; the run has ended."
    if session.record.needs_reset:
        return "./law reset -m why, since the level is over."
    if not session.rules.needs_hypothesis:
        return f"{_LOOK}, then ./law execute ACTIONS or ./law probe ACTION -m question."
    if member.hypothesis is None and not session.state.sent:
        return f"{_LOOK}, a few ./law probe ACTION -m question, then write the rulebook and program and ./law propose."
    if member.hypothesis is None:
        return f"write {RULEBOOK}, its program and {FIDELITY}, then ./law verify and ./law propose revise_rulebook -m why."
    if not member.admissible:
        return "./law counterexample, mend rulebook or program, ./law verify, ./law propose."
    if _changed(call):
        return "./law propose what you changed, or ./law restore."
    return "./law plan, then ./law execute; no plan: name a --subgoal, or probe."


def _book(member: Member) -> list[str]:
    if member.hypothesis is None:
        return ["rulebook: none accepted yet"]
    numbered = [line for line in member.hypothesis.rulebook.splitlines() if line.strip(" \t>*#-")[:1] in ("R", "Q")]
    rules = [line for line in numbered if line.strip(" \t>*#-").startswith("R")]
    questions = [line for line in numbered if line.strip(" \t>*#-").startswith("Q")]
    lines = ["rulebook:", *(f"  {_short(line)}" for line in rules[:18])]
    if len(rules) > 18:
        lines.append(f"  (and {len(rules) - 18} more; ./law restore puts it into {RULEBOOK})")
    lines += [f"  {_short(line)}" for line in questions[:6]]
    return lines


def _last_wrong(member: Member) -> list[str]:
    verdict = member.verdict
    if verdict is None or verdict.admissible or not verdict.reason:
        return []
    return [f"last verdict, {verdict.outcome}: {frame_text.clip(' '.join(reason_of(verdict).split()), 500)}"]


def reason_of(verdict: Verdict | None) -> str:
    """What a verdict says, a counterexample with the characters of boards; empty without one."""
    if verdict is None:
        return ""
    return shown(verdict.reason) if verdict.outcome is Outcome.COUNTEREXAMPLE else verdict.reason


def _short(line: str) -> str:
    line = " ".join(line.split())
    return line if len(line) <= 140 else f"{line[:137]}..."


class Move(NamedTuple):
    """An action of another member (None: the reset of a level that was over), how many cells changed, and what was seen."""

    member: int | None
    action: Action
    cells: int
    seen: Observation


def news_of(moves: Sequence[Move]) -> str:
    """What others sent, and what came back."""
    lines = [f"({len(moves) - 12} more before these; ./law record)"] if len(moves) > 12 else []
    for move in moves[-12:]:
        who = "somebody" if move.member is None else f"member {move.member}"
        what = "a reset" if move.action == RESET else f"action {move.action}"
        lines.append(f"{who} sent {what}: {move.cells} cells changed, {move.seen.status}, level {move.seen.level}")
    return "\n".join(lines)
