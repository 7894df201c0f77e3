"""Several runs side by side on one page, self-contained: numbers, levels, the way there, last boards, final rulebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from lawbook.core.record import Frame
from lawbook.errors import UsageError
from lawbook.view.css import STYLE
from lawbook.view.formatting import count, one_line, percent, seconds, shown
from lawbook.view.metrics import RunNumbers, dollars, efficiency, tokens
from lawbook.view.plain_html import esc
from lawbook.view.run_index import Chronicle
from lawbook.view.svg_png import data_uri

MOST, TEXT = 12, 30_000
"""Runs side by side, and characters of a rulebook."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
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
class _Run:
    name: str
    numbers: RunNumbers
    palette: str
    frame: Frame | None
    rulebook: str
    colour: str
    alike: bool
    """All runs are of one world."""

    @property
    def title(self) -> str:
        n = self.numbers
        who = f"{n.mind}{f' x {n.population}' if n.population > 1 else ''} under {n.protocol}, seed {n.seed}"
        return who if self.alike else f"{n.world}: {who}"

    @property
    def solved(self) -> list[int]:
        return [level.actions for level in self.numbers.per_level if level.completed]


def render(runs: Sequence[tuple[str, Path]]) -> str:
    """The page, as text. runs: name and ledger of each. Raises UsageError for fewer than two, or one that cannot be read."""
    if not 2 <= len(runs) <= MOST:
        raise UsageError(f"Name from 2 to {MOST} runs to compare, not {len(runs)}.")
    read = [_read(name, path, COLOURS[k]) for k, (name, path) in enumerate(runs)]
    worlds = list(dict.fromkeys(one_line(run.numbers.world) for run in read))
    read = [replace(run, alike=len(worlds) == 1) for run in read]
    parts = [
        f'<header><p class="brand">lawbook</p><h1>{esc(" and ".join(worlds[:3]))}</h1>',
        f"<p>{count(len(read), 'run')} side by side.</p></header>",
        '<div class="side">',
        *_table(read),
        "</div>",
        *_levels(read),
        *_chart(read),
        *_columns(read),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{count(len(read), 'run')} compared</title><style>{STYLE}{_STYLE}</style></head>\n"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def _read(name: str, path: Path, colour: str) -> _Run:
    with Chronicle(path) as chronicle:
        numbers = chronicle.numbers()
        frame = chronicle.ledger.seen(chronicle.steps[-1].frames[-1]) if chronicle.steps else None
        believed = next((m.hypothesis for m in chronicle.state.members if m.admissible), chronicle.state.members[0].hypothesis)
        book = believed.rulebook if believed else ""
        return _Run(name, numbers, chronicle.opened.spec["palette"], frame, book, colour, False)


def _head(runs: Sequence[_Run], corner: str) -> str:
    cells = (f'<th scope="col"><i class="swatch" style="background:{run.colour}"></i>{esc(run.title)}</th>' for run in runs)
    return f"<tr><th>{corner}</th>{''.join(cells)}</tr>"


def _table(runs: Sequence[_Run]) -> Iterator[str]:
    """One row for each number; the best of a row is bold where all are of one world and there is a better and a worse."""
    yield f"<table><thead>{_head(runs, '')}</thead><tbody>"
    for name, value, shows, better in _ROWS:
        found = [value(run) for run in runs]
        known = [one for one in found if isinstance(one, int | float)]
        best = (max if better > 0 else min)(known) if better and runs[0].alike and len(set(known)) > 1 else None
        cells = (
            f'<td class="n{" best" if best is not None and one == best else ""}">{esc("-" if one is None else shows(one))}</td>'
            for one in found
        )
        if any(one is not None for one in found):
            yield f'<tr><th scope="row">{name}</th>{"".join(cells)}</tr>'
    yield "</tbody></table>"


def _levels_of(run: _Run) -> str:
    return f"{run.numbers.levels_completed}{f' of {run.numbers.levels}' if run.numbers.levels else ''}"


def _ratio(run: _Run) -> float | None:
    return sum(run.solved) / run.numbers.shortest if run.numbers.shortest else None


def _exact(run: _Run) -> float | None:
    return run.numbers.exact / run.numbers.compared if run.numbers.compared else None


def _score(run: _Run) -> float | None:
    return efficiency(run.solved, [level.baseline for level in run.numbers.per_level], run.numbers.levels)


_ROWS: list[tuple[str, Callable[[_Run], object], Callable[..., str], int]] = [
    ("run", lambda run: run.name, str, 0),
    ("world", lambda run: run.numbers.world, one_line, 0),
    ("outcome", lambda run: run.numbers.outcome or "not ended", str, 0),
    ("levels", _levels_of, str, 0),
    ("actions", lambda run: run.numbers.actions, "{:,}".format, 0),
    ("of completed levels, to the baseline", _ratio, "{:.2f} x".format, -1),
    ("RHAE, against the baseline", _score, "{:.1f}".format, 1),
    (
        "exact predictions",
        lambda run: run.numbers.exact / run.numbers.compared if run.numbers.compared else None,
        "{:.1%}".format,
        1,
    ),
    ("wrong predictions", lambda run: run.numbers.mismatches, "{:,}".format, 0),
    ("probes", lambda run: percent(run.numbers.sorts["probe"], run.numbers.actions), str, 0),
    ("versions", lambda run: run.numbers.versions, "{:,}".format, 0),
    ("refused proposals", lambda run: run.numbers.refusals, "{:,}".format, 0),
    ("description, bytes", lambda run: min(filter(None, run.numbers.description_bytes), default=None), "{:,}".format, -1),
    ("mind calls", lambda run: run.numbers.mind_calls, "{:,}".format, 0),
    ("tokens", lambda run: tokens(run.numbers.costs), "{:,.0f}".format, -1),
    ("dollars", lambda run: dollars(run.numbers.costs), "{:.2f}".format, -1),
    ("time", lambda run: run.numbers.seconds, seconds, 0),
]


def _levels(runs: Sequence[_Run]) -> Iterator[str]:
    most = max([1, *(level.actions for run in runs for level in run.numbers.per_level)])
    yield f'<h2>Actions by level</h2><div class="side"><table><thead>{_head(runs, "level")}</thead><tbody>'
    for k in range(max(len(run.numbers.per_level) for run in runs)):
        baseline = runs[0].numbers.per_level[k].baseline if runs[0].alike and k < len(runs[0].numbers.per_level) else None
        about = f" <small>{esc(runs[0].numbers.baseline)} {baseline:,}</small>" if baseline is not None else ""
        yield f'<tr><th scope="row">{k + 1}{about}</th>'
        for run in runs:
            level = run.numbers.per_level[k] if k < len(run.numbers.per_level) else None
            if level is None or not level.actions:
                yield "<td>-</td>"
                continue
            mark = "" if level.baseline is None else f'<i style="left:{min(100 * level.baseline / most, 100):.1f}%"></i>'
            bar = f'<div class="bar" style="--of:{run.colour}"><b style="width:{100 * level.actions / most:.1f}%"></b>{mark}</div>'
            yield f"<td>{level.actions:,}{'' if level.completed else ', not completed'}{bar}</td>"
        yield "</tr>"
    yield "</tbody></table></div>"


def _chart(runs: Sequence[_Run]) -> Iterator[str]:
    """Cumulative actions by level completed, one line a run."""
    lines = [(run.colour, [0, *accumulate(run.solved)]) for run in runs]
    levels, top = max(len(line) for _, line in lines) - 1, max(line[-1] for _, line in lines)
    if not levels:
        return
    width, height, left, bottom = 820, 300, 54, 270

    def point(k: int, actions: int) -> str:
        return f"{left + (width - left - 16) * k / levels:.1f},{bottom - (bottom - 14) * actions / top:.1f}"

    yield "<h2>Cumulative actions by level completed</h2>"
    yield f'<svg class="chart" viewBox="0 0 {width} {height}" role="img" aria-label="Cumulative actions by level completed">'
    for share in (0.0, 0.5, 1.0):
        y = bottom - (bottom - 14) * share
        yield f'<path class="rule" d="M{left} {y:.1f}H{width - 16}"/>'
        yield f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{top * share:,.0f}</text>'
    for k in range(levels + 1):
        yield f'<text x="{point(k, 0).split(",")[0]}" y="{height - 8}" text-anchor="middle">{k}</text>'
    for colour, line in lines:
        points = " ".join(point(k, actions) for k, actions in enumerate(line))
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round"/>'
    yield "</svg>"


def _columns(runs: Sequence[_Run]) -> Iterator[str]:
    yield '<h2>The last board, and the rulebook at the end</h2><div class="columns">'
    for run in runs:
        yield f'<section><h3><i class="swatch" style="background:{run.colour}"></i>{esc(run.title)}</h3>'
        if run.frame is not None:
            yield f'<img alt="The last board" src="{data_uri(run.frame, run.palette)}">'
        book = shown(run.rulebook, TEXT) if run.rulebook else "Nothing was ever accepted."
        yield f"<pre class='book'>{esc(book)}</pre></section>"
    yield "</div>"
