"""Claims: of the cells that changed, how many were claimed and rightly so; and how often a claim was wrong. From a ledger alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from lawbook.core.record import RESET, Action, Frame, Observation, Status
from lawbook.core.results import Prediction
from lawbook.ledger.contents import load_observation, load_prediction
from lawbook.ledger.events import EventKind, IntendEvent, ObserveEvent
from lawbook.ledger.ledger import Ledger
from lawbook.verification.comparison import is_frame_comparable, is_right


@dataclass
class ChangedCells:
    """Cells that changed: n_right and n_wrong of them were claimed, n_open were not."""

    n_right: int = 0
    n_wrong: int = 0
    n_open: int = 0

    @property
    def n_cells(self) -> int:
        """How many there are."""
        return self.n_right + self.n_wrong + self.n_open

    @property
    def claimed_share(self) -> float | None:
        """Share of them that were claimed, rightly or not, 0 to 1; None where nothing changed."""
        return (self.n_right + self.n_wrong) / self.n_cells if self.n_cells else None

    def add(self, other: ChangedCells) -> None:
        """Add the cells of another count."""
        self.n_right += other.n_right
        self.n_wrong += other.n_wrong
        self.n_open += other.n_open


@dataclass
class ClaimCounts:
    """The claims of one program, or of a line of them, over some steps.

    n_steps: steps of which something could be compared. n_wrong_steps: those of which something claimed was not so.
    first_seen: changed cells of pairs (level, frame, action) that had not been seen before; changed: those of all steps.
    """

    n_steps: int = 0
    n_wrong_steps: int = 0
    first_seen: ChangedCells = field(default_factory=ChangedCells)
    changed: ChangedCells = field(default_factory=ChangedCells)

    @property
    def wrong_per_thousand(self) -> float:
        """Steps with a wrong claim, of a thousand; 0 where there are no steps."""
        return 1000 * self.n_wrong_steps / self.n_steps if self.n_steps else 0.0

    def to_json(self) -> dict[str, int | float | None]:
        """Return the figures by name: shares from 0 to 1, None where nothing changed."""
        return {
            "steps": self.n_steps,
            "wrong_per_1000": round(self.wrong_per_thousand, 3),
            "first_seen_cells": self.first_seen.n_cells,
            "first_seen_claimed": self.first_seen.claimed_share,
            "changed_cells": self.changed.n_cells,
            "changed_claimed": self.changed.claimed_share,
        }

    def add_step(self, prediction: Prediction | None, before: Frame, observation: Observation, is_first_seen: bool) -> None:
        """Count one step. prediction: None where nothing was claimed of it. before: the settled frame before it, H x W uint8."""
        if observation.status is Status.TRUNCATED:
            return
        cells = count_changed_cells(prediction, before, observation)
        self.n_steps += 1
        self.n_wrong_steps += prediction is not None and has_wrong_claim(prediction, observation)
        self.changed.add(cells)
        if is_first_seen:
            self.first_seen.add(cells)


def has_wrong_claim(prediction: Prediction, observation: Observation) -> bool:
    """Say whether something that a prediction claims was not so: the status, or a cell where the frame can be compared."""
    return is_right(prediction, observation.frame, observation.status) is False


def count_changed_cells(prediction: Prediction | None, before: Frame, observation: Observation) -> ChangedCells:
    """Count the cells that a step changed, by what was claimed of them; none of a step whose frame is not compared."""
    if not is_frame_comparable(observation.status):
        return ChangedCells()
    changed = before != observation.frame
    n_changed = int(changed.sum())
    if prediction is None:
        return ChangedCells(n_open=n_changed)
    is_open = np.zeros_like(changed) if prediction.open_cells is None else prediction.open_cells != 0
    n_open = int((changed & is_open).sum())
    n_right = int((changed & ~is_open & (prediction.frame == observation.frame)).sum())
    return ChangedCells(n_right, n_changed - n_open - n_right, n_open)


class PredictedStep(NamedTuple):
    """One step of a run: the level (from 0) and the frame before it, what was done, what was foretold, what came."""

    level: int
    before: Frame
    action: Action
    prediction: Prediction | None
    observation: Observation


def count_claims(ledger: Ledger, member: int = 0) -> ClaimCounts:
    """Count the claims of a run's member. Raises UsageError for a ledger that cannot be read."""
    counts, known_pairs = ClaimCounts(), set[tuple[int, bytes, Action]]()
    for step in read_predicted_steps(ledger, member):
        pair = step.level, step.before.tobytes(), step.action
        counts.add_step(step.prediction, step.before, step.observation, pair not in known_pairs)
        known_pairs.add(pair)
    return counts


def read_predicted_steps(ledger: Ledger, member: int = 0) -> Iterator[PredictedStep]:
    """Yield every step of a run, resets aside, with what this member foretold of it; None where it foretold nothing."""
    prediction: Prediction | None = None
    last: Observation | None = None
    for event in ledger.read_events([EventKind.INTEND, EventKind.OBSERVE]):
        match event.data:
            case IntendEvent(predictions=predictions):
                outcome = predictions.get(member)
                prediction = None if outcome is None else load_prediction(ledger, outcome)
            case ObserveEvent() as observed:
                action, observation = observed.action, load_observation(ledger, observed)
                if action is not None and action != RESET and last is not None:
                    yield PredictedStep(last.level, last.frame, action, prediction, observation)
                prediction, last = None, observation
