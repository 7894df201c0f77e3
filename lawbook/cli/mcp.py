"""`mcp` starts a run, or goes on with one, and is its MCP server on stdin and stdout: one line in a client's configuration."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from lawbook.cli.commands import command
from lawbook.cli.drive import build_resumption, build_start, start_in_background, stop_serving
from lawbook.cli.options import (
    budget_option,
    drop_missing,
    games_option,
    nodes_option,
    out_option,
    protocol_option,
    resume_option,
    seed_option,
)
from lawbook.errors import UsageError
from lawbook.runs.process_exit import interrupt_on_sigterm


@command("mcp")
@click.argument("world", metavar="[WORLD]", required=False, help="such as demo:maze; `lawbook worlds` lists them")
@click.option("--workspace", metavar="DIR", type=Path, help="the agent's folder (default: a new one among temporary files)")
@resume_option
@protocol_option
@budget_option
@seed_option
@nodes_option
@games_option
@out_option
def mcp(world: str | None, workspace: Path | None, resume: str | None, out: Path, **settings: Any) -> int:
    """Start, serve, stop: stdout belongs to the client, so whatever a person is told goes to stderr."""
    run_settings = drop_missing(settings)
    folder = (Path(tempfile.mkdtemp(prefix="law-")) if workspace is None else workspace).absolute()
    if resume is None:
        request = build_start(world, folder, None, out, run_settings)
    else:
        request = build_resumption(resume, world, folder, None, out, run_settings)
    started = start_in_background(request)
    print(f"run {started['run']}, workspace {folder}", file=sys.stderr, flush=True)
    try:
        with interrupt_on_sigterm():  # how clients end a server that is slow to go
            return subprocess.run([str(folder / "law"), "mcp"], check=False).returncode
    finally:
        with contextlib.suppress(UsageError):  # nobody serves any more: the run has ended, and everybody has heard of it
            stop_serving(folder)
