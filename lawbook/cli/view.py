"""`view`: runs in a browser, live while they are played."""

from __future__ import annotations

from pathlib import Path

import click

from lawbook.cli.commands import command
from lawbook.cli.options import WHOLE, out_option
from lawbook.errors import UsageError
from lawbook.runs.folder import RunFolder


@command("view")
@click.argument("runs", metavar="[RUNS]", required=False, type=Path, help="the folder of runs, or one run (default: --out)")
@click.option(
    "--host", metavar="HOST", default="127.0.0.1", help="where to listen (default: 127.0.0.1); wider, a token is asked for"
)
@click.option("--port", metavar="PORT", type=WHOLE, default=8778, help="0: whichever is free (default: 8778)")
@click.option("--token", metavar="TOKEN", help="what a browser must know (default: none on 127.0.0.1, else a new one)")
@out_option
def serve_viewer(runs: Path | None, host: str, port: int, token: str | None, out: Path) -> int:
    try:
        from lawbook.view.web.serve import serve  # needs an extra of the package
    except ImportError as error:
        raise UsageError(
            f"The viewer needs {error.name}; pip install 'lawbook[view]' (in a clone: pip install '.[view]') brings it."
        ) from error
    runs_folder, run_name = runs or out, None
    if (runs_folder / "ledger.sqlite").is_file():
        run_path = RunFolder.open(runs_folder).path.resolve()
        runs_folder, run_name = run_path.parent, run_path.name
    if not 0 <= port <= 65535:
        raise UsageError(f"A port is a number from 0 to 65535, not {port}.")
    serve(runs_folder, host, port, token, run_name, lambda address: print(f"viewer  {address}", flush=True))
    return 0
