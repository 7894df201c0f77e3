"""Repeats of one thing with other seeds, side by side: means and their spread, one line for each world, mind and protocol."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any

from lawbook.scoring.tables import markdown, text


@dataclass(frozen=True)
class Done:
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
class Spread:
    """Mean and sample standard deviation of some numbers (None for fewer than two), with the least and the most."""

    mean: float
    deviation: float | None
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        """None of no values."""
        if not values:
            return None
        return cls(fmean(values), stdev(values) if len(values) > 1 else None, min(values), max(values))

    def told(self, digits: int = 1) -> str:
        return f"{self.mean:,.{digits}f}" + ("" if self.deviation is None else f" ± {self.deviation:,.{digits}f}")


@dataclass(frozen=True)
class Group:
    """Runs that differ in nothing but their seed; those that have not ended are counted as they stand."""

    world: str
    mind: str
    protocol: str
    runs: int
    ended: int
    won: int
    levels: Spread
    actions: Spread
    rhae: Spread | None
    dollars: float | None
    minutes: float


def groups(done: Iterable[Done]) -> list[Group]:
    """One for each world, mind and protocol, in the order in which they come."""
    found: dict[tuple[str, str, str], list[Done]] = {}
    for one in done:
        found.setdefault((one.world, one.mind, one.protocol), []).append(one)
    return [_group(*key, runs) for key, runs in found.items()]


def _group(world: str, mind: str, protocol: str, runs: Sequence[Done]) -> Group:
    levels, actions = Spread.of([run.levels_completed for run in runs]), Spread.of([run.actions for run in runs])
    assert levels is not None and actions is not None, "a group holds a run"
    money = [run.dollars for run in runs if run.dollars is not None]
    return Group(
        world,
        mind,
        protocol,
        len(runs),
        sum(run.outcome is not None for run in runs),
        sum(run.outcome == "won" for run in runs),
        levels,
        actions,
        Spread.of([run.rhae for run in runs if run.rhae is not None]),
        sum(money) if money else None,
        sum(run.minutes for run in runs),
    )


def summary(found: Sequence[Group], form: str = "text") -> str:
    """As text, csv, json or markdown, with a line break at the end."""
    if form == "json":
        return json.dumps([asdict(group) for group in found], indent=1) + "\n"
    if form == "csv":
        return _csv(found)
    lines = [["world", "mind", "protocol", "runs", "ended", "won", "levels", "actions", "RHAE", "$", "minutes"]]
    for group in found:
        counts = [str(group.runs), str(group.ended), str(group.won)]
        spreads = [group.levels.told(), group.actions.told(), group.rhae.told() if group.rhae else ""]
        money = "" if group.dollars is None else f"{group.dollars:,.2f}"
        lines.append([group.world, group.mind, group.protocol, *counts, *spreads, money, f"{group.minutes:.1f}"])
    return markdown(lines) if form == "markdown" else text(lines)


def _csv(found: Sequence[Group]) -> str:
    rows = [_flat(asdict(group)) for group in found]
    out = io.StringIO()
    if rows:
        write = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        write.writeheader()
        write.writerows(rows)
    return out.getvalue()


def _flat(group: dict[str, Any]) -> dict[str, Any]:
    flat = dict[str, Any]()
    for name, value in group.items():
        if name in ("levels", "actions", "rhae"):
            parts = value or dict.fromkeys(("mean", "deviation", "least", "most"))
            flat |= {f"{name}_{part}": "" if number is None else number for part, number in parts.items()}
        else:
            flat[name] = "" if value is None else value
    return flat
