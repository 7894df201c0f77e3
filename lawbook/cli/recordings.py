"""The commands about recordings of the ARC toolkit: `import`, `export`, and `induce`, which foretells one."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from lawbook.cli import options
from lawbook.cli.run_lookup import find_run_folder

# As in main.py: what costs time is imported where it is needed.

AddCommand = Callable[[str, Callable[[argparse.Namespace], int], str], argparse.ArgumentParser]


def add_commands(add_command: AddCommand) -> None:
    """Put the commands into the parser."""
    import_parser = add_command(
        "import", _import, "make a run of a recording, to go on with (play --resume) for --budget more actions"
    )
    import_parser.add_argument("file", metavar="FILE", type=Path, help="a recording of the ARC toolkit: .jsonl or .jsonl.gz")
    import_parser.add_argument(
        "--world", metavar="WORLD", default="", help="where the run goes on (default: what the recording names)"
    )
    options.add_run_options(import_parser)
    options.add_out_option(import_parser)
    induce_parser = add_command("induce", _induce, "learn from the first part of a recording, foretell the rest one step ahead")
    induce_parser.add_argument(
        "--from", metavar="FILE", dest="file", type=Path, required=True, help="a recording: .jsonl or .jsonl.gz"
    )
    induce_parser.add_argument("--train", metavar="N", type=int, default=400, help="actions to learn from (default: 400)")
    induce_parser.add_argument("--test", metavar="M", type=int, default=200, help="actions after them to foretell (default: 200)")
    induce_parser.add_argument("--rulebook", action="store_true", help="print the rulebook too")
    export_parser = add_command("export", _export, "write a run as a recording of the ARC toolkit")
    export_parser.add_argument("run", metavar="RUN", help="a run's folder, its name below --out, or `last`")
    options.add_out_option(export_parser)
    export_parser.add_argument("-o", metavar="FILE", dest="file", type=Path, help="where to; .gz compresses (default: in the run)")


def _induce(args: argparse.Namespace) -> int:
    from lawbook.experiments import one_step_accuracy
    from lawbook.minds.registry import make_mind
    from lawbook.sandbox.host import Host

    with Host() as host:
        report = one_step_accuracy.measure_accuracy(args.file, args.train, args.test, make_mind("induce"), host)
    if args.rulebook:
        print(report.hypothesis.rulebook)
    print(one_step_accuracy.format_accuracy(report))
    return 0


def _import(args: argparse.Namespace) -> int:
    from lawbook.arc.recording_io import import_recording
    from lawbook.runs.folder import RunConfig

    print(import_recording(args.file, args.out, RunConfig(args.world, **options.read_run_settings(args))).path)
    return 0


def _export(args: argparse.Namespace) -> int:
    from lawbook.arc.recording_io import export_run

    folder = find_run_folder(args.run, args.out)
    target = args.file or folder.path / "recording.jsonl"
    export_run(folder, target)
    print(target)
    return 0
