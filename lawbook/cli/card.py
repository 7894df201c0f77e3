"""`card`: what a scorecard says."""

from __future__ import annotations

import json

import click

from lawbook.arc import scorecards
from lawbook.cli.commands import command
from lawbook.cli.options import SERVER_MODES, json_option


@command("card")
@click.argument("card", metavar="CARD", help="its id")
@click.option("--mode", type=click.Choice(SERVER_MODES), default="online", help="the kind of card (default: online)")
@click.option("--close", is_flag=True, help="close it: nothing can be played on it any more")
@json_option
def show_card(card: str, mode: str, close: bool, as_json: bool) -> int:
    scores = (scorecards.close_card if close else scorecards.read_card)(card, mode)
    print(json.dumps(scores) if as_json else "\n".join(scorecards.format_card(scores)))
    return 0
