"""The loops, one protocol's method on one screen each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lawbook.runs.session import Session
    from lawbook.runs.state import RunOutcome


def play(session: Session) -> RunOutcome:
    """Play a run by the loop of its protocol. Returns how it ended."""
    from lawbook.runs.loops.belief import play as play_belief
    from lawbook.runs.loops.memento3 import play as play_memento3

    return (play_belief if session.protocol.allows_open else play_memento3)(session)
