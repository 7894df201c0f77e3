"""What a run's mind cost, by call, by level and by action: counted from the receipts of CALL events, failed ones included."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from lawbook.core.spending import read_dollars, read_tokens
from lawbook.view.display_events import MindCalled
from lawbook.view.formatting import format_count, format_one_line, format_percent, format_seconds


@dataclass(frozen=True)
class LevelCosts:
    """What was spent while one level was played. dollars: None where a price is unknown."""

    calls: int = 0
    tokens: int = 0
    dollars: float | None = 0.0


@dataclass(frozen=True)
class ModelCosts:
    """What a language model cost a run.

    calls: of the model, by what it was asked for, failed ones included; requests: to the provider, all tries and tool rounds.
    input (cached ones included), cached, output (reasoning included), reasoning: tokens as far as receipts tell; tokens: in all.
    dollars: of the calls that have a price; unpriced: calls with tokens and without. latency, longest: seconds a call, the median
    and the most. retries, failures: of requests. per_level: by the level that was being played.
    """

    calls: dict[str, int] = field(default_factory=dict)
    failed: int = 0
    requests: int = 0
    tokens: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0
    dollars: float = 0.0
    unpriced: int = 0
    latency: float = 0.0
    longest: float = 0.0
    retries: int = 0
    failures: int = 0
    per_level: dict[int, LevelCosts] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.calls)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "per_level": [{"level": level, **asdict(costs)} for level, costs in sorted(self.per_level.items())]}

    def format_rows(self, n_actions: int) -> Iterator[tuple[str, str]]:
        """Name and text of what `show` says about it. n_actions: sent in the run."""
        calls = ", ".join(f"{n_calls:,} {format_one_line(op)}" for op, n_calls in self.calls.items())
        request_counts = [
            format_count(self.requests, "request"),
            *([f"{self.failed:,} failed"] if self.failed else []),
            *([format_count(self.retries, "retry", "retries")] if self.retries else []),
            *([format_count(self.failures, "failed request")] if self.failures else []),
        ]
        yield "model calls", f"{sum(self.calls.values()):,} ({calls}): {', '.join(request_counts)}"
        tokens_an_action = f"; {self.tokens / n_actions:,.0f} an action" if n_actions else ""
        token_split = (
            f"{self.input:,} in ({format_percent(self.cached, self.input)} cached), {self.output:,} out "
            f"({self.reasoning:,} reasoning)"
        )
        yield "tokens", f"{token_split if self.input or self.output else format(self.tokens, ',')}{tokens_an_action}"
        unpriced_note = f"the price of {format_count(self.unpriced, 'call')} is not known" if self.unpriced else ""
        dollar_text = f"{self.dollars:,.4g}" + (f"; {self.dollars / n_actions:,.2g} an action" if n_actions else "")
        has_prices = sum(self.calls.values()) > self.unpriced and self.dollars > 0
        yield "dollars", "; ".join(filter(None, [dollar_text if has_prices or not unpriced_note else "", unpriced_note]))
        if self.longest:
            yield "latency", f"{format_seconds(self.latency)} a call (median), {format_seconds(self.longest)} at most"


class ModelCostsBuilder:
    """A Bill that grows. Feed it every Called with the level then being played."""

    def __init__(self) -> None:
        self._calls: Counter[str] = Counter()
        self._sums: Counter[str] = Counter()
        self._dollars = 0.0
        self._call_seconds: list[float] = []
        self._levels: dict[int, LevelCosts] = {}

    def add(self, call: MindCalled, level: int) -> None:
        """What tells no tokens and is no call of a model is free, and left out."""
        n_tokens, cost = int(read_tokens(call.receipt) or 0), read_dollars(call.receipt)
        if not call.is_model_call and not n_tokens and cost is None:
            return
        self._calls[call.op] += 1
        self._call_seconds.append(call.seconds)
        for name in ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "retries", "failures"):
            self._sums[name] += int(call.receipt.get(name, 0))
        self._sums["requests"] += int(call.receipt.get("requests", 1))
        self._sums["tokens"] += n_tokens
        self._sums["failed"] += not call.answered and call.op != "coder"
        is_unpriced = bool(n_tokens) and cost is None
        self._sums["unpriced"] += is_unpriced
        self._dollars += cost or 0.0
        previous = self._levels.get(level, LevelCosts())
        level_dollars = None if is_unpriced or previous.dollars is None else previous.dollars + (cost or 0.0)
        self._levels[level] = LevelCosts(previous.calls + 1, previous.tokens + n_tokens, level_dollars)

    @property
    def costs(self) -> ModelCosts:
        sums, call_seconds = self._sums, self._call_seconds
        return ModelCosts(
            calls=dict(self._calls),
            failed=sums["failed"],
            requests=sums["requests"],
            tokens=sums["tokens"],
            input=sums["input_tokens"],
            cached=sums["cached_tokens"],
            output=sums["output_tokens"],
            reasoning=sums["reasoning_tokens"],
            dollars=self._dollars,
            unpriced=sums["unpriced"],
            latency=median(call_seconds) if call_seconds else 0.0,
            longest=max(call_seconds, default=0.0),
            retries=sums["retries"],
            failures=sums["failures"],
            per_level=dict(self._levels),
        )
