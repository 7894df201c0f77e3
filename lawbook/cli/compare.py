"""`compare`: runs side by side, as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from lawbook.cli.commands import command
from lawbook.cli.options import out_option
from lawbook.cli.output import write_output
from lawbook.cli.run_lookup import find_run_folder
from lawbook.view import compare_page


@command("compare")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, help="a run's folder, its name below --out, or `last`")
@click.option("-o", "file", metavar="FILE", type=Path, default="compare.html", help="where to")
@out_option
def write_comparison(runs: Sequence[str], file: Path, out: Path) -> int:
    folders = [find_run_folder(run, out) for run in runs]
    write_output(file, compare_page.render([(folder.path.name, folder.ledger) for folder in folders]))
    return 0
