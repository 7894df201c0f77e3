"""The commands about recordings of the ARC toolkit: `import`, `export`, and `induce`, which foretells one."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from lawbook.cli import options
from lawbook.cli.run_lookup import folder_of

# As in cli.py: what costs time is imported where it is needed.

Add = Callable[[str, Callable[[argparse.Namespace], int], str], argparse.ArgumentParser]


def add_commands(command: Add) -> None:
    """Put the commands into the parser."""
    brought = command("import", _import, "make a run of a recording, to go on with (play --resume) for --budget more actions")
    brought.add_argument("file", metavar="FILE", type=Path, help="a recording of the ARC toolkit: .jsonl or .jsonl.gz")
    brought.add_argument("--world", metavar="WORLD", default="", help="where the run goes on (default: what the recording names)")
    options.run_options(brought)
    options.out_option(brought)
    told = command("induce", _induce, "learn from the first part of a recording, foretell the rest one step ahead")
    told.add_argument("--from", metavar="FILE", dest="file", type=Path, required=True, help="a recording: .jsonl or .jsonl.gz")
    told.add_argument("--train", metavar="N", type=int, default=400, help="actions to learn from (default: 400)")
    told.add_argument("--test", metavar="M", type=int, default=200, help="actions after them to foretell (default: 200)")
    told.add_argument("--rulebook", action="store_true", help="print the rulebook too")
    written = command("export", _export, "write a run as a recording of the ARC toolkit")
    written.add_argument("run", metavar="RUN", help="a run's folder, its name below --out, or `last`")
    options.out_option(written)
    written.add_argument("-o", metavar="FILE", dest="file", type=Path, help="where to; .gz compresses (default: in the run)")


def _induce(given: argparse.Namespace) -> int:
    from lawbook.experiments import one_step_accuracy
    from lawbook.minds.registry import make_mind
    from lawbook.sandbox.host import Host

    with Host() as host:
        found = one_step_accuracy.foretell(given.file, given.train, given.test, make_mind("induce"), host)
    if given.rulebook:
        print(found.hypothesis.rulebook)
    print(one_step_accuracy.told(found))
    return 0


def _import(given: argparse.Namespace) -> int:
    from lawbook.arc.recording_io import import_recording
    from lawbook.runs.folder import RunConfig

    print(import_recording(given.file, given.out, RunConfig(given.world, **options.asked(given))).path)
    return 0


def _export(given: argparse.Namespace) -> int:
    from lawbook.arc.recording_io import export_run

    folder = folder_of(given.run, given.out)
    target = given.file or folder.path / "recording.jsonl"
    export_run(folder, target)
    print(target)
    return 0
