"""`runs`: one line a run, the newest first."""

from __future__ import annotations

from pathlib import Path

from lawbook.cli.commands import command
from lawbook.cli.options import out_option
from lawbook.cli.output import print_lines
from lawbook.cli.run_lookup import no_runs_error, open_ledger
from lawbook.errors import LawbookError
from lawbook.runs import folder as run_folders
from lawbook.view import text_output
from lawbook.view.metrics import RunSummary, summarize_run


@command("runs")
@out_option
def list_runs(out: Path) -> int:
    rows: list[tuple[str, RunSummary | str]] = []
    for folder in run_folders.list_runs(out):
        try:
            with open_ledger(folder, check=False) as ledger:  # a list: a few events of each
                row = folder.path.name, summarize_run(ledger)
                list(text_output.format_runs([row]))  # one that was altered must not keep the others from being listed
                rows.append(row)
        except LawbookError as error:
            rows.append((folder.path.name, str(error)))
    if not rows:
        raise no_runs_error(out)
    print_lines(text_output.format_runs(rows))
    return 0
