"""The ledger: the one file that is the truth of a run. Events in order, chained by hash; frames and texts by content."""

from __future__ import annotations

import json
import os
import sqlite3
import struct
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from threading import RLock
from typing import Any, Self

import numpy as np

from lawbook.core.record import Frame
from lawbook.errors import LawbookError, UsageError
from lawbook.ledger import sqlite_store
from lawbook.ledger.codec import decode, encode
from lawbook.ledger.events import EVENT_KINDS, AnyEvent, EventKind
from lawbook.ledger.opening import MalformedEventError
from lawbook.ledger.sqlite_store import COLUMNS, encode_canonical, hash_event

GENESIS = "0" * 64
"""What stands in place of a previous hash before the first event."""

_READ_ERRORS = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, AssertionError)
"""What reading an event raises that does not say what it should."""
_SHAPE = struct.Struct("<II")
_PAGE_ROWS = 512
_CACHED_FRAMES = 64


@dataclass(frozen=True)
class Event:
    """One event. seq from 0; time in seconds since 1970; body as it reads back from JSON; hashes in hexadecimal.

    stored: ids of the frames and texts that were first stored with it, so that the chain binds those too.
    data: what it tells, typed; made of the body when somebody looks.
    """

    seq: int
    time: float
    kind: EventKind
    body: Mapping[str, Any]
    prev_hash: str
    hash: str
    stored: tuple[str, ...] = ()

    @cached_property
    def data(self) -> AnyEvent:
        """What it tells. Raises MalformedEventError (a UsageError) for a body that no run writes."""
        return decode(self.kind, self.body, f"Event {self.seq}")


@dataclass
class _PendingBatch:
    """What has been appended and is not durable yet: events as rows, contents by id, and how many of those an event has claimed."""

    rows: list[tuple[tuple[Any, ...], int]] = field(default_factory=list)
    contents: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    @property
    def n_claimed(self) -> int:
        return self.rows[-1][1] if self.rows else 0


