"""The one way out of an agent's confinement: a loopback relay to its model's endpoint, which holds the key and counts the cost.

HTTP is spoken by uvicorn (to the agent) and httpx (to the model), on one event loop in a thread of its own. What may be asked, by
whom, how much of it and at what cost is decided here.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import ssl
import time
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, suppress
from functools import cache, cached_property
from threading import Condition, RLock, Thread
from typing import Any

import httpx
import uvicorn
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from lawbook.agents.runner.model_endpoint import ModelEndpoint
from lawbook.agents.runner.request_policy import ForbiddenRequestError, check_request
from lawbook.agents.runner.usage_meter import UsageMeter, UsageReader
from lawbook.errors import MindError

ANSWER_TIMEOUT_SECONDS = 900.0
"""Between two pieces of an answer; and for how long a connection that has shown the token may be idle."""
TOKEN_TIMEOUT_SECONDS = 10.0
"""From the start of a connection until it has shown the token."""
BODY_TIMEOUT_SECONDS = 60.0
"""For the whole of a request, once its head is there."""
MAX_REQUEST_BYTES = 64 << 20
MAX_HEAD_BYTES = 64 << 10
"""Of a request whose head is not yet whole; as much is heard of a stranger's request, for the refusal to reach it."""
MAX_CONCURRENT_REQUESTS = 4
"""Requests of one agent under way together; others wait. By so many can a cap be passed."""
MAX_CONNECTIONS = 64
"""Of one agent, together; for one more the oldest that has not shown the token is closed, or the new one if there is none."""
_UNFORWARDED_HEADERS = {
    b"connection",
    b"keep-alive",
    b"transfer-encoding",
    b"te",
    b"trailer",
    b"upgrade",
    b"host",
    b"content-length",
    b"accept-encoding",
}


