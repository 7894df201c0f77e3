"""`watch`: follow a run that is played elsewhere, from its ledger alone, with the display that `play` has."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lawbook.core.record import Status
from lawbook.core.results import Prediction
from lawbook.ledger.ledger import Event, Kind, Ledger
from lawbook.protocols.protocol import Protocol, find_protocol
from lawbook.runs.event_log import Journal
from lawbook.runs.folder import RunFolder
from lawbook.runs.state import State
from lawbook.view.live_display import Silent
from lawbook.view.liveness import alive

LOOK, PATIENCE = 0.1, 3.0
"""Seconds between two looks at the ledger, and after which a run that nobody has open is taken to be paused."""
RECENT = 60
"""Events that are told once more at the start, so that whoever comes late sees what just happened."""


@dataclass
class Follower:
    """What a display looks at, kept up from a ledger that somebody else writes."""

    journal: Journal
    rules: Protocol
    budget: int
    drawn: Sequence[str] = field(default=())
    """Ids of the frames that the plan being followed is predicted to show."""

    @classmethod
    def of(cls, ledger: Ledger) -> Follower:
        """Raises UsageError when the ledger has no opening."""
        state = State.opened(ledger)
        run = next(ledger.events()).body["run"]
        return cls(Journal(ledger, state), find_protocol(run["protocol"]), run["budget"])

    @property
    def ahead(self) -> Sequence[Prediction]:
        active = self.journal.state.active
        if active is None:
            return ()
        return [Prediction(self.journal.ledger.frame(name), Status.RUNNING) for name in self.drawn[active.at :]]

    def take(self, event: Event) -> None:
        """As the journal does with an event of its own, but for the writing."""
        self.journal.state.apply(event, self.journal.ledger)
        if event.kind is Kind.DRAW:
            self.drawn = event.body.get("ahead", ())
        for listener in self.journal.listeners:
            listener(event)


def follow(folder: RunFolder, show: Silent, *, whole: bool, until: Callable[[], bool] = lambda: False) -> bool:
    """Show a run until it ends; True when it has, False when nobody plays it any more, or `until` says so.

    whole: from the first event on, else from the last few. Raises UsageError for a ledger that cannot be read.
    """
    with Ledger.open(folder.ledger, readonly=True) as ledger, show:
        follower = Follower.of(ledger)
        begin = 0 if whole else max(0, len(ledger) - RECENT)
        seq, watched, left = -1, False, time.monotonic()
        while True:
            for event in ledger.events(after=seq):
                if not watched and event.seq > begin:
                    show.watch(follower)
                    watched = True
                follower.take(event)
                seq, left = event.seq, time.monotonic()
            if follower.journal.state.ending is not None or until():
                break
            if alive(folder):
                left = time.monotonic()
            elif time.monotonic() - left > PATIENCE:
                break
            time.sleep(LOOK)
        if not watched:
            show.watch(follower)
        return follower.journal.state.ending is not None
