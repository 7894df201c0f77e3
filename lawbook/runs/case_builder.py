"""What a mind is shown: one Case, built from the state of the run and nothing else."""

from __future__ import annotations

from lawbook.minds.base import Case, Interface, Why
from lawbook.protocols.protocol import Protocol
from lawbook.runs.state import State
from lawbook.worlds.world import WorldSpec


def build_case(
    state: State, spec: WorldSpec, rules: Protocol, *, member: int, budget: int, seed: int, why: Why | None = None
) -> Case:
    """The case of this member. why: given for EXPLORE; else what the member is due for."""
    m = state.members[member]
    left, allowed = budget - state.sent, rules.allowance(budget)
    return Case(
        interface=Interface(spec.shape, spec.actions, spec.clicks, spec.levels),
        record=state.record,
        why=why or (Why.REFUSED if m.rounds else m.why) or Why.EXPLORE,
        hypothesis=m.hypothesis,
        admissible=m.admissible,
        verdict=m.verdict,
        refusal=m.refusal,
        budget_left=left,
        probes_left=left if allowed is None else min(left, allowed - state.unpredicted),
        member=member,
        population=len(state.members),
        call=m.asked,
        seed=seed,
        needs_rulebook=rules.needs_rulebook,
        history=tuple(m.history),
        news=tuple(m.news),
        notes=tuple(state.notes),
        rivals=tuple(other.hypothesis for other in state.members if other is not m and other.hypothesis),
        no_plan=m.no_plan if m.admissible else "",
    )
