"""`show`: the numbers of a run."""

from __future__ import annotations

import json

from lawbook.cli.commands import command
from lawbook.cli.options import json_option, run_argument
from lawbook.cli.output import print_lines
from lawbook.cli.run_lookup import open_ledger
from lawbook.runs.folder import RunFolder
from lawbook.view import text_output
from lawbook.view.metrics import compute_metrics


@command("show")
@run_argument
@json_option
def show_metrics(folder: RunFolder, as_json: bool) -> int:
    with open_ledger(
        folder
    ) as ledger:  # around the formatting too: a ledger that was altered fails in one sentence wherever it shows
        run_numbers = compute_metrics(ledger)
        if as_json:
            print(json.dumps(run_numbers.to_json() | {"run": str(folder.path)}))
        else:
            print_lines(text_output.format_metrics(run_numbers, folder.path))
    return 0
