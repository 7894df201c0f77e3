"""The population: when each member could steer and when it was falsified, the classes of plans, and who drove."""

from __future__ import annotations

from typing import Any

from lawbook.view.display_events import Planned
from lawbook.view.formatting import one_line, shown
from lawbook.view.run_index import Chronicle

Json = dict[str, Any]
DRAWS = 200
"""Draws of one answer."""


def members(chronicle: Chronicle) -> Json:
    """Every member with its spans (from, to, both in actions; `to` None: still so), versions and misses. Reads to the end."""
    chronicle.read()
    return {
        "members": [_member(chronicle, index) for index in range(len(chronicle.state.members))],
        "draws": len(chronicle.draws),
        "drives": [[told.at, told.plan["member"], len(told.plan["actions"])] for told in chronicle.draws[-5000:]],
    }


def _member(chronicle: Chronicle, index: int) -> Json:
    member = chronicle.state.members[index]
    spans: list[list[int | None]] = []
    for at, who, admissible in chronicle.standings:
        if who != index:
            continue
        if admissible:
            spans.append([at, None])
        elif spans:
            spans[-1][1] = at
    proposals = [told for told in chronicle.proposals if told.member == index]
    return {
        "index": index,
        "version": member.version,
        "admissible": member.admissible,
        "bytes": member.hypothesis.description_bytes if member.hypothesis else 0,
        "spans": spans,
        "versions": [[told.at, told.version, told.number] for told in proposals if told.version is not None],
        "refused": sum(not told.accepted for told in proposals),
        "misses": [[told.at, one_line(told.line, 200)] for told in chronicle.misses if told.member == index],
        "drove": sum(told.plan["member"] == index for told in chronicle.draws),
        "exact": [_count(chronicle, index, True), _count(chronicle, index, False)],
    }


def _count(chronicle: Chronicle, index: int, exact: bool) -> int:
    return sum(step.told.exact.get(index) is exact for step in chronicle.steps if step.told is not None)


def draws(chronicle: Chronicle, before: int | None = None) -> Json:
    """The last draws before number `before` (None: the last there are), newest first."""
    chronicle.read()
    end = len(chronicle.draws) if before is None else max(0, min(before, len(chronicle.draws)))
    first = max(0, end - DRAWS)
    return {"first": first, "draws": [_draw(chronicle.draws[k], k) for k in reversed(range(first, end))]}


def _draw(told: Planned, number: int) -> Json:
    return {
        "number": number,
        "at": told.at,
        "plan": told.number,
        "classes": told.classes,
        "drawn": told.drawn,
        "driver": told.plan["member"],
        "actions": len(told.plan["actions"]),
        "certified": told.plan["certified"],
        "question": shown(told.plan["question"], 300),
        "line": one_line(told.line, 300),
    }
