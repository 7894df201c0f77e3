"""Event bodies: how actions, proposals, verdicts and explorations are written into the ledger and read back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from lawbook.core.hypothesis import Decision, Proposal
from lawbook.core.record import Action, Observation, Status
from lawbook.core.results import (
    Counterexample,
    Judgement,
    MismatchRegion,
    NoPlan,
    Plan,
    Prediction,
    Probe,
    ProgramError,
    Subgoal,
    Verdict,
    VerdictKind,
)
from lawbook.ledger.ledger import EventKind, Ledger, read_observation

EventBody = dict[str, Any]


def pack_action(action: Action | None) -> list[int] | None:
    """Pack an action as [id] or [id, x, y]; None where the world was opened without an action."""
    if action is None:
        return None
    return [action.id] if action.x is None or action.y is None else [action.id, action.x, action.y]


def unpack_action(packed: list[int] | None) -> Action | None:
    """Return the action of [id] or [id, x, y]; None of None."""
    return None if packed is None else Action(*packed)


def read_recorded_steps(ledger: Ledger) -> Iterator[tuple[Action | None, Observation]]:
    """Yield what was sent and what was seen, in order; the first was no action.

    Raises UsageError for an observation that is none.
    """
    for event in ledger.read_events([EventKind.OBSERVE]):
        yield unpack_action(event.body["action"]), read_observation(ledger, event.body)


def unpack_actions(packed: list[list[int]]) -> tuple[Action, ...]:
    """Return the actions of a list of [id] or [id, x, y]."""
    return tuple(Action(*one) for one in packed)


def pack_proposal(ledger: Ledger, proposal: Proposal) -> EventBody:
    """Pack a PROPOSE body without member and circumstance; texts are stored by content."""
    return {
        "decision": proposal.decision.value,
        "rulebook": None if proposal.rulebook is None else ledger.put_text(proposal.rulebook),
        "files": None if proposal.files is None else {name: ledger.put_text(text) for name, text in proposal.files.items()},
        "diagnosis": proposal.diagnosis,
        **({"unusable": proposal.unusable} if proposal.unusable else {}),
    }


def unpack_proposal(ledger: Ledger, body: Mapping[str, Any]) -> Proposal:
    """Return the proposal of a PROPOSE body. Raises UsageError where one of its texts is not there or has been altered."""
    files = body["files"]
    return Proposal(
        Decision(body["decision"]),
        None if body["rulebook"] is None else ledger.get_text(body["rulebook"]),
        None if files is None else {name: ledger.get_text(text) for name, text in files.items()},
        body["diagnosis"],
        body.get("unusable", ""),
    )


def pack_judgement(judgement: Judgement) -> EventBody:
    """Pack what a judge answered about rulebook and program."""
    return {"faithful": judgement.faithful, "rules": dict(judgement.rules), "reason": judgement.reason}


def pack_verdict(verdict: Verdict) -> EventBody:
    """Pack a VERDICT body without member and circumstance."""
    body = asdict(verdict)
    counterexample = verdict.counterexample
    if counterexample is not None:
        body["counterexample"]["action"] = pack_action(counterexample.action)
    return body


def unpack_verdict(body: Mapping[str, Any]) -> Verdict:
    """Return the verdict of a VERDICT body."""
    counterexample, fault, judgement = body["counterexample"], body["fault"], body["judgement"]
    return Verdict(
        VerdictKind(body["outcome"]),
        body["reason"],
        None if counterexample is None else _unpack_counterexample(counterexample),
        None if fault is None else ProgramError(**fault),
        None if judgement is None else Judgement(**judgement),
        body["replayed"],
        body["seconds"],
    )


def _unpack_counterexample(body: Mapping[str, Any]) -> Counterexample:
    regions = tuple(MismatchRegion(*row[:5], *map(tuple, row[5:])) for row in body["regions"])
    return Counterexample(
        **{
            **body,
            "action": unpack_action(body["action"]),
            "expected": Status(body["expected"]),
            "predicted": Status(body["predicted"]),
            "regions": regions,
        }
    )


def pack_plan(ledger: Ledger, member: int, result: Plan | NoPlan, subgoal: Subgoal | None) -> EventBody:
    """Pack a PLAN body, of a search that found one or did not; the subgoal's source is stored by content."""
    body: EventBody = {
        "member": member,
        "subgoal": ledger.put_text(subgoal.source) if subgoal else None,
        "question": subgoal.question if subgoal else "",
        "nodes": result.nodes,
        "seconds": result.seconds,
        "cut": result.cut,
    }
    aim = {"aim": result.aim, "risk": result.risk} if isinstance(result, Plan) and (result.aim == "frontier" or result.risk) else {}
    if isinstance(result, Plan):
        return (
            body
            | aim
            | {"actions": [pack_action(a) for a in result.actions], "certified": result.certified, "method": result.method}
        )
    return body | {"actions": None, "reason": result.reason, "exhausted": result.exhausted}


