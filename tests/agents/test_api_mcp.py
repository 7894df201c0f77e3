"""`lawbook mcp WORLD`: a run and its server in one line; files for agents without a file system; words while a plan goes on."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import anyio
import pytest
from walker import FIDELITY, WALKER

from lawbook.agents.api.file_tools import FILE_TOOLS, MAX_READ_LINES, call_file_tool
from lawbook.agents.api.framing import find_server_pid
from lawbook.agents.api.operation import OK, REFUSED, WRONG
from lawbook.agents.api.operations import OPERATIONS
from lawbook.agents.api.progress import ActionCounter
from lawbook.agents.api.workspace import Workspace
from lawbook.core.hypothesis import ENGINE, RULEBOOK
from lawbook.ledger.ledger import Ledger
from lawbook.runs.state import fold_events


@pytest.mark.slow
def test_one_line_plays_a_whole_game_without_a_file_system(tmp_path: Path) -> None:
    from mcp import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client

    words = ["-m", "lawbook", "mcp", "demo:maze", "--workspace", "ws", "--budget", "90"]
    progress: list[tuple[float, str]] = []

    async def play() -> None:
        async def hear(done: float, total: float | None, message: str | None) -> None:
            progress.append((done, message or ""))

        async with (
            stdio_client(StdioServerParameters(command=sys.executable, args=words, cwd=tmp_path)) as (incoming, outgoing),
            ClientSession(incoming, outgoing) as client,
        ):
            await client.initialize()
            assert {tool.name for tool in (await client.list_tools()).tools} == {*OPERATIONS, *FILE_TOOLS}

            async def call(tool: str, /, **fields: object) -> tuple[bool, str]:
                result = await client.call_tool(tool, fields, progress_callback=hear)
                return bool(result.is_error), result.content[0].text  # type: ignore[union-attr]

            assert "# You drive an unknown world" in (await call("read_file", name="GUIDE.md"))[1]
            assert ENGINE in (await call("list_files"))[1]
            await call("write_file", name=RULEBOOK, text=WALKER.rulebook)
            for name, text in WALKER.files.items():
                assert not (await call("write_file", name=name, text=text))[0]
            await call("write_file", name="fidelity.md", text=FIDELITY)
            assert not (await call("propose", message="as seen"))[0]
            slow = await call("python", code="import time\ntime.sleep(5)\nprint('slept')")
            assert slow == (False, "slept")
            for _ in range(5):
                failed, text = await call("execute")
                assert not failed, text
            assert "won" in (await call("status"))[1] and not (await call("observe"))[0]

    anyio.run(play)
    times = [done for done, _ in progress]
    assert len(times) >= 2 and times == sorted(times) and all("seconds, 0 actions sent" in word for _, word in progress[:2])
    with Ledger.open(next((tmp_path / "runs").iterdir()) / "ledger.sqlite", readonly=True) as ledger:
        assert fold_events(ledger).outcome == "won"
    deadline = time.monotonic() + 30
    with Workspace(tmp_path / "ws") as workspace:
        while find_server_pid(workspace) is not None and time.monotonic() < deadline:
            time.sleep(0.1)  # the client has hung up: nobody serves any more
        assert find_server_pid(workspace) is None


def test_files_are_read_written_and_edited_in_the_workspace_alone(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    with Workspace(tmp_path / "ws") as workspace:
        written = call_file_tool(workspace, "write_file", {"name": "a.txt", "text": "one two\n" * 1000})
        assert (written.code, written.text) == (OK, "a.txt: 8,000 characters")
        first = call_file_tool(workspace, "read_file", {"name": "a.txt"})
        assert first.code == OK and first.text.endswith(f"({1000 - MAX_READ_LINES} lines more: start {MAX_READ_LINES + 1})")
        assert call_file_tool(workspace, "read_file", {"name": "a.txt", "start": 999, "lines": 5}).text == "one two\none two"
        assert call_file_tool(workspace, "edit_file", {"name": "a.txt", "old": "two", "new": "2"}).code == REFUSED
        call_file_tool(workspace, "write_file", {"name": "b.txt", "text": "one two"})
        assert call_file_tool(workspace, "edit_file", {"name": "b.txt", "old": "two", "new": "2"}).code == OK
        assert call_file_tool(workspace, "read_file", {"name": "b.txt"}).text == "one 2"
        assert call_file_tool(workspace, "list_files", {}).text == "a.txt 8,000\nb.txt 5"
        (tmp_path / "ws" / "link").symlink_to(secret)
        for name, fields in (
            ("read_file", {"name": "link"}),
            ("read_file", {"name": "../secret"}),
            ("write_file", {"name": "../secret", "text": "x"}),
            ("write_file", {"name": ".law.sock", "text": "x"}),
            ("edit_file", {"name": "../secret", "old": "secret", "new": "x"}),
        ):
            assert call_file_tool(workspace, name, fields).code == REFUSED, name
        assert call_file_tool(workspace, "write_file", {"name": "link", "text": "x"}).code == OK
        assert call_file_tool(workspace, "read_file", {"nam": "a"}).code == call_file_tool(workspace, "read_file", {}).code == WRONG
    assert secret.read_text() == "secret"


def test_a_counter_is_read_through_its_descriptor() -> None:
    counter = ActionCounter()
    other = ActionCounter(counter.descriptor)
    for number in (0, 7, 1 << 40):
        counter.write(number)
        assert other.read() == number
    counter.close()
