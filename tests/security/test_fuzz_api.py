"""Whatever is asked of a door that somebody may knock at: the viewer, `./law`, its socket, MCP, a model's answer. Bounded."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import long_run
import pytest
from attacks import BOOK, RING, opened, sandbox
from fuzzed import ANYTHING, SLOWER, SOON, WORDS, altered
from hypothesis import given
from hypothesis import strategies as st
from served import served

from lawbook.agents.api.dispatcher import CommandDispatcher
from lawbook.agents.api.file_tools import FILE_TOOLS
from lawbook.agents.api.operation import BUG, CommandResult
from lawbook.agents.api.operations import OPERATIONS
from lawbook.agents.api.socket_server import serve
from lawbook.agents.api.workspace import SOCKET, Workspace
from lawbook.core.hypothesis import ENGINE, Decision, Hypothesis
from lawbook.core.results import Judgement, Probe, Subgoal
from lawbook.errors import LawbookError
from lawbook.minds.base import Interface
from lawbook.minds.llm import outputs
from lawbook.minds.llm.parsing import UnreadableAnswerError
from lawbook.minds.registry import make_mind

MEMORY = 900 + os.getpid() % 83  # tells our processes from everybody else's


# -- requests to the viewer -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, str]]:
    """The port of a real server over one run, and that run's name."""
    out = tmp_path_factory.mktemp("viewed")
    name = long_run.write(out, 24).path.name
    with served(out) as port:
        yield port, name
        assert answered(port, b"GET /api/runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n") == 200


PARTS = st.sampled_from(
    [
        "api",
        "runs",
        "RUN",
        "static",
        "compare",
        "head",
        "overview",
        "window",
        "strip",
        "frames",
        "plans",
        "proposals",
        "members",
        "draws",
        "series",
        "picture.png",
        "..",
        "%2e%2e",
        "%00",
        "%ff",
        "~",
        "",
        "0",
        "-1",
        "9" * 30,
        "index.html",
        "main.js",
    ]
) | st.text(max_size=6)
QUERIES = st.lists(
    st.tuples(
        st.sampled_from(["from", "to", "ids", "before", "run", "token", "x"]), WORDS | st.sampled_from(["RUN", "1,2", "a" * 40])
    ),
    max_size=3,
)
HEADERS = st.dictionaries(
    st.sampled_from(
        ["Host", "Cookie", "Range", "If-None-Match", "Accept-Encoding", "Content-Length", "Transfer-Encoding", "Origin"]
    ),
    st.sampled_from(["localhost", "evil.example", "bytes=9-1", "chunked", "-1", "lawbook=x", '"x"', "gzip;q=x"])
    | st.text(max_size=10),
    max_size=3,
)


@SOON
@given(st.sampled_from(["GET", "HEAD", "POST", "PUT", "OPTIONS", "get", "X" * 50]), st.lists(PARTS, max_size=6), QUERIES, HEADERS)
def test_a_request_is_answered_or_refused(
    viewer: tuple[int, str], method: str, parts: list[str], queries: list[tuple[str, str]], headers: dict[str, str]
) -> None:
    from urllib.parse import quote, urlencode

    port, name = viewer
    path = "/" + "/".join(part if part.startswith("%") else quote(part, safe="~", errors="replace") for part in parts)
    query = urlencode([(key, value) for key, value in queries], errors="replace")
    lines = [f"{method} {path}{'?' * bool(query)}{query} HTTP/1.1".replace("RUN", name)]
    lines += [f"{key}: {value}" for key, value in ({"Host": "localhost"} | headers).items()]
    request = "\r\n".join([*lines, "Connection: close", "", ""]).encode("utf-8", "surrogatepass")
    status = answered(port, request)
    assert (status is None and unfinished(headers)) or (status is not None and status < 500), (request, status)


def unfinished(headers: dict[str, str]) -> bool:
    """Do they promise a body that never comes?"""
    return "Content-Length" in headers or "Transfer-Encoding" in headers


@SOON
@given(st.binary(max_size=120))
def test_whatever_bytes_come_over_http(viewer: tuple[int, str], noise: bytes) -> None:
    status = answered(viewer[0], noise, last=True)
    assert status is None or status < 500


def answered(port: int, request: bytes, *, last: bool = False) -> int | None:
    """The status of the answer; None where the server hung up without one, which it may after noise. last: nothing more follows."""
    with socket.create_connection(("127.0.0.1", port), timeout=20 if last else 0.5) as sock:
        sock.sendall(request)
        with suppress(ConnectionError):
            if last:
                sock.shutdown(socket.SHUT_WR)
            try:
                head = sock.recv(4096)
            except TimeoutError:  # it waits for more; there is no more
                sock.settimeout(20)
                sock.shutdown(socket.SHUT_WR)
                head = sock.recv(4096)
            return int(head.split(b" ", 2)[1]) if head.startswith(b"HTTP/1.") else None
    return None


