"""A run as plain HTML, for readers without scripts: numbers, levels, what happened with boards and diffs, the final texts."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from lawbook.core.hypothesis import Hypothesis
from lawbook.core.record import Frame, Status
from lawbook.ledger.ledger import Ledger
from lawbook.runs.state import Sort, State
from lawbook.view.display_events import Missed, Opened, Proposed, Stepped, Told
from lawbook.view.formatting import clean, count, moment, one_line, percent, seconds, shown
from lawbook.view.metrics import Counting, RunNumbers
from lawbook.view.motion_path import Point, way
from lawbook.view.palette import css, palette
from lawbook.view.plan_sections import Leg, chapters
from lawbook.view.rulebook_diff import Change, diff, texts
from lawbook.view.svg_png import data_uri, outline, polyline

TEXT = 100_000
"""Most characters of a text."""
Mask = npt.NDArray[np.bool_]
BOARDS, DIFF_LINES, ALL_LINES, WIDTH, ENTRIES = 120, 200, 1500, 400, 2000
"""Most boards, lines of one diff, of all diffs, characters of a line, and entries of the time line; what is cut is named."""


def body(ledger: Ledger) -> str:
    """What stands in the body of a page with the style sheet of style.py. Raises UsageError when the ledger has no opening."""
    told, counting, state = [], Counting(), None
    for one, state in chapters(ledger):  # noqa: B007
        told.append(one)
        counting.add(one.planned if isinstance(one, Leg) else one)
    assert state is not None
    numbers, opened = counting.numbers(state, ledger), counting.opened
    assert opened is not None
    page = _Page(ledger, opened.spec["palette"])
    parts = [
        *_header(numbers),
        *_levels(numbers),
        "<h2>What happened</h2>",
        *page.time_line(told),
        *_final(state),
        *_footer(numbers, opened),
    ]
    return f"<main>{''.join(parts)}</main>"


def esc(text: object) -> str:
    """Anything as text in HTML: nothing in it is obeyed."""
    return html.escape(clean(str(text)))


def _header(n: RunNumbers) -> Iterator[str]:
    good = n.outcome == "won"
    yield f'<header><p class="brand">lawbook</p><h1>{esc(n.world)}</h1>'
    population = f", {n.population} members" if n.population > 1 else ""
    yield f"<p>{esc(n.mind)} under {esc(n.protocol)}{population}, seed {n.seed}, budget {count(n.budget, 'action')}</p>"
    yield f'<p class="outcome {"good" if good else "bad"}"><b>{esc(n.outcome or "not ended")}</b> {esc(one_line(n.sentence))}</p>'
    of = f" of {n.levels}" if n.levels else ""
    shortest = f"{n.baseline} {n.shortest:,}" if n.shortest else ""
    tiles = [
        ("levels", f"{n.levels_completed}{of}", ""),
        ("actions", f"{n.actions:,}", shortest),
        ("exact predictions", percent(n.exact, n.compared), f"{n.exact:,} of {n.compared:,}" if n.compared else ""),
        ("versions", f"{n.versions:,}", f"{n.refusals:,} refused"),
        ("wrong predictions", f"{n.mismatches:,}", ""),
        ("mind calls", f"{n.mind_calls:,}", seconds(n.thinking_seconds)),
        ("time", seconds(n.seconds), f"{seconds(n.verifying_seconds)} verifying"),
    ]
    cells = "".join(f"<div><dt>{name}</dt><dd>{esc(value)}</dd><small>{esc(about)}</small></div>" for name, value, about in tiles)
    yield f'<dl class="tiles">{cells}</dl></header>'


def _levels(n: RunNumbers) -> Iterator[str]:
    most = max([1, *(one.actions for one in n.per_level), *(one.baseline or 0 for one in n.per_level)])
    yield f"<h2>Levels</h2><table><tr><th>level</th><th>actions</th><th>{esc(n.baseline)}</th><th></th><th></th></tr>"
    for one in n.per_level:
        mark = "" if one.baseline is None else f'<i style="left:{100 * one.baseline / most:.2f}%"></i>'
        bar = f'<div class="bar"><b style="width:{100 * one.actions / most:.2f}%"></b>{mark}</div>'
        extra = [count(one.resets, "reset")] * (one.resets > 0) + [count(one.deaths, "death")] * (one.deaths > 0)
        done = "completed" if one.completed else "not completed"
        baseline = "-" if one.baseline is None else f"{one.baseline:,}"
        yield f"<tr><td>{one.level + 1}</td><td>{one.actions:,}</td><td>{baseline}</td><td>{bar}</td>"
        yield f"<td>{', '.join([done, *extra])}</td></tr>"
    sorts = ", ".join(f"{number:,} {name} ({percent(number, n.actions)})" for name, number in n.sorts.items())
    yield f"</table><p class='dim'>Of {count(n.actions, 'action')}: {sorts}. The mark in a bar is the {esc(n.baseline)} count.</p>"


def _final(state: State) -> Iterator[str]:
    for member in state.members:
        if member.hypothesis is None:
            continue
        whose = f" of member {member.index}" if len(state.members) > 1 else ""
        stands = "as it stands" if member.admissible else "accepted last, and falsified since"
        yield f"<h2>Rulebook{whose}, {stands}</h2><pre class='book'>{esc(shown(member.hypothesis.rulebook, TEXT))}</pre>"
        yield f"<h2>Program{whose}</h2>"
        for name, text in list(texts(member.hypothesis).items())[1:]:
            yield f"<details><summary>{esc(name)} <small>{count(len(text.splitlines()), 'line')}</small></summary>"
            yield f"<pre>{esc(shown(text, TEXT))}</pre></details>"


def _footer(n: RunNumbers, opened: Opened) -> Iterator[str]:
    versions = ", ".join(f"{name} {number}" for name, number in opened.versions.items())
    yield f"<footer><p>Began {moment(n.began)}. Sandbox: {esc(n.sandbox or 'unknown')}. {esc(versions)}.</p>"
    yield f"<p>Ledger of {count(n.events, 'event')}, head <code>{esc(n.head)}</code>. "
    yield "The chain shows edits of anything before it; kept elsewhere, it also shows a ledger cut or written anew.</p></footer>"


class _Page:
    """The time line, and what it may still show."""

    def __init__(self, ledger: Ledger, name: str) -> None:
        self._ledger, self._palette, self._boards, self._lines = ledger, name, BOARDS, ALL_LINES

    def time_line(self, told: list[Told | Leg]) -> Iterator[str]:
        yield "<ol>"
        number = 0
        for one in told:
            content = self._leg(one) if isinstance(one, Leg) else self._entry(one)
            if not content:
                continue
            number += 1
            if number > ENTRIES:
                continue
            base = one.planned if isinstance(one, Leg) else one
            yield f'<li class="{base.mood}"><span class="at">{base.at:,}</span><div>{content}</div></li>'
        yield "</ol>"
        if number > ENTRIES:
            yield f"<p class='dim'>{number - ENTRIES:,} entries more are left out; the ledger has them all.</p>"

    def _entry(self, told: Told) -> str:
        match told:
            case Proposed():
                return self._proposed(told)
            case Missed():
                return self._missed(told)
            case Opened():
                return ""
            case Stepped(status=Status.RUNNING) if told.sort is Sort.PLAN:
                return ""
        return f"<p>{esc(told.line)}</p>" if told.line else ""

    def _proposed(self, told: Proposed) -> str:
        if told.accepted and told.version is None:
            return ""
        head = f"version {told.version} accepted" if told.accepted else f"proposal {told.number} refused"
        parts = [
            f"<p><b>{head}</b> <span class='dim'>member {told.member}, {told.decision}, asked because of {esc(told.why)}; "
            f"{count(told.verdict.replayed, 'step')} replayed in {seconds(told.verdict.seconds)}</span></p>"
        ]
        if told.diagnosis.strip():
            parts.append(f"<p>{esc(told.diagnosis)}</p>")
        if not told.accepted:
            parts.append(f"<p class='why'>{esc(told.verdict.reason)}</p>")
        else:
            parts.append(_changes(told.changes))
        parts.append(self._diff(told.before, told.after))
        return "".join(parts)

    def _diff(self, before: Hypothesis | None, after: Hypothesis) -> str:
        lines = diff(before, after)
        most = min(DIFF_LINES, self._lines, len(lines))
        self._lines -= most
        if not lines or not most:
            return ""
        classes = {"+": "new", "-": "gone", "@": "at"}
        told = "".join(
            f'<span class="{"file" if line[:3] in ("+++", "---") else classes.get(line[:1], "")}">{esc(line[:WIDTH])}'
            f"{'…' * (len(line) > WIDTH)}\n</span>"
            for line in lines[:most]
        )
        cut = f"<p class='dim'>{len(lines) - most:,} lines more; `lawbook history` has them.</p>" if len(lines) > most else ""
        return f"<details><summary>diff, {count(len(lines), 'line')}</summary><pre>{told}</pre>{cut}</details>"

    def _missed(self, told: Missed) -> str:
        parts = [f"<p><b>{esc(told.line)}</b></p>"]
        if told.question:
            parts.append(f"<p class='dim'>asked: {esc(told.question)}</p>")
        if told.predicted and told.observed and self._boards >= 2:
            predicted, observed = self._ledger.frame(told.predicted), self._ledger.frame(told.observed)
            wrong = predicted != observed if predicted.shape == observed.shape else None
            pair = self._board(predicted, "predicted", wrong) + self._board(observed, "observed", wrong)
            parts.append(f'<div class="boards">{pair}</div>')
        parts.append(f"<details><summary>what the mind was told</summary><p class='why'>{esc(told.verdict.reason)}</p></details>")
        return "".join(parts)

    def _leg(self, leg: Leg) -> str:
        plan = leg.planned.plan
        sent = "" if len(leg.steps) == len(plan["actions"]) else f", stopped after {count(len(leg.steps), 'action')}"
        how = f"{plan['method']}, {count(plan['nodes'], 'state')} in {seconds(plan['seconds'])}"
        text = f"<p><b>{esc(leg.planned.line)}</b> <span class='dim'>{esc(how)}{sent}</span></p>"
        frames = leg.frames(self._ledger) if len(leg.steps) > 1 and self._boards else []
        return text + (f'<div class="boards">{self._board(frames[0], "the way", None, way(frames))}</div>' if frames else "")

    def _board(self, frame: Frame, caption: str, wrong: Mask | None = None, points: Iterable[Point] = ()) -> str:
        self._boards -= 1
        height, width = frame.shape
        across = 256 if width >= 24 else 160
        marks = f'<path class="wrong" d="{outline(wrong)}"/>' if wrong is not None and wrong.any() else ""
        line = polyline(list(points))
        colour = css(palette(self._palette).colours[int(frame.flat[0])])
        route = f'<polyline class="under" points="{line}"/><polyline class="way" points="{line}"/>' if line else ""
        return (
            f'<figure><div class="board" style="width:{across}px;height:{round(across * height / width)}px;background:{colour}">'
            f'<img alt="" src="{data_uri(frame, self._palette)}"><svg viewBox="0 0 {width} {height}" preserveAspectRatio="none">'
            f"{marks}{route}</svg></div><figcaption>{esc(caption)}</figcaption></figure>"
        )


def _changes(found: list[Change]) -> str:
    names = {"+": "new", "-": "gone", "~": "said"}
    rows = [
        f'<li class="{names[one.mark]}"><b>{one.mark} {esc(one.name)}</b> {esc(one.text)}</li>' for one in found if one.mark != " "
    ]
    return f'<ul class="rules">{"".join(rows)}</ul>' if rows else ""
