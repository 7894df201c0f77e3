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

from lawbook.agents.runner.usage_meter import UsageMeter, UsageReader
from lawbook.errors import MindError

ANSWER_TIMEOUT_SECONDS = 900.0
"""Between two pieces of an answer."""
MAX_REQUEST_BYTES = 64 << 20
MAX_CONCURRENT_REQUESTS = 4
"""Requests of one agent under way together; others wait. By so many can a cap be passed."""
MAX_CONNECTIONS = 64
"""Of one agent, together; one more is closed."""
_CHUNK_BYTES = 1 << 16
_UNFORWARDED_HEADERS = {
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
_AGENT_TOOLS = re.compile(
    r"custom|function|namespace|local_shell|shell|apply_patch|tool_search|computer|computer_use_preview"
    r"|(bash|text_editor|memory|computer|tool_search_tool_regex|tool_search_tool_bm25)_\d{8}"
)
"""The kinds of tools that the agent's own program runs, or that only look through those; a date is Anthropic's version."""
_PROVIDER_STATE_FIELDS = ("container", "prompt", "background")
"""What at the top of a request is the provider's own: a container, a stored prompt with its tools, an answer nobody waits for."""


@dataclass(frozen=True)
class ModelEndpoint:
    """Where a model answers. base_url: URL that a path is put behind; key_headers: the headers that hold it; paths: what may be
    asked there."""

    base_url: str
    key_headers: Mapping[str, str]
    paths: tuple[str, ...]


class ModelProxy:
    """Relays an agent's requests to its model. The agent is given `token` for a key: the real one never leaves this process.

    check_caps: called before every request, raises MindError where the run's caps forbid another; `stopped` is then its sentence.
    cost_lock: held from there until the request is counted, so that no two are let through where there is room for one; agents that
    share caps share it. Threads of its own serve every socket that it is given.
    """

    def __init__(self, endpoint: ModelEndpoint, meter: UsageMeter, check_caps: Callable[[], None] = lambda: None) -> None:
        self.endpoint, self.meter, self.check_caps = endpoint, meter, check_caps
        self.cost_lock: AbstractContextManager[object] = RLock()
        self.request_slots = BoundedSemaphore(MAX_CONCURRENT_REQUESTS)
        self._answer_finished, self._open_readers = Condition(), set[UsageReader]()
        self.token = f"lawbook-{secrets.token_hex(16)}"
        self.stop_reason = ""
        self.failure = ""
        self.last_activity_at = 0.0
        """When the last piece of a request or an answer passed (time.monotonic)."""
        self.opener = urllib.request.build_opener(_NoRedirect)
        self._servers: list[ThreadingHTTPServer] = []

    def serve(self, sock: socket.socket) -> None:
        """Answer on a listening socket, which may belong to another network namespace. It is closed at `close`."""
        server = _ProxyServer(("127.0.0.1", 0), _ProxyHandler, bind_and_activate=False)
        server.socket.close()
        server.socket, server.proxy, server.connection_slots = sock, self, BoundedSemaphore(MAX_CONNECTIONS)
        self._servers.append(server)
        Thread(target=server.serve_forever, args=(0.05,), name="forwarder", daemon=True).start()

    def admit_request(self, request_bytes: int) -> UsageReader:
        """Count a request of so many bytes; the reader of its answer, to be handed to `finish_answer` whatever becomes of it.
        Raises MindError where the caps forbid it."""
        with self.cost_lock:
            self.check_caps()
            self.meter.count_request()
            reader = UsageReader(self.meter, request_bytes=request_bytes)
            with self._answer_finished:
                self._open_readers.add(reader)
        return reader

    def finish_answer(self, reader: UsageReader) -> None:
        """Its answer has come, or will not."""
        reader.end()
        with self._answer_finished:
            self._open_readers.discard(reader)
            self._answer_finished.notify_all()

    def wait_for_answers(self, seconds: float) -> None:
        """Wait so long for answers that are under way, whoever still wants them; what has not come whole by then is estimated."""
        with self._answer_finished:
            self._answer_finished.wait_for(lambda: not self._open_readers, seconds)
            unfinished = list(self._open_readers)
        for reader in unfinished:
            reader.end()

    def close(self) -> None:
        """Answer nowhere any more, until another socket is given. Answers under way are read to their end: they cost what they
        cost."""
        for server in self._servers:
            server.shutdown()
            server.server_close()
        self._servers.clear()


class _ProxyServer(ThreadingHTTPServer):
    proxy: ModelProxy
    daemon_threads = True
    block_on_close = False
    connection_slots: BoundedSemaphore

    def process_request(self, request: Any, client_address: Any) -> None:
        if self.connection_slots.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.connection_slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """An agent that hung up is no news."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str) -> None:
        return None


class _ProxyHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = ANSWER_TIMEOUT_SECONDS
    server: _ProxyServer

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
        with self.server.proxy.request_slots:
            self._relay_one()

    def _relay_one(self) -> None:
        proxy = self.server.proxy
        proxy.last_activity_at = time.monotonic()
        body = self._read_body()
        if body is None:
            return self._refuse(413, "This request is too long, or its length is not told.")
        presented_keys = (self.headers.get("x-api-key"), self.headers.get("authorization", "").removeprefix("Bearer "))
        if not any(secrets.compare_digest((key or "").encode(), proxy.token.encode()) for key in presented_keys):
            return self._refuse(401, "This relay is for one agent, by its token.")
        path = self.path.partition("?")[0]
        if path not in proxy.endpoint.paths:
            return self._refuse(404, f"This relay leads to a model and nowhere else; {path[:99]} is not passed on.")
        if body:
            try:
                request = json.loads(body)
                external_access = ", ".join(dict.fromkeys(find_external_access(request)))
                body = json.dumps(request).encode()  # what was looked at is what is sent, whatever others make of doubled keys
            except (ValueError, RecursionError):
                return self._refuse(400, "What is passed on is JSON, not compressed and not too deep.")
            if external_access:
                return self._refuse(
                    400, f"What the provider would run or fetch would reach outside; not passed on: {external_access}."
                )
        is_model_call = self.command == "POST" and not path.endswith("/count_tokens")
        if not is_model_call:
            return self._forward_request(body, None)
        try:
            reader = proxy.admit_request(len(body))
        except MindError as cap_error:
            proxy.stop_reason = str(cap_error)
            return self._refuse(400, str(cap_error))
        try:
            self._forward_request(body, reader)
        finally:
            proxy.finish_answer(reader)
        return None

    def _forward_request(self, body: bytes, reader: UsageReader | None) -> None:
        proxy = self.server.proxy
        headers = {
            name: value
            for name, value in self.headers.items()
            if name.lower() not in _UNFORWARDED_HEADERS | {"x-api-key", "authorization"}
        }
        headers |= proxy.endpoint.key_headers
        request = urllib.request.Request(
            proxy.endpoint.base_url + self.path, body if self.command == "POST" else None, headers, method=self.command
        )
        try:
            response = proxy.opener.open(request, timeout=ANSWER_TIMEOUT_SECONDS)
        except urllib.error.HTTPError as error:
            response = error
        except (OSError, HTTPException, ValueError) as error:
            proxy.failure = f"the model's endpoint cannot be reached ({getattr(error, 'reason', error)})"
            if reader is not None:
                reader.fail()
            return self._refuse(502, proxy.failure)
        with response:
            if reader is not None and response.status >= 400:
                reader.fail()
                proxy.failure = f"the model's endpoint answered {response.status}"
            elif reader is not None:
                proxy.failure = ""
                reader.is_streamed = "event-stream" in (response.headers.get("content-type") or "")
            try:
                self._copy_response(response, reader)
            except (OSError, HTTPException):
                self.close_connection = True
        return None

    def _copy_response(self, response: Any, reader: UsageReader | None) -> None:
        """Pass an answer on. One that is counted is read to its end even when the agent has hung up: its cost is told last."""
        self.send_response(response.status)
        for name, value in response.headers.items():
            if name.lower() not in _UNFORWARDED_HEADERS | {"date", "server"}:
                self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        is_connected = self._try_write(b"", self.end_headers)
        while (is_connected or reader is not None) and (chunk := response.read1(_CHUNK_BYTES)):
            self.server.proxy.last_activity_at = time.monotonic()
            if reader is not None:
                reader.feed(chunk)
            is_connected = is_connected and self._try_write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        if reader is not None:
            reader.end()  # before the agent knows that it has heard all: its next command finds the cost written down
        if is_connected:
            self._try_write(b"0\r\n\r\n")

    def _try_write(self, data: bytes, before_write: Callable[[], None] = lambda: None) -> bool:
        """Whether the agent was still there to take it."""
        try:
            before_write()
            self.wfile.write(data)
        except OSError:
            self.close_connection = True
            return False
        return True

    def _read_body(self) -> bytes | None:
        """The body of the request, of a told length or in chunks; None where neither, or too long."""
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            chunks, n_bytes = [], 0
            with suppress(ValueError):
                while size := int(self.rfile.readline(99).split(b";")[0], 16):
                    n_bytes += size
                    if n_bytes > MAX_REQUEST_BYTES:
                        return None
                    chunks.append(self.rfile.read(size))
                    self.rfile.readline(9)
                self.rfile.readline(9)
                return b"".join(chunks)
            return None
        try:
            length = int(self.headers.get("content-length", 0))
        except ValueError:
            return None
        return self.rfile.read(length) if 0 <= length <= MAX_REQUEST_BYTES else None

    def _refuse(self, code: int, sentence: str) -> None:
        body = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": sentence}}).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True


def find_external_access(request: object) -> Iterator[str]:
    """What in a request the provider would run or fetch itself (search, code, shells, remote MCP, documents and images by address),
    and so would reach the world outside for the agent.

    It counts wherever it stands: whatever is in a list called `tools` is a tool, whatever ends in `_url` is fetched unless it is
    `data:`.
    """
    if isinstance(request, dict):
        yield from (name for name in _PROVIDER_STATE_FIELDS if request.get(name))
    yield from _walk_external_access(request)


def _walk_external_access(node: object, is_tool: bool = False) -> Iterator[str]:
    """is_tool: `asked` is one, or several."""
    if isinstance(node, list):
        for entry in node:
            yield from _walk_external_access(entry, is_tool)
    if not isinstance(node, dict):
        return
    if is_tool and (foreign_kind := _find_foreign_kind(node)):
        yield foreign_kind
    for name, value in node.items():
        if (name == "mcp_servers" and value) or (name in ("file_id", "file_ids") and value and not isinstance(value, dict)):
            yield name  # a stored file; a mapping of that name is what a tool says of its arguments
        if name.endswith("_url") and _is_external_url(value):
            yield f"{name} (only data: is)"
        if name == "source" and isinstance(value, dict) and value.get("type") in ("url", "file"):
            yield f"source of type {value['type']}"
        yield from _walk_external_access(value, name == "tools" and isinstance(value, list))


def _find_foreign_kind(tool: Mapping[str, Any]) -> str:
    """The kind of a tool that the agent's own program does not run; empty where it does."""
    kind = str(tool.get("type") or "custom")
    if not _AGENT_TOOLS.fullmatch(kind):
        return kind[:99]
    environment = tool.get("environment")
    if kind == "shell" and environment is not None and not (isinstance(environment, dict) and environment.get("type") == "local"):
        return "shell that is not local"
    return ""


def _is_external_url(value: object) -> bool:
    address = value.get("url") if isinstance(value, dict) else value
    return isinstance(address, str) and not address.startswith("data:")