# -- ./law ----------------------------------------------------------------------------------------------------------------------

PATIENT = [name for name in OPERATIONS if name not in ("finish", "python", "verify")]
"""What can be asked for again and again: these neither end the run nor take a process of their own each time."""
ARGUMENTS = st.one_of(
    WORDS,
    st.sampled_from([flag for row in OPERATIONS.values() for argument in row.arguments for flag in argument.flags]),
    st.sampled_from(
        [
            "0",
            "1",
            "1,1",
            "1@3,4",
            "now",
            "0.1",
            "t0",
            "10-20",
            "1*3",
            "law",
            "GUIDE.md",
            "../x",
            "/etc/passwd",
            "state[0] == 5",
            "-",
        ]
    ),
)


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandDispatcher]:
    folder = tmp_path_factory.mktemp("door")
    run = {"protocol": "vanilla", "budget": 100_000}
    with sandbox(MEMORY) as host, opened(folder, host, **run) as (_, session), Workspace(folder / "work") as workspace:
        door = CommandDispatcher(session, [workspace])
        yield door
        door.close()


@SOON
@given(st.sampled_from(PATIENT) | WORDS, st.lists(ARGUMENTS, max_size=5), st.text(max_size=20))
def test_a_command_of_an_agent_is_done_or_refused(door: CommandDispatcher, name: str, words: list[str], stdin: str) -> None:
    calm(door, door.run_command(0, [name, *words], stdin), (name, words))


@SOON
@given(st.data())
def test_a_tool_call_is_done_or_refused(door: CommandDispatcher, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(PATIENT) | WORDS)
    known = [argument.name for argument in OPERATIONS[name].arguments] if name in OPERATIONS else []
    fields = data.draw(st.dictionaries(st.sampled_from([*known, "x"]), ANYTHING | ARGUMENTS, max_size=4))
    calm(door, door.call_tool(0, name, fields), (name, fields))


def calm(door: CommandDispatcher, reply: CommandResult, asked: object) -> None:
    assert reply.code != BUG, (asked, reply)
    assert door.failure is None and not door.session.outcome, (asked, door.failure)
    assert "Traceback" not in reply.text and len(reply.text) < 20_000


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A workspace whose door is served."""
    folder = tmp_path_factory.mktemp("served")
    run = {"protocol": "vanilla", "budget": 100_000}
    with sandbox(MEMORY + 100) as host, opened(folder, host, **run) as (_, session), serve(session, [folder / "work"]):
        yield folder / "work"
        assert asked(folder / "work", b'{"argv": ["status"]}\n')[:2] == b"0\n"


REQUESTS = st.one_of(
    st.binary(max_size=60),
    ANYTHING.map(lambda value: json.dumps(value).encode()),
    altered({"argv": ["observe", "now"], "stdin": ""}).map(lambda value: json.dumps(value).encode()),
    altered({"tool": "simulate", "arguments": {"actions": ["1", "1"]}}).map(lambda value: json.dumps(value).encode()),
)


@SOON
@given(REQUESTS, st.booleans())
def test_whatever_comes_through_the_socket(workspace: Path, request_: bytes, ended: bool) -> None:
    if b'"mcp": true' in request_:
        return
    reply = asked(workspace, request_ + b"\n" * ended)
    code = reply.partition(b"\n")[0]
    assert (code.isdigit() and int(code) != BUG) or not (ended or reply), (request_, reply)


def asked(workspace: Path, request: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(20)
        here = os.open(workspace, os.O_PATH)
        sock.connect(f"/proc/self/fd/{here}/{SOCKET}")
        os.close(here)
        sock.sendall(request)
        if b"\n" not in request:  # nothing more will come, and it is no whole request
            sock.shutdown(socket.SHUT_WR)
        with suppress(ConnectionError):
            return b"".join(iter(lambda: sock.recv(65536), b""))
    return b""


# -- MCP ------------------------------------------------------------------------------------------------------------------------

HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}
CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "status", "arguments": {"x": 1}}}


@pytest.fixture(scope="module")
def mcp(workspace: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "lawbook.agents.api.mcp_server", str(workspace)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0) as process:
        told(process, json.dumps(HELLO).encode(), 0)
        told(process, b'{"jsonrpc": "2.0", "method": "notifications/initialized"}', None)
        yield process
        assert process.poll() is None
        process.stdin.close()  # type: ignore[union-attr]
        assert process.wait(20) == 0


@SLOWER
@given(
    st.binary(max_size=40).map(lambda text: text.replace(b"\n", b""))
    | st.one_of(altered(CALL), ANYTHING).map(lambda m: json.dumps(m).encode())
)
def test_an_mcp_message_leaves_the_server_serving(mcp: subprocess.Popen[bytes], message: bytes) -> None:
    told(mcp, message, None)
    listed = told(mcp, b'{"jsonrpc": "2.0", "id": "after", "method": "tools/list"}', "after")
    assert {tool["name"] for tool in listed["result"]["tools"]} == {*OPERATIONS, *FILE_TOOLS}


def told(process: subprocess.Popen[bytes], message: bytes, wanted: object) -> dict[str, Any]:
    """Send a line; the answer with the id `wanted`, others passed over (None: wait for none)."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(message + b"\n")
    while wanted is not None:
        ready, _, _ = select.select([process.stdout], [], [], 30)
        assert ready, f"no answer to {wanted!r}"
        line = process.stdout.readline()
        assert line, f"the server ended ({process.wait(5)})"
        answer = json.loads(line)
        if answer.get("id") == wanted:
            return dict(answer)
    return {}


