"""Spending of a run on its mind: dollars, tokens, calls, minutes. Looked at before every call; one that is reached pauses it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

from lawbook.errors import MindError, UsageError

OPTIONS = {"max_dollars": float, "max_tokens": int, "max_calls": int, "max_minutes": float}
"""The settings of a run that are caps, with their types; None: no cap. `--max-dollars` is max_dollars, and so on."""


@dataclass(frozen=True)
class Caps:
    """The caps on a run's spending; None: no cap. Raises UsageError for what is no number from 0.

    tokens: in and out, cached ones included. calls: to a provider, retries included. minutes: of the run at work.
    """

    dollars: float | None = None
    tokens: int | None = None
    calls: int | None = None
    minutes: float | None = None

    def __post_init__(self) -> None:
        for name, cap in asdict(self).items():
            if cap is not None and not 0 <= cap < 1e15:
                raise UsageError(f"max_{name} must be a number from 0; leave it out for no cap.")

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Read the caps from the settings of a run (RunConfig as a mapping); those from before there were caps have none."""
        return cls(**{field.name: settings.get(f"max_{field.name}") for field in fields(cls)})

    def override(self, overrides: Caps) -> Caps:
        """Return these, with the others in place where there are any."""
        return Caps(**(asdict(self) | {name: cap for name, cap in asdict(overrides).items() if cap is not None}))


MAX_UNREPORTED_SECONDS = 120.0
"""Seconds that may pass between two events beyond what they tell: an answer of the world (60 at most), and what nobody measures."""


@dataclass
class Spending:
    """All that a run has spent on its mind so far, folded from its CALL events: sums of receipts.

    calls: requests to a provider. n_unpriced: calls that cost tokens and told no price. active_seconds: between events, without
    pauses. last_event_time, last_event_clock: when the last event came, in seconds since 1970, and on this process's own clock that
    nobody sets (no part of the sums).
    """

    dollars: float = 0.0
    tokens: int = 0
    calls: int = 0
    n_unpriced: int = 0
    active_seconds: float = 0.0
    last_event_time: float | None = None
    last_event_clock: float = field(default_factory=time.monotonic, compare=False, repr=False)

    def add_call(self, receipt: Mapping[str, Any]) -> None:
        """Add one call, failed or not. A mind that costs nothing has an empty receipt and is no call."""
        if not receipt:
            return
        n_tokens, price = read_tokens(receipt), read_dollars(receipt)
        self.calls += int(receipt.get("requests", 1))
        self.tokens += int(n_tokens or 0)
        self.dollars += price or 0.0
        self.n_unpriced += bool(n_tokens) and price is None

    def add_time(self, now: float, paused: bool, reported: float = 0.0) -> None:
        """Add the time up to an event at `now` (seconds since 1970).

        paused: nothing went on since the last. reported: seconds that the event says it took. A clock that is set while the run
        plays takes nothing away, and adds no more than MAX_UNREPORTED_SECONDS.
        """
        if self.last_event_time is not None and not paused:
            self.active_seconds += min(max(0.0, now - self.last_event_time), reported + MAX_UNREPORTED_SECONDS)
        self.last_event_time, self.last_event_clock = now, time.monotonic()


def check_caps(caps: Caps, spending: Spending, pending_receipt: Mapping[str, Any] | None = None) -> None:
    """Raise MindError where a cap forbids another call, with the sentence that says which.

    pending_receipt: one that is not yet in the sums.
    """
    if caps == Caps():
        return
    total = replace(spending)
    total.add_call(pending_receipt or {})
    total.active_seconds += time.monotonic() - spending.last_event_clock
    if caps.dollars is not None and total.n_unpriced:
        unpriced = _make_count_formatter("call")(total.n_unpriced)
        raise MindError(
            f"The cap of {_format_money(caps.dollars)} cannot be kept: the price of {unpriced} is not known. "
            "Start a run without --max-dollars, and cap --max-tokens or --max-calls instead."
        )
    for name, cap, used, format_amount in (
        ("dollars", caps.dollars, total.dollars, _format_money),
        ("tokens", caps.tokens, total.tokens, _make_count_formatter("token")),
        ("calls", caps.calls, total.calls, _make_count_formatter("call")),
        ("minutes", caps.minutes, total.active_seconds / 60, _make_count_formatter("minute")),
    ):
        if cap is not None and used >= cap:
            amounts = f"The cap of {format_amount(cap)} is reached ({format_amount(used)} used)"
            raise MindError(f"{amounts}; resume the run with a higher --max-{name}.")


_RECEIPT_CHECK: ContextVar[Callable[[Mapping[str, Any]], None] | None] = ContextVar("_WATCH", default=None)


@contextmanager
def enforce_caps(caps: Caps, spending: Spending) -> Iterator[None]:
    """Hold these caps within the `with`: a call of many requests is stopped by `check_request` before the one that is too many."""
    token = _RECEIPT_CHECK.set(lambda receipt: check_caps(caps, spending, receipt))
    try:
        yield
    finally:
        _RECEIPT_CHECK.reset(token)


def check_request(receipt: Mapping[str, Any]) -> None:
    """Check the caps before a request to a provider. receipt: of the call that is going on, so far. Raises MindError at a cap."""
    check_receipt = _RECEIPT_CHECK.get()
    if check_receipt is not None:
        check_receipt(receipt)


def read_tokens(receipt: Mapping[str, float]) -> float | None:
    """Read the tokens in and out, as far as receipts tell; None when they tell nothing."""
    total = next((receipt[name] for name in ("total_tokens", "tokens") if name in receipt), None)
    parts = [receipt[name] for name in ("input_tokens", "output_tokens") if name in receipt]
    return total if total is not None else sum(parts) if parts else None


def read_dollars(receipt: Mapping[str, float]) -> float | None:
    """Read the dollars, as far as receipts tell; None when they tell nothing."""
    return next((receipt[name] for name in ("dollars", "usd", "cost") if name in receipt), None)


def _make_count_formatter(noun: str) -> Callable[[float], str]:
    return lambda number: f"{number:,} {noun}{'s'[number == 1 :]}" if isinstance(number, int) else f"{number:,.4g} {noun}s"


def _format_money(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 0.01 or not amount else f"${amount:.4g}"
