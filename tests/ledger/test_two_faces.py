"""Files made to tell one reader this and another that: refused before anything is read, by every command that believes."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lawbook.cli import main
from lawbook.errors import LawbookError, UsageError
from lawbook.ledger.events import EventKind, NoteEvent
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.runs.loops import play
from lawbook.sandbox.host import Host

COLUMNS = "seq, time, kind, body, stored, prev_hash, hash"
Forge = Callable[[sqlite3.Connection], object]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, host: Host) -> Path:
    with start_run(RunConfig("demo:maze", budget=25), tmp_path_factory.mktemp("true"), host=host) as (folder, session):
        play(session)
    return folder.path


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Iterator[RunFolder]:
    shutil.copytree(finished, tmp_path / finished.name)
    yield RunFolder(tmp_path / finished.name)


def forge(folder: RunFolder, change: Forge) -> None:
    database = sqlite3.connect(folder.ledger, isolation_level=None)
    change(database)
    database.close()


def cover_with_an_index(database: sqlite3.Connection) -> None:
    """An index of all columns whose root page is that of a forged table's: queries by kind read it, others the truth."""
    database.execute(
        "CREATE TABLE fake(seq INTEGER PRIMARY KEY, time REAL, kind TEXT, body TEXT, stored TEXT, prev_hash TEXT, hash TEXT)"
    )
    database.execute(f"INSERT INTO fake SELECT {COLUMNS} FROM events")
    (seq, body) = database.execute("SELECT seq, body FROM fake WHERE kind = 'close'").fetchone()
    won = json.dumps(json.loads(body) | {"outcome": "won"}, sort_keys=True, separators=(",", ":"))
    database.execute("UPDATE fake SET body = ? WHERE seq = ?", (won, seq))
    on = "kind, seq, time, body, stored, prev_hash, hash"
    database.execute(f"CREATE INDEX fi ON fake({on})")
    database.execute(f"CREATE INDEX ei ON events({on})")
    database.execute("ANALYZE")
    database.execute("DELETE FROM sqlite_stat1")
    database.execute("INSERT INTO sqlite_stat1 VALUES('events', 'ei', '100000000 1 1 1 1 1 1 1')")
    roots = dict(database.execute("SELECT name, rootpage FROM sqlite_schema WHERE name IN ('fi', 'ei')"))
    database.execute("PRAGMA writable_schema = ON")
    database.execute("UPDATE sqlite_schema SET rootpage = ? WHERE name = 'ei'", (roots["fi"],))
    database.execute("DELETE FROM sqlite_schema WHERE name IN ('fi', 'fake')")


def run_sql(script: str) -> Forge:
    return lambda database: database.executescript(script)


FOREIGN: dict[str, Forge] = {
    "index": cover_with_an_index,
    "plain index": run_sql("CREATE INDEX ei ON events(kind, body)"),
    "trigger": run_sql("CREATE TRIGGER t BEFORE INSERT ON events BEGIN SELECT RAISE(IGNORE); END"),
    "view": run_sql("CREATE VIEW v AS SELECT 1"),
    "table": run_sql("CREATE TABLE other(x)"),
    "statistics": run_sql("ANALYZE"),
    "events as a view": run_sql(
        "ALTER TABLE events RENAME TO truth; CREATE VIEW events AS SELECT seq, time, kind, replace(body, 'budget', 'won') AS body, "
        "stored, prev_hash, hash FROM truth"
    ),
    "a column more": run_sql("ALTER TABLE events ADD COLUMN more TEXT"),
}
COMMANDS = ("show", "score", "history", "verify", "audit", "report", "export")


