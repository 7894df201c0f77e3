"""The ledger: what is committed stays, what is altered is found, one writes and many read."""

from __future__ import annotations

import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from lawbook.core.record import RESET, Action, Observation, Record, Status, freeze
from lawbook.errors import LawbookError, UsageError
from lawbook.ledger.contents import StoredFrames, load_observation, store_observation
from lawbook.ledger.events import EventKind, ObserveEvent
from lawbook.ledger.ledger import GENESIS, Ledger
from lawbook.runs.state import fold_events

FRAMES = arrays.arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9)))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBSERVATIONS = st.builds(
    lambda frames, status, level, available: Observation(tuple(map(freeze, frames)), status, level, tuple(available)),
    st.lists(arrays.arrays(np.uint8, (3, 4)), min_size=1, max_size=4),
    st.sampled_from(Status),
    st.integers(0, 20),
    st.lists(st.integers(1, 7), max_size=7),
)


def picture(*values: int) -> np.ndarray:
    frame = np.zeros((4, 4), np.uint8)
    frame.flat[: len(values)] = values
    return freeze(frame)


def write_observation(ledger: Ledger, seen: Observation, action: Action | None, trajectory: int) -> Observation:
    data = ledger.write(store_observation(ledger, seen, action, trajectory)).data
    assert isinstance(data, ObserveEvent)
    return load_observation(ledger, data)


def opened(ledger: Ledger, levels: int | None = None) -> None:
    """An opening as far as a fold looks at it."""
    ledger.append(EventKind.OPEN, {"run": {"population": 1}, "spec": {"levels": levels}})


def filled(path: Path) -> Ledger:
    """Six events, with frames and texts stored on the way."""
    ledger = Ledger.create(path)
    ledger.append(EventKind.OPEN, {"seed": 1}, now=10.0)
    for number in range(1, 4):
        names = [ledger.put_frame(picture(number)), ledger.put_frame(picture(number, number))]
        ledger.append(EventKind.OBSERVE, {"frames": names}, now=10.0 + number)
    ledger.append(EventKind.PROPOSE, {"rulebook": ledger.put_text("R1 walls stop")}, now=20.0)
    ledger.append(EventKind.NOTE, {"text": "done"}, now=21.0)
    ledger.commit()
    return ledger


def tampered(path: Path, *statements: str) -> str | None:
    """What check() says after somebody has changed rows of a closed ledger with his own SQLite."""
    filled(path).close()
    database = sqlite3.connect(path)
    for statement in statements:
        assert database.execute(statement).rowcount != 0, f"nothing changed by: {statement}"
    database.commit()
    database.close()
    with Ledger.open(path, readonly=True, check=False) as ledger:
        return ledger.check()


def test_reads_back_what_was_written(tmp_path: Path) -> None:
    with filled(tmp_path / "l") as ledger:
        events = list(ledger)
        assert [event.seq for event in events] == list(range(6)) and len(ledger) == 6
        assert [event.kind for event in events] == [EventKind.OPEN, *[EventKind.OBSERVE] * 3, EventKind.PROPOSE, EventKind.NOTE]
        assert [event.time for event in events] == [10.0, 11.0, 12.0, 13.0, 20.0, 21.0]
        assert [event.prev_hash for event in events] == [GENESIS, *(event.hash for event in events[:-1])]
        assert ledger.head == events[-1].hash
        assert ledger.check() is None
    with Ledger.open(tmp_path / "l") as again:
        assert list(again) == events
        assert [event.seq for event in again.read_events([EventKind.OBSERVE], after_seq=1)] == [2, 3]
        assert np.array_equal(again.get_frame(events[1].body["frames"][1]), picture(1, 1))
        assert again.get_text(events[4].body["rulebook"]) == "R1 walls stop"
        assert not again.get_frame(events[1].body["frames"][0]).flags.writeable


