"""The one seam to a frozen language model: Request in, Reply out. Operators and prompts stand above it, providers below."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from lawbook.errors import MindError

Receipt = Mapping[str, float | int | str]
"""What a call cost. Names that are understood: model, input_tokens (cached ones included), cached_tokens, cache_write_tokens,
output_tokens (reasoning included), reasoning_tokens, dollars (absent: no price known), seconds, retries, failures, tool_calls,
finish (stop, length, refused, ...). A call that failed has one too."""

Tool = Callable[..., str]
"""A function with type hints and a docstring that says what it does, its parameters too; arguments are plain JSON values. It
returns text for the model, its refusals included, and never raises but for MindError."""


class ModelError(MindError):
    """A call that gave no answer: provider down, key refused, cap reached. `receipt`: what it cost all the same."""

    def __init__(self, message: str, receipt: Receipt | None = None) -> None:
        super().__init__(message)
        self.receipt: Receipt = dict(receipt or {})


class Part(NamedTuple):
    """A stretch of the user's message. title: for people and counts, not sent; stable: it and all before it are likely to be sent
    again word for word, so that a prompt cache may be told to keep everything up to the last stable part."""

    title: str
    text: str
    stable: bool = False


class Turn(NamedTuple):
    """Something the model said in this very exchange, and what was said back (a tool's output, or why it could not be read)."""

    answer: str
    reply: str


class ImagePart(NamedTuple):
    """A PNG image and the line of text that goes before it."""

    caption: str
    png: bytes


@dataclass(frozen=True)
class Request:
    """One call of a model: system, then the parts in order (stable ones first), then pictures, then the turns.

    op: reflect, revise, compile, judge, simplify, explore, direct. The prompt tells the model to answer in plain text. schema: a
    JSON schema (type object) of the same answer; a model that is asked for structured output answers with JSON text of it
    instead, and the operators read either. tools: only given to a model that takes tool calls itself; at most `rounds` calls of
    them, then it must answer.
    """

    op: str
    system: str
    parts: tuple[Part, ...]
    schema: Mapping[str, Any] = field(default_factory=dict)
    turns: tuple[Turn, ...] = ()
    tools: tuple[Tool, ...] = ()
    max_tool_calls: int = 0
    images: tuple[ImagePart, ...] = ()

    @property
    def text(self) -> str:
        """The user's message as one text, turns included: what is written to files, hashed and counted."""
        message = "\n\n".join(part.text for part in self.parts)
        return message + "".join(f"\n\n--- you answered\n{turn.answer}\n\n--- and were told\n{turn.reply}" for turn in self.turns)


@dataclass(frozen=True)
class ModelReply:
    """What came back. text: the last message's text, or the JSON of a structured answer; it may be empty, cut short or a refusal:
    the operators say so to the model. receipt: see Receipt."""

    text: str
    receipt: Receipt = field(default_factory=dict)


class Model(Protocol):
    """A frozen language model. name: as in `llm:NAME`; supports_tools, supports_images: does it take tool calls and images itself?

    The implementation over providers is `lawbook.minds.llm.pydantic_model.connect(address) -> Model`, address being
    `anthropic:MODEL`, `openai:MODEL`, `google:MODEL`, `openrouter:MODEL`, `ollama:MODEL` or `openai-compatible:URL#MODEL`;
    it raises UsageError with one sentence for a missing extra, key or provider. Nothing is sent before the first `ask`.
    """

    name: str
    supports_tools: bool
    supports_images: bool

    def ask(self, request: Request) -> ModelReply:
        """One call, retries for rate limits and overload included. Raises ModelError when no answer can be had."""
        ...
