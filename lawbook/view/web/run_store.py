"""A folder of runs: its table, read again only where a run has grown, and the runs that somebody has open."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from lawbook.core.spending import read_dollars, read_tokens
from lawbook.errors import LawbookError, UsageError
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import RunFolder, list_runs
from lawbook.view.formatting import format_one_line
from lawbook.view.liveness import is_alive
from lawbook.view.metrics import RunSummaryBuilder
from lawbook.view.run_index import RunIndex
from lawbook.view.svg_png import encode_png

Json = dict[str, Any]
MAX_OPEN_RUNS, TABLE_SECONDS = 8, 0.4
"""Runs kept open at most, and seconds that one look at the table may take; what is not read by then comes with the next."""


class _RunRow:
    """What is known of one run, as of a size of its files."""

    def __init__(self) -> None:
        self.summary_builder, self.last_seq, self.stamp, self.error = RunSummaryBuilder(), -1, (0, 0, 0), ""


class _OpenRun:
    """A chronicle, and how many look at it now."""

    def __init__(self, run_index: RunIndex) -> None:
        self.run_index, self.n_users = run_index, 0


class RunStore:
    """Reads from several threads. `close` it at the end."""

    def __init__(self, runs_folder: Path) -> None:
        self.runs_folder = runs_folder
        self._rows: dict[str, _RunRow] = {}
        self._open_runs: OrderedDict[str, _OpenRun] = OrderedDict()
        self._lock, self._table_lock = Lock(), Lock()

    def compute_stamp(self) -> tuple[tuple[str, tuple[int, int, int], bool], ...]:
        """Return what changes whenever anything in the table does."""
        return tuple((folder.path.name, _compute_stamp(folder), is_alive(folder)) for folder in list_runs(self.runs_folder))

    def build_table(self) -> Json:
        """Describe all runs, the newest first; `more`: some have not been read yet, ask again."""
        deadline, rows, has_more = time.monotonic() + TABLE_SECONDS, [], False
        with self._table_lock:
            for folder in list_runs(self.runs_folder):
                name = folder.path.name
                row = self._rows.setdefault(name, _RunRow())
                if row.stamp != (stamp := _compute_stamp(folder)):
                    if time.monotonic() > deadline:
                        has_more = True
                        continue
                    _update_row(row, folder)
                    row.stamp = stamp
                rows.append({"name": name, **_format_row(row, is_alive(folder))})
        return {"folder": str(self.runs_folder), "runs": rows, "more": has_more}

    def find_folder(self, name: str) -> RunFolder:
        """Return the run of that name. Raises UsageError when there is none."""
        try:
            is_run = name not in ("", ".", "..") and "/" not in name and (self.runs_folder / name / "ledger.sqlite").is_file()
        except (OSError, ValueError):  # too long, or with what no file system has in a name
            is_run = False
        if not is_run:
            raise UsageError(f"There is no run {format_one_line(name, 100)!r} in {self.runs_folder}.")
        return RunFolder(self.runs_folder / name)

    @contextmanager
    def open_run(self, name: str) -> Iterator[RunIndex]:
        """Open a run to look at, as a context. Raises UsageError when there is none of that name, or it cannot be read."""
        folder = self.find_folder(name)
        with self._lock:
            open_run = self._open_runs.get(name)
            if open_run is None:
                open_run = self._open_runs[name] = _OpenRun(RunIndex(folder.ledger))
            open_run.n_users += 1
            self._open_runs.move_to_end(name)
            for idle_name in [run_name for run_name, candidate in self._open_runs.items() if not candidate.n_users][
                : max(0, len(self._open_runs) - MAX_OPEN_RUNS)
            ]:
                self._open_runs.pop(idle_name).run_index.close()
        try:
            yield open_run.run_index
        except BaseException as error:
            try:
                open_run.run_index.ledger.raise_if_altered(error)
            finally:
                self._forget(name, open_run)
            raise
        finally:
            with self._lock:
                open_run.n_users -= 1

    def _forget(self, name: str, open_run: _OpenRun) -> None:
        """One that failed is read anew the next time: its folder may have been put in its place again."""
        with self._lock:
            if self._open_runs.get(name) is open_run and open_run.n_users == 1:
                self._open_runs.pop(name).run_index.close()

    def render_thumbnail(self, name: str) -> bytes:
        """Draw a PNG of the last frame of a run, one pixel a cell. Raises UsageError when there is none."""
        folder = self.find_folder(name)
        with self._table_lock:
            row = self._rows.get(name)
            summary = row.summary_builder.summary if row is not None and not row.error else None
        if summary is None or summary.frame is None:
            raise UsageError("This run has shown nothing yet.")
        with Ledger.open(folder.ledger, readonly=True, check=False) as ledger:
            return encode_png(ledger.get_frame(summary.frame), summary.palette)

    def close(self) -> None:
        """Let go of every ledger that is open."""
        with self._lock:
            for open_run in self._open_runs.values():
                open_run.run_index.close()
            self._open_runs.clear()


def _update_row(row: _RunRow, folder: RunFolder) -> None:
    try:
        with Ledger.open(folder.ledger, readonly=True, check=False) as ledger:
            for event in ledger.read_events(RunSummaryBuilder.KINDS, after_seq=row.last_seq):
                row.summary_builder.add(event)
                row.last_seq = event.seq
        row.summary_builder.summary  # noqa: B018  (raises where there is no opening)
        row.error = ""
    except (LawbookError, KeyError, TypeError, ValueError) as error:
        row.error = format_one_line(str(error), 300) or "It cannot be read."


def _format_row(row: _RunRow, is_played: bool) -> Json:
    """A row as the page takes it. One that was altered must not keep the others from being shown."""
    if row.error:
        return {"broken": row.error, "state": "broken"}
    try:
        formatted = _summarize_row(row, is_played)
        json.dumps(formatted, allow_nan=False)
        return formatted
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        return {
            "broken": f"Its ledger cannot be read ({format_one_line(str(error), 200)}); it has been altered.",
            "state": "broken",
        }


def _summarize_row(row: _RunRow, is_played: bool) -> Json:
    summary = row.summary_builder.summary
    completed_totals = summary.completed_totals
    return {
        **{name: format_one_line(getattr(summary, name), 200) for name in ("world", "mind", "protocol")},
        **{
            name: getattr(summary, name)
            for name in ("population", "seed", "budget", "levels", "actions", "baseline", "began", "last")
        },
        "state": summary.outcome or ("playing" if is_played else "paused"),
        "last": summary.last,
        "completed": summary.levels_completed,
        "solved": None if completed_totals is None else list(completed_totals),
        "efficiency": summary.rhae,
        "tokens": read_tokens(summary.costs),
        "dollars": read_dollars(summary.costs),
        "frame": summary.frame,
    }


def _compute_stamp(folder: RunFolder) -> tuple[int, int, int]:
    """Size and time of the ledger and size of its log: another one for every commit."""
    try:
        ledger_stat = folder.ledger.stat()
        log_path = folder.ledger.with_name(folder.ledger.name + "-wal")
        log_stat = log_path.stat() if log_path.exists() else None
    except OSError:
        return 0, 0, 0
    return ledger_stat.st_size, ledger_stat.st_mtime_ns, log_stat.st_mtime_ns if log_stat else 0