# -- the address of a mind --------------------------------------------------------------------------------------------------------

MINDS = st.builds(
    "{}:{}:{}{}".format,
    st.sampled_from(["llm", "direct", "files", "graph", "random", "induce", "x"]),
    st.sampled_from(["openai-compatible", "ollama", "anthropic", "openai", "test", "", "/nowhere", "."]) | st.text(max_size=6),
    st.sampled_from(["http://127.0.0.1:1/v1#m", "http://[::1", "m", "", "#", "\x00", "https://user:pw@x/#m"]) | st.text(max_size=8),
    st.sampled_from(
        ["", "?timeout=-1", "?max_tokens=1e9", "?output=x", "?temperature=nan", "?images=yes&tools=no", "?x", "?seed=" + "9" * 5000]
    )
    | st.builds("?{}={}".format, st.sampled_from(["timeout", "thinking", "seed", "output", "x"]), WORDS),
)


@SOON
@given(MINDS | WORDS)
def test_a_mind_is_had_or_refused(text: str) -> None:
    try:
        assert isinstance(make_mind(text).proposes, bool)
    except LawbookError as refusal:
        assert "\n" not in str(refusal) and len(str(refusal)) < 2000 + 2 * len(text), text


# -- what a model says ----------------------------------------------------------------------------------------------------------

INTERFACE = Interface((8, 8), (1, 2, 6), (6,), 2)
BEFORE = Hypothesis(BOOK, {ENGINE: RING})
SAID = st.lists(
    st.sampled_from(
        [
            "```python",
            "```",
            "~~~",
            "````md",
            "<<<<<<< SEARCH",
            "=======",
            ">>>>>>> REPLACE",
            "world_model.md",
            "world_model_engine.py",
            "R1. x",
            "def subgoal(state): return True",
            "DECISION: repair_code",
            "DIAGNOSIS:",
            "ACTION: 6 x=1 y=2",
            "PROBE: 1",
            "QUESTION: ?",
            "NO CHANGE",
            "RETAIN",
            "VERDICT: faithful",
            "REASON: x",
            "SUBGOAL:",
            "<think>",
            "</think>",
            "R2: MISSING",
            "import os",
            "def step(state, action):",
            '{"decision": "retain", "diagnosis": 3}',
            '{"files": [{"name": 1}], "edits": {}}',
            '{"faithful": true, "rules": [[]]}',
            '{"action": ',
        ]
    )
    | st.text(max_size=30),
    max_size=14,
).map("\n".join)
OBJECTS = st.one_of(
    altered({"decision": "repair_code", "diagnosis": "x"}),
    altered(
        {"files": [{"name": ENGINE, "source": RING}], "edits": [{"file": ENGINE, "search": "8", "replace": "9"}], "retain": False}
    ),
    altered({"faithful": False, "rules": [{"rule": "R1", "implemented": True, "where": "step"}], "reason": "x"}),
    altered({"subgoal": "", "action": "6 x=1 y=1", "question": "?"}),
).map(json.dumps)


@SOON
@given(SAID | OBJECTS | SAID.flatmap(lambda text: OBJECTS.map(lambda found: f"{text}\n{found}")), st.booleans())
def test_an_answer_is_read_or_said_to_be_unreadable(text: str, last: bool) -> None:
    reads = {
        "reflection": (lambda: outputs.read_reflection(text, tuple(Decision)), outputs.Reflection),
        "revision": (lambda: outputs.read_revision(text, BOOK, final_attempt=last), str),
        "compilation": (lambda: outputs.read_compilation(text, BEFORE.files, may_stay=last, final_attempt=last), dict),
        "simplification": (
            lambda: outputs.read_simplification(text, BEFORE, has_rulebook=last, final_attempt=last),
            Hypothesis | None,
        ),
        "judgement": (lambda: outputs.read_judgement(text, ("R1", "R2"), final_attempt=last), Judgement),
        "exploration": (lambda: outputs.read_exploration(text, INTERFACE, may_name_subgoal=last), Subgoal | Probe),
        "direct": (lambda: outputs.read_direct(text, INTERFACE), Probe),
    }
    for name, (read, kind) in reads.items():
        try:
            assert isinstance(read(), kind), name
        except UnreadableAnswerError as error:
            assert 0 < len(str(error)) < 1000, (name, str(error))
