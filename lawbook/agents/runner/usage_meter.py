"""What an agent's model calls cost, read off the answers on their way to it: nobody's word is taken for it but the provider's."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from threading import RLock
from typing import Any

PriceFunction = Callable[[str, Mapping[str, int]], float | None]
"""Dollars of one answer, from the model's name and its tokens; None where no price is known."""

_MAX_LINE_BYTES = 32 << 20
_FINAL_EVENTS = ("message_stop", "response.completed", "response.incomplete", "response.failed")
"""Events after which no usage is told any more."""
_USAGE_EVENTS = ("message_delta", *_FINAL_EVENTS)
"""Events of a stream that tell the whole usage: what comes before (message_start) tells a part."""
_FAILURE_EVENTS = ("error", "response.failed")
BYTES_PER_TOKEN = 4
"""About as many as in English and code: for answers of which no count came."""


class UsageMeter:
    """Sums over all the answers of one agent, in the names of a receipt (minds.llm.model.Receipt). For several threads."""

    def __init__(self, price: PriceFunction) -> None:
        self._price, self._lock = price, RLock()
        self._sums: Counter[str] = Counter()
        self._dollars, self._seconds, self._n_unpriced, self._model, self._recorded = 0.0, 0.0, 0, "", Counter[str]()

    def count_request(self) -> None:
        """A request is on its way to the model."""
        with self._lock:
            self._sums["requests"] += 1

    def count_failure(self) -> None:
        """It was answered with a failure, or not at all."""
        with self._lock:
            self._sums["failures"] += 1

    def add_answer(self, model: str, tokens: Mapping[str, int], seconds: float = 0.0, *, is_reported: bool = True) -> None:
        """One answer, after so many seconds. tokens: input_tokens (cached ones included), cached_tokens, cache_write_tokens,
        output_tokens, reasoning_tokens. is_reported: by the provider; an estimate has no price, and is counted (`estimated`)."""
        price = self._price(model, tokens) if is_reported else None
        with self._lock:
            self._sums.update(tokens if is_reported else {**tokens, "estimated": 1})
            self._model = model or self._model
            self._dollars += price or 0.0
            self._seconds += seconds
            self._n_unpriced += price is None and any(tokens.values())

    @property
    def has_answers(self) -> bool:
        """Whether an answer, or a failure, has come since the last `take_receipt`."""
        with self._lock:
            return any(name != "requests" for name in self._sums - self._recorded)

    def build_receipt(self) -> dict[str, float | int | str]:
        """What has come together since the last `take_receipt`. Empty where nothing has; without dollars where a price is
        missing."""
        with self._lock:
            unrecorded = self._sums - self._recorded
            receipt: dict[str, float | int | str] = {name: int(count) for name, count in sorted(unrecorded.items())}
            if receipt:
                receipt.setdefault("requests", 0)  # an answer may come after its request was written down
            if receipt and self._model:
                receipt["model"] = self._model
            if receipt and not self._n_unpriced:
                receipt["dollars"] = round(self._dollars, 9)
            return receipt

    def take_receipt(self) -> tuple[dict[str, float | int | str], float]:
        """The receipt, for the ledger, and the seconds that its answers took; what comes next is counted anew."""
        with self._lock:
            receipt, seconds = self.build_receipt(), self._seconds
            self._recorded = Counter(self._sums)
            self._dollars, self._seconds, self._n_unpriced = 0.0, 0.0, 0
        return receipt, seconds


class UsageReader:
    """Fed the body of one answer as it passes, whole (JSON) or streamed (server-sent events); tells the meter once. One thread may
    feed it and another end it.

    started_at: when it was asked for (time.monotonic); None: now. request_bytes: bytes of the request. Where an answer ends
    without the provider's count of it, the sizes of both stand for one.
    """

    def __init__(
        self, meter: UsageMeter, is_streamed: bool = False, started_at: float | None = None, request_bytes: int = 0
    ) -> None:
        self.is_streamed = is_streamed
        self._meter, self._lock, self._request_bytes, self._answer_bytes = meter, RLock(), request_bytes, 0
        self._started_at = time.monotonic() if started_at is None else started_at
        self._buffer = b""
        self._model, self._usage = "", dict[str, Any]()
        self._has_usage = self._has_failed = self._has_ended = False

    def feed(self, chunk: bytes) -> None:
        with self._lock:
            self._answer_bytes += len(chunk)
            self._buffer += chunk
            if self.is_streamed:
                *lines, self._buffer = self._buffer.split(b"\n")
                for line in lines:
                    if line.startswith(b"data:"):
                        self._handle_event(line[5:])
            if len(self._buffer) > _MAX_LINE_BYTES:
                self._buffer = b""

    def end(self) -> None:
        """The answer has ended, or broke off: what is known of it counts."""
        with self._lock:
            if self._has_ended:
                return
            self._has_ended = True
            if not self.is_streamed:
                self._handle_event(self._buffer)
            if self._has_failed:
                self._meter.count_failure()
            tokens, is_reported = normalize_usage(self._usage), self._has_usage or self._has_failed
            if not is_reported:
                for name, size in (("input_tokens", self._request_bytes), ("output_tokens", self._answer_bytes)):
                    tokens[name] = max(tokens.get(name, 0), -(-size // BYTES_PER_TOKEN))
            self._meter.add_answer(self._model, tokens, time.monotonic() - self._started_at, is_reported=is_reported)

    def fail(self) -> None:
        """There is no answer: nobody tells what a failure cost."""
        with self._lock:
            if not self._has_ended:
                self._has_ended = True
                self._meter.count_failure()

    def _handle_event(self, text: bytes) -> None:
        try:
            event = json.loads(text)
        except (ValueError, RecursionError):
            return
        if not isinstance(event, dict):
            return
        kind = event.get("type")
        self._has_failed |= kind in _FAILURE_EVENTS
        for source in (event, event.get("message"), event.get("response")):  # JSON itself; message_start; response.completed
            if not isinstance(source, dict):
                continue
            self._model = str(source.get("model") or self._model)
            if isinstance(source.get("usage"), dict):
                self._usage |= {name: count for name, count in source["usage"].items() if count is not None}
                self._has_usage |= not self.is_streamed or kind in _USAGE_EVENTS
        if self.is_streamed and kind in _FINAL_EVENTS:
            self.end()  # before it is passed on: the agent acts on it at once


def normalize_usage(usage: Mapping[str, Any]) -> dict[str, int]:
    """A provider's usage in the names of a receipt. Anthropic counts what was cached apart from the input, OpenAI within it."""

    def count(fields: Any, name: str) -> int:
        value = fields.get(name) if isinstance(fields, dict) else 0
        return value if type(value) is int and value > 0 else 0

    usage_fields = dict(usage)
    cache_writes, cache_reads = count(usage_fields, "cache_creation_input_tokens"), count(usage_fields, "cache_read_input_tokens")
    cached = cache_reads or count(usage_fields.get("input_tokens_details"), "cached_tokens")
    tokens = {
        "input_tokens": count(usage_fields, "input_tokens") + cache_writes + cache_reads,
        "cached_tokens": cached,
        "cache_write_tokens": cache_writes,
        "output_tokens": count(usage_fields, "output_tokens"),
        "reasoning_tokens": count(usage_fields.get("output_tokens_details"), "reasoning_tokens"),
    }
    return {name: number for name, number in tokens.items() if number}
