"""How a prediction failed, for a mind: differing cells grouped into rectangles, and a paragraph."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from lawbook.core import perception
from lawbook.core.record import Action, Frame, Status
from lawbook.core.results import Counterexample, MismatchRegion, Prediction

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


def build_counterexample(
    predicted: Prediction,
    observed: Prediction,
    *,
    trajectory: int,
    step: int,
    level: int,
    action: Action | None,
    before: Frame,
    compares_frame: bool,
) -> Counterexample:
    """Build the counterexample for a prediction that differs from what was observed; what the numbers mean is said there.

    before: settled frame before the action, H x W uint8 (at step 0 nothing was before, and it is not used). compares_frame: False
    where frames are not compared.
    """
    previous_frame = before if step else None
    mismatch_mask = observed.frame != predicted.frame if compares_frame else np.zeros(observed.frame.shape, dtype=np.bool_)
    if predicted.open_cells is not None:
        mismatch_mask &= predicted.open_cells == 0
    regions = _find_regions(mismatch_mask, previous_frame, observed.frame, predicted.frame)
    sentences = [_describe_place(trajectory, step, level, action), _describe_status(observed.status, predicted)]
    if regions:
        sentences += [_describe_cells(regions, mismatch_mask, previous_frame, observed.frame, predicted.frame)]
    return Counterexample(
        trajectory=trajectory,
        step=step,
        level=level,
        action=action,
        expected=observed.status,
        predicted=predicted.status,
        cells=int(mismatch_mask.sum()),
        regions=tuple(regions[:MAX_REGIONS]),
        text=" ".join(sentences),
    )


def _find_regions(
    mismatch_mask: npt.NDArray[np.bool_], before: Frame | None, expected: Frame, predicted: Frame
) -> list[MismatchRegion]:
    """All regions, the largest first."""
    if before is None:
        return [
            MismatchRegion(*region[:5], (), *region.colours) for region in perception.regions(mismatch_mask, expected, predicted)
        ]
    return [
        MismatchRegion(*region[:5], *region.colours) for region in perception.regions(mismatch_mask, before, expected, predicted)
    ]


def _describe_place(trajectory: int, step: int, level: int, action: Action | None) -> str:
    location = f"Trajectory {trajectory} (level {level})"
    if step == 0:
        return f"{location}, the first rendering, before any action."
    return f"{location}, step {step}, action {action}; everything before it was reproduced."


def _describe_status(expected: Status, predicted: Prediction) -> str:
    if expected is predicted.status:
        return f"The status is {expected}, as predicted."
    if predicted.allows(expected):
        return f"The status is {expected}, which was left possible."
    if predicted.alternatives:
        return f"The status is {expected}, and only {' or '.join(sorted(predicted.statuses))} was left possible."
    return f"The status is {expected}, but {predicted.status} was predicted: {_HINTS[expected, predicted.status]}"


def _describe_cells(
    regions: list[MismatchRegion], mismatch_mask: npt.NDArray[np.bool_], before: Frame | None, expected: Frame, predicted: Frame
) -> str:
    """What to say of the differing cells: how they are wrong, region by region, and what they have in common."""
    sentences = [f"{mismatch_mask.sum()} of {mismatch_mask.size} cells are wrong."]
    groups = sorted(perception.groups(mismatch_mask, diagonal=True), key=len, reverse=True)  # in the order of the regions
    for region, cells in list(zip(regions, groups, strict=True))[:MAX_REGIONS]:
        changes = Counter(
            (None if before is None else int(before[cell]), int(expected[cell]), int(predicted[cell])) for cell in cells
        )
        change_texts = [_describe_change(count, *change) for change, count in changes.most_common(_MAX_CHANGES)]
        if len(changes) > _MAX_CHANGES:
            change_texts.append(f"and {len(changes) - _MAX_CHANGES} more kinds of change")
        location = f"{_format_span('Row', region.top, region.bottom)}, {_format_span('column', region.left, region.right)}"
        sentences.append(f"{location}: {', '.join(change_texts)}.")
    rest = regions[MAX_REGIONS:]
    if rest:
        sentences.append(f"And {sum(region.cells for region in rest)} cells in {len(rest)} more regions.")
    if before is not None:
        if np.array_equal(predicted, before):
            sentences.append("Predicted was that nothing changes.")
        elif np.array_equal(predicted[mismatch_mask], before[mismatch_mask]):
            sentences.append("All of these are changes that were missed.")
        elif np.array_equal(expected[mismatch_mask], before[mismatch_mask]):
            sentences.append("None of these cells changed, though a change was predicted.")
    return " ".join(sentences)


def _describe_change(count: int, before: int | None, expected: int, predicted: int) -> str:
    if before is None:
        outcome = f"is {expected}" if count == 1 else f"are {expected}"
    else:
        outcome = f"stayed {expected}" if before == expected else f"went from {before} to {expected}"
    return f"{count} {outcome} (predicted {predicted})"


def _format_span(name: str, first: int, last: int) -> str:
    return f"{name} {first}" if first == last else f"{name}s {first}-{last}"
