"""What is counted of claims, on frames small enough to count by hand, and over a run's ledger."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lawbook.core.record import Observation, Status, freeze
from lawbook.core.results import Prediction
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.runs.loops import play
from lawbook.sandbox.host import Host
from lawbook.verification.claims import (
    ChangedCells,
    ClaimCounts,
    count_changed_cells,
    count_claims,
    has_wrong_claim,
    read_predicted_steps,
)

BEFORE = freeze(np.array([[1, 1, 1, 1]], np.uint8))


def seen(*cells: int, status: Status = Status.RUNNING) -> Observation:
    return Observation((freeze(np.array([cells], np.uint8)),), status, 0, (1,))


def foretold(*cells: int, statuses: tuple[Status, ...] = (Status.RUNNING,)) -> Prediction:
    """Negative: open under the rule of that number."""
    row = np.array([cells])
    is_open = row < 0
    plane = freeze(np.where(is_open, -row, 0)) if is_open.any() else None
    return Prediction(freeze(np.where(is_open, 0, row)), statuses[0], plane, frozenset(statuses[1:]))


def test_changed_cells_are_right_wrong_or_open() -> None:
    cells = count_changed_cells(foretold(2, 3, -1, 1), BEFORE, seen(2, 2, 2, 1))
    assert cells == ChangedCells(n_right=1, n_wrong=1, n_open=1)
    assert cells.n_cells == 3 and cells.claimed_share == pytest.approx(2 / 3)
    # What was to change and did not is a wrong claim, of a cell that has not changed.
    assert count_changed_cells(foretold(2, 1, 1, 1), BEFORE, seen(1, 1, 1, 1)) == ChangedCells()
    assert has_wrong_claim(foretold(2, 1, 1, 1), seen(1, 1, 1, 1))
    assert count_changed_cells(None, BEFORE, seen(2, 1, 1, 1)) == ChangedCells(n_open=1)
    assert ChangedCells().claimed_share is None


def test_the_frame_of_a_completing_step_is_not_counted() -> None:
    completed = seen(9, 9, 9, 9, status=Status.COMPLETED)
    assert count_changed_cells(foretold(1, 1, 1, 1), BEFORE, completed) == ChangedCells()
    assert has_wrong_claim(foretold(1, 1, 1, 1), completed)
    assert not has_wrong_claim(foretold(1, 1, 1, 1, statuses=(Status.RUNNING, Status.COMPLETED)), completed)


def test_an_open_cell_is_no_wrong_claim_and_a_status_is_a_set() -> None:
    assert not has_wrong_claim(foretold(1, -2, 1, 1), seen(1, 7, 1, 1))
    assert has_wrong_claim(foretold(1, -2, 1, 1), seen(1, 7, 7, 1))
    assert has_wrong_claim(foretold(1, 1, 1, 1), seen(1, 1, 1, 1, status=Status.OVER))
    assert not has_wrong_claim(foretold(1, 1, 1, 1, statuses=(Status.RUNNING, Status.OVER)), seen(1, 1, 1, 1, status=Status.OVER))


def test_steps_are_summed_and_those_first_seen_apart() -> None:
    counts = ClaimCounts()
    counts.add_step(foretold(2, 1, 1, 1), BEFORE, seen(2, 2, 1, 1), True)
    counts.add_step(foretold(2, -1, 1, 1), BEFORE, seen(2, 2, 1, 1), False)
    counts.add_step(None, BEFORE, seen(1, 1, 1, 1), False)
    counts.add_step(foretold(5, 5, 5, 5), BEFORE, seen(2, 2, 1, 1, status=Status.TRUNCATED), True)  # of it nothing is compared
    assert (counts.n_steps, counts.n_wrong_steps) == (3, 1) and counts.wrong_per_thousand == pytest.approx(1000 / 3)
    assert counts.first_seen == ChangedCells(1, 1, 0) and counts.changed == ChangedCells(2, 1, 1)
    assert ClaimCounts().wrong_per_thousand == 0.0


def test_a_ledger_tells_what_was_claimed(tmp_path: Path, host: Host) -> None:
    """Every step is there once, resets are none, and a step with a wrong claim is a mismatch of the run."""
    for protocol in ("memento3", "belief"):
        config = RunConfig("demo:meter?seed=0", mind="induce", protocol=protocol, budget=25)
        with start_run(config, tmp_path / protocol, host=host) as (folder, session):
            play(session)
            n_mismatches = session.state.n_mismatches
            n_steps = sum(len(trajectory) for trajectory in session.record)
        ledger = Ledger.open(folder.path / "ledger.sqlite", readonly=True)
        steps = list(read_predicted_steps(ledger))
        counts = count_claims(ledger)
        ledger.close()
        assert len(steps) == counts.n_steps == n_steps
        assert counts.n_wrong_steps == n_mismatches > 0
        assert counts.changed.n_cells >= counts.first_seen.n_cells > 0
        if protocol == "memento3":  # all of a step is claimed, or nothing
            assert all(step.prediction is None or step.prediction.is_whole for step in steps)
