"""Acceptance of a proposal: decision rules, shape, exact replay of the whole record, fidelity (Eq. 16-21)."""

from __future__ import annotations

from collections.abc import Callable

from lawbook.core.hypothesis import Decision, Hypothesis, Proposal, validate_files
from lawbook.core.record import Record
from lawbook.core.results import Judgement, ProgramError, Verdict, VerdictKind
from lawbook.planning.live_prediction import retry_on_host_fault
from lawbook.protocols import gate
from lawbook.protocols.protocol import Protocol
from lawbook.runs.state import Member
from lawbook.sandbox.host import Host
from lawbook.verification.replay import verify


def evaluate_proposal(
    proposal: Proposal,
    member: Member,
    record: Record,
    host: Host,
    protocol: Protocol,
    judge: Callable[[Hypothesis], Judgement],
    seed: str = "",
) -> Verdict:
    """Evaluate a proposal of `member`. Changes nothing. `judge` is asked last, and only where fidelity is needed.

    seed: of what the replays draw; the hash of the proposal's event, which nobody knows who proposes.
    """
    violation = proposal.unusable or gate.find_broken_rule(protocol, member.hypothesis, member.admissible, proposal)
    if violation:
        return Verdict(VerdictKind.REFUSED, violation)
    if proposal.decision is Decision.RETAIN:
        # Unfalsified: every transition since it was accepted has been predicted and compared, so nothing is replayed.
        return Verdict(VerdictKind.ADMISSIBLE)
    candidate = proposal.apply_to(member.hypothesis)
    refusal = validate_files(candidate) or _find_earlier_refusal(member, candidate, record.n_actions)
    if refusal:
        return Verdict(VerdictKind.REFUSED, refusal)
    verdict = _replay_candidate(candidate, member, record, host, protocol, seed)
    if not verdict.admissible or not protocol.needs_fidelity:
        return verdict
    judgement = judge(candidate)
    verdict_kind = VerdictKind.ADMISSIBLE if judgement.faithful else VerdictKind.UNFAITHFUL
    return Verdict(verdict_kind, "" if judgement.faithful else judgement.reason, judgement=judgement, replayed=verdict.replayed)


def _replay_candidate(candidate: Hypothesis, member: Member, record: Record, host: Host, protocol: Protocol, seed: str) -> Verdict:
    open_rules = protocol.find_open_rules(candidate.rulebook)
    if member.admissible and member.hypothesis is not None and protocol.is_same_program(candidate, member.hypothesis):
        return Verdict(VerdictKind.ADMISSIBLE)  # only the prose changed
    program = retry_on_host_fault(host.load, candidate.files, open_rules)
    if isinstance(program, ProgramError):
        return Verdict(VerdictKind.FAULT, program.reason, fault=program)
    counterexample = member.verdict.counterexample if member.verdict else None
    first_trajectories = [counterexample.trajectory] if counterexample else []
    return retry_on_host_fault(
        verify, program, record, first=first_trajectories, compared_fields=protocol.compared_fields, seed=seed
    )


def _find_earlier_refusal(member: Member, candidate: Hypothesis, n_actions: int) -> str | None:
    """What was tried on this very record and failed is refused unread. What only had the wrong decision was never tried."""
    for version in reversed(member.history):
        if version.n_actions != n_actions:
            break
        if version.hypothesis == candidate and version.outcome not in (VerdictKind.ADMISSIBLE, VerdictKind.REFUSED):
            return f"The same rulebook and program were refused before, and nothing has been observed since. {version.reason}"
    return None
