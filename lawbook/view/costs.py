"""What a run's mind cost, by call, by level and by action: counted from the receipts of CALL events, failed ones included."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from lawbook.core.spending import dollars, tokens
from lawbook.view.display_events import Called
from lawbook.view.formatting import count, one_line, percent, seconds


@dataclass(frozen=True)
class LevelBill:
    """What was spent while one level was played. dollars: None where a price is unknown."""

    calls: int = 0
    tokens: int = 0
    dollars: float | None = 0.0


@dataclass(frozen=True)
class Bill:
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
    per_level: dict[int, LevelBill] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.calls)

    def json(self) -> dict[str, Any]:
        return {**asdict(self), "per_level": [{"level": level, **asdict(one)} for level, one in sorted(self.per_level.items())]}

    def rows(self, actions: int) -> Iterator[tuple[str, str]]:
        """Name and text of what `show` says about it. actions: sent in the run."""
        calls = ", ".join(f"{number:,} {one_line(what)}" for what, number in self.calls.items())
        troubles = [
            count(self.requests, "request"),
            *([f"{self.failed:,} failed"] if self.failed else []),
            *([count(self.retries, "retry", "retries")] if self.retries else []),
            *([count(self.failures, "failed request")] if self.failures else []),
        ]
        yield "model calls", f"{sum(self.calls.values()):,} ({calls}): {', '.join(troubles)}"
        an_action = f"; {self.tokens / actions:,.0f} an action" if actions else ""
        split = f"{self.input:,} in ({percent(self.cached, self.input)} cached), {self.output:,} out ({self.reasoning:,} reasoning)"
        yield "tokens", f"{split if self.input or self.output else format(self.tokens, ',')}{an_action}"
        unknown = f"the price of {count(self.unpriced, 'call')} is not known" if self.unpriced else ""
        known = f"{self.dollars:,.4g}" + (f"; {self.dollars / actions:,.2g} an action" if actions else "")
        priced = sum(self.calls.values()) > self.unpriced and self.dollars > 0
        yield "dollars", "; ".join(filter(None, [known if priced or not unknown else "", unknown]))
        if self.longest:
            yield "latency", f"{seconds(self.latency)} a call (median), {seconds(self.longest)} at most"


class Billing:
    """A Bill that grows. Feed it every Called with the level then being played."""

    def __init__(self) -> None:
        self._calls: Counter[str] = Counter()
        self._sums: Counter[str] = Counter()
        self._dollars = 0.0
        self._seconds: list[float] = []
        self._levels: dict[int, LevelBill] = {}

    def add(self, call: Called, level: int) -> None:
        """What tells no tokens and is no call of a model is free, and left out."""
        used, paid = int(tokens(call.receipt) or 0), dollars(call.receipt)
        if not call.inner and not used and paid is None:
            return
        self._calls[call.op] += 1
        self._seconds.append(call.seconds)
        for name in ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "retries", "failures"):
            self._sums[name] += int(call.receipt.get(name, 0))
        self._sums["requests"] += int(call.receipt.get("requests", 1))
        self._sums["tokens"] += used
        self._sums["failed"] += not call.answered and call.op != "coder"
        unpriced = bool(used) and paid is None
        self._sums["unpriced"] += unpriced
        self._dollars += paid or 0.0
        before = self._levels.get(level, LevelBill())
        known = None if unpriced or before.dollars is None else before.dollars + (paid or 0.0)
        self._levels[level] = LevelBill(before.calls + 1, before.tokens + used, known)

    @property
    def bill(self) -> Bill:
        sums, took = self._sums, self._seconds
        return Bill(
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
            latency=median(took) if took else 0.0,
            longest=max(took, default=0.0),
            retries=sums["retries"],
            failures=sums["failures"],
            per_level=dict(self._levels),
        )
