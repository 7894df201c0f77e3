"""Doors under the protocol belief: what is left open is told as such, and a frontier is gone to by a word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from agents import TRUE, Agent, corridor
from minds import replaced

from lawbook.agents.api.operation import OK, REFUSED, WRONG
from lawbook.agents.api.socket_server import SocketServer
from lawbook.core.hypothesis import Hypothesis
from lawbook.runs.session import Session
from lawbook.sandbox.host import Host

UNSURE = replaced(
    Hypothesis("U1. What the door does, and what is drawn in row 1.\n" + TRUE.rulebook, TRUE.files),
    "return frame",
    "return np.where(np.arange(2)[:, None] == 1, -1, frame.astype(np.int16))  # U1",
)
UNSURE = replaced(
    UNSURE, "return state.ground[state.at] == 2  # R4", "return None if state.ground[state.at] == 2 else False  # R4, U1"
)


@pytest.fixture
def played(tmp_path: Path, host: Host, request: pytest.FixtureRequest) -> Iterator[tuple[Session, SocketServer, Agent]]:
    with corridor(tmp_path, host, getattr(request, "param", "belief")) as found:
        yield found


def test_what_is_open_is_said_and_a_frontier_is_gone_to(played: tuple[Session, SocketServer, Agent]) -> None:
    session, _, agent = played
    agent.write(UNSURE)
    accepted = agent.law("propose", "revise_rulebook", "-m", "nobody knows")
    assert accepted.code == OK, accepted.text
    looked = agent.law("simulate", "2")
    assert "[6 cells open (U1)]" in looked.text and "7" not in looked.text.partition(":")[2], "an open cell is no prediction"
    none = agent.law("plan")
    assert none.code == REFUSED
    assert agent.law("plan", "--frontier", "--bare").text == "2x3"
    assert agent.law("execute", "2", "--frontier").code == WRONG
    went = agent.law("execute", "--frontier")
    assert went.code == OK and "level 1 begins" in went.text, went.text
    assert session.state.n_mismatches == 0


@pytest.mark.parametrize("played", ["memento3"], indirect=True)
def test_where_nothing_may_be_open_there_is_no_frontier(played: tuple[Session, SocketServer, Agent]) -> None:
    _, _, agent = played
    agent.write(TRUE)
    assert agent.law("propose", "revise_rulebook").code == OK
    refused = agent.law("plan", "--frontier")
    assert refused.code == REFUSED and "leave goals open" in refused.text
    assert "U1" not in (agent.workspace / "GUIDE.md").read_text()
