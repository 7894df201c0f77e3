"""How a prediction failed, for a mind: differing cells grouped into rectangles, and a paragraph."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from lawbook.core import perception
from lawbook.core.record import Action, Frame, Status
from lawbook.core.results import Counterexample, Prediction, Region

MAX_REGIONS = 12
"""Most regions that are kept; the text says how many more there are."""
_MAX_CHANGES = 4
"""Most kinds of change that are told of one region."""

_HINTS = {
    (Status.COMPLETED, Status.RUNNING): "is_goal must hold after this step.",
    (Status.COMPLETED, Status.OVER): "is_goal must hold after this step, not is_over.",
    (Status.OVER, Status.RUNNING): "is_over must hold after this step.",
    (Status.OVER, Status.COMPLETED): "is_over must hold after this step, not is_goal.",
    (Status.RUNNING, Status.COMPLETED): "is_goal must not hold here.",
    (Status.RUNNING, Status.OVER): "is_over must not hold here.",
}


def describe(
    predicted: Prediction,
    observed: Prediction,
    *,
    trajectory: int,
    step: int,
    level: int,
    action: Action | None,
    before: Frame,
    framed: bool,
) -> Counterexample:
    """The counterexample for a prediction that differs from what was observed; what the numbers mean is said there.

    before: settled frame before the action, H x W uint8 (at step 0 nothing was before, and it is not used). framed: False where
    frames are not compared.
    """
    was = before if step else None
    differs = observed.frame != predicted.frame if framed else np.zeros(observed.frame.shape, dtype=np.bool_)
    regions = _regions(differs, was, observed.frame, predicted.frame)
    said = [_place(trajectory, step, level, action), _status(observed.status, predicted.status)]
    if regions:
        said += [_frame(regions, differs, was, observed.frame, predicted.frame)]
    return Counterexample(
        trajectory=trajectory,
        step=step,
        level=level,
        action=action,
        expected=observed.status,
        predicted=predicted.status,
        cells=int(differs.sum()),
        regions=tuple(regions[:MAX_REGIONS]),
        text=" ".join(said),
    )


def _regions(differs: npt.NDArray[np.bool_], before: Frame | None, expected: Frame, predicted: Frame) -> list[Region]:
    """All regions, the largest first."""
    if before is None:
        return [Region(*found[:5], (), *found.colours) for found in perception.regions(differs, expected, predicted)]
    return [Region(*found[:5], *found.colours) for found in perception.regions(differs, before, expected, predicted)]


def _place(trajectory: int, step: int, level: int, action: Action | None) -> str:
    where = f"Trajectory {trajectory} (level {level})"
    if step == 0:
        return f"{where}, the first rendering, before any action."
    return f"{where}, step {step}, action {action}; everything before it was reproduced."


def _status(expected: Status, predicted: Status) -> str:
    if expected is predicted:
        return f"The status is {expected}, as predicted."
    return f"The status is {expected}, but {predicted} was predicted: {_HINTS[expected, predicted]}"


def _frame(regions: list[Region], differs: npt.NDArray[np.bool_], before: Frame | None, expected: Frame, predicted: Frame) -> str:
    """What to say of the differing cells: how they are wrong, region by region, and what they have in common."""
    said = [f"{differs.sum()} of {differs.size} cells are wrong."]
    groups = sorted(perception.groups(differs, diagonal=True), key=len, reverse=True)  # in the order of the regions
    for region, cells in list(zip(regions, groups, strict=True))[:MAX_REGIONS]:
        changes = Counter((None if before is None else int(before[at]), int(expected[at]), int(predicted[at])) for at in cells)
        told = [_change(count, *change) for change, count in changes.most_common(_MAX_CHANGES)]
        if len(changes) > _MAX_CHANGES:
            told.append(f"and {len(changes) - _MAX_CHANGES} more kinds of change")
        where = f"{_span('Row', region.top, region.bottom)}, {_span('column', region.left, region.right)}"
        said.append(f"{where}: {', '.join(told)}.")
    rest = regions[MAX_REGIONS:]
    if rest:
        said.append(f"And {sum(region.cells for region in rest)} cells in {len(rest)} more regions.")
    if before is not None:
        if np.array_equal(predicted, before):
            said.append("Predicted was that nothing changes.")
        elif np.array_equal(predicted[differs], before[differs]):
            said.append("All of these are changes that were missed.")
        elif np.array_equal(expected[differs], before[differs]):
            said.append("None of these cells changed, though a change was predicted.")
    return " ".join(said)


def _change(count: int, before: int | None, expected: int, predicted: int) -> str:
    if before is None:
        became = f"is {expected}" if count == 1 else f"are {expected}"
    else:
        became = f"stayed {expected}" if before == expected else f"went from {before} to {expected}"
    return f"{count} {became} (predicted {predicted})"


def _span(name: str, first: int, last: int) -> str:
    return f"{name} {first}" if first == last else f"{name}s {first}-{last}"
