"""Which run was meant on the command line, and its ledger to read. Light: what costs time is imported when it is needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lawbook.errors import UsageError

if TYPE_CHECKING:
    from lawbook.ledger.ledger import Ledger
    from lawbook.runs.folder import RunFolder


def find_run_folder(run: str, runs_path: Path) -> RunFolder:
    """The run that was meant: a path, a name below `runs_path`, or `last`. Raises UsageError when there is none."""
    from lawbook.runs.folder import RunFolder, list_runs

    if run == "last":
        folder = next(list_runs(runs_path), None)
        if folder is None:
            raise no_runs_error(runs_path)
        return folder
    for path in (Path(run), runs_path / run):
        if _is_existing(path):
            return RunFolder.open(path)
    raise UsageError(f"There is no run {run[:200]!r}, here or in {runs_path}; `lawbook runs` lists those there are.")


def find_run_folders(runs: Sequence[str], runs_path: Path) -> list[RunFolder]:
    """Each run that was meant, once; `all`: every one below `runs_path`, the oldest first. Raises UsageError when there is none."""
    from lawbook.runs.folder import list_runs

    folders = [
        folder
        for run in runs
        for folder in (reversed([*list_runs(runs_path)]) if run == "all" else [find_run_folder(run, runs_path)])
    ]
    if not folders:
        raise no_runs_error(runs_path)
    return list({folder.path.resolve(): folder for folder in folders}.values())


def no_runs_error(runs_path: Path) -> UsageError:
    """The failure where a folder holds no runs."""
    return UsageError(f"There are no runs in {runs_path}; `lawbook play` makes one, and --out names another folder.")


def _is_existing(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # too long a name, or behind a folder that is shut
        return False


def open_ledger(folder: RunFolder, *, check: bool = True) -> Ledger:
    """The ledger of a run, for reading only. check False: for whoever checks it, or only lists. Raises UsageError."""
    from lawbook.ledger.ledger import Ledger

    folder.refuse_links()
    return Ledger.open(folder.ledger, readonly=True, check=check)
