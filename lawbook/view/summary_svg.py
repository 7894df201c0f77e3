"""One wide SVG of a real run: first sight, a prediction that was wrong, a plan, the end, and below each how the rulebook grew."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lawbook.core.record import Frame, Status
from lawbook.errors import UsageError
from lawbook.ledger.ledger import Ledger
from lawbook.view.display_events import Missed, Proposed, Told
from lawbook.view.formatting import clean, count, one_line
from lawbook.view.live_layout import wrapped
from lawbook.view.metrics import Counting, RunNumbers
from lawbook.view.motion_path import Point, way
from lawbook.view.palette import dark, palette
from lawbook.view.plan_sections import Leg, chapters
from lawbook.view.rulebook_diff import Change, changes, entries
from lawbook.view.svg_png import outline, polyline, svg_cells

WIDTH, MARGIN, GAP = 1040, 26, 20
BOARD = (WIDTH - 2 * MARGIN - 3 * GAP) // 4
LINE, LETTER = 15.5, 6.63
"""Height of a line of the rulebook, and width of a letter of it: monospaced, 11 pixels."""
LINES = 17
"""Lines of rulebook below each board."""

_BIG = 1200
"""Boards of up to so many cells are drawn with lines between the cells, and with faces."""

_INK, _DIM, _BACK, _EDGE = "#e8ebf2", "#96a0b2", "#141822", "#2c3444"
_COLOURS = {"+": "#4ade80", "-": "#fb7185", "~": "#fbbf24", " ": "#aab3c2"}
_SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
_MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"


@dataclass(frozen=True, eq=False)
class Stage:
    """One board: what is shown on it, its caption (bold, then plain), the rulebook that stood then and its version. lesson: what
    the rulebook says since just then, which is kept where room is short."""

    frame: Frame
    title: str
    caption: str
    rulebook: str
    version: int
    wrong: npt.NDArray[np.bool_] | None = None
    points: Sequence[Point] = ()
    mood: int = 0
    lesson: Collection[str] = ()


def draw(ledger: Ledger) -> str:
    """The picture, as text. Raises UsageError for a run in which no rulebook was ever accepted."""
    told: list[tuple[Told | Leg, str, int]] = []
    counting, state = Counting(), None
    for one, state in chapters(ledger):
        counting.add(one.planned if isinstance(one, Leg) else one)
        member = state.members[0]
        told.append((one, member.hypothesis.rulebook if member.hypothesis else "", member.version))
    if state is None or not any(book for _, book, _ in told):
        raise UsageError("No rulebook was ever accepted in this run, so there is nothing to draw; choose another.")
    assert counting.opened is not None
    numbers, name = counting.numbers(state, ledger), counting.opened.spec["palette"]
    stages = list(_stages(told, ledger, state.record.trajectories[0].first.frame, state.record.here.last.frame, numbers))
    height = 74 + BOARD + 58 + round(LINES * LINE) + 26 + 56
    body = [*_head(numbers)]
    before, first = "", set(entries(stages[0].rulebook).values())
    for k, stage in enumerate(stages):
        x = MARGIN + k * (BOARD + GAP)
        body += _board(stage, name, x, 74)
        body += _rules(changes(before, stage.rulebook), first if k else set(), stage, x, 74 + BOARD + 58)
        before = stage.rulebook
    body += _bars(numbers, height - 50)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
        f'aria-label="{_esc(_sentence(numbers))}" font-family="{_SANS}">\n'
        f'<rect x="1" y="1" width="{WIDTH - 2}" height="{height - 2}" rx="16" fill="{_BACK}" stroke="{_EDGE}"/>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def _stages(told: list[tuple[Told | Leg, str, int]], ledger: Ledger, first: Frame, last: Frame, n: RunNumbers) -> Iterator[Stage]:
    """At most four moments, in order: first sight, the surprise that taught most, the longest plan to a goal, the end."""
    book, version = next((book, version) for _, book, version in told if book)
    yield Stage(first, "First sight.", "Nothing is known but a frame and some action numbers.", book, version)
    surprise = _surprise(told, ledger)
    at = -1
    if surprise is not None:
        at, missed, answer, version = surprise
        assert missed.predicted is not None and missed.observed is not None
        predicted, observed = ledger.frame(missed.predicted), ledger.frame(missed.observed)
        wrong = predicted != observed if predicted.shape == observed.shape else None
        lesson = {change.text for change in answer.changes if change.mark in "+~"}
        yield Stage(observed, "A wrong prediction:", _parted(missed), answer.after.rulebook, version, wrong, lesson=lesson)
    legs = [(k, one, book, v) for k, (one, book, v) in enumerate(told) if isinstance(one, Leg) and k > at and _whole(one)]
    if legs:
        _, leg, book, version = max(legs, key=lambda found: (len(found[1].steps), found[0]))
        frames = leg.frames(ledger)
        sure = "certified shortest" if leg.planned.plan["certified"] else "found in the program"
        title = f"A plan of {count(len(leg.steps), 'action')},"
        yield Stage(frames[0], title, f"{sure}, each step predicted before it is sent.", book, version, None, way(frames))
    book, version = told[-1][1], told[-1][2]
    shortest = ""
    if n.shortest and n.outcome == "won":
        shortest = f"; the shortest is {n.shortest}" if n.baseline == "optimal" else f"; {n.baseline}: {n.shortest}"
    title = "Won." if n.outcome == "won" else f"{(n.outcome or 'not ended').capitalize()}."
    yield Stage(last, title, f"{count(n.actions, 'action')}{shortest}.", book, version, None, (), 1)


def _whole(leg: Leg) -> bool:
    return leg.planned.plan["subgoal"] is None and 0 < len(leg.steps) == len(leg.planned.plan["actions"])


def _surprise(told: list[tuple[Told | Leg, str, int]], ledger: Ledger) -> tuple[int, Missed, Proposed, int] | None:
    """The mismatch that taught most, with the proposal that answered it: about how a level ends, else with most new rules."""
    best: tuple[tuple[bool, int], tuple[int, Missed, Proposed, int]] | None = None
    missed: tuple[int, Missed] | None = None
    for k, (one, _, version) in enumerate(told):
        if isinstance(one, Missed) and one.member == 0 and one.predicted and one.observed:
            missed = k, one
        elif isinstance(one, Proposed) and one.member == 0 and one.version is not None and missed is not None:
            new = sum(change.mark == "+" and change.name.startswith("R") for change in one.changes)
            example = missed[1].verdict.counterexample
            worth = example is not None and example.expected is not example.predicted, new
            if best is None or worth > best[0]:
                best = worth, (*missed, one, version)
            missed = None
    return best[1] if best else None


def _parted(missed: Missed) -> str:
    example = missed.verdict.counterexample
    if example is None or example.expected is example.predicted:
        return f"{count(example.cells if example else 0, 'cell')} after action {missed.action}. Explain it, and all before."
    return f"after action {missed.action} {_ENDS[example.predicted]} was expected, and {_ENDS[example.expected]} came."


_ENDS = {
    Status.COMPLETED: "the end of the level",
    Status.OVER: "game over",
    Status.TRUNCATED: "a time limit",
    Status.RUNNING: "nothing of the kind",
}


def _head(n: RunNumbers) -> Iterator[str]:
    yield f'<text x="{MARGIN}" y="36" font-size="19" font-weight="700" fill="{_INK}">{_esc(one_line(n.world, 60))}</text>'
    yield f'<text x="{MARGIN}" y="57" font-size="13" fill="{_DIM}">{_esc(_sentence(n))}</text>'


def _sentence(n: RunNumbers) -> str:
    levels = f"{n.levels_completed} of {count(n.levels, 'level')}" if n.levels else count(n.levels_completed, "level")
    return one_line(
        f"A run of the mind {n.mind} under {n.protocol}: {levels} in {count(n.actions, 'action')}, {n.versions} versions.", 140
    )


def _board(stage: Stage, name: str, x: int, y: int) -> Iterator[str]:
    height, width = stage.frame.shape
    scale = BOARD / max(height, width)
    left, top = x + (BOARD - width * scale) / 2, y + (BOARD - height * scale) / 2
    yield f'<g transform="translate({left:g} {top:g}) scale({scale:g})">'
    yield f'<g shape-rendering="crispEdges">{svg_cells(stage.frame, name)}</g>'
    if stage.frame.size <= _BIG:
        lines = "".join(f"M0 {r}h{width}" for r in range(1, height)) + "".join(f"M{c} 0v{height}" for c in range(1, width))
        yield f'<path d="{lines}" stroke="#000" stroke-opacity=".07" stroke-width="{1 / scale:.3g}"/>'
        yield from _faces(stage, name)
    if stage.wrong is not None and stage.wrong.any():
        yield (
            f'<path d="{outline(stage.wrong)}" fill="#ff005a" fill-opacity=".28" stroke="#ff005a" '
            f'stroke-width="{1.5 / scale:.3g}"/>'
        )
    if len(stage.points) > 1:
        line = polyline(stage.points)
        look = 'fill="none" stroke-linecap="round" stroke-linejoin="round"'
        row, column = stage.points[-1]
        yield f'<polyline points="{line}" {look} stroke="#000" stroke-opacity=".6" stroke-width="{7 / scale:.3g}"/>'
        dots = f'stroke-width="{3 / scale:.3g}" stroke-dasharray="{0.1 / scale:.3g} {6.5 / scale:.3g}"'
        yield f'<polyline points="{line}" {look} stroke="#fff" {dots}/>'
        size = 4.5 / scale
        yield f'<circle cx="{column:g}" cy="{row:g}" r="{size:g}" fill="#fff" stroke="#000" stroke-width="{size / 3:g}"/>'
    yield "</g>"
    yield f'<rect x="{x - 0.5}" y="{y - 0.5}" width="{BOARD + 1}" height="{BOARD + 1}" rx="3" fill="none" stroke="{_EDGE}"/>'
    for k, text in enumerate(wrapped(f"{stage.title} {stage.caption}", 36, 3)):
        bold = f'<tspan font-weight="700" fill="{_INK}">{_esc(stage.title)}</tspan>' if k == 0 else ""
        rest = _esc(text[len(stage.title) :] if k == 0 else text)
        yield f'<text x="{x}" y="{y + BOARD + 19 + 16 * k}" font-size="12.5" fill="{_DIM}">{bold}{rest}</text>'


def _faces(stage: Stage, name: str) -> Iterator[str]:
    colours = palette(name)
    for code, faces in colours.faces.items():
        ink = "#fff" if dark(colours.colours[code]) else "#1d2330"
        for row, column in np.argwhere(stage.frame == code).tolist():
            yield (
                f'<text x="{column + 0.5}" y="{row + 0.64}" font-size=".42" text-anchor="middle" fill="{ink}" '
                f'font-family="{_SANS}">{_esc(faces[stage.mood])}</text>'
            )


def _rules(found: Iterable[Change], old: Collection[str], stage: Stage, x: int, y: int) -> Iterator[str]:
    """The rulebook of one stage against the one before: retracted rules first, then what stands. Where room is short the changed
    ones are kept before the others, then the last ones, and those that stood from the start (`old`) at the end."""
    rules = [one for one in found if one.name.startswith("R")]
    gone, stands = [one for one in rules if one.mark == "-"], [one for one in rules if one.mark != "-"]
    yield f'<line x1="{x}" y1="{y}" x2="{x + BOARD}" y2="{y}" stroke="{_EDGE}"/>'
    yield (
        f'<text x="{x}" y="{y + 17}" font-size="11" font-weight="600" fill="{_DIM}">rulebook, version {stage.version}: '
        f"{count(len(stands), 'rule')}</text>"
    )
    letters = int(BOARD / LETTER)
    drawn = [(one, wrapped(f"{one.name} {one.text}", letters, 3 if one.mark in "+~" else 2)) for one in [*gone[:2], *stands]]
    kept: set[int] = set()
    used = 1

    def rank(k: int) -> tuple[bool, bool, bool, int]:
        change = drawn[k][0]
        taught = change.mark == "-" or change.text in stage.lesson
        return not taught, change.mark == " ", change.mark != "-" and change.text in old, -k if change.mark == " " else k

    for k in sorted(range(len(drawn)), key=rank):
        if used + len(drawn[k][1]) <= LINES - 1 or (used + len(drawn[k][1]) <= LINES and len(kept) == len(drawn) - 1):
            kept.add(k)
            used += len(drawn[k][1])
    line = 1
    for k, (change, rows) in enumerate(drawn):
        if k not in kept:
            continue
        struck = ' text-decoration="line-through"' if change.mark == "-" else ""
        for row in rows:
            line += 1
            at = y + 17 + (line - 1) * LINE
            yield (
                f'<text x="{x}" y="{at:g}" font-size="11" font-family="{_MONO}" xml:space="preserve" '
                f'fill="{_COLOURS[change.mark]}"{struck}>{_esc(row)}</text>'
            )
    if len(kept) < len(drawn):
        yield f'<text x="{x}" y="{y + 17 + line * LINE:g}" font-size="11" fill="{_DIM}">and {len(drawn) - len(kept)} more</text>'


def _bars(n: RunNumbers, y: int) -> Iterator[str]:
    """Actions of every level as a bar, with the baseline as a mark in it."""
    levels = [one for one in n.per_level if one.actions][:12]
    if not levels:
        return
    label = 132
    slot = min((WIDTH - 2 * MARGIN - label) / len(levels), 320)
    most = max(max(one.actions, one.baseline or 0) for one in levels)
    yield f'<text x="{MARGIN}" y="{y + 16}" font-size="12.5" font-weight="700" fill="{_INK}">Actions by level</text>'
    yield f'<text x="{MARGIN}" y="{y + 32}" font-size="11" fill="{_DIM}">mark: {_esc(n.baseline)}</text>'
    for k, one in enumerate(levels):
        x, full = MARGIN + label + k * slot, slot - 64
        spent = full * one.actions / most
        colour = _COLOURS["+"] if one.completed else _COLOURS["-"]
        yield f'<rect x="{x:.1f}" y="{y + 9}" width="{max(spent, 3):.1f}" height="12" rx="4" fill="{colour}" fill-opacity=".85"/>'
        if one.baseline is not None:
            yield f'<rect x="{x + full * one.baseline / most - 1:.1f}" y="{y + 5}" width="2.5" height="20" fill="{_INK}"/>'
        told = f"level {one.level + 1}: {one.actions}" + (f", {n.baseline} {one.baseline}" if one.baseline is not None else "")
        yield f'<text x="{x:.1f}" y="{y + 38}" font-size="11" fill="{_DIM}">{_esc(told)}</text>'


def _esc(text: str) -> str:
    return html.escape(clean(text))
