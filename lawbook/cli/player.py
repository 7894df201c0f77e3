"""One run played with whatever shows it, from the first line to the report; what a person is told when it pauses or fails."""

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

from lawbook.core.results import RunOutcome
from lawbook.core.spending import Caps
from lawbook.errors import LawbookError, UsageError
from lawbook.ledger.ledger import Ledger
from lawbook.minds.base import is_driver
from lawbook.runs import lifecycle, loops
from lawbook.runs.consent import Consent
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.process_exit import EXIT_CODES, interrupt_on_sigterm
from lawbook.runs.session import Session
from lawbook.view import text_output
from lawbook.view.console import Terminal
from lawbook.view.formatting import format_one_line
from lawbook.view.live_display import LiveDisplay, NullDisplay, PlainDisplay
from lawbook.view.metrics import compute_metrics


@dataclass(frozen=True)
class DisplayOptions:
    """How much is shown, and how. json: one object on stdout at the end and nothing else there."""

    json: bool = False
    quiet: bool = False
    plain: bool = False
    fast: bool = False
    board: bool = True

    def make_display(self) -> tuple[Console, NullDisplay]:
        """Where words for people go, and what shows the run."""
        console = Terminal(file=sys.stdout, highlight=False, quiet=self.quiet or self.json)
        if self.quiet or self.json:
            return console, NullDisplay()
        if self.plain or not console.is_terminal or console.color_system is None:
            return console, PlainDisplay(console)
        return console, LiveDisplay(console, board=self.board, pauses=not self.fast)


def play_new_run(world: str, run_settings: Mapping[str, Any], out: Path, display_options: DisplayOptions) -> int:
    """Play a new run and return the exit code. asked: fields of RunConfig that were given. Raises LawbookError before it begins."""
    console, display = display_options.make_display()
    mind = lifecycle.make_run_mind(RunConfig(world, **run_settings))
    if is_driver(mind):
        from lawbook.agents.runner.runner import check_agent

        check_agent(mind)
    if "protocol" not in run_settings and not mind.proposes:
        run_settings = {**run_settings, "protocol": "vanilla"}
        _print_line(console, f"The mind {mind.name} proposes no hypotheses, so this is played under the protocol vanilla.")
    with interrupt_on_sigterm():
        return _play(lifecycle.start_run(RunConfig(world, **run_settings), out, mind=mind), None, console, display, display_options)


def continue_run(
    folder: RunFolder, display_options: DisplayOptions, caps: Caps | None = None, consent: Consent | None = None
) -> int:
    """Go on with a run, under other caps where any are given. Returns the exit code. Raises LawbookError when it cannot be.

    consent: what its programs may do here.
    """
    if folder.load_config().mind.partition(":")[0] == "drive":
        raise UsageError(f"An agent drives this run; go on with: lawbook drive --resume {folder.path} --workspace DIR.")
    console, display = display_options.make_display()
    with interrupt_on_sigterm():
        return _play(lifecycle.resume_run(folder, caps=caps, consent=consent), folder, console, display, display_options)


def _play(
    run_context: AbstractContextManager[Any],
    folder: RunFolder | None,
    console: Console,
    display: NullDisplay,
    display_options: DisplayOptions,
) -> int:
    has_begun, code, pause_reason = False, 1, ""
    try:
        with run_context as entered:
            session: Session = entered if folder else entered[1]
            folder, has_begun = folder or entered[0], True
            _print_line(console, f"run     {folder.path}", "dim")
            with display:
                display.attach(session)
                ending = _play_session(session, folder)
            code = EXIT_CODES.get(ending, 1)
    except (KeyboardInterrupt, LawbookError) as error:
        if folder is None or not has_begun:
            raise
        pause_reason = str(error) or "paused"
        code = error.exit_code if isinstance(error, LawbookError) else 1
    _print_summary(folder, console, display_options, pause_reason)
    return code


def _play_session(session: Session, folder: RunFolder) -> RunOutcome:
    """By our loop, or by an agent that is handed the wheel."""
    if not is_driver(session.mind):
        return loops.play(session)
    from lawbook.agents.runner.runner import run_agents

    return run_agents(session, folder)


def _print_summary(folder: RunFolder, console: Console, display_options: DisplayOptions, pause_reason: str) -> None:
    """What is told at the end: how it went, where it lies, how to go on."""
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        run_numbers = compute_metrics(ledger)
        has_report = _write_report(folder, ledger)
    if pause_reason:
        reason = f"lawbook: {format_one_line(pause_reason).rstrip('.')}" if pause_reason != "paused" else pause_reason
        advice = "; the run has ended"
        if run_numbers.outcome is None:
            advice = f"{':' if 'resume' in reason else '; go on with:'} lawbook play --resume {folder.path}"  # no advice twice
        print(f"{reason}{advice}", file=sys.stderr)
    if display_options.json:
        print(json.dumps(run_numbers.to_json() | {"outcome": run_numbers.outcome or "paused", "run": str(folder.path)}))
        return
    console.print(text_output.format_outcome(run_numbers), soft_wrap=not console.is_terminal)
    _print_line(console, f"run     {folder.path}", "dim")
    if has_report:
        _print_line(console, f"report  {folder.report}", "dim")
    _print_line(console, f"head    {run_numbers.head}", "dim")


def _write_report(folder: RunFolder, ledger: Ledger) -> bool:
    from lawbook.view import html_report  # not before the first action

    try:
        folder.write_report(html_report.render(ledger))
    except OSError as error:
        print(f"lawbook: the report could not be written ({error.strerror}); the run itself is complete.", file=sys.stderr)
        return False
    return True


def _print_line(console: Console, line: str, style: str = "") -> None:
    console.print(Text(line, style=style), soft_wrap=True)
