"""`play`: a world played, on a scorecard where that was asked for, or a run taken up again."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from lawbook.arc import scorecards
from lawbook.arc.settings import MODE_VARIABLE, add_options
from lawbook.cli.commands import command
from lawbook.cli.options import (
    card_options,
    drop_missing,
    final_json_option,
    games_option,
    no_board_option,
    out_option,
    plain_option,
    resume_option,
    run_options,
)
from lawbook.cli.player import DisplayOptions, continue_run, play_new_run
from lawbook.cli.run_lookup import find_run_folder, open_ledger
from lawbook.core.spending import OPTIONS, Caps
from lawbook.errors import UsageError
from lawbook.runs.consent import Consent
from lawbook.runs.folder import list_runs
from lawbook.view.metrics import summarize_run


@dataclass(frozen=True)
class CardOptions:
    """Where `play` plays arc: worlds, and on which card. Empty: not asked for."""

    mode: str
    card: str
    tag: Sequence[str]
    source_url: str


@command("play")
@click.argument("world", metavar="[WORLD]", required=False, help="such as demo:maze?seed=3; `lawbook worlds` lists them")
@resume_option
@run_options
@click.option("--weak-sandbox", is_flag=True, default=None, help="run although programs cannot be kept from files or network")
@games_option
@click.option(
    "--mode",
    default="",
    metavar="MODE",
    help="of arc: worlds: offline, normal, online, competition (default: OPERATION_MODE, or offline)",
)
@card_options
@out_option
@final_json_option
@click.option("--quiet", is_flag=True, help="print nothing but failures")
@plain_option
@click.option("--fast", is_flag=True, help="no pauses for the eye in the live display")
@no_board_option
def play(
    world: str | None,
    resume: str | None,
    mode: str,
    card: str,
    tags: Sequence[str],
    source_url: str,
    out: Path,
    as_json: bool,
    quiet: bool,
    plain: bool,
    fast: bool,
    no_board: bool,
    **settings: Any,
) -> int:
    run_settings, card_options = drop_missing(settings), CardOptions(mode, card, tags, source_url)
    display_options = DisplayOptions(json=as_json, quiet=quiet, plain=plain, fast=fast, board=not no_board)
    if resume is None:
        if world is None:
            raise UsageError("play needs a WORLD, such as demo:maze; `lawbook worlds` lists what there is.")
        return _play_on_card(world, card_options, out, lambda world: play_new_run(world, run_settings, out, display_options))
    raised_caps = {name: run_settings.pop(name) for name in OPTIONS if name in run_settings}
    consent = Consent(run_settings.pop("weak_sandbox", False), run_settings.pop("memory_mb", None))
    other_options = [*run_settings, *(name for name, value in asdict(card_options).items() if value)]
    if world is not None or other_options:
        extra = world or "--" + other_options[0].replace("_", "-")
        raise UsageError(f"--resume goes on with what the run was asked for; leave out {extra}.")
    return continue_run(find_run_folder(resume, out), display_options, Caps.from_settings(raised_caps), consent)


def _play_on_card(world: str, options: CardOptions, out: Path, play: Callable[[str], int]) -> int:
    """Play the world in the mode that was asked for; on a server on one card, which is closed when the run on it has ended."""
    mode = options.mode or (os.environ.get(MODE_VARIABLE, "").lower() if world.startswith("arc:") and "mode=" not in world else "")
    world = add_options(world, mode=mode, card=options.card)
    match = re.search(r"[?&]mode=(online|competition)\b", world)
    if not match or "card=" in world:
        if options.tag or options.source_url:
            raise UsageError("--tag and --source-url describe a card that is opened for this play; leave them out.")
        return play(world)
    card = scorecards.open_card(match[1], options.tag, options.source_url)
    print(f"card    {card}", file=sys.stderr)
    code = play(add_options(world, card=card))
    for folder in list_runs(out):
        if card in folder.load_config().world:
            with open_ledger(folder) as ledger:
                if summarize_run(ledger).outcome is not None:
                    print("\n".join(scorecards.format_card(scorecards.close_card(card, match[1]))), file=sys.stderr)
            break
    return code
