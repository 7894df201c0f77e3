"""A whole run as chapters for a page: every telling in order, the actions of a plan gathered under it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from lawbook.core.record import Frame
from lawbook.ledger.ledger import Ledger
from lawbook.runs.state import State
from lawbook.view.display_events import DisplayEvent, PlanStarted, StepTaken
from lawbook.view.event_stream import read_display_events


@dataclass
class PlanSection:
    """A plan and what of it was sent. Grows while the run is told."""

    plan_event: PlanStarted
    steps: list[StepTaken] = field(default_factory=list)

    def read_frames(self, ledger: Ledger) -> list[Frame]:
        """Read the frame where the plan set out from, and those that its driver predicted of every action that was sent.

        Each is uint8, H x W. Raises UsageError where one is not there or has been altered.
        """
        if not self.steps:
            return []
        member = self.plan_event.plan.member
        predictions = [step.intent.predictions.get(member) for step in self.steps]
        return [
            ledger.get_frame(self.steps[0].previous_frame),
            *(ledger.get_frame(prediction.frame) for prediction in predictions if prediction),
        ]


def read_sections(ledger: Ledger) -> Iterator[tuple[DisplayEvent | PlanSection, State]]:
    """Yield what `read_display_events` yields, with a PlanSection in place of every plan.

    A section is told where the plan was drawn, and is whole once all has been told. Raises UsageError when the ledger has no
    opening.
    """
    section: PlanSection | None = None
    for event, state in read_display_events(ledger):
        if isinstance(event, PlanStarted):
            section = PlanSection(event)
            yield section, state
            continue
        if isinstance(event, StepTaken) and section is not None and event.intent.plan_seq == section.plan_event.plan_seq:
            section.steps.append(event)
        yield event, state