class Ledger:
    """An append-only list of events with the frames and texts they name, in one SQLite file (WAL, synchronous FULL).

    One live process writes (a lock beside the file, which the kernel drops when the process dies, sees to that); any number read
    at the same time and neither waits for the other. Reading from several threads is fine, writing is for one.
    """

    def __init__(self, path: Path, database: sqlite3.Connection, lock: int | None) -> None:
        """Use `create` or `open`."""
        self.path = path
        self._db = database
        self._lock = lock
        self._statement_lock = RLock()  # one statement at a time: sqlite3 shares prepared statements between threads
        self._pending = _PendingBatch()
        self._stored_ids = {row[0] for row in self._query("SELECT id FROM contents")} if lock is not None else set()
        self._cached_frame = lru_cache(_CACHED_FRAMES)(self._read_frame)
        self._checked: tuple[int, str] | None = None
        """(seq, hash) of the last event that is known to follow from the first; None: nobody asked."""

    @classmethod
    def create(cls, path: Path) -> Ledger:
        """Create a ledger at `path`, open for writing.

        Raises UsageError when something is there already or nothing can be written.
        """
        path = Path(path)
        lock = sqlite_store.take_lock(path)
        try:
            if path.exists():
                raise UsageError(f"{path} exists already; a run starts in a folder of its own.")
            return cls(path, sqlite_store.create_file(path), lock)
        except BaseException:
            os.close(lock)
            raise

    @classmethod
    def open(cls, path: Path, *, readonly: bool = False, check: bool = True) -> Self:
        """Open the ledger at `path`, to be believed: its schema is compared with ours, its file and its chain are checked.

        check False: the schema alone, for whoever checks the rest (`check`), or only lists. What grows while it is read is checked
        as it is read; frames and texts are checked when they are looked at. Raises UsageError when missing, no ledger, from a newer
        version, altered, or being written.
        """
        path = Path(path)
        if not path.is_file():
            raise UsageError(f"There is no ledger at {path}; name the folder of a run.")
        lock = None if readonly else sqlite_store.take_lock(path)
        try:
            ledger = cls(path, sqlite_store.connect(path, "ro" if readonly else "rw"), lock)
        except BaseException:
            if lock is not None:
                os.close(lock)
            raise
        if check:
            try:
                ledger._check_file()
            except BaseException:
                ledger.close()
                raise
        return ledger

    def write(self, event: AnyEvent, *, now: float | None = None) -> Event:
        """Add one event, as `append` does with its body."""
        return self.append(EVENT_KINDS[type(event)], encode(event), now=now)

    def append(self, kind: EventKind, body: Mapping[str, Any], *, now: float | None = None) -> Event:
        """Add one event: visible here at once, durable with the next `commit`.

        `body` is anything JSON can hold, NaN and infinities aside. Raises ValueError or TypeError when it cannot be written down.
        """
        if self._lock is None:
            raise RuntimeError("this ledger is not open for writing")
        seq, prev_hash = self._read_last()
        timestamp = (time.time() if now is None else float(now)) + 0.0  # SQLite knows no -0.0
        encoded_body = encode_canonical(dict(body))
        stored = encode_canonical(list(self._pending.contents)[self._pending.n_claimed :])
        row = (
            seq + 1,
            timestamp,
            EventKind(kind).value,
            encoded_body,
            stored,
            prev_hash,
            hash_event(seq + 1, timestamp, kind, encoded_body, stored, prev_hash),
        )
        self._pending.rows.append((row, len(self._pending.contents)))
        return _parse_event(row)

    def commit(self) -> None:
        """Make everything appended durable, in one transaction. When it fails nothing of it is on disk, and it can be tried again.

        Frames and texts that no event has followed yet wait for the next one. Raises LawbookError when the disk will not take it.
        """
        pending = self._pending
        if not pending.rows:
            return
        contents = list(pending.contents.items())
        remaining = _PendingBatch(contents=dict(contents[pending.n_claimed :]))
        try:
            with self._statement_lock:
                self._db.execute("BEGIN IMMEDIATE")
                self._db.executemany(
                    "INSERT INTO contents (id, kind, data) VALUES (?, ?, ?)",
                    [(content_id, kind, data) for content_id, (kind, data) in contents[: pending.n_claimed]],
                )
                rows = [row for row, _ in pending.rows]
                self._db.executemany(f"INSERT INTO events ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
                written = self._db.execute("SELECT seq, hash FROM events WHERE seq >= ? ORDER BY seq", (rows[0][0],)).fetchall()
                if written != [(row[0], row[-1]) for row in rows]:
                    raise sqlite3.DatabaseError("it does not hold what was just written; somebody else changes it")
                self._db.execute("COMMIT")
                self._checked = self._checked and (rows[-1][0], rows[-1][-1])
                self._pending = remaining
        except BaseException as error:
            if self._db.in_transaction:
                self._db.rollback()
            elif self._is_committed(pending):  # interrupted just after the transaction was through
                self._pending = remaining
            if isinstance(error, sqlite3.Error):
                raise LawbookError(f"The ledger {self.path} could not be written ({error}); make room, then resume.") from error
            raise

    def put_frame(self, frame: Frame) -> str:
        """Store an H x W uint8 frame by content (shape included); returns its id. One that is stored already costs only a hash."""
        if frame.dtype != np.uint8 or frame.ndim != 2 or frame.size == 0:
            raise ValueError(f"a frame is a non-empty H x W array of uint8, not {frame.dtype} of shape {frame.shape}")
        return self._put("frame", _SHAPE.pack(*frame.shape) + frame.tobytes())

    def get_frame(self, content_id: str) -> Frame:
        """Return the frame with that id, H x W uint8, read-only. Raises UsageError when it is not there or has been altered."""
        return self._cached_frame(content_id)

    def put_text(self, text: str) -> str:
        """Store a text by content; returns its id."""
        return self._put("text", text.encode("utf-8", "surrogatepass"))

    def get_text(self, content_id: str) -> str:
        """Return the text with that id. Raises UsageError when it is not there or has been altered."""
        return self._read_content("text", content_id).decode("utf-8", "surrogatepass")

    def read_events(self, kinds: Iterable[EventKind] | None = None, after_seq: int = -1) -> Iterator[Event]:
        """Yield events with a seq above `after_seq`, in order; of these kinds only, when given.

        Sees what is appended while it runs. Raises UsageError for a ledger that has been altered.
        """
        kind_values = None if kinds is None else sorted({EventKind(kind).value for kind in kinds})
        kind_filter = "" if kind_values is None else f"AND kind IN ({','.join('?' * len(kind_values))})"
        while True:
            self._check_growth()
            # Whole pages, so that no cursor stays open: a reader that dawdles must not keep the writer's log from being folded in.
            rows = self._query(
                f"SELECT {COLUMNS} FROM events WHERE seq > ? {kind_filter} ORDER BY seq LIMIT {_PAGE_ROWS}",
                (after_seq, *(kind_values or ())),
            )
            if len(rows) < _PAGE_ROWS:
                rows += [
                    row
                    for row, _ in self._pending.rows
                    if row[0] > (rows[-1][0] if rows else after_seq) and (kind_values is None or row[2] in kind_values)
                ]
            if not rows:
                return
            for row in rows:
                yield _parse_event(row)
            after_seq = rows[-1][0]

    def get_event(self, seq: int) -> Event:
        """Get the event with that number. Raises UsageError when there is none."""
        event = next(self.read_events(after_seq=seq - 1), None)
        if event is None or event.seq != seq:
            raise UsageError(f"The ledger {self.path} holds no event {seq}; it is incomplete.")
        return event

    def read_data[T: AnyEvent](self, event_class: type[T]) -> Iterator[T]:
        """What the events of one class tell, in order. Raises MalformedEventError (a UsageError) for a body that no run writes."""
        for event in self.read_events([EVENT_KINDS[event_class]]):
            data = event.data
            assert isinstance(data, event_class)
            yield data

    def __iter__(self) -> Iterator[Event]:
        return self.read_events()

    def __len__(self) -> int:
        """Number of events, those not durable yet included."""
        return self._read_last()[0] + 1

    @property
    def head(self) -> str:
        """Hash of the last event. Published at the end of a run: the chain shows edits, only the head shows truncation."""
        return self._read_last()[1]

    def check(self) -> str | None:
        """Return None when every durable event, frame and text is as it was written.

        Otherwise return a sentence that names the first that is not.
        """
        try:
            self._query("BEGIN")  # one view of the file, however long this takes and whoever writes meanwhile
            return self._find_damage()
        except UsageError as error:
            return str(error)
        finally:
            if self._db.in_transaction:
                self._db.rollback()

    def close(self) -> None:
        """Let go of the file. What was appended and not committed is lost, as in a crash."""
        self._db.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Close it. Whoever read it and stumbled is told so where that is because it was altered: raises UsageError then."""
        try:
            if self._lock is None and error is not None:
                self.raise_if_altered(error)
        finally:
            self.close()

    def raise_if_altered(self, error: BaseException) -> None:
        """Raise UsageError where `error` came of reading a ledger that has been altered; else return."""
        if isinstance(error, MalformedEventError) or (isinstance(error, _READ_ERRORS) and not isinstance(error, LawbookError)):
            damage = self.check()
            if damage is not None:
                raise UsageError(f"The ledger {self.path} has been altered: {damage}") from error

    def _read_last(self) -> tuple[int, str]:
        """(seq, hash) of the last event; (-1, GENESIS) when there is none."""
        if self._pending.rows:
            row = self._pending.rows[-1][0]
            return row[0], row[-1]
        rows = self._query("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1")
        return (rows[0][0], rows[0][1]) if rows else (-1, GENESIS)

    def _is_committed(self, pending: _PendingBatch) -> bool:
        last = pending.rows[-1][0]
        return bool(self._query("SELECT 1 FROM events WHERE seq = ? AND hash = ?", (last[0], last[-1])))

    def _put(self, kind: str, payload: bytes) -> str:
        content_id = sqlite_store.hash_content(kind, payload)
        if content_id not in self._stored_ids:
            self._pending.contents[content_id] = (kind, sqlite_store.compress(payload))
            self._stored_ids.add(content_id)
        return content_id

    def _read_frame(self, content_id: str) -> Frame:
        payload = self._read_content("frame", content_id)
        shape = _SHAPE.unpack_from(payload)
        return np.frombuffer(payload, np.uint8, offset=_SHAPE.size).reshape(shape)

    def _read_content(self, kind: str, content_id: str) -> bytes:
        pending_content = self._pending.contents.get(content_id)
        rows = [pending_content] if pending_content else self._query("SELECT kind, data FROM contents WHERE id = ?", (content_id,))
        if not rows or rows[0][0] != kind:
            raise UsageError(f"The ledger {self.path} holds no {kind} {content_id}; it is incomplete or has been altered.")
        payload = sqlite_store.decompress_verified(content_id, *rows[0])
        if payload is None:
            raise UsageError(f"The {kind} {content_id} in the ledger {self.path} has been altered.")
        return payload

    def _query(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        try:
            with self._statement_lock:
                return self._db.execute(statement, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise UsageError(f"The ledger {self.path} cannot be read ({error}); it is damaged or closed.") from error

    def _check_file(self) -> None:
        """Check the file and the chain; from here on nothing is told that does not follow. Raises UsageError."""
        damage = self._find_file_damage()
        if damage is not None:
            raise UsageError(f"The ledger {self.path} has been altered: {damage}")
        self._checked = (-1, GENESIS)
        self._check_growth()

    def _check_growth(self) -> None:
        """Check that the durable events behind those checked last follow from them. Raises UsageError."""
        if self._checked is None:
            return
        seq, prev_hash = self._checked
        statement = f"SELECT {COLUMNS} FROM events WHERE seq > ? ORDER BY seq LIMIT {_PAGE_ROWS}"
        while rows := self._query(statement, (seq if seq >= 0 else -(2**63),)):  # at first whatever is there
            for row in rows:
                damage = _find_row_damage(row, seq + 1, prev_hash)
                if damage is not None:
                    raise UsageError(f"The ledger {self.path} has been altered: {damage}")
                seq, prev_hash = row[0], row[6]
            self._checked = seq, prev_hash

    def _find_file_damage(self) -> str | None:
        """Ask SQLite: pages that lie about their order show one thing to who looks for a row and another to who reads them all."""
        (finding,) = self._query("PRAGMA quick_check(events)")[0]
        return None if finding == "ok" else f"Its file is damaged ({str(finding)[:200]})."

    def _find_damage(self) -> str | None:
        if (file_damage := self._find_file_damage()) is not None:
            return file_damage
        prev_hash, expected_seq, content_key, start_seq = GENESIS, 0, 0, -(2**63)
        while rows := self._query(f"SELECT {COLUMNS} FROM events WHERE seq >= ? ORDER BY seq LIMIT {_PAGE_ROWS}", (start_seq,)):
            start_seq = rows[-1][0] + 1
            for row in rows:
                damage = _find_row_damage(row, expected_seq, prev_hash)
                if damage is not None:
                    return damage
                try:
                    event = _parse_event(row)
                except (TypeError, UsageError):
                    return f"Event {expected_seq} has been altered."
                for content_id in event.stored:
                    content_key += 1
                    content_rows = self._query("SELECT id, kind, data FROM contents WHERE key = ?", (content_key,))
                    if not content_rows or content_rows[0][0] != content_id:
                        return f"The frame or text {content_id}, stored with event {expected_seq}, is missing or out of place."
                    if sqlite_store.decompress_verified(*content_rows[0]) is None:
                        return f"The {content_rows[0][1]} {content_id}, stored with event {expected_seq}, has been altered."
                prev_hash, expected_seq = row[6], expected_seq + 1
        if self._query("SELECT 1 FROM contents WHERE key > ? OR key < 1", (content_key,)):
            return "A frame or text was inserted that belongs to no event."
        return None


def _find_row_damage(row: Sequence[Any], expected_seq: int, prev_hash: str) -> str | None:
    """Say why a row is not the event that follows from the one with `prev_hash`; None where it is."""
    if row[0] != expected_seq:
        return f"Event {expected_seq} is missing." if row[0] > expected_seq else f"Event {row[0]} was inserted."
    if row[5] != prev_hash:
        return f"Event {expected_seq} does not follow from the one before it: one of the two has been altered or moved."
    try:
        is_intact = row[6] == hash_event(*row[:6])
    except (TypeError, ValueError):
        is_intact = False
    return None if is_intact else f"Event {expected_seq} has been altered."


def _parse_event(row: Sequence[Any]) -> Event:
    seq, timestamp, kind, body, stored, prev_hash, own_hash = row
    try:
        contents = () if stored == "[]" else tuple(json.loads(stored))
        return Event(seq, timestamp, EventKind(kind), json.loads(body), prev_hash, own_hash, contents)
    except (ValueError, TypeError) as error:
        raise UsageError(f"Event {seq} of the ledger cannot be read ({error}); it has been altered.") from error