def test_appended_is_seen_at_once_and_durable_at_commit(tmp_path: Path) -> None:
    with filled(tmp_path / "l") as ledger, Ledger.open(tmp_path / "l", readonly=True) as reader:
        name = ledger.put_frame(picture(9))
        event = ledger.append(EventKind.OBSERVE, {"frames": [name]})
        assert list(ledger)[-1] == event and len(ledger) == 7 and ledger.head == event.hash
        assert np.array_equal(ledger.get_frame(name), picture(9))
        assert list(ledger.read_events([EventKind.OBSERVE], after_seq=3)) == [event]
        assert len(reader) == 6
        ledger.commit()
        assert list(reader)[-1] == event and np.array_equal(reader.get_frame(name), picture(9))
        size = (tmp_path / "l-wal").stat().st_size
        ledger.commit()
        assert (tmp_path / "l-wal").stat().st_size == size, "nothing pending is nothing written"
        ledger.append(EventKind.NOTE, {"text": "lost"})
    with Ledger.open(tmp_path / "l") as again:
        assert len(again) == 7 and again.check() is None


def test_iteration_sees_what_is_appended_and_committed_meanwhile(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "l") as ledger:
        for number in range(1500):
            ledger.append(EventKind.NOTE, {"number": number})
        seen = []
        for event in ledger:
            seen.append(event.body["number"])
            if event.seq == 1400:
                ledger.commit()
                ledger.append(EventKind.NOTE, {"number": 1500})
        assert seen == list(range(1501))


def test_content_is_stored_once_and_shape_counts(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "l") as ledger:
        wide, tall = np.zeros((2, 8), np.uint8), np.zeros((8, 2), np.uint8)
        names = {ledger.put_frame(wide), ledger.put_frame(tall), ledger.put_frame(wide.copy()), ledger.put_text("")}
        assert len(names) == 3
        assert [ledger.get_frame(name).shape for name in (ledger.put_frame(wide), ledger.put_frame(tall))] == [(2, 8), (8, 2)]
        stored = ledger.append(EventKind.NOTE, {}).stored
        assert set(stored) == names
        ledger.put_frame(wide)
        assert ledger.append(EventKind.NOTE, {}).stored == ()
        ledger.commit()
    with Ledger.open(tmp_path / "l") as again:
        again.put_frame(tall)
        assert again.append(EventKind.NOTE, {}).stored == ()


@pytest.mark.parametrize("bad", [np.zeros((2, 2)), np.zeros((0, 2), np.uint8), np.zeros((1, 2, 2), np.uint8)])
def test_what_is_no_frame_is_refused(tmp_path: Path, bad: np.ndarray) -> None:
    with Ledger.create(tmp_path / "l") as ledger, pytest.raises(ValueError, match="a frame is"):
        ledger.put_frame(bad)


def test_asking_for_what_is_not_there(tmp_path: Path) -> None:
    with filled(tmp_path / "l") as ledger:
        text = ledger.put_text("some text")
        for ask, name in [(ledger.get_frame, "00"), (ledger.get_text, "00"), (ledger.get_frame, text)]:
            with pytest.raises(UsageError, match=f"holds no .* {name}"):
                ask(name)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE events SET body = '{\"seed\":2}' WHERE seq = 0", "Event 0 has been altered"),
        ("UPDATE events SET time = 11.5 WHERE seq = 1", "Event 1 has been altered"),
        ("UPDATE events SET kind = 'note' WHERE seq = 2", "Event 2 has been altered"),
        ("UPDATE events SET kind = 'nonsense' WHERE seq = 2", "Event 2 has been altered"),
        ("UPDATE events SET body = 'no json' WHERE seq = 2", "Event 2 has been altered"),
        ("UPDATE events SET body = x'00ff' WHERE seq = 2", "Event 2 has been altered"),
        ("UPDATE events SET hash = 'aa' WHERE seq = 5", "Event 5 has been altered"),
        ("UPDATE events SET prev_hash = 'aa' WHERE seq = 5", "Event 5 does not follow"),
        ("UPDATE events SET stored = '[]' WHERE seq = 4", "Event 4 has been altered"),
        ("DELETE FROM events WHERE seq = 3", "Event 3 is missing"),
        ("DELETE FROM events WHERE seq = 0", "Event 0 is missing"),
        ("INSERT INTO events SELECT 6, time, kind, body, stored, hash, hash FROM events WHERE seq = 5", "Event 6 has been altered"),
        ("INSERT INTO events SELECT -7, time, kind, body, stored, hash, hash FROM events WHERE seq = 5", "Event -7 was inserted"),
        ("UPDATE contents SET data = (SELECT data FROM contents WHERE key = 2) WHERE key = 3", "The frame .* event 2, has been"),
        ("UPDATE contents SET data = x'00' WHERE key = 7", "The text .* event 4, has been altered"),
        ("UPDATE contents SET data = 7 WHERE key = 7", "The text .* event 4, has been altered"),
        ("UPDATE contents SET kind = 'text' WHERE key = 1", "event 1, has been altered"),
        ("UPDATE contents SET id = 'aa' WHERE key = 1", "event 1, is missing or out of place"),
        ("DELETE FROM contents WHERE key = 4", "event 2, is missing"),
        ("DELETE FROM contents WHERE key = 7", "event 4, is missing"),
        ("INSERT INTO contents SELECT 99, 'aa', kind, data FROM contents WHERE key = 1", "belongs to no event"),
    ],
)
def test_tampering_is_found(tmp_path: Path, statement: str, expected: str) -> None:
    said = tampered(tmp_path / "l", statement)
    assert said is not None and re.search(expected, said), said


