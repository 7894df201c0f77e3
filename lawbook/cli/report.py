"""`report`: a run as one HTML file, or a level of it as pictures."""

from __future__ import annotations

from pathlib import Path

import click

from lawbook.cli.commands import command
from lawbook.cli.options import WHOLE, run_argument
from lawbook.cli.output import write_output
from lawbook.cli.run_lookup import open_ledger
from lawbook.errors import UsageError
from lawbook.runs.folder import RunFolder
from lawbook.view import export_images, html_report


@command("report")
@run_argument
@click.option("-o", "file", metavar="FILE", type=Path, help="where to (default: report.html in the run)")
@click.option("--png", metavar="FILE", type=Path, help="the boards of a level, in order, as one picture")
@click.option("--gif", metavar="FILE", type=Path, help="every frame of a level, animated")
@click.option("--level", metavar="N", type=WHOLE, help="from 1 (default: the last that was completed)")
def write_report(folder: RunFolder, file: Path | None, png: Path | None, gif: Path | None, level: int | None) -> int:
    if level is not None and level < 1:
        raise UsageError(f"Levels are counted from 1, not {level}.")
    level_index = None if level is None else level - 1
    for path, render_image in ((png, export_images.render_storyboard), (gif, export_images.render_animation)):
        if path is not None:
            write_output(path, render_image(folder.ledger, level_index))
    if file is not None or (png is None and gif is None):
        with open_ledger(folder) as ledger:
            write_output(file or folder.report, html_report.render(ledger))
    return 0