def pack_planned(ledger: Ledger, predictions: Sequence[Prediction]) -> EventBody:
    """Pack what a plan is predicted to show, for a DRAW body: a frame and a status for each action.

    Where one leaves something open its status is the list of those left possible, and `ahead_open` has its plane of open cells.
    """
    packed = [pack_prediction(ledger, prediction) for prediction in predictions]
    body: EventBody = {"ahead": [row[0] for row in packed], "ahead_statuses": [row[1] for row in packed]}
    if any(len(row) > 2 for row in packed):
        body["ahead_open"] = [row[2] if len(row) > 2 else None for row in packed]
    return body


def unpack_planned(body: Mapping[str, Any]) -> tuple[RecordedPrediction, ...]:
    """Return the predictions of a DRAW body; none where an older one names the frames alone. Raises ValueError."""
    statuses = body.get("ahead_statuses")
    if statuses is None:
        return ()
    planes = body.get("ahead_open") or [None] * len(statuses)
    rows = zip(body["ahead"], statuses, planes, strict=True)
    return tuple(
        RecordedPrediction.unpack((frame, status) if isinstance(status, str) else (frame, status, plane))
        for frame, status, plane in rows
    )


def pack_exploration(ledger: Ledger, exploration: Subgoal | Probe) -> EventBody:
    """Pack what a mind wants to explore; a subgoal's source is stored by content."""
    if isinstance(exploration, Probe):
        return {"probe": pack_action(exploration.action), "question": exploration.question}
    unusable = {"unusable": exploration.unusable} if exploration.unusable else {}
    return {"subgoal": ledger.put_text(exploration.source), "question": exploration.question, **unusable}


def unpack_exploration(ledger: Ledger, body: Mapping[str, Any]) -> Subgoal | Probe:
    """Return the subgoal or probe of such a body. Raises UsageError where the source is not there or has been altered."""
    if "subgoal" in body:
        return Subgoal(ledger.get_text(body["subgoal"]), body["question"], body.get("unusable", ""))
    return Probe(Action(*body["probe"]), body["question"])


class RecordedPrediction(NamedTuple):
    """A prediction as an INTEND has it: ids of its frame and of the cells it leaves open (None: it claims all), its statuses.

    On record `[frame, status]` where all is claimed, else `[frame, [status, ...], open or null]`.
    """

    frame: str
    status: Status
    open_cells: str | None = None
    alternatives: frozenset[Status] = frozenset()

    @classmethod
    def unpack(cls, packed: Sequence[Any]) -> RecordedPrediction:
        """Read one from an event's body. Raises ValueError or TypeError when it is none."""
        if len(packed) == 2:
            frame, status = packed
            return cls(frame, Status(status))
        frame, statuses, open_cells = packed
        first, *others = map(Status, statuses)
        return cls(frame, first, open_cells, frozenset(others))

    def load(self, ledger: Ledger) -> Prediction:
        """The prediction itself, its frames read from the ledger. Raises UsageError when they are not there."""
        open_cells = None if self.open_cells is None else ledger.get_frame(self.open_cells)
        return Prediction(ledger.get_frame(self.frame), self.status, open_cells, self.alternatives)


def pack_prediction(ledger: Ledger, prediction: Prediction) -> list[Any]:
    """A prediction for an event's body; its frames are stored."""
    frame = ledger.put_frame(prediction.frame)
    if prediction.is_whole:
        return [frame, prediction.status.value]
    statuses = [prediction.status, *sorted(prediction.alternatives)]
    return [frame, statuses, None if prediction.open_cells is None else ledger.put_frame(prediction.open_cells)]
