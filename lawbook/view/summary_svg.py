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
from lawbook.view.display_events import DisplayEvent, PredictionFailed, ProposalJudged
from lawbook.view.formatting import clean, format_count, format_one_line
from lawbook.view.live_layout import wrap_text
from lawbook.view.metrics import RunMetrics, RunMetricsBuilder
from lawbook.view.motion_path import Point, find_motion_path
from lawbook.view.palette import get_palette, is_dark
from lawbook.view.plan_sections import PlanSection, read_sections
from lawbook.view.rulebook_diff import RuleChange, compare_rulebooks, parse_entries
from lawbook.view.svg_png import format_outline, format_polyline, render_svg_cells

WIDTH, MARGIN, GAP = 1040, 26, 20
BOARD_PIXELS = (WIDTH - 2 * MARGIN - 3 * GAP) // 4
LINE_HEIGHT, LETTER_WIDTH = 15.5, 6.63
"""Height of a line of the rulebook, and width of a letter of it: monospaced, 11 pixels."""
MAX_LINES = 17
"""Lines of rulebook below each board."""

_MAX_GRID_CELLS = 1200
"""Boards of up to so many cells are drawn with lines between the cells, and with faces."""

_TEXT_COLOUR, _DIM_COLOUR, _BACKGROUND_COLOUR, _EDGE_COLOUR = "#e8ebf2", "#96a0b2", "#141822", "#2c3444"
_COLOURS = {"+": "#4ade80", "-": "#fb7185", "~": "#fbbf24", " ": "#aab3c2"}
_SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
_MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"


@dataclass(frozen=True, eq=False)
class PicturePanel:
    """One board: what is shown on it, its caption (bold, then plain), the rulebook that stood then and its version. new_rules: what
    the rulebook says since just then, which is kept where room is short."""

    frame: Frame
    title: str
    caption: str
    rulebook: str
    version: int
    mismatch_mask: npt.NDArray[np.bool_] | None = None
    path: Sequence[Point] = ()
    mood: int = 0
    new_rules: Collection[str] = ()


def render(ledger: Ledger) -> str:
    """Draw the picture, as the text of an SVG. Raises UsageError for a run in which no rulebook was ever accepted."""
    history: list[tuple[DisplayEvent | PlanSection, str, int]] = []
    builder, state = RunMetricsBuilder(), None
    for item, state in read_sections(ledger):
        builder.add(item.plan_event if isinstance(item, PlanSection) else item)
        member = state.members[0]
        history.append((item, member.hypothesis.rulebook if member.hypothesis else "", member.version))
    if state is None or not any(rulebook for _, rulebook, _ in history):
        raise UsageError("No rulebook was ever accepted in this run, so there is nothing to draw; choose another.")
    assert builder.opening is not None
    metrics, palette_name = builder.build(state, ledger), builder.opening.spec.palette
    panels = list(
        _select_panels(history, ledger, state.record.trajectories[0].first.frame, state.record.current.last.frame, metrics)
    )
    height = 74 + BOARD_PIXELS + 58 + round(MAX_LINES * LINE_HEIGHT) + 26 + 56
    body = [*_render_head(metrics)]
    previous_rulebook, initial_rules = "", set(parse_entries(panels[0].rulebook).values())
    for k, panel in enumerate(panels):
        x = MARGIN + k * (BOARD_PIXELS + GAP)
        body += _render_board(panel, palette_name, x, 74)
        body += _render_rules(
            compare_rulebooks(previous_rulebook, panel.rulebook), initial_rules if k else set(), panel, x, 74 + BOARD_PIXELS + 58
        )
        previous_rulebook = panel.rulebook
    body += _render_bars(metrics, height - 50)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
        f'aria-label="{_escape(_format_sentence(metrics))}" font-family="{_SANS}">\n'
        f'<rect x="1" y="1" width="{WIDTH - 2}" height="{height - 2}" rx="16" fill="{_BACKGROUND_COLOUR}" '
        f'stroke="{_EDGE_COLOUR}"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def _select_panels(
    history: list[tuple[DisplayEvent | PlanSection, str, int]],
    ledger: Ledger,
    first_frame: Frame,
    last_frame: Frame,
    metrics: RunMetrics,
) -> Iterator[PicturePanel]:
    """At most four moments, in order: first sight, the surprise that taught most, the longest plan to a goal, the end."""
    rulebook, version = next((rulebook, version) for _, rulebook, version in history if rulebook)
    yield PicturePanel(first_frame, "First sight.", "Nothing is known but a frame and some action numbers.", rulebook, version)
    key_mismatch = _find_key_mismatch(history, ledger)
    mismatch_index = -1
    if key_mismatch is not None:
        mismatch_index, mismatch, proposal, version = key_mismatch
        assert mismatch.predicted is not None and mismatch.observed is not None
        predicted, observed = ledger.get_frame(mismatch.predicted), ledger.get_frame(mismatch.observed)
        mismatch_mask = predicted != observed if predicted.shape == observed.shape else None
        new_rules = {change.text for change in proposal.changes if change.mark in "+~"}
        yield PicturePanel(
            observed,
            "A wrong prediction:",
            _describe_mismatch(mismatch),
            proposal.new_hypothesis.rulebook,
            version,
            mismatch_mask,
            new_rules=new_rules,
        )
    sections = [
        (k, item, rulebook, item_version)
        for k, (item, rulebook, item_version) in enumerate(history)
        if isinstance(item, PlanSection) and k > mismatch_index and _is_complete(item)
    ]
    if sections:
        _, section, rulebook, version = max(sections, key=lambda candidate: (len(candidate[1].steps), candidate[0]))
        frames = section.read_frames(ledger)
        certificate = "certified shortest" if section.plan_event.plan.certified else "found in the program"
        title = f"A plan of {format_count(len(section.steps), 'action')},"
        yield PicturePanel(
            frames[0],
            title,
            f"{certificate}, each step predicted before it is sent.",
            rulebook,
            version,
            None,
            find_motion_path(frames),
        )
    rulebook, version = history[-1][1], history[-1][2]
    baseline_note = ""
    if metrics.completed_baseline and metrics.outcome == "won":
        baseline_note = (
            f"; the shortest is {metrics.completed_baseline}"
            if metrics.baseline == "optimal"
            else f"; {metrics.baseline}: {metrics.completed_baseline}"
        )
    title = "Won." if metrics.outcome == "won" else f"{(metrics.outcome or 'not ended').capitalize()}."
    yield PicturePanel(
        last_frame, title, f"{format_count(metrics.actions, 'action')}{baseline_note}.", rulebook, version, None, (), 1
    )


