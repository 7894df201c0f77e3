"""A provider of language models on 127.0.0.1 that does as a script says: answers, and whatever goes wrong with providers."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Does:
    """What the server does with one request. body: bytes as they go out; text, usage, finish, calls: an answer in the wire format
    that was asked for. cut: bytes of the body that are sent before the connection is dropped; slow: seconds before anything."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    text: str = ""
    usage: tuple[int, int, int, int] = (1000, 400, 50, 20)
    """Tokens in, of them cached, out, of them reasoning."""
    finish: str = "stop"
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    cut: int | None = None
    slow: float = 0.0


def says(text: str, **more: Any) -> Does:
    return Does(text=text, **more)


def fails(status: int, message: str = "no", *, kind: str = "error", code: str | None = None, **headers: str) -> Does:
    error = {"message": message, "type": kind, **({"code": code} if code else {})}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Does(status=status, headers=named, body=json.dumps({"type": "error", "error": error}).encode())


class Provider:
    """One server. script: what it does, one for each request, the last again and again; or a function of the request's JSON.

    asked: every request, as (path, JSON, headers).
    """

    def __init__(self, script: Sequence[Does] | Callable[[dict[str, Any]], Does]) -> None:
        self.asked: list[tuple[str, dict[str, Any], Mapping[str, str]]] = []
        self._script, self._turn = script, threading.Lock()
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                given = json.loads(self.rfile.read(int(self.headers["content-length"])))
                does = provider._next(self.path, given, dict(self.headers))
                time.sleep(does.slow)
                body = does.body if does.body is not None else answer(self.path, given, does)
                try:
                    self.send_response(does.status)
                    kind = "text/event-stream" if given.get("stream") and does.body is None else "application/json"
                    for name, value in {"content-type": kind, **does.headers}.items():
                        self.send_header(name, value)
                    self.send_header("content-length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body if does.cut is None else body[: does.cut])
                except OSError:
                    pass  # whoever asked has given up
                self.close_connection = self.close_connection or does.cut is not None

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def _next(self, path: str, given: dict[str, Any], headers: Mapping[str, str]) -> Does:
        with self._turn:
            self.asked.append((path, given, {name.lower(): value for name, value in headers.items()}))
            if callable(self._script):
                return self._script(given)
            return self._script[min(len(self.asked), len(self._script)) - 1]


@contextmanager
def provider(*script: Does, by: Callable[[dict[str, Any]], Does] | None = None) -> Iterator[Provider]:
    served = Provider(by or script)
    thread = threading.Thread(target=served._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        served._server.shutdown()
        served._server.server_close()


def answer(path: str, given: Mapping[str, Any], does: Does) -> bytes:
    """An answer in the wire format of the path: OpenAI's chat completions and responses, Anthropic's messages (or a stream)."""
    shape = _messages if path.startswith("/v1/messages") else _responses if path.endswith("/responses") else _chat
    whole = shape(str(given["model"]), does)
    return _streamed(whole) if given.get("stream") else json.dumps(whole).encode()


def _streamed(message: dict[str, Any]) -> bytes:
    """A message of Anthropic's as the events that a stream of it has."""
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}]
    for k, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events.append({"type": "content_block_start", "index": k, "content_block": empty})
        events.append({"type": "content_block_delta", "index": k, "delta": delta})
        events.append({"type": "content_block_stop", "index": k})
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ended, "usage": {"output_tokens": message["usage"]["output_tokens"]}})
    events.append({"type": "message_stop"})
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


def _chat(model: str, does: Does) -> dict[str, Any]:
    tokens, cached, out, reasoning = does.usage
    message: dict[str, Any] = {"role": "assistant", "content": does.text}
    if does.calls:
        message["tool_calls"] = [
            {"id": f"c{k}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
            for k, (name, given) in enumerate(does.calls)
        ]
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if does.calls else does.finish}],
        "usage": {
            "prompt_tokens": tokens,
            "completion_tokens": out,
            "total_tokens": tokens + out,
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": reasoning},
        },
    }


def _responses(model: str, does: Does) -> dict[str, Any]:
    tokens, cached, out, reasoning = does.usage
    content = [{"type": "output_text", "text": does.text, "annotations": []}]
    return {
        "id": "x",
        "object": "response",
        "created_at": 1,
        "model": model,
        "status": "completed",
        "output": [{"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": tokens,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": out,
            "output_tokens_details": {"reasoning_tokens": reasoning},
            "total_tokens": tokens + out,
        },
    }


def _messages(model: str, does: Does) -> dict[str, Any]:
    tokens, cached, out, _ = does.usage
    content: list[dict[str, Any]] = [{"type": "text", "text": does.text}] if does.text else []
    content += [{"type": "tool_use", "id": f"c{k}", "name": name, "input": given} for k, (name, given) in enumerate(does.calls)]
    reasons = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
    return {
        "id": "x",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "tool_use" if does.calls else reasons[does.finish],
        "stop_sequence": None,
        "usage": {
            "input_tokens": tokens - cached,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": 0,
            "output_tokens": out,
        },
    }
