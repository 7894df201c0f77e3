"""A run as plain HTML, for readers without scripts: numbers, levels, what happened with boards and diffs, the final texts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from lawbook.core.hypothesis import Hypothesis
from lawbook.core.record import ActionKind, Frame, Status
from lawbook.ledger.ledger import Ledger
from lawbook.runs.state import State
from lawbook.view.display_events import DisplayEvent, PredictionFailed, ProposalJudged, RunOpened, StepTaken
from lawbook.view.formatting import truncate_text
from lawbook.view.html_templates import mark_safe, render_template
from lawbook.view.metrics import RunMetricsBuilder
from lawbook.view.motion_path import Point, find_motion_path
from lawbook.view.palette import format_css, get_palette
from lawbook.view.plan_sections import PlanSection, read_sections
from lawbook.view.rulebook_diff import collect_texts, diff_hypotheses
from lawbook.view.svg_png import encode_data_uri, format_outline, format_polyline

if TYPE_CHECKING:
    from markupsafe import Markup

MAX_TEXT_CHARACTERS = 100_000
"""Most characters of a text."""
Mask = npt.NDArray[np.bool_]
MAX_BOARDS, MAX_DIFF_LINES, MAX_TOTAL_DIFF_LINES, MAX_LINE_CHARACTERS, MAX_ENTRIES = 120, 200, 1500, 400, 2000
"""Most boards, lines of one diff, of all diffs, characters of a line, and entries of the time line; what is cut is named."""


def render_body(ledger: Ledger) -> Markup:
    """Render what stands in the body of a page with the style sheet of css.py. Raises UsageError when the ledger has no opening."""
    sections, builder, state = [], RunMetricsBuilder(), None
    for section, state in read_sections(ledger):  # noqa: B007
        sections.append(section)
        builder.add(section.plan_event if isinstance(section, PlanSection) else section)
    assert state is not None
    metrics, opening = builder.build(state, ledger), builder.opening
    assert opening is not None
    return render_template(
        "run.html",
        metrics=metrics,
        max_actions=max(
            [1, *(level.actions for level in metrics.per_level), *(level.baseline or 0 for level in metrics.per_level)]
        ),
        timeline=_TimelineBuilder(ledger, opening.spec.palette).build(sections),
        members=_collect_final_texts(state),
        versions=opening.versions,
    )


@dataclass(frozen=True)
class _FinalText:
    name: str
    n_lines: int
    text: str


@dataclass(frozen=True)
class _FinalMember:
    """What a member had at the end. note: which member, where there are several."""

    note: str
    is_admissible: bool
    rulebook: str
    files: list[_FinalText]


def _collect_final_texts(state: State) -> list[_FinalMember]:
    return [
        _FinalMember(
            f" of member {member.index}" if len(state.members) > 1 else "",
            member.admissible,
            truncate_text(member.hypothesis.rulebook, MAX_TEXT_CHARACTERS),
            [
                _FinalText(name, len(text.splitlines()), truncate_text(text, MAX_TEXT_CHARACTERS))
                for name, text in list(collect_texts(member.hypothesis).items())[1:]
            ],
        )
        for member in state.members
        if member.hypothesis is not None
    ]


@dataclass(frozen=True)
class _DiffLine:
    css_class: str
    text: str


@dataclass(frozen=True)
class _Diff:
    n_lines: int
    lines: list[_DiffLine]

    @property
    def n_left_out(self) -> int:
        return self.n_lines - len(self.lines)


@dataclass(frozen=True)
class _Board:
    """A frame as an image, with what is drawn over it: outline and points are in cells, the sizes on the page in pixels."""

    caption: str
    address: Markup
    rows: int
    columns: int
    colour: str
    mismatch_outline: str
    path_points: str

    @property
    def width_pixels(self) -> int:
        return 256 if self.columns >= 24 else 160

    @property
    def height_pixels(self) -> int:
        return round(self.width_pixels * self.rows / self.columns)


@dataclass(frozen=True)
class _Entry:
    """One line of the time line. n_sent: of a plan, how many of its actions were sent."""

    kind: Literal["event", "proposal", "mismatch", "plan"]
    event: DisplayEvent
    diff: _Diff | None = None
    boards: tuple[_Board, ...] = ()
    n_sent: int = 0


@dataclass(frozen=True)
class _Timeline:
    entries: list[_Entry]
    n_left_out: int


class _TimelineBuilder:
    """What the time line shows, and what it may still show."""

    def __init__(self, ledger: Ledger, palette_name: str) -> None:
        self._ledger, self._palette, self._boards_left, self._lines_left = ledger, palette_name, MAX_BOARDS, MAX_TOTAL_DIFF_LINES

    def build(self, sections: list[DisplayEvent | PlanSection]) -> _Timeline:
        entries: list[_Entry] = []
        n_left_out = 0
        for section in sections:
            if not _has_entry(section):
                continue
            if len(entries) < MAX_ENTRIES:
                entries.append(self._build_entry(section))
            else:
                n_left_out += 1
        return _Timeline(entries, n_left_out)

    def _build_entry(self, section: DisplayEvent | PlanSection) -> _Entry:
        match section:
            case PlanSection():
                return _Entry("plan", section.plan_event, boards=self._build_plan_boards(section), n_sent=len(section.steps))
            case ProposalJudged():
                return _Entry("proposal", section, self._build_diff(section.old_hypothesis, section.new_hypothesis))
            case PredictionFailed():
                return _Entry("mismatch", section, boards=self._build_mismatch_boards(section))
        return _Entry("event", section)

    def _build_diff(self, before: Hypothesis | None, after: Hypothesis) -> _Diff | None:
        lines = diff_hypotheses(before, after)
        n_shown = min(MAX_DIFF_LINES, self._lines_left, len(lines))
        self._lines_left -= n_shown
        if not n_shown:
            return None
        classes = {"+": "new", "-": "gone", "@": "at"}
        return _Diff(
            len(lines),
            [
                _DiffLine(
                    "file" if line[:3] in ("+++", "---") else classes.get(line[:1], ""),
                    line[:MAX_LINE_CHARACTERS] + "…" * (len(line) > MAX_LINE_CHARACTERS),
                )
                for line in lines[:n_shown]
            ],
        )

    def _build_mismatch_boards(self, event: PredictionFailed) -> tuple[_Board, ...]:
        if not event.predicted or not event.observed or self._boards_left < 2:
            return ()
        predicted, observed = self._ledger.get_frame(event.predicted), self._ledger.get_frame(event.observed)
        mismatch_mask = predicted != observed if predicted.shape == observed.shape else None
        return self._build_board(predicted, "predicted", mismatch_mask), self._build_board(observed, "observed", mismatch_mask)

    def _build_plan_boards(self, section: PlanSection) -> tuple[_Board, ...]:
        frames = section.read_frames(self._ledger) if len(section.steps) > 1 and self._boards_left else []
        return (self._build_board(frames[0], "the way", None, find_motion_path(frames)),) if frames else ()

    def _build_board(self, frame: Frame, caption: str, mismatch_mask: Mask | None = None, path: Iterable[Point] = ()) -> _Board:
        self._boards_left -= 1
        rows, columns = frame.shape
        return _Board(
            caption,
            mark_safe(encode_data_uri(frame, self._palette)),
            rows,
            columns,
            format_css(get_palette(self._palette).colours[int(frame.flat[0])]),
            format_outline(mismatch_mask) if mismatch_mask is not None and mismatch_mask.any() else "",
            format_polyline(list(path)),
        )


def _has_entry(section: DisplayEvent | PlanSection) -> bool:
    match section:
        case PlanSection() | PredictionFailed():
            return True
        case ProposalJudged():
            return not section.is_accepted or section.version is not None
        case RunOpened():
            return False
        case StepTaken(status=Status.RUNNING) if section.action_kind is ActionKind.PLAN:
            return False
    return bool(section.line)
