"""The gate: what must hold before a hypothesis is accepted or an action let through. A refusal says what to do instead."""

from __future__ import annotations

from collections.abc import Sequence

from lawbook.core.hypothesis import Decision, Hypothesis, Proposal
from lawbook.core.record import Record, Status
from lawbook.protocols.protocol import Protocol

ROUNDS = 5
"""Refused proposals in a row, on one record, before the mind has to wait for new evidence."""


def broken_rule(rules: Protocol, current: Hypothesis | None, admissible: bool, proposal: Proposal) -> str | None:
    """Which decision rule (Eq. 16-18) a proposal breaks, as a sentence that says what to do; None when it keeps them all."""
    new = proposal.applied_to(current)
    book_changed = new.rulebook != (current.rulebook if current else "")
    code_changed = current is None or not new.same_program(current)
    match proposal.decision:
        case Decision.RETAIN:
            if current is None:
                return "There is nothing to retain yet; propose a first rulebook and program."
            if book_changed or code_changed:
                return "retain changes nothing; to change something choose revise_rulebook or repair_code."
            if not admissible:
                return "retain is no answer to a wrong prediction; choose revise_rulebook or repair_code."
        case Decision.REVISE_RULEBOOK:
            if not rules.needs_rulebook:
                return "This protocol has no rulebook; choose repair_code and propose files only."
            if not book_changed:
                return "revise_rulebook with an unchanged rulebook; change the rulebook first, or choose repair_code."
        case Decision.REPAIR_CODE:
            if book_changed:
                return "repair_code leaves the rulebook as it is; to change it choose revise_rulebook."
            if rules.needs_rulebook and not new.rulebook.strip():
                return "There is no rulebook yet; choose revise_rulebook and write one."
            if not code_changed:
                return "repair_code with unchanged files; change the program, or choose retain if it has not been wrong."
        case Decision.SIMPLIFY:
            if current is None or not admissible:
                return "simplify needs an admissible hypothesis; mend this one first."
            if new.description_bytes >= current.description_bytes:
                return (
                    f"simplify must be shorter: {new.description_bytes:,} bytes against {current.description_bytes:,} "
                    "(rulebook plus program without comments)."
                )
    if rules.needs_rulebook and not new.rulebook.strip():
        return "The rulebook is empty; write down the rules that the program implements."
    return None


def refuses_plan(rules: Protocol, admissible: bool) -> str | None:
    """Why a plan may not be executed now; None when it may."""
    if rules.needs_hypothesis and not admissible:
        return "No admissible hypothesis: propose one that verifies on the whole record, or send a single probe."
    return None


def refuses_length(actions: int, left: int) -> str | None:
    """Why a sequence of that many actions may not be executed; None when it may."""
    if actions == 0:
        return "There is nothing to execute; give at least one action."
    if actions > left:
        return f"That plan takes {actions} actions and {left} are left in the budget; find a shorter way."
    return None


def refuses_end(statuses: Sequence[Status], holds: bool, target: str) -> str | None:
    """Why a rolled plan may not be executed: it must be predicted to run to its end, and to end in its target. None when it may."""
    early = next((k for k, status in enumerate(statuses[:-1], 1) if status is not Status.RUNNING), None)
    if early is not None:
        return f"Action {early} of that plan is predicted to end the level ({statuses[early - 1]}); stop the plan there."
    if not holds:
        return f"That plan is not predicted to end in {target}; plan again, name a subgoal it reaches, or send a single probe."
    return None


def refuses_probe(rules: Protocol, predicted: bool, used: int, budget: int, question: str) -> str | None:
    """Why a probe may not be sent now; None when it may. used: actions already sent with prediction NONE."""
    if rules.needs_reason and not question.strip():
        return "A probe needs the question it answers; say what you expect to learn."
    allowed = rules.allowance(budget)
    if not predicted and allowed is not None and used >= allowed:
        return f"All {allowed} actions that may go without a prediction are spent; propose a hypothesis that verifies."
    return None


def refuses_reset(record: Record, whole: bool) -> str | None:
    """Why RESET may not be sent now. With no action since the level began it would restart the whole game, or do nothing."""
    if not whole and not record.needs_reset and len(record.here) == 0:
        return "Nothing has been done since this level began, so a reset could restart the whole game; say so if it is meant."
    return None
