"""`picture`: a run drawn as one SVG."""

from __future__ import annotations

from pathlib import Path

import click

from lawbook.cli.commands import command
from lawbook.cli.options import run_argument
from lawbook.cli.output import write_output
from lawbook.cli.run_lookup import open_ledger
from lawbook.runs.folder import RunFolder
from lawbook.view import summary_svg


@command("picture")
@run_argument
@click.option("-o", "file", metavar="FILE", type=Path, required=True, help="where to")
def draw_picture(folder: RunFolder, file: Path) -> int:
    with open_ledger(folder) as ledger:
        write_output(file, summary_svg.render(ledger))
    return 0