@pytest.mark.parametrize(("one", "other"), [(1, 2), (4, 5)])
def test_reordering_is_found(tmp_path: Path, one: int, other: int) -> None:
    swap = [
        f"UPDATE events SET seq = 99 WHERE seq = {one}",
        f"UPDATE events SET seq = {one} WHERE seq = {other}",
        f"UPDATE events SET seq = {other} WHERE seq = 99",
    ]
    assert (tampered(tmp_path / "l", *swap) or "").startswith(f"Event {one} does not follow")


def test_insertion_in_the_middle_is_found(tmp_path: Path) -> None:
    shift = ["UPDATE events SET seq = -seq - 1 WHERE seq > 2", "UPDATE events SET seq = -seq WHERE seq < 0"]
    copy = "INSERT INTO events SELECT 3, time, kind, body, '[]', hash, hash FROM events WHERE seq = 2"
    assert tampered(tmp_path / "l", *shift, copy) == "Event 3 has been altered."


def test_a_replaced_frame_under_its_own_name_is_found(tmp_path: Path) -> None:
    """Stored anew with a consistent id of its own: the chain names another."""
    with Ledger.create(tmp_path / "other") as other:
        forged = other.put_frame(picture(5, 5, 5))
        other.append(EventKind.NOTE, {})
        other.commit()
    said = tampered(
        tmp_path / "l",
        f"ATTACH '{tmp_path / 'other'}' AS o",
        "DELETE FROM contents WHERE key = 1",
        f"INSERT INTO contents SELECT 1, id, kind, data FROM o.contents WHERE id = '{forged}'",
    )
    assert said is not None and "stored with event 1, is missing or out of place" in said


def test_reading_what_was_altered_is_a_sentence(tmp_path: Path) -> None:
    tampered(tmp_path / "l", "UPDATE contents SET data = x'00'", "UPDATE events SET body = '[' WHERE seq = 2")
    with Ledger.open(tmp_path / "l", readonly=True, check=False) as ledger:
        events = ledger.read_events()
        next(events)
        name = next(events).body["frames"][0]
        with pytest.raises(UsageError, match="has been altered"):
            ledger.get_frame(name)
        with pytest.raises(UsageError, match="Event 2 of the ledger cannot be read"):
            next(events)


def test_no_text_can_forge_an_event(tmp_path: Path) -> None:
    with filled(tmp_path / "l") as ledger:
        evil = f'x"}}\n7\tobserve\t{{"frames":["{"0" * 40}"]}}\0\'); DELETE FROM events; --'
        ledger.append(EventKind.NOTE, {"text": evil})
        ledger.commit()
        assert len(list(ledger)) == 7 and list(ledger)[-1].body == {"text": evil} and ledger.check() is None


def test_bodies_json_cannot_hold_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    with filled(tmp_path / "l") as ledger:
        for bad in ({"a": float("nan")}, {"a": object()}, {"a": b""}):
            with pytest.raises((ValueError, TypeError)):
                ledger.append(EventKind.NOTE, bad)
        with pytest.raises(ValueError, match="gossip"):
            ledger.append("gossip", {})  # type: ignore[arg-type]
        assert len(ledger) == 6


