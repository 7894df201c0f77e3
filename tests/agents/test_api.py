"""Doors: an agent with a workspace and ./law plays whole games behind the gate; what may not be is refused, and costs nothing."""

from __future__ import annotations

import os
import re
import socket
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from agents import BLIND, SOURCE, STUCK, TRUE, Agent, Corridor, changed, corridor, session_of
from walker import FIDELITY, WALKER

from lawbook.agents.api.dispatcher import MAX_NEWS_CHARACTERS
from lawbook.agents.api.external_mind import ExternalAgentMind
from lawbook.agents.api.framing import MAX_REQUEST, send_request
from lawbook.agents.api.guide import MAX_BELIEF_CHARACTERS, MAX_BELIEF_LINES, MAX_CHARACTERS, MAX_LINES, POINTER, build_guide
from lawbook.agents.api.operation import BUG, CLOSED, OK, REFUSED, WRONG
from lawbook.agents.api.operations import OPERATIONS
from lawbook.agents.api.socket_server import PERSON_SOCKET, SocketServer, serve
from lawbook.agents.api.workspace import SOCKET, Workspace
from lawbook.agents.api.workspace_setup import POINTER_FILES
from lawbook.core.hypothesis import ENGINE, RULEBOOK
from lawbook.core.record import Action, Observation
from lawbook.core.results import RunOutcome
from lawbook.errors import WorldError
from lawbook.ledger.events import COMMAND_OP, EventKind
from lawbook.minds.base import judge_by_citations
from lawbook.protocols.protocol import PROTOCOLS
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.runs.session import Session
from lawbook.sandbox.host import Host


@pytest.fixture
def played(tmp_path: Path, host: Host, request: pytest.FixtureRequest) -> Iterator[tuple[Session, SocketServer, Agent]]:
    """A corridor, served; the protocol by indirect parameter."""
    with corridor(tmp_path, host, getattr(request, "param", "memento3")) as found:
        yield found


def bodies(session: Session, kind: EventKind) -> list[dict[str, object]]:
    return [dict(event.body) for event in session.event_log.ledger.read_events([kind])]


# -- whole games -----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_whole_game_is_driven_through_law(tmp_path: Path, host: Host) -> None:
    config = RunConfig("demo:maze", mind="drive", budget=120)
    with start_run(config, tmp_path / "runs", host=host, mind=ExternalAgentMind()) as (_, session):
        with serve(session, [tmp_path / "ws"]):
            agent = Agent(tmp_path / "ws", real=True)
            assert "never" not in agent.law("brief").text and agent.law("observe").code == OK
            agent.write(WALKER, FIDELITY)
            assert agent.law("verify").code == OK
            accepted = agent.law("propose", "revise_rulebook", "-m", "as seen")
            assert accepted.code == OK and "version 1" in accepted.text
            for level in range(5):
                assert re.match(r"\d+ actions \(shortest", agent.law("plan").text), level
                assert agent.law("execute").code == OK
            assert "won" in agent.law("status").text
            folder, heard = tmp_path / "ws", agent.law("observe").text
        assert session.outcome is RunOutcome.WON and session.state.n_mismatches == 0
        shortest = [5, 13, 18, 21, 24]
        assert list(session.state.actions_per_level.values()) == shortest
        names = [path.read_text(errors="replace") for path in folder.iterdir() if path.is_file() and not path.is_symlink()]
        assert not any(word in text.lower() for text in [*names, heard] for word in ("demo:", "maze"))
        assert agent.law("status").code == CLOSED


def test_the_corridor_through_surprise_and_repair(played: tuple[Session, SocketServer, Agent]) -> None:
    session, _, agent = played
    agent.write(BLIND)
    assert agent.law("propose", "revise_rulebook").code == OK
    fell = agent.law("execute", "1x2", "--subgoal", "state.at == 0", "-m", "what is there?")
    assert fell.code == REFUSED and "falsified" in fell.text and "is_over must hold" in fell.text
    assert "falsified" in agent.law("status").text and "1.2" not in agent.law("counterexample").text
    assert agent.law("execute", "2").code == REFUSED and "is over" in agent.law("execute", "2").text
    assert agent.law("reset", "-m", "fell").code == OK
    assert "No admissible" in agent.law("execute", "2").text
    agent.write(TRUE)
    assert agent.law("propose", "retain").code == REFUSED
    mended = agent.law("propose", "repair_code", "-m", "code 1 ends the game")
    assert mended.code == OK and "version 2" in mended.text
    assert "2x3" in agent.law("plan").text and agent.law("plan", "--bare").text == "2x3"
    done = agent.law("execute", "2", "2", "2")
    assert done.code == OK and "level 1 begins" in done.text
    assert agent.law("execute").code == OK and session.outcome is RunOutcome.WON


