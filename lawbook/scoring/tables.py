"""Tables of scores: one line a run, the means, and the published columns beside them; as text, CSV, JSON or Markdown."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from lawbook.scoring.billing import Counted
from lawbook.scoring.published import SYSTEMS, PublishedGame, published
from lawbook.scoring.rhae import mean_score

FORMS = ("text", "csv", "json", "markdown")


@dataclass(frozen=True)
class Row:
    """One run. human: the baseline of all levels together, whatever it is; None where nobody says."""

    run: str
    counted: Counted

    @property
    def game(self) -> str:
        """Its name without version and options: `zq77` for arc:zq77/0a1b2c3d?seed=1, `demo:maze` for demo:maze?seed=3."""
        scheme, _, rest = self.counted.world.partition("?")[0].partition(":")
        return rest.replace("-", "/").partition("/")[0] if scheme == "arc" else f"{scheme}:{rest}"

    @property
    def human(self) -> int | None:
        known = self.counted.baselines
        if known and None not in known:
            return sum(one for one in known if one is not None)
        return self.beside.human if self.beside else None

    @property
    def ratio(self) -> float | None:
        """Actions spent over the baseline of what was completed (less is better); None before the first completed level."""
        known = self.counted.baselines
        done = [(a, b) for a, b, completed in self.counted.best.levels(known or ()) if completed]
        spent, taken = sum(a for a, _ in done), sum(b or 0 for _, b in done)
        return spent / taken if taken and all(b is not None for _, b in done) else None

    @property
    def beside(self) -> PublishedGame | None:
        return published().get(self.game)

    def json(self) -> dict[str, Any]:
        counted = self.counted
        levels = counted.best.levels(counted.baselines or [None] * (counted.levels or 0))
        return {
            "run": self.run,
            "game": self.game,
            "world": counted.world,
            "mind": counted.mind,
            "protocol": counted.protocol,
            "seed": counted.seed,
            "outcome": counted.outcome,
            "levels_completed": counted.completed,
            "levels": counted.levels,
            "plays": len(counted.plays),
            "resets": sum(play.resets for play in counted.plays),
            "actions": counted.actions,
            "baseline": counted.baseline,
            "baseline_actions": self.human,
            "ratio": self.ratio,
            "rhae": counted.rhae,
            "per_level": [
                {"level": number, "actions": actions, "baseline": baseline, "completed": done}
                for number, (actions, baseline, done) in enumerate(levels, 1)
            ],
            "published": {
                system: {"actions": one.actions, "cleared": one.cleared, "rhae": one.rhae}
                for system, one in (self.beside.systems if self.beside else {}).items()
            },
        }


def means(rows: Sequence[Row]) -> dict[str, Any]:
    """Over games: each game's runs are averaged first, so that repeats weigh nothing. rhae: None where no game has one.

    published: mean RHAE of every system over the same games, None unless all of them stand in the table.
    """
    games = {game: list(some) for game, some in groupby(sorted(rows, key=lambda row: row.game), key=lambda row: row.game)}
    scored = {game: [r.counted.rhae for r in some if r.counted.rhae is not None] for game, some in games.items()}
    scores = [mean_score(some) for some in scored.values() if some]
    beside = [some[0].beside for some in games.values()]
    known = [one for one in beside if one]
    return {
        "games": len(games),
        "runs": len(rows),
        "levels_completed": sum(row.counted.completed for row in rows),
        "levels": sum(row.counted.levels or 0 for row in rows),
        "actions": sum(row.counted.actions for row in rows),
        "scored_games": len(scores),
        "rhae": mean_score(scores) if scores else None,
        "published": {
            system: mean_score([one.systems[system].rhae for one in known]) if known and len(known) == len(beside) else None
            for system in SYSTEMS
        },
    }


def table(rows: Sequence[Row], form: str = "text") -> str:
    """All of it in one of FORMS, with a line break at the end."""
    if form == "json":
        return json.dumps({"rows": [row.json() for row in rows], "mean": means(rows)}, indent=2) + "\n"
    if form == "csv":
        return _csv(rows)
    lines = _lines(rows)
    return markdown(lines) if form == "markdown" else text(lines)


def _lines(rows: Sequence[Row]) -> list[list[str]]:
    """For people: the head, a line a run, the means."""
    beside = any(row.beside for row in rows)
    lines = [["game", "levels", "actions", "human", "ratio", "RHAE", *(SYSTEMS if beside else ()), "run"]]
    for row in rows:
        counted = row.counted
        others = [str(row.beside.systems[s]) if row.beside else "" for s in SYSTEMS] if beside else []
        human = "" if row.human is None else f"{row.human:,}" + ("" if counted.baseline == "human" else f" {counted.baseline}")
        done = f"{counted.completed}/{counted.levels if counted.levels is not None else '?'}"
        lines.append(
            [row.game, done, f"{counted.actions:,}", human, _number(row.ratio, 2), _number(counted.rhae, 1), *others, row.run]
        )
    mean = means(rows)
    others = [_number(mean["published"][system], 1) for system in SYSTEMS] if beside else []
    done, spent = f"{mean['levels_completed']}/{mean['levels']}", f"{mean['actions']:,}"
    lines.append([f"mean of {mean['games']}", done, spent, "", "", _number(mean["rhae"], 1), *others, ""])
    return lines


def _csv(rows: Sequence[Row]) -> str:
    out = io.StringIO()
    flat = ("game", "run", "mind", "protocol", "seed", "outcome", "levels_completed", "levels", "plays", "resets", "actions")
    tail = ("baseline", "baseline_actions", "ratio", "rhae")
    write = csv.writer(out, lineterminator="\n")
    write.writerow([*flat, *tail, *(f"{system}_{what}" for what in ("actions", "rhae") for system in SYSTEMS)])
    for row in rows:
        told = row.json()
        others = row.beside.systems if row.beside else None
        actions = [f"{others[s].actions}{'' if others[s].cleared else '+'}" if others else "" for s in SYSTEMS]
        scores = [str(others[s].rhae) if others else "" for s in SYSTEMS]
        write.writerow([*("" if told[name] is None else told[name] for name in (*flat, *tail)), *actions, *scores])
    return out.getvalue()


def text(lines: Sequence[Sequence[str]]) -> str:
    """Lines of cells in columns: the first to the left, numbers to the right."""
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    outer = (0, len(widths) - 1)
    return "".join(
        "  ".join(
            cell.ljust(w) if k in outer else cell.rjust(w) for k, (cell, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        + "\n"
        for line in lines
    )


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """The same as a Markdown table."""
    ruler = ["---", *["---:"] * (len(lines[0]) - 2), "---"]
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |\n" for line in (lines[0], ruler, *lines[1:]))


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def rows_of(counted: Iterable[tuple[str, Counted]]) -> list[Row]:
    """One row a run, in order of game."""
    return sorted((Row(run, one) for run, one in counted), key=lambda row: row.game)
