"""Does a program still see a way through every level that was completed? Asked after it changed; nothing is sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from lawbook.core.record import Record, Status, Trajectory
from lawbook.core.results import Limits, Plan, ProgramError
from lawbook.planning.live_prediction import retry_on_host_fault
from lawbook.planning.planner import find_plan
from lawbook.sandbox.host import Program

QUICK_LIMITS = Limits(nodes=5_000, seconds=5.0)
"""Of the pass that follows every accepted change: what it costs is not to be noticed."""


@dataclass(frozen=True)
class ReplanResult:
    """One completed level, from 0. recorded_length: actions it took from its recorded start; planned_length: those of the plan
    found now, None without one; reason: then why there is none; exhausted: all that it tries in so many actions was searched."""

    level: int
    recorded_length: int
    planned_length: int | None
    reason: str = ""
    exhausted: bool = False


def replan_completed_levels(
    program: Program, record: Record, clicks: Sequence[int] = (), limits: Limits = QUICK_LIMITS
) -> list[ReplanResult]:
    """Re-plan every completed level inside the program, from the start of the trajectory that completed it first.

    A plan may be as long as what completed the level: a program that verifies knows that way, so one that finds none does not try
    those actions (`actions`), merges states that differ (`key`), or has too much to search.
    """
    return [_replan_level(program, trajectory, clicks, limits) for trajectory in find_completing_trajectories(record)]


def find_completing_trajectories(record: Record) -> Iterator[Trajectory]:
    """Find the first completing trajectory of every completed level, in order of level."""
    by_level: dict[int, Trajectory] = {}
    for trajectory in record:
        if trajectory.last.status is Status.COMPLETED:
            by_level.setdefault(trajectory.first.level, trajectory)
    yield from (by_level[level] for level in sorted(by_level))


def _replan_level(program: Program, trajectory: Trajectory, clicks: Sequence[int], limits: Limits) -> ReplanResult:
    level, recorded_length = trajectory.first.level, len(trajectory)
    depth = recorded_length if limits.depth is None else min(recorded_length, limits.depth)
    result = retry_on_host_fault(
        find_plan, program, Trajectory(trajectory.first, trajectory.earlier), replace(limits, depth=depth), clicks=clicks
    )
    match result:
        case Plan():
            return ReplanResult(level, recorded_length, len(result.actions))
        case ProgramError():
            return ReplanResult(level, recorded_length, None, result.reason)
    return ReplanResult(level, recorded_length, None, result.reason, result.cut in (None, "depth"))


def describe_regressions(planned_before: set[int], results: Sequence[ReplanResult]) -> str:
    """Describe the levels that a changed program plans no more, or cannot plan, for its mind.

    planned_before: levels that the program before it plans. Empty when there is nothing to tell. Levels are told as minds count:
    from 0.
    """
    regressions = [
        result for result in results if result.planned_length is None and (result.level in planned_before or result.exhausted)
    ]
    if not regressions:
        return ""
    details = "; ".join(
        f"level {result.level} (completed in {result.recorded_length} actions): {result.reason.rstrip('.')}"
        for result in regressions
    )
    return f"This program sees no way any more through levels that were completed: {details}."