@pytest.mark.parametrize("played", ["vanilla"], indirect=True)
def test_vanilla_asks_for_no_model(played: tuple[Session, SocketServer, Agent]) -> None:
    session, _, agent = played
    sent = agent.law("execute", "2", "3", "1")
    assert (
        sent.code == REFUSED
        and session.state.n_actions == 2
        and "1 (action 2): 1x1 4 0,2 -> 0,3\n2 (action 3): nothing changed\n" in sent.text
        and "stopped after 2 of 3: action 2 changed nothing" in sent.text
    )
    sent = agent.law("execute", "--on", "1", "3x2", "2x3")
    assert sent.code == OK and sent.text.startswith(
        "1 (action 1): 1x1 4 0,3 -> 0,2\n6 (action 2) completed: the level is completed\n2-3 (action 3): nothing changed\n"
        "4-5 (action 2): 1x1 4 0,3 -> 0,4 (the last; 2 alike)\nlevel 1 begins:\n"
    )
    assert session.record.level == 1
    assert not any(body["predictions"] for body in bodies(session, EventKind.INTEND))


# -- the guide -------------------------------------------------------------------------------------------------------------------


def named_commands(text: str) -> list[list[str]]:
    """Every command line that a guide names."""
    import shlex

    lines = re.findall(r"`\./law ([^`]*)`", text) + re.findall(r"^    \./law (\w+)", text, re.MULTILINE)
    return [shlex.split(line) for line in dict.fromkeys(lines)]


@pytest.mark.parametrize("played", list(PROTOCOLS), indirect=True)
def test_every_command_the_guide_names_works(played: tuple[Session, SocketServer, Agent]) -> None:
    session, _, agent = played
    agent.real = session.protocol.name == "memento3"
    text = (agent.workspace / "GUIDE.md").read_text()
    assert all((agent.workspace / name).read_text() == POINTER for name in POINTER_FILES)
    assert (
        POINTER.count("\n") == 3
        and "GUIDE.md" in POINTER
        and len(text) <= MAX_CHARACTERS + MAX_BELIEF_CHARACTERS * session.protocol.allows_open
    )
    assert (
        text.count("\n") <= MAX_LINES + MAX_BELIEF_LINES * session.protocol.allows_open and max(map(len, text.splitlines())) <= 132
    )
    named = named_commands(text)
    assert {line[0] for line in named} - {"mcp", "COMMAND"} == set(OPERATIONS)
    needed = {
        "probe": ["1", "-m", "?"],
        "propose": ["retain"],
        "simulate": ["1"],
        "note": ["x"],
        "reset": ["-m", "?"],
        "python": ["-c", "1"],
    }
    for line in sorted(named, key=lambda line: line[0] == "finish"):
        if line[0] != "mcp":
            reply = agent.law(*line, *(needed.get(line[0], []) if len(line) == 1 else []), stdin="print(len(record))")
            expected = (OK, REFUSED) if line != ["finish"] else (WRONG,)
            assert reply.code in expected and "Error" not in reply.text, (line, reply)
    assert session.outcome is RunOutcome.FINISHED


@pytest.mark.parametrize("members", [1, 2])
def test_guides_are_short_whatever_is_played(members: int) -> None:
    for rules in PROTOCOLS.values():
        for written in (False, True):
            text = build_guide(rules, members=members, asks_fidelity=written)
            assert text.count("\n") <= MAX_LINES + MAX_BELIEF_LINES * rules.allows_open
            assert "{" not in text.replace("{1: -1", "") and "  \n" not in text


def test_stubs_fail_with_a_counterexample(played: tuple[Session, SocketServer, Agent]) -> None:
    _, _, agent = played
    tried = agent.law("verify")
    assert (
        tried.code == REFUSED and tried.text.startswith("not verified (counterexample). 0.0:") and "cells are wrong" in tried.text
    )
    assert agent.law("propose", "revise_rulebook").code == REFUSED


