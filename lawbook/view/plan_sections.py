"""A whole run as chapters for a page: every telling in order, the actions of a plan gathered under it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from lawbook.core.record import Frame
from lawbook.ledger.ledger import Ledger
from lawbook.runs.state import State
from lawbook.view.display_events import Planned, Stepped, Told
from lawbook.view.event_stream import story


@dataclass
class Leg:
    """A plan and what of it was sent. Grows while the run is told."""

    planned: Planned
    steps: list[Stepped] = field(default_factory=list)

    def frames(self, ledger: Ledger) -> list[Frame]:
        """Where it set out from, and what its driver predicted of every action that was sent."""
        if not self.steps:
            return []
        member = str(self.planned.plan["member"])
        seen = [step.intent["predictions"].get(member) for step in self.steps]
        return [ledger.frame(self.steps[0].before), *(ledger.frame(one[0]) for one in seen if one)]


def chapters(ledger: Ledger) -> Iterator[tuple[Told | Leg, State]]:
    """As `story`, with every plan a Leg. A leg is told where the plan was drawn, and is whole once all has been told."""
    leg: Leg | None = None
    for told, state in story(ledger):
        if isinstance(told, Planned):
            leg = Leg(told)
            yield leg, state
            continue
        if isinstance(told, Stepped) and leg is not None and told.intent["plan"] == leg.planned.number:
            leg.steps.append(told)
        yield told, state
