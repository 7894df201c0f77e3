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
from lawbook.view.formatting import one_line
from lawbook.view.motion_path import Point
from lawbook.view.rulebook_diff import Change
from lawbook.view.terminal_board import Board, fit

COLOURS = {"good": "green", "bad": "red", "busy": "cyan", "ask": "yellow", "think": "magenta", "plain": "white"}
"""Colour of every mood: it went well, it was wrong, a plan is followed, something is found out, a mind thinks, none of these."""
MARKS = {"+": "bold green", "-": "red strike", "~": "yellow", " ": ""}

_SIDE = 38
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
    rules: Sequence[Change] = ()
    title: str = "rulebook"
    happened: Sequence[tuple[int, str, str]] = ()
    counters: Sequence[tuple[str, str]] = ()
    board: bool = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, height = options.max_width, max(options.height or console.height, 12) - 1
        happened = max(3, min(9, height // 5))
        room = width - 4 - _SIDE
        if self.frame is not None and (lines := -(-self.frame.shape[0] // 2)) <= height - 6 and self.frame.shape[1] <= room:
            happened = max(3, min(happened, height - 3 - lines))  # fewer lines, where that is what a whole board takes
        top = height - happened - 1
        if self.board and self.frame is not None and room >= 8:
            yield self._beside(width, top, room)
        else:
            yield from self._side(width, top)
        yield _heading("what happened", width)
        yield from self._happened(width, happened)

    def _beside(self, width: int, top: int, room: int) -> RenderableType:
        assert self.frame is not None
        board = Board(
            self.frame,
            self.palette,
            fit(self.frame.shape, room, top - 2),
            self.way,
            self.wrong,
            self.board_mood,
            _click(self.action),
        )
        colour = COLOURS[self.mood]
        panel = Panel(
            board,
            title=Text(f" level {min(self.level + 1, self.levels or self.level + 1)} {self._pips()}", style=f"bold {colour}"),
            subtitle=Text(f" action {self.action} " if self.action else " first sight ", style=colour),
            border_style=colour,
            width=board.columns + 4,
            padding=(0, 1),
        )
        side = width - board.columns - 6
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(width=board.columns + 4)
        grid.add_column(width=side)
        grid.add_row(panel, Group(*self._side(side, top)))
        return grid

    def _pips(self) -> str:
        if not self.levels or self.levels > 12:
            return f"({self.completed} completed) "
        return "●" * self.completed + "○" * (self.levels - self.completed) + " "

    def _side(self, width: int, height: int) -> list[Text]:
        """At most `height` lines: who plays what, the action bar, what is being done, counters, the rulebook."""
        doing = wrapped(f"▸ {one_line(self.doing)}", width, 2)
        counters = Text("  ").join(Text.assemble((value, "bold"), (f" {name}", "dim")) for name, value in self.counters)
        lines = [
            Text(one_line(self.world, width), style="bold"),
            Text(one_line(self.player, width), style="dim"),
            self._bar(width),
            Text(),
            *(Text(line, style=f"bold {COLOURS[self.mood]}") for line in (*doing, *[""] * (2 - len(doing)))),
            counters,
            _heading(self.title, width),
        ]
        return [_line(line) for line in [*lines, *self._rules(width, height - len(lines))][:height]]

    def _bar(self, width: int) -> Text:
        """What is spent, beside a bar where there is room for one."""
        here = f", {self.spent:,} here, {self.baseline}" if self.spent and self.baseline else ""
        sent = f"{self.actions:,} of {self.budget:,}"
        words = next((words for words in (f"{sent} actions{here}", f"{sent}{here}") if len(words) <= width), f"{sent} actions")
        length = min(width - len(words) - 1, 24)
        if length < 4:
            return Text(words)
        full = min(round(length * self.actions / self.budget), length)
        return Text.assemble(("━" * full, COLOURS[self.mood]), ("━" * (length - full), "bright_black"), f" {words}")

    def _rules(self, width: int, room: int) -> Iterator[Text]:
        """As many entries as there is room for: first those that have just changed, then rules that stood, then questions."""
        if not self.rules:
            yield Text("nothing is believed yet", style="dim italic")
            return
        per = 2 if room >= 10 else 1
        kept = used = 0
        for change in sorted(self.rules, key=lambda change: (change.mark == " ", change.name.startswith("Q"))):
            lines = _entry(change, width, per)
            if used + len(lines) <= room - (kept < len(self.rules) - 1):
                yield from lines
                kept, used = kept + 1, used + len(lines)
        if kept < len(self.rules):
            yield Text(f"… and {len(self.rules) - kept} more", style="dim")

    def _happened(self, width: int, lines: int) -> Iterator[Text]:
        for at, mood, line in self.happened[-lines:]:
            yield _line(Text.assemble((f"{at:>4} ", "dim"), (one_line(line, width - 5), COLOURS[mood] if mood != "plain" else "")))

    def but(self, **changes: object) -> Scene:
        return replace(self, **changes)  # type: ignore[arg-type]


def _entry(change: Change, width: int, lines: int) -> list[Text]:
    """One rule or question, wrapped to a few lines and cut with an ellipsis."""
    style = MARKS[change.mark] or ("italic dim" if change.name.startswith("Q") else "")
    indent = len(change.name) + 3
    rows = wrapped(change.text, width - indent, lines)
    head = Text.assemble((f"{change.mark} ", MARKS[change.mark]), (f"{change.name} ", style or "bold"), (rows[0], style))
    return [head, *(Text(" " * indent + row, style=style) for row in rows[1:])]


def wrapped(text: str, width: int, most: int) -> list[str]:
    """One paragraph on at most `most` lines of `width` letters, cleaned, the last with an ellipsis where it was cut."""
    rows = textwrap.wrap(one_line(text, most * width + 1), max(width, 1)) or [""]
    return rows if len(rows) <= most else [*rows[: most - 1], one_line(" ".join(rows[most - 1 :]), width)]


def _click(action: Action | None) -> Point | None:
    return None if action is None or action.x is None or action.y is None else (action.y + 0.5, action.x + 0.5)


def _heading(text: str, width: int) -> Text:
    shown = f"── {one_line(text, max(width - 6, 1))} "
    return Text(shown + "─" * max(width - len(shown), 0), style="bright_black", no_wrap=True, overflow="crop")


def _line(text: Text) -> Text:
    text.no_wrap, text.overflow = True, "ellipsis"
    return text
