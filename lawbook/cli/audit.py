"""`audit`: whether the ledger of a run tells the truth, as a short table or as JSON."""

from __future__ import annotations

import json
import re

import click
from rich.text import Text

from lawbook.audit.report import audit_run, rebuild_git_memory
from lawbook.cli.commands import command
from lawbook.cli.options import consent_options, json_option, run_argument
from lawbook.cli.output import print_lines
from lawbook.errors import UsageError
from lawbook.runs.consent import Consent
from lawbook.runs.folder import RunFolder
from lawbook.view.formatting import format_one_line


@command("audit")
@run_argument
@click.option("--strict", is_flag=True, help="run every version and plan again, and play the world again")
@click.option("--head", metavar="HASH", default="", help="the head that was published (default: the one in report.html)")
@click.option("--mend", is_flag=True, help="first make the git memory anew from the ledger")
@consent_options
@json_option
def audit_ledger(folder: RunFolder, strict: bool, head: str, mend: bool, weak: bool, memory_mb: int | None, as_json: bool) -> int:
    if head and not re.fullmatch(r"[0-9a-fA-F]{64}", head.strip()):
        raise UsageError("A head is 64 hexadecimal digits; give it whole, as it was printed at the end of the run.")
    if mend:
        rebuild_git_memory(folder)
    report = audit_run(folder, strict=strict, head=head, consent=Consent(weak, memory_mb))
    if as_json:
        print(json.dumps({"run": str(folder.path), **report.to_json()}))
        return 0 if report.holds else 1
    marks = {True: ("ok ", "green"), False: ("NOT", "bold red"), None: ("-- ", "dim")}
    rows = [Text.assemble(f"{line.name:<12} ", marks[line.ok], f"  {format_one_line(line.says)}") for line in report.lines]
    n_failed = sum(line.ok is False for line in report.lines)
    summary = f"{n_failed} of {len(report.lines)} lines do not hold" if n_failed else "all that was looked at holds"
    print_lines([*rows, Text(f"{'head':<12}      {report.head}", style="dim"), Text(f"{summary}  {folder.path}")])
    return 0 if report.holds else 1
