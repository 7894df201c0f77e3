"""The population: when each member could steer and when it was falsified, the classes of plans, and who drove."""

from __future__ import annotations

from typing import Any

from lawbook.view.display_events import PlanStarted
from lawbook.view.formatting import format_one_line, truncate_text
from lawbook.view.run_index import RunIndex

Json = dict[str, Any]
MAX_DRAWS = 200
"""Draws of one answer."""


def describe_members(run_index: RunIndex) -> Json:
    """Describe every member with its spans, versions and misses. Reads to the end.

    A span is (from, to), both in actions; `to` None: still so.
    """
    run_index.read_events()
    return {
        "members": [_describe_member(run_index, index) for index in range(len(run_index.state.members))],
        "draws": len(run_index.plan_draws),
        "drives": [[event.at, event.plan.member, event.n_actions] for event in run_index.plan_draws[-5000:]],
    }


def _describe_member(run_index: RunIndex, index: int) -> Json:
    member = run_index.state.members[index]
    spans: list[list[int | None]] = []
    for at, member_index, admissible in run_index.member_statuses:
        if member_index != index:
            continue
        if admissible:
            spans.append([at, None])
        elif spans:
            spans[-1][1] = at
    proposals = [event for event in run_index.proposals if event.member == index]
    return {
        "index": index,
        "version": member.version,
        "admissible": member.admissible,
        "bytes": member.hypothesis.description_bytes if member.hypothesis else 0,
        "spans": spans,
        "versions": [[event.at, event.version, event.number] for event in proposals if event.version is not None],
        "refused": sum(not event.is_accepted for event in proposals),
        "misses": [[event.at, format_one_line(event.line, 200)] for event in run_index.mismatches if event.member == index],
        "drove": sum(event.plan.member == index for event in run_index.plan_draws),
        "exact": [_count_predictions(run_index, index, True), _count_predictions(run_index, index, False)],
    }


def _count_predictions(run_index: RunIndex, index: int, exact: bool) -> int:
    return sum(step.event.exact_by_member.get(index) is exact for step in run_index.steps if step.event is not None)


def list_draws(run_index: RunIndex, before: int | None = None) -> Json:
    """List the last draws before number `before` (None: the last there are), newest first."""
    run_index.read_events()
    end = len(run_index.plan_draws) if before is None else max(0, min(before, len(run_index.plan_draws)))
    first = max(0, end - MAX_DRAWS)
    return {"first": first, "draws": [_describe_draw(run_index.plan_draws[k], k) for k in reversed(range(first, end))]}


def _describe_draw(event: PlanStarted, number: int) -> Json:
    return {
        "number": number,
        "at": event.at,
        "plan": event.plan_seq,
        "classes": [list(members) for members in event.classes],
        "drawn": event.drawn_class,
        "driver": event.plan.member,
        "actions": event.n_actions,
        "certified": event.plan.certified,
        "question": truncate_text(event.plan.question, 300),
        "line": format_one_line(event.line, 300),
    }
