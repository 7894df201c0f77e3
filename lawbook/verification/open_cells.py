"""Open cells of a prediction: counted by rule, said in a phrase, and left out of a comparison for readers."""

from __future__ import annotations

import numpy as np

from lawbook.core.record import Frame, freeze
from lawbook.core.results import ClaimSummary, Prediction


def fill_open_cells(prediction: Prediction, frame: Frame) -> Frame:
    """Return the predicted frame (H x W uint8) with the cells of `frame` wherever nothing is claimed."""
    if prediction.open_cells is None:
        return prediction.frame
    return freeze(np.where(prediction.open_cells == 0, prediction.frame, frame))


def count_open_cells(prediction: Prediction) -> dict[int, int]:
    """Count the cells left open, by the number k of the rule Uk; empty where every cell is claimed."""
    if prediction.open_cells is None:
        return {}
    numbers, counts = np.unique(prediction.open_cells, return_counts=True)
    return {int(k): int(n) for k, n in zip(numbers, counts, strict=True) if k}


def format_openness(prediction: Prediction) -> str:
    """Say what is left open: `12 cells open (U1 8, U2 4), completed or running`; empty where nothing is."""
    counts = count_open_cells(prediction)
    parts = []
    if counts:
        total = sum(counts.values())
        by_rule = ", ".join(f"U{k} {n:,}" if len(counts) > 1 else f"U{k}" for k, n in counts.items())
        parts.append(f"{total:,} {'cell' if total == 1 else 'cells'} open ({by_rule})")
    if prediction.alternatives:
        parts.append(" or ".join(sorted(status.value for status in prediction.statuses)))
    return ", ".join(parts)


def format_claims(claims: ClaimSummary) -> str:
    """Say what a program claims: `claims 12 of 15 changed cells; U1 leaves 30 cells open (2 changed); 3 claims lost, 5 won`."""
    parts = [f"claims {claims.n_changed_claimed:,} of {claims.n_changed:,} changed cells"]
    parts += [
        f"U{count.rule} leaves {count.n_open:,} {'cell' if count.n_open == 1 else 'cells'} open ({count.n_changed:,} changed, "
        f"{count.n_claimed_next:,} claimed once seen)"
        for count in claims.rules
    ]
    if claims.n_lost or claims.n_won:
        parts.append(f"{claims.n_lost:,} claims lost, {claims.n_won:,} won")
    return "; ".join(parts)
