"""Which run was meant on the command line, and its ledger to read. Light: what costs time is imported when it is needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lawbook.errors import UsageError

if TYPE_CHECKING:
    from lawbook.ledger.ledger import Ledger
    from lawbook.runs.folder import RunFolder


def folder_of(run: str, out: Path) -> RunFolder:
    """The run that was meant: a path, a name below `out`, or `last`. Raises UsageError when there is none."""
    from lawbook.runs.folder import RunFolder, runs_in

    if run == "last":
        folder = next(runs_in(out), None)
        if folder is None:
            raise UsageError(f"There are no runs in {out}; `lawbook play` makes one, and --out names another folder.")
        return folder
    for path in (Path(run), out / run):
        if _exists(path):
            return RunFolder.open(path)
    raise UsageError(f"There is no run {run[:200]!r}, here or in {out}; `lawbook runs` lists those there are.")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # too long a name, or behind a folder that is shut
        return False


def open_ledger(folder: RunFolder) -> Ledger:
    """The ledger of a run, for reading only. Raises UsageError."""
    from lawbook.ledger.ledger import Ledger

    return Ledger.open(folder.ledger, readonly=True)
