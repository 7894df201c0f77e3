"""The one way out of an agent's confinement: a loopback relay to its model's endpoint, which holds the key and counts the cost."""

from __future__ import annotations

import json
import re
import secrets
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore, Condition, RLock, Thread
from typing import IO, Any

from lawbook.agents.runner.usage_meter import Meter, Reader
from lawbook.errors import MindError

ANSWER_SECONDS = 900.0
"""Between two pieces of an answer."""
MAX_REQUEST = 64 << 20
AT_ONCE = 4
"""Requests of one agent under way together; others wait. By so many can a cap be passed."""
CONNECTIONS = 64
"""Of one agent, together; one more is closed."""
_PIECE = 1 << 16
_NOT_PASSED_ON = {
    "connection",
    "keep-alive",
    "transfer-encoding",
    "te",
    "trailer",
    "upgrade",
    "host",
    "content-length",
    "accept-encoding",
}
_OWN_TOOLS = re.compile(
    r"custom|function|namespace|local_shell|shell|apply_patch|tool_search|computer|computer_use_preview"
    r"|(bash|text_editor|memory|computer|tool_search_tool_regex|tool_search_tool_bm25)_\d{8}"
)
"""The kinds of tools that the agent's own program runs, or that only look through those; a date is Anthropic's version."""
_HELD = ("container", "prompt", "background")
"""What at the top of a request is the provider's own: a container, a stored prompt with its tools, an answer nobody waits for."""


@dataclass(frozen=True)
class Endpoint:
    """Where a model answers. base: URL that a path is put behind; key: the headers that hold it; paths: what may be asked there."""

    base: str
    key: Mapping[str, str]
    paths: tuple[str, ...]


class Forwarder:
    """Relays an agent's requests to its model. The agent is given `token` for a key: the real one never leaves this process.

    may_ask: called before every request, raises MindError where the run's caps forbid another; `stopped` is then its sentence.
    counting: held from there until the request is counted, so that no two are let through where there is room for one; agents that
    share caps share it. Threads of its own serve every socket that it is given.
    """

    def __init__(self, endpoint: Endpoint, meter: Meter, may_ask: Callable[[], None] = lambda: None) -> None:
        self.endpoint, self.meter, self.may_ask = endpoint, meter, may_ask
        self.counting: AbstractContextManager[object] = RLock()
        self.slots = BoundedSemaphore(AT_ONCE)
        self._landed, self._under_way = Condition(), set[Reader]()
        self.token = f"lawbook-{secrets.token_hex(16)}"
        self.stopped = ""
        self.failure = ""
        self.heard = 0.0
        """When the last piece of a request or an answer passed (time.monotonic)."""
        self.opener = urllib.request.build_opener(_NoRedirect)
        self._servers: list[ThreadingHTTPServer] = []

    def serve(self, sock: socket.socket) -> None:
        """Answer on a listening socket, which may belong to another network namespace. It is closed at `close`."""
        server = _Server(("127.0.0.1", 0), _Handler, bind_and_activate=False)
        server.socket.close()
        server.socket, server.forwarder, server.room = sock, self, BoundedSemaphore(CONNECTIONS)
        self._servers.append(server)
        Thread(target=server.serve_forever, args=(0.05,), name="forwarder", daemon=True).start()

    def admit(self, asked: int) -> Reader:
        """Count a request of so many bytes; the reader of its answer, to be handed to `landed` whatever becomes of it. Raises
        MindError where the caps forbid it."""
        with self.counting:
            self.may_ask()
            self.meter.asked()
            reader = Reader(self.meter, asked=asked)
            with self._landed:
                self._under_way.add(reader)
        return reader

    def landed(self, reader: Reader) -> None:
        """Its answer has come, or will not."""
        reader.end()
        with self._landed:
            self._under_way.discard(reader)
            self._landed.notify_all()

    def finish(self, seconds: float) -> None:
        """Wait so long for answers that are under way, whoever still wants them; what has not come whole by then is estimated."""
        with self._landed:
            self._landed.wait_for(lambda: not self._under_way, seconds)
            left = list(self._under_way)
        for reader in left:
            reader.end()

    def close(self) -> None:
        """Answer nowhere any more, until another socket is given. Answers under way are read to their end: they cost what they
        cost."""
        for server in self._servers:
            server.shutdown()
            server.server_close()
        self._servers.clear()


