"""What comes between: kills at random instants (torture.py), and each hindrance once at an instant that is chosen."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from minds import Scripted
from stories import NO_GOAL, NO_HOLES, NOWHERE, PROBES, TRUE, UNFAITHFUL, told

from lawbook.audit.report import audit_run
from lawbook.core.record import RESET
from lawbook.errors import HostError, LawbookError, MindError, WorldError
from lawbook.ledger.events import EventKind
from lawbook.ledger.ledger import Event, Ledger
from lawbook.runs.folder import RunConfig, RunFolder, list_runs
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.runs.loops.memento3 import play
from lawbook.sandbox.host import Host
from lawbook.sandbox.worker_client import Worker
from lawbook.worlds.process import WorldProcess

LAKE = RunConfig("gym:FrozenLake-v1?size=4", budget=40)


def mind() -> Scripted:
    """A refusal, a fall, a reset, a wonder, subgoals, probes, a plan and the win."""
    return Scripted([UNFAITHFUL, NO_HOLES, NO_GOAL, TRUE], [*[NOWHERE] * 4, *PROBES])


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, host: Host) -> list[Event]:
    with start_run(LAKE, tmp_path_factory.mktemp("whole"), host=host, mind=mind()) as (_, session):
        play(session)
        return list(session.event_log.ledger)


def resumed(folder: RunFolder, host: Host | None = None) -> list[Event]:
    """Go on to the end; what then stands in the ledger, which holds in every line of a strict audit."""
    with resume_run(folder, host=host, mind=mind()) as session:
        play(session)
        events = list(session.event_log.ledger)
    found = audit_run(folder, strict=True)
    assert found.holds, [line for line in found.lines if line.ok is False]
    return events


def the_run(out: Path) -> RunFolder:
    (folder,) = list_runs(out)
    return folder


@pytest.mark.slow
@pytest.mark.torture
def test_twenty_kills_at_random_instants_lose_nothing_and_change_nothing() -> None:
    """As `make torture`, which does 300: own process, since whoever adopts orphans and counts children wants to be alone."""
    command = [sys.executable, str((Path(__file__).parents[1] / "support") / "torture.py"), "--kills", "20", "--seed", "5"]
    done = subprocess.run([*command, "--stories", "eventful,rivals,vanilla"], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    counted = re.search(r"^(\d+) kills in (\d+) runs", done.stdout, re.MULTILINE)
    counts = json.loads(done.stdout[done.stdout.rindex("{") :])
    assert counted and int(counted[1]) == 20 == sum(
        n for kind, n in counts.items() if kind not in ("acknowledged", "resumes", "none")
    )
    assert counts["acknowledged"] > 0


# -- whoever else is killed ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_worker_that_somebody_kills_changes_nothing(
    tmp_path: Path, host: Host, undisturbed: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before whichever message it dies: when it loads, is verified, searched, rolled, asked for a subgoal, stepped."""
    say, sent, victim = Worker._send_message, 0, -1

    def heard(worker: Worker, *given: Any) -> Any:
        nonlocal sent
        sent += 1
        if sent == victim and worker._pid is not None:
            os.kill(worker._pid, signal.SIGKILL)
        return say(worker, *given)

    monkeypatch.setattr(Worker, "_send_message", heard)

    def played(name: str) -> list[Event]:
        with start_run(LAKE, tmp_path / name, host=host, mind=mind()) as (_, session):
            play(session)
            return list(session.event_log.ledger)

    assert told(played("whole")) == told(undisturbed)
    messages = sent
    assert messages > 40
    for number in sorted(random.Random(3).sample(range(1, messages + 1), 8)):
        sent, victim = 0, number
        assert told(played(str(number))) == told(undisturbed), f"killed before message {number} of {messages}"


@pytest.mark.parametrize("opens", ["the world", "a reset"])
def test_a_host_that_dies_while_a_trajectory_begins_is_made_good_for_when_the_run_goes_on(
    tmp_path: Path, host: Host, undisturbed: list[Event], monkeypatch: pytest.MonkeyPatch, opens: str
) -> None:
    """The observation is written down, the members have not entered what begins with it: the resumed run sees to that."""
    append = Ledger.append

    def appended(ledger: Ledger, kind: EventKind, body: Any, **given: Any) -> Event:
        event = append(ledger, kind, body, **given)
        if kind is EventKind.OBSERVE and body["action"] == (None if opens == "the world" else [RESET.id]):
            for pid in mortal.pids:
                os.kill(pid, signal.SIGKILL)
        return event

    monkeypatch.setattr(Ledger, "append", appended)
    with (
        Host() as mortal,
        pytest.raises(HostError, match="--resume"),
        start_run(LAKE, tmp_path, host=mortal, mind=mind()) as (_, session),
    ):
        play(session)
    monkeypatch.undo()
    assert told(resumed(the_run(tmp_path), host)) == told(undisturbed)


