"""Open cells of a prediction: counted by rule, said in a phrase, and left out of a comparison for readers."""

from __future__ import annotations

import numpy as np

from lawbook.core.record import Frame, freeze
from lawbook.core.results import Prediction


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
