"""What an answer costs by the published prices, where they are known (the package genai-prices)."""

from __future__ import annotations

from collections.abc import Mapping


def price_tokens(model: str, tokens: Mapping[str, int]) -> float | None:
    """Dollars; None where the package is not installed or does not know the model."""
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    usage = Usage(
        input_tokens=tokens.get("input_tokens", 0),
        cache_read_tokens=tokens.get("cached_tokens", 0),
        cache_write_tokens=tokens.get("cache_write_tokens", 0),
        output_tokens=tokens.get("output_tokens", 0),
    )
    try:
        return float(calc_price(usage, model_ref=model).total_price)
    except (LookupError, ValueError):
        return None