def test_a_world_that_is_killed_at_an_action_gets_it_again(
    tmp_path: Path, host: Host, undisturbed: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    step = WorldProcess.step

    def stepped(world: WorldProcess, action: Any) -> Any:
        if session.state.n_actions >= 3:
            os.kill(world.pid, signal.SIGKILL)
        return step(world, action)

    monkeypatch.setattr(WorldProcess, "step", stepped)
    with pytest.raises(WorldError, match="SIGKILL"), start_run(LAKE, tmp_path, host=host, mind=mind()) as (_, session):
        play(session)
    monkeypatch.undo()
    assert told(resumed(the_run(tmp_path), host)) == told(undisturbed)


# -- disk, clock, SQLite, git --------------------------------------------------------------------------------------------------


def paused_by(tmp_path: Path, host: Host, hinder: Callable[[Any], None], at: int) -> str:
    """Play, call `hinder` with the session when so many actions have been sent, and return the sentence that it ends in."""
    with pytest.raises(LawbookError) as raised, start_run(LAKE, tmp_path, host=host, mind=mind()) as (_, session):
        session.event_log.listeners.append(
            lambda event: hinder(session) if event.kind is EventKind.OBSERVE and session.state.n_actions == at else None
        )
        play(session)
    return str(raised.value)


def _full(session: Any) -> None:
    database = session.event_log.ledger._db
    pages = database.execute("PRAGMA page_count").fetchone()[0]
    database.execute(f"PRAGMA max_page_count = {pages}")


def _readonly(session: Any) -> None:
    session.event_log.ledger._db.execute("PRAGMA query_only = 1")


def _busy(session: Any) -> None:
    session.event_log.ledger._db.execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(session.event_log.ledger.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    OTHERS.append(other)


OTHERS: list[sqlite3.Connection] = []


@pytest.mark.parametrize("hinder, said", [(_full, "full"), (_readonly, "readonly"), (_busy, "locked")])
def test_a_ledger_that_cannot_be_written_pauses_the_run_with_a_sentence_and_loses_nothing(
    tmp_path: Path, host: Host, undisturbed: list[Event], hinder: Callable[[Any], None], said: str
) -> None:
    sentence = paused_by(tmp_path, host, hinder, at=2)
    while OTHERS:
        OTHERS.pop().close()
    assert said in sentence and "resume" in sentence and "\n" not in sentence
    assert told(resumed(the_run(tmp_path), host)) == told(undisturbed)


def test_a_database_that_is_busy_for_a_moment_is_waited_for(tmp_path: Path, host: Host, undisturbed: list[Event]) -> None:
    with start_run(LAKE, tmp_path, host=host, mind=mind()) as (folder, session):
        other = sqlite3.connect(folder.ledger, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        threading.Timer(0.3, other.close).start()
        play(session)
        assert told(list(session.event_log.ledger)) == told(undisturbed)


def test_a_clock_that_jumps_changes_no_more_than_times(
    tmp_path: Path, host: Host, undisturbed: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, chance = time.time, random.Random(1)
    monkeypatch.setattr(time, "time", lambda: honest() + chance.uniform(-86400 * 400, 86400))

    def enough(session: Any) -> None:
        raise MindError("Nobody thinks any more.")

    paused_by(tmp_path, host, enough, at=4)
    events = resumed(the_run(tmp_path), host)
    times = [event.time for event in events]
    assert times != sorted(times) and told(events) == told(undisturbed)


def _corrupted(folder: Path) -> None:
    for path in (folder / ".git").rglob("*"):
        if path.is_file():
            path.chmod(0o600)
            path.write_bytes(b"no git")


def test_a_memory_that_is_corrupted_while_the_run_goes_on_pauses_it_and_is_made_anew(
    tmp_path: Path, host: Host, undisturbed: list[Event]
) -> None:
    sentence = paused_by(tmp_path, host, lambda session: _corrupted(session.git.path), at=1)
    assert "ledger" in sentence and "\n" not in sentence
    assert told(resumed(the_run(tmp_path), host)) == told(undisturbed)


def test_a_lock_that_a_dead_git_has_left_does_not_stop_a_run(tmp_path: Path, host: Host, undisturbed: list[Event]) -> None:
    with start_run(LAKE, tmp_path, host=host, mind=mind()) as (folder, session):
        session.event_log.listeners.append(
            lambda event: (
                (session.git.path / ".git" / "index.lock").touch()
                if event.kind is EventKind.OBSERVE and session.state.n_actions == 1
                else None
            )
        )
        play(session)
        assert told(list(session.event_log.ledger)) == told(undisturbed)
    assert audit_run(folder).holds
