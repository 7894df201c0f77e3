"""`watch`: follow a run that is played elsewhere, from its ledger alone, with the display that `play` has."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lawbook.cli.commands import command
from lawbook.cli.options import no_board_option, plain_option, run_argument
from lawbook.cli.player import DisplayOptions
from lawbook.core.record import Status
from lawbook.core.results import Prediction
from lawbook.ledger.events import DrawEvent, OpenEvent
from lawbook.ledger.ledger import Event, Ledger
from lawbook.protocols.protocol import Protocol, get_protocol
from lawbook.runs.event_log import EventLog
from lawbook.runs.folder import RunFolder
from lawbook.runs.state import State
from lawbook.view.live_display import NullDisplay
from lawbook.view.liveness import is_alive

POLL_SECONDS, PAUSE_TIMEOUT_SECONDS = 0.1, 3.0
"""Seconds between two looks at the ledger, and after which a run that nobody has open is taken to be paused."""
RECENT_EVENTS = 60
"""Events that are told once more at the start, so that whoever comes late sees what just happened."""


@command("watch")
@run_argument
@plain_option
@no_board_option
def watch_run(folder: RunFolder, plain: bool, no_board: bool) -> int:
    _, display = DisplayOptions(plain=plain, fast=True, board=not no_board).make_display()
    try:
        has_ended = follow(folder, display, from_start=not hasattr(display, "scene"))
    except KeyboardInterrupt:
        return 0
    if not has_ended:
        print(f"nobody is playing this run; go on with: lawbook play --resume {folder.path}", file=sys.stderr)
    return 0


@dataclass
class LedgerFollower:
    """What a display looks at, kept up from a ledger that somebody else writes."""

    event_log: EventLog
    protocol: Protocol
    budget: int
    predicted_frames: Sequence[str] = field(default=())
    """Ids of the frames that the plan being followed is predicted to show."""

    @classmethod
    def from_ledger(cls, ledger: Ledger) -> LedgerFollower:
        """Raises UsageError when the ledger has no opening."""
        state = State.from_opening(ledger)
        run = next(ledger.read_data(OpenEvent)).run
        return cls(EventLog(ledger, state), get_protocol(run.protocol), run.budget)

    @property
    def ahead(self) -> Sequence[Prediction]:
        active = self.event_log.state.active_plan
        if active is None:
            return ()
        return [
            Prediction(self.event_log.ledger.get_frame(frame_id), Status.RUNNING)
            for frame_id in self.predicted_frames[active.n_sent :]
        ]

    def apply(self, event: Event) -> None:
        """As the journal does with an event of its own, but for the writing."""
        self.event_log.state.apply(event, self.event_log.ledger)
        if isinstance(event.data, DrawEvent):
            self.predicted_frames = event.data.predicted_frames or ()
        for listener in self.event_log.listeners:
            listener(event)


def follow(folder: RunFolder, display: NullDisplay, *, from_start: bool, should_stop: Callable[[], bool] = lambda: False) -> bool:
    """Show a run until it ends; True when it has, False when nobody plays it any more, or `should_stop` says so.

    from_start: from the first event on, else from the last few. Raises UsageError for a ledger that cannot be read.
    """
    with Ledger.open(folder.ledger, readonly=True) as ledger, display:
        follower = LedgerFollower.from_ledger(ledger)
        first_shown_seq = 0 if from_start else max(0, len(ledger) - RECENT_EVENTS)
        last_seq, is_attached, last_alive_at = -1, False, time.monotonic()
        while True:
            for event in ledger.read_events(after_seq=last_seq):
                if not is_attached and event.seq > first_shown_seq:
                    display.attach(follower)
                    is_attached = True
                follower.apply(event)
                last_seq, last_alive_at = event.seq, time.monotonic()
            if follower.event_log.state.outcome is not None or should_stop():
                break
            if is_alive(folder):
                last_alive_at = time.monotonic()
            elif time.monotonic() - last_alive_at > PAUSE_TIMEOUT_SECONDS:
                break
            time.sleep(POLL_SECONDS)
        if not is_attached:
            display.attach(follower)
        return follower.event_log.state.outcome is not None