def test_open_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no ledger"):
        Ledger.open(tmp_path / "nothing")
    for name, content in [("empty", b""), ("garbage", b"garbage" * 1000), ("text", b"hello")]:
        (tmp_path / name).write_bytes(content)
        for readonly in (True, False):
            with pytest.raises(UsageError, match="is not a ledger"):
                Ledger.open(tmp_path / name, readonly=readonly)
    sqlite3.connect(tmp_path / "other").execute("CREATE TABLE t (a)").connection.close()
    with pytest.raises(UsageError, match="is not a ledger"):
        Ledger.open(tmp_path / "other")
    with filled(tmp_path / "l"), pytest.raises(UsageError, match="exists already"):
        Ledger.create(tmp_path / "other")
    with pytest.raises(UsageError, match="cannot be written"):
        Ledger.create(tmp_path / "no" / "such" / "folder")


def test_a_newer_ledger_is_refused(tmp_path: Path) -> None:
    filled(tmp_path / "l").close()
    sqlite3.connect(tmp_path / "l").execute("PRAGMA user_version = 99").connection.close()
    with pytest.raises(UsageError, match=r"newer Lawbook .*99"):
        Ledger.open(tmp_path / "l")


def test_one_writer(tmp_path: Path) -> None:
    with filled(tmp_path / "l"):
        with pytest.raises(UsageError, match="another live process"):
            Ledger.open(tmp_path / "l")
        Ledger.open(tmp_path / "l", readonly=True).close()
    with Ledger.open(tmp_path / "l") as ledger:
        assert len(ledger) == 6
    with Ledger.open(tmp_path / "l", readonly=True) as reader, pytest.raises(RuntimeError):
        reader.append(EventKind.NOTE, {})


@pytest.mark.timing
def test_a_reader_in_the_middle_of_reading_holds_nobody_up(tmp_path: Path) -> None:
    with filled(tmp_path / "l") as ledger, Ledger.open(tmp_path / "l", readonly=True) as reader:
        reading = reader.read_events()
        next(reading)
        started = time.monotonic()
        for number in range(200):
            ledger.append(EventKind.OBSERVE, {"frames": [ledger.put_frame(picture(1, 2, number))]})
            ledger.commit()
            if number % 50 == 0:
                assert reader.check() is None
        assert time.monotonic() - started < 5
        assert len(list(reading)) == 205


def test_a_failed_commit_loses_nothing_and_can_be_tried_again(tmp_path: Path) -> None:
    with filled(tmp_path / "l") as ledger:
        ledger.append(EventKind.NOTE, {"frame": ledger.put_frame(picture(7))})
        ledger._db.execute("PRAGMA max_page_count = 1")  # the disk is full: no page can be added
        ledger.append(EventKind.NOTE, {"text": "long " * 20_000})
        with pytest.raises(LawbookError, match="make room"):
            ledger.commit()
        with Ledger.open(tmp_path / "l", readonly=True) as reader:
            assert len(reader) == 6 and reader.check() is None
        assert len(ledger) == 8
        ledger._db.execute("PRAGMA max_page_count = 1000000")
        ledger.commit()
        with Ledger.open(tmp_path / "l", readonly=True) as reader:
            assert len(reader) == 8 and reader.check() is None


class _Interrupting:
    """A connection on which Ctrl-C arrives just before or just after one statement."""

    def __init__(self, database: sqlite3.Connection, at: str, after: bool) -> None:
        self.database, self.at, self.after = database, at, after

    def __getattr__(self, name: str) -> object:
        return getattr(self.database, name)

    def execute(self, statement: str, *rest: object) -> object:
        return self._run(self.database.execute, statement, *rest)

    def executemany(self, statement: str, *rest: object) -> object:
        return self._run(self.database.executemany, statement, *rest)

    def _run(self, what: object, statement: str, *rest: object) -> object:
        hit = statement.startswith(self.at)
        if hit and not self.after:
            raise KeyboardInterrupt
        answer = what(statement, *rest)  # type: ignore[operator]
        if hit:
            raise KeyboardInterrupt
        return answer


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", ["BEGIN", "INSERT INTO contents", "INSERT INTO events", "COMMIT"])
def test_ctrl_c_in_a_commit_is_all_or_nothing(tmp_path: Path, at: str, after: bool) -> None:
    with filled(tmp_path / "l") as ledger:
        database = ledger._db
        ledger.append(EventKind.NOTE, {"frame": ledger.put_frame(picture(7))})
        ledger._db = _Interrupting(database, at, after)  # type: ignore[assignment]
        with pytest.raises(KeyboardInterrupt):
            ledger.commit()
        ledger._db = database
        assert not database.in_transaction
        with Ledger.open(tmp_path / "l", readonly=True) as reader:
            assert len(reader) == (7 if (at, after) == ("COMMIT", True) else 6) and reader.check() is None
        ledger.append(EventKind.CLOSE, {})
        ledger.commit()
    with Ledger.open(tmp_path / "l", readonly=True) as reader:
        assert [event.kind for event in reader][5:] == [EventKind.NOTE, EventKind.NOTE, EventKind.CLOSE] and reader.check() is None


