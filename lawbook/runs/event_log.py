"""Ledger and state as one: every change of a run is an event, appended here and folded here, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lawbook.core.results import RunOutcome, Verdict
from lawbook.ledger.events import AnyEvent, CloseEvent, VerdictEvent
from lawbook.ledger.ledger import Event, Ledger
from lawbook.runs.state import State

Listener = Callable[[Event], None]
"""Told of every event after it has been folded; whoever shows the run."""


class EventLog:
    """Appends are buffered and durable at `commit`; what lies between two commits is one transaction."""

    def __init__(self, ledger: Ledger, state: State, listeners: list[Listener] | None = None) -> None:
        self.ledger, self.state, self.listeners = ledger, state, listeners or []
        self._pending: list[Event] | None = None

    def append(self, data: AnyEvent) -> Event:
        """Append one event to the ledger and fold it into the state."""
        event = self.ledger.write(data)
        self.state.apply(event, self.ledger)
        if self._pending is None:
            self._notify(event)
        else:
            self._pending.append(event)
        return event

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Append events that belong together: listeners are told when all stand, since one that fails must not come between."""
        pending: list[Event] = []
        self._pending = pending
        try:
            yield
        finally:
            self._pending = None
        for event in pending:
            self._notify(event)

    def _notify(self, event: Event) -> None:
        for listener in self.listeners:
            listener(event)

    def append_verdict(self, member: int, about: str, verdict: Verdict) -> Event:
        """Append a verdict.

        about: `proposal`, `prediction` (a live one was wrong, the member is falsified), `explore` (an unusable answer), `plan`
        (after what was seen it no longer ends in its aim; nobody is falsified).
        """
        return self.append(VerdictEvent(member, about, verdict))

    def commit(self) -> None:
        """Make all that was appended durable."""
        self.ledger.commit()

    def finish(self, outcome: RunOutcome, sentence: str) -> None:
        """End the run for good. The head hash is the one to keep: it shows edits of anything before it."""
        if self.state.outcome is None:
            self.append(CloseEvent(outcome, sentence, self.ledger.head))
            self.commit()
