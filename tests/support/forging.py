"""A forger's tools: a run copied with its ledger rewritten from end to end, hashes recomputed, references carried along."""

from __future__ import annotations

import copy
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lawbook.audit.report import AuditReport
from lawbook.ledger.events import EventKind
from lawbook.ledger.ledger import Event, Ledger
from lawbook.runs.folder import RunFolder


@dataclass
class Page:
    """One event that is to be written. was: its number before (None: it is new)."""

    kind: EventKind
    body: dict[str, Any]
    time: float
    was: int | None


class Forgery:
    """Everything a ledger tells, to be changed at will. pages: its events; frame, text: new contents to name in them."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        with Ledger.open(folder.ledger, readonly=True) as ledger:
            self.pages = [Page(e.kind, copy.deepcopy(dict(e.body)), e.time, e.seq) for e in ledger]
        with sqlite3.connect(folder.ledger) as database:
            rows = database.execute("SELECT id, kind, data FROM contents").fetchall()
        self.contents = {name: (kind, zlib.decompress(data)) for name, kind, data in rows}
        self.fresh: dict[str, np.ndarray | str] = {}

    def frame(self, name: str) -> np.ndarray:
        payload = self.contents[name][1]
        shape = np.frombuffer(payload[:8], "<u4")
        return np.frombuffer(payload, np.uint8, offset=8).reshape(shape).copy()

    def put(self, content: np.ndarray | str) -> str:
        """A name for new content, to stand in a body until the true one is known."""
        name = f"new-{len(self.fresh)}"
        self.fresh[name] = content
        return name

    def find(self, kind: EventKind, number: int = 0, **having: Any) -> int:
        """Where the event of this kind (and with these things in its body) stands; the first one, or another."""
        places = [
            place
            for place, page in enumerate(self.pages)
            if page.kind is kind and all(page.body.get(name) == value for name, value in having.items())
        ]
        return places[number]

    def written(self, out: Path) -> RunFolder:
        """The forged run, without the report (its forger would have written another)."""
        out.mkdir()
        made = RunFolder(out)
        shutil.copy(self.folder.toml, made.toml)
        if self.folder.memory.exists():
            shutil.copytree(self.folder.memory, made.memory)
        numbers: dict[int, int] = {}
        with Ledger.create(made.ledger) as ledger:
            for place, page in enumerate(self.pages):
                body = self._named(page.body, ledger)
                if page.kind in (EventKind.INTEND, EventKind.DRAW) and isinstance(body.get("plan"), int):
                    body["plan"] = numbers.get(body["plan"], body["plan"])
                if page.kind is EventKind.CLOSE and "head" in body:
                    body["head"] = ledger.head
                ledger.append(page.kind, body, now=page.time)
                if page.was is not None:
                    numbers[page.was] = place
            ledger.commit()
        return made

    def _named(self, value: Any, ledger: Ledger) -> Any:
        if isinstance(value, dict):
            return {key: self._named(inner, ledger) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._named(inner, ledger) for inner in value]
        if isinstance(value, str) and value in self.fresh:
            content = self.fresh[value]
            return ledger.put_text(content) if isinstance(content, str) else ledger.put_frame(content)
        if isinstance(value, str) and value in self.contents:
            return ledger._put(*self.contents[value])
        return value


Change = Callable[[Forgery], None]


def copied(folder: RunFolder, out: Path) -> RunFolder:
    shutil.copytree(folder.path, out)
    return RunFolder(out)


def events(folder: RunFolder) -> list[Event]:
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        return list(ledger)


def broken(found: AuditReport) -> set[str]:
    """Names of the lines of an audit that do not hold."""
    return {line.name for line in found.lines if line.ok is False}
