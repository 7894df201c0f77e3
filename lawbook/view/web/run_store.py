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

from lawbook.errors import LawbookError, UsageError
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import RunFolder, runs_in
from lawbook.view.formatting import one_line
from lawbook.view.liveness import alive
from lawbook.view.metrics import Skim, dollars, tokens
from lawbook.view.run_index import Chronicle
from lawbook.view.svg_png import png

Json = dict[str, Any]
OPEN, PATIENCE = 8, 0.4
"""Runs kept open at most, and seconds that one look at the table may take; what is not read by then comes with the next."""


class _Row:
    """What is known of one run, as of a size of its files."""

    def __init__(self) -> None:
        self.skim, self.seq, self.stamp, self.broken = Skim(), -1, (0, 0, 0), ""


class _Opened:
    """A chronicle, and how many look at it now."""

    def __init__(self, chronicle: Chronicle) -> None:
        self.chronicle, self.users = chronicle, 0


class Shelf:
    """Reads from several threads. `close` it at the end."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self._rows: dict[str, _Row] = {}
        self._opened: OrderedDict[str, _Opened] = OrderedDict()
        self._lock, self._table = Lock(), Lock()

    def stamp(self) -> tuple[tuple[str, tuple[int, int, int], bool], ...]:
        """Changes whenever anything in the table does."""
        return tuple((folder.path.name, _stamp(folder), alive(folder)) for folder in runs_in(self.out))

    def table(self) -> Json:
        """All runs, the newest first; `more`: some have not been read yet, ask again."""
        deadline, rows, more = time.monotonic() + PATIENCE, [], False
        with self._table:
            for folder in runs_in(self.out):
                name = folder.path.name
                row = self._rows.setdefault(name, _Row())
                if row.stamp != (stamp := _stamp(folder)):
                    if time.monotonic() > deadline:
                        more = True
                        continue
                    _read_on(row, folder)
                    row.stamp = stamp
                rows.append({"name": name, **_told(row, alive(folder))})
        return {"folder": str(self.out), "runs": rows, "more": more}

    def folder(self, name: str) -> RunFolder:
        """The run of that name. Raises UsageError when there is none."""
        try:
            found = name not in ("", ".", "..") and "/" not in name and (self.out / name / "ledger.sqlite").is_file()
        except (OSError, ValueError):  # too long, or with what no file system has in a name
            found = False
        if not found:
            raise UsageError(f"There is no run {one_line(name, 100)!r} in {self.out}.")
        return RunFolder(self.out / name)

    @contextmanager
    def run(self, name: str) -> Iterator[Chronicle]:
        """A run to look at. Raises UsageError when there is none of that name, or it cannot be read."""
        folder = self.folder(name)
        with self._lock:
            opened = self._opened.get(name)
            if opened is None:
                opened = self._opened[name] = _Opened(Chronicle(folder.ledger))
            opened.users += 1
            self._opened.move_to_end(name)
            for other in [one for one, held in self._opened.items() if not held.users][: max(0, len(self._opened) - OPEN)]:
                self._opened.pop(other).chronicle.close()
        try:
            yield opened.chronicle
        except BaseException as error:
            try:
                opened.chronicle.ledger.explain(error)
            finally:
                self._forget(name, opened)
            raise
        finally:
            with self._lock:
                opened.users -= 1

    def _forget(self, name: str, opened: _Opened) -> None:
        """One that failed is read anew the next time: its folder may have been put in its place again."""
        with self._lock:
            if self._opened.get(name) is opened and opened.users == 1:
                self._opened.pop(name).chronicle.close()

    def picture(self, name: str) -> bytes:
        """PNG of the last frame of a run. Raises UsageError when there is none."""
        folder = self.folder(name)
        with self._table:
            row = self._rows.get(name)
            brief = row.skim.brief if row is not None and not row.broken else None
        if brief is None or brief.frame is None:
            raise UsageError("This run has shown nothing yet.")
        with Ledger.open(folder.ledger, readonly=True) as ledger:
            return png(ledger.frame(brief.frame), brief.palette)

    def close(self) -> None:
        with self._lock:
            for opened in self._opened.values():
                opened.chronicle.close()
            self._opened.clear()


def _read_on(row: _Row, folder: RunFolder) -> None:
    try:
        with Ledger.open(folder.ledger, readonly=True) as ledger:
            for event in ledger.events(Skim.KINDS, after=row.seq):
                row.skim.add(event)
                row.seq = event.seq
        row.skim.brief  # noqa: B018  (raises where there is no opening)
        row.broken = ""
    except (LawbookError, KeyError, TypeError, ValueError) as error:
        row.broken = one_line(str(error), 300) or "It cannot be read."


def _told(row: _Row, playing: bool) -> Json:
    """A row as the page takes it. One that was altered must not keep the others from being shown."""
    if row.broken:
        return {"broken": row.broken, "state": "broken"}
    try:
        told = _numbers(row, playing)
        json.dumps(told, allow_nan=False)
        return told
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        return {"broken": f"Its ledger cannot be read ({one_line(str(error), 200)}); it has been altered.", "state": "broken"}


def _numbers(row: _Row, playing: bool) -> Json:
    brief = row.skim.brief
    solved = brief.solved
    return {
        **{name: one_line(getattr(brief, name), 200) for name in ("world", "mind", "protocol")},
        **{
            name: getattr(brief, name)
            for name in ("population", "seed", "budget", "levels", "actions", "baseline", "began", "last")
        },
        "state": brief.outcome or ("playing" if playing else "paused"),
        "last": brief.last,
        "completed": brief.levels_completed,
        "solved": None if solved is None else list(solved),
        "efficiency": brief.efficiency,
        "tokens": tokens(brief.costs),
        "dollars": dollars(brief.costs),
        "frame": brief.frame,
    }


def _stamp(folder: RunFolder) -> tuple[int, int, int]:
    """Size and time of the ledger and size of its log: another one for every commit."""
    try:
        main = folder.ledger.stat()
        log = folder.ledger.with_name(folder.ledger.name + "-wal")
        aside = log.stat() if log.exists() else None
    except OSError:
        return 0, 0, 0
    return main.st_size, main.st_mtime_ns, aside.st_mtime_ns if aside else 0