_WRITER = """
import sys, numpy as np
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from lawbook.ledger.ledger import Ledger
from lawbook.ledger.events import EventKind
with Ledger.open(Path(sys.argv[1])) as ledger:
    rng = np.random.default_rng(len(ledger))
    while True:
        name = ledger.put_frame(rng.integers(0, 16, (16, 16), np.uint8))
        ledger.append(EventKind.OBSERVE, {"frames": [name]})
        ledger.append(EventKind.INTEND, {})
        ledger.commit()
        print(len(ledger), ledger.head, flush=True)
"""


def test_sigkill_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    chance = random.Random(0)
    filled(tmp_path / "l").close()
    known: dict[int, str] = {}
    for _ in range(10):
        with subprocess.Popen([sys.executable, "-c", _WRITER, tmp_path / "l"], stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            lines = [writer.stdout.readline()]
            time.sleep(chance.uniform(0, 0.05))
            writer.send_signal(signal.SIGKILL)
            lines += writer.stdout.readlines()
        known |= {int(count): head for count, head in (line.split() for line in lines if line.endswith("\n"))}
        with Ledger.open(tmp_path / "l") as ledger:
            assert len(ledger) >= max(known) and ledger.check() is None
            hashes = {event.seq + 1: event.hash for event in ledger}
            assert known.items() <= hashes.items()
    assert len(known) > 10


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(EventKind), st.dictionaries(st.text(), JSON, max_size=4), st.floats(0, 1e12)), max_size=6)
)
def test_any_body_comes_back(
    tmp_path_factory: pytest.TempPathFactory, events: list[tuple[EventKind, dict[str, object], float]]
) -> None:
    path = tmp_path_factory.mktemp("run") / "l"
    with Ledger.create(path) as ledger:
        written = [ledger.append(kind, body, now=now) for kind, body, now in events]
        ledger.commit()
    with Ledger.open(path, readonly=True) as ledger:
        assert list(ledger) == written and ledger.check() is None
        assert [(event.kind, event.body, event.time) for event in ledger] == events


@settings(max_examples=60, deadline=None)
@given(st.lists(FRAMES, max_size=5), st.lists(st.text() | st.just("\ud800 alone"), max_size=3))
def test_any_content_comes_back(tmp_path_factory: pytest.TempPathFactory, frames: list[np.ndarray], texts: list[str]) -> None:
    path = tmp_path_factory.mktemp("run") / "l"
    with Ledger.create(path) as ledger:
        names, other = [ledger.put_frame(frame) for frame in frames], [ledger.put_text(text) for text in texts]
        assert all(np.array_equal(ledger.get_frame(name), frame) for name, frame in zip(names, frames, strict=True))
        ledger.append(EventKind.NOTE, {})
        ledger.commit()
    with Ledger.open(path, readonly=True) as ledger:
        assert all(np.array_equal(ledger.get_frame(name), frame) for name, frame in zip(names, frames, strict=True))
        assert [ledger.get_text(name) for name in other] == texts
        assert ledger.check() is None


