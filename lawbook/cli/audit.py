"""The command `audit`: whether the ledger of a run tells the truth, as a short table or as JSON."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable

from lawbook.errors import UsageError

# As in main.py: what costs time is imported where it is needed.

AddCommand = Callable[[str, Callable[[argparse.Namespace], int], str], argparse.ArgumentParser]


def add_commands(add_command: AddCommand, add_out_option: Callable[[argparse.ArgumentParser], None]) -> None:
    """Put the command into the parser; out adds --out."""
    audit_parser = add_command("audit", _audit, "does the ledger of a run tell the truth? exit code 0: all of it holds, 1: not")
    audit_parser.add_argument("run", metavar="RUN", help="a run's folder, its name below --out, or `last`")
    audit_parser.add_argument("--strict", action="store_true", help="run every version and plan again, and play the world again")
    audit_parser.add_argument(
        "--head", metavar="HASH", default="", help="the head that was published (default: the one in report.html)"
    )
    audit_parser.add_argument("--mend", action="store_true", help="first make the git memory anew from the ledger")
    audit_parser.add_argument("--json", action="store_true", help="as one JSON object")
    add_out_option(audit_parser)


def _audit(args: argparse.Namespace) -> int:
    from lawbook.audit.report import audit_run, rebuild_git_memory
    from lawbook.cli.run_lookup import find_run_folder
    from lawbook.view.console import Terminal
    from lawbook.view.formatting import format_one_line

    if args.head and not re.fullmatch(r"[0-9a-fA-F]{64}", args.head.strip()):
        raise UsageError("A head is 64 hexadecimal digits; give it whole, as it was printed at the end of the run.")
    folder = find_run_folder(args.run, args.out)
    if args.mend:
        rebuild_git_memory(folder)
    report = audit_run(folder, strict=args.strict, head=args.head)
    if args.json:
        print(json.dumps({"run": str(folder.path), **report.to_json()}))
        return 0 if report.holds else 1
    from rich.text import Text

    marks = {True: ("ok ", "green"), False: ("NOT", "bold red"), None: ("-- ", "dim")}
    rows = [Text.assemble(f"{line.name:<12} ", marks[line.ok], f"  {format_one_line(line.says)}") for line in report.lines]
    n_failed = sum(line.ok is False for line in report.lines)
    summary = f"{n_failed} of {len(report.lines)} lines do not hold" if n_failed else "all that was looked at holds"
    console = Terminal(highlight=False)
    for row in [*rows, Text(f"{'head':<12}      {report.head}", style="dim"), Text(f"{summary}  {folder.path}")]:
        console.print(row, soft_wrap=True)
    return 0 if report.holds else 1