def test_the_brief_is_short_and_says_what_stands(played: tuple[Session, SocketServer, Agent]) -> None:
    _, _, agent = played
    many = "".join(f"R{k}. Rule {k} {'says much ' * 40}\n" for k in range(5, 80)) + "".join(f"Q{k}. Why?\n" for k in range(1, 30))
    cites = "".join(f"# R{k}\n" for k in range(5, 80))
    agent.write(changed(TRUE, {ENGINE: SOURCE + cites}, TRUE.rulebook + many))
    assert agent.law("propose", "revise_rulebook").code == OK
    for k in range(8):
        agent.law("note", f"note {k}", "long " * 100)
    brief = agent.law("brief").text
    assert brief.count("\n") < 60 and len(brief) <= OPERATIONS["brief"].max_characters
    assert "version 1, admissible" in brief and "R1." in brief and "Q1." in brief and "note 7" in brief


# -- the gate --------------------------------------------------------------------------------------------------------------------


def test_an_edited_file_does_not_steer(played: tuple[Session, SocketServer, Agent]) -> None:
    session, _, agent = played
    agent.write(TRUE)
    assert agent.law("propose", "revise_rulebook").code == OK
    for name in (ENGINE, RULEBOOK):
        kept = (agent.workspace / name).read_text()
        (agent.workspace / name).write_text(kept + "\n# more\n")
        refused = agent.law("execute", "2x3")
        assert refused.code == REFUSED and name in refused.text and "propose" in refused.text
        assert agent.law("plan").code == REFUSED and name in agent.law("diff").text
        assert agent.law("restore").code == OK
        assert (agent.workspace / name).read_text() == kept
    (agent.workspace / ENGINE).unlink()
    assert agent.law("execute", "2x3").code == REFUSED
    agent.law("restore")
    assert session.state.n_actions == 0 and not bodies(session, EventKind.INTEND)
    assert agent.law("execute", "2x3").code == OK


def test_modules_belong_to_the_program_when_it_imports_them(played: tuple[Session, SocketServer, Agent]) -> None:
    session, _, agent = played
    agent.write(
        changed(
            TRUE, {ENGINE: "import moves\n" + SOURCE.replace("{1: -1, 2: 1}", "moves.WAYS"), "moves.py": "WAYS = {1: -1, 2: 1}\n"}
        )
    )
    (agent.workspace / "scratch.py").write_text("import os  # not part of it\n")
    assert agent.law("propose", "revise_rulebook").code == OK
    assert set(session.state.members[0].hypothesis.files) == {ENGINE, "moves.py"}  # type: ignore[union-attr]
    (agent.workspace / "scratch.py").write_text("other")
    (agent.workspace / "moves.py").write_text("WAYS = {1: -1, 2: 2}\n")
    refused = agent.law("execute")
    assert refused.code == REFUSED and "moves.py" in refused.text and "scratch" not in refused.text


def test_what_ends_nowhere_is_not_sent(played: tuple[Session, SocketServer, Agent]) -> None:
    session, _, agent = played
    agent.write(TRUE)
    agent.law("propose", "revise_rulebook")
    for line in (["2"], ["2", "2"], ["2x4"], ["1x2"], ["9"], ["2", "--subgoal", "state.at == 1"], ["--subgoal", "1/0 or state"]):
        assert agent.law("execute", *line).code == REFUSED, line
    assert agent.law("probe", "2", "-m", "  ").code == REFUSED
    assert agent.law("probe", "2").code == WRONG and agent.law("probe", "-m", "two?").code == WRONG
    assert session.state.n_actions == 0


def test_probes_without_a_model_are_counted_out(played: tuple[Session, SocketServer, Agent]) -> None:
    session, _, agent = played
    said = [agent.law("probe", "3", "-m", "?").code for _ in range(12)]
    assert said == [OK] * 10 + [REFUSED] * 2 and session.state.n_actions == 10


