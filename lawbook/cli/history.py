"""`history`: every proposal of a run, with its diff."""

from __future__ import annotations

import click

from lawbook.cli.commands import command
from lawbook.cli.options import WHOLE, run_argument
from lawbook.cli.output import print_lines
from lawbook.cli.run_lookup import open_ledger
from lawbook.runs.folder import RunFolder
from lawbook.view import text_output


@command("history")
@run_argument
@click.option("--member", type=WHOLE, metavar="N", help="only this member, from 0")
@click.option("--full", is_flag=True, help="the program's diff and the whole texts too")
def show_history(folder: RunFolder, member: int | None, full: bool) -> int:
    with open_ledger(folder) as ledger:
        print_lines(text_output.format_history(ledger, member=member, full=full))
    return 0
