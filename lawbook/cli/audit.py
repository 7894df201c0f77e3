"""The command `audit`: whether the ledger of a run tells the truth, as a short table or as JSON."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable

from lawbook.errors import UsageError

# As in cli.py: what costs time is imported where it is needed.

Add = Callable[[str, Callable[[argparse.Namespace], int], str], argparse.ArgumentParser]


def add_commands(command: Add, out: Callable[[argparse.ArgumentParser], None]) -> None:
    """Put the command into the parser; out adds --out."""
    audited = command("audit", _audit, "does the ledger of a run tell the truth? exit code 0: all of it holds, 1: not")
    audited.add_argument("run", metavar="RUN", help="a run's folder, its name below --out, or `last`")
    audited.add_argument("--strict", action="store_true", help="run every version and plan again, and play the world again")
    audited.add_argument("--head", metavar="HASH", default="", help="the head that was published (default: the one in report.html)")
    audited.add_argument("--mend", action="store_true", help="first make the git memory anew from the ledger")
    audited.add_argument("--json", action="store_true", help="as one JSON object")
    out(audited)


def _audit(given: argparse.Namespace) -> int:
    from lawbook.audit.report import audit, mend
    from lawbook.cli.run_lookup import folder_of
    from lawbook.view.console import Terminal
    from lawbook.view.formatting import one_line

    if given.head and not re.fullmatch(r"[0-9a-fA-F]{64}", given.head.strip()):
        raise UsageError("A head is 64 hexadecimal digits; give it whole, as it was printed at the end of the run.")
    folder = folder_of(given.run, given.out)
    if given.mend:
        mend(folder)
    found = audit(folder, strict=given.strict, head=given.head)
    if given.json:
        print(json.dumps({"run": str(folder.path), **found.json()}))
        return 0 if found.holds else 1
    from rich.text import Text

    marks = {True: ("ok ", "green"), False: ("NOT", "bold red"), None: ("-- ", "dim")}
    rows = [Text.assemble(f"{line.name:<12} ", marks[line.ok], f"  {one_line(line.says)}") for line in found.lines]
    wrong = sum(line.ok is False for line in found.lines)
    verdict = f"{wrong} of {len(found.lines)} lines do not hold" if wrong else "all that was looked at holds"
    console = Terminal(highlight=False)
    for row in [*rows, Text(f"{'head':<12}      {found.head}", style="dim"), Text(f"{verdict}  {folder.path}")]:
        console.print(row, soft_wrap=True)
    return 0 if found.holds else 1
