"""What players of whole games found awkward at the doors, and is not so any more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from agents import TRUE, Agent, Corridor, corridor, session_of

from lawbook.agents.api.change_detection import describe_unchanged
from lawbook.agents.api.notation import format_counterexample
from lawbook.agents.api.operation import OK, REFUSED, WRONG
from lawbook.agents.api.socket_server import SocketServer, serve
from lawbook.core.record import Action, Observation, Record, Status, freeze
from lawbook.core.results import Prediction, RunOutcome
from lawbook.ledger.events import EventKind
from lawbook.runs import record_scripts
from lawbook.runs.session import Session
from lawbook.sandbox.host import Host
from lawbook.verification.counterexample import build_counterexample


@pytest.fixture
def played(tmp_path: Path, host: Host, request: pytest.FixtureRequest) -> Iterator[tuple[Session, SocketServer, Agent]]:
    """A corridor, served; the protocol by indirect parameter."""
    with corridor(tmp_path, host, getattr(request, "param", "memento3")) as found:
        yield found


def test_a_board_as_tiles_runs_and_objects_of_several_colours(played: tuple[Session, SocketServer, Agent]) -> None:
    _, _, agent = played
    assert agent.law("observe", "--runs").text.splitlines()[1:] == ["0: 1 0 4 0x2 2", "1: 7x6"]
    assert agent.law("observe", "--starts", "--columns", "2-9").text.splitlines()[1:] == ["0: 2:4 3:0x2 5:2", "1: 2:7x4"]
    for words in (["--tiles", "2"], ["--tiles=2"], ["0.0", "--tiles", "2"], ["--at", "0.0", "--tiles", "2"]):
        assert agent.law("observe", *words).text.startswith("0.0 level 0\ntiles 2x2: tile r,c starts at cell 2r")
    assert "no size of tiles" in agent.law("observe", "--tiles", "0.0").text  # a place, and no size
    assert agent.law("observe", "--tiles", "1").code == agent.law("observe", "--tiles=x").code == WRONG
    assert (
        agent.law("observe", "--mixed").text.splitlines()[1:] == agent.law("observe", "--objects", "--mixed").text.splitlines()[1:]
    )
    assert "1x6 0,1,2,4 at" not in agent.law("observe", "--objects").text
    assert "#1 1x6 0,1,2,4 at 0,0" in agent.law("observe", "--mixed").text


def test_a_new_level_is_shown_and_a_won_run_says_so(played: tuple[Session, SocketServer, Agent]) -> None:
    session, _, agent = played
    agent.write(TRUE)
    agent.law("propose", "revise_rulebook")
    begun = agent.law("execute", "2x3").text
    assert begun.startswith("as predicted\nlevel 1 begins:\n") and begun.endswith("\n0 140002\n1 777777\n57 actions left")
    won = agent.law("execute").text
    assert won.startswith("sent 4 of 4 actions: 2x4\n") and "begins" not in won and won.endswith("The run has ended: won.")
    after = agent.law("finish", "-m", "done")
    assert after == (OK, "The run had already ended: won; nothing to finish.") and session.outcome is RunOutcome.WON


def test_a_search_that_was_cut_can_have_more(played: tuple[Session, SocketServer, Agent]) -> None:
    session, _, agent = played
    agent.write(TRUE)
    agent.law("propose", "revise_rulebook")
    cut = agent.law("plan", "--nodes", "1")
    assert cut.code == REFUSED and "--nodes" in cut.text
    assert agent.law("execute", "--nodes", "1").code == REFUSED and session.state.n_actions == 0
    for words in (["--seconds", "0"], ["--seconds", "501"], ["--nodes", "x"]):
        assert agent.law("plan", *words).code == WRONG, words
    assert agent.law("plan", "--nodes", "0").code == REFUSED
    assert agent.law("plan", "--nodes", "5000", "--seconds", "60").code == OK
    assert agent.law("execute", "--nodes", "5000").code == OK


@pytest.mark.parametrize("played", ["vanilla"], indirect=True)
def test_a_list_of_actions_is_refused_as_one(played: tuple[Session, SocketServer, Agent]) -> None:
    session, _, agent = played
    assert agent.law("execute", "2", "9").code == REFUSED and "61 actions" in agent.law("execute", "3x61").text
    assert session.state.n_actions == 0
    over = agent.law("execute", "1", "1", "2")
    assert over.code == REFUSED and over.text.startswith("sent 2 of 3 actions: 1x2\n") and session.record.needs_reset


def test_time_runs_from_the_first_command(played: tuple[Session, SocketServer, Agent]) -> None:
    session, server, agent = played
    opened = next(iter(session.event_log.ledger)).time
    assert server.dispatcher.usage.count_minutes(opened + 6000) == 0
    agent.law("status")
    event = next(iter(session.event_log.ledger.read_events([EventKind.CALL])))
    spent = server.dispatcher.usage.count_minutes(event.time + 60)
    assert spent == pytest.approx(1 + event.body["seconds"] / 60)


def test_the_brief_names_the_actions_there_are_now(tmp_path: Path, host: Host) -> None:
    class Narrow(Corridor):
        def _seen(self, status: Status) -> Observation:
            seen = super()._seen(status)
            return Observation(seen.frames, seen.status, seen.level, (2, 3))

    with session_of(tmp_path / "run", host, world=Narrow()) as session, serve(session, [tmp_path / "ws"]):
        assert "frames of 2 x 6 cells, actions 2, 3. Protocol" in Agent(tmp_path / "ws").law("brief").text


def test_help_for_python_says_what_the_code_finds(played: tuple[Session, SocketServer, Agent]) -> None:
    _, _, agent = played
    text = agent.law("python", "--help").text
    assert record_scripts.GUIDE in text
    names = re.findall(r"^  (t\.\w+)", text, re.MULTILINE)
    assert len(names) >= 4
    code = "t = record[-1]; t.animation(0); frames, actions, np, perception; print(" + ", ".join(
        f"{name} is not None" for name in names
    )
    assert "Error" not in agent.law("python", "-c", code + ")").text


def test_a_counterexample_has_the_characters_of_boards() -> None:
    before, after = np.zeros((2, 3, 3), np.uint8)
    after[0, 1] = 12
    shows = before.copy()
    shows[0, 1] = 35
    told = build_counterexample(
        Prediction(shows, Status.RUNNING),
        Prediction(after, Status.RUNNING),
        trajectory=10,
        step=11,
        level=12,
        action=Action(13),
        before=before,
        compares_frame=True,
    ).text
    said = format_counterexample(told)
    assert "1 went from 0 to c (predicted z)" in said and "Trajectory 10 (level 12), step 11, action 13" in said
    assert "1 of 9 cells are wrong" in said and "Row 0, column 1" in said


# -- stillness -------------------------------------------------------------------------------------------------------------------


def walked(ways: str, *, bar: bool = False, blink: bool = False) -> Record:
    """A walker of 2 x 2 cells in a room of 32 x 32: l, r, and b for a bump; a bar along the top loses a cell at every action."""
    record, at, left = Record(), 14, 32

    def seen() -> Observation:
        frame = np.zeros((32, 32), np.uint8)
        frame[16:18, at : at + 2] = 4
        frame[0, :left] = 7 * bar
        frame[31, 31] = blink * (1 + left % 2)
        return Observation((freeze(frame),), Status.RUNNING, 0, (1, 2))

    record.extend(None, seen())
    for way in ways:
        at, left = at + {"l": -2, "r": 2, "b": 0}[way], left - 1
        record.extend(Action(1), seen())
    return record


@pytest.mark.parametrize("ways", ["rrrrrr", "rlrlrlrl", "rrllrrbl", "r", "llllllr"])
@pytest.mark.parametrize(("bar", "blink"), [(False, False), (True, False), (False, True), (True, True)])
def test_a_step_is_something_and_a_bump_is_nothing(ways: str, bar: bool, blink: bool) -> None:
    assert describe_unchanged(walked(ways, bar=bar, blink=blink)) == ""
    found = describe_unchanged(walked(ways + "b", bar=bar, blink=blink))
    if not bar and not blink:
        assert found == "nothing"
    elif len(ways) > 4:
        assert found == "nothing but what changes every time"
    else:
        assert found == ""  # too little is on record to tell a counter from a change


def test_where_one_thing_changes_all_the_time_that_is_no_counter() -> None:
    assert describe_unchanged(walked("b" * 12, bar=True)) == describe_unchanged(walked("b" * 12, blink=True)) == ""