def _is_complete(section: PlanSection) -> bool:
    return section.plan_event.plan.subgoal is None and 0 < len(section.steps) == section.plan_event.n_actions


def _find_key_mismatch(
    history: list[tuple[DisplayEvent | PlanSection, str, int]], ledger: Ledger
) -> tuple[int, PredictionFailed, ProposalJudged, int] | None:
    """The mismatch that taught most, with the proposal that answered it: about how a level ends, else with most new rules."""
    best: tuple[tuple[bool, int], tuple[int, PredictionFailed, ProposalJudged, int]] | None = None
    pending_mismatch: tuple[int, PredictionFailed] | None = None
    for k, (item, _, version) in enumerate(history):
        if isinstance(item, PredictionFailed) and item.member == 0 and item.predicted and item.observed:
            pending_mismatch = k, item
        elif isinstance(item, ProposalJudged) and item.member == 0 and item.version is not None and pending_mismatch is not None:
            n_new_rules = sum(change.mark == "+" and change.name.startswith(("R", "U")) for change in item.changes)
            counterexample = pending_mismatch[1].verdict.counterexample
            worth = counterexample is not None and counterexample.expected is not counterexample.predicted, n_new_rules
            if best is None or worth > best[0]:
                best = worth, (*pending_mismatch, item, version)
            pending_mismatch = None
    return best[1] if best else None


def _describe_mismatch(mismatch: PredictionFailed) -> str:
    counterexample = mismatch.verdict.counterexample
    if counterexample is None or counterexample.expected is counterexample.predicted:
        return (
            f"{format_count(counterexample.cells if counterexample else 0, 'cell')} after action {mismatch.action}. "
            "Explain it, and all before."
        )
    return (
        f"after action {mismatch.action} {_STATUS_PHRASES[counterexample.predicted]} was expected, and "
        f"{_STATUS_PHRASES[counterexample.expected]} came."
    )


_STATUS_PHRASES = {
    Status.COMPLETED: "the end of the level",
    Status.OVER: "game over",
    Status.TRUNCATED: "a time limit",
    Status.RUNNING: "nothing of the kind",
}