def test_fidelity_is_the_agents_own_answer_kept_in_the_ledger(played: tuple[Session, SocketServer, Agent]) -> None:
    session, _, agent = played
    agent.write(TRUE, "R1: the walker is found in initial_state\nR2: yes\n")
    refused = agent.law("propose", "revise_rulebook")
    assert refused.code == REFUSED and "R2, R3, R4" in refused.text and "fidelity.md" in refused.text
    assert not bodies(session, EventKind.PROPOSE)
    agent.write(changed(TRUE, {ENGINE: SOURCE.replace("# R3", "")}))
    assert "cites R3" in agent.law("propose", "revise_rulebook").text
    agent.write(TRUE)
    assert agent.law("propose", "revise_rulebook").code == OK
    judged = [body["answer"] for body in bodies(session, EventKind.CALL) if body["op"] == "judge"]
    assert [answer["faithful"] for answer in judged] == [False, True]  # type: ignore[index]
    assert "does exactly what this rule says" in judged[1]["rules"]["R3"]  # type: ignore[index]


def test_a_mind_judges_where_one_was_asked_for(tmp_path: Path, host: Host) -> None:
    class Strict:
        name, proposes = "strict", True

        def judge(self, case: object, hypothesis: object) -> object:
            found = judge_by_citations(hypothesis)  # type: ignore[arg-type]
            return type(found)(False, found.rules, "I do not believe R2.")

        def receipt(self) -> dict[str, float]:
            return {"tokens": 5.0}

    mind = ExternalAgentMind(Strict())  # type: ignore[arg-type]
    with session_of(tmp_path / "run", host, mind=mind) as session, serve(session, [tmp_path / "ws"]):
        agent = Agent(tmp_path / "ws")
        agent.write(TRUE)
        assert not (agent.workspace / "GUIDE.md").read_text().count("fidelity.md")
        assert "I do not believe R2." in agent.law("propose", "revise_rulebook").text


# -- files that are none ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [ENGINE, RULEBOOK, "fidelity.md"])
def test_whatever_stands_in_place_of_a_file_ends_in_a_sentence(
    played: tuple[Session, SocketServer, Agent], name: str, tmp_path: Path
) -> None:
    _, _, agent = played
    agent.write(TRUE)
    place, secret = agent.workspace / name, tmp_path / "secret"
    secret.write_text("R1. the secret\n")

    def tried() -> None:
        reply = agent.law("propose", "revise_rulebook", seconds=20)
        assert reply.code == REFUSED and name in reply.text and "secret" not in reply.text and len(reply.text) < 300, reply

    place.unlink()
    place.symlink_to(secret)
    tried()
    place.unlink()
    os.mkfifo(place)
    tried()
    place.unlink()
    place.mkdir()
    tried()
    place.rmdir()
    place.write_bytes(b"R1. \xff\xfe")
    tried()
    place.write_bytes(b"#" * 1_000_001)
    tried()
    place.unlink()
    if name != "fidelity.md":
        tried()


def test_what_is_written_goes_through_no_link(played: tuple[Session, SocketServer, Agent], tmp_path: Path) -> None:
    _, _, agent = played
    agent.write(TRUE)
    agent.law("propose", "revise_rulebook")
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    for name, line in ((ENGINE, ["restore"]), ("now.png", ["observe", "--png", "now.png"])):
        (agent.workspace / name).unlink(missing_ok=True)
        (agent.workspace / name).symlink_to(victim)
        assert agent.law(*line).code == OK
        assert victim.read_text() == "untouched" and not (agent.workspace / name).is_symlink()
    assert (agent.workspace / "now.png").read_bytes().startswith(b"\x89PNG")
    for wrong in ("../victim.png", "/etc/x.png", "x", ".law.sock.png/../y.png"):
        assert agent.law("observe", "--png", wrong).code in (WRONG, REFUSED)
    assert agent.law("python", "../../victim").code == REFUSED


# -- several members, and a person -----------------------------------------------------------------------------------------------