class ModelProxy:
    """Relays an agent's requests to its model. The agent is given `token` for a key: the real one never leaves this process.

    may_ask: called before every request, raises MindError where the run's caps forbid another; `stopped` is then its sentence.
    counting: held from there until the request is counted, so that no two are let through where there is room for one; agents that
    share caps share it. Every socket that it is given is served by a thread of this module's.
    """

    def __init__(self, endpoint: ModelEndpoint, meter: UsageMeter, check_caps: Callable[[], None] = lambda: None) -> None:
        self.endpoint, self.meter, self.check_caps = endpoint, meter, check_caps
        self.cost_lock: AbstractContextManager[object] = RLock()
        self._answer_finished, self._open_readers = Condition(), set[UsageReader]()
        self.token = f"lawbook-{secrets.token_hex(16)}"
        self.stop_reason = ""
        self.failure = ""
        self.last_activity_at = 0.0
        """When the last piece of a request or an answer passed (time.monotonic)."""
        self.server_config = uvicorn.Config(
            self._answer,
            interface="asgi3",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",  # what an agent or a stranger sends is no news for the terminal
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=int(ANSWER_TIMEOUT_SECONDS),
            h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        )
        self.server_config.load()
        self.server_state, self.strangers = ServerState(), dict[_Connection, None]()
        self._request_slots = asyncio.Semaphore(MAX_CONCURRENT_REQUESTS)
        self._listeners: list[asyncio.Server] = []

    def serve(self, sock: socket.socket) -> None:
        """Answer on a listening socket, which may belong to another network namespace. It is closed at `close`."""
        self._listeners.append(_run_in_loop(self._listen(sock)))

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
        if self._listeners:
            _run_in_loop(self._hang_up())

    # -- on the event loop -------------------------------------------------------------------------------------------------------

    async def _listen(self, sock: socket.socket) -> asyncio.Server:
        return await asyncio.get_running_loop().create_server(lambda: _Connection(self), sock=sock)

    async def _hang_up(self) -> None:
        for listener in self._listeners:
            listener.close()
        self._listeners.clear()
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request (ASGI)."""
        request, connection = Request(scope, receive), scope["state"]["connection"]
        try:
            if request.method == "HEAD":  # agents knock like this before they ask
                return await Response(status_code=404, headers={"connection": "close"})(scope, receive, send)
            if not self._has_token(request):
                with suppress(_RefusalError):
                    await _read_body(request, MAX_HEAD_BYTES, TOKEN_TIMEOUT_SECONDS)
                raise _RefusalError(401, "This relay is for one agent, by its token.")
            connection.welcome()
            async with self._request_slots:
                await self._relay(request, _make_patient_send(send, connection))
        except _RefusalError as refusal:
            error = {"type": "invalid_request_error", "message": refusal.sentence}
            await JSONResponse({"type": "error", "error": error}, refusal.code, {"connection": "close"})(scope, receive, send)
        except ClientDisconnect:
            pass
        return None

    def _has_token(self, request: Request) -> bool:
        presented_keys = request.headers.get("x-api-key", ""), request.headers.get("authorization", "").removeprefix("Bearer ")
        return any(secrets.compare_digest(key.encode(), self.token.encode()) for key in presented_keys)

    async def _relay(self, request: Request, send: Send) -> None:
        """Pass on a request of the agent's, when it may be."""
        self.last_activity_at = time.monotonic()
        body = await _read_body(request, MAX_REQUEST_BYTES, BODY_TIMEOUT_SECONDS)
        path = request.scope["raw_path"].decode("ascii")
        if request.method not in ("GET", "POST"):
            raise _RefusalError(501, "This relay passes on GET and POST.")
        if path not in self.endpoint.paths:
            raise _RefusalError(404, f"This relay leads to a model and nowhere else; {path[:99]} is not passed on.")
        if body:
            try:
                body = await asyncio.to_thread(check_request, body)
            except ForbiddenRequestError as error:
                raise _RefusalError(400, str(error)) from error
        is_model_call = request.method == "POST" and not path.endswith("/count_tokens")
        if not is_model_call:
            return await self._forward_request(request, body, None, send)
        try:
            reader = await asyncio.to_thread(self.admit_request, len(body))  # it may wait for costs to be written down
        except MindError as cap_error:
            self.stop_reason = str(cap_error)
            raise _RefusalError(400, str(cap_error)) from cap_error
        try:
            await self._forward_request(request, body, reader, send)
        finally:
            self.finish_answer(reader)
        return None

    async def _forward_request(self, request: Request, body: bytes, reader: UsageReader | None, send: Send) -> None:
        unforwarded = _UNFORWARDED_HEADERS | {b"x-api-key", b"authorization"}
        headers = [(name, value) for name, value in request.headers.raw if name not in unforwarded]
        target = request.scope["raw_path"] + (b"?" + request.scope["query_string"] if request.scope["query_string"] else b"")
        try:
            key_headers = [(name.encode(), value.encode()) for name, value in self.endpoint.key_headers.items()]
            response = await self._client.send(
                httpx.Request(
                    request.method,
                    self.endpoint.base_url + target.decode("ascii"),
                    headers=[*headers, *key_headers, (b"accept-encoding", b"identity")],
                    content=body if request.method == "POST" else None,
                ),
                stream=True,
            )
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, ImportError) as error:
            self.failure = f"the model's endpoint cannot be reached ({_describe_error(error)})"
            if reader is not None:
                reader.fail()
            raise _RefusalError(502, self.failure) from error
        try:
            if reader is not None and response.status_code >= 400:
                reader.fail()
                self.failure = f"the model's endpoint answered {response.status_code}"
            elif reader is not None:
                self.failure = ""
                reader.is_streamed = "event-stream" in response.headers.get("content-type", "")
            with suppress(httpx.HTTPError):  # it broke off: uvicorn closes the connection of an answer without an end
                await self._copy_response(response, reader, send)
        finally:
            await response.aclose()

    async def _copy_response(self, response: httpx.Response, reader: UsageReader | None, send: Send) -> None:
        """Pass an answer on. It is read to its end even when the agent has hung up (uvicorn then sends nothing): its cost is told
        last."""
        unforwarded = _UNFORWARDED_HEADERS | {b"date", b"server"}
        headers = [(name, value) for name, value in response.headers.raw if name.lower() not in unforwarded]
        await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
        async for chunk in response.aiter_raw():
            self.last_activity_at = time.monotonic()
            if reader is not None:
                reader.feed(chunk)
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        if reader is not None:
            reader.end()  # before the agent knows that it has heard all: its next command finds the cost written down
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    @cached_property
    def _client(self) -> httpx.AsyncClient:
        """Every answer has a connection of its own, and the machine's own certificates are trusted."""
        return httpx.AsyncClient(
            verify=ssl.create_default_context(),
            timeout=httpx.Timeout(ANSWER_TIMEOUT_SECONDS, pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
        )


class _Connection(H11Protocol):
    """Somebody who found the port: a stranger, cut off in time, until it has shown the token."""

    def __init__(self, proxy: ModelProxy) -> None:
        super().__init__(proxy.server_config, proxy.server_state, {"connection": self})
        self._proxy = proxy
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn narrows it
        super().connection_made(transport)
        self._proxy.strangers[self] = None
        self._deadline = self.loop.call_later(TOKEN_TIMEOUT_SECONDS, transport.abort)
        if len(self.connections) > MAX_CONNECTIONS:
            oldest_stranger = next(iter(self._proxy.strangers))
            oldest_stranger.transport.abort()
            oldest_stranger.forget()

    def connection_lost(self, exc: Exception | None) -> None:
        self.forget()
        super().connection_lost(exc)

    def welcome(self) -> None:
        """It has shown the token."""
        self._proxy.strangers.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()

    def forget(self) -> None:
        """It has gone, or will any moment: it counts no more."""
        self.welcome()
        self.connections.discard(self)


class _RefusalError(Exception):
    """A request that is not passed on: HTTP status, and the sentence for the agent."""

    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code, self.sentence = code, sentence


async def _read_body(request: Request, max_bytes: int, seconds: float) -> bytes:
    """The body of a request. Raises _RefusalError for one that is too long or takes too long, ClientDisconnect."""
    too_long = _RefusalError(413, "This request is too long.")
    if int(request.headers.get("content-length", 0)) > max_bytes:  # a number: h11 has seen to that
        raise too_long
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for piece in request.stream():
                body += piece
                if len(body) > max_bytes:
                    raise too_long
    except TimeoutError as error:
        raise _RefusalError(408, f"This request did not come to its end in {seconds:g} seconds.") from error
    return bytes(body)


def _make_patient_send(send: Send, connection: _Connection) -> Send:
    """Sends, and hangs up on an agent that takes nothing any more."""

    async def send_in_time(message: Message) -> None:
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_SECONDS):
                await send(message)
        except TimeoutError:
            connection.transport.abort()

    return send_in_time


def _describe_error(error: BaseException) -> str:
    """The system's words for what went wrong, from below those of the libraries; none that hold a header, which may be the key."""
    if isinstance(error, httpx.LocalProtocolError):
        return "HTTP does not allow one of its headers; look at the key"
    cause = error
    while (inner := cause.exceptions[-1] if isinstance(cause, BaseExceptionGroup) else cause.__cause__) is not None:
        cause = inner
    return str(cause) or type(error).__name__


@cache
def _get_loop() -> asyncio.AbstractEventLoop:
    """The loop of all the relays of this process; answers that nobody waits for end on it, or with the process."""
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # an agent that hung up is no news
    Thread(target=loop.run_forever, name="model-proxy", daemon=True).start()
    return loop


def _run_in_loop[T](coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run_coroutine_threadsafe(coroutine, _get_loop()).result()
