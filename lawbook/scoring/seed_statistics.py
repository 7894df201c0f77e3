"""Repeats of one thing with other seeds, side by side: means and their spread, one line for each world, mind and protocol."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any

from lawbook.scoring.tables import format_markdown, format_text


@dataclass(frozen=True)
class SeedResult:
    """What one run came to. rhae, dollars: None where nobody knows; minutes: from its first event to its last."""

    world: str
    mind: str
    protocol: str
    seed: int
    outcome: str | None
    levels_completed: int
    levels: int | None
    actions: int
    rhae: float | None
    dollars: float | None
    minutes: float


@dataclass(frozen=True)
class SeedStatistics:
    """Mean and sample standard deviation of some numbers (None for fewer than two), with the least and the most."""

    mean: float
    deviation: float | None
    least: float
    most: float

    @classmethod
    def from_values(cls, values: Sequence[float]) -> SeedStatistics | None:
        """Compute them from some numbers; None of no values."""
        if not values:
            return None
        return cls(fmean(values), stdev(values) if len(values) > 1 else None, min(values), max(values))

    def format(self, digits: int = 1) -> str:
        """Write mean and deviation as `12.3 ± 4.5`, the mean alone where there is no deviation."""
        return f"{self.mean:,.{digits}f}" + ("" if self.deviation is None else f" ± {self.deviation:,.{digits}f}")


@dataclass(frozen=True)
class SeedGroup:
    """Runs that differ in nothing but their seed; those that have not ended are counted as they stand."""

    world: str
    mind: str
    protocol: str
    runs: int
    ended: int
    won: int
    levels: SeedStatistics
    actions: SeedStatistics
    rhae: SeedStatistics | None
    dollars: float | None
    minutes: float


def group_runs(results: Iterable[SeedResult]) -> list[SeedGroup]:
    """Group results by world, mind and protocol, in the order in which they come."""
    runs_by_key: dict[tuple[str, str, str], list[SeedResult]] = {}
    for result in results:
        runs_by_key.setdefault((result.world, result.mind, result.protocol), []).append(result)
    return [_make_group(*key, runs) for key, runs in runs_by_key.items()]


def _make_group(world: str, mind: str, protocol: str, runs: Sequence[SeedResult]) -> SeedGroup:
    levels, actions = (
        SeedStatistics.from_values([run.levels_completed for run in runs]),
        SeedStatistics.from_values([run.actions for run in runs]),
    )
    assert levels is not None and actions is not None, "a group holds a run"
    dollars = [run.dollars for run in runs if run.dollars is not None]
    return SeedGroup(
        world,
        mind,
        protocol,
        len(runs),
        sum(run.outcome is not None for run in runs),
        sum(run.outcome == "won" for run in runs),
        levels,
        actions,
        SeedStatistics.from_values([run.rhae for run in runs if run.rhae is not None]),
        sum(dollars) if dollars else None,
        sum(run.minutes for run in runs),
    )


def format_summary(seed_groups: Sequence[SeedGroup], output_format: str = "text") -> str:
    """Write the groups as text, csv, json or markdown, with a line break at the end."""
    if output_format == "json":
        return json.dumps([asdict(group) for group in seed_groups], indent=1) + "\n"
    if output_format == "csv":
        return _format_csv(seed_groups)
    rows = [["world", "mind", "protocol", "runs", "ended", "won", "levels", "actions", "RHAE", "$", "minutes"]]
    for group in seed_groups:
        counts = [str(group.runs), str(group.ended), str(group.won)]
        statistics = [group.levels.format(), group.actions.format(), group.rhae.format() if group.rhae else ""]
        dollars = "" if group.dollars is None else f"{group.dollars:,.2f}"
        rows.append([group.world, group.mind, group.protocol, *counts, *statistics, dollars, f"{group.minutes:.1f}"])
    return format_markdown(rows) if output_format == "markdown" else format_text(rows)


def _format_csv(seed_groups: Sequence[SeedGroup]) -> str:
    rows = [_flatten(asdict(group)) for group in seed_groups]
    buffer = io.StringIO()
    if rows:
        writer = csv.DictWriter(buffer, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return buffer.getvalue()


def _flatten(group: dict[str, Any]) -> dict[str, Any]:
    flat = dict[str, Any]()
    for name, value in group.items():
        if name in ("levels", "actions", "rhae"):
            parts = value or dict.fromkeys(("mean", "deviation", "least", "most"))
            flat |= {f"{name}_{part}": "" if number is None else number for part, number in parts.items()}
        else:
            flat[name] = "" if value is None else value
    return flat
