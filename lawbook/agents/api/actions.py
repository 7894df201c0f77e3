"""The acting half of a door: what changes the run. Every one of these ends in an operation of Session, which decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from lawbook.agents.api.change_detection import changed_nothing
from lawbook.agents.api.external_mind import AtTheWheel, unanswered
from lawbook.agents.api.notation import actions_of, place_of, written
from lawbook.agents.api.operation import OK, REFUSED, Reply
from lawbook.agents.api.status import next_step, reason_of
from lawbook.agents.api.views import came
from lawbook.agents.api.workspace import FIDELITY, differing
from lawbook.core import frame_text
from lawbook.core.hypothesis import Decision, Hypothesis, Proposal, misshapen, trace
from lawbook.core.record import Action, Observation, Status
from lawbook.core.results import Fault, Limits, NoPlan, Outcome, Sent, Subgoal, Verdict
from lawbook.errors import RefusedError, UsageError
from lawbook.planning.planner import roll
from lawbook.protocols import gate
from lawbook.runs.state import Ending
from lawbook.verification.replay import verify as replayed
from lawbook.worlds.world import refuses_action

if TYPE_CHECKING:
    from lawbook.agents.api.dispatcher import Call


MOST_SIMULATED = 200
"""Actions of one simulation."""
MOST_SECONDS = 500
"""Of a search: nobody else is answered meanwhile, and an MCP client waits 600."""
GROUPS = 40
"""Of numbers of changed cells, alike ones in a row counted once."""


# -- believing -------------------------------------------------------------------------------------------------------------------


def propose(call: Call, decision: str, message: str = "") -> Reply:
    """Hand the workspace's files to the gate: decision rules, the whole record replayed, fidelity."""
    session, member = call.session, call.own
    standing = call.workspace_hypothesis()
    _answer_for(call, standing, decision)
    rulebook = standing.rulebook if session.rules.needs_rulebook else None
    version = member.version
    verdict = session.propose(Proposal(Decision(decision), rulebook, standing.files, message), call.member)
    if not verdict.admissible:
        return Reply(f"refused ({verdict.outcome}): {reason_of(verdict)}{_after_refusal(verdict)}", REFUSED)
    told = f"accepted as version {member.version}" if member.version != version else f"accepted; version {member.version} stands"
    steps = f", {verdict.replayed:,} steps replayed exactly" if verdict.replayed else ""
    return Reply(f"{told}{steps}. Next: {next_step(call)}")


def _after_refusal(verdict: Verdict) -> str:
    """What to do about it, where the reason does not say so itself."""
    match verdict.outcome:
        case Outcome.COUNTEREXAMPLE:
            return "\nIs the rulebook wrong (revise_rulebook) or only the code (repair_code)? ./law counterexample shows the place."
        case Outcome.FAULT:
            return "\nMend the program; ./law verify tries it without proposing."
        case _:
            return ""


def _answer_for(call: Call, standing: Hypothesis, decision: str) -> None:
    """Take the agent's answers per rule, where it is asked for them. They are looked for first: a text that was judged and refused
    is not judged again on the same record, and the answers are no part of it."""
    mind = call.session.mind
    if not isinstance(mind, AtTheWheel) or mind.judged_by is not None or not call.session.rules.needs_fidelity:
        return
    mind.written[call.member] = text = call.workspace.read(FIDELITY) if call.workspace.has(FIDELITY) else ""
    missing = unanswered(standing, text) if decision != Decision.RETAIN else ""
    if missing:
        raise RefusedError(missing)


def verify(call: Call) -> Reply:
    """Try the workspace's files on the whole record, and their citations, without proposing anything."""
    session = call.session
    standing = call.workspace_hypothesis()
    unusable = misshapen(standing)
    if unusable:
        raise RefusedError(unusable)
    program = session.host.load(standing.files)
    if isinstance(program, Fault):
        return Reply(f"The program does not load: {program.reason}", REFUSED)
    failed = session.counterexample(call.member)
    verdict = replayed(program, session.record, first=[failed.trajectory] if failed else [], compares=session.rules.compares)
    cited = _citations(standing) if session.rules.needs_rulebook else ""
    if not verdict.admissible:
        where = verdict.counterexample
        place = f"{where.trajectory}.{where.step}: " if where else ""
        return Reply(f"not verified ({verdict.outcome}). {place}{reason_of(verdict)}", REFUSED)
    same = call.own.hypothesis is not None and not differing(call.own.hypothesis, standing)
    then = "It stands already." if same and call.own.admissible else "Propose it."
    return Reply(f"verified: all {verdict.replayed:,} steps on record are reproduced exactly. {then}{cited}")