def test_members_share_one_record_and_hear_of_each_other(tmp_path: Path, host: Host) -> None:
    with session_of(tmp_path / "run", host, members=2) as session, serve(session, [tmp_path / "0", tmp_path / "1"]):
        one, two = Agent(tmp_path / "0"), Agent(tmp_path / "1")
        assert "member 1 of 2" in two.law("brief").text and "one of 2 members" in (two.workspace / "GUIDE.md").read_text()
        two.write(STUCK)
        assert two.law("propose", "revise_rulebook").code == OK
        one.law("probe", "2", "-m", "right?")
        heard = two.law("status").text
        assert "member 0 sent action 2: 2 cells changed, running, level 0" in heard
        assert "your model is falsified" in heard and "falsified" in heard.split("--", 1)[1]
        assert "member 0 sent" not in two.law("status").text  # told once
        assert "--" not in one.law("status").text
        one.write(TRUE)
        assert one.law("propose", "revise_rulebook").code == OK
        assert one.law("execute", "2x2").code == OK
        assert "the level" not in two.law("budget").text and session.record.level == 1
        assert session.state.members[1].version == 1 and not session.state.members[1].admissible


def test_a_persons_words_come_with_the_next_command_and_are_kept(
    played: tuple[Session, SocketServer, Agent], tmp_path: Path
) -> None:
    session, _, agent = played
    with Workspace(tmp_path / "run") as place:
        assert send_request(place, PERSON_SOCKET, {"say": "try the right\x1b[31m side"}).code == OK
        assert (
            send_request(place, PERSON_SOCKET, {"say": " "}).code == REFUSED
            and send_request(place, PERSON_SOCKET, {"argv": ["status"]}).code == WRONG
        )
    heard = agent.law("status").text
    assert heard.startswith("A person says: try the right?[31m side\n--\n") and "A person" not in agent.law("status").text
    assert bodies(session, EventKind.NOTE) == [{"text": "try the right\x1b[31m side", "by": "person"}]


# -- economy ---------------------------------------------------------------------------------------------------------------------


def test_every_character_is_counted_and_every_answer_has_its_size(tmp_path: Path, host: Host) -> None:
    with start_run(RunConfig("demo:maze", mind="drive"), tmp_path / "runs", host=host, mind=ExternalAgentMind()) as (_, session):
        with serve(session, [tmp_path / "ws"]):
            agent = Agent(tmp_path / "ws", real=True)
            board = agent.law("observe").text.splitlines()
            assert len(board) <= 1 + 64 and max(map(len, board)) < 80
            for line in (
                ["help"],
                ["observe", "--objects"],
                ["record"],
                ["python", "-c", "print('x' * 99999)"],
                ["probe", "1", "-m", "?"],
            ):
                reply = agent.law(*line)
                assert len(reply.text) <= max(o.max_characters for o in OPERATIONS.values()) + MAX_NEWS_CHARACTERS
            session.add_person_message("much " * 300)
            agent.law("observe", "--since", "0.0")
            last = agent.law("budget").text
            calls = [body for body in bodies(session, EventKind.CALL) if body["op"] == COMMAND_OP]
        printed = sum(body["receipt"]["characters"] for body in calls)  # type: ignore[index]
        assert printed == agent.printed and len(calls) == 8
        assert f"{printed - len(last):,} characters in 7 commands" in last


def test_cuts_are_said() -> None:
    assert all(row.max_characters <= 9000 for row in OPERATIONS.values())


# -- clients that misbehave ------------------------------------------------------------------------------------------------------


def raw(workspace: Path, data: bytes, *, shut: bool = False) -> bytes:
    """Whatever comes back for these bytes."""
    with Workspace(workspace) as place, socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(30)
        sock.connect(f"/proc/self/fd/{place.descriptor}/{SOCKET}")
        try:
            sock.sendall(data)
            if shut:
                sock.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: sock.recv(65536), b""))
        except (BrokenPipeError, ConnectionResetError):
            return b""


