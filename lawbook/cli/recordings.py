"""Recordings of the ARC toolkit: `import`, `export`, and `induce`, which foretells one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lawbook.arc import recording_io
from lawbook.cli.commands import command
from lawbook.cli.options import WHOLE, drop_missing, out_option, run_argument, run_options
from lawbook.experiments import one_step_accuracy
from lawbook.minds.registry import make_mind
from lawbook.protocols.protocol import get_protocol
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.sandbox.host import Host


@command("import")
@click.argument("file", metavar="FILE", type=Path, help="a recording of the ARC toolkit: .jsonl or .jsonl.gz")
@click.option("--world", metavar="WORLD", default="", help="where the run goes on (default: what the recording names)")
@run_options
@out_option
def import_recording(file: Path, world: str, out: Path, **settings: Any) -> int:
    print(recording_io.import_recording(file, out, RunConfig(world, **drop_missing(settings))).path)
    return 0


@command("induce")
@click.option("--from", "file", metavar="FILE", type=Path, required=True, help="a recording: .jsonl or .jsonl.gz")
@click.option("--train", metavar="N", type=WHOLE, default=400, help="actions to learn from (default: 400)")
@click.option("--test", metavar="M", type=WHOLE, default=200, help="actions after them to foretell (default: 200)")
@click.option("--protocol", metavar="NAME", default="memento3", help="what a program may leave open (default: memento3)")
@click.option("--rulebook", is_flag=True, help="print the rulebook too")
def measure_induction(file: Path, train: int, test: int, protocol: str, rulebook: bool) -> int:
    row = get_protocol(protocol)
    with Host() as host:
        report = one_step_accuracy.measure_accuracy(file, train, test, make_mind("induce"), host, row)
    if rulebook:
        print(report.hypothesis.rulebook)
    print(one_step_accuracy.format_accuracy(report))
    return 0


@command("export")
@run_argument
@click.option("-o", "file", metavar="FILE", type=Path, help="where to; .gz compresses (default: in the run)")
def export_recording(folder: RunFolder, file: Path | None) -> int:
    target = file or folder.path / "recording.jsonl"
    recording_io.export_run(folder, target)
    print(target)
    return 0
