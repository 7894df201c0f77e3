"""`verify`: a run's final hypotheses, or a program of one's own, replayed on its record from the ledger alone."""

from __future__ import annotations

from pathlib import Path

import click

from lawbook.cli.commands import command
from lawbook.cli.options import consent_options, run_argument
from lawbook.cli.output import print_lines
from lawbook.cli.run_lookup import open_ledger
from lawbook.runs.consent import Consent
from lawbook.runs.folder import RunFolder
from lawbook.runs.recheck import load_program_files, recheck_run
from lawbook.view import text_output


@command("verify")
@run_argument
@click.option("--program", type=Path, metavar="DIR", help="a program of your own instead: the modules in this folder")
@consent_options
def verify_run(folder: RunFolder, program: Path | None, weak: bool, memory_mb: int | None) -> int:
    memory = Consent(weak, memory_mb).choose_memory(folder.load_config().memory_mb)
    with open_ledger(folder, check=False) as ledger:  # its chain is a line of the answer
        files = load_program_files(program) if program else None
        recheck = recheck_run(ledger, files=files, weak=weak, memory_mb=memory)
    print_lines(text_output.format_recheck(recheck))
    return 0 if recheck.holds else 1
