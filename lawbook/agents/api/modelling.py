"""What an agent believes, handed to the gate or tried: propose and verify."""

from __future__ import annotations

from lawbook.agents.api.context import CommandContext
from lawbook.agents.api.external_mind import ExternalAgentMind, describe_missing_answers
from lawbook.agents.api.operation import REFUSED, CommandResult
from lawbook.agents.api.status import format_reason, suggest_next_step
from lawbook.agents.api.workspace import FIDELITY, find_changed_files
from lawbook.core.hypothesis import Decision, Hypothesis, Proposal, find_rule_citations, validate_files
from lawbook.core.results import ProgramError, Verdict, VerdictKind
from lawbook.errors import RefusedError
from lawbook.verification.open_cells import format_claims
from lawbook.verification.replay import verify as replayed


def propose(context: CommandContext, decision: str | None = None, message: str = "") -> CommandResult:
    """Hand the workspace's files to the gate: decision rules, the whole record replayed, fidelity. decision: None for the one that
    fits what changed; a word for a change that is not the one that was made gives way to the right one."""
    session, member = context.session, context.member_state
    hypothesis = context.read_hypothesis()
    fitting = infer_decision(context, hypothesis)
    chosen = fitting if decision is None else Decision(decision)
    is_misnamed = chosen in _CHANGES and fitting in _CHANGES and chosen is not fitting
    chosen = fitting if is_misnamed else chosen
    missing = "" if chosen is Decision.RETAIN else find_missing_answers(context, hypothesis)
    if missing:
        raise RefusedError(missing)
    rulebook = hypothesis.rulebook if session.protocol.needs_rulebook else None
    version = member.version
    verdict = session.propose(Proposal(chosen, rulebook, hypothesis.files, message), context.member)
    if not verdict.admissible:
        return CommandResult(f"refused ({verdict.outcome}): {format_reason(verdict)}{_suggest_repair(verdict)}", REFUSED)
    summary = f"accepted as version {member.version}" if member.version != version else f"accepted; version {member.version} stands"
    taken = f" ({chosen}, as the rulebook {'changed' if chosen is Decision.REVISE_RULEBOOK else 'did not'})" if is_misnamed else ""
    steps = f", {verdict.replayed:,} steps replayed exactly" if verdict.replayed else ""
    claims = f"; {format_claims(verdict.claims)}" if verdict.claims is not None else ""
    return CommandResult(f"{summary}{taken}{steps}{claims}. Next: {suggest_next_step(context)}")


_CHANGES = (Decision.REVISE_RULEBOOK, Decision.REPAIR_CODE)


def infer_decision(context: CommandContext, hypothesis: Hypothesis) -> Decision:
    """The decision that says what changed since the last accepted hypothesis: the rulebook, only the program, or nothing."""
    current, needs_rulebook = context.member_state.hypothesis, context.session.protocol.needs_rulebook
    if needs_rulebook and hypothesis.rulebook != (current.rulebook if current else ""):
        return Decision.REVISE_RULEBOOK
    if current is None or not hypothesis.has_same_program(current):
        return Decision.REPAIR_CODE
    return Decision.RETAIN


def _suggest_repair(verdict: Verdict) -> str:
    """What to do about it, where the reason does not say so itself."""
    match verdict.outcome:
        case VerdictKind.COUNTEREXAMPLE:
            return "\nIs the rulebook wrong (revise_rulebook) or only the code (repair_code)? ./law counterexample shows the place."
        case VerdictKind.FAULT:
            return "\nMend the program; ./law verify tries it without proposing."
        case _:
            return ""


def find_missing_answers(context: CommandContext, hypothesis: Hypothesis) -> str:
    """Take the agent's answers per rule, where they are asked for; what is missing of them, as a sentence. They are looked for
    before anything is proposed: a text that was judged and refused is not judged again on the same record, and the answers are no
    part of it."""
    mind = context.session.mind
    if not isinstance(mind, ExternalAgentMind) or mind.judge_mind is not None or not context.session.protocol.needs_fidelity:
        return ""
    mind.fidelity_texts[context.member] = text = context.workspace.read(FIDELITY) if context.workspace.has(FIDELITY) else ""
    return describe_missing_answers(hypothesis, text)


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
    if is_unchanged and context.member_state.admissible:
        advice = "It stands already."
    else:
        missing = find_missing_answers(context, hypothesis)
        advice = f"But before you propose it: {missing}" if missing else "Propose it."
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
