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

RUNS_HELP = "a run's folder, its name below --out, `last` or `all`"
SERVER_MODES = ("online", "competition")
FORMATS = ("text", "csv", "json", "markdown")

AddCommand = Callable[[str, Callable[[argparse.Namespace], int], str], argparse.ArgumentParser]


def add_commands(add_command: AddCommand, add_out_option: Callable[[argparse.ArgumentParser], None]) -> None:
    """Put the commands into the parser; out adds --out."""
    score_parser = add_command("score", _score, "what runs are worth: levels, actions, RHAE, beside what is published")
    score_parser.add_argument("runs", metavar="RUN", nargs="+", help=RUNS_HELP)
    score_parser.add_argument("--format", choices=FORMATS, default="text", help="how (default: text)")
    add_out_option(score_parser)
    regress_parser = add_command(
        "regress", _regress, "plan every completed level again, in the program as it stands; nothing is sent"
    )
    regress_parser.add_argument("run", metavar="RUN", help="a run's folder, its name below --out, or `last`")
    regress_parser.add_argument("--member", type=int, default=0, metavar="N", help="of this member, from 0")
    regress_parser.add_argument(
        "--nodes", type=int, default=200_000, metavar="N", help="most states one search expands (default: 200000)"
    )
    add_out_option(regress_parser)
    submit_parser = add_command("submit", _submit, "replay runs onto a scorecard, checking every frame, and close it")
    submit_parser.add_argument("runs", metavar="RUN", nargs="+", help=RUNS_HELP)
    submit_parser.add_argument("--mode", choices=SERVER_MODES, required=True, help="the kind of card")
    submit_parser.add_argument("--json", action="store_true", help="print one JSON object at the end, and nothing else")
    _add_card_options(submit_parser)
    add_out_option(submit_parser)
    card_parser = add_command("card", _show_card, "what a scorecard says so far, or at its end (--close)")
    card_parser.add_argument("card", metavar="CARD", help="its id")
    card_parser.add_argument("--mode", choices=SERVER_MODES, default="online", help="the kind of card (default: online)")
    card_parser.add_argument("--close", action="store_true", help="close it: nothing can be played on it any more")
    card_parser.add_argument("--json", action="store_true", help="as one JSON object")
    campaign_parser = add_command(
        "campaign", _run_campaign, "play worlds x minds x protocols x seeds from a TOML file, or go on with it"
    )
    campaign_parser.add_argument("file", metavar="FILE", type=Path, help="what to play; docs/arc.md tells what stands in it")
    campaign_parser.add_argument("-j", dest="jobs", type=int, default=1, metavar="N", help="runs at a time (default: 1)")
    campaign_parser.add_argument("--format", choices=FORMATS, default="text", help="of the summary (default: text)")
    add_out_option(campaign_parser)


def add_mode_options(parser: argparse.ArgumentParser) -> None:
    """Where `play` plays arc: worlds, and on which card."""
    parser.add_argument("--mode", help="of arc: worlds: offline, normal, online, competition (default: OPERATION_MODE, or offline)")
    _add_card_options(parser)


def _add_card_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--card", default="", metavar="ID", help="an open scorecard (default: one is opened, later closed)")
    parser.add_argument("--tag", action="append", default=[], metavar="TAG", help="of the scorecard; as often as needed")
    parser.add_argument("--source-url", default="", metavar="URL", help="of the scorecard: where the code is")


def play_on_card(args: argparse.Namespace, play: Callable[[str], int]) -> int:
    """Play the world in the mode that was asked for; on a server on one card, which is closed when the run on it has ended."""
    from lawbook.arc import scorecards, settings
    from lawbook.cli.run_lookup import open_ledger
    from lawbook.runs.folder import list_runs
    from lawbook.view.metrics import summarize_run

    world = args.world
    mode = args.mode or (
        os.environ.get(settings.MODE_VARIABLE, "").lower() if world.startswith("arc:") and "mode=" not in world else ""
    )
    world = settings.add_options(world, mode=mode, card=args.card)
    match = re.search(r"[?&]mode=(online|competition)\b", world)
    if not match or "card=" in world:
        if args.tag or args.source_url:
            raise UsageError("--tag and --source-url describe a card that is opened for this play; leave them out.")
        return play(world)
    card = scorecards.open_card(match[1], args.tag, args.source_url)
    print(f"card    {card}", file=sys.stderr)
    code = play(settings.add_options(world, card=card))
    for folder in list_runs(args.out):
        if card in folder.load_config().world:
            with open_ledger(folder) as ledger:
                if summarize_run(ledger).outcome is not None:
                    print("\n".join(scorecards.format_card(scorecards.close_card(card, match[1]))), file=sys.stderr)
            break
    return code