@pytest.mark.parametrize(
    "data",
    [
        b"\n",
        b"{}\n",
        b"[1]\n",
        b'{"argv": "status"}\n',
        b'{"argv": [1]}\n',
        b'{"tool": "execute", "arguments": {"actions": [{"id": 1}]}}\n',
        b'{"tool": 3}\n',
        b'{"say": "I am a person"}\n',
        b'{"argv": ["execute", "2"], "member": 1, "stdin": 4}\n',
        b"[" * 100_000 + b"\n",
        b"\xff" * 1000 + b"\n",
        b'{"argv": ["' + b"x" * MAX_REQUEST + b'"]}\n',
        b'{"argv": ["note", "\\ud800 \\u0000 \\u001b[31m"]}\n',
        b'{"argv": ["' + b"9" * 400_000 + b'"]}\n',
        b'{"argv": ["execute", "1x9999999"]}\n',
        b'{"argv": ["observe", "99999999999999999999.1"]}\n',
        b"words\n",
        b"words 6 x\nstatus",
        b"words 6 -1\nstatus",
        b"words 99999999999\n",
        b"words 6 stdin \nstatus",
        b"words " + b"1 " * 400_000 + b"\n",
        b"words 3\n\xff\xfe\x00",
        b'{"argv": [' + b'"1",' * 250_000 + b'"1"]}\n',
        b'{"argv": ["simulate",' + b'"1",' * 250_000 + b'"1"]}\n',
        b'{"argv": ["note",' + b'"-m",' * 200_000 + b'"1"]}\n',
        b'{"argv": ["simulate", "' + b"1 " * 300_000 + b'"]}\n',
    ],
)
def test_forged_requests_get_a_sentence_and_send_nothing(played: tuple[Session, SocketServer, Agent], data: bytes) -> None:
    session, _, agent = played
    answer = raw(agent.workspace, data)
    code, _, text = answer.partition(b"\n")
    assert not answer or (int(code) in (OK, REFUSED, WRONG) and text and len(text) < 3000), answer[:300]
    assert agent.law("status").code == OK
    assert session.state.n_actions == 0 and not any(body.get("by") for body in bodies(session, EventKind.NOTE))


@pytest.mark.timing
def test_clients_that_hang_or_die_hold_nobody_up(played: tuple[Session, SocketServer, Agent]) -> None:
    session, server, agent = played
    with Workspace(agent.workspace) as place:
        idle = []
        for k in range(50):
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(f"/proc/self/fd/{place.descriptor}/{SOCKET}")
            if k % 2:
                sock.sendall(b'{"argv": ["sta')
            idle.append(sock)
        began = time.monotonic()
        assert agent.law("status").code == OK and time.monotonic() - began < 5
        with server.lock:  # the door is busy; whoever has gone by the time it is free wanted nothing
            for _ in range(3):
                with socket.socket(socket.AF_UNIX) as gone:
                    gone.connect(f"/proc/self/fd/{place.descriptor}/{SOCKET}")
                    gone.sendall(b'{"argv": ["probe", "2", "-m", "dead?"]}\n')
            time.sleep(0.3)
        agent.law("status")
        for sock in idle:
            sock.close()
    assert session.state.n_actions <= 1  # at most the one that was being taken up


def test_commands_that_come_at_once_are_answered_one_by_one(played: tuple[Session, SocketServer, Agent]) -> None:
    session, _, agent = played
    codes: list[int] = []
    with Workspace(agent.workspace) as place:

        def probing() -> None:
            codes.append(send_request(place, SOCKET, {"argv": ["probe", "3", "-m", "?"]}).code)

        threads = [threading.Thread(target=probing) for _ in range(14)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(codes) == [OK] * 10 + [REFUSED] * 4 and session.state.n_actions == 10
    assert session.event_log.ledger.check() is None


def test_the_socket_is_its_owners_alone(played: tuple[Session, SocketServer, Agent], tmp_path: Path) -> None:
    _, _, agent = played
    for place in (agent.workspace / SOCKET, tmp_path / "run" / PERSON_SOCKET):
        found = place.stat()
        assert stat.S_ISSOCK(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o600


def test_a_world_that_fails_is_not_named(tmp_path: Path, host: Host) -> None:
    class Broken(Corridor):
        def step(self, action: Action) -> Observation:
            raise WorldError("The world secret:game died.")

    with session_of(tmp_path / "run", host, world=Broken()) as session, serve(session, [tmp_path / "ws"]) as server:
        agent = Agent(tmp_path / "ws")
        for _ in range(2):
            reply = agent.law("probe", "2", "-m", "?")
            assert reply.code == CLOSED and "secret" not in reply.text
        assert isinstance(server.dispatcher.failure, WorldError)


def test_a_bug_of_ours_is_no_reason_to_stop(played: tuple[Session, SocketServer, Agent], monkeypatch: pytest.MonkeyPatch) -> None:
    _, server, agent = played
    monkeypatch.setattr(server.dispatcher.session, "get_status", lambda: 1 / 0)
    assert agent.law("status").code == BUG
    monkeypatch.undo()
    assert agent.law("status").code == OK
