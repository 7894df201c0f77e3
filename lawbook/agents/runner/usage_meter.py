"""What an agent's model calls cost, read off the answers on their way to it: nobody's word is taken for it but the provider's."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from threading import RLock
from typing import Any

Price = Callable[[str, Mapping[str, int]], float | None]
"""Dollars of one answer, from the model's name and its tokens; None where no price is known."""

_MAX_LINE = 32 << 20
_LAST = ("message_stop", "response.completed", "response.incomplete", "response.failed")
"""Events after which no usage is told any more."""
_COUNTED = ("message_delta", *_LAST)
"""Events of a stream that tell the whole usage: what comes before (message_start) tells a part."""
_FAILED = ("error", "response.failed")
BYTES_A_TOKEN = 4
"""About as many as in English and code: for answers of which no count came."""


class Meter:
    """Sums over all the answers of one agent, in the names of a receipt (minds.llm.model.Receipt). For several threads."""

    def __init__(self, price: Price) -> None:
        self._price, self._lock = price, RLock()
        self._sums: Counter[str] = Counter()
        self._dollars, self._seconds, self._unpriced, self._model, self._told = 0.0, 0.0, 0, "", Counter[str]()

    def asked(self) -> None:
        """A request is on its way to the model."""
        with self._lock:
            self._sums["requests"] += 1

    def failed(self) -> None:
        """It was answered with a failure, or not at all."""
        with self._lock:
            self._sums["failures"] += 1

    def add(self, model: str, tokens: Mapping[str, int], seconds: float = 0.0, *, told: bool = True) -> None:
        """One answer, after so many seconds. tokens: input_tokens (cached ones included), cached_tokens, cache_write_tokens,
        output_tokens, reasoning_tokens. told: by the provider; an estimate has no price, and is counted (`estimated`)."""
        price = self._price(model, tokens) if told else None
        with self._lock:
            self._sums.update(tokens if told else {**tokens, "estimated": 1})
            self._model = model or self._model
            self._dollars += price or 0.0
            self._seconds += seconds
            self._unpriced += price is None and any(tokens.values())

    @property
    def answered(self) -> bool:
        """Whether an answer, or a failure, has come since the last `settle`."""
        with self._lock:
            return any(name != "requests" for name in self._sums - self._told)

    def receipt(self) -> dict[str, float | int | str]:
        """What has come together since the last `settle`. Empty where nothing has; without dollars where a price is missing."""
        with self._lock:
            since = self._sums - self._told
            found: dict[str, float | int | str] = {name: int(count) for name, count in sorted(since.items())}
            if found:
                found.setdefault("requests", 0)  # an answer may come after its request was written down
            if found and self._model:
                found["model"] = self._model
            if found and not self._unpriced:
                found["dollars"] = round(self._dollars, 9)
            return found

    def settle(self) -> tuple[dict[str, float | int | str], float]:
        """The receipt, for the ledger, and the seconds that its answers took; what comes next is counted anew."""
        with self._lock:
            found, seconds = self.receipt(), self._seconds
            self._told = Counter(self._sums)
            self._dollars, self._seconds, self._unpriced = 0.0, 0.0, 0
        return found, seconds


class Reader:
    """Fed the body of one answer as it passes, whole (JSON) or streamed (server-sent events); tells the meter once. One thread may
    feed it and another end it.

    began: when it was asked for (time.monotonic); None: now. asked: bytes of the request. Where an answer ends without the
    provider's count of it, the sizes of both stand for one.
    """

    def __init__(self, meter: Meter, streamed: bool = False, began: float | None = None, asked: int = 0) -> None:
        self.streamed = streamed
        self._meter, self._lock, self._asked, self._heard = meter, RLock(), asked, 0
        self._began = time.monotonic() if began is None else began
        self._rest = b""
        self._model, self._usage = "", dict[str, Any]()
        self._counted = self._failed = self._ended = False

    def feed(self, piece: bytes) -> None:
        with self._lock:
            self._heard += len(piece)
            self._rest += piece
            if self.streamed:
                *lines, self._rest = self._rest.split(b"\n")
                for line in lines:
                    if line.startswith(b"data:"):
                        self._event(line[5:])
            if len(self._rest) > _MAX_LINE:
                self._rest = b""

    def end(self) -> None:
        """The answer has ended, or broke off: what is known of it counts."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
            if not self.streamed:
                self._event(self._rest)
            if self._failed:
                self._meter.failed()
            tokens, told = tokens_of(self._usage), self._counted or self._failed
            if not told:
                for name, size in (("input_tokens", self._asked), ("output_tokens", self._heard)):
                    tokens[name] = max(tokens.get(name, 0), -(-size // BYTES_A_TOKEN))
            self._meter.add(self._model, tokens, time.monotonic() - self._began, told=told)

    def fail(self) -> None:
        """There is no answer: nobody tells what a failure cost."""
        with self._lock:
            if not self._ended:
                self._ended = True
                self._meter.failed()

    def _event(self, text: bytes) -> None:
        try:
            event = json.loads(text)
        except (ValueError, RecursionError):
            return
        if not isinstance(event, dict):
            return
        kind = event.get("type")
        self._failed |= kind in _FAILED
        for place in (event, event.get("message"), event.get("response")):  # JSON itself; message_start; response.completed
            if not isinstance(place, dict):
                continue
            self._model = str(place.get("model") or self._model)
            if isinstance(place.get("usage"), dict):
                self._usage |= {name: count for name, count in place["usage"].items() if count is not None}
                self._counted |= not self.streamed or kind in _COUNTED
        if self.streamed and kind in _LAST:
            self.end()  # before it is passed on: the agent acts on it at once


def tokens_of(usage: Mapping[str, Any]) -> dict[str, int]:
    """A provider's usage in the names of a receipt. Anthropic counts what was cached apart from the input, OpenAI within it."""

    def count(given: Any, name: str) -> int:
        value = given.get(name) if isinstance(given, dict) else 0
        return value if type(value) is int and value > 0 else 0

    whole = dict(usage)
    written, read = count(whole, "cache_creation_input_tokens"), count(whole, "cache_read_input_tokens")
    cached = read or count(whole.get("input_tokens_details"), "cached_tokens")
    found = {
        "input_tokens": count(whole, "input_tokens") + written + read,
        "cached_tokens": cached,
        "cache_write_tokens": written,
        "output_tokens": count(whole, "output_tokens"),
        "reasoning_tokens": count(whole.get("output_tokens_details"), "reasoning_tokens"),
    }
    return {name: number for name, number in found.items() if number}
