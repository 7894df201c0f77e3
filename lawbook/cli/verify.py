"""`verify`: a run's final hypotheses, or a program of one's own, replayed on its record from the ledger alone."""

from __future__ import annotations

from pathlib import Path

import click

from lawbook.cli.commands import command
from lawbook.cli.options import run_argument
from lawbook.cli.output import print_lines
from lawbook.cli.run_lookup import open_ledger
from lawbook.runs.folder import RunFolder
from lawbook.runs.recheck import load_program_files, recheck_run
from lawbook.view import text_output


@command("verify")
@run_argument
@click.option("--program", type=Path, metavar="DIR", help="a program of your own instead: the modules in this folder")
def verify_run(folder: RunFolder, program: Path | None) -> int:
    config = folder.load_config()
    with open_ledger(folder, check=False) as ledger:  # its chain is a line of the answer
        files = load_program_files(program) if program else None
        recheck = recheck_run(ledger, files=files, weak=config.weak_sandbox, memory_mb=config.memory_mb)
    print_lines(text_output.format_recheck(recheck))
    return 0 if recheck.holds else 1
