"""Members over one record: behavioural classes of plans (Eq. 32), the uniform draw among them (Eq. 33), and where members part."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2

from lawbook.core.record import Action, Status
from lawbook.core.results import Plan, Prediction
from lawbook.verification.comparison import are_compatible

UNIFORM, DISAGREE = "uniform", "disagree"
POLICIES = (UNIFORM, DISAGREE)
"""uniform: a class of plans is drawn, each as likely (Eq. 33). disagree: the cheapest action on which members disagree most."""


def group_plans(plans: Mapping[int, Plan]) -> list[list[int]]:
    """Group members by identical nonempty plans, in order of their first member. Empty plans belong to no class."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for member in sorted(plans):
        if plans[member].actions:
            groups.setdefault(plans[member].actions, []).append(member)
    return list(groups.values())


def draw_class(groups: list[list[int]], seed: int, n_draws: int) -> int:
    """Index of one class, uniformly; a function of the run's seed and how many draws came before."""
    return random.Random(f"draw:{seed}:{n_draws}").randrange(len(groups))


def draw_explorer(members: list[int], seed: int, n_actions: int) -> int:
    """Draw the member that explores when none has a plan, uniformly; a function of the seed and how many actions came before."""
    return random.Random(f"explorer:{seed}:{n_actions}").choice(members)


@dataclass(frozen=True)
class DisagreementCandidate:
    """Something that could be sent, and where members part on it.

    actions: one, or a whole plan. class_index: index of the class whose plan it is; None: a single action, to be sent as a probe.
    parts: members by what they foresee (frame and status) of the first action on which they do not all foresee the same; one part
    where they agree to the end. split_step: how many actions that takes. recovery_cost: actions that it costs besides, where one
    of them foresees a game over there: a reset and the way back.
    """

    actions: tuple[Action, ...]
    class_index: int | None
    parts: tuple[tuple[int, ...], ...]
    split_step: int
    recovery_cost: int = 0

    @property
    def information_bits(self) -> float:
        """The entropy, in bits, of the parts into which that action splits the members, each as likely to be right."""
        total = sum(map(len, self.parts))
        return -sum(len(part) / total * log2(len(part) / total) for part in self.parts)


def build_disagreement(
    actions: tuple[Action, ...], class_index: int | None, member_predictions: Mapping[int, Sequence[Prediction]], recovery_cost: int
) -> DisagreementCandidate:
    """Build a way with what members foresee of it: for each member, one prediction an action (fewer where its program fails).

    recovery_cost: actions that a game over costs from here.
    """
    for step in range(len(actions)):
        parts: list[list[tuple[int, Prediction | None]]] = []
        for member, predictions in member_predictions.items():
            prediction = predictions[step] if step < len(predictions) else None
            part = next((part for part in parts if all(_agree(prediction, other) for _, other in part)), None)
            if part is None:
                parts.append(part := [])
            part.append((member, prediction))
        if len(parts) > 1:
            any_over = any(one is not None and one.status is Status.OVER for part in parts for _, one in part)
            members = tuple(tuple(member for member, _ in part) for part in parts)
            return DisagreementCandidate(actions, class_index, members, step + 1, recovery_cost * any_over)
    return DisagreementCandidate(actions, class_index, (tuple(member_predictions),), len(actions))


def _agree(one: Prediction | None, other: Prediction | None) -> bool:
    """Whether what came could bear out both; who leaves a cell open abstains. None: a program that fails there."""
    if one is None or other is None:
        return one is other
    return are_compatible(one, other)


def choose_disagreement(disagreements: Sequence[DisagreementCandidate]) -> DisagreementCandidate:
    """Choose which way to take.

    A plan that every member foresees to complete the level settles it, the shortest of those; else the way whose action of parting
    tells most, of these the one that gets there soonest, a plan before a mere probe.
    """
    unanimous = [
        disagreement for disagreement in disagreements if disagreement.class_index is not None and len(disagreement.parts) == 1
    ]
    if unanimous:
        return min(unanimous, key=lambda disagreement: len(disagreement.actions))
    return min(
        disagreements,
        key=lambda disagreement: (
            -round(disagreement.information_bits, 9),
            disagreement.split_step + disagreement.recovery_cost,
            disagreement.class_index is None,
            len(disagreement.actions),
        ),
    )