def _render_head(metrics: RunMetrics) -> Iterator[str]:
    yield (
        f'<text x="{MARGIN}" y="36" font-size="19" font-weight="700" '
        f'fill="{_TEXT_COLOUR}">{_escape(format_one_line(metrics.world, 60))}</text>'
    )
    yield f'<text x="{MARGIN}" y="57" font-size="13" fill="{_DIM_COLOUR}">{_escape(_format_sentence(metrics))}</text>'


def _format_sentence(metrics: RunMetrics) -> str:
    levels = (
        f"{metrics.levels_completed} of {format_count(metrics.levels, 'level')}"
        if metrics.levels
        else format_count(metrics.levels_completed, "level")
    )
    return format_one_line(
        f"A run of the mind {metrics.mind} under {metrics.protocol}: {levels} in "
        f"{format_count(metrics.actions, 'action')}, {metrics.versions} versions.",
        140,
    )


def _render_board(panel: PicturePanel, palette_name: str, x: int, y: int) -> Iterator[str]:
    height, width = panel.frame.shape
    scale = BOARD_PIXELS / max(height, width)
    left, top = x + (BOARD_PIXELS - width * scale) / 2, y + (BOARD_PIXELS - height * scale) / 2
    yield f'<g transform="translate({left:g} {top:g}) scale({scale:g})">'
    yield f'<g shape-rendering="crispEdges">{render_svg_cells(panel.frame, palette_name)}</g>'
    if panel.frame.size <= _MAX_GRID_CELLS:
        lines = "".join(f"M0 {r}h{width}" for r in range(1, height)) + "".join(f"M{c} 0v{height}" for c in range(1, width))
        yield f'<path d="{lines}" stroke="#000" stroke-opacity=".07" stroke-width="{1 / scale:.3g}"/>'
        yield from _render_faces(panel, palette_name)
    if panel.mismatch_mask is not None and panel.mismatch_mask.any():
        yield (
            f'<path d="{format_outline(panel.mismatch_mask)}" fill="#ff005a" fill-opacity=".28" stroke="#ff005a" '
            f'stroke-width="{1.5 / scale:.3g}"/>'
        )
    if len(panel.path) > 1:
        line = format_polyline(panel.path)
        line_style = 'fill="none" stroke-linecap="round" stroke-linejoin="round"'
        row, column = panel.path[-1]
        yield f'<polyline points="{line}" {line_style} stroke="#000" stroke-opacity=".6" stroke-width="{7 / scale:.3g}"/>'
        dot_style = f'stroke-width="{3 / scale:.3g}" stroke-dasharray="{0.1 / scale:.3g} {6.5 / scale:.3g}"'
        yield f'<polyline points="{line}" {line_style} stroke="#fff" {dot_style}/>'
        size = 4.5 / scale
        yield f'<circle cx="{column:g}" cy="{row:g}" r="{size:g}" fill="#fff" stroke="#000" stroke-width="{size / 3:g}"/>'
    yield "</g>"
    yield (
        f'<rect x="{x - 0.5}" y="{y - 0.5}" width="{BOARD_PIXELS + 1}" height="{BOARD_PIXELS + 1}" rx="3" fill="none" '
        f'stroke="{_EDGE_COLOUR}"/>'
    )
    for k, text in enumerate(wrap_text(f"{panel.title} {panel.caption}", 36, 3)):
        bold = f'<tspan font-weight="700" fill="{_TEXT_COLOUR}">{_escape(panel.title)}</tspan>' if k == 0 else ""
        rest = _escape(text[len(panel.title) :] if k == 0 else text)
        yield f'<text x="{x}" y="{y + BOARD_PIXELS + 19 + 16 * k}" font-size="12.5" fill="{_DIM_COLOUR}">{bold}{rest}</text>'


def _render_faces(panel: PicturePanel, palette_name: str) -> Iterator[str]:
    board_palette = get_palette(palette_name)
    for code, faces in board_palette.faces.items():
        text_colour = "#fff" if is_dark(board_palette.colours[code]) else "#1d2330"
        for row, column in np.argwhere(panel.frame == code).tolist():
            yield (
                f'<text x="{column + 0.5}" y="{row + 0.64}" font-size=".42" text-anchor="middle" fill="{text_colour}" '
                f'font-family="{_SANS}">{_escape(faces[panel.mood])}</text>'
            )


