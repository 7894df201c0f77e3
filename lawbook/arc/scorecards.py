"""Scorecards of ARC-AGI-3 for the commands: opened, read and closed through the toolkit, which is loaded only for that."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from lawbook.arc import source


def open_card(mode: str, tags: Sequence[str] = (), source_url: str = "") -> str:
    """Open a scorecard; its id. The worlds that this process starts can play on it from now on. Raises UsageError."""
    with source.preserve_environment():
        card = _load_remote().open_card(mode, tags, source_url)
    card.share()
    return str(card.id)


def close_card(card: str, mode: str) -> dict[str, Any]:
    """Close it; what it comes to, as the toolkit's EnvironmentScorecard has it. Raises UsageError."""
    with source.preserve_environment():
        summary: dict[str, Any] = _load_remote().close_card(card, mode)
        return summary


def read_card(card: str, mode: str) -> dict[str, Any]:
    """What an open one says so far; a server tells nothing of a competition card. Raises UsageError."""
    with source.preserve_environment():
        summary: dict[str, Any] = _load_remote().read_card(card, mode)
        return summary


def format_card(card: dict[str, Any]) -> list[str]:
    """A card in lines for people: its score, then every play of every game."""
    lines = [f"card {card['card_id']}: {card['score']:.2f} over {len(card['environments'])} games"]
    for game in card["environments"]:
        for run in game["runs"]:
            levels, score = run.get("level_actions", []), run["score"]
            per_level = f" ({', '.join(map(str, levels))})" if levels else ""
            lines.append(f"  {game['id']}  {run['levels_completed']} levels, {run['actions']} actions{per_level}, {score:.2f}")
    return lines


def _load_remote() -> ModuleType:
    from lawbook.arc import remote

    return remote
