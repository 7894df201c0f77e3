"""Members over one record: behavioural classes of plans (Eq. 32), the uniform draw among them (Eq. 33), and where members part."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2

from lawbook.core.record import Action, Status
from lawbook.core.results import Plan, Prediction

UNIFORM, DISAGREE = "uniform", "disagree"
POLICIES = (UNIFORM, DISAGREE)
"""uniform: a class of plans is drawn, each as likely (Eq. 33). disagree: the cheapest action on which members disagree most."""


def classes(plans: Mapping[int, Plan]) -> list[list[int]]:
    """Members grouped by identical nonempty plans, in order of their first member. Empty plans belong to no class."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for member in sorted(plans):
        if plans[member].actions:
            groups.setdefault(plans[member].actions, []).append(member)
    return list(groups.values())


def draw(groups: list[list[int]], seed: int, number: int) -> int:
    """Index of one class, uniformly; a function of the run's seed and how many draws came before."""
    return random.Random(f"draw:{seed}:{number}").randrange(len(groups))


def explorer(members: list[int], seed: int, number: int) -> int:
    """Which member explores when none has a plan, uniformly; a function of the seed and how many actions came before."""
    return random.Random(f"explorer:{seed}:{number}").choice(members)


@dataclass(frozen=True)
class Way:
    """Something that could be sent, and where members part on it.

    actions: one, or a whole plan. plan: index of the class whose plan it is; None: a single action, to be sent as a probe.
    parts: members by what they foresee (frame and status) of the first action on which they do not all foresee the same; one part
    where they agree to the end. after: how many actions that takes. back: actions that it costs besides, where one of them
    foresees a game over there: a reset and the way back.
    """

    actions: tuple[Action, ...]
    plan: int | None
    parts: tuple[tuple[int, ...], ...]
    after: int
    back: int = 0

    @property
    def bits(self) -> float:
        """What that action tells of who is right, every member being as likely: the entropy of the parts, in bits."""
        total = sum(map(len, self.parts))
        return -sum(len(part) / total * log2(len(part) / total) for part in self.parts)


def way(actions: tuple[Action, ...], plan: int | None, seen: Mapping[int, Sequence[Prediction]], back: int) -> Way:
    """A way with what members foresee of it: for each member, one prediction an action (fewer where its program fails on it).

    back: what a game over costs from here.
    """
    for step in range(len(actions)):
        parts: dict[tuple[Status, bytes] | None, list[int]] = {}
        for member, predictions in seen.items():
            shown = _compared(predictions[step]) if step < len(predictions) else None
            parts.setdefault(shown, []).append(member)
        if len(parts) > 1:
            over = any(shown is not None and shown[0] is Status.OVER for shown in parts)
            return Way(actions, plan, tuple(map(tuple, parts.values())), step + 1, back * over)
    return Way(actions, plan, (tuple(seen),), len(actions))


def _compared(shown: Prediction) -> tuple[Status, bytes]:
    """What a prediction is judged by: of a step that completes the level the status alone."""
    return shown.status, b"" if shown.status is Status.COMPLETED else shown.frame.tobytes()


def disputed(ways: Sequence[Way]) -> Way:
    """Which way to take. A plan that every member foresees to complete the level settles it, the shortest of those; else the way
    whose action of parting tells most, of these the one that gets there soonest, a plan before a mere probe."""
    agreed = [way for way in ways if way.plan is not None and len(way.parts) == 1]
    if agreed:
        return min(agreed, key=lambda way: len(way.actions))
    return min(ways, key=lambda way: (-round(way.bits, 9), way.after + way.back, way.plan is None, len(way.actions)))
