"""The loops, one protocol's method on one screen each."""

from __future__ import annotations

from lawbook.core.results import RunOutcome
from lawbook.runs.loops import belief, memento3
from lawbook.runs.session import Session


def play(session: Session) -> RunOutcome:
    """Play a run by the loop of its protocol. Returns how it ended."""
    return belief.play(session) if session.protocol.allows_open else memento3.play(session)
