"""What the live display shows at one moment, and how it is laid out in whatever room the terminal has."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from lawbook.core.record import Action, Frame
from lawbook.view.formatting import format_one_line
from lawbook.view.motion_path import Point
from lawbook.view.rulebook_diff import RuleChange
from lawbook.view.terminal_board import TerminalBoard, fit_board

COLOURS = {"good": "green", "bad": "red", "busy": "cyan", "ask": "yellow", "think": "magenta", "plain": "white"}
"""Colour of every mood: it went well, it was wrong, a plan is followed, something is found out, a mind thinks, none of these."""
MARKS = {"+": "bold green", "-": "red strike", "~": "yellow", " ": ""}

_SIDE_COLUMNS = 38
"""Columns that stay for the text beside the board."""


@dataclass(frozen=True, eq=False)
class Scene:
    """One moment. Texts by others are cleaned where they are drawn. mood: of what is being done, a key of COLOURS.

    board_mood: 0 running, 1 completed, 2 over. rules: entries of the rulebook that stands, with what the last revision did.
    happened: (actions sent by then, mood, line), oldest first. spent: actions in this level.
    """

    world: str = ""
    player: str = ""
    frame: Frame | None = None
    palette: str = "arc"
    board_mood: int = 0
    way: Sequence[Point] = ()
    wrong: npt.NDArray[np.bool_] | None = None
    action: Action | None = None
    doing: str = ""
    mood: str = "plain"
    level: int = 0
    levels: int | None = None
    completed: int = 0
    spent: int = 0
    baseline: str = ""
    actions: int = 0
    budget: int = 1
    rules: Sequence[RuleChange] = ()
    title: str = "rulebook"
    happened: Sequence[tuple[int, str, str]] = ()
    counters: Sequence[tuple[str, str]] = ()
    board: bool = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, height = options.max_width, max(options.height or console.height, 12) - 1
        n_history_lines = max(3, min(9, height // 5))
        board_columns = width - 4 - _SIDE_COLUMNS
        if (
            self.frame is not None
            and (lines := -(-self.frame.shape[0] // 2)) <= height - 6
            and self.frame.shape[1] <= board_columns
        ):
            n_history_lines = max(
                3, min(n_history_lines, height - 3 - lines)
            )  # fewer lines, where that is what a whole board takes
        top_height = height - n_history_lines - 1
        if self.board and self.frame is not None and board_columns >= 8:
            yield self._build_layout(width, top_height, board_columns)
        else:
            yield from self._build_side_lines(width, top_height)
        yield _format_heading("what happened", width)
        yield from self._format_history(width, n_history_lines)

    def _build_layout(self, width: int, height: int, board_columns: int) -> RenderableType:
        assert self.frame is not None
        board = TerminalBoard(
            self.frame,
            self.palette,
            fit_board(self.frame.shape, board_columns, height - 2),
            self.way,
            self.wrong,
            self.board_mood,
            _find_click_point(self.action),
        )
        colour = COLOURS[self.mood]
        panel = Panel(
            board,
            title=Text(
                f" level {min(self.level + 1, self.levels or self.level + 1)} {self._format_progress()}", style=f"bold {colour}"
            ),
            subtitle=Text(f" action {self.action} " if self.action else " first sight ", style=colour),
            border_style=colour,
            width=board.columns + 4,
            padding=(0, 1),
        )
        side_width = width - board.columns - 6
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(width=board.columns + 4)
        grid.add_column(width=side_width)
        grid.add_row(panel, Group(*self._build_side_lines(side_width, height)))
        return grid

    def _format_progress(self) -> str:
        if not self.levels or self.levels > 12:
            return f"({self.completed} completed) "
        return "●" * self.completed + "○" * (self.levels - self.completed) + " "

    def _build_side_lines(self, width: int, height: int) -> list[Text]:
        """At most `height` lines: who plays what, the action bar, what is being done, counters, the rulebook."""
        activity_lines = wrap_text(f"▸ {format_one_line(self.doing)}", width, 2)
        counters = Text("  ").join(Text.assemble((value, "bold"), (f" {name}", "dim")) for name, value in self.counters)
        lines = [
            Text(format_one_line(self.world, width), style="bold"),
            Text(format_one_line(self.player, width), style="dim"),
            self._format_budget_bar(width),
            Text(),
            *(Text(line, style=f"bold {COLOURS[self.mood]}") for line in (*activity_lines, *[""] * (2 - len(activity_lines)))),
            counters,
            _format_heading(self.title, width),
        ]
        return [_truncate_line(line) for line in [*lines, *self._format_rules(width, height - len(lines))][:height]]

    def _format_budget_bar(self, width: int) -> Text:
        """What is spent, beside a bar where there is room for one."""
        level_note = f", {self.spent:,} here, {self.baseline}" if self.spent and self.baseline else ""
        budget_text = f"{self.actions:,} of {self.budget:,}"
        text = next(
            (text for text in (f"{budget_text} actions{level_note}", f"{budget_text}{level_note}") if len(text) <= width),
            f"{budget_text} actions",
        )
        bar_length = min(width - len(text) - 1, 24)
        if bar_length < 4:
            return Text(text)
        filled_length = min(round(bar_length * self.actions / self.budget), bar_length)
        return Text.assemble(
            ("━" * filled_length, COLOURS[self.mood]), ("━" * (bar_length - filled_length), "bright_black"), f" {text}"
        )

    def _format_rules(self, width: int, max_lines: int) -> Iterator[Text]:
        """As many entries as there is room for: first those that have just changed, then rules that stood, then questions."""
        if not self.rules:
            yield Text("nothing is believed yet", style="dim italic")
            return
        lines_per_entry = 2 if max_lines >= 10 else 1
        n_kept = n_used_lines = 0
        for change in sorted(self.rules, key=lambda change: (change.mark == " ", change.name.startswith("Q"))):
            lines = _format_entry(change, width, lines_per_entry)
            if n_used_lines + len(lines) <= max_lines - (n_kept < len(self.rules) - 1):
                yield from lines
                n_kept, n_used_lines = n_kept + 1, n_used_lines + len(lines)
        if n_kept < len(self.rules):
            yield Text(f"… and {len(self.rules) - n_kept} more", style="dim")

    def _format_history(self, width: int, n_lines: int) -> Iterator[Text]:
        for n_actions, mood, line in self.happened[-n_lines:]:
            yield _truncate_line(
                Text.assemble(
                    (f"{n_actions:>4} ", "dim"), (format_one_line(line, width - 5), COLOURS[mood] if mood != "plain" else "")
                )
            )

    def with_changes(self, **changes: object) -> Scene:
        """Return the scene with these fields changed."""
        return replace(self, **changes)  # type: ignore[arg-type]


def _format_entry(change: RuleChange, width: int, lines: int) -> list[Text]:
    """One rule or question, wrapped to a few lines and cut with an ellipsis."""
    style = MARKS[change.mark] or ("italic dim" if change.name.startswith("Q") else "")
    indent = len(change.name) + 3
    rows = wrap_text(change.text, width - indent, lines)
    head = Text.assemble((f"{change.mark} ", MARKS[change.mark]), (f"{change.name} ", style or "bold"), (rows[0], style))
    return [head, *(Text(" " * indent + row, style=style) for row in rows[1:])]


def wrap_text(text: str, width: int, max_lines: int) -> list[str]:
    """Wrap a paragraph to at most `max_lines` lines of `width` letters, cleaned, the last with an ellipsis where it was cut."""
    rows = textwrap.wrap(format_one_line(text, max_lines * width + 1), max(width, 1)) or [""]
    return rows if len(rows) <= max_lines else [*rows[: max_lines - 1], format_one_line(" ".join(rows[max_lines - 1 :]), width)]


def _find_click_point(action: Action | None) -> Point | None:
    return None if action is None or action.x is None or action.y is None else (action.y + 0.5, action.x + 0.5)


def _format_heading(text: str, width: int) -> Text:
    heading = f"── {format_one_line(text, max(width - 6, 1))} "
    return Text(heading + "─" * max(width - len(heading), 0), style="bright_black", no_wrap=True, overflow="crop")


def _truncate_line(text: Text) -> Text:
    text.no_wrap, text.overflow = True, "ellipsis"
    return text
