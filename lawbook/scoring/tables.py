"""Tables of scores: one line a run, the means, and the published columns beside them; as text, CSV, JSON or Markdown."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from lawbook.scoring.billing import RunScore
from lawbook.scoring.published import SYSTEMS, PublishedGame, load_published
from lawbook.scoring.rhae import mean_score

OUTPUT_FORMATS = ("text", "csv", "json", "markdown")


@dataclass(frozen=True)
class ScoreRow:
    """One run. baseline_actions: the baseline of all levels together, whatever it is; None where nobody says."""

    run: str
    score: RunScore

    @property
    def game(self) -> str:
        """Its name without version and options: `zq77` for arc:zq77/0a1b2c3d?seed=1, `demo:maze` for demo:maze?seed=3."""
        scheme, _, rest = self.score.world.partition("?")[0].partition(":")
        return rest.replace("-", "/").partition("/")[0] if scheme == "arc" else f"{scheme}:{rest}"

    @property
    def baseline_actions(self) -> int | None:
        baselines = self.score.baselines
        if baselines and None not in baselines:
            return sum(actions for actions in baselines if actions is not None)
        return self.published_game.human_actions if self.published_game else None

    @property
    def ratio(self) -> float | None:
        """Actions spent over the baseline of what was completed (less is better); None before the first completed level."""
        baselines = self.score.baselines
        completed_levels = [(a, b) for a, b, completed in self.score.best.list_levels(baselines or ()) if completed]
        spent, taken = sum(a for a, _ in completed_levels), sum(b or 0 for _, b in completed_levels)
        return spent / taken if taken and all(b is not None for _, b in completed_levels) else None

    @property
    def published_game(self) -> PublishedGame | None:
        return load_published().get(self.game)

    def to_dict(self) -> dict[str, Any]:
        score = self.score
        levels = score.best.list_levels(score.baselines or [None] * (score.levels or 0))
        return {
            "run": self.run,
            "game": self.game,
            "world": score.world,
            "mind": score.mind,
            "protocol": score.protocol,
            "seed": score.seed,
            "outcome": score.outcome,
            "levels_completed": score.completed,
            "levels": score.levels,
            "plays": len(score.plays),
            "resets": sum(play.resets for play in score.plays),
            "actions": score.actions,
            "baseline": score.baseline,
            "baseline_actions": self.baseline_actions,
            "ratio": self.ratio,
            "rhae": score.rhae,
            "per_level": [
                {"level": number, "actions": actions, "baseline": baseline, "completed": done}
                for number, (actions, baseline, done) in enumerate(levels, 1)
            ],
            "published": {
                system: {"actions": result.actions, "cleared": result.cleared, "rhae": result.rhae}
                for system, result in (self.published_game.systems if self.published_game else {}).items()
            },
        }


def compute_means(rows: Sequence[ScoreRow]) -> dict[str, Any]:
    """Over games: each game's runs are averaged first, so that repeats weigh nothing. rhae: None where no game has one.

    published: mean RHAE of every system over the same games, None unless all of them stand in the table.
    """
    games = {game: list(group) for game, group in groupby(sorted(rows, key=lambda row: row.game), key=lambda row: row.game)}
    scores_by_game = {game: [r.score.rhae for r in group if r.score.rhae is not None] for game, group in games.items()}
    scores = [mean_score(group) for group in scores_by_game.values() if group]
    published_games = [group[0].published_game for group in games.values()]
    known_games = [game_results for game_results in published_games if game_results]
    return {
        "games": len(games),
        "runs": len(rows),
        "levels_completed": sum(row.score.completed for row in rows),
        "levels": sum(row.score.levels or 0 for row in rows),
        "actions": sum(row.score.actions for row in rows),
        "scored_games": len(scores),
        "rhae": mean_score(scores) if scores else None,
        "published": {
            system: mean_score([game_results.systems[system].rhae for game_results in known_games])
            if known_games and len(known_games) == len(published_games)
            else None
            for system in SYSTEMS
        },
    }


def format_table(rows: Sequence[ScoreRow], output_format: str = "text") -> str:
    """All of it in one of OUTPUT_FORMATS, with a line break at the end."""
    if output_format == "json":
        return json.dumps({"rows": [row.to_dict() for row in rows], "mean": compute_means(rows)}, indent=2) + "\n"
    if output_format == "csv":
        return _format_csv(rows)
    lines = _format_lines(rows)
    return format_markdown(lines) if output_format == "markdown" else format_text(lines)


def _format_lines(rows: Sequence[ScoreRow]) -> list[list[str]]:
    """For people: the head, a line a run, the means."""
    has_published = any(row.published_game for row in rows)
    lines = [["game", "levels", "actions", "human", "ratio", "RHAE", *(SYSTEMS if has_published else ()), "run"]]
    for row in rows:
        score = row.score
        published_cells = (
            [str(row.published_game.systems[s]) if row.published_game else "" for s in SYSTEMS] if has_published else []
        )
        baseline = (
            ""
            if row.baseline_actions is None
            else f"{row.baseline_actions:,}" + ("" if score.baseline == "human" else f" {score.baseline}")
        )
        completed = f"{score.completed}/{score.levels if score.levels is not None else '?'}"
        lines.append(
            [
                row.game,
                completed,
                f"{score.actions:,}",
                baseline,
                _format_number(row.ratio, 2),
                _format_number(score.rhae, 1),
                *published_cells,
                row.run,
            ]
        )
    mean = compute_means(rows)
    published_cells = [_format_number(mean["published"][system], 1) for system in SYSTEMS] if has_published else []
    completed, actions = f"{mean['levels_completed']}/{mean['levels']}", f"{mean['actions']:,}"
    lines.append([f"mean of {mean['games']}", completed, actions, "", "", _format_number(mean["rhae"], 1), *published_cells, ""])
    return lines


def _format_csv(rows: Sequence[ScoreRow]) -> str:
    buffer = io.StringIO()
    run_columns = ("game", "run", "mind", "protocol", "seed", "outcome", "levels_completed", "levels", "plays", "resets", "actions")
    score_columns = ("baseline", "baseline_actions", "ratio", "rhae")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(
        [*run_columns, *score_columns, *(f"{system}_{quantity}" for quantity in ("actions", "rhae") for system in SYSTEMS)]
    )
    for row in rows:
        values = row.to_dict()
        published_systems = row.published_game.systems if row.published_game else None
        actions = [
            f"{published_systems[s].actions}{'' if published_systems[s].cleared else '+'}" if published_systems else ""
            for s in SYSTEMS
        ]
        scores = [str(published_systems[s].rhae) if published_systems else "" for s in SYSTEMS]
        writer.writerow(
            [*("" if values[name] is None else values[name] for name in (*run_columns, *score_columns)), *actions, *scores]
        )
    return buffer.getvalue()


def format_text(lines: Sequence[Sequence[str]]) -> str:
    """Lines of cells in columns: the first to the left, numbers to the right."""
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    left_columns = (0, len(widths) - 1)
    return "".join(
        "  ".join(
            cell.ljust(width) if k in left_columns else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        + "\n"
        for line in lines
    )


def format_markdown(lines: Sequence[Sequence[str]]) -> str:
    """The same as a Markdown table."""
    ruler = ["---", *["---:"] * (len(lines[0]) - 2), "---"]
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |\n" for line in (lines[0], ruler, *lines[1:]))


def _format_number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def make_rows(scores: Iterable[tuple[str, RunScore]]) -> list[ScoreRow]:
    """One row a run, in order of game."""
    return sorted((ScoreRow(run, score) for run, score in scores), key=lambda row: row.game)
