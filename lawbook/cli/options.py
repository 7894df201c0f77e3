"""What a run is asked for, as options of a command; and where runs and games lie."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from lawbook.core.spending import OPTIONS

MIND_OPTIONS = ("images", "seed_with", "fallback")
"""What a mind is given besides the case (minds.fallback)."""


def add_out_option(parser: argparse.ArgumentParser) -> None:
    """--out: the folder that holds runs."""
    parser.add_argument("--out", type=Path, default=Path("runs"), metavar="DIR", help="the folder that holds runs (default: runs)")


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """The settings of a run, by the names of RunConfig; one that is not given is left to its default there."""
    parser.add_argument("--mind", help="who proposes; `lawbook minds` lists them (default: induce)")
    parser.add_argument("--protocol", help="what must hold before an action: memento3, no-rulebook, vanilla (default: memento3)")
    parser.add_argument("--population", type=int, metavar="N", help="hypotheses over one record (default: 1)")
    parser.add_argument("--policy", help="which of several classes of plans is taken: uniform, disagree (default: uniform)")
    parser.add_argument("--budget", type=int, metavar="B", help="actions in all, resets included (default: 500)")
    parser.add_argument("--seed", type=int, metavar="S", help="of every draw (default: 0)")
    parser.add_argument("--nodes", type=int, metavar="N", help="most states one search expands (default: 200000)")
    parser.add_argument("--images", action="store_true", default=None, help="show the mind pictures too, if its model takes them")
    parser.add_argument("--seed-with", metavar="MIND", help="let this mind write the first hypothesis, such as induce (marked)")
    parser.add_argument("--fallback", metavar="MIND", help="let this mind explore where the other's answer is of no use (marked)")
    parser.add_argument("--max-dollars", type=float, metavar="D", help="pause when the mind has cost this much (default: no cap)")
    parser.add_argument("--max-tokens", type=int, metavar="N", help="pause when it has used this many, in and out")
    parser.add_argument("--max-calls", type=int, metavar="N", help="pause when its model has been called this often")
    parser.add_argument("--max-minutes", type=float, metavar="M", help="pause when the run has been at work this long")


def add_games_option(parser: argparse.ArgumentParser) -> None:
    """--games: where ARC-AGI-3 games lie."""
    parser.add_argument("--games", type=Path, metavar="DIR", help="the folder of ARC-AGI-3 games (default: LAWBOOK_GAMES)")


def read_run_settings(args: argparse.Namespace) -> dict[str, Any]:
    """What was given of a run's settings, by the names of RunConfig."""
    names = ("mind", "protocol", "population", "policy", "budget", "seed", "nodes", "weak_sandbox", *MIND_OPTIONS, *OPTIONS)
    return {name: value for name in names if (value := getattr(args, name, None)) is not None}


def set_games_folder(args: argparse.Namespace) -> None:
    """--games, for whatever looks for games here or in a process of ours."""
    from lawbook.arc.settings import GAMES_VARIABLE

    if args.games is not None:
        os.environ[GAMES_VARIABLE] = str(args.games.resolve())
