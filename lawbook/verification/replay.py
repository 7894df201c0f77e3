"""Exact replay of the whole record (Eq. 20): a Verdict, and the first place where a replay and the record part."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from lawbook.core.record import Record
from lawbook.core.results import Counterexample, InitialObservation, ProgramError, Verdict, VerdictKind
from lawbook.sandbox.host import Program
from lawbook.sandbox.worker_client import Worker
from lawbook.verification.comparison import COMPARED_FIELDS, TrajectoryComparison

_WARM_UP_STEPS = 50
"""Steps of a trajectory that the second replay goes through beforehand where their number is odd: turned round, the lone or the
middle one would come in the same place again, and every one in as even a place as before."""


def verify(
    program: Program,
    record: Record,
    *,
    first: Sequence[int] = (),
    twin: bool = True,
    compared_fields: Collection[str] = COMPARED_FIELDS,
) -> Verdict:
    """Replay every trajectory from its own first observation, initialised once, and compare exactly with what was observed.

    first: trajectories to begin with (the one that failed last). twin: replay a second time in another interpreter with another
    hash seed, the trajectories in the opposite order and every step taken twice, so that set order, time, state that outlives a
    trajectory, and state that a step changes in place or keeps elsewhere show.
    Compared are the first rendering and status of each trajectory, then status and settled frame of each step; of a completing
    step the status only (its frame is the next level's), of a truncated step nothing.

    Returns ADMISSIBLE, COUNTEREXAMPLE or FAULT (`unrepeatable` when two replays differ: a difference from the record that another
    interpreter does not show again is no counterexample). Raises ValueError for an empty record, which would prove nothing, and
    HostError when the host fails.
    """
    if not len(record):
        raise ValueError("there is no trajectory to replay")
    started_at, order = time.perf_counter(), _order_trajectories(len(record), first)
    result, n_replayed = _replay_all(program, record, [(k, None) for k in order], compared_fields)
    if isinstance(result, Counterexample) and twin:
        result = _find_unrepeatable_mismatch(program, record, result, compared_fields) or result
    elif result is None and twin:
        warm_up: list[tuple[int, int | None]] = [(order[0], _WARM_UP_STEPS)] if len(order) % 2 else []
        second_order = [*warm_up, *((k, None) for k in reversed(order))]
        result = _to_unrepeatable_fault(_replay_all(program, record, second_order, compared_fields, twin=True)[0])
    seconds = time.perf_counter() - started_at
    match result:
        case None:
            return Verdict(VerdictKind.ADMISSIBLE, replayed=n_replayed, seconds=seconds)
        case Counterexample():
            return Verdict(VerdictKind.COUNTEREXAMPLE, result.text, counterexample=result, replayed=n_replayed, seconds=seconds)
        case ProgramError():
            return Verdict(VerdictKind.FAULT, result.reason, fault=result, replayed=n_replayed, seconds=seconds)


_ADVICE = "Let nothing depend on the order of sets, on hash or id, on time or chance, or on variables beside the state"


def _replay_all(
    program: Program,
    record: Record,
    order: Iterable[tuple[int, int | None]],
    compared_fields: Collection[str],
    *,
    twin: bool = False,
    twice: bool | None = None,
) -> tuple[Counterexample | ProgramError | None, int]:
    """What one worker's replay of trajectories (index, steps or None for all) finds first, and how many steps it took."""
    worker = program.start_worker(twin=twin)
    if isinstance(worker, ProgramError):
        return worker, 0
    n_replayed = 0
    with worker:
        for index, steps in order:
            comparison = TrajectoryComparison(index, record.trajectories[index], compared_fields, steps)
            result = _replay(worker, comparison, twice=twin if twice is None else twice)
            n_replayed += max(comparison.n_checked - 1, 0)
            if result is not None:
                return result, n_replayed
    return None, n_replayed


def _replay(worker: Worker, comparison: TrajectoryComparison, *, twice: bool) -> Counterexample | ProgramError | None:
    replay = worker.replay(
        InitialObservation.from_observation(comparison.trajectory.first), comparison.actions, check=comparison, twice=twice
    )
    if comparison.counterexample is not None:
        return comparison.counterexample
    if replay.fault is not None:
        location = f"Replaying trajectory {comparison.index} (level {comparison.trajectory.first.level})"
        step_text = f"step {replay.fault.step}" if replay.fault.step else "its start"
        return replace(replay.fault, reason=f"{location}, {step_text}: {replay.fault.reason}", trajectory=comparison.index)
    if comparison.n_checked != len(comparison):
        raise ValueError(f"a replay ended after {comparison.n_checked} of {len(comparison)} renderings without saying why")
    return None


def _find_unrepeatable_mismatch(
    program: Program, record: Record, counterexample: Counterexample, compared_fields: Collection[str]
) -> ProgramError | None:
    """What is to be said of a program that fails otherwise, or not at all, in the other interpreter. None where it fails again."""
    second_result, _ = _replay_all(
        program, record, [(counterexample.trajectory, counterexample.step)], compared_fields, twin=True, twice=False
    )
    if isinstance(second_result, ProgramError) or second_result == counterexample:
        return None
    second_outcome = (
        f"the second time this: {second_result.text}" if second_result else "the second time this trajectory went right."
    )
    return ProgramError(
        "unrepeatable",
        "Replayed twice, in two interpreters with different hash seeds, the program showed different things: "
        f"{counterexample.text} And "
        f"{second_outcome} {_ADVICE}.",
        counterexample.trajectory,
        counterexample.step,
    )


def _to_unrepeatable_fault(result: Counterexample | ProgramError | None) -> ProgramError | None:
    """What the second replay found, said of a program whose first replay was right in everything."""
    if result is None or (isinstance(result, ProgramError) and result.kind in ("time", "memory", "killed")):
        return result
    reason = result.text if isinstance(result, Counterexample) else result.reason
    return ProgramError(
        "unrepeatable",
        "A first replay reproduced the whole record, but a second one, in another interpreter with another hash seed, with the "
        f"trajectories in the opposite order and every step taken twice from its state, did not. {reason} {_ADVICE}; and let step "
        "return a new state and leave the old one as it is.",
        result.trajectory,
        result.step,
    )


def _order_trajectories(n_trajectories: int, first: Sequence[int]) -> list[int]:
    if any(not 0 <= k < n_trajectories for k in first):
        raise ValueError(f"there are {n_trajectories} trajectories, so not all of {list(first)}")
    return list(dict.fromkeys([*first, *range(n_trajectories)]))
