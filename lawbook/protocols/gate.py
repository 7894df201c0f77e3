"""The gate: what must hold before a hypothesis is accepted or an action let through. A refusal says what to do instead."""

from __future__ import annotations

from collections.abc import Sequence

from lawbook.core.hypothesis import Decision, Hypothesis, Proposal
from lawbook.core.record import Record, Status
from lawbook.core.results import Prediction
from lawbook.protocols.protocol import Protocol

MAX_REFUSALS = 5
"""Refused proposals in a row, on one record, before the mind has to wait for new evidence."""


def find_broken_rule(protocol: Protocol, current: Hypothesis | None, admissible: bool, proposal: Proposal) -> str | None:
    """Which decision rule (Eq. 16-18) a proposal breaks, as a sentence that says what to do; None when it keeps them all."""
    candidate = proposal.apply_to(current)
    is_rulebook_changed = candidate.rulebook != (current.rulebook if current else "")
    is_code_changed = current is None or not candidate.has_same_program(current)
    match proposal.decision:
        case Decision.RETAIN:
            if current is None:
                return "There is nothing to retain yet; propose a first rulebook and program."
            if is_rulebook_changed or is_code_changed:
                return "retain changes nothing; to change something choose revise_rulebook or repair_code."
            if not admissible:
                return "retain is no answer to a wrong prediction; choose revise_rulebook or repair_code."
        case Decision.REVISE_RULEBOOK:
            if not protocol.needs_rulebook:
                return "This protocol has no rulebook; choose repair_code and propose files only."
            if not is_rulebook_changed:
                return "revise_rulebook with an unchanged rulebook; change the rulebook first, or choose repair_code."
        case Decision.REPAIR_CODE:
            if is_rulebook_changed:
                return "repair_code leaves the rulebook as it is; to change it choose revise_rulebook."
            if protocol.needs_rulebook and not candidate.rulebook.strip():
                return "There is no rulebook yet; choose revise_rulebook and write one."
            if not is_code_changed:
                return "repair_code with unchanged files; change the program, or choose retain if it has not been wrong."
        case Decision.SIMPLIFY:
            if current is None or not admissible:
                return "simplify needs an admissible hypothesis; mend this one first."
            if candidate.description_bytes >= current.description_bytes:
                return (
                    f"simplify must be shorter: {candidate.description_bytes:,} bytes against {current.description_bytes:,} "
                    "(rulebook plus program without comments)."
                )
    if protocol.needs_rulebook and not candidate.rulebook.strip():
        return "The rulebook is empty; write down the rules that the program implements."
    return None


def explain_plan_refusal(protocol: Protocol, admissible: bool) -> str | None:
    """Why a plan may not be executed now; None when it may."""
    if protocol.needs_hypothesis and not admissible:
        return "No admissible hypothesis: propose one that verifies on the whole record, or send a single probe."
    return None


def explain_length_refusal(n_actions: int, actions_left: int) -> str | None:
    """Why a sequence of that many actions may not be executed; None when it may."""
    if n_actions == 0:
        return "There is nothing to execute; give at least one action."
    if n_actions > actions_left:
        return f"That plan takes {n_actions} actions and {actions_left} are left in the budget; find a shorter way."
    return None


def explain_end_refusal(
    protocol: Protocol, predictions: Sequence[Prediction], holds: bool | None, target: str, is_goal: bool
) -> str | None:
    """Why a rolled plan may not be executed: it must be predicted to run to its end, and to end in its target. None when it may.

    holds: whether the target holds at the end; None: the program does not know, which is an aim of its own where a protocol lets
    programs say so and the target is the goal (is_goal).
    """
    early_end = next((k for k, one in enumerate(predictions[:-1], 1) if not one.allows(Status.RUNNING)), None)
    if early_end is not None:
        status = predictions[early_end - 1].status
        return f"Action {early_end} of that plan is predicted to end the level ({status}); stop the plan there."
    if holds is None and protocol.allows_open and is_goal:
        return None
    if not holds:
        return f"That plan is not predicted to end in {target}; plan again, name a subgoal it reaches, or send a single probe."
    return None


def explain_plan_change(predictions: Sequence[Prediction], holds: bool | None, aim: str) -> str | None:
    """Why a plan that is under way is not followed further, after what was seen; None where it still ends in its aim.

    predictions: of what is left of it; holds: whether its aim holds at the end of that. aim: goal, subgoal or frontier, which
    a goal is better than.
    """
    if aim == "frontier" and holds is True:
        holds = None
    early_end = next((k for k, one in enumerate(predictions[:-1], 1) if not one.allows(Status.RUNNING)), None)
    if early_end is None and holds is (None if aim == "frontier" else True):
        return None
    targets = {"subgoal": "its subgoal", "frontier": "a state of which it is not known whether it is a goal"}
    target = targets.get(aim, "the goal")
    if early_end is not None:
        return f"After what was seen, action {early_end} of what is left of the plan is predicted to end the level; plan again."
    return f"After what was seen, what is left of the plan is no longer predicted to end in {target}; plan again."


def explain_probe_refusal(protocol: Protocol, is_predicted: bool, n_unpredicted: int, budget: int, question: str) -> str | None:
    """Why a probe may not be sent now; None when it may. n_unpredicted: actions already sent with prediction NONE."""
    if protocol.needs_reason and not question.strip():
        return "A probe needs the question it answers; say what you expect to learn."
    allowance = protocol.get_allowance(budget)
    if not is_predicted and allowance is not None and n_unpredicted >= allowance:
        return f"All {allowance} actions that may go without a prediction are spent; propose a hypothesis that verifies."
    return None


def explain_reset_refusal(record: Record, whole_game: bool) -> str | None:
    """Why RESET may not be sent now. With no action since the level began it would restart the whole game, or do nothing."""
    if not whole_game and not record.needs_reset and len(record.current) == 0:
        return "Nothing has been done since this level began, so a reset could restart the whole game; say so if it is meant."
    return None