def _render_rules(
    rule_changes: Iterable[RuleChange], initial_rules: Collection[str], panel: PicturePanel, x: int, y: int
) -> Iterator[str]:
    """The rulebook of one stage against the one before: retracted rules first, then what stands. Where room is short the changed
    ones are kept before the others, then the last ones, and those that stood from the start (`old`) at the end."""
    rules = [rule for rule in rule_changes if rule.name.startswith(("R", "U"))]
    retracted, standing = [rule for rule in rules if rule.mark == "-"], [rule for rule in rules if rule.mark != "-"]
    yield f'<line x1="{x}" y1="{y}" x2="{x + BOARD_PIXELS}" y2="{y}" stroke="{_EDGE_COLOUR}"/>'
    yield (
        f'<text x="{x}" y="{y + 17}" font-size="11" font-weight="600" fill="{_DIM_COLOUR}">rulebook, version {panel.version}: '
        f"{format_count(len(standing), 'rule')}</text>"
    )
    n_letters = int(BOARD_PIXELS / LETTER_WIDTH)
    wrapped_rules = [
        (rule, wrap_text(f"{rule.name} {rule.text}", n_letters, 3 if rule.mark in "+~" else 2))
        for rule in [*retracted[:2], *standing]
    ]
    kept_indices: set[int] = set()
    n_used_lines = 1

    def rank(index: int) -> tuple[bool, bool, bool, int]:
        change = wrapped_rules[index][0]
        is_new_rule = change.mark == "-" or change.text in panel.new_rules
        return (
            not is_new_rule,
            change.mark == " ",
            change.mark != "-" and change.text in initial_rules,
            -index if change.mark == " " else index,
        )

    for k in sorted(range(len(wrapped_rules)), key=rank):
        if n_used_lines + len(wrapped_rules[k][1]) <= MAX_LINES - 1 or (
            n_used_lines + len(wrapped_rules[k][1]) <= MAX_LINES and len(kept_indices) == len(wrapped_rules) - 1
        ):
            kept_indices.add(k)
            n_used_lines += len(wrapped_rules[k][1])
    line = 1
    for k, (change, rows) in enumerate(wrapped_rules):
        if k not in kept_indices:
            continue
        struck = ' text-decoration="line-through"' if change.mark == "-" else ""
        for row in rows:
            line += 1
            at = y + 17 + (line - 1) * LINE_HEIGHT
            yield (
                f'<text x="{x}" y="{at:g}" font-size="11" font-family="{_MONO}" xml:space="preserve" '
                f'fill="{_COLOURS[change.mark]}"{struck}>{_escape(row)}</text>'
            )
    if len(kept_indices) < len(wrapped_rules):
        yield (
            f'<text x="{x}" y="{y + 17 + line * LINE_HEIGHT:g}" font-size="11" fill="{_DIM_COLOUR}">and '
            f"{len(wrapped_rules) - len(kept_indices)} more</text>"
        )


def _render_bars(metrics: RunMetrics, y: int) -> Iterator[str]:
    """Actions of every level as a bar, with the baseline as a mark in it."""
    levels = [level for level in metrics.per_level if level.actions][:12]
    if not levels:
        return
    label_width = 132
    slot_width = min((WIDTH - 2 * MARGIN - label_width) / len(levels), 320)
    max_actions = max(max(level.actions, level.baseline or 0) for level in levels)
    yield f'<text x="{MARGIN}" y="{y + 16}" font-size="12.5" font-weight="700" fill="{_TEXT_COLOUR}">Actions by level</text>'
    yield f'<text x="{MARGIN}" y="{y + 32}" font-size="11" fill="{_DIM_COLOUR}">mark: {_escape(metrics.baseline)}</text>'
    for k, level in enumerate(levels):
        x, full_width = MARGIN + label_width + k * slot_width, slot_width - 64
        bar_width = full_width * level.actions / max_actions
        colour = _COLOURS["+"] if level.completed else _COLOURS["-"]
        yield (
            f'<rect x="{x:.1f}" y="{y + 9}" width="{max(bar_width, 3):.1f}" height="12" rx="4" fill="{colour}" fill-opacity=".85"/>'
        )
        if level.baseline is not None:
            yield (
                f'<rect x="{x + full_width * level.baseline / max_actions - 1:.1f}" y="{y + 5}" width="2.5" height="20" '
                f'fill="{_TEXT_COLOUR}"/>'
            )
        caption = f"level {level.level + 1}: {level.actions}" + (
            f", {metrics.baseline} {level.baseline}" if level.baseline is not None else ""
        )
        yield f'<text x="{x:.1f}" y="{y + 38}" font-size="11" fill="{_DIM_COLOUR}">{_escape(caption)}</text>'


def _escape(text: str) -> str:
    return html.escape(clean(text))
