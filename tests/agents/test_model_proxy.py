"""The relay to a model: one agent, one endpoint, no tools that reach outside; the key stays here, and what is spent is counted."""

from __future__ import annotations

import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mock_models import Fail, MockModel, Say, Turn

from lawbook.agents.runner.claude import Claude
from lawbook.agents.runner.codex import Codex
from lawbook.agents.runner.model_endpoint import ModelEndpoint
from lawbook.agents.runner.model_prices import price_tokens
from lawbook.agents.runner.model_proxy import MAX_CONCURRENT_REQUESTS, ModelProxy
from lawbook.agents.runner.request_policy import find_external_access
from lawbook.agents.runner.usage_meter import UsageMeter, UsageReader, normalize_usage
from lawbook.errors import MindError, UsageError

ASKED = {
    "model": "claude-sonnet-4-5",
    "messages": [{"role": "user", "content": "hello"}],
    "tools": [{"name": "Bash"}],
    "max_tokens": 9,
}


def per_token(model: str, tokens: Mapping[str, int]) -> float | None:
    return 0.5 * sum(tokens.values()) if model.startswith("claude") else None


@pytest.fixture
def mock() -> Iterator[MockModel]:
    def script(turn: Turn) -> Say | Fail:
        return Fail(529) if "fail" in turn.prompt else Say("hello yourself")

    with MockModel(script) as model:
        yield model


@pytest.fixture
def relay(mock: MockModel) -> Iterator[ModelProxy]:
    endpoint = Claude().find_endpoint({"ANTHROPIC_BASE_URL": mock.base, "ANTHROPIC_API_KEY": "the key"})
    forwarder = ModelProxy(endpoint, UsageMeter(per_token))
    yield forwarder
    forwarder.close()


def ask(
    forwarder: ModelProxy, body: Any = ASKED, path: str = "/v1/messages", token: str | None = None, **headers: str
) -> tuple[int, str]:
    """Status and body of the answer."""
    sock = socket.create_server(("127.0.0.1", 0))
    forwarder.serve(sock)
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {"x-api-key": forwarder.token if token is None else token, "content-type": "application/json", **headers}
    request = urllib.request.Request(f"http://127.0.0.1:{sock.getsockname()[1]}{path}", data, named)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_passes_and_is_counted_and_the_key_is_put_in_here(relay: ModelProxy, mock: MockModel, stream: bool) -> None:
    status, said = ask(relay, {**ASKED, "stream": stream}, path="/v1/messages?beta=true")
    assert status == 200 and "hello yourself" in said
    path, headers, body = mock.seen[-1]
    assert path == "/v1/messages?beta=true" and body == {**ASKED, "stream": stream}
    assert {name.lower(): value for name, value in headers.items()}["x-api-key"] == "the key"
    spent = {"input_tokens": 1200, "cached_tokens": 200, "output_tokens": 50}
    assert relay.meter.build_receipt() == {**spent, "requests": 1, "model": "claude-sonnet-4-5", "dollars": 0.5 * 1450}
    assert relay.meter.has_answers
    receipt, seconds = relay.meter.take_receipt()
    assert receipt == {**spent, "requests": 1, "model": "claude-sonnet-4-5", "dollars": 0.5 * 1450} and 0 < seconds < 20
    assert relay.meter.take_receipt() == ({}, 0.0) and not relay.meter.has_answers


@pytest.mark.parametrize("token", ["", "the key", "lawbook-0"])
def test_nobody_else_is_let_through(relay: ModelProxy, mock: MockModel, token: str) -> None:
    assert ask(relay, token=token)[0] == 401
    assert ask(relay, token="", Authorization=f"Bearer {relay.token}")[0] == 200
    assert len(mock.seen) == 1


@pytest.mark.parametrize("path", ["/v1/files", "/v1/messages/batches", "/", "/v1/messages/../files", "//evil.example/v1/messages"])
def test_it_leads_to_a_model_and_nowhere_else(relay: ModelProxy, mock: MockModel, path: str) -> None:
    assert ask(relay, path=path)[0] == 404
    assert mock.seen == []


OUTSIDE = [
    {"type": "web_search_20250305", "name": "web_search"},
    {"type": "web_fetch_20250910", "name": "web_fetch"},
    {"type": "code_execution_20250825", "name": "code_execution"},
    {"type": "web_search"},
    {"type": "mcp", "server_url": "https://example.com"},
    {"type": "code_interpreter"},
    {"type": "file_search"},
    {"type": "namespace", "name": "x", "tools": [{"type": "web_search"}]},
    {"type": "bash_code_execution_20250825", "name": "x"},  # begins like a tool of the agent's own
    {"type": "custom_search"},
    {"type": "shell", "environment": {"type": "container_auto"}},
    {"type": "shell", "environment": {"type": "container_reference", "container_id": "x"}},
    {"type": "shell", "environment": "container_auto"},
]


