"""`play`: one run with whatever shows it, from the first line to the report; what a person is told when it pauses or fails."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from lawbook.core.spending import Caps
from lawbook.errors import LawbookError, UsageError
from lawbook.ledger.ledger import Ledger
from lawbook.runs import lifecycle
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.loops import memento3
from lawbook.runs.process_exit import CODES, graceful
from lawbook.runs.session import Session
from lawbook.runs.state import Ending
from lawbook.view import text_output
from lawbook.view.console import Terminal
from lawbook.view.formatting import one_line
from lawbook.view.live_display import Lines, Picture, Silent
from lawbook.view.metrics import numbers


@dataclass(frozen=True)
class Show:
    """How much is shown, and how. json: one object on stdout at the end and nothing else there."""

    json: bool = False
    quiet: bool = False
    plain: bool = False
    fast: bool = False
    board: bool = True

    def stage(self) -> tuple[Console, Silent]:
        """Where words for people go, and what shows the run."""
        console = Terminal(file=sys.stdout, highlight=False, quiet=self.quiet or self.json)
        if self.quiet or self.json:
            return console, Silent()
        if self.plain or not console.is_terminal or console.color_system is None:
            return console, Lines(console)
        return console, Picture(console, board=self.board, pauses=not self.fast)


def new(world: str, asked: Mapping[str, Any], out: Path, show: Show) -> int:
    """Play a new run and return the exit code. asked: fields of RunConfig that were given. Raises LawbookError before it begins."""
    console, stage = show.stage()
    mind = lifecycle.mind_for(RunConfig(world, **asked))
    if getattr(mind, "drives", False):
        from lawbook.agents.runner.runner import check

        check(mind)
    if "protocol" not in asked and not mind.proposes:
        asked = {**asked, "protocol": "vanilla"}
        _say(console, f"The mind {mind.name} proposes no hypotheses, so this is played under the protocol vanilla.")
    with graceful():
        return _play(lifecycle.new_run(RunConfig(world, **asked), out, mind=mind), None, console, stage, show)


def resume(folder: RunFolder, show: Show, caps: Caps | None = None) -> int:
    """Go on with a run, under other caps where any are given. Returns the exit code. Raises LawbookError when it cannot be."""
    if folder.config().mind.partition(":")[0] == "drive":
        raise UsageError(f"An agent drives this run; go on with: lawbook drive --resume {folder.path} --workspace DIR.")
    console, stage = show.stage()
    with graceful():
        return _play(lifecycle.resumed_run(folder, caps=caps), folder, console, stage, show)


def _play(opened: AbstractContextManager[Any], folder: RunFolder | None, console: Console, stage: Silent, show: Show) -> int:
    began, code, paused = False, 1, ""
    try:
        with opened as found:
            session: Session = found if folder else found[1]
            folder, began = folder or found[0], True
            _say(console, f"run     {folder.path}", "dim")
            with stage:
                stage.watch(session)
                ending = _played(session, folder)
            code = CODES.get(ending, 1)
    except (KeyboardInterrupt, LawbookError) as error:
        if folder is None or not began:
            raise
        paused = str(error) or "paused"
        code = error.exit_code if isinstance(error, LawbookError) else 1
    _close(folder, console, show, paused)
    return code


def _played(session: Session, folder: RunFolder) -> Ending:
    """By our loop, or by an agent that is handed the wheel."""
    if not getattr(session.mind, "drives", False):
        return memento3.play(session)
    from lawbook.agents.runner.runner import drive

    return drive(session, folder)


def _close(folder: RunFolder, console: Console, show: Show, paused: str) -> None:
    """What is told at the end: how it went, where it lies, how to go on."""
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        told = numbers(ledger)
        written = _report(folder, ledger)
    if paused:
        why = f"lawbook: {one_line(paused).rstrip('.')}" if paused != "paused" else paused
        how = "; the run has ended"
        if told.outcome is None:
            how = f"{':' if 'resume' in why else '; go on with:'} lawbook play --resume {folder.path}"  # no advice twice
        print(f"{why}{how}", file=sys.stderr)
    if show.json:
        print(json.dumps(told.json() | {"outcome": told.outcome or "paused", "run": str(folder.path)}))
        return
    console.print(text_output.ending(told), soft_wrap=not console.is_terminal)
    _say(console, f"run     {folder.path}", "dim")
    if written:
        _say(console, f"report  {folder.report}", "dim")
    _say(console, f"head    {told.head}", "dim")


def _report(folder: RunFolder, ledger: Ledger) -> bool:
    from lawbook.view import html_report  # not before the first action

    try:
        folder.report.write_text(html_report.render(ledger), encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        print(f"lawbook: the report could not be written ({error.strerror}); the run itself is complete.", file=sys.stderr)
        return False
    return True


def _say(console: Console, line: str, style: str = "") -> None:
    console.print(Text(line, style=style), soft_wrap=True)
