"""Numbers of a run as lines over its actions, thinned to what a chart can show."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from lawbook.scoring.published import load_published
from lawbook.view.formatting import format_one_line
from lawbook.view.metrics import compute_rhae
from lawbook.view.run_index import RunIndex

Json = dict[str, Any]
MAX_POINTS, ACCURACY_WINDOW = 400, 50
"""Points of a line at most, and predictions that the present accuracy is a mean of."""


def build_series(run_index: RunIndex) -> Json:
    """The numbers of `lawbook show --json`, and lines: [actions, value] pairs. Reads to the end."""
    metrics = run_index.compute_metrics()
    completed_level_actions = [level.actions for level in metrics.per_level if level.completed]
    return {
        "numbers": metrics.to_json()
        | {
            "thinking_seconds": metrics.thinking_seconds,
            "verifying_seconds": metrics.verifying_seconds,
            "replayed": metrics.replayed_steps,
            "sandbox": format_one_line(metrics.sandbox, 100),
            "efficiency": compute_rhae(completed_level_actions, [level.baseline for level in metrics.per_level], metrics.levels),
            "resets": [level.resets for level in metrics.per_level],
            "deaths": [level.deaths for level in metrics.per_level],
            "rules": metrics.n_rules,
        },
        "published": _find_published_results(metrics.world),
        "accuracy": thin_line(_compute_accuracy(run_index)),
        "bytes": _collect_description_bytes(run_index),
        "costs": {format_one_line(name, 40): thin_line(line) for name, line in _accumulate_costs(run_index).items()},
        "minutes": thin_line([[step.number, (step.time - run_index.opening.time) / 60] for step in run_index.steps]),
    }


def _find_published_results(world: str) -> list[Json]:
    """What others needed for this game, all levels together, where that has been published."""
    scheme, _, rest = world.partition("?")[0].partition(":")
    game_results = load_published().get(rest.replace("-", "/").partition("/")[0]) if scheme == "arc" else None
    if game_results is None:
        return []
    human_result = {"name": "human", "actions": game_results.human_actions, "cleared": True, "rhae": None}
    system_results = (
        {"name": name, "actions": result.actions, "cleared": result.cleared, "rhae": result.rhae}
        for name, result in game_results.systems.items()
    )
    return [human_result, *system_results]


def _compute_accuracy(run_index: RunIndex) -> list[list[float]]:
    """Share of exact predictions among the last ACCURACY_WINDOW that were compared, after every action with one."""
    recent: list[bool] = []
    line: list[list[float]] = []
    for step in run_index.steps:
        outcomes = [] if step.event is None else [exact for exact in step.event.exact_by_member.values() if exact is not None]
        if outcomes:
            recent = [*recent, *outcomes][-ACCURACY_WINDOW:]
            line.append([step.number, sum(recent) / len(recent)])
    return line


def _collect_description_bytes(run_index: RunIndex) -> list[list[list[int]]]:
    """For each member: [actions, bytes of rulebook and program] at every version."""
    lines: list[list[list[int]]] = [[] for _ in run_index.state.members]
    for event in run_index.proposals:
        if event.version is not None:
            lines[event.member].append([event.at, event.new_hypothesis.description_bytes])
    return lines


def _accumulate_costs(run_index: RunIndex) -> dict[str, list[list[float]]]:
    """Cumulative sums of everything numeric in the receipts of calls."""
    costs_by_name: dict[str, list[tuple[int, float]]] = {}
    for call in run_index.calls:
        for name, cost in call.receipt.items():
            if isinstance(cost, int | float) and not isinstance(cost, bool):
                costs_by_name.setdefault(name, []).append((call.at, float(cost)))
    return {
        name: [[at, total] for (at, _), total in zip(costs, accumulate(cost for _, cost in costs), strict=True)]
        for name, costs in costs_by_name.items()
    }


def thin_line(line: Sequence[list[float]]) -> list[list[float]]:
    """At most MAX_POINTS of them, evenly, the last one always."""
    if len(line) <= MAX_POINTS:
        return list(line)
    step = (len(line) - 1) / (MAX_POINTS - 1)
    return [line[round(k * step)] for k in range(MAX_POINTS)]