class _Server(ThreadingHTTPServer):
    forwarder: Forwarder
    daemon_threads = True
    block_on_close = False
    room: BoundedSemaphore

    def process_request(self, request: Any, client_address: Any) -> None:
        if self.room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """An agent that hung up is no news."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str) -> None:
        return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = ANSWER_SECONDS
    server: _Server

    def do_GET(self) -> None:
        self._relay()

    def do_POST(self) -> None:
        self._relay()

    def do_HEAD(self) -> None:
        """Agents knock like this before they ask."""
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""

    def _relay(self) -> None:
        with self.server.forwarder.slots:
            self._relay_one()

    def _relay_one(self) -> None:
        forwarder = self.server.forwarder
        forwarder.heard = time.monotonic()
        body = self._body()
        if body is None:
            return self._refuse(413, "This request is too long, or its length is not told.")
        given = (self.headers.get("x-api-key"), self.headers.get("authorization", "").removeprefix("Bearer "))
        if not any(secrets.compare_digest((key or "").encode(), forwarder.token.encode()) for key in given):
            return self._refuse(401, "This relay is for one agent, by its token.")
        path = self.path.partition("?")[0]
        if path not in forwarder.endpoint.paths:
            return self._refuse(404, f"This relay leads to a model and nowhere else; {path[:99]} is not passed on.")
        if body:
            try:
                asked = json.loads(body)
                foreign = ", ".join(dict.fromkeys(outside(asked)))
                body = json.dumps(asked).encode()  # what was looked at is what is sent, whatever others make of doubled keys
            except (ValueError, RecursionError):
                return self._refuse(400, "What is passed on is JSON, not compressed and not too deep.")
            if foreign:
                return self._refuse(400, f"What the provider would run or fetch would reach outside; not passed on: {foreign}.")
        asks = self.command == "POST" and not path.endswith("/count_tokens")
        if not asks:
            return self._pass_on(body, None)
        try:
            reader = forwarder.admit(len(body))
        except MindError as reached:
            forwarder.stopped = str(reached)
            return self._refuse(400, str(reached))
        try:
            self._pass_on(body, reader)
        finally:
            forwarder.landed(reader)
        return None

    def _pass_on(self, body: bytes, reader: Reader | None) -> None:
        forwarder = self.server.forwarder
        headers = {
            name: value
            for name, value in self.headers.items()
            if name.lower() not in _NOT_PASSED_ON | {"x-api-key", "authorization"}
        }
        headers |= forwarder.endpoint.key
        request = urllib.request.Request(
            forwarder.endpoint.base + self.path, body if self.command == "POST" else None, headers, method=self.command
        )
        try:
            answer = forwarder.opener.open(request, timeout=ANSWER_SECONDS)
        except urllib.error.HTTPError as error:
            answer = error
        except (OSError, HTTPException, ValueError) as error:
            forwarder.failure = f"the model's endpoint cannot be reached ({getattr(error, 'reason', error)})"
            if reader is not None:
                reader.fail()
            return self._refuse(502, forwarder.failure)
        with answer:
            if reader is not None and answer.status >= 400:
                reader.fail()
                forwarder.failure = f"the model's endpoint answered {answer.status}"
            elif reader is not None:
                forwarder.failure = ""
                reader.streamed = "event-stream" in (answer.headers.get("content-type") or "")
            try:
                self._copy(answer, reader)
            except (OSError, HTTPException):
                self.close_connection = True
        return None

    def _copy(self, answer: Any, reader: Reader | None) -> None:
        """Pass an answer on. One that is counted is read to its end even when the agent has hung up: its cost is told last."""
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            if name.lower() not in _NOT_PASSED_ON | {"date", "server"}:
                self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        listens = self._say(b"", self.end_headers)
        while (listens or reader is not None) and (piece := answer.read1(_PIECE)):
            self.server.forwarder.heard = time.monotonic()
            if reader is not None:
                reader.feed(piece)
            listens = listens and self._say(b"%x\r\n%s\r\n" % (len(piece), piece))
        if reader is not None:
            reader.end()  # before the agent knows that it has heard all: its next command finds the cost written down
        if listens:
            self._say(b"0\r\n\r\n")

    def _say(self, data: bytes, first: Callable[[], None] = lambda: None) -> bool:
        """Whether the agent was still there to take it."""
        try:
            first()
            self.wfile.write(data)
        except OSError:
            self.close_connection = True
            return False
        return True

    def _body(self) -> bytes | None:
        """The body of the request, of a told length or in chunks; None where neither, or too long."""
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            pieces, total = [], 0
            with suppress(ValueError):
                while size := int(self.rfile.readline(99).split(b";")[0], 16):
                    total += size
                    if total > MAX_REQUEST:
                        return None
                    pieces.append(self.rfile.read(size))
                    self.rfile.readline(9)
                self.rfile.readline(9)
                return b"".join(pieces)
            return None
        try:
            length = int(self.headers.get("content-length", 0))
        except ValueError:
            return None
        return self.rfile.read(length) if 0 <= length <= MAX_REQUEST else None

    def _refuse(self, code: int, sentence: str) -> None:
        body = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": sentence}}).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True


def outside(asked: object) -> Iterator[str]:
    """What in a request the provider would run or fetch itself (search, code, shells, remote MCP, documents and images by address),
    and so would reach the world outside for the agent.

    It counts wherever it stands: whatever is in a list called `tools` is a tool, whatever ends in `_url` is fetched unless it is
    `data:`.
    """
    if isinstance(asked, dict):
        yield from (name for name in _HELD if asked.get(name))
    yield from _within(asked)


def _within(asked: object, tool: bool = False) -> Iterator[str]:
    """tool: `asked` is one, or several."""
    if isinstance(asked, list):
        for one in asked:
            yield from _within(one, tool)
    if not isinstance(asked, dict):
        return
    if tool and (foreign := _foreign(asked)):
        yield foreign
    for name, value in asked.items():
        if (name == "mcp_servers" and value) or (name in ("file_id", "file_ids") and value and not isinstance(value, dict)):
            yield name  # a stored file; a mapping of that name is what a tool says of its arguments
        if name.endswith("_url") and _leads_outside(value):
            yield f"{name} (only data: is)"
        if name == "source" and isinstance(value, dict) and value.get("type") in ("url", "file"):
            yield f"source of type {value['type']}"
        yield from _within(value, name == "tools" and isinstance(value, list))


def _foreign(tool: Mapping[str, Any]) -> str:
    """The kind of a tool that the agent's own program does not run; empty where it does."""
    kind = str(tool.get("type") or "custom")
    if not _OWN_TOOLS.fullmatch(kind):
        return kind[:99]
    where = tool.get("environment")
    if kind == "shell" and where is not None and not (isinstance(where, dict) and where.get("type") == "local"):
        return "shell that is not local"
    return ""


def _leads_outside(given: object) -> bool:
    address = given.get("url") if isinstance(given, dict) else given
    return isinstance(address, str) and not address.startswith("data:")
