"""One run by number: every step, proposal and plan, read once, as far as somebody has asked; it grows while the run is played."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Self

import numpy as np

from lawbook.core.record import Frame
from lawbook.errors import UsageError
from lawbook.ledger.ledger import Event, Kind, Ledger
from lawbook.runs.state import State
from lawbook.view.display_events import Called, Missed, Opened, Planned, Proposed, Stepped, Told
from lawbook.view.event_stream import Teller
from lawbook.view.metrics import Counting, RunNumbers

SLICE = 400
"""Events read at one go; between two of them somebody else has a turn."""


class Blind(Ledger):
    """A ledger whose frames are not looked at: folding 5,000 actions of 64 x 64 takes 0.46 s this way, and 0.83 s with them."""

    _NOTHING = np.zeros((1, 1), np.uint8)

    def frame(self, name: str) -> Frame:
        return self._NOTHING

    def seen(self, name: str) -> Frame:
        """The real one."""
        return super().frame(name)


@dataclass(slots=True)
class Step:
    """One observation. number: actions sent by then (0: first sight). frames: ids, the settled one last; level: now being played.
    told: None at first sight. after: what happened between it and the next action."""

    number: int
    frames: tuple[str, ...]
    level: int
    time: float
    told: Stepped | None
    after: list[Told] = field(default_factory=list)


class Standing(NamedTuple):
    """From step `at` on this member may steer (admissible) or not."""

    at: int
    member: int
    admissible: bool


class Chronicle:
    """Several threads may ask at once; lists only grow. `close` it at the end."""

    def __init__(self, path: Path) -> None:
        """Raises UsageError when `path` is no ledger or has no opening."""
        self.ledger = Blind.open(path, readonly=True)
        try:
            opening = next(self.ledger.events([Kind.OPEN]), None)
            if opening is None:
                raise UsageError("This ledger has no opening: the run was ended before it began.")
            self.state = State.opened(self.ledger)
        except BaseException as error:
            self.ledger.__exit__(type(error), error, None)
            raise
        self.opened = Opened(
            seq=opening.seq,
            time=opening.time,
            at=0,
            **{key: opening.body[key] for key in ("run", "spec", "versions", "sandbox") if key in opening.body},
        )
        self.steps: list[Step] = []
        self.starts: list[int] = []
        """Trajectory -> the step that shows its first frame."""
        self.proposals: list[Proposed] = []
        self.misses: list[Missed] = []
        self.calls: list[Called] = []
        self.draws: list[Planned] = []
        self.plans: dict[int, Planned] = {}
        self.standings: list[Standing] = []
        self.seq = -1
        self._standing = [False] * len(self.state.members)
        self._teller, self._counting, self._lock = Teller(self.state, self.ledger), Counting(), Lock()

    def read(self, steps: int | None = None) -> None:
        """Read on until that many steps are known; None: to the end, as it is now. Raises UsageError for a damaged ledger."""
        while steps is None or len(self.steps) < steps:
            with self._lock:
                events = list(islice(self.ledger.events(after=self.seq), SLICE))
                for event in events:
                    try:
                        self._take(event)
                    except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
                        raise UsageError(f"Event {event.seq} does not fit what came before ({error!r}); it was altered.") from error
            if len(events) < SLICE:
                return

    def _take(self, event: Event) -> None:
        self.state.apply(event, self.ledger)
        told = self._teller.tell(event)
        self.seq = event.seq
        if event.kind is Kind.OBSERVE:
            self._observed(event.body["frames"], event.body["level"], event.time, told)
        if told is not None:
            self._tell(told)

    def _observed(self, frames: list[str], level: int, time: float, told: Told | None) -> None:
        step = Step(len(self.steps), tuple(frames), level, time, told if isinstance(told, Stepped) else None)
        self.steps.append(step)
        self.starts += [step.number] * (len(self.state.record) - len(self.starts))

    def _tell(self, told: Told) -> None:
        self._counting.add(told)
        match told:
            case Proposed():
                self.proposals.append(told)
            case Missed():
                self.misses.append(told)
            case Planned():
                self.draws.append(told)
                self.plans[told.number] = told
            case Called():
                self.calls.append(told)
        if self.steps and not isinstance(told, Stepped | Opened):
            self.steps[-1].after.append(told)
        standing = [member.admissible for member in self.state.members]
        if standing != self._standing:
            changed = [m for m, now in enumerate(standing) if now != self._standing[m]]
            self.standings += [Standing(self.state.sent, m, standing[m]) for m in changed]
            self._standing = standing

    def numbers(self) -> RunNumbers:
        """Everything so far. Reads to the end."""
        self.read()
        with self._lock:
            return self._counting.numbers(self.state, self.ledger)

    def place(self, trajectory: int, step: int) -> int | None:
        """The step of the run that is step `step` (0: the first rendering) of a trajectory; None where there is none."""
        number = self.starts[trajectory] + step if 0 <= trajectory < len(self.starts) else len(self.steps)
        return number if number < len(self.steps) else None

    def ahead(self, number: int) -> Planned | None:
        """The plan that is followed next after this step."""
        after = self.steps[number + 1].told if number + 1 < len(self.steps) else None
        if after is not None:
            return self.plans.get(after.intent["plan"]) if after.intent["plan"] is not None else None
        drawn = next((told for told in reversed(self.steps[number].after) if isinstance(told, Planned | Missed)), None)
        if isinstance(drawn, Planned):
            return drawn
        active = self.state.active if drawn is None else None
        return self.plans.get(active.plan) if active is not None else None

    def close(self) -> None:
        with self._lock:
            self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with self._lock:
            self.ledger.__exit__(kind, error, trace)
