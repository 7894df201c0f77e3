"""RHAE, the score of ARC-AGI-3 (relative human action efficiency): of a level, of a game, of several games."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

MAX_LEVEL_SCORE = 115.0
"""What a level can score at most: fewer actions than people took are worth something, but not without end."""


class LevelResult(NamedTuple):
    """What was spent in a level (a_l) and what people took (h_l). actions are counted whether it was completed or not."""

    actions: int
    baseline: int
    completed: bool


def level_score(level: LevelResult) -> float:
    """Compute 100 e_l = min(115, 100 (h_l / a_l)^2) of a completed level; 0 of one that is not, or took no action (Eq. 36)."""
    if not level.completed or level.actions <= 0:
        return 0.0
    return min(((level.baseline / level.actions) ** 2) * 100, MAX_LEVEL_SCORE)


def game_score(levels: Sequence[LevelResult]) -> float:
    """Compute RHAE of a game, 0 to 100: level scores weighted by level number, at most the share of weights that scored (Eq. 36).

    levels: all levels of the game in order, those never reached included. The same number, to the last bit, as the toolkit's
    EnvironmentScoreCalculator gives for them.
    """
    if not levels:
        return 0.0
    weighted_sum, scoring_weight, total_weight = 0.0, 0, 0
    for weight, level in enumerate(levels, 1):
        score = level_score(level)
        weighted_sum += score * weight  # one by one: `sum` rounds floats otherwise than the toolkit does
        total_weight += weight
        if score > 0:
            scoring_weight += weight
    return min(weighted_sum / total_weight, scoring_weight / total_weight * 100)


def mean_score(games: Sequence[float]) -> float:
    """Compute RHAE over several games: their plain mean; 0 for none."""
    return sum(games) / len(games) if games else 0.0
