"""What others have published for the 25 public games of ARC-AGI-3: `published.csv` in this folder.

Source: the per-game tables of the Memento 3 paper (arXiv 2610.11794), where actions and RHAE of six systems stand beside what
people took. A `+` marks a run that left a level uncleared: its count is what was spent, not what solving costs.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

SYSTEMS = ("memento3", "baseline1", "nooa", "opine", "dreamteam", "continual")
"""As the columns of the file are named."""


@dataclass(frozen=True)
class PublishedResult:
    """One system on one game. cleared: all levels were."""

    actions: int
    cleared: bool
    rhae: float

    def __str__(self) -> str:
        return f"{self.actions:,}{'' if self.cleared else '+'} ({self.rhae:.1f})"


@dataclass(frozen=True)
class PublishedGame:
    """human_actions: actions that people took, all levels together."""

    game: str
    levels: int
    human_actions: int
    systems: MappingProxyType[str, PublishedResult]


@cache
def load_published() -> MappingProxyType[str, PublishedGame]:
    """Every game of the table, by its four-letter name."""
    text = files("lawbook.scoring").joinpath("published.csv").read_text(encoding="utf-8")
    games = {}
    for row in csv.DictReader(text.splitlines()):
        systems = {}
        for system in SYSTEMS:
            actions = row[f"{system}_actions"]
            systems[system] = PublishedResult(int(actions.rstrip("+")), not actions.endswith("+"), float(row[f"{system}_rhae"]))
        game = PublishedGame(row["game"], int(row["levels"]), int(row["human_actions"]), MappingProxyType(systems))
        games[game.game] = game
    return MappingProxyType(games)
