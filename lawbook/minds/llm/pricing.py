"""Prices of calls: tokens as the provider counts them, dollars by genai-prices, and the bill of one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

UNPRICED_PROVIDERS = ("openai-compatible", "ollama")
"""Whoever serves these is known by address alone: a model's name says nothing about what it costs there."""


def price_response(response: Any) -> float | None:
    """Return the dollars of one pydantic-ai ModelResponse: as the provider says, else by its price list; None if unknown."""
    reported_cost = (response.provider_details or {}).get("cost")
    if isinstance(reported_cost, int | float):
        return float(reported_cost)
    try:
        if response.provider_name not in UNPRICED_PROVIDERS:
            return float(response.cost().total_price)
        from genai_prices import calc_price

        usage, name, url = response.usage, response.model_name, response.provider_url
        return float(calc_price(usage, name or "", provider_api_url=url).total_price) if url else None
    except (LookupError, ValueError, AssertionError):  # no such model in the list; usage it cannot price; no name at all
        return None


@dataclass
class CallCost:
    """The cost of one call so far, all requests to the provider together, those that failed too.

    dollars: None as soon as one answer had no known price. waited: seconds between tries. See model.Receipt for the names.
    """

    model: str
    requests: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    dollars: float | None = 0.0
    seconds: float = 0.0
    waited: float = 0.0
    retries: int = 0
    failures: int = 0
    tool_calls: int = 0
    finish: str = ""

    def add(self, response: Any) -> None:
        """Add one answer (a pydantic-ai ModelResponse)."""
        usage = response.usage
        self.input_tokens += usage.input_tokens
        self.cached_tokens += usage.cache_read_tokens
        self.cache_write_tokens += usage.cache_write_tokens
        self.output_tokens += usage.output_tokens
        self.reasoning_tokens += usage.output_reasoning_tokens or usage.details.get("reasoning_tokens", 0)
        cost = price_response(response)
        self.dollars = None if cost is None or self.dollars is None else self.dollars + cost

    def build_receipt(self) -> dict[str, float | int | str]:
        """Build the receipt, without what is unknown: no dollars where there is no price, or where nothing was answered."""
        receipt: dict[str, float | int | str] = {name: value for name, value in vars(self).items() if value or name == "requests"}
        if self.dollars is not None and self.input_tokens + self.output_tokens:
            receipt["dollars"] = self.dollars
        return receipt
