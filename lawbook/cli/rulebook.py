"""`rulebook` and `program`: what a member of a run believes, as it was written."""

from __future__ import annotations

import sys

from lawbook.cli.commands import command
from lawbook.cli.options import member_option, run_argument
from lawbook.cli.run_lookup import open_ledger
from lawbook.core.hypothesis import RULEBOOK
from lawbook.errors import UsageError
from lawbook.runs.folder import RunFolder
from lawbook.runs.recheck import explain_fall
from lawbook.runs.state import fold_events
from lawbook.view.formatting import clean
from lawbook.view.rulebook_diff import collect_texts


@command("rulebook")
@run_argument
@member_option
def print_rulebook(folder: RunFolder, member: int) -> int:
    _print_texts([_load_texts(folder, member)[RULEBOOK]])
    return 0


@command("program")
@run_argument
@member_option
def print_program(folder: RunFolder, member: int) -> int:
    modules = {name: text for name, text in _load_texts(folder, member).items() if name != RULEBOOK}
    _print_texts([*modules.values()] if len(modules) == 1 else [f"# {name}\n\n{text}" for name, text in modules.items()])
    return 0


def _load_texts(folder: RunFolder, member: int) -> dict[str, str]:
    """The rulebook and modules of one member by file name. Raises UsageError where there are none; one that fell is said so."""
    with open_ledger(folder) as ledger:
        state = fold_events(ledger)
    members = state.members
    if not 0 <= member < len(members):
        raise UsageError(f"There is no member {member}; this run has {len(members)}, counted from 0.")
    hypothesis = members[member].hypothesis
    if hypothesis is None:
        raise UsageError(
            f"Member {member} of this run never had a hypothesis that was accepted; `lawbook history` shows what it tried."
        )
    if reason := explain_fall(members[member], state.record):
        print(f"lawbook: {reason}; this is what it said.", file=sys.stderr)
    return collect_texts(hypothesis)


def _print_texts(texts: list[str]) -> None:
    """As they are into a pipe, cleaned where a terminal would obey them."""
    for text in texts:
        print(clean(text) if sys.stdout.isatty() else text, end="" if text.endswith("\n") else "\n")
