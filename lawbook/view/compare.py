"""Several runs side by side on one page, self-contained."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def render(runs: Sequence[tuple[str, Path]]) -> str:
    return ""


def policy(page: str) -> str:
    return ""
