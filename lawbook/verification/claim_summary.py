"""Claims of a program about the whole record: by rule what it leaves open, and what it claims no longer, or newly."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lawbook.core.record import Frame, Record, Status, Trajectory
from lawbook.core.results import ClaimSummary, InitialObservation, OpenRuleCount, ProgramError
from lawbook.sandbox.host import Program
from lawbook.sandbox.worker_client import Replay
from lawbook.verification.comparison import is_frame_comparable
from lawbook.verification.replay import WorkerChain


def summarise_claims(program: Program, record: Record, previous: Program | None = None) -> ClaimSummary | ProgramError:
    """Replay the record in bulk, observations handed in to the end, and count what is claimed.

    previous: the program of the version before, replayed beside it; where it fails it claims nothing from there on. Of a step that
    completes a level only the status counts, of a truncated one nothing.
    """
    tally = _Tally()
    with WorkerChain(program, False) as workers, WorkerChain(previous or program, False) as earlier_workers:
        for index, trajectory in enumerate(record):
            replay = _replay(workers, trajectory)
            if isinstance(replay, ProgramError):
                return replay
            if replay.fault is not None:
                return replay.fault
            before = None if previous is None else _replay(earlier_workers, trajectory)
            tally.add(index, trajectory, replay, None if isinstance(before, ProgramError) else before)
    return tally.summarise()


def _replay(workers: WorkerChain, trajectory: Trajectory) -> Replay | ProgramError:
    worker = workers.get()
    if isinstance(worker, ProgramError):
        return worker
    n_steps = len(trajectory) - (trajectory.last.status is Status.TRUNCATED)
    start, observations = InitialObservation.from_trajectory(trajectory), trajectory.observations[:n_steps]
    return worker.replay(start, trajectory.actions[:n_steps], observations=observations)


class _Tally:
    """Counts renderings as they are compared."""

    def __init__(self) -> None:
        self._rules: dict[int, list[int]] = {}
        self._n_changed = self._n_open_changed = self._n_lost = self._n_won = 0
        self._lost_at: tuple[int, int] | None = None

    def add(self, index: int, trajectory: Trajectory, replay: Replay, before: Replay | None) -> None:
        """Count one trajectory. before: what the version before showed of it."""
        statuses, settled = trajectory.statuses, trajectory.settled_frames
        for number in range(len(replay.frames)):
            is_comparable = is_frame_comparable(statuses[number])
            open_cells = replay.open_frames.get(number) if is_comparable else None
            if is_comparable and number:
                changed = settled[number] != settled[number - 1]
                self._n_changed += int(changed.sum())
                if open_cells is not None:
                    self._count_rules(open_cells, changed, replay.open_frames.get(number + 1), number + 1 < len(replay.frames))
            if before is not None and number < len(before.frames):
                self._compare(index, number, replay, before, open_cells, is_comparable)

    def _count_rules(self, open_cells: Frame, changed: Frame, next_open: Frame | None, has_next: bool) -> None:
        self._n_open_changed += int((changed & (open_cells > 0)).sum())
        for rule in np.unique(open_cells):
            if rule:
                mask = open_cells == rule
                n_claimed_next = 0 if not has_next else int(mask.sum() if next_open is None else (mask & (next_open == 0)).sum())
                counts = self._rules.setdefault(int(rule), [0, 0, 0])
                for k, n in enumerate((int(mask.sum()), int((mask & changed).sum()), n_claimed_next)):
                    counts[k] += n

    def _compare(
        self, index: int, number: int, replay: Replay, before: Replay, open_cells: Frame | None, is_comparable: bool
    ) -> None:
        n_lost, n_won = _count_differences(open_cells, before.open_frames.get(number) if is_comparable else None)
        possible, was_possible = (_list_statuses(one.statuses[number], one.alternatives, number) for one in (replay, before))
        n_lost += was_possible < possible
        n_won += possible < was_possible
        if n_lost and self._lost_at is None:
            self._lost_at = (index, number)
        self._n_lost += n_lost
        self._n_won += n_won

    def summarise(self) -> ClaimSummary:
        """Return what was counted."""
        rules = tuple(OpenRuleCount(rule, *counts) for rule, counts in sorted(self._rules.items()))
        n_claimed = self._n_changed - self._n_open_changed
        return ClaimSummary(rules, self._n_changed, n_claimed, self._n_lost, self._n_won, self._lost_at)


def _count_differences(now: Frame | None, before: Frame | None) -> tuple[int, int]:
    """Cells that were claimed and are open now, and the other way round."""
    if now is None or before is None:
        return (0 if now is None else int((now > 0).sum())), (0 if before is None else int((before > 0).sum()))
    return int(((now > 0) & (before == 0)).sum()), int(((before > 0) & (now == 0)).sum())


def _list_statuses(status: Status, alternatives: Mapping[int, frozenset[Status]], number: int) -> frozenset[Status]:
    return alternatives.get(number, frozenset()) | {status}
