"""`score`: what runs are worth."""

from __future__ import annotations

import sys

import click

from lawbook.cli.commands import command
from lawbook.cli.options import runs_argument
from lawbook.cli.run_lookup import open_ledger
from lawbook.errors import UsageError
from lawbook.runs.folder import RunFolder
from lawbook.scoring.billing import count_run
from lawbook.scoring.tables import OUTPUT_FORMATS, format_table, make_rows


@command("score")
@runs_argument
@click.option("--format", "output_format", type=click.Choice(OUTPUT_FORMATS), default="text", help="how (default: text)")
def score_runs(folders: list[RunFolder], output_format: str) -> int:
    counted_runs = []
    for folder in folders:
        try:
            with open_ledger(folder) as ledger:
                counted_runs.append((folder.path.name, count_run(ledger)[1]))
        except UsageError as error:
            if len(folders) == 1:
                raise
            print(f"lawbook: {folder.path.name} is left out: {error}", file=sys.stderr)
    sys.stdout.write(format_table(make_rows(counted_runs), output_format))
    return 0
