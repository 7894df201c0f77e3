"""A model's endpoint on loopback that says what a script tells it to: Anthropic's messages and OpenAI's responses, streamed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, NamedTuple, Self


class Say(NamedTuple):
    """The model's last word: its turn ends, and with it the session of an agent that is run without a person."""

    text: str


class Shell(NamedTuple):
    """Run this in the agent's shell."""

    command: str


class Tool(NamedTuple):
    """Call a tool of the MCP server `law`."""

    name: str
    arguments: dict[str, Any]


class Fail(NamedTuple):
    """Answer with this HTTP status."""

    status: int


Answer = Say | Shell | Tool | Fail


@dataclass
class Turn:
    """What the model is asked. prompt: all the text of the user's messages; results: what the tools gave so far, in order."""

    prompt: str
    results: list[str]
    tools: list[str]
    session: int
    """How many conversations there were before this one."""


Script = Callable[[Turn], Answer]


@dataclass
class MockModel:
    """As a context manager, it listens; `base` is its address. seen: every request, as (path, headers, body)."""

    script: Script
    input_tokens: int = 1000
    output_tokens: int = 50
    model: str = "mock"
    seen: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)
    base: str = ""

    def __enter__(self) -> Self:
        self._lock, self._prompts = threading.Lock(), dict[str, int]()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"mock": self}))
        self._server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def asked(self) -> int:
        """Requests for an answer, so far."""
        return sum(path.partition("?")[0].endswith(("/messages", "/responses")) and bool(body) for path, _, body in self.seen)

    def answer(self, prompt: str, results: list[str], tools: list[str], session: str) -> Answer:
        if not tools:
            return Say("A title")  # agents ask for titles and summaries on the side
        with self._lock:
            number = self._prompts.setdefault(session, len(self._prompts))
            return self.script(Turn(prompt, results, tools, number))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    mock: MockModel
    numbers = count()

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.mock.seen.append((self.path, dict(self.headers.items()), body))
        if self.path.partition("?")[0] == "/v1/messages/count_tokens":
            return self._json(200, {"input_tokens": 10})
        events = _anthropic if "/messages" in self.path else _openai
        answer, streamed = events(self.mock, body, f"{next(self.numbers)}")
        if isinstance(answer, Fail):
            return self._json(answer.status, {"type": "error", "error": {"type": "overloaded_error", "message": "mock"}})
        if not body.get("stream"):
            return self._json(200, answer)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in streamed:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()
        self.close_connection = True
        return None

    def do_GET(self) -> None:
        self.mock.seen.append((self.path, dict(self.headers.items()), {}))
        self._json(404, {"error": {"message": "nothing here"}})

    def _json(self, status: int, value: object) -> None:
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content or [] if isinstance(part, dict))


def _anthropic(mock: MockModel, body: dict[str, Any], number: str) -> tuple[Any, Iterator[dict[str, Any]]]:
    """Messages, as Claude Code speaks them."""
    prompt, results = [], []
    for message in body["messages"]:
        if message["role"] != "user":
            continue
        for part in [message["content"]] if isinstance(message["content"], str) else message["content"]:
            if isinstance(part, dict) and part["type"] == "tool_result":
                results.append(_text(part.get("content")))
            else:
                prompt.append(_text([part]) if isinstance(part, dict) else part)
    tools = [tool["name"] for tool in body.get("tools", [])]
    said = mock.answer("\n".join(prompt), results, tools, json.dumps(body.get("metadata", {})))
    match said:
        case Fail():
            return said, iter(())
        case Say(text):
            block: dict[str, Any] = {"type": "text", "text": text}
        case Shell(command):
            block = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": command}}
        case Tool(name, arguments):
            block = {"type": "tool_use", "id": f"toolu_{number}", "name": f"mcp__law__{name}", "input": arguments}
    stop = "end_turn" if isinstance(said, Say) else "tool_use"
    usage = {"input_tokens": mock.input_tokens, "output_tokens": mock.output_tokens, "cache_read_input_tokens": 200}
    model = mock.model if mock.model != "mock" else body["model"]
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": model, "stop_sequence": None}
    whole = message | {"content": [block], "stop_reason": stop, "usage": usage}
    empty, delta = ({**block, "text": ""}, {"type": "text_delta", "text": block.get("text", "")})
    if block["type"] == "tool_use":
        empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return whole, iter(
        [
            {
                "type": "message_start",
                "message": message | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}},
            },
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": stop, "stop_sequence": None},
                "usage": {"output_tokens": mock.output_tokens},
            },
            {"type": "message_stop"},
        ]
    )


def _javascript(said: Shell | Tool) -> str:
    if isinstance(said, Shell):
        return f"const r = await tools.exec_command({json.dumps({'cmd': said.command})}); text(r.output);"
    return (
        f"const r = await tools.mcp__law__{said.name}({json.dumps(said.arguments)}); text(r.content.map(c => c.text).join('\\n'));"
    )


def _openai(mock: MockModel, body: dict[str, Any], number: str) -> tuple[Any, Iterator[dict[str, Any]]]:
    """Responses, as Codex speaks them."""
    prompt, results = [], []
    for item in body["input"]:
        if item.get("type") in ("function_call_output", "custom_tool_call_output"):
            output = item["output"]
            results.append(output if isinstance(output, str) else _text(output))
        elif item.get("role") == "user":
            prompt.append(_text(item["content"]))
    given = [*body.get("tools", []), *(tool for item in body["input"] for tool in item.get("tools", []))]
    tools = [str(tool.get("name", tool["type"])) for part in given for tool in part.get("tools", [part])]
    said = mock.answer("\n".join(prompt), results, tools, str(body.get("prompt_cache_key")))
    call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
    match said:
        case Fail():
            return said, iter(())
        case Say(text):
            content = [{"type": "output_text", "text": text, "annotations": []}]
            item = {"type": "message", "role": "assistant", "id": f"m_{number}", "status": "completed", "content": content}
        case Shell() | Tool() if "exec" in tools:  # newer models are given one tool, that runs JavaScript, and the others in there
            item = call | {"type": "custom_tool_call", "name": "exec", "namespace": "functions", "input": _javascript(said)}
        case Shell(command):
            item = call | {"name": "exec_command", "arguments": json.dumps({"cmd": command, "yield_time_ms": 30000})}
        case Tool(name, arguments):
            item = call | {"name": name, "namespace": "mcp__law", "arguments": json.dumps(arguments)}
    details = {"input_tokens_details": {"cached_tokens": 200}, "output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": mock.input_tokens, "output_tokens": mock.output_tokens, **details}
    usage["total_tokens"] = mock.input_tokens + mock.output_tokens
    model = mock.model if mock.model != "mock" else body["model"]
    response = {
        "id": f"resp_{number}",
        "object": "response",
        "status": "completed",
        "model": model,
        "output": [item],
        "usage": usage,
    }
    return response, iter(
        [
            {"type": "response.created", "response": response | {"status": "in_progress", "output": [], "usage": None}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response},
        ]
    )
