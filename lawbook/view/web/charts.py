"""Numbers of a run as lines over its actions, thinned to what a chart can show."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from lawbook.scoring.published import published
from lawbook.view.formatting import one_line
from lawbook.view.metrics import efficiency
from lawbook.view.run_index import Chronicle

Json = dict[str, Any]
POINTS, RECENT = 400, 50
"""Points of a line at most, and predictions that the present accuracy is a mean of."""


def series(chronicle: Chronicle) -> Json:
    """The numbers of `lawbook show --json`, and lines: [actions, value] pairs. Reads to the end."""
    numbers = chronicle.numbers()
    solved = [level.actions for level in numbers.per_level if level.completed]
    return {
        "numbers": numbers.json()
        | {
            "thinking_seconds": numbers.thinking_seconds,
            "verifying_seconds": numbers.verifying_seconds,
            "replayed": numbers.replayed,
            "sandbox": one_line(numbers.sandbox, 100),
            "efficiency": efficiency(solved, [level.baseline for level in numbers.per_level], numbers.levels),
            "resets": [level.resets for level in numbers.per_level],
            "deaths": [level.deaths for level in numbers.per_level],
            "rules": numbers.rules,
        },
        "published": _published(numbers.world),
        "accuracy": thinned(_accuracy(chronicle)),
        "bytes": _bytes(chronicle),
        "costs": {one_line(name, 40): thinned(line) for name, line in _costs(chronicle).items()},
        "minutes": thinned([[step.number, (step.time - chronicle.opened.time) / 60] for step in chronicle.steps]),
    }


def _published(world: str) -> list[Json]:
    """What others needed for this game, all levels together, where that has been published."""
    scheme, _, rest = world.partition("?")[0].partition(":")
    found = published().get(rest.replace("-", "/").partition("/")[0]) if scheme == "arc" else None
    if found is None:
        return []
    people = {"name": "human", "actions": found.human, "cleared": True, "rhae": None}
    systems = (
        {"name": name, "actions": one.actions, "cleared": one.cleared, "rhae": one.rhae} for name, one in found.systems.items()
    )
    return [people, *systems]


def _accuracy(chronicle: Chronicle) -> list[list[float]]:
    """Share of exact predictions among the last RECENT that were compared, after every action with one."""
    recent: list[bool] = []
    line: list[list[float]] = []
    for step in chronicle.steps:
        compared = [] if step.told is None else [exact for exact in step.told.exact.values() if exact is not None]
        if compared:
            recent = [*recent, *compared][-RECENT:]
            line.append([step.number, sum(recent) / len(recent)])
    return line


def _bytes(chronicle: Chronicle) -> list[list[list[int]]]:
    """For each member: [actions, bytes of rulebook and program] at every version."""
    found: list[list[list[int]]] = [[] for _ in chronicle.state.members]
    for told in chronicle.proposals:
        if told.version is not None:
            found[told.member].append([told.at, told.after.description_bytes])
    return found


def _costs(chronicle: Chronicle) -> dict[str, list[list[float]]]:
    """Cumulative sums of everything numeric in the receipts of calls."""
    every: dict[str, list[tuple[int, float]]] = {}
    for call in chronicle.calls:
        for name, cost in call.receipt.items():
            if isinstance(cost, int | float) and not isinstance(cost, bool):
                every.setdefault(name, []).append((call.at, float(cost)))
    return {
        name: [[at, total] for (at, _), total in zip(costs, accumulate(cost for _, cost in costs), strict=True)]
        for name, costs in every.items()
    }


def thinned(line: Sequence[list[float]]) -> list[list[float]]:
    """At most POINTS of them, evenly, the last one always."""
    if len(line) <= POINTS:
        return list(line)
    step = (len(line) - 1) / (POINTS - 1)
    return [line[round(k * step)] for k in range(POINTS)]
