"""The commands about what runs are worth: `score`, `regress`, `submit`, `card`, `campaign`; and on which card `play` plays."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lawbook.errors import UsageError

# As in cli.py: what costs time is imported where it is needed.
if TYPE_CHECKING:
    from lawbook.runs.folder import RunFolder

RUNS = "a run's folder, its name below --out, `last` or `all`"
SERVED = ("online", "competition")
FORMS = ("text", "csv", "json", "markdown")

Add = Callable[[str, Callable[[argparse.Namespace], int], str], argparse.ArgumentParser]


def add_commands(command: Add, out: Callable[[argparse.ArgumentParser], None]) -> None:
    """Put the commands into the parser; out adds --out."""
    scored = command("score", _score, "what runs are worth: levels, actions, RHAE, beside what is published")
    scored.add_argument("runs", metavar="RUN", nargs="+", help=RUNS)
    scored.add_argument("--format", choices=FORMS, default="text", help="how (default: text)")
    out(scored)
    again = command("regress", _regress, "plan every completed level again, in the program as it stands; nothing is sent")
    again.add_argument("run", metavar="RUN", help="a run's folder, its name below --out, or `last`")
    again.add_argument("--member", type=int, default=0, metavar="N", help="of this member, from 0")
    again.add_argument("--nodes", type=int, default=200_000, metavar="N", help="most states one search expands (default: 200000)")
    out(again)
    submitted = command("submit", _submit, "replay runs onto a scorecard, checking every frame, and close it")
    submitted.add_argument("runs", metavar="RUN", nargs="+", help=RUNS)
    submitted.add_argument("--mode", choices=SERVED, required=True, help="the kind of card")
    submitted.add_argument("--json", action="store_true", help="print one JSON object at the end, and nothing else")
    _card_options(submitted)
    out(submitted)
    told = command("card", _card, "what a scorecard says so far, or at its end (--close)")
    told.add_argument("card", metavar="CARD", help="its id")
    told.add_argument("--mode", choices=SERVED, default="online", help="the kind of card (default: online)")
    told.add_argument("--close", action="store_true", help="close it: nothing can be played on it any more")
    told.add_argument("--json", action="store_true", help="as one JSON object")
    fought = command("campaign", _campaign, "play worlds x minds x protocols x seeds from a TOML file, or go on with it")
    fought.add_argument("file", metavar="FILE", type=Path, help="what to play; docs/arc.md tells what stands in it")
    fought.add_argument("-j", dest="jobs", type=int, default=1, metavar="N", help="runs at a time (default: 1)")
    fought.add_argument("--format", choices=FORMS, default="text", help="of the summary (default: text)")
    out(fought)


def add_mode(play: argparse.ArgumentParser) -> None:
    """Where `play` plays arc: worlds, and on which card."""
    play.add_argument("--mode", help="of arc: worlds: offline, normal, online, competition (default: OPERATION_MODE, or offline)")
    _card_options(play)


def _card_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--card", default="", metavar="ID", help="an open scorecard (default: one is opened, later closed)")
    parser.add_argument("--tag", action="append", default=[], metavar="TAG", help="of the scorecard; as often as needed")
    parser.add_argument("--source-url", default="", metavar="URL", help="of the scorecard: where the code is")


def on_card(given: argparse.Namespace, plays: Callable[[str], int]) -> int:
    """Play the world in the mode that was asked for; on a server on one card, which is closed when the run on it has ended."""
    from lawbook.arc import scorecards, settings
    from lawbook.cli.run_lookup import open_ledger
    from lawbook.runs.folder import runs_in
    from lawbook.view.metrics import brief

    world = given.world
    mode = given.mode or (os.environ.get(settings.MODE, "").lower() if world.startswith("arc:") and "mode=" not in world else "")
    world = settings.addressed(world, mode=mode, card=given.card)
    found = re.search(r"[?&]mode=(online|competition)\b", world)
    if not found or "card=" in world:
        if given.tag or given.source_url:
            raise UsageError("--tag and --source-url describe a card that is opened for this play; leave them out.")
        return plays(world)
    card = scorecards.opened(found[1], given.tag, given.source_url)
    print(f"card    {card}", file=sys.stderr)
    code = plays(settings.addressed(world, card=card))
    for folder in runs_in(given.out):
        if card in folder.config().world:
            with open_ledger(folder) as ledger:
                if brief(ledger).outcome is not None:
                    print("\n".join(scorecards.lines(scorecards.closed(card, found[1]))), file=sys.stderr)
            break
    return code


def _score(given: argparse.Namespace) -> int:
    from lawbook.cli.run_lookup import open_ledger
    from lawbook.scoring.billing import counting
    from lawbook.scoring.tables import rows_of, table

    counted, folders = [], _folders(given.runs, given.out)
    for folder in folders:
        try:
            with open_ledger(folder) as ledger:
                counted.append((folder.path.name, counting(ledger)[1]))
        except UsageError as error:
            if len(folders) == 1:
                raise
            print(f"lawbook: {folder.path.name} is left out: {error}", file=sys.stderr)
    sys.stdout.write(table(rows_of(counted), given.format))
    return 0


def _regress(given: argparse.Namespace) -> int:
    from lawbook.cli.run_lookup import folder_of, open_ledger
    from lawbook.core.results import Fault, Limits
    from lawbook.planning.regression import regress
    from lawbook.runs.state import fold
    from lawbook.sandbox.host import Host

    folder = folder_of(given.run, given.out)
    config = folder.config()
    with open_ledger(folder) as ledger:
        state, spec = fold(ledger), next(ledger.events()).body["spec"]
        hypothesis = state.members[given.member].hypothesis if 0 <= given.member < len(state.members) else None
        if hypothesis is None:
            raise UsageError(f"Member {given.member} of this run has no program; `lawbook history` shows what was tried.")
        with Host(weak=config.weak_sandbox, memory_mb=config.memory_mb) as host:
            program = host.load(hypothesis.files)
            if isinstance(program, Fault):
                raise UsageError(f"The program does not load: {program.reason}")
            found = regress(program, state.record, tuple(spec["clicks"]), Limits(nodes=given.nodes))
    for one in found:
        how = f"planned in {one.planned} actions" if one.planned is not None else f"no plan: {one.reason.rstrip('.')}"
        print(f"level {one.level + 1}: {how}, completed in {one.recorded}")
    if not found:
        print("no level was completed")
    return 0 if all(one.planned is not None for one in found) else 1


def _submit(given: argparse.Namespace) -> int:
    from lawbook.arc import scorecards
    from lawbook.arc.submit import submit

    folders = _folders(given.runs, given.out)
    say = (lambda _: None) if given.json else print
    done = submit(folders, given.mode, card=given.card, tags=given.tag, source_url=given.source_url, say=say)
    if given.json:
        print(json.dumps(done.json()))
        return 0 if done.whole else 1
    for run in done.runs:
        print(f"{run.run}: {run.sent} of {run.of} actions, {run.parted or 'every frame as recorded'}")
    print("\n".join(scorecards.lines(done.card)) if done.card else done.failure or f"card {done.card_id} is left open")
    if done.card and not done.agreed:
        print("The server billed other actions than were counted here; --json shows both.")
    return 0 if done.whole else 1


def _card(given: argparse.Namespace) -> int:
    from lawbook.arc import scorecards

    told = (scorecards.closed if given.close else scorecards.read)(given.card, given.mode)
    print(json.dumps(told) if given.json else "\n".join(scorecards.lines(told)))
    return 0


def _campaign(given: argparse.Namespace) -> int:
    from lawbook.arc import scorecards
    from lawbook.experiments.campaign import Campaign, Plan
    from lawbook.runs.process_exit import graceful
    from lawbook.scoring.seed_statistics import groups, summary

    if given.jobs < 1:
        raise UsageError("-j is a number from 1.")
    campaign = Campaign(Plan.read(given.file), given.out / given.file.stem)
    why = "interrupted"
    try:
        with graceful():
            why = campaign.run(given.jobs, lambda line: print(line, file=sys.stderr))
    except KeyboardInterrupt:
        pass
    found = groups(campaign.done())
    for form, ending in zip(FORMS, ("txt", "csv", "json", "md"), strict=True):
        (campaign.folder / f"summary.{ending}").write_text(summary(found, form), encoding="utf-8")
    sys.stdout.write(summary(found, given.format))
    if campaign.closed:
        print("\n".join(scorecards.lines(campaign.closed)), file=sys.stderr)
    if why:
        print(f"lawbook: stopped: {why.rstrip('.')}; the same command goes on.", file=sys.stderr)
    return 1 if why else 0


def _folders(runs: Sequence[str], out: Path) -> list[RunFolder]:
    """Each run that was meant, once; `all`: every one below `out`, the oldest first."""
    from lawbook.cli.run_lookup import folder_of
    from lawbook.runs.folder import runs_in

    found = [folder for run in runs for folder in (reversed([*runs_in(out)]) if run == "all" else [folder_of(run, out)])]
    if not found:
        raise UsageError(f"There are no runs in {out}; `lawbook play` makes one, and --out names another folder.")
    return list({folder.path.resolve(): folder for folder in found}.values())