@pytest.mark.parametrize("tool", OUTSIDE, ids=lambda tool: tool["type"])
@pytest.mark.parametrize("place", [lambda t: {"tools": [t]}, lambda t: {"input": [{"type": "additional_tools", "tools": [{}, t]}]}])
def test_tools_that_the_provider_runs_are_not_passed_on(
    relay: ModelProxy, mock: MockModel, tool: dict[str, Any], place: Any
) -> None:
    status, said = ask(relay, {**ASKED, **place(tool)})
    assert status == 400 and "reach outside" in said
    assert mock.seen == []


@pytest.mark.parametrize(
    "tool",
    [
        *({"type": kind, "name": "x"} for kind in ("custom", "function", "local_shell", "shell", "apply_patch", "tool_search")),
        *({"type": f"{kind}_20250728", "name": "x"} for kind in ("bash", "text_editor", "memory", "tool_search_tool_regex")),
        {"type": "shell", "environment": {"type": "local"}},
        {"name": "fetch", "input_schema": {"properties": {"file_url": {"type": "string"}, "file_id": {"type": "string"}}}},
    ],
    ids=str,
)
def test_tools_that_the_agents_own_program_runs_are_passed_on(tool: dict[str, Any]) -> None:
    assert [*find_external_access({**ASKED, "tools": [tool]})] == []


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image", "source": {"type": "url", "url": "https://example.com/x.png"}},
        {"type": "document", "source": {"type": "url", "url": "https://example.com/x.pdf"}},
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "tool_result", "content": [{"type": "image", "source": {"type": "url", "url": "https://example.com"}}]},
        {"type": "input_file", "file_url": "https://example.com/x.pdf"},
        {"type": "input_file", "file_id": "file-1"},
        {"type": "input_image", "image_url": "https://example.com/x.png"},
        {"type": "image_url", "image_url": {"url": "http://example.com/x.png"}},
    ],
    ids=str,
)
def test_what_the_provider_would_fetch_is_not_passed_on(relay: ModelProxy, mock: MockModel, part: dict[str, Any]) -> None:
    for body in ({"messages": [{"role": "user", "content": [part]}]}, {"input": [{"role": "user", "content": [part]}]}):
        status, said = ask(relay, {**ASKED, **body})
        assert status == 400 and "reach outside" in said
    assert mock.seen == []


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aaaa"}},
        {"type": "input_image", "image_url": "data:image/png;base64,aaaa"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aaaa"}},
        {"type": "input_file", "file_data": "data:application/pdf;base64,aaaa"},
        {"type": "text", "text": "see https://example.com"},
    ],
    ids=str,
)
def test_what_is_sent_whole_is_passed_on(part: dict[str, Any]) -> None:
    assert [*find_external_access({**ASKED, "messages": [{"role": "user", "content": [part]}]})] == []


@pytest.mark.parametrize("held", [{"container": "c_1"}, {"prompt": {"id": "pmpt_1"}}, {"background": True}], ids=str)
def test_what_the_provider_holds_is_not_used(held: dict[str, Any]) -> None:
    assert [*find_external_access({**ASKED, **held})] == [*held]


# -- what is counted when things go wrong ----------------------------------------------------------------------------------------


