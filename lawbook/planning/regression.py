"""Does a program still see a way through every level that was completed? Asked after it changed; nothing is sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from lawbook.core.record import Record, Status, Trajectory
from lawbook.core.results import Fault, Limits, Plan
from lawbook.planning.live_prediction import patiently
from lawbook.planning.planner import find_plan
from lawbook.sandbox.host import Program

QUICK = Limits(nodes=5_000, seconds=5.0)
"""Of the pass that follows every accepted change: what it costs is not to be noticed."""


@dataclass(frozen=True)
class Replanned:
    """One completed level, from 0. recorded: actions it took from its recorded start; planned: those of the plan found now, None
    without one; reason: then why there is none; exhausted: all that it tries in so many actions was searched."""

    level: int
    recorded: int
    planned: int | None
    reason: str = ""
    exhausted: bool = False


def regress(program: Program, record: Record, clicks: Sequence[int] = (), limits: Limits = QUICK) -> list[Replanned]:
    """Re-plan every completed level inside the program, from the start of the trajectory that completed it first.

    A plan may be as long as what completed the level: a program that verifies knows that way, so one that finds none does not try
    those actions (`actions`), merges states that differ (`key`), or has too much to search.
    """
    return [_replanned(program, trajectory, clicks, limits) for trajectory in completed(record)]


def completed(record: Record) -> Iterator[Trajectory]:
    """The first completing trajectory of every completed level, in order of level."""
    found: dict[int, Trajectory] = {}
    for trajectory in record:
        if trajectory.last.status is Status.COMPLETED:
            found.setdefault(trajectory.first.level, trajectory)
    yield from (found[level] for level in sorted(found))


def _replanned(program: Program, trajectory: Trajectory, clicks: Sequence[int], limits: Limits) -> Replanned:
    level, taken = trajectory.first.level, len(trajectory)
    depth = taken if limits.depth is None else min(taken, limits.depth)
    found = patiently(find_plan, program, Trajectory(trajectory.first), replace(limits, depth=depth), clicks=clicks)
    match found:
        case Plan():
            return Replanned(level, taken, len(found.actions))
        case Fault():
            return Replanned(level, taken, None, found.reason)
    return Replanned(level, taken, None, found.reason, found.cut in (None, "depth"))


def report(before: set[int], now: Sequence[Replanned]) -> str:
    """What a mind is told after its program changed: levels it planned before and does not now, and those that it cannot plan.

    before: levels that the program before it plans. Empty when there is nothing to tell. Levels are told as minds count: from 0.
    """
    lost = [one for one in now if one.planned is None and (one.level in before or one.exhausted)]
    if not lost:
        return ""
    told = "; ".join(f"level {one.level} (completed in {one.recorded} actions): {one.reason.rstrip('.')}" for one in lost)
    return f"This program sees no way any more through levels that were completed: {told}."
