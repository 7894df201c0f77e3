"""A run as plain HTML, for readers without scripts: numbers, levels, what happened with boards and diffs, the final texts."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from lawbook.core.hypothesis import Hypothesis
from lawbook.core.record import ActionKind, Frame, Status
from lawbook.ledger.ledger import Ledger
from lawbook.runs.state import State
from lawbook.view.display_events import DisplayEvent, PredictionFailed, ProposalJudged, RunOpened, StepTaken
from lawbook.view.formatting import (
    clean,
    format_count,
    format_one_line,
    format_percent,
    format_seconds,
    format_timestamp,
    truncate_text,
)
from lawbook.view.metrics import RunMetrics, RunMetricsBuilder
from lawbook.view.motion_path import Point, find_motion_path
from lawbook.view.palette import format_css, get_palette
from lawbook.view.plan_sections import PlanSection, read_sections
from lawbook.view.rulebook_diff import RuleChange, collect_texts, diff_hypotheses
from lawbook.view.svg_png import encode_data_uri, format_outline, format_polyline

MAX_TEXT_CHARACTERS = 100_000
"""Most characters of a text."""
Mask = npt.NDArray[np.bool_]
MAX_BOARDS, MAX_DIFF_LINES, MAX_TOTAL_DIFF_LINES, MAX_LINE_CHARACTERS, MAX_ENTRIES = 120, 200, 1500, 400, 2000
"""Most boards, lines of one diff, of all diffs, characters of a line, and entries of the time line; what is cut is named."""


def render_body(ledger: Ledger) -> str:
    """What stands in the body of a page with the style sheet of css.py. Raises UsageError when the ledger has no opening."""
    sections, builder, state = [], RunMetricsBuilder(), None
    for section, state in read_sections(ledger):  # noqa: B007
        sections.append(section)
        builder.add(section.plan_event if isinstance(section, PlanSection) else section)
    assert state is not None
    metrics, opening = builder.build(state, ledger), builder.opening
    assert opening is not None
    renderer = _PageRenderer(ledger, opening.spec.palette)
    parts = [
        *_render_header(metrics),
        *_render_levels(metrics),
        "<h2>What happened</h2>",
        *renderer.render_timeline(sections),
        *_render_final_texts(state),
        *_render_footer(metrics, opening),
    ]
    return f"<main>{''.join(parts)}</main>"


def escape(text: object) -> str:
    """Anything as text in HTML: nothing in it is obeyed."""
    return html.escape(clean(str(text)))


def _render_header(metrics: RunMetrics) -> Iterator[str]:
    is_won = metrics.outcome == "won"
    yield f'<header><p class="brand">lawbook</p><h1>{escape(metrics.world)}</h1>'
    population = f", {metrics.population} members" if metrics.population > 1 else ""
    yield (
        f"<p>{escape(metrics.mind)} under {escape(metrics.protocol)}{population}, seed {metrics.seed}, budget "
        f"{format_count(metrics.budget, 'action')}</p>"
    )
    yield (
        f'<p class="outcome {"good" if is_won else "bad"}"><b>{escape(metrics.outcome or "not ended")}</b> '
        f"{escape(format_one_line(metrics.sentence))}</p>"
    )
    level_total = f" of {metrics.levels}" if metrics.levels else ""
    baseline_note = f"{metrics.baseline} {metrics.completed_baseline:,}" if metrics.completed_baseline else ""
    tiles = [
        ("levels", f"{metrics.levels_completed}{level_total}", ""),
        ("actions", f"{metrics.actions:,}", baseline_note),
        (
            "exact predictions",
            format_percent(metrics.exact_predictions, metrics.compared_predictions),
            f"{metrics.exact_predictions:,} of {metrics.compared_predictions:,}" if metrics.compared_predictions else "",
        ),
        ("versions", f"{metrics.versions:,}", f"{metrics.refusals:,} refused"),
        ("wrong predictions", f"{metrics.mismatches:,}", ""),
        ("mind calls", f"{metrics.mind_calls:,}", format_seconds(metrics.thinking_seconds)),
        ("time", format_seconds(metrics.seconds), f"{format_seconds(metrics.verifying_seconds)} verifying"),
    ]
    cells = "".join(
        f"<div><dt>{name}</dt><dd>{escape(value)}</dd><small>{escape(note)}</small></div>" for name, value, note in tiles
    )
    yield f'<dl class="tiles">{cells}</dl></header>'


def _render_levels(metrics: RunMetrics) -> Iterator[str]:
    max_actions = max([1, *(level.actions for level in metrics.per_level), *(level.baseline or 0 for level in metrics.per_level)])
    yield f"<h2>Levels</h2><table><tr><th>level</th><th>actions</th><th>{escape(metrics.baseline)}</th><th></th><th></th></tr>"
    for level in metrics.per_level:
        baseline_mark = "" if level.baseline is None else f'<i style="left:{100 * level.baseline / max_actions:.2f}%"></i>'
        bar = f'<div class="bar"><b style="width:{100 * level.actions / max_actions:.2f}%"></b>{baseline_mark}</div>'
        incidents = [format_count(level.resets, "reset")] * (level.resets > 0) + [format_count(level.deaths, "death")] * (
            level.deaths > 0
        )
        completion = "completed" if level.completed else "not completed"
        baseline = "-" if level.baseline is None else f"{level.baseline:,}"
        yield f"<tr><td>{level.level + 1}</td><td>{level.actions:,}</td><td>{baseline}</td><td>{bar}</td>"
        yield f"<td>{', '.join([completion, *incidents])}</td></tr>"
    kinds = ", ".join(
        f"{n_actions:,} {name} ({format_percent(n_actions, metrics.actions)})"
        for name, n_actions in metrics.actions_by_kind.items()
    )
    yield (
        f"</table><p class='dim'>Of {format_count(metrics.actions, 'action')}: {kinds}. The mark in a bar is the "
        f"{escape(metrics.baseline)} count.</p>"
    )


def _render_final_texts(state: State) -> Iterator[str]:
    for member in state.members:
        if member.hypothesis is None:
            continue
        member_note = f" of member {member.index}" if len(state.members) > 1 else ""
        standing = "as it stands" if member.admissible else "accepted last, and falsified since"
        yield (
            f"<h2>Rulebook{member_note}, {standing}</h2><pre "
            f"class='book'>{escape(truncate_text(member.hypothesis.rulebook, MAX_TEXT_CHARACTERS))}</pre>"
        )
        yield f"<h2>Program{member_note}</h2>"
        for name, text in list(collect_texts(member.hypothesis).items())[1:]:
            yield f"<details><summary>{escape(name)} <small>{format_count(len(text.splitlines()), 'line')}</small></summary>"
            yield f"<pre>{escape(truncate_text(text, MAX_TEXT_CHARACTERS))}</pre></details>"


def _render_footer(metrics: RunMetrics, opening: RunOpened) -> Iterator[str]:
    versions = ", ".join(f"{name} {number}" for name, number in opening.versions.items())
    yield (
        f"<footer><p>Began {format_timestamp(metrics.started_at)}. Sandbox: {escape(metrics.sandbox or 'unknown')}. "
        f"{escape(versions)}.</p>"
    )
    yield f"<p>Ledger of {format_count(metrics.events, 'event')}, head <code>{escape(metrics.head)}</code>. "
    yield "The chain shows edits of anything before it; kept elsewhere, it also shows a ledger cut or written anew.</p></footer>"


class _PageRenderer:
    """The time line, and what it may still show."""

    def __init__(self, ledger: Ledger, palette_name: str) -> None:
        self._ledger, self._palette, self._boards_left, self._lines_left = ledger, palette_name, MAX_BOARDS, MAX_TOTAL_DIFF_LINES

    def render_timeline(self, sections: list[DisplayEvent | PlanSection]) -> Iterator[str]:
        yield "<ol>"
        number = 0
        for section in sections:
            content = self._render_plan_section(section) if isinstance(section, PlanSection) else self._render_event(section)
            if not content:
                continue
            number += 1
            if number > MAX_ENTRIES:
                continue
            event = section.plan_event if isinstance(section, PlanSection) else section
            yield f'<li class="{event.mood}"><span class="at">{event.at:,}</span><div>{content}</div></li>'
        yield "</ol>"
        if number > MAX_ENTRIES:
            yield f"<p class='dim'>{number - MAX_ENTRIES:,} entries more are left out; the ledger has them all.</p>"

    def _render_event(self, event: DisplayEvent) -> str:
        match event:
            case ProposalJudged():
                return self._render_proposal(event)
            case PredictionFailed():
                return self._render_mismatch(event)
            case RunOpened():
                return ""
            case StepTaken(status=Status.RUNNING) if event.action_kind is ActionKind.PLAN:
                return ""
        return f"<p>{escape(event.line)}</p>" if event.line else ""

    def _render_proposal(self, event: ProposalJudged) -> str:
        if event.is_accepted and event.version is None:
            return ""
        heading = f"version {event.version} accepted" if event.is_accepted else f"proposal {event.number} refused"
        parts = [
            f"<p><b>{heading}</b> <span class='dim'>member {event.member}, {event.decision}, asked because of "
            f"{escape(event.trigger)}; "
            f"{format_count(event.verdict.replayed, 'step')} replayed in {format_seconds(event.verdict.seconds)}</span></p>"
        ]
        if event.diagnosis.strip():
            parts.append(f"<p>{escape(event.diagnosis)}</p>")
        if not event.is_accepted:
            parts.append(f"<p class='why'>{escape(event.verdict.reason)}</p>")
        else:
            parts.append(_render_rule_changes(event.changes))
        parts.append(self._render_diff(event.old_hypothesis, event.new_hypothesis))
        return "".join(parts)

    def _render_diff(self, before: Hypothesis | None, after: Hypothesis) -> str:
        lines = diff_hypotheses(before, after)
        n_shown = min(MAX_DIFF_LINES, self._lines_left, len(lines))
        self._lines_left -= n_shown
        if not lines or not n_shown:
            return ""
        classes = {"+": "new", "-": "gone", "@": "at"}
        rendered_lines = "".join(
            f'<span class="{"file" if line[:3] in ("+++", "---") else classes.get(line[:1], "")}">'
            f"{escape(line[:MAX_LINE_CHARACTERS])}"
            f"{'…' * (len(line) > MAX_LINE_CHARACTERS)}\n</span>"
            for line in lines[:n_shown]
        )
        cut = f"<p class='dim'>{len(lines) - n_shown:,} lines more; `lawbook history` has them.</p>" if len(lines) > n_shown else ""
        return f"<details><summary>diff, {format_count(len(lines), 'line')}</summary><pre>{rendered_lines}</pre>{cut}</details>"

    def _render_mismatch(self, event: PredictionFailed) -> str:
        parts = [f"<p><b>{escape(event.line)}</b></p>"]
        if event.question:
            parts.append(f"<p class='dim'>asked: {escape(event.question)}</p>")
        if event.predicted and event.observed and self._boards_left >= 2:
            predicted, observed = self._ledger.get_frame(event.predicted), self._ledger.get_frame(event.observed)
            mismatch_mask = predicted != observed if predicted.shape == observed.shape else None
            pair = self._render_board(predicted, "predicted", mismatch_mask) + self._render_board(
                observed, "observed", mismatch_mask
            )
            parts.append(f'<div class="boards">{pair}</div>')
        parts.append(
            f"<details><summary>what the mind was told</summary><p class='why'>{escape(event.verdict.reason)}</p></details>"
        )
        return "".join(parts)

    def _render_plan_section(self, section: PlanSection) -> str:
        plan = section.plan_event.plan
        interruption = (
            ""
            if len(section.steps) == section.plan_event.n_actions
            else f", stopped after {format_count(len(section.steps), 'action')}"
        )
        search_summary = f"{plan.method}, {format_count(plan.nodes, 'state')} in {format_seconds(plan.seconds)}"
        text = f"<p><b>{escape(section.plan_event.line)}</b> <span class='dim'>{escape(search_summary)}{interruption}</span></p>"
        frames = section.read_frames(self._ledger) if len(section.steps) > 1 and self._boards_left else []
        return text + (
            f'<div class="boards">{self._render_board(frames[0], "the way", None, find_motion_path(frames))}</div>'
            if frames
            else ""
        )

    def _render_board(self, frame: Frame, caption: str, mismatch_mask: Mask | None = None, path: Iterable[Point] = ()) -> str:
        self._boards_left -= 1
        height, width = frame.shape
        board_width = 256 if width >= 24 else 160
        marks = (
            f'<path class="wrong" d="{format_outline(mismatch_mask)}"/>'
            if mismatch_mask is not None and mismatch_mask.any()
            else ""
        )
        path_points = format_polyline(list(path))
        colour = format_css(get_palette(self._palette).colours[int(frame.flat[0])])
        route = (
            f'<polyline class="under" points="{path_points}"/><polyline class="way" points="{path_points}"/>' if path_points else ""
        )
        return (
            f'<figure><div class="board" style="width:{board_width}px;height:'
            f'{round(board_width * height / width)}px;background:{colour}">'
            f'<img alt="" src="{encode_data_uri(frame, self._palette)}"><svg viewBox="0 0 {width} {height}" '
            f'preserveAspectRatio="none">'
            f"{marks}{route}</svg></div><figcaption>{escape(caption)}</figcaption></figure>"
        )


def _render_rule_changes(rule_changes: list[RuleChange]) -> str:
    names = {"+": "new", "-": "gone", "~": "said"}
    rows = [
        f'<li class="{names[change.mark]}"><b>{change.mark} {escape(change.name)}</b> {escape(change.text)}</li>'
        for change in rule_changes
        if change.mark != " "
    ]
    return f'<ul class="rules">{"".join(rows)}</ul>' if rows else ""
