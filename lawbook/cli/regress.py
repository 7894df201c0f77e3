"""`regress`: every completed level planned again, in the program as it stands."""

from __future__ import annotations

import click

from lawbook.cli.commands import command
from lawbook.cli.options import WHOLE, consent_options, member_option, run_argument
from lawbook.cli.run_lookup import open_ledger
from lawbook.core.results import Limits, ProgramError
from lawbook.errors import UsageError
from lawbook.ledger.events import OpenEvent
from lawbook.planning.regression import replan_completed_levels
from lawbook.runs.consent import Consent
from lawbook.runs.folder import RunFolder
from lawbook.runs.state import fold_events
from lawbook.sandbox.host import Host


@command("regress")
@run_argument
@member_option
@click.option("--nodes", type=WHOLE, default=200_000, metavar="N", help="most states one search expands (default: 200000)")
@consent_options
def replan_levels(folder: RunFolder, member: int, nodes: int, weak: bool, memory_mb: int | None) -> int:
    memory = Consent(weak, memory_mb).choose_memory(folder.load_config().memory_mb)
    with open_ledger(folder) as ledger:
        state, spec = fold_events(ledger), next(ledger.read_data(OpenEvent)).spec
        hypothesis = state.members[member].hypothesis if 0 <= member < len(state.members) else None
        if hypothesis is None:
            raise UsageError(f"Member {member} of this run has no program; `lawbook history` shows what was tried.")
        with Host(weak=weak, memory_mb=memory) as host:
            program = host.load(hypothesis.files)
            if isinstance(program, ProgramError):
                raise UsageError(f"The program does not load: {program.reason}")
            results = replan_completed_levels(program, state.record, spec.clicks, Limits(nodes=nodes))
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