def _citations(hypothesis: Hypothesis) -> str:
    """What the mechanical trace has to say, for whoever judges fidelity."""
    found = trace(hypothesis)
    told = []
    if not found.rules:
        told.append("the rulebook numbers no rules (R1, R2, ... at the start of a line)")
    if found.uncited:
        told.append(f"no line of code cites {', '.join(found.uncited)}")
    if found.unknown:
        told.append(f"the code cites {', '.join(found.unknown)}, which the rulebook does not hold")
    return f" But {'; '.join(told)}." if told else ""


# -- looking ahead ---------------------------------------------------------------------------------------------------------------


def simulate(call: Call, actions: Sequence[str], at: str = "now", board: bool = False) -> str:
    """What the workspace's program says these actions would show. Nothing is sent. Where they are on record, what differs."""
    session = call.session
    trajectory, step = place_of(at, session.record)
    chosen = actions_of(actions)
    if len(chosen) > MOST_SIMULATED:
        raise UsageError(f"{len(chosen):,} actions are too many to look at; simulate at most {MOST_SIMULATED}.")
    there = session.record.trajectories[trajectory]
    program = session.host.load(call.workspace.program())
    if isinstance(program, Fault):
        raise RefusedError(f"The program does not load: {program.reason}")
    rolled = roll(program, session.prefix(trajectory, step), chosen)
    if isinstance(rolled, Fault):
        raise RefusedError(f"The program fails on those actions: {rolled.reason}")
    seen, known = rolled[0], [action for action, _ in there.steps[step : step + len(chosen)]]
    before, lines = there.frame(step), []
    for k, (action, one) in enumerate(zip(chosen, seen, strict=True), 1):
        told = f"+{k} action {action}, {one.status}: {frame_text.difference(before, one.frame)}"
        if k <= len(known) and known[:k] == list(chosen[:k]):
            really = there.steps[step + k - 1][1]
            if really.status is Status.COMPLETED:
                wrong = "" if one.status is really.status else f"on record it is {really.status}"
            else:
                told_status = "" if one.status is really.status else f"{really.status}; "
                wrong = told_status + frame_text.difference(one.frame, really.frame)
                wrong = "" if wrong == "nothing changed" else f"predicted -> on record: {wrong}"
            told += f"\n  {wrong or 'as on record'}"
        lines.append(told)
        before = one.frame
    if board and seen:
        lines.append(frame_text.board(seen[-1].frame))
    return "\n".join(lines)


def plan(
    call: Call,
    subgoal: str | None = None,
    message: str = "",
    seconds: int | None = None,
    nodes: int | None = None,
    bare: bool = False,
) -> str | Reply:
    """The shortest way in the accepted program, within the budget, to the goal or to a subgoal."""
    call.require_proposed()
    found = call.session.plan(call.member, call.subgoal(subgoal, message), _limits(call, seconds, nodes))
    if isinstance(found, NoPlan):
        return Reply(f"no plan: {found.reason} {_no_plan(found)}Name a --subgoal, probe, or mend the model.", REFUSED)
    if not found.actions:
        return Reply("Nothing to do: it holds already, says the program.", REFUSED)
    if bare:
        return written(found.actions, 100_000)
    sure = "shortest" if found.certified else f"found by {found.method}" + (f", cut by {found.cut}" if found.cut else "")
    return f"{len(found.actions)} actions ({sure}; {found.nodes:,} states): {written(found.actions, 2000)}"


def _limits(call: Call, seconds: int | None, nodes: int | None) -> Limits:
    """Those of the run's searches, or what was asked for instead. The session sees to the rest."""
    limits = call.session.limits
    if seconds is not None and not 0 < seconds <= MOST_SECONDS:
        raise UsageError(f"A search may take 1 to {MOST_SECONDS} seconds.")
    if seconds is not None:
        limits = replace(limits, seconds=float(seconds))
    return limits if nodes is None else replace(limits, nodes=nodes)


def _no_plan(found: NoPlan) -> str:
    """What to do where a search was cut by a limit that can be raised; else an empty string."""
    return {
        "seconds": f"Give it more by --seconds (to {MOST_SECONDS}), or write a heuristic(state). ",
        "nodes": "Give it more by --nodes and --seconds, or write a heuristic(state). ",
    }.get(found.cut or "", "")


