"""The Case that a mind is shown, built from the state of the run and nothing else."""

from __future__ import annotations

from lawbook.core.hypothesis import Trigger
from lawbook.minds.base import Case, Interface
from lawbook.protocols.protocol import Protocol
from lawbook.runs.state import State
from lawbook.worlds.world import WorldSpec


def build_case(
    state: State, spec: WorldSpec, protocol: Protocol, *, member: int, budget: int, seed: int, trigger: Trigger | None = None
) -> Case:
    """Build the case of this member. trigger: given for EXPLORE; else what the member is due for."""
    m = state.members[member]
    actions_left, allowance = budget - state.n_actions, protocol.get_allowance(budget)
    return Case(
        interface=Interface(spec.shape, spec.actions, spec.clicks, spec.levels),
        record=state.record,
        trigger=trigger or (Trigger.REFUSED if m.n_refusals else m.trigger) or Trigger.EXPLORE,
        hypothesis=m.hypothesis,
        admissible=m.admissible,
        verdict=m.verdict,
        refusal=m.explore_refusal,
        budget_left=actions_left,
        probes_left=actions_left if allowance is None else min(actions_left, allowance - state.n_unpredicted),
        member=member,
        population=len(state.members),
        call=m.n_calls,
        seed=seed,
        needs_rulebook=protocol.needs_rulebook,
        history=tuple(m.history),
        peer_actions=tuple(m.peer_actions),
        notes=tuple(state.notes),
        rivals=tuple(rival.hypothesis for rival in state.members if rival is not m and rival.hypothesis),
        no_plan=m.no_plan_reason if m.admissible else "",
        allows_open=protocol.allows_open,
    )
