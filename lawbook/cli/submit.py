"""`submit`: runs replayed onto a scorecard."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from lawbook.arc import scorecards, submit
from lawbook.cli.commands import command
from lawbook.cli.options import SERVER_MODES, card_options, final_json_option, runs_argument
from lawbook.runs.folder import RunFolder


@command("submit")
@runs_argument
@click.option("--mode", type=click.Choice(SERVER_MODES), required=True, help="the kind of card")
@final_json_option
@card_options
def submit_runs(folders: list[RunFolder], mode: str, as_json: bool, card: str, tags: Sequence[str], source_url: str) -> int:
    report_progress = (lambda _: None) if as_json else print
    submission = submit.submit(folders, mode, card=card, tags=tags, source_url=source_url, report_progress=report_progress)
    if as_json:
        print(json.dumps(submission.json()))
        return 0 if submission.is_complete else 1
    for run in submission.runs:
        print(f"{run.run}: {run.n_sent} of {run.n_recorded} actions, {run.difference or 'every frame as recorded'}")
    print(
        "\n".join(scorecards.format_card(submission.card))
        if submission.card
        else submission.failure or f"card {submission.card_id} is left open"
    )
    if submission.card and not submission.is_billing_consistent:
        print("The server billed other actions than were counted here; --json shows both.")
    return 0 if submission.is_complete else 1
