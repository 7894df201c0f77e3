"""Executables: what a run executes action by action, a plan made beforehand or a controller that chooses as it goes."""

from __future__ import annotations

from dataclasses import dataclass

from lawbook.core.record import Action
from lawbook.errors import RefusedError


@dataclass(frozen=True)
class PlanRun:
    """The open loop: every action is known before the first is sent."""

    actions: tuple[Action, ...]

    @property
    def length(self) -> int:
        """How many actions it has."""
        return len(self.actions)

    def get_action(self, position: int) -> Action:
        """Return the action to send after `position` of them (from 0). Raises IndexError behind the end."""
        return self.actions[position]

    def list_remaining(self, position: int) -> tuple[Action, ...]:
        """List what is left to send after `position` actions."""
        return self.actions[position:]

    def is_finished(self, position: int) -> bool:
        """Tell whether nothing is left after `position` actions."""
        return position >= len(self.actions)


@dataclass(frozen=True)
class ControllerRun:
    """The closed loop: a member's controller is asked for each action with what was seen last.

    files_digest: of the files it is part of; class_file: the one that defines it; until_source: source of what ends it,
    `def until(state) -> bool`; limit: actions at most.
    """

    member: int
    files_digest: str
    class_file: str
    until_source: str
    limit: int

    @property
    def length(self) -> None:
        """Nobody knows beforehand how many actions it takes."""
        return None

    def get_action(self, position: int) -> Action:
        """Raise RefusedError: nothing runs controllers yet."""
        raise RefusedError("Controllers are not available yet; execute a plan, a sequence of actions.")

    def list_remaining(self, position: int) -> tuple[Action, ...]:
        """Raise RefusedError: what a controller will do nobody knows beforehand."""
        raise RefusedError("What a controller will send is not known beforehand; ask it for one action at a time.")

    def is_finished(self, position: int) -> bool:
        """Tell whether its limit is reached after `position` actions; that `until` holds is seen where it runs."""
        return position >= self.limit


Executable = PlanRun | ControllerRun
"""Whoever follows one asks it for the next action and whether there is any; only what plans knows a plan's actions."""