@pytest.mark.parametrize("name", FOREIGN)
def test_a_schema_that_is_not_ours_is_refused_before_anything_is_read(
    copy: RunFolder, name: str, host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    forge(copy, FOREIGN[name])
    for readonly, check in ((True, True), (True, False), (False, True)):
        with pytest.raises(UsageError, match=r"has been altered: its .* is not as Lawbook makes it"):
            Ledger.open(copy.ledger, readonly=readonly, check=check)
    with pytest.raises(UsageError, match="has been altered"), resume_run(copy, host=host):
        pass
    for command in COMMANDS:
        more = ["-o", str(copy.path / "out")] if command in ("report", "export") else []
        assert main.main([command, str(copy.path), *more]) == 2, command
        assert "has been altered" in capsys.readouterr().err, command
    main.main(["runs", "--out", str(copy.path.parent)])
    assert "has been altered" in capsys.readouterr().out


ROWS: dict[str, tuple[Forge, str]] = {
    "another outcome": (
        run_sql("UPDATE events SET body = replace(body, 'budget', 'won') WHERE kind = 'close'"),
        "has been altered",
    ),
    "an event taken out": (run_sql("DELETE FROM events WHERE seq = 5"), "Event 5 is missing"),
    "an event put in": (
        run_sql(f"INSERT INTO events SELECT -1, {COLUMNS[5:]} FROM events WHERE seq = 3"),
        "was inserted",
    ),
    "a time": (run_sql("UPDATE events SET time = time + 1 WHERE seq = 4"), "Event 4 has been altered"),
    "an event moved": (
        run_sql(
            "UPDATE events SET seq = -7 WHERE seq = 6; UPDATE events SET seq = 6 WHERE seq = 7; "
            "UPDATE events SET seq = 7 WHERE seq = -7"
        ),
        "Event 6",
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_events_that_do_not_follow_are_refused_by_whoever_believes_a_run(
    copy: RunFolder, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change, sentence = ROWS[name]
    forge(copy, change)
    with pytest.raises(UsageError, match=sentence):
        Ledger.open(copy.ledger, readonly=True)
    for command in ("show", "score", "history", "report"):
        assert main.main([command, str(copy.path), *(["-o", str(copy.path / "out")] if command == "report" else [])]) == 2, command
        assert sentence in capsys.readouterr().err, command
    assert main.main(["audit", str(copy.path)]) == 1
    assert sentence in capsys.readouterr().out
    assert main.main(["verify", str(copy.path)]) == 1
    assert sentence in capsys.readouterr().out


def test_pages_out_of_order_are_found(copy: RunFolder) -> None:
    """A page of the table overwritten by zeros: SQLite may answer queries that do not touch it."""
    with Ledger.open(copy.ledger) as ledger:
        n_events = len(ledger)
    forge(copy, run_sql("PRAGMA wal_checkpoint(TRUNCATE)"))
    database = sqlite3.connect(copy.ledger)
    (page_bytes,) = database.execute("PRAGMA page_size").fetchone()
    (root,) = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'events'").fetchone()
    database.close()
    content = bytearray(copy.ledger.read_bytes())
    start = (root - 1) * page_bytes
    content[start + 3 : start + 5] = b"\x00\x01"  # one cell on this page, whatever lies behind it
    copy.ledger.write_bytes(content)
    assert n_events > 10
    with pytest.raises(UsageError, match=r"damaged|altered|missing|cannot be read"):
        Ledger.open(copy.ledger, readonly=True)


def test_what_grows_while_it_is_read_is_checked_as_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger.create(path) as ledger:
        for k in range(3):
            ledger.write(NoteEvent(f"note {k}", "person"))
        ledger.commit()
        with Ledger.open(path, readonly=True) as reader:
            assert len(list(reader)) == 3
            ledger.write(NoteEvent("note 3", "person"))
            ledger.commit()
            assert len(list(reader.read_events(after_seq=2))) == 1
            ledger.write(NoteEvent("note 4", "person"))
            ledger.commit()
            forge_path = sqlite3.connect(path, isolation_level=None)
            forge_path.execute("UPDATE events SET time = 0 WHERE seq = 4")
            forge_path.close()
            with pytest.raises(UsageError, match="Event 4 has been altered"):
                list(reader.read_events([EventKind.OBSERVE], after_seq=3))


def test_a_commit_that_somebody_swallows_is_noticed_and_can_be_made_again(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger.create(path) as ledger:
        ledger.write(NoteEvent("first", "person"))
        ledger.commit()
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("CREATE TRIGGER t BEFORE INSERT ON events BEGIN SELECT RAISE(IGNORE); END")
        ledger.write(NoteEvent("second", "person"))
        with pytest.raises(LawbookError, match="could not be written"):
            ledger.commit()
        other.execute("DROP TRIGGER t")
        other.close()
        ledger.commit()
    with Ledger.open(path, readonly=True) as ledger:
        assert [event.body["text"] for event in ledger] == ["first", "second"]
