"""What ARC-AGI-3's own words mean here: `state` and `levels_completed` as a Status and a level. One rule for all who ask."""

from __future__ import annotations

from lawbook.core.record import Status

STATES = ("NOT_PLAYED", "NOT_FINISHED", "WIN", "GAME_OVER")


def interpret_state(state: str, completed: int, levels: int | None, previous_level: int, *, reset: bool) -> tuple[Status, int]:
    """(status, level now being played) after an action or a reset.

    state: a name of STATES; completed: `levels_completed` now; levels: `win_levels`, None where unknown; previous_level: the
    level before. COMPLETED when more levels are completed than before; a game that is won has completed them all, whatever it
    counts.
    """
    level = max(completed, levels or previous_level + 1) if state == "WIN" else completed
    if not reset and level > previous_level:
        return Status.COMPLETED, level
    return (Status.OVER if state == "GAME_OVER" else Status.RUNNING), level
