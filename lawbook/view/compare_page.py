"""Several runs side by side on one page, self-contained: numbers, levels, the way there, last boards, final rulebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from lawbook.core.record import Frame
from lawbook.core.spending import read_dollars, read_tokens
from lawbook.errors import UsageError
from lawbook.view.css import STYLE
from lawbook.view.formatting import format_one_line, format_percent, format_seconds, truncate_text
from lawbook.view.html_templates import mark_safe, render_template
from lawbook.view.metrics import RunMetrics, compute_rhae
from lawbook.view.run_index import RunIndex
from lawbook.view.svg_png import encode_data_uri

if TYPE_CHECKING:
    from markupsafe import Markup

MAX_RUNS, MAX_TEXT_CHARACTERS = 12, 30_000
"""Runs side by side, and characters of a rulebook."""
CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
COLOURS = (
    "#0e7490",
    "#c2571a",
    "#6d4bc3",
    "#15803d",
    "#b81f43",
    "#8f5a00",
    "#3b6fd4",
    "#a0348f",
    "#587d1f",
    "#7a6a55",
    "#2a8a8a",
    "#99582a",
)


@dataclass(frozen=True, eq=False)
class _ComparedRun:
    name: str
    metrics: RunMetrics
    palette: str
    frame: Frame | None
    rulebook: str
    colour: str
    is_same_world: bool
    """All runs are of one world."""

    @property
    def title(self) -> str:
        metrics = self.metrics
        members = f" x {metrics.population}" if metrics.population > 1 else ""
        player = f"{metrics.mind}{members} under {metrics.protocol}, seed {metrics.seed}"
        return player if self.is_same_world else f"{metrics.world}: {player}"

    @property
    def image(self) -> Markup | None:
        """The last board, as an address that holds it."""
        return None if self.frame is None else mark_safe(encode_data_uri(self.frame, self.palette))

    @property
    def rulebook_text(self) -> str:
        return truncate_text(self.rulebook, MAX_TEXT_CHARACTERS) if self.rulebook else "Nothing was ever accepted."

    @property
    def completed_level_actions(self) -> list[int]:
        return [level.actions for level in self.metrics.per_level if level.completed]


def render(runs: Sequence[tuple[str, Path]]) -> str:
    """Render the page. runs: name and ledger of each. Raises UsageError for fewer than two, or one that cannot be read."""
    if not 2 <= len(runs) <= MAX_RUNS:
        raise UsageError(f"Name from 2 to {MAX_RUNS} runs to compare, not {len(runs)}.")
    compared_runs = [_load_run(name, path, COLOURS[k]) for k, (name, path) in enumerate(runs)]
    worlds = list(dict.fromkeys(format_one_line(run.metrics.world) for run in compared_runs))
    compared_runs = [replace(run, is_same_world=len(worlds) == 1) for run in compared_runs]
    page = render_template(
        "compare.html",
        policy=mark_safe(CONTENT_SECURITY_POLICY),
        style=mark_safe(STYLE),
        title=" and ".join(worlds[:3]),
        runs=compared_runs,
        rows=list(_compare_metrics(compared_runs)),
        n_levels=max(len(run.metrics.per_level) for run in compared_runs),
        baselines=[level.baseline for level in compared_runs[0].metrics.per_level] if len(worlds) == 1 else [],
        max_actions=max([1, *(level.actions for run in compared_runs for level in run.metrics.per_level)]),
        chart=_build_chart(compared_runs),
    )
    return str(page)


def _load_run(name: str, path: Path, colour: str) -> _ComparedRun:
    with RunIndex(path) as run_index:
        metrics = run_index.compute_metrics()
        frame = run_index.ledger.read_frame(run_index.steps[-1].frames[-1]) if run_index.steps else None
        hypothesis = next(
            (member.hypothesis for member in run_index.state.members if member.admissible), run_index.state.members[0].hypothesis
        )
        rulebook = hypothesis.rulebook if hypothesis else ""
        return _ComparedRun(name, metrics, run_index.opening.spec.palette, frame, rulebook, colour, False)


def _compare_metrics(runs: Sequence[_ComparedRun]) -> Iterator[tuple[str, list[tuple[str, bool]]]]:
    """Yield one row for each number that is known of a run: its name, and of every run the text and whether it is the best. One is
    best where all runs are of one world and there is a better and a worse."""
    for name, get_value, format_value, direction in _METRIC_ROWS:
        values = [get_value(run) for run in runs]
        known_values = [value for value in values if isinstance(value, int | float)]
        best = (
            (max if direction > 0 else min)(known_values)
            if direction and runs[0].is_same_world and len(set(known_values)) > 1
            else None
        )
        if any(value is not None for value in values):
            yield name, [("-" if value is None else format_value(value), best is not None and value == best) for value in values]


def _format_levels(run: _ComparedRun) -> str:
    return f"{run.metrics.levels_completed}{f' of {run.metrics.levels}' if run.metrics.levels else ''}"


def _compute_baseline_ratio(run: _ComparedRun) -> float | None:
    return sum(run.completed_level_actions) / run.metrics.completed_baseline if run.metrics.completed_baseline else None


def _compute_accuracy(run: _ComparedRun) -> float | None:
    return run.metrics.exact_predictions / run.metrics.compared_predictions if run.metrics.compared_predictions else None


def _compute_rhae(run: _ComparedRun) -> float | None:
    return compute_rhae(run.completed_level_actions, [level.baseline for level in run.metrics.per_level], run.metrics.levels)


_METRIC_ROWS: list[tuple[str, Callable[[_ComparedRun], object], Callable[..., str], int]] = [
    ("run", lambda run: run.name, str, 0),
    ("world", lambda run: run.metrics.world, format_one_line, 0),
    ("outcome", lambda run: run.metrics.outcome or "not ended", str, 0),
    ("levels", _format_levels, str, 0),
    ("actions", lambda run: run.metrics.actions, "{:,}".format, 0),
    ("of completed levels, to the baseline", _compute_baseline_ratio, "{:.2f} x".format, -1),
    ("RHAE, against the baseline", _compute_rhae, "{:.1f}".format, 1),
    (
        "exact predictions",
        lambda run: run.metrics.exact_predictions / run.metrics.compared_predictions if run.metrics.compared_predictions else None,
        "{:.1%}".format,
        1,
    ),
    ("wrong predictions", lambda run: run.metrics.mismatches, "{:,}".format, 0),
    ("probes", lambda run: format_percent(run.metrics.actions_by_kind["probe"], run.metrics.actions), str, 0),
    ("versions", lambda run: run.metrics.versions, "{:,}".format, 0),
    ("refused proposals", lambda run: run.metrics.refusals, "{:,}".format, 0),
    ("description, bytes", lambda run: min(filter(None, run.metrics.description_bytes), default=None), "{:,}".format, -1),
    ("mind calls", lambda run: run.metrics.mind_calls, "{:,}".format, 0),
    ("tokens", lambda run: read_tokens(run.metrics.costs), "{:,.0f}".format, -1),
    ("dollars", lambda run: read_dollars(run.metrics.costs), "{:.2f}".format, -1),
    ("time", lambda run: run.metrics.seconds, format_seconds, 0),
]


@dataclass(frozen=True)
class _Chart:
    """Cumulative actions by level completed, in the units of its view box. marks: y and text on the left; ticks: x by level; lines:
    colour and points of each run."""

    width: int
    height: int
    left: int
    right: int
    marks: list[tuple[str, str]]
    ticks: list[str]
    lines: list[tuple[str, str]]


def _build_chart(runs: Sequence[_ComparedRun]) -> _Chart | None:
    """Build the chart, one line a run; None where no level was completed."""
    lines = [(run.colour, [0, *accumulate(run.completed_level_actions)]) for run in runs]
    levels, max_actions = max(len(line) for _, line in lines) - 1, max(line[-1] for _, line in lines)
    if not levels:
        return None
    width, height, left, right, top, bottom = 820, 300, 54, 804, 14, 270
    x_of_level = [f"{left + (right - left) * level / levels:.1f}" for level in range(levels + 1)]

    def format_y(share: float) -> str:
        return f"{bottom - (bottom - top) * share:.1f}"

    return _Chart(
        width,
        height,
        left,
        right,
        [(format_y(share), f"{max_actions * share:,.0f}") for share in (0.0, 0.5, 1.0)],
        x_of_level,
        [
            (colour, " ".join(f"{x},{format_y(actions / max_actions)}" for x, actions in zip(x_of_level, line, strict=False)))
            for colour, line in lines
        ],
    )
