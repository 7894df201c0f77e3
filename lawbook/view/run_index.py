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
from lawbook.ledger.events import EventKind, ObserveEvent, OpenEvent
from lawbook.ledger.ledger import Event, Ledger
from lawbook.runs.state import State
from lawbook.view.display_events import (
    DisplayEvent,
    MindCalled,
    PlanStarted,
    PredictionFailed,
    ProposalJudged,
    RunOpened,
    StepTaken,
)
from lawbook.view.event_stream import DisplayEventBuilder, make_opening
from lawbook.view.metrics import RunMetrics, RunMetricsBuilder

BATCH_EVENTS = 400
"""Events read at one go; between two of them somebody else has a turn."""


class FramelessLedger(Ledger):
    """A ledger whose frames are not looked at: folding 5,000 actions of 64 x 64 takes 0.46 s this way, and 0.83 s with them."""

    _PLACEHOLDER = np.zeros((1, 1), np.uint8)

    def get_frame(self, name: str) -> Frame:
        """Return a placeholder of one cell, whatever the id."""
        return self._PLACEHOLDER

    def read_frame(self, name: str) -> Frame:
        """Read the real frame (uint8, H x W). Raises UsageError when it is not there or has been altered."""
        return super().get_frame(name)


@dataclass(slots=True)
class Step:
    """One observation. number: actions sent by then (0: first sight). frames: ids, the settled one last; level: now being played.
    event: None at first sight. later_events: what happened between it and the next action."""

    number: int
    frames: tuple[str, ...]
    level: int
    time: float
    event: StepTaken | None
    later_events: list[DisplayEvent] = field(default_factory=list)


class MemberStatus(NamedTuple):
    """From step `at` on this member may steer (admissible) or not."""

    at: int
    member: int
    admissible: bool


class RunIndex:
    """Several threads may ask at once; lists only grow. `close` it at the end."""

    def __init__(self, path: Path) -> None:
        """Raises UsageError when `path` is no ledger or has no opening."""
        self.ledger = FramelessLedger.open(path, readonly=True)
        try:
            opening = next(self.ledger.read_events([EventKind.OPEN]), None)
            if opening is None or not isinstance(opening.data, OpenEvent):
                raise UsageError("This ledger has no opening: the run was ended before it began.")
            self.opening = make_opening(opening.data, seq=opening.seq, time=opening.time, at=0)
            self.state = State.from_opening(self.ledger)
        except BaseException as error:
            self.ledger.__exit__(type(error), error, None)
            raise
        self.steps: list[Step] = []
        self.trajectory_starts: list[int] = []
        """Trajectory -> the step that shows its first frame."""
        self.proposals: list[ProposalJudged] = []
        self.mismatches: list[PredictionFailed] = []
        self.calls: list[MindCalled] = []
        self.plan_draws: list[PlanStarted] = []
        self.plans: dict[int, PlanStarted] = {}
        self.member_statuses: list[MemberStatus] = []
        self.seq = -1
        self._admissible = [False] * len(self.state.members)
        self._event_builder, self._metrics_builder, self._lock = (
            DisplayEventBuilder(self.state, self.ledger),
            RunMetricsBuilder(),
            Lock(),
        )

    def read_events(self, n_steps: int | None = None) -> None:
        """Read on until `n_steps` steps are known; None: to the end, as it is now. Raises UsageError for a damaged ledger."""
        while n_steps is None or len(self.steps) < n_steps:
            with self._lock:
                events = list(islice(self.ledger.read_events(after_seq=self.seq), BATCH_EVENTS))
                for event in events:
                    try:
                        self._apply(event)
                    except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
                        raise UsageError(f"Event {event.seq} does not fit what came before ({error!r}); it was altered.") from error
            if len(events) < BATCH_EVENTS:
                return

    def _apply(self, event: Event) -> None:
        self.state.apply(event, self.ledger)
        display_event = self._event_builder.build(event)
        self.seq = event.seq
        if isinstance(event.data, ObserveEvent):
            self._add_step(event.data.frames, event.data.level, event.time, display_event)
        if display_event is not None:
            self._add_display_event(display_event)

    def _add_step(self, frames: tuple[str, ...], level: int, time: float, event: DisplayEvent | None) -> None:
        step = Step(len(self.steps), frames, level, time, event if isinstance(event, StepTaken) else None)
        self.steps.append(step)
        self.trajectory_starts += [step.number] * (len(self.state.record) - len(self.trajectory_starts))

    def _add_display_event(self, event: DisplayEvent) -> None:
        self._metrics_builder.add(event)
        match event:
            case ProposalJudged():
                self.proposals.append(event)
            case PredictionFailed():
                self.mismatches.append(event)
            case PlanStarted():
                self.plan_draws.append(event)
                self.plans[event.plan_seq] = event
            case MindCalled():
                self.calls.append(event)
        if self.steps and not isinstance(event, StepTaken | RunOpened):
            self.steps[-1].later_events.append(event)
        admissible = [member.admissible for member in self.state.members]
        if admissible != self._admissible:
            changed = [index for index, is_admissible in enumerate(admissible) if is_admissible != self._admissible[index]]
            self.member_statuses += [MemberStatus(self.state.n_actions, index, admissible[index]) for index in changed]
            self._admissible = admissible

    def compute_metrics(self) -> RunMetrics:
        """Compute the numbers of everything so far. Reads to the end. Raises UsageError for a damaged ledger."""
        self.read_events()
        with self._lock:
            return self._metrics_builder.build(self.state, self.ledger)

    def find_step(self, trajectory: int, step: int) -> int | None:
        """Return the step of the run that is step `step` (0: the first rendering) of a trajectory; None where there is none."""
        number = self.trajectory_starts[trajectory] + step if 0 <= trajectory < len(self.trajectory_starts) else len(self.steps)
        return number if number < len(self.steps) else None

    def find_next_plan(self, number: int) -> PlanStarted | None:
        """Return the plan that is followed next after step `number`; None where none is."""
        next_event = self.steps[number + 1].event if number + 1 < len(self.steps) else None
        if next_event is not None:
            plan_seq = next_event.intent.plan_seq
            return self.plans.get(plan_seq) if plan_seq is not None else None
        last_event = next(
            (event for event in reversed(self.steps[number].later_events) if isinstance(event, PlanStarted | PredictionFailed)),
            None,
        )
        if isinstance(last_event, PlanStarted):
            return last_event
        active = self.state.active_plan if last_event is None else None
        return self.plans.get(active.plan_seq) if active is not None else None

    def close(self) -> None:
        """Let go of the ledger."""
        with self._lock:
            self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with self._lock:
            self.ledger.__exit__(kind, error, trace)
