"""Options and arguments that several commands share: which run is meant, what a run is asked for, where runs and games lie."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from lawbook.cli.run_lookup import find_run_folder, find_run_folders

Callback = Callable[..., int]
Decorator = Callable[[Callback], Callback]

SERVER_MODES = ("online", "competition")


class NumberType(click.ParamType[float]):
    """A number, refused in our words."""

    def __init__(self, parse: Callable[[str], float], name: str) -> None:
        self.parse, self.name = parse, name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self.parse(value)
        except ValueError:
            self.fail(f"is {self.name}, not {value!r}", param, ctx)


WHOLE, REAL = NumberType(int, "a whole number"), NumberType(float, "a number")


def _set_games_folder(_: click.Context, __: click.Parameter, games: Path | None) -> None:
    """For whatever looks for games here or in a process of ours."""
    from lawbook.arc.settings import GAMES_VARIABLE

    if games is not None:
        os.environ[GAMES_VARIABLE] = str(games.resolve())


games_option = click.option(
    "--games",
    type=Path,
    metavar="DIR",
    expose_value=False,
    callback=_set_games_folder,
    help="the folder of ARC-AGI-3 games (default: LAWBOOK_GAMES)",
)
out_option = click.option("--out", type=Path, default="runs", metavar="DIR", help="the folder that holds runs (default: runs)")
resume_option = click.option("--resume", metavar="RUN", help="go on with a run: its folder, its name below --out, or `last`")
json_option = click.option("--json", "as_json", is_flag=True, help="as one JSON object")
final_json_option = click.option("--json", "as_json", is_flag=True, help="print one JSON object at the end, and nothing else")
member_option = click.option("--member", type=WHOLE, default=0, metavar="N", help="of this member, from 0")
plain_option = click.option("--plain", is_flag=True, help="one line an event instead of the live display")
no_board_option = click.option("--no-board", is_flag=True, help="the live display without the board")
protocol_option = click.option(
    "--protocol", metavar="PROTOCOL", help="what must hold before an action: memento3, no-rulebook, vanilla (default: memento3)"
)
budget_option = click.option("--budget", type=WHOLE, metavar="B", help="actions in all, resets included (default: 500)")
seed_option = click.option("--seed", type=WHOLE, metavar="S", help="of every draw (default: 0)")
nodes_option = click.option("--nodes", type=WHOLE, metavar="N", help="most states one search expands (default: 200000)")
max_calls_option = click.option("--max-calls", type=WHOLE, metavar="N", help="pause when its model has been called this often")


def combine(*decorators: Decorator) -> Decorator:
    """One decorator for several, in the order of the help."""
    return lambda callback: functools.reduce(lambda inner, decorate: decorate(inner), reversed(decorators), callback)


def run_argument(callback: Callback) -> Callback:
    """RUN and --out, given to the command as `folder`, the run that was meant."""

    @functools.wraps(callback)
    def with_folder(*, run: str, out: Path, **options: Any) -> int:
        return callback(folder=find_run_folder(run, out), **options)

    return combine(click.argument("run", metavar="RUN", help="a run's folder, its name below --out, or `last`"), out_option)(
        with_folder
    )


def runs_argument(callback: Callback) -> Callback:
    """RUN, at least once, and --out, given to the command as `folders`; `all` is every run there is."""

    @functools.wraps(callback)
    def with_folders(*, runs: Sequence[str], out: Path, **options: Any) -> int:
        return callback(folders=find_run_folders(runs, out), **options)

    runs_help = "a run's folder, its name below --out, `last` or `all`"
    return combine(click.argument("runs", metavar="RUN...", nargs=-1, required=True, help=runs_help), out_option)(with_folders)


memory_option = click.option("--memory", "memory_mb", type=WHOLE, metavar="MB", help="let each program use so much (default: 512)")
consent_options = combine(
    click.option("--weak-sandbox", "weak", is_flag=True, help="run its programs although they cannot be confined here"),
    memory_option,
)
"""What whoever runs a command allows to the programs of a run folder: see Consent."""

run_options = combine(
    click.option("--mind", metavar="MIND", help="who proposes; `lawbook minds` lists them (default: induce)"),
    protocol_option,
    click.option("--population", type=WHOLE, metavar="N", help="hypotheses over one record (default: 1)"),
    click.option(
        "--policy", metavar="POLICY", help="which of several classes of plans is taken: uniform, disagree (default: uniform)"
    ),
    budget_option,
    seed_option,
    nodes_option,
    memory_option,
    click.option("--images", is_flag=True, default=None, help="show the mind pictures too, if its model takes them"),
    click.option("--seed-with", metavar="MIND", help="let this mind write the first hypothesis, such as induce (marked)"),
    click.option("--fallback", metavar="MIND", help="let this mind explore where the other's answer is of no use (marked)"),
    click.option("--max-dollars", type=REAL, metavar="D", help="pause when the mind has cost this much (default: no cap)"),
    click.option("--max-tokens", type=WHOLE, metavar="N", help="pause when it has used this many, in and out"),
    max_calls_option,
    click.option("--max-minutes", type=REAL, metavar="M", help="pause when the run has been at work this long"),
)
"""The settings of a run, by the names of RunConfig; one that is not given is None, and left to its default there."""

card_options = combine(
    click.option("--card", default="", metavar="ID", help="an open scorecard (default: one is opened, later closed)"),
    click.option("--tag", "tags", multiple=True, metavar="TAG", help="of the scorecard; as often as needed"),
    click.option("--source-url", default="", metavar="URL", help="of the scorecard: where the code is"),
)


def drop_missing(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What was given of a run's settings."""
    return {name: value for name, value in settings.items() if value is not None}