# -- acting ----------------------------------------------------------------------------------------------------------------------


def execute(
    call: Call,
    actions: Sequence[str] = (),
    subgoal: str | None = None,
    message: str = "",
    seconds: int | None = None,
    nodes: int | None = None,
    on: bool = False,
) -> Reply:
    """Send a plan; without actions, plan first and send that. Every action is predicted on disk before it is sent.

    Where no model foresees anything, the first action that changes nothing stops the rest, unless `on`."""
    call.require_proposed()
    target = call.subgoal(subgoal, message)
    given = chosen = actions_of(actions)
    if not chosen:
        if not call.own.admissible:
            raise RefusedError("There is no admissible program to plan in; name the actions, or propose one that verifies.")
        found = call.session.plan(call.member, target, _limits(call, seconds, nodes))
        if isinstance(found, NoPlan):
            raise RefusedError(f"There is no plan to execute: {found.reason} {_no_plan(found)}Name a --subgoal, or probe.")
        chosen = found.actions
    before, count = call.session.observe(), call.session.state.sent
    trajectory, step = len(call.session.record) - 1, len(call.session.record.here)
    blind = not call.own.admissible and not call.session.rules.needs_hypothesis
    watched = blind and not on and len(chosen) > 1
    sent = _one_by_one(call, chosen, target) if watched else call.session.execute(chosen, target, call.member)
    done = call.session.state.sent - count
    head = f"sent {done} of {len(chosen)} actions"
    if done < len(chosen) or not given:
        head += f": {written(chosen[:done], 400) or 'none'}"
    return Reply("\n".join([head, *_outcome(call, sent, before, trajectory, step, done)]), _code(call, sent, done == len(chosen)))


def _one_by_one(call: Call, actions: tuple[Action, ...], target: Subgoal | None) -> Sent:
    """Send them until one changes nothing, or until what a plan ends with. Refused as one, before anything is sent."""
    session = call.session
    refusal = gate.refuses_length(len(actions), session.left)
    for k, action in enumerate(actions):
        refusal = refusal or refuses_action(session.world.spec, session.observe(), action, now=k == 0)
    if refusal:
        raise RefusedError(refusal)
    sent: list[Action] = []
    last = Sent((), None)
    for k, action in enumerate(actions, 1):
        try:
            one = session.execute([action], target, call.member)
        except RefusedError as error:
            if not sent:
                raise
            return replace(last, actions=tuple(sent), halted=str(error))
        sent += one.actions
        last = replace(one, actions=tuple(sent))
        if one.halted or session.ended or one.observation is None or one.observation.status is not Status.RUNNING:
            return last
        still = changed_nothing(session.record) if k < len(actions) else ""
        if still:
            return replace(last, halted=f"stopped after {k} of {len(actions)}: action {k} changed {still} (--on sends all)")
    return last


def probe(call: Call, action: str, message: str) -> Reply:
    """Send one action to learn something, with the question it answers."""
    chosen = actions_of([action])
    if len(chosen) != 1:
        raise UsageError("A probe is one action; give one, or execute a plan.")
    before, count = call.session.observe(), call.session.state.sent
    trajectory, step = len(call.session.record) - 1, len(call.session.record.here)
    sent = call.session.probe(chosen[0], message, call.member)
    done = call.session.state.sent - count
    return Reply("\n".join(_outcome(call, sent, before, trajectory, step, done)), _code(call, sent, done == 1))


def reset(call: Call, message: str, whole: bool = False) -> Reply:
    """Start the level anew; costs an action. --whole: even where that restarts the whole game."""
    before = call.session.observe()
    member = None if call.session.record.needs_reset else call.member
    sent = call.session.reset(message, whole, member)
    seen = sent.observation or before
    told = f"level {seen.level} anew, trajectory {len(call.session.record) - 1}: {frame_text.difference(before.frame, seen.frame)}"
    if call.member in sent.falsified:
        told += f"\nyour model is falsified: {reason_of(call.own.verdict)}"
    return Reply(f"{told}{_end(call)}")


