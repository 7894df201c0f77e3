"""Members over one record: behavioural classes of plans (Eq. 32) and the uniform draw among classes (Eq. 33)."""

from __future__ import annotations

import random
from collections.abc import Mapping

from lawbook.answers import Plan


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
