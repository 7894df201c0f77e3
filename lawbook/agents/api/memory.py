"""What a door remembers of one member between its commands: letters of tiles, what was shown last, the plan that stopped.

Nothing here decides anything. The letters are kept in a file of the workspace, so that they stay when the run is resumed; the rest
is forgotten then.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Self

from lawbook.agents.api.workspace import Workspace
from lawbook.core.record import Action
from lawbook.core.results import Subgoal
from lawbook.core.tile_letters import TileLetters, TileView, parse_legend
from lawbook.errors import RefusedError

LEGEND_FILE = "legend.txt"
"""In the workspace: every letter that was given to a tile."""
MAX_LEGEND_BYTES = 300_000


@dataclass(frozen=True)
class KnownPlan:
    """A plan that a search found: at how many actions sent, by which version, to what, and its actions."""

    n_actions: int
    version: int
    target: Subgoal | None
    actions: tuple[Action, ...]


@dataclass(frozen=True)
class StoppedPlan:
    """What was not sent of a plan, and where it led."""

    target: Subgoal | None
    actions: tuple[Action, ...]


@dataclass
class DoorMemory:
    """letters: of tiles; last_view: the board in tiles as it was printed last, with the level it shows; fog: the colour that hides
    in this run, once it has shown itself."""

    letters: TileLetters = field(default_factory=TileLetters)
    last_view: tuple[int, TileView] | None = None
    known_plan: KnownPlan | None = None
    stopped_plan: StoppedPlan | None = None
    fog: int | None = None
    _saved_legend: str = ""

    @classmethod
    def load(cls, workspace: Workspace) -> Self:
        """With the letters that the workspace holds; whatever else stands in that file is left out."""
        memory = cls()
        with contextlib.suppress(RefusedError):
            if workspace.has(LEGEND_FILE):
                memory.letters = parse_legend(workspace.read(LEGEND_FILE, MAX_LEGEND_BYTES))
        memory._saved_legend = memory.letters.format_legend()
        return memory

    def save_legend(self, workspace: Workspace) -> None:
        """Write the letters down where there are new ones."""
        text = self.letters.format_legend()
        if text != self._saved_legend:
            with contextlib.suppress(RefusedError):
                workspace.write(LEGEND_FILE, text + "\n")
            self._saved_legend = text
