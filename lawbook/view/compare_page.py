"""Several runs side by side on one page, self-contained: numbers, levels, the way there, last boards, final rulebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from lawbook.core.record import Frame
from lawbook.core.spending import read_dollars, read_tokens
from lawbook.errors import UsageError
from lawbook.view.css import STYLE
from lawbook.view.formatting import format_count, format_one_line, format_percent, format_seconds, truncate_text
from lawbook.view.metrics import RunMetrics, compute_rhae
from lawbook.view.plain_html import escape
from lawbook.view.run_index import RunIndex
from lawbook.view.svg_png import encode_data_uri

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

_STYLE = """
main{max-width:1360px}.side{overflow-x:auto}td,th{vertical-align:top}td:nth-child(4){width:auto}
th[scope=row]{white-space:nowrap;color:var(--dim);font-weight:400}th[scope=col]{color:var(--ink);max-width:260px;white-space:normal;
overflow-wrap:anywhere}td.n{text-align:left}td.best{font-weight:700}.swatch{display:inline-block;width:10px;height:10px;
border-radius:3px;margin-right:7px}.bar{min-width:90px}.bar b{background:var(--of)}svg.chart{width:100%;max-width:820px;height:auto}
svg.chart text{font-size:12px;fill:var(--dim)}svg.chart .rule{stroke:var(--line)}.columns{display:grid;gap:22px;
grid-template-columns:repeat(auto-fit,minmax(280px,1fr))}.columns img{width:100%;image-rendering:pixelated;border-radius:6px}
.columns h3{font-size:.95rem;margin:.2em 0;overflow-wrap:anywhere}.columns pre{max-height:520px;overflow:auto}
"""


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
        player = (
            f"{metrics.mind}{f' x {metrics.population}' if metrics.population > 1 else ''} under {metrics.protocol}, "
            f"seed {metrics.seed}"
        )
        return player if self.is_same_world else f"{metrics.world}: {player}"

    @property
    def completed_level_actions(self) -> list[int]:
        return [level.actions for level in self.metrics.per_level if level.completed]


def render(runs: Sequence[tuple[str, Path]]) -> str:
    """The page, as text. runs: name and ledger of each. Raises UsageError for fewer than two, or one that cannot be read."""
    if not 2 <= len(runs) <= MAX_RUNS:
        raise UsageError(f"Name from 2 to {MAX_RUNS} runs to compare, not {len(runs)}.")
    compared_runs = [_load_run(name, path, COLOURS[k]) for k, (name, path) in enumerate(runs)]
    worlds = list(dict.fromkeys(format_one_line(run.metrics.world) for run in compared_runs))
    compared_runs = [replace(run, is_same_world=len(worlds) == 1) for run in compared_runs]
    parts = [
        f'<header><p class="brand">lawbook</p><h1>{escape(" and ".join(worlds[:3]))}</h1>',
        f"<p>{format_count(len(compared_runs), 'run')} side by side.</p></header>",
        '<div class="side">',
        *_render_table(compared_runs),
        "</div>",
        *_render_levels(compared_runs),
        *_render_chart(compared_runs),
        *_render_boards(compared_runs),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{format_count(len(compared_runs), 'run')} compared</title><style>{STYLE}{_STYLE}</style></head>\n"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def _load_run(name: str, path: Path, colour: str) -> _ComparedRun:
    with RunIndex(path) as run_index:
        metrics = run_index.compute_metrics()
        frame = run_index.ledger.read_frame(run_index.steps[-1].frames[-1]) if run_index.steps else None
        hypothesis = next(
            (member.hypothesis for member in run_index.state.members if member.admissible), run_index.state.members[0].hypothesis
        )
        rulebook = hypothesis.rulebook if hypothesis else ""
        return _ComparedRun(name, metrics, run_index.opening.spec.palette, frame, rulebook, colour, False)


def _render_head(runs: Sequence[_ComparedRun], corner: str) -> str:
    cells = (f'<th scope="col"><i class="swatch" style="background:{run.colour}"></i>{escape(run.title)}</th>' for run in runs)
    return f"<tr><th>{corner}</th>{''.join(cells)}</tr>"


def _render_table(runs: Sequence[_ComparedRun]) -> Iterator[str]:
    """One row for each number; the best of a row is bold where all are of one world and there is a better and a worse."""
    yield f"<table><thead>{_render_head(runs, '')}</thead><tbody>"
    for name, get_value, format_value, direction in _METRIC_ROWS:
        values = [get_value(run) for run in runs]
        known_values = [value for value in values if isinstance(value, int | float)]
        best = (
            (max if direction > 0 else min)(known_values)
            if direction and runs[0].is_same_world and len(set(known_values)) > 1
            else None
        )
        cells = (
            f'<td class="n{" best" if best is not None and value == best else ""}">'
            f"{escape('-' if value is None else format_value(value))}</td>"
            for value in values
        )
        if any(value is not None for value in values):
            yield f'<tr><th scope="row">{name}</th>{"".join(cells)}</tr>'
    yield "</tbody></table>"


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


def _render_levels(runs: Sequence[_ComparedRun]) -> Iterator[str]:
    max_actions = max([1, *(level.actions for run in runs for level in run.metrics.per_level)])
    yield f'<h2>Actions by level</h2><div class="side"><table><thead>{_render_head(runs, "level")}</thead><tbody>'
    for k in range(max(len(run.metrics.per_level) for run in runs)):
        baseline = runs[0].metrics.per_level[k].baseline if runs[0].is_same_world and k < len(runs[0].metrics.per_level) else None
        baseline_note = f" <small>{escape(runs[0].metrics.baseline)} {baseline:,}</small>" if baseline is not None else ""
        yield f'<tr><th scope="row">{k + 1}{baseline_note}</th>'
        for run in runs:
            level = run.metrics.per_level[k] if k < len(run.metrics.per_level) else None
            if level is None or not level.actions:
                yield "<td>-</td>"
                continue
            baseline_mark = (
                "" if level.baseline is None else f'<i style="left:{min(100 * level.baseline / max_actions, 100):.1f}%"></i>'
            )
            bar = (
                f'<div class="bar" style="--of:{run.colour}"><b '
                f'style="width:{100 * level.actions / max_actions:.1f}%"></b>{baseline_mark}</div>'
            )
            yield f"<td>{level.actions:,}{'' if level.completed else ', not completed'}{bar}</td>"
        yield "</tr>"
    yield "</tbody></table></div>"


def _render_chart(runs: Sequence[_ComparedRun]) -> Iterator[str]:
    """Cumulative actions by level completed, one line a run."""
    lines = [(run.colour, [0, *accumulate(run.completed_level_actions)]) for run in runs]
    levels, max_actions = max(len(line) for _, line in lines) - 1, max(line[-1] for _, line in lines)
    if not levels:
        return
    width, height, left, bottom = 820, 300, 54, 270

    def format_point(level: int, n_actions: int) -> str:
        return f"{left + (width - left - 16) * level / levels:.1f},{bottom - (bottom - 14) * n_actions / max_actions:.1f}"

    yield "<h2>Cumulative actions by level completed</h2>"
    yield f'<svg class="chart" viewBox="0 0 {width} {height}" role="img" aria-label="Cumulative actions by level completed">'
    for share in (0.0, 0.5, 1.0):
        y = bottom - (bottom - 14) * share
        yield f'<path class="rule" d="M{left} {y:.1f}H{width - 16}"/>'
        yield f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{max_actions * share:,.0f}</text>'
    for k in range(levels + 1):
        yield f'<text x="{format_point(k, 0).split(",")[0]}" y="{height - 8}" text-anchor="middle">{k}</text>'
    for colour, line in lines:
        points = " ".join(format_point(k, actions) for k, actions in enumerate(line))
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round"/>'
    yield "</svg>"


def _render_boards(runs: Sequence[_ComparedRun]) -> Iterator[str]:
    yield '<h2>The last board, and the rulebook at the end</h2><div class="columns">'
    for run in runs:
        yield f'<section><h3><i class="swatch" style="background:{run.colour}"></i>{escape(run.title)}</h3>'
        if run.frame is not None:
            yield f'<img alt="The last board" src="{encode_data_uri(run.frame, run.palette)}">'
        rulebook = truncate_text(run.rulebook, MAX_TEXT_CHARACTERS) if run.rulebook else "Nothing was ever accepted."
        yield f"<pre class='book'>{escape(rulebook)}</pre></section>"
    yield "</div>"
