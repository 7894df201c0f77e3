"""The file under the ledger: its tables, its hashes, the connection, and the lock that keeps writers to one."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import zlib
from contextlib import closing, suppress
from functools import lru_cache
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

from lawbook.errors import UsageError

SCHEMA_VERSION = 1
"""Number of the form of the file; a ledger with a higher one is refused."""
APPLICATION_ID = 0x4C415742
"""`LAWB`, in the file's header."""
TABLES = """
CREATE TABLE events (seq INTEGER PRIMARY KEY, time REAL NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL, stored TEXT NOT NULL,
                     prev_hash TEXT NOT NULL, hash TEXT NOT NULL);
CREATE TABLE contents (key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, data BLOB NOT NULL);
"""
COLUMNS = "seq, time, kind, body, stored, prev_hash, hash"

_ZLIB_LEVEL = 3  # as fast as 1 on 64 x 64 frames (9 us), 8% smaller


encode_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode
"""JSON with sorted keys, compact, ASCII. Raises TypeError or ValueError for what JSON cannot hold (NaN too)."""


def hash_event(*row: Any) -> str:
    """Compute SHA-256 of (seq, time, kind, body, stored, prev_hash). As a JSON list no field can spill into the next."""
    return sha256(encode_canonical(row).encode()).hexdigest()


def hash_content(kind: str, payload: bytes) -> str:
    """Compute BLAKE2b, 160 bits, in hexadecimal, a family of its own for each kind of content."""
    return blake2b(payload, digest_size=20, person=kind.encode()).hexdigest()


def compress(payload: bytes) -> bytes:
    """Compress what is stored, with zlib."""
    return zlib.compress(payload, _ZLIB_LEVEL)


def decompress_verified(expected_id: str, kind: str, data: bytes) -> bytes | None:
    """Return the payload of stored content, or None when it is not what its id says."""
    try:
        payload = zlib.decompress(data)
        return payload if hash_content(kind, payload) == expected_id else None
    except (zlib.error, TypeError, ValueError, AttributeError):
        return None


def create_file(path: Path) -> sqlite3.Connection:
    """Create an empty file. Raises UsageError when it cannot be written."""
    try:
        database = _connect(path, "rwc")
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript(
            f"BEGIN; PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION}; {TABLES} COMMIT;"
        )
        return database
    except sqlite3.Error as error:
        raise UsageError(f"No ledger can be made at {path} ({error}); choose a folder that can be written.") from error


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Connect to a ledger that is there; mode: `ro` or `rw`. Raises UsageError when it is none, or from a newer version."""
    try:
        database = _connect(path, mode)
        (application,) = database.execute("PRAGMA application_id").fetchone()
        (schema,) = database.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error as error:
        raise UsageError(f"{path} is not a ledger, or is damaged ({error}); name the folder of a run.") from error
    try:
        if application != APPLICATION_ID:
            raise UsageError(f"{path} is not a ledger; name the folder of a run.")
        if schema > SCHEMA_VERSION:
            raise UsageError(
                f"{path} is from a newer Lawbook (ledger schema {schema}, this one reads up to {SCHEMA_VERSION}); update Lawbook."
            )
        check_schema(database, path)
    except BaseException:
        database.close()
        raise
    return database


def check_schema(database: sqlite3.Connection, path: Path) -> None:
    """Compare the schema exactly with ours, before anything is read: an index answers for its table, a trigger does what it likes.

    Raises UsageError, which names the first thing that does not belong there.
    """
    try:
        found = _read_schema(database)
    except sqlite3.Error as error:
        raise UsageError(f"{path} is not a ledger, or is damaged ({error}); name the folder of a run.") from error
    foreign = sorted(found ^ _list_expected_schema(), key=repr)
    if foreign:
        kind, name, _ = foreign[0]
        raise UsageError(
            f"The ledger {path} has been altered: its {kind} {str(name)[:80]!r} is not as Lawbook makes it; believe a copy that "
            "nobody else has written."
        )


def _read_schema(database: sqlite3.Connection) -> set[tuple[str, str, str | None]]:
    return set(database.execute("SELECT type, name, sql FROM sqlite_schema"))


@lru_cache(1)
def _list_expected_schema() -> frozenset[tuple[str, str, str | None]]:
    """What a fresh file holds: the two tables, and the index that SQLite makes for what is unique."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(TABLES)
        return frozenset(_read_schema(database))


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    # Autocommit: transactions are begun and ended by name. Threads take turns in the ledger.
    address = f"{path.resolve().as_uri()}?mode={mode}"
    database = sqlite3.connect(address, uri=True, isolation_level=None, timeout=10, check_same_thread=False)
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA trusted_schema = OFF")
    return database


def take_lock(path: Path) -> int:
    """Take the lock beside the ledger; returns its descriptor, and the lock is held for as long as that stays open.

    The kernel drops it when the process dies. SQLite's own locks last a transaction, this one lasts a run. Raises UsageError when
    another process has it.
    """
    lock_path = path.with_name(path.name + ".lock")
    try:
        descriptor = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise UsageError(f"{lock_path} cannot be written ({error.strerror}); choose a folder that can be written.") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.pread(descriptor, 20, 0).decode("ascii", "replace") or "unknown"
        os.close(descriptor)
        raise UsageError(f"{path} is being written by another live process ({holder}); wait for it to end, or only read.") from None
    with suppress(OSError):  # a full disk: the number is for the sentence above, the lock holds without it
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor
