"""Doors once more: caps handed on, words kept whole, half-closed clients, impostors behind a socket, what the last command cost."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from agents import TRUE, Agent, corridor, session_of
from walker import FIDELITY, WALKER

from lawbook.agents.api.dispatcher import MAX_NEWS_CHARACTERS
from lawbook.agents.api.external_mind import ExternalAgentMind
from lawbook.agents.api.framing import find_server_pid, send_request
from lawbook.agents.api.operation import CLOSED, OK, REFUSED
from lawbook.agents.api.socket_server import SocketServer, serve
from lawbook.agents.api.usage import UsageCounter
from lawbook.agents.api.workspace import SOCKET, Workspace
from lawbook.agents.runner.tcp_bridge import PORT_FILE, TCPBridge
from lawbook.audit.report import audit_run
from lawbook.cli import drive, main
from lawbook.core.results import RunOutcome
from lawbook.errors import UsageError
from lawbook.ledger.events import COMMAND_OP, EventKind
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.runs.session import Session
from lawbook.runs.state import fold_events
from lawbook.sandbox.host import Host

PROBE = b'{"argv": ["probe", "3", "-m", "?"]}\n'


@pytest.fixture
def played(tmp_path: Path, host: Host) -> Iterator[tuple[Session, SocketServer, Agent]]:
    with corridor(tmp_path, host) as found:
        yield found


# -- caps ------------------------------------------------------------------------------------------------------------------------


def test_a_run_whose_judge_reached_its_cap_goes_on_with_a_higher_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        assert main.main(["drive", "demo:maze", "--workspace", "ws", "--judge", "induce", "--max-calls", "0"]) == 0
        agent = Agent(tmp_path / "ws", real=True)
        agent.write(WALKER, FIDELITY)
        assert agent.law("propose", "revise_rulebook", "-m", "as seen").code == CLOSED
        assert main.main(["drive", "--stop", "ws"]) == 0
        capsys.readouterr()
        for wrong in (["--budget", "9"], ["--judge", "induce"], ["--max-calls", "-1"]):
            assert main.main(["drive", "--resume", "last", "--workspace", "ws", *wrong]) == 2
            assert wrong[0].replace("--max-calls", "max_calls") in capsys.readouterr().err
        assert main.main(["drive", "--resume", "last", "--workspace", "ws", "--max-calls", "7", "--max-dollars", "2.5"]) == 0
        assert agent.law("propose", "revise_rulebook", "-m", "as seen").code == OK
    finally:
        if (tmp_path / "ws").exists() and served(tmp_path / "ws"):
            assert main.main(["drive", "--stop", "ws"]) == 0
    with Ledger.open(next((tmp_path / "runs").iterdir()) / "ledger.sqlite", readonly=True) as ledger:
        state = fold_events(ledger)
    assert (state.caps.calls, state.caps.dollars, state.members[0].version) == (7, 2.5, 1)


def served(workspace: Path) -> bool:
    with Workspace(workspace) as place:
        return find_server_pid(place) is not None


# -- a person's words ------------------------------------------------------------------------------------------------------------


def test_a_persons_words_are_never_cut_and_come_before_what_others_did(tmp_path: Path, host: Host) -> None:
    with session_of(tmp_path / "run", host, members=2) as session, serve(session, [tmp_path / "0", tmp_path / "1"]) as server:
        one, two = Agent(tmp_path / "0"), Agent(tmp_path / "1")
        said = [f"{number} {'say so ' * 280}".strip() for number in range(4)]
        for words in said:
            with server.lock:
                session.add_person_message(words)
        for _ in range(3):
            assert one.law("probe", "3", "-m", "?").code == OK
        heard = two.law("status").text
        assert heard.startswith("".join(f"A person says: {words}\n" for words in said) + "since your last")
        assert heard.count("member 0 sent action 3") == 3
        assert "A person says" not in two.law("status").text


def test_what_others_did_is_cut_to_its_size(tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lawbook.agents.api.dispatcher.MAX_NEWS_CHARACTERS", 120)
    with session_of(tmp_path / "run", host, members=2) as session, serve(session, [tmp_path / "0", tmp_path / "1"]) as server:
        for _ in range(9):
            Agent(tmp_path / "0").law("probe", "3", "-m", "?")
        with server.lock:
            session.add_person_message("keep left")
        heard, _, _ = Agent(tmp_path / "1").law("status").text.partition("\n--\n")
    told, _, moves = heard.partition("\n")
    assert told == "A person says: keep left" and "(cut: " in moves and len(moves) <= 120 < MAX_NEWS_CHARACTERS


# -- clients that have said all they want to say -----------------------------------------------------------------------------------


def test_half_closed_clients_are_answered_and_those_that_have_gone_are_not(played: tuple[Session, SocketServer, Agent]) -> None:
    session, server, agent = played
    with Workspace(agent.workspace) as place:
        there = f"/proc/self/fd/{place.descriptor}/{SOCKET}"
        with socket.socket(socket.AF_UNIX) as busy, socket.socket(socket.AF_UNIX) as half, socket.socket(socket.AF_UNIX) as gone:
            for sock in (busy, half, gone):
                sock.settimeout(30)
            with server.lock:  # the first is being taken up, the others wait
                busy.connect(there)
                busy.sendall(b'{"argv": ["status"]}\n')
                time.sleep(0.3)
                half.connect(there)
                half.sendall(PROBE)
                half.shutdown(socket.SHUT_WR)
                gone.connect(there)
                gone.sendall(PROBE)
                gone.close()
            answer = b"".join(iter(lambda: half.recv(65536), b""))
    assert answer.startswith(b"0\n"), answer
    assert agent.law("status").code == OK and session.state.n_actions == 1


def test_a_client_that_dies_behind_the_doorway_is_not_served(played: tuple[Session, SocketServer, Agent]) -> None:
    session, server, agent = played
    with Workspace(agent.workspace) as place:
        doorway = TCPBridge(place)
        try:
            with server.lock, socket.socket(socket.AF_UNIX) as busy:
                busy.connect(f"/proc/self/fd/{place.descriptor}/{SOCKET}")
                busy.sendall(b'{"argv": ["status"]}\n')
                time.sleep(0.3)
                with through(doorway, place) as client:
                    client.sendall(PROBE)
                time.sleep(0.3)
            agent.law("status")
            assert session.state.n_actions == 0
            with through(doorway, place) as client:
                client.sendall(PROBE)
                assert b"".join(iter(lambda: client.recv(65536), b"")).startswith(b"0\n")
            assert session.state.n_actions == 1
        finally:
            doorway.close()


def quiet(client: socket.socket) -> bool:
    """Whether it is told nothing, and the connection ends."""
    try:
        return client.recv(99) == b""
    except ConnectionResetError:
        return True


def through(doorway: TCPBridge, place: Workspace) -> socket.socket:
    """A connection that has said the word."""
    client = socket.create_connection(("127.0.0.1", doorway.port), 30)
    client.sendall((place.path / PORT_FILE).read_bytes().split()[1] + b"\n")
    return client


# -- who is behind a socket --------------------------------------------------------------------------------------------------------


class Other:
    """Somebody else's socket, in a process of its own: whatever is said to it, it writes down."""

    CODE = """
import contextlib, socket, sys
door = socket.socket(socket.AF_UNIX)
door.bind(sys.argv[1])
door.listen()
print("there", flush=True)
while True:
    one, _ = door.accept()
    said = one.recv(65536)
    print("said", said, flush=True)
    with contextlib.suppress(OSError):
        one.sendall(b"0\\nhello")
    one.close()
"""

    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", self.CODE, str(path)], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None and self.process.stdout.readline() == "there\n"

    def connections(self) -> list[str]:
        """What was said to it, one entry a connection. It ends with that."""
        time.sleep(0.2)
        self.process.terminate()
        return self.process.communicate(timeout=30)[0].splitlines()

    def heard(self) -> list[str]:
        """The connections that said anything."""
        return [line for line in self.connections() if line != "said b''"]


def test_a_link_in_place_of_a_door_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    other = Other(tmp_path / "other.sock")
    try:
        (tmp_path / "ws" / SOCKET).symlink_to(tmp_path / "other.sock")
        with Workspace(tmp_path / "ws") as place:
            assert find_server_pid(place) is None
            with pytest.raises(UsageError, match="Nobody answers"):
                send_request(place, SOCKET, {"say": "hello"}, 5)
            doorway = TCPBridge(place)
            with through(doorway, place) as client:
                client.sendall(b"words 6\nstatus")
                assert quiet(client)
            doorway.close()
        with pytest.raises(UsageError, match="Nobody serves"):
            drive.stop_serving(tmp_path / "ws")
    finally:
        assert other.connections() == []  # nobody so much as knocked


def test_nothing_is_said_to_a_process_that_is_not_the_keeper(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    other = Other(tmp_path / "ws" / SOCKET)
    try:
        with Workspace(tmp_path / "ws") as place:
            assert find_server_pid(place) == other.process.pid  # whoever it is, the kernel says so
            with pytest.raises(UsageError, match="Nobody answers"):
                send_request(place, SOCKET, {"tool": "status"}, 5, keeper_pid=os.getpid())
            doorway = TCPBridge(place)
            with through(doorway, place) as client:
                client.sendall(b"words 6\nstatus")
                assert quiet(client)
            doorway.close()
            assert send_request(place, SOCKET, {"tool": "status"}, 30, keeper_pid=other.process.pid).text == "hello"
    finally:
        heard = other.heard()
    assert len(heard) == 1 and "status" in heard[0]


def test_another_users_socket_is_nobodys_door(played: tuple[Session, SocketServer, Agent], monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, agent = played
    real = os.geteuid()
    with Workspace(agent.workspace) as place:
        assert find_server_pid(place) == os.getpid()
        monkeypatch.setattr("os.geteuid", lambda: real + 1)
        assert find_server_pid(place) is None
        with pytest.raises(UsageError, match="Nobody answers"):
            send_request(place, SOCKET, {"argv": ["status"]}, 5)


def test_an_mcp_bridge_speaks_to_its_own_keeper_alone(played: tuple[Session, SocketServer, Agent]) -> None:
    _, _, agent = played
    door = agent.workspace / SOCKET
    with Workspace(agent.workspace) as place, socket.socket(socket.AF_UNIX) as client:
        client.settimeout(90)
        client.connect(f"/proc/self/fd/{place.descriptor}/{SOCKET}")
        client.sendall(b'{"mcp": true}\n')
        assert client.recv(2, socket.MSG_WAITALL) == b"0\n"
        lines = client.makefile("rb")

        def call(number: int, method: str, **params: object) -> dict[str, object]:
            client.sendall(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n")
            answer: dict[str, object] = json.loads(lines.readline())
            assert answer["id"] == number
            return answer["result"]  # type: ignore[return-value]

        call(1, "initialize", protocolVersion="2025-03-26", capabilities={}, clientInfo={"name": "test", "version": "1"})
        client.sendall(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        assert "actions available" in json.dumps(call(2, "tools/call", name="status", arguments={}))
        door.unlink()
        other = Other(door)
        try:
            refused = call(3, "tools/call", name="note", arguments={"text": "for somebody else"})
            assert refused["isError"] and "Nobody answers" in json.dumps(refused)
        finally:
            assert other.heard() == []


# -- the last command --------------------------------------------------------------------------------------------------------------


def test_the_command_that_ends_a_run_is_counted_and_no_other_after_it(played: tuple[Session, SocketServer, Agent]) -> None:
    session, _, agent = played
    agent.write(TRUE)
    for line in (["propose", "revise_rulebook"], ["execute", "2x3"], ["execute"]):
        assert agent.law(*line).code == OK
    assert session.outcome is RunOutcome.WON
    printed, turns = agent.printed, 3
    agent.law("status")
    assert agent.law("execute", "2").code == REFUSED
    ledger, tally = session.event_log.ledger, UsageCounter()
    for event in ledger:
        tally.add(event)
    assert (tally.n_commands[0], tally.n_characters[0]) == (turns, printed)
    kinds = [event.kind for event in ledger]
    assert kinds[-2:] == [EventKind.CLOSE, EventKind.CALL] and kinds.count(EventKind.CLOSE) == 1 and ledger.check() is None
    assert fold_events(ledger).outcome is RunOutcome.WON and fold_events(ledger).spending.calls == 0


def test_the_audit_is_silent_about_a_run_that_a_command_ended(tmp_path: Path, host: Host) -> None:
    config = RunConfig("demo:maze", mind="drive", budget=20)
    with start_run(config, tmp_path / "runs", host=host, mind=ExternalAgentMind()) as (folder, session):
        with serve(session, [tmp_path / "ws"]):
            agent = Agent(tmp_path / "ws")
            assert agent.law("probe", "1", "-m", "?").code == OK and agent.law("finish", "-m", "enough").code == OK
        calls = [event.body for event in session.event_log.ledger.read_events([EventKind.CALL]) if event.body["op"] == COMMAND_OP]
        assert [call["receipt"]["command"] for call in calls] == ["probe", "finish"]
        assert sum(call["receipt"]["characters"] for call in calls) == agent.printed
    found = audit_run(folder)
    assert not found.findings and found.facts["outcome"] == "finished", found


def test_commands_of_both_members_come_in_any_order_at_the_end(tmp_path: Path, host: Host) -> None:
    """Whoever's command ends it is counted, whoever asks later hears of it."""
    with session_of(tmp_path / "run", host, members=2) as session, serve(session, [tmp_path / "0", tmp_path / "1"]):
        agents = [Agent(tmp_path / str(member)) for member in range(2)]
        threads = [threading.Thread(target=agent.law, args=("finish", "-m", "enough")) for agent in agents]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        calls = [event.body["receipt"] for event in session.event_log.ledger.read_events([EventKind.CALL])]
    assert [call["command"] for call in calls] == ["finish"] and session.outcome is RunOutcome.FINISHED


def test_a_new_run_takes_no_workspace_with_somebodys_rulebook(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "world_model.md").write_text("R1. Known from elsewhere.\n", encoding="utf-8")
    assert main.main(["drive", "demo:maze", "--workspace", str(tmp_path / "ws"), "--out", str(tmp_path / "runs")]) == 2
    said = capsys.readouterr().err
    assert "world_model.md" in said and "name an empty folder" in said and not (tmp_path / "runs").exists()
