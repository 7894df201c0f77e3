"""The relay to a model and those who found its port: heard little and not for long, and no hindrance to the agent."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from mock_models import MockModel, Say

from lawbook.agents.runner import model_proxy
from lawbook.agents.runner.model_endpoint import ModelEndpoint
from lawbook.agents.runner.model_proxy import MAX_CONCURRENT_REQUESTS, MAX_CONNECTIONS, MAX_REQUEST_BYTES, ModelProxy
from lawbook.agents.runner.usage_meter import UsageMeter

ASKED = json.dumps({"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": "hello"}], "tools": [{"name": "Bash"}]})
MEBIBYTE = 1 << 20


def no_price(model: str, tokens: Mapping[str, int]) -> float | None:
    return None


@pytest.fixture
def mock() -> Iterator[MockModel]:
    with MockModel(lambda turn: Say("hello yourself")) as model:
        yield model


class Relay:
    """A relay that listens. Everything that connects is closed with it."""

    def __init__(self, base: str, stack: ExitStack, key: str = "the key") -> None:
        self.proxy = ModelProxy(ModelEndpoint(base, {"x-api-key": key}, ("/v1/messages",)), UsageMeter(no_price))
        sock = socket.create_server(("127.0.0.1", 0))
        self.port = int(sock.getsockname()[1])
        self.proxy.serve(sock)
        self._stack = stack
        stack.callback(self.proxy.close)

    def connect(self, said: bytes = b"", seconds: float = 20) -> socket.socket:
        stranger = self._stack.enter_context(socket.create_connection(("127.0.0.1", self.port), timeout=seconds))
        stranger.sendall(said)
        return stranger

    def head(self, *lines: str, token: bool = False) -> bytes:
        key = [f"x-api-key: {self.proxy.token}"] if token else []
        return "\r\n".join(["POST /v1/messages HTTP/1.1", "host: relay", *key, *lines, "", ""]).encode()

    def agent(self) -> http.client.HTTPConnection:
        agent = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        self._stack.callback(agent.close)
        return agent

    def ask(self, agent: http.client.HTTPConnection | None = None) -> int:
        agent = agent or self.agent()
        agent.request("POST", "/v1/messages", ASKED, {"x-api-key": self.proxy.token})
        with agent.getresponse() as answer:
            answer.read()
            return answer.status


@pytest.fixture
def relay(mock: MockModel) -> Iterator[Relay]:
    with ExitStack() as stack:
        yield Relay(mock.base, stack)


def heard(sock: socket.socket) -> bytes:
    """All that is said until the other side hangs up, in one way or another."""
    said = b""
    with suppress(ConnectionError):
        while piece := sock.recv(65536):
            said += piece
    return said


def pour(sock: socket.socket, n_bytes: int, block: bytes = b"x" * MEBIBYTE) -> int:
    """How many bytes of so many the other side lets one send."""
    sent = 0
    try:
        while sent < n_bytes:
            sent += sock.send(block)
    except ConnectionError:
        return sent
    return sent


def resident_mebibytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // MEBIBYTE


@pytest.mark.parametrize("token", [False, True])
@pytest.mark.parametrize("size", ["-1", "-ffffffff", "+5", "0x5", "1_0", " 5", "5 5", "", "g", "f" * 40])
def test_a_size_that_is_none_is_refused_and_nothing_behind_it_is_read(
    relay: Relay, mock: MockModel, size: str, token: bool
) -> None:
    before = resident_mebibytes()
    stranger = relay.connect(relay.head("transfer-encoding: chunked", token=token) + f"{size}\r\n".encode())
    assert pour(stranger, 100 * MEBIBYTE) < 20 * MEBIBYTE  # what the system holds on the way, and no more
    assert resident_mebibytes() - before < 30
    assert mock.seen == [] and relay.ask() == 200


@pytest.mark.parametrize("length", ["-1", "+9", "1e9", "9, 8", "0x9"])
def test_a_length_that_is_none_is_refused(relay: Relay, mock: MockModel, length: str) -> None:
    assert heard(relay.connect(relay.head(f"content-length: {length}", token=True))).startswith(b"HTTP/1.1 400")
    assert mock.seen == []


def test_a_request_in_chunks_is_passed_on(relay: Relay, mock: MockModel) -> None:
    body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (ASKED[:7].encode(), ASKED[7:].encode())) + b"0\r\n\r\n"
    agent = relay.connect(relay.head("transfer-encoding: chunked", "connection: close", token=True) + body)
    assert b"hello yourself" in heard(agent) and mock.seen[0][2] == json.loads(ASKED)


@pytest.mark.parametrize("line", [b"x-long: ", b"x: y\r\n" * 1000], ids=["one", "many"])
def test_a_head_without_an_end_is_cut_off(relay: Relay, line: bytes) -> None:
    before = resident_mebibytes()
    stranger = relay.connect(b"POST /v1/messages HTTP/1.1\r\n" + line)
    assert pour(stranger, 100 * MEBIBYTE, line * 100) < 20 * MEBIBYTE
    assert resident_mebibytes() - before < 30 and relay.ask() == 200


@pytest.mark.parametrize("framing", ["content-length: 999999999", "transfer-encoding: chunked"])
def test_without_the_token_a_long_request_is_not_heard_out(relay: Relay, framing: str) -> None:
    before = resident_mebibytes()
    stranger = relay.connect(relay.head(framing))
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    assert pour(stranger, 200 * MEBIBYTE, chunk) < 20 * MEBIBYTE
    assert resident_mebibytes() - before < 30 and relay.ask() == 200


def test_without_the_token_a_long_request_is_refused_by_its_head(relay: Relay) -> None:
    began = time.monotonic()
    assert b" 401 " in heard(relay.connect(relay.head("content-length: 999999999"))).partition(b"\r\n")[0]
    assert time.monotonic() - began < model_proxy.TOKEN_TIMEOUT_SECONDS / 2


def test_with_the_token_a_request_has_a_limit(relay: Relay, mock: MockModel) -> None:
    said = heard(relay.connect(relay.head(f"content-length: {MAX_REQUEST_BYTES + 1}", token=True)))
    assert said.startswith(b"HTTP/1.1 413") and b"too long" in said
    chunk = b"100000\r\n" + b"x" * MEBIBYTE + b"\r\n"
    agent = relay.connect(relay.head("transfer-encoding: chunked", token=True))
    assert MAX_REQUEST_BYTES < pour(agent, 200 * MEBIBYTE, chunk) < MAX_REQUEST_BYTES + 20 * MEBIBYTE
    assert mock.seen == [] and relay.ask() == 200


@pytest.mark.parametrize(
    "dribble",
    [b"POST /v1/messages HTTP/1.1\r\nx-slow: ", b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 9000\r\n\r\n", b""],
)
def test_whoever_is_slow_to_show_the_token_is_cut_off(relay: Relay, monkeypatch: pytest.MonkeyPatch, dribble: bytes) -> None:
    monkeypatch.setattr(model_proxy, "TOKEN_TIMEOUT_SECONDS", 0.5)
    stranger, began = relay.connect(dribble), time.monotonic()
    stranger.settimeout(0.05)
    for _ in range(200):  # a byte at a time, as slowly as will do
        try:
            stranger.sendall(b"x")
            if not stranger.recv(65536):
                break
        except TimeoutError:
            continue
        except ConnectionError:
            break
    assert 0.3 < time.monotonic() - began < 4


def test_strangers_who_say_nothing_do_not_stop_the_agent(relay: Relay) -> None:
    working = relay.agent()
    assert relay.ask(working) == 200
    kept = working.sock
    for _ in range(3 * MAX_CONNECTIONS):
        relay.connect()
    assert relay.ask() == 200  # a new connection, while all places are taken
    assert relay.ask(working) == 200 and working.sock is kept  # and one that has shown the token
    assert len(relay.proxy.server_state.connections) <= MAX_CONNECTIONS


def test_strangers_who_begin_to_say_something_do_not_either(relay: Relay) -> None:
    for _ in range(2 * MAX_CONCURRENT_REQUESTS):
        relay.connect(relay.head("content-length: 9"))
        relay.connect(relay.head("transfer-encoding: chunked"))
        relay.connect(b"POST /v1/mess")
    began = time.monotonic()
    assert relay.ask() == 200 and time.monotonic() - began < 5


def test_a_request_that_never_ends_makes_room(relay: Relay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_proxy, "BODY_TIMEOUT_SECONDS", 0.5)
    stuck = [relay.connect(relay.head("content-length: 9", token=True)) for _ in range(MAX_CONCURRENT_REQUESTS)]
    assert relay.ask() == 200
    assert all(heard(one).startswith(b"HTTP/1.1 408") for one in stuck)


def test_an_agent_that_takes_nothing_any_more_is_hung_up_on_and_its_answer_is_counted(
    mock: MockModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    mock.script = lambda turn: Say("x" * 30 * MEBIBYTE)
    with ExitStack() as stack:
        relay = Relay(mock.base, stack)
        monkeypatch.setattr(model_proxy, "ANSWER_TIMEOUT_SECONDS", 0.5)
        agent = relay.connect(relay.head(f"content-length: {len(ASKED)}", token=True) + ASKED.encode())
        until = time.monotonic() + 20
        while not relay.proxy.meter.has_answers and time.monotonic() < until:
            time.sleep(0.05)
        receipt = relay.proxy.meter.build_receipt()
        assert receipt["output_tokens"] == 50 and "estimated" not in receipt
        assert len(heard(agent)) < 30 * MEBIBYTE


def test_a_key_that_cannot_be_sent_is_not_told(mock: MockModel) -> None:
    with ExitStack() as stack:
        relay = Relay(mock.base, stack, key="the secret\nkey")
        agent = relay.agent()
        agent.request("POST", "/v1/messages", ASKED, {"x-api-key": relay.proxy.token})
        answer = agent.getresponse()
        said = answer.read().decode()
        assert answer.status == 502 and "look at the key" in said and "secret" not in said + relay.proxy.failure


def test_without_the_extra_there_is_a_sentence() -> None:
    code = """
import sys
sys.modules[sys.argv[1]] = None
from lawbook.agents.runner.runner import check_agent
from lawbook.errors import UsageError
from lawbook.minds.agent import CodingAgentMind
try:
    check_agent(CodingAgentMind("claude"))
except UsageError as error:
    print(error)
"""
    for package in ("uvicorn", "httpx", "starlette"):
        done = subprocess.run([sys.executable, "-c", code, package], capture_output=True, text=True, check=True)
        assert f"needs {package}" in done.stdout and "lawbook[agents]" in done.stdout and done.stdout.count("\n") == 1