class Slow:
    """A model that begins its answers, and goes on when it is told to: to the end, or it hangs up."""

    def __init__(self, breaks: bool = False) -> None:
        self.breaks, self.go = breaks, threading.Event()
        self.now = self.most = 0
        self.lock = threading.Lock()
        slow = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                with slow.lock:
                    slow.now += 1
                    slow.most = max(slow.most, slow.now)
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                usage = {"input_tokens": 700, "output_tokens": 1}
                self.say({"type": "message_start", "message": {"model": "claude-x", "usage": usage}})
                slow.go.wait(30)
                with slow.lock:
                    slow.now -= 1
                if not slow.breaks:
                    for _ in range(50):
                        self.say({"type": "content_block_delta", "delta": {"text": "x" * 10_000}})
                    self.say({"type": "message_delta", "usage": {"output_tokens": 300}})
                    self.say({"type": "message_stop"})

            def say(self, event: dict[str, Any]) -> None:
                self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
                self.wfile.flush()

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.relay = ModelProxy(
            ModelEndpoint(f"http://127.0.0.1:{self.server.server_address[1]}", {}, ("/v1/messages",)), UsageMeter(per_token)
        )

    def __enter__(self) -> Slow:
        return self

    def __exit__(self, *_: object) -> None:
        self.go.set()
        self.relay.close()
        self.server.shutdown()
        self.server.server_close()

    def begun(self) -> socket.socket:
        """An agent that has asked, and has heard the beginning of its answer."""
        sock = socket.create_server(("127.0.0.1", 0))
        self.relay.serve(sock)
        agent = socket.create_connection(sock.getsockname())
        body = json.dumps({**ASKED, "stream": True}).encode()
        head = f"POST /v1/messages HTTP/1.1\r\nhost: relay\r\nx-api-key: {self.relay.token}\r\ncontent-length: {len(body)}\r\n\r\n"
        agent.sendall(head.encode() + body)
        heard = b""
        while b"message_start" not in heard:
            piece = agent.recv(65536)
            assert piece, heard
            heard += piece
        return agent


def test_an_answer_that_the_agent_does_not_wait_for_is_counted_whole() -> None:
    with Slow() as model:
        model.begun().close()
        model.go.set()
        model.relay.wait_for_answers(20)
        told = {"input_tokens": 700, "output_tokens": 300}
        assert model.relay.meter.build_receipt() == {**told, "requests": 1, "model": "claude-x", "dollars": 500.0}


@pytest.mark.parametrize("breaks", [True, False])
def test_an_answer_without_an_end_is_estimated_and_has_no_price(breaks: bool) -> None:
    """It breaks off; or it does not come in time, and comes later."""
    with Slow(breaks) as model, model.begun():
        if breaks:
            model.go.set()
        model.relay.wait_for_answers(20 if breaks else 0.1)
        receipt = model.relay.meter.build_receipt()
        assert "dollars" not in receipt and receipt["estimated"] == 1 and receipt["requests"] == 1
        assert receipt["input_tokens"] == 700 and int(receipt["output_tokens"]) > 1
        model.go.set()
        model.relay.wait_for_answers(20)
        assert model.relay.meter.build_receipt() == receipt  # no answer counts twice


def test_a_request_whose_answer_tells_nothing_is_estimated_by_its_size() -> None:
    meter = UsageMeter(per_token)
    reader = UsageReader(meter, request_bytes=4000)
    reader.feed(b"<html>an answer of somebody's proxy</html>")
    reader.end()
    assert meter.build_receipt() == {"input_tokens": 1000, "output_tokens": 11, "estimated": 1, "requests": 0}


def test_a_failure_in_the_middle_of_an_answer_is_one(mock: MockModel) -> None:
    meter = UsageMeter(per_token)
    reader = UsageReader(meter, is_streamed=True, request_bytes=4000)
    for event in ({"type": "message_start", "message": {"model": "claude-x", "usage": {"input_tokens": 8}}}, {"type": "error"}):
        reader.feed(f"data: {json.dumps(event)}\n\n".encode())
    reader.end()
    assert meter.build_receipt() == {"input_tokens": 8, "failures": 1, "requests": 0, "model": "claude-x", "dollars": 4.0}


def test_a_cap_lets_no_two_through_where_there_is_room_for_one(relay: ModelProxy, mock: MockModel) -> None:
    def one() -> None:
        asked = relay.meter.build_receipt().get("requests", 0)
        time.sleep(0.05)  # time enough for the others to look too
        if int(asked) >= 1:
            raise MindError("The cap of 1 call is reached.")

    relay.check_caps = one
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(lambda _: ask(relay)[0], range(8))]
    assert sorted(answers) == [200] + [400] * 7 and len(mock.seen) == 1


def test_so_many_requests_are_under_way_at_once_and_the_others_wait() -> None:
    with Slow() as model, ThreadPoolExecutor(9) as pool:
        asked = [pool.submit(ask, model.relay, {**ASKED, "stream": True}) for _ in range(9)]
        until = time.monotonic() + 20
        while model.now < MAX_CONCURRENT_REQUESTS and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.2)
        assert model.most == MAX_CONCURRENT_REQUESTS == int(model.relay.meter.build_receipt()["requests"])
        model.go.set()
        assert [one.result()[0] for one in asked] == [200] * 9
        assert model.most <= MAX_CONCURRENT_REQUESTS and model.relay.meter.build_receipt()["requests"] == 9