@settings(max_examples=60, deadline=None)
@given(OBSERVATIONS)
def test_any_observation_comes_back(tmp_path_factory: pytest.TempPathFactory, seen: Observation) -> None:
    path = tmp_path_factory.mktemp("run") / "l"
    with Ledger.create(path) as ledger:
        kept = write_observation(ledger, seen, Action(6, 3, 2), 0)
        ledger.commit()
    with Ledger.open(path, readonly=True) as ledger:
        (event,) = ledger
        assert isinstance(event.data, ObserveEvent)
        back = load_observation(ledger, event.data)
        assert event.body["action"] == [6, 3, 2]
        assert (back.status, back.level, back.available) == (seen.status, seen.level, seen.available)
        assert len(back.frames) == len(seen.frames) == len(kept.frames)
        for old, new in zip(seen.frames, back.frames, strict=True):
            assert np.array_equal(old, new) and not new.flags.writeable
        assert np.array_equal(back.frame, seen.frame) and np.array_equal(kept.frame, seen.frame)


def test_animation_stays_in_the_ledger_until_it_is_looked_at(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "l") as ledger:
        seen = Observation(tuple(picture(i) for i in range(100)), Status.RUNNING, 0, (1,))
        kept = write_observation(ledger, seen, None, 0)
        ledger.commit()
        assert isinstance(kept.frames, StoredFrames) and kept.frame is kept.frames[99]
        assert ledger._cached_frame.cache_info().currsize == 1
        assert np.array_equal(kept.frames[-100], picture(0)) and np.array_equal(kept.frames[7:9], [picture(7), picture(8)])
        assert len(list(kept.frames)) == 100
        assert ledger._cached_frame.cache_info().currsize <= 64
        with pytest.raises(IndexError):
            kept.frames[100]


def test_the_record_comes_back_from_the_ledger(tmp_path: Path) -> None:
    story = [
        (None, Status.RUNNING, 0),
        (Action(1), Status.RUNNING, 0),
        (Action(6, 1, 2), Status.OVER, 0),
        (RESET, Status.RUNNING, 0),
        (Action(2), Status.COMPLETED, 1),
        (Action(3), Status.COMPLETED, 2),
    ]
    record = Record(levels=2)
    with Ledger.create(tmp_path / "l") as ledger:
        opened(ledger, levels=2)
        for number, (action, status, level) in enumerate(story):
            opens = action is None or action == RESET
            trajectory = len(record) - (not opens)
            seen = Observation((picture(99), picture(number)), status, level, (1, 2, 3, 6))
            record.extend(action, write_observation(ledger, seen, action, trajectory))
        ledger.commit()
    with Ledger.open(tmp_path / "l", readonly=True) as ledger:
        again = fold_events(ledger).record
    assert again.is_won and len(again) == len(record) == 3 and again.n_actions == record.n_actions == 5
    for old, new in zip(record, again, strict=True):
        assert (
            old.actions == new.actions and old.statuses == new.statuses and np.array_equal(old.settled_frames, new.settled_frames)
        )
        assert old.first.level == new.first.level and old.first.available == new.first.available


def test_observations_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    seen = Observation((picture(1),), Status.RUNNING, 0, (1,))
    for name, story in {"a": [(Action(1), 0)], "b": [(None, 0), (Action(1), 1)], "c": [(None, 1)]}.items():
        with Ledger.create(tmp_path / name) as ledger:
            opened(ledger)
            for action, trajectory in story:
                write_observation(ledger, seen, action, trajectory)
            with pytest.raises(UsageError, match="does not follow from those before it"):
                fold_events(ledger)
    with Ledger.create(tmp_path / "d") as ledger:
        opened(ledger)
        ledger.append(EventKind.OBSERVE, {"action": None, "frames": []})
        with pytest.raises(UsageError, match="cannot be read"):
            fold_events(ledger)


def test_other_threads_may_look_at_frames(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "l") as ledger:
        kept = write_observation(ledger, Observation(tuple(picture(i) for i in range(200)), Status.RUNNING, 0, (1,)), None, 0)
        ledger.commit()
        with ThreadPoolExecutor(4) as pool:
            looks = [pool.submit(lambda: [int(frame[0, 0]) for frame in kept.frames]) for _ in range(8)]
            for number in range(50):
                ledger.append(EventKind.NOTE, {"number": number})
                ledger.commit()
            assert all(look.result() == list(range(200)) for look in looks)
        assert ledger.check() is None and len(ledger) == 51
