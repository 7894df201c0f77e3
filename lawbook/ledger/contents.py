"""Events with the frames and texts they name: stored when an event is written, brought back when it is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from lawbook.core.hypothesis import Proposal
from lawbook.core.record import Action, Frame, Observation
from lawbook.core.results import NoPlan, Plan, Prediction, Probe, Subgoal
from lawbook.ledger.events import DrawEvent, ObserveEvent, PlanEvent, PredictedOutcome, StoredProposal, StoredSubgoal
from lawbook.ledger.ledger import Ledger


class StoredFrames(Sequence[Frame]):
    """The frames of one observation: the settled one kept, the animation read from the ledger when it is looked at.

    A slice of them is read when it is looked at too (settled None: nothing of it is kept).
    """

    __slots__ = ("_ledger", "_names", "_settled")

    def __init__(self, ledger: Ledger, names: Sequence[str], settled: Frame | None) -> None:
        self._ledger, self._names, self._settled = ledger, tuple(names), settled

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, index: int) -> Frame: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Frame]: ...
    def __getitem__(self, index: int | slice) -> Frame | Sequence[Frame]:
        if isinstance(index, slice):
            return StoredFrames(self._ledger, self._names[index], None)
        at = range(len(self))[index]
        kept = self._settled if at == len(self) - 1 else None
        return self._ledger.get_frame(self._names[at]) if kept is None else kept


def store_observation(ledger: Ledger, observation: Observation, action: Action | None, trajectory: int) -> ObserveEvent:
    """What followed `action` (None: the world was opened) as an event; its frames are stored.

    trajectory: index of the one this step belongs to; of the new one after an opening or RESET.
    """
    frames = tuple(ledger.put_frame(frame) for frame in observation.frames)
    available, reward = tuple(observation.available), observation.reward
    return ObserveEvent(trajectory, action, frames, observation.status, observation.level, available, reward=reward)


def load_observation(ledger: Ledger, event: ObserveEvent) -> Observation:
    """The observation of an event; animation frames are read when they are looked at. Raises UsageError when one is not there."""
    frames = StoredFrames(ledger, event.frames, ledger.get_frame(event.frames[-1]))
    return Observation(frames, event.status, event.level, event.available, event.reward)


def load_steps(ledger: Ledger) -> Iterator[tuple[Action | None, Observation]]:
    """What was sent and what was seen, in order; the first was no action. Raises UsageError for an observation that is none."""
    for event in ledger.read_data(ObserveEvent):
        yield event.action, load_observation(ledger, event)


def store_proposal(ledger: Ledger, proposal: Proposal) -> StoredProposal:
    """A proposal as an event holds it; its texts are stored by content."""
    return StoredProposal(
        proposal.decision,
        None if proposal.rulebook is None else ledger.put_text(proposal.rulebook),
        None if proposal.files is None else {name: ledger.put_text(text) for name, text in proposal.files.items()},
        proposal.diagnosis,
        proposal.unusable,
    )


def load_proposal(ledger: Ledger, stored: StoredProposal) -> Proposal:
    """The proposal with its texts. Raises UsageError when one is not there."""
    return Proposal(
        stored.decision,
        None if stored.rulebook is None else ledger.get_text(stored.rulebook),
        None if stored.files is None else {name: ledger.get_text(text) for name, text in stored.files.items()},
        stored.diagnosis,
        stored.unusable,
    )


def store_plan(ledger: Ledger, member: int, result: Plan | NoPlan, subgoal: Subgoal | None) -> PlanEvent:
    """A search and what it came to, as an event; the source of its subgoal is stored."""
    source, question = (ledger.put_text(subgoal.source), subgoal.question) if subgoal else (None, "")
    search = (member, source, question, result.nodes, result.seconds, result.cut)
    if isinstance(result, Plan):
        aim = result.aim if result.aim == "frontier" or result.risk else None
        return PlanEvent(*search, result.actions, result.certified, result.method, aim=aim, risk=result.risk)
    return PlanEvent(*search, None, reason=result.reason, exhausted=result.exhausted)


def store_draw(
    ledger: Ledger, classes: Sequence[Sequence[int]], class_index: int, plan_seq: int, predictions: Sequence[Prediction]
) -> DrawEvent:
    """Return the draw of a plan as an event; the frames it is predicted to show are stored."""
    outcomes = [store_prediction(ledger, prediction) for prediction in predictions]
    planes = tuple(outcome.open_cells for outcome in outcomes)
    return DrawEvent(
        tuple(map(tuple, classes)),
        class_index,
        plan_seq,
        tuple(outcome.frame for outcome in outcomes),
        tuple(outcome.statuses for outcome in outcomes),
        planes if any(planes) else None,
    )


def store_prediction(ledger: Ledger, prediction: Prediction) -> PredictedOutcome:
    """A prediction as an event holds it; its frames are stored."""
    open_cells = None if prediction.open_cells is None else ledger.put_frame(prediction.open_cells)
    return PredictedOutcome(ledger.put_frame(prediction.frame), prediction.statuses, open_cells)


def load_prediction(ledger: Ledger, outcome: PredictedOutcome) -> Prediction:
    """The prediction with its frames. Raises UsageError when one is not there."""
    open_cells = None if outcome.open_cells is None else ledger.get_frame(outcome.open_cells)
    return Prediction(ledger.get_frame(outcome.frame), outcome.status, open_cells, outcome.statuses - {outcome.status})


def store_exploration(ledger: Ledger, exploration: Subgoal | Probe) -> StoredSubgoal | Probe:
    """What a mind wants to find out, as an event holds it; the source of a subgoal is stored."""
    if isinstance(exploration, Probe):
        return exploration
    return StoredSubgoal(ledger.put_text(exploration.source), exploration.question, exploration.unusable)


def load_exploration(ledger: Ledger, stored: StoredSubgoal | Probe) -> Subgoal | Probe:
    """The exploration with its source. Raises UsageError when that is not there."""
    if isinstance(stored, Probe):
        return stored
    return Subgoal(ledger.get_text(stored.source), stored.question, stored.unusable)