def _score(args: argparse.Namespace) -> int:
    from lawbook.cli.run_lookup import open_ledger
    from lawbook.scoring.billing import count_run
    from lawbook.scoring.tables import format_table, make_rows

    counted_runs, folders = [], _find_run_folders(args.runs, args.out)
    for folder in folders:
        try:
            with open_ledger(folder) as ledger:
                counted_runs.append((folder.path.name, count_run(ledger)[1]))
        except UsageError as error:
            if len(folders) == 1:
                raise
            print(f"lawbook: {folder.path.name} is left out: {error}", file=sys.stderr)
    sys.stdout.write(format_table(make_rows(counted_runs), args.format))
    return 0


def _regress(args: argparse.Namespace) -> int:
    from lawbook.cli.run_lookup import find_run_folder, open_ledger
    from lawbook.core.results import Limits, ProgramError
    from lawbook.planning.regression import replan_completed_levels
    from lawbook.protocols.protocol import get_protocol
    from lawbook.runs.state import fold_events
    from lawbook.sandbox.host import Host

    folder = find_run_folder(args.run, args.out)
    config = folder.load_config()
    with open_ledger(folder) as ledger:
        state, spec = fold_events(ledger), next(ledger.read_events()).body["spec"]
        hypothesis = state.members[args.member].hypothesis if 0 <= args.member < len(state.members) else None
        if hypothesis is None:
            raise UsageError(f"Member {args.member} of this run has no program; `lawbook history` shows what was tried.")
        with Host(weak=config.weak_sandbox, memory_mb=config.memory_mb) as host:
            program = host.load(hypothesis.files, get_protocol(config.protocol).find_open_rules(hypothesis.rulebook))
            if isinstance(program, ProgramError):
                raise UsageError(f"The program does not load: {program.reason}")
            results = replan_completed_levels(program, state.record, tuple(spec["clicks"]), Limits(nodes=args.nodes))
    for result in results:
        outcome = (
            f"planned in {result.planned_length} actions"
            if result.planned_length is not None
            else f"no plan: {result.reason.rstrip('.')}"
        )
        print(f"level {result.level + 1}: {outcome}, completed in {result.recorded_length}")
    if not results:
        print("no level was completed")
    return 0 if all(result.planned_length is not None for result in results) else 1


def _submit(args: argparse.Namespace) -> int:
    from lawbook.arc import scorecards
    from lawbook.arc.submit import submit

    folders = _find_run_folders(args.runs, args.out)
    report_progress = (lambda _: None) if args.json else print
    submission = submit(
        folders, args.mode, card=args.card, tags=args.tag, source_url=args.source_url, report_progress=report_progress
    )
    if args.json:
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


def _show_card(args: argparse.Namespace) -> int:
    from lawbook.arc import scorecards

    card = (scorecards.close_card if args.close else scorecards.read_card)(args.card, args.mode)
    print(json.dumps(card) if args.json else "\n".join(scorecards.format_card(card)))
    return 0


def _run_campaign(args: argparse.Namespace) -> int:
    from lawbook.arc import scorecards
    from lawbook.experiments.campaign import Campaign, CampaignConfig
    from lawbook.runs.process_exit import interrupt_on_sigterm
    from lawbook.scoring.seed_statistics import format_summary, group_runs

    if args.jobs < 1:
        raise UsageError("-j is a number from 1.")
    campaign = Campaign(CampaignConfig.read(args.file), args.out / args.file.stem)
    stop_reason = "interrupted"
    try:
        with interrupt_on_sigterm():
            stop_reason = campaign.run(args.jobs, lambda line: print(line, file=sys.stderr))
    except KeyboardInterrupt:
        pass
    run_groups = group_runs(campaign.collect_results())
    for format_name, suffix in zip(FORMATS, ("txt", "csv", "json", "md"), strict=True):
        (campaign.folder / f"summary.{suffix}").write_text(format_summary(run_groups, format_name), encoding="utf-8")
    sys.stdout.write(format_summary(run_groups, args.format))
    if campaign.closed_card:
        print("\n".join(scorecards.format_card(campaign.closed_card)), file=sys.stderr)
    if stop_reason:
        print(f"lawbook: stopped: {stop_reason.rstrip('.')}; the same command goes on.", file=sys.stderr)
    return 1 if stop_reason else 0


def _find_run_folders(runs: Sequence[str], out: Path) -> list[RunFolder]:
    """Each run that was meant, once; `all`: every one below `out`, the oldest first."""
    from lawbook.cli.run_lookup import find_run_folder
    from lawbook.runs.folder import list_runs

    folders = [folder for run in runs for folder in (reversed([*list_runs(out)]) if run == "all" else [find_run_folder(run, out)])]
    if not folders:
        raise UsageError(f"There are no runs in {out}; `lawbook play` makes one, and --out names another folder.")
    return list({folder.path.resolve(): folder for folder in folders}.values())
