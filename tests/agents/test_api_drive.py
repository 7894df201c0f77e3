"""`lawbook drive` and `say`: a run kept by a process of its own, that outlives the command, a kill, and everybody's curiosity."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from agents import Agent
from walker import FIDELITY, WALKER

from lawbook.agents.api.file_tools import FILE_TOOLS
from lawbook.agents.api.framing import find_server_pid
from lawbook.agents.api.operation import CLOSED, OK
from lawbook.agents.api.operations import OPERATIONS
from lawbook.agents.api.socket_server import PERSON_SOCKET
from lawbook.agents.api.workspace import Workspace
from lawbook.cli import main
from lawbook.ledger.ledger import Ledger
from lawbook.runs.state import fold_events

WORLD = "demo:maze"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to work in; whoever serves a workspace there is ended afterwards."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for folder in tmp_path.rglob(".law.sock"):
        with Workspace(folder.parent) as workspace:
            pid = find_server_pid(workspace)
        if pid is not None and pid != os.getpid():
            os.kill(pid, signal.SIGKILL)


def server_of(workspace: Path) -> int | None:
    with Workspace(workspace) as opened:
        return find_server_pid(opened)


def run_of(place: Path) -> Path:
    return next((place / "runs").iterdir())


def drive(*words: str) -> int:
    return main.main(["drive", *words])


@pytest.mark.slow
def test_a_run_outlives_its_command_and_a_kill(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert drive(WORLD, "--workspace", "ws", "--budget", "90") == 0
    assert str(run_of(place)) in capsys.readouterr().out
    agent, pid = Agent(place / "ws", real=True), server_of(place / "ws")
    assert pid and agent.law("probe", "4", "-m", "right?").code == OK
    agent.write(WALKER, FIDELITY)
    assert agent.law("propose", "revise_rulebook").code == OK and agent.law("execute").code == OK
    assert drive(WORLD, "--workspace", "ws") == 2 and "served already" in capsys.readouterr().err

    os.kill(pid, signal.SIGKILL)
    while Path(f"/proc/{pid}").exists() and "State:\tZ" not in Path(f"/proc/{pid}/status").read_text():
        time.sleep(0.02)
    gone = agent.law("status")
    assert gone.code == CLOSED and "drive --resume" in gone.text
    assert main.main(["say", "last", "mind", "the", "walls"]) == 0
    (agent.workspace / "world_model_engine.py").write_text("# being edited\n")
    assert drive("--resume", "last", "--workspace", "ws") == 0
    assert (agent.workspace / "world_model_engine.py").read_text() == "# being edited\n"
    heard = agent.law("brief").text
    assert heard.startswith("A person says: mind the walls") and "version 1, admissible" in heard and "level 1 of 5" in heard
    agent.law("restore")
    assert agent.law("execute").code == OK
    assert drive("--stop", "ws") == 0 and server_of(place / "ws") is None

    assert drive("--resume", "last", "--workspace", "other") == 0  # a workspace that knows nothing yet
    other = Agent(place / "other", real=True)
    assert (other.workspace / "world_model.md").read_text() == WALKER.rulebook
    for _ in range(3):
        assert other.law("execute").code == OK
    assert "won" in other.law("status").text
    with Ledger.open(run_of(place) / "ledger.sqlite", readonly=True) as ledger:
        assert fold_events(ledger).outcome == "won" and ledger.check() is None
    capsys.readouterr()
    assert main.main(["show", "last", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["assisted"] == 1 and shown["commands"] >= 8 and shown["printed"] > 500 and shown["failed_calls"] == 0
    assert main.main(["say", "last", "well done"]) != 0


def test_nothing_an_agent_can_see_names_the_world(place: Path) -> None:
    assert drive(WORLD, "--workspace", "ws") == 0
    pid = server_of(place / "ws")
    assert pid is not None
    family = {pid}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            parent = int(status.read_text().split("PPid:")[1].split()[0])
        except (OSError, IndexError):
            continue
        if parent in family:
            family.add(int(status.parent.name))
    assert len(family) >= 3
    for one in family:
        for what in ("cmdline", "comm"):
            assert b"maze" not in (Path("/proc") / str(one) / what).read_bytes()
    environment = subprocess.run(["env"], capture_output=True, env={}, cwd=place / "ws").stdout
    assert b"maze" not in environment
    assert Path(f"/proc/{pid}/cwd").resolve() == Path("/")
    if os.geteuid():  # root may look at everything anyway
        with pytest.raises(PermissionError):
            list(Path(f"/proc/{pid}/fd").iterdir())
    for file in (place / "ws").iterdir():
        assert "maze" not in file.name and (not file.is_file() or b"maze" not in file.read_bytes())


def test_in_front_it_ends_with_a_signal(place: Path) -> None:
    command = [sys.executable, "-m", "lawbook", "drive", WORLD, "--workspace", "ws", "--foreground", "--population", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=place) as process:
        try:
            assert process.stdout is not None
            told = [process.stdout.readline() for _ in range(4)]
            assert told[0].startswith("run ") and str(place / "ws" / "1") in told[2]
            assert server_of(place / "ws" / "0") == process.pid  # the same process, under another command line
            assert b"maze" not in Path(f"/proc/{process.pid}/cmdline").read_bytes()
            one, two = Agent(place / "ws" / "0"), Agent(place / "ws" / "1")
            one.law("probe", "4", "-m", "?")
            assert "member 0 sent action 4" in two.law("status").text
            with Workspace(run_of(place)) as folder:
                assert find_server_pid(folder, PERSON_SOCKET) == process.pid
            assert main.main(["say", "last", "hello"]) == 0
            assert "hello" in one.law("status").text and "hello" in two.law("status").text
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 1
        finally:
            process.kill()
    assert server_of(place / "ws" / "0") is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([WORLD], "--workspace"),
        (["--workspace", "ws"], "needs a WORLD"),
        (["demo:nowhere", "--workspace", "ws"], "nowhere"),
        (["nowhere:x", "--workspace", "ws"], "nowhere"),
        ([WORLD, "--workspace", "ws", "--protocol", "none"], "protocol"),
        ([WORLD, "--workspace", "ws", "--judge", "nobody"], "nobody"),
        ([WORLD, "--workspace", "ws", "--budget", "0"], "budget"),
        ([WORLD, "--workspace", "runs/ws"], "apart"),
        ([WORLD, "--workspace", "."], "apart"),
        (["--stop", "ws"], "no folder"),
        (["--stop", "."], "Nobody serves"),
        (["--resume", "last", "--workspace", "ws"], "no runs"),
    ],
)
def test_wrong_use_ends_in_one_sentence_and_leaves_nothing(
    place: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert drive(*words) in (1, 2)
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
    assert not list(place.rglob("law"))


@pytest.mark.slow
def test_a_whole_game_is_driven_through_mcp(place: Path) -> None:
    from mcp import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client

    assert drive(WORLD, "--workspace", "ws", "--budget", "90") == 0
    workspace = place / "ws"

    async def play() -> None:
        async with (
            stdio_client(StdioServerParameters(command=str(workspace / "law"), args=["mcp"])) as (incoming, outgoing),
            ClientSession(incoming, outgoing) as client,
        ):
            await client.initialize()
            tools = (await client.list_tools()).tools
            assert {tool.name for tool in tools} == {*OPERATIONS, *FILE_TOOLS}
            assert all(tool.input_schema["type"] == "object" and tool.description for tool in tools)

            async def call(name: str, **fields: object) -> tuple[bool, str]:
                result = await client.call_tool(name, fields)
                return bool(result.is_error), result.content[0].text  # type: ignore[union-attr]

            assert not (await call("observe", rows="0-7"))[0]
            assert (await call("execute", actions=["1"]))[0]
            assert (await call("nothing"))[0] and (await call("probe", actions=["1"]))[0] and (await call("observe", frame="x"))[0]
            Agent(workspace).write(WALKER, FIDELITY)
            assert not (await call("propose", decision="revise_rulebook", message="as seen"))[0]
            first = (await call("plan", bare=True))[1]
            assert not (await call("execute", actions=first.split()))[0]
            for _ in range(4):
                failed, text = await call("execute")
                assert not failed, text
            assert "won" in (await call("status"))[1]

    anyio.run(play)
    with Ledger.open(run_of(place) / "ledger.sqlite", readonly=True) as ledger:
        state = fold_events(ledger)
    assert state.outcome == "won" and state.n_actions == 81 and state.n_mismatches == 0