def _outcome(call: Call, sent: Sent, before: Observation, trajectory: int, step: int, done: int) -> list[str]:
    """What came of it, the difference that the last action made first; a right prediction needs no more words than that."""
    lines = []
    there = call.session.record.trajectories[trajectory]
    predicted = bool(sent.falsified) or call.own.admissible
    if done > 1 and not predicted:  # nobody foresaw the ones between
        block = there.settled[step : step + done + 1]
        cells = [f"{number:,}" for number in (block[1:] != block[:-1]).sum(axis=(1, 2)).tolist()]
        if there.statuses[step + done] is Status.COMPLETED:
            cells[-1] = "completed"
        groups = [(number, len(list(alike))) for number, alike in groupby(cells)]
        told = ", ".join(f"{number} x{times}" if times > 1 else number for number, times in groups[:GROUPS])
        rest = sum(times for _, times in groups[GROUPS:])
        lines.append(f"cells changed by each: {told}" + (f" (and by {rest} more)" if rest else ""))
    if done and sent.observation is not None:
        last = step + done
        earlier = before if done == 1 else Observation((there.frame(last - 1),), Status.RUNNING, before.level, before.available)
        lines.append(came(earlier, sent.observation, f"{trajectory}.{last}", ended=bool(call.session.ended)))
    if call.member in sent.falsified:
        verdict = call.own.verdict
        what = "a prediction was wrong, and nothing more was sent" if done else "nothing was sent"
        lines.append(f"{what}; your model is falsified: {reason_of(verdict) or sent.halted}")
    elif call.own.admissible and done:
        lines.append("as predicted")
    elif sent.halted and not call.session.ended:
        lines.append(sent.halted if sent.halted.startswith("stopped") else f"halted: {sent.halted}")
    return [*lines, *filter(None, [_end(call).strip()])]


def _code(call: Call, sent: Sent, whole: bool) -> int:
    completed = sent.observation is not None and sent.observation.status is Status.COMPLETED
    return OK if (whole or completed or call.session.ended) and call.member not in sent.falsified else REFUSED


def _end(call: Call) -> str:
    session = call.session
    if session.ended:
        return f"\nThe run has ended: {session.ended}."
    return f"\n{session.left:,} actions left"


# -- words -----------------------------------------------------------------------------------------------------------------------


def note(call: Call, words: Sequence[str]) -> str:
    """Keep a sentence: it stands in ./law brief."""
    text = " ".join(words).strip()
    if not text:
        raise UsageError("A note needs words.")
    if len(text) > 2000:
        raise RefusedError(f"A note of {len(text):,} characters is too long; keep it under 2,000.")
    call.session.note(text)
    return "kept"


def finish(call: Call, message: str) -> str:
    """End the run for good."""
    if call.session.ended:
        return f"The run had already ended: {call.session.ended}; nothing to finish."
    call.session.finish(Ending.FINISHED, message)
    return "The run has ended: finished."


def python(call: Call, words: Sequence[str] = (), code: str | None = None) -> str:
    """Run code over the record in the sandbox."""
    if code is None:
        if len(words) != 1:
            raise UsageError("Give one file of your workspace, or --code CODE, or - and the code on stdin.")
        code = call.stdin if words[0] == "-" else call.workspace.read(words[0])
    if not code.strip():
        raise UsageError("There is no code to run.")
    return call.session.python(code) or "(nothing was printed)"


def subgoal_source(text: str, call: Call) -> str:
    """Source of `def subgoal(state)`: as given, out of a file of the workspace, or made of an expression over `state`."""
    if "def subgoal" in text:
        return text
    if text.endswith(".py") and call.workspace.has(text):
        return call.workspace.read(text, 100_000)
    if "\n" in text or "state" not in text:
        raise UsageError("A subgoal is an expression over `state`, a file of your workspace, or the source of def subgoal(state).")
    return f"def subgoal(state):\n    return bool({text})\n"


def named_subgoal(text: str | None, message: str, call: Call) -> Subgoal | None:
    if text is None:
        return None
    return Subgoal(subgoal_source(text, call), message or text[:200])


def unfit_to_act(call: Call) -> str | None:
    """Why the gate refuses a plan although the program in memory would do: what stands in the workspace is something else."""
    session, accepted = call.session, call.own.hypothesis
    if not session.rules.needs_hypothesis or accepted is None or not call.own.admissible:
        return None  # the session refuses by itself, or asks for no hypothesis
    try:
        changed = differing(accepted, call.workspace_hypothesis())
    except RefusedError as error:
        return (
            f"{error} What was accepted as version {call.own.version} is not what stands there: ./law restore, or mend and propose."
        )
    if changed:
        return (
            f"{', '.join(changed)} changed since version {call.own.version} was accepted; ./law propose it first, "
            "or ./law restore what was accepted."
        )
    return None