def test_what_was_looked_at_is_what_is_sent(relay: ModelProxy, mock: MockModel) -> None:
    """A key twice in one object means one thing to one reader and another to the next."""
    tricky = b'{"tools": [{"type": "web_search"}], "tools": [], "messages": [], "model": "claude", "max_tokens": 1}'
    assert ask(relay, tricky)[0] == 200
    assert mock.seen[-1][2]["tools"] == []
    assert ask(relay, b"\x28\xb5\x2f\xfd compressed")[0] == 400
    assert ask(relay, {**ASKED, "mcp_servers": [{"url": "https://example.com"}]})[0] == 400
    assert len(mock.seen) == 1


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


@given(JSON)
def test_a_request_without_tools_has_none(asked: object) -> None:
    assert [*find_external_access(asked)] == []


def test_a_cap_stops_it_and_failures_are_told(relay: ModelProxy, mock: MockModel) -> None:
    assert ask(relay, {**ASKED, "messages": [{"role": "user", "content": "fail"}]})[0] == 529
    assert relay.meter.take_receipt()[0] == {"requests": 1, "failures": 1, "dollars": 0.0} and "529" in relay.failure

    def reached() -> None:
        raise MindError("The cap of $1.00 is reached.")

    relay.check_caps = reached
    status, said = ask(relay)
    assert status == 400 and "The cap of $1.00 is reached." in said and relay.stop_reason
    assert len(mock.seen) == 1


def test_an_endpoint_that_is_not_there_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    forwarder = ModelProxy(ModelEndpoint(f"http://127.0.0.1:{port}", {}, ("/v1/messages",)), UsageMeter(per_token))
    status, said = ask(forwarder)
    forwarder.close()
    assert status == 502 and "cannot be reached" in said and "cannot be reached" in forwarder.failure


@given(st.integers(1, 400), st.data())
def test_a_stream_is_counted_however_it_is_cut(size: int, data: st.DataObject) -> None:
    events = [
        {"type": "message_start", "message": {"model": "claude-x", "usage": {"input_tokens": 7, "cache_creation_input_tokens": 5}}},
        {"type": "content_block_delta", "delta": {"text": "data: {\"usage\": {\"output_tokens\": 99999}}\n\n"}},
        {"type": "message_delta", "usage": {"output_tokens": 30}},
    ]  # fmt: skip
    stream = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
    meter = UsageMeter(per_token)
    reader = UsageReader(meter, is_streamed=True)
    for at in range(0, len(stream), size):
        reader.feed(stream[at : at + size])
    reader.end()
    found = meter.build_receipt()
    assert {name: found[name] for name in ("input_tokens", "cache_write_tokens", "output_tokens")} == {
        "input_tokens": 12,
        "cache_write_tokens": 5,
        "output_tokens": 30,
    }


def test_both_providers_count_alike() -> None:
    anthropic = {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 5}
    openai = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 90}, "output_tokens": 5}
    assert normalize_usage(anthropic) == normalize_usage(openai) == {"input_tokens": 100, "cached_tokens": 90, "output_tokens": 5}
    assert normalize_usage({"input_tokens": "many", "output_tokens": -3}) == {}


def test_a_price_that_nobody_knows_leaves_the_sum_untold() -> None:
    meter = UsageMeter(price_tokens)
    meter.add_answer("claude-sonnet-4-5", {"input_tokens": 1_000_000})
    assert float(meter.build_receipt()["dollars"]) > 0
    meter.add_answer("no such model", {"input_tokens": 1})
    assert "dollars" not in meter.build_receipt()
    meter.take_receipt()
    meter.add_answer("claude-sonnet-4-5", {"output_tokens": 1000})
    assert "dollars" in meter.build_receipt()


def test_keys_come_from_the_environment_or_are_asked_for() -> None:
    assert Claude().find_endpoint({"ANTHROPIC_AUTH_TOKEN": "t"}).key_headers == {"Authorization": "Bearer t"}
    assert Claude().find_endpoint({"ANTHROPIC_API_KEY": "k"}).base_url == "https://api.anthropic.com"
    assert Codex().find_endpoint({"OPENAI_API_KEY": "k"}).key_headers == {"Authorization": "Bearer k"}
    assert Codex().find_endpoint({"OPENAI_BASE_URL": "http://localhost:8000/v1"}).key_headers == {}
    for cli, name in ((Claude(), "ANTHROPIC_API_KEY"), (Codex(), "OPENAI_API_KEY")):
        with pytest.raises(UsageError, match=name):
            cli.find_endpoint({})
