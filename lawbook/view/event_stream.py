"""A run told as it went: one thing after another, read off the events, live or from the ledger alone. All views hang on this."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lawbook.core.hypothesis import Proposal
from lawbook.core.record import RESET, Action, Status
from lawbook.ledger.codec import unpack_action, unpack_proposal, unpack_verdict
from lawbook.ledger.ledger import Event, EventKind, Ledger
from lawbook.runs.state import ActionKind, State
from lawbook.verification.comparison import is_frame_comparable
from lawbook.view.display_events import (
    DisplayEvent,
    MindCalled,
    NoteAdded,
    PlanStarted,
    PredictionFailed,
    ProposalJudged,
    RunEnded,
    RunOpened,
    StepTaken,
)


class DisplayEventBuilder:
    """Turns events into what they tell. Call `tell` with each event after the state has taken it in.

    To begin in the middle of a run, give its state and call `catch_up` first.
    """

    def __init__(self, state: State, ledger: Ledger, compared_fields: tuple[str, ...] = ("frame", "status")) -> None:
        self.state, self.ledger, self._compared_fields = state, ledger, compared_fields
        self._hypotheses = {member.index: member.hypothesis for member in state.members}
        self._versions = {member.index: member.version for member in state.members}
        self._n_proposals = sum(len(member.history) for member in state.members)
        self._proposals: dict[int, tuple[Mapping[str, Any], Proposal]] = {}
        self._plans: dict[int, Mapping[str, Any]] = {}
        self._intent_body: Mapping[str, Any] | None = None
        self._step: StepTaken | None = None
        self._last_frame, self._level = "", 0

    def load_history(self) -> None:
        """Take in what the ledger holds already, telling nothing of it."""
        for event in self.ledger.read_events([EventKind.PROPOSE, EventKind.PLAN, EventKind.INTEND, EventKind.OBSERVE]):
            self._remember(event)

    def _remember(self, event: Event) -> None:
        match event.kind:
            case EventKind.PROPOSE:
                self._proposals[event.body["member"]] = event.body, unpack_proposal(self.ledger, event.body)
            case EventKind.PLAN:
                self._plans[event.seq] = event.body
            case EventKind.INTEND:
                self._intent_body = event.body
            case EventKind.OBSERVE:
                self._last_frame, self._level, self._intent_body = event.body["frames"][-1], event.body["level"], None

    def build(self, event: Event) -> DisplayEvent | None:
        """What this event tells, None when it only prepares something."""
        body = event.body
        common_fields: dict[str, Any] = {"seq": event.seq, "time": event.time, "at": self.state.n_actions}
        display_event: DisplayEvent | None = None
        match event.kind:
            case EventKind.OPEN:
                display_event = RunOpened(
                    **common_fields, **{key: body[key] for key in ("run", "spec", "versions", "sandbox") if key in body}
                )
            case EventKind.OBSERVE:
                display_event = self._step = self._build_step(common_fields, body)
            case EventKind.VERDICT if body["about"] == "proposal":
                display_event = self._build_proposal(common_fields, body)
            case EventKind.VERDICT if body["about"] == "prediction":
                display_event = self._build_mismatch(common_fields, body)
            case EventKind.VERDICT if body["about"] == "plan":
                display_event = NoteAdded(**common_fields, text=str(body["verdict"]["reason"]))
            case EventKind.VERDICT:
                display_event = NoteAdded(
                    **common_fields, text=f"an exploration could not be used: {body['verdict']['reason']}", is_error=True
                )
            case EventKind.DRAW if body["plan"] in self._plans:
                display_event = PlanStarted(
                    **common_fields,
                    plan_body=self._plans[body["plan"]],
                    plan_seq=body["plan"],
                    classes=body["classes"],
                    drawn_class=body["drawn"],
                    predicted_frames=tuple(body.get("ahead", ())),
                )
            case EventKind.CALL:
                is_answered = body["answer"] is not None
                display_event = MindCalled(
                    **common_fields,
                    member=body["member"],
                    op=body["op"],
                    answered=is_answered,
                    seconds=body["seconds"],
                    receipt=body["receipt"],
                    is_model_call="request" in body,
                )
            case EventKind.NOTE:
                display_event = NoteAdded(**common_fields, text=body["text"], author=str(body.get("by", "")))
            case EventKind.CLOSE:
                display_event = RunEnded(**common_fields, outcome=body["outcome"], sentence=body["sentence"])
        self._remember(event)
        return display_event

    def _format_member_label(self, member: int) -> str:
        return f"member {member}: " if len(self.state.members) > 1 else ""

    def _build_step(self, common_fields: dict[str, Any], body: Mapping[str, Any]) -> StepTaken | None:
        action = unpack_action(body["action"])
        if action is None:
            return None
        intent = self._intent_body or _make_recorded_intent(action)
        status, frame = Status(body["status"]), body["frames"][-1]
        return StepTaken(
            **common_fields,
            action=action,
            intent=intent,
            frames=tuple(body["frames"]),
            previous_frame=self._last_frame,
            status=status,
            level=body["level"],
            level_before=self._level,
            exact_by_member={
                int(index): self._is_exact(predicted_frame, predicted_status, frame, status)
                for index, (predicted_frame, predicted_status) in intent["predictions"].items()
            },
        )

    def _is_exact(self, predicted_frame: str, predicted_status: str, observed_frame: str, observed_status: Status) -> bool | None:
        """Did a prediction come true? Compared as the gate does, by content: identical frames have one id."""
        if observed_status is Status.TRUNCATED:
            return None
        if "status" in self._compared_fields and predicted_status != observed_status:
            return False
        return "frame" not in self._compared_fields or not is_frame_comparable(observed_status) or predicted_frame == observed_frame

    def _build_proposal(self, common_fields: dict[str, Any], body: Mapping[str, Any]) -> ProposalJudged | None:
        index: int = body["member"]
        if index not in self._proposals:
            return None
        proposal_body, proposal = self._proposals.pop(index)
        member, before = self.state.members[index], self._hypotheses[index]
        is_new_version = member.version > self._versions[index]
        self._hypotheses[index], self._versions[index] = member.hypothesis, member.version
        self._n_proposals += 1
        return ProposalJudged(
            **common_fields,
            number=self._n_proposals,
            member=index,
            member_label=self._format_member_label(index),
            decision=proposal.decision,
            trigger=proposal_body["why"],
            diagnosis=proposal.diagnosis,
            old_hypothesis=before,
            new_hypothesis=proposal.apply_to(before),
            verdict=unpack_verdict(body["verdict"]),
            version=member.version if is_new_version else None,
        )

    def _build_mismatch(self, common_fields: dict[str, Any], body: Mapping[str, Any]) -> PredictionFailed:
        verdict, step = unpack_verdict(body["verdict"]), self._step
        counterexample = verdict.counterexample
        action = predicted = observed = None
        question = ""
        if counterexample is not None and counterexample.step > 0 and step is not None and counterexample.action == step.action:
            prediction = step.intent["predictions"].get(str(body["member"]))
            action, predicted, observed, question = step.action, prediction and prediction[0], step.frame, step.intent["question"]
        return PredictionFailed(
            **common_fields,
            member=body["member"],
            verdict=verdict,
            action=action,
            predicted=predicted,
            observed=observed,
            question=question,
            member_label=self._format_member_label(body["member"]),
        )


def _make_recorded_intent(action: Action) -> Mapping[str, Any]:
    """What stands for the INTEND of an action that came with a recording: nobody here meant or predicted anything by it."""
    kind = ActionKind.RESET if action == RESET else ActionKind.PROBE
    return {"sort": kind.value, "member": None, "plan": None, "question": "", "predictions": {}}


def read_display_events(ledger: Ledger) -> Iterator[tuple[DisplayEvent, State]]:
    """Everything a ledger tells, in order, each with the state it left. Raises UsageError when it has no opening."""
    state = State.from_opening(ledger)
    builder = DisplayEventBuilder(state, ledger)
    for event in ledger:
        state.apply(event, ledger)
        display_event = builder.build(event)
        if display_event is not None:
            yield display_event, state
