"""What must hold before a proposal is accepted: decision rules, shape, exact replay of the whole record, fidelity (Eq. 16-21)."""

from __future__ import annotations

from collections.abc import Callable

from lawbook.core.hypothesis import Decision, Hypothesis, Proposal, misshapen
from lawbook.core.record import Record
from lawbook.core.results import Fault, Judgement, Outcome, Verdict
from lawbook.planning.live_prediction import patiently
from lawbook.protocols import gate
from lawbook.protocols.protocol import Protocol
from lawbook.runs.state import Member
from lawbook.sandbox.host import Host
from lawbook.verification.replay import verify


def examine(
    proposal: Proposal,
    member: Member,
    record: Record,
    host: Host,
    rules: Protocol,
    judge: Callable[[Hypothesis], Judgement],
) -> Verdict:
    """The gate's answer to a proposal of `member`. Changes nothing. `judge` is asked last, and only where fidelity is needed."""
    broken = proposal.unusable or gate.broken_rule(rules, member.hypothesis, member.admissible, proposal)
    if broken:
        return Verdict(Outcome.REFUSED, broken)
    if proposal.decision is Decision.RETAIN:
        # Unfalsified: every transition since it was accepted has been predicted and compared, so nothing is replayed.
        return Verdict(Outcome.ADMISSIBLE)
    tried = proposal.applied_to(member.hypothesis)
    unusable = misshapen(tried) or _refused_before(member, tried, record.actions)
    if unusable:
        return Verdict(Outcome.REFUSED, unusable)
    verdict = _replayed(tried, member, record, host, rules)
    if not verdict.admissible or not rules.needs_fidelity:
        return verdict
    judgement = judge(tried)
    outcome = Outcome.ADMISSIBLE if judgement.faithful else Outcome.UNFAITHFUL
    return Verdict(outcome, "" if judgement.faithful else judgement.reason, judgement=judgement, replayed=verdict.replayed)


def _replayed(tried: Hypothesis, member: Member, record: Record, host: Host, rules: Protocol) -> Verdict:
    if member.admissible and member.hypothesis is not None and tried.same_program(member.hypothesis):
        return Verdict(Outcome.ADMISSIBLE)  # only the prose changed
    program = patiently(host.load, tried.files)
    if isinstance(program, Fault):
        return Verdict(Outcome.FAULT, program.reason, fault=program)
    failed = member.verdict.counterexample if member.verdict else None
    first = [failed.trajectory] if failed else []
    return patiently(verify, program, record, first=first, compares=rules.compares)


def _refused_before(member: Member, tried: Hypothesis, sent: int) -> str | None:
    """What was tried on this very record and failed is refused unread. What only had the wrong decision was never tried."""
    for version in reversed(member.history):
        if version.at != sent:
            break
        if version.hypothesis == tried and version.outcome not in (Outcome.ADMISSIBLE, Outcome.REFUSED):
            return f"The same rulebook and program were refused before, and nothing has been observed since. {version.reason}"
    return None
