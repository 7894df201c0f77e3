"""`campaign`: many runs from one TOML file."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from lawbook.arc import scorecards
from lawbook.cli.commands import command
from lawbook.cli.options import WHOLE, out_option
from lawbook.errors import UsageError
from lawbook.experiments.campaign import Campaign, CampaignConfig
from lawbook.runs.process_exit import interrupt_on_sigterm
from lawbook.scoring.seed_statistics import format_summary, group_runs
from lawbook.scoring.tables import OUTPUT_FORMATS


@command("campaign")
@click.argument("file", metavar="FILE", type=Path, help="what to play; docs/arc.md tells what stands in it")
@click.option("-j", "jobs", type=WHOLE, default=1, metavar="N", help="runs at a time (default: 1)")
@click.option("--format", "output_format", type=click.Choice(OUTPUT_FORMATS), default="text", help="of the summary (default: text)")
@out_option
def run_campaign(file: Path, jobs: int, output_format: str, out: Path) -> int:
    if jobs < 1:
        raise UsageError("-j is a number from 1.")
    campaign = Campaign(CampaignConfig.read(file), out / file.stem)
    stop_reason = "interrupted"
    try:
        with interrupt_on_sigterm():
            stop_reason = campaign.run(jobs, lambda line: print(line, file=sys.stderr))
    except KeyboardInterrupt:
        pass
    run_groups = group_runs(campaign.collect_results())
    for format_name, suffix in zip(OUTPUT_FORMATS, ("txt", "csv", "json", "md"), strict=True):
        (campaign.folder / f"summary.{suffix}").write_text(format_summary(run_groups, format_name), encoding="utf-8")
    sys.stdout.write(format_summary(run_groups, output_format))
    if campaign.closed_card:
        print("\n".join(scorecards.format_card(campaign.closed_card)), file=sys.stderr)
    if stop_reason:
        print(f"lawbook: stopped: {stop_reason.rstrip('.')}; the same command goes on.", file=sys.stderr)
    return 1 if stop_reason else 0
