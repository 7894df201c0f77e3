"""A run told as it went: one thing after another, read off the events, live or from the ledger alone. All views hang on this."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lawbook.core.hypothesis import Proposal
from lawbook.core.record import RESET, Action, ActionKind, Status
from lawbook.ledger.contents import load_prediction, load_proposal
from lawbook.ledger.events import (
    CallEvent,
    CloseEvent,
    DrawEvent,
    EventKind,
    IntendEvent,
    NoteEvent,
    ObserveEvent,
    OpenEvent,
    PlanEvent,
    PredictedOutcome,
    ProposeEvent,
    VerdictEvent,
)
from lawbook.ledger.ledger import Event, Ledger
from lawbook.runs.state import State
from lawbook.verification.comparison import is_frame_comparable, is_frame_right
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
    """Turns events into what they tell. Call `build` with each event after the state has taken it in.

    To begin in the middle of a run, give its state and call `load_history` first.
    """

    def __init__(self, state: State, ledger: Ledger, compared_fields: tuple[str, ...] = ("frame", "status")) -> None:
        self.state, self.ledger, self._compared_fields = state, ledger, compared_fields
        self._hypotheses = {member.index: member.hypothesis for member in state.members}
        self._versions = {member.index: member.version for member in state.members}
        self._n_proposals = sum(len(member.history) for member in state.members)
        self._proposals: dict[int, tuple[ProposeEvent, Proposal]] = {}
        self._plans: dict[int, PlanEvent] = {}
        self._intent: IntendEvent | None = None
        self._step: StepTaken | None = None
        self._last_frame, self._level = "", 0

    def load_history(self) -> None:
        """Take in what the ledger holds already, telling nothing of it."""
        for event in self.ledger.read_events([EventKind.PROPOSE, EventKind.PLAN, EventKind.INTEND, EventKind.OBSERVE]):
            self._remember(event)

    def _remember(self, event: Event) -> None:
        match event.data:
            case ProposeEvent() as proposed:
                self._proposals[proposed.member] = proposed, load_proposal(self.ledger, proposed.proposal)
            case PlanEvent() as plan:
                self._plans[event.seq] = plan
            case IntendEvent() as intent:
                self._intent = intent
            case ObserveEvent() as observed:
                self._last_frame, self._level, self._intent = observed.frames[-1], observed.level, None

    def build(self, event: Event) -> DisplayEvent | None:
        """Return what this event tells, None when it only prepares something."""
        common_fields: dict[str, Any] = {"seq": event.seq, "time": event.time, "at": self.state.n_actions}
        display_event: DisplayEvent | None = None
        match event.data:
            case OpenEvent() as opening:
                display_event = make_opening(opening, **common_fields)
            case ObserveEvent() as observed:
                display_event = self._step = self._build_step(common_fields, observed)
            case VerdictEvent(about="proposal") as judged:
                display_event = self._build_proposal(common_fields, judged)
            case VerdictEvent(about="prediction") as judged:
                display_event = self._build_mismatch(common_fields, judged)
            case VerdictEvent(about="plan", verdict=verdict):
                display_event = NoteAdded(**common_fields, text=verdict.reason)
            case VerdictEvent(verdict=verdict):
                text = f"an exploration could not be used: {verdict.reason}"
                display_event = NoteAdded(**common_fields, text=text, is_error=True)
            case DrawEvent() as draw if draw.plan_seq in self._plans:
                display_event = PlanStarted(
                    **common_fields,
                    plan=self._plans[draw.plan_seq],
                    plan_seq=draw.plan_seq,
                    classes=draw.classes,
                    drawn_class=draw.class_index,
                    predicted_frames=draw.predicted_frames or (),
                )
            case CallEvent() as call:
                display_event = MindCalled(
                    **common_fields,
                    member=call.member,
                    op=call.op,
                    answered=call.answer is not None,
                    seconds=call.seconds,
                    receipt=call.receipt,
                    is_model_call=call.is_model_call,
                )
            case NoteEvent() as note:
                display_event = NoteAdded(**common_fields, text=note.text, author=note.author)
            case CloseEvent() as closing:
                display_event = RunEnded(**common_fields, outcome=closing.outcome.value, sentence=closing.sentence)
        self._remember(event)
        return display_event

    def _format_member_label(self, member: int) -> str:
        return f"member {member}: " if len(self.state.members) > 1 else ""

    def _build_step(self, common_fields: dict[str, Any], observed: ObserveEvent) -> StepTaken | None:
        action, status, frame = observed.action, observed.status, observed.frames[-1]
        if action is None:
            return None
        intent = self._intent or _make_recorded_intent(action)
        return StepTaken(
            **common_fields,
            action=action,
            intent=intent,
            frames=observed.frames,
            previous_frame=self._last_frame,
            status=status,
            level=observed.level,
            level_before=self._level,
            exact_by_member={index: self._is_exact(prediction, frame, status) for index, prediction in intent.predictions.items()},
        )

    def _is_exact(self, prediction: PredictedOutcome, observed_frame: str, observed_status: Status) -> bool | None:
        """Did a prediction come true? Compared as the gate does, by content: identical frames have one id."""
        if observed_status is Status.TRUNCATED:
            return None
        if "status" in self._compared_fields and observed_status not in prediction.statuses:
            return False
        if "frame" not in self._compared_fields or not is_frame_comparable(observed_status) or prediction.frame == observed_frame:
            return True
        if prediction.open_cells is None:
            return False
        return is_frame_right(load_prediction(self.ledger, prediction), self.ledger.get_frame(observed_frame))

    def _build_proposal(self, common_fields: dict[str, Any], judged: VerdictEvent) -> ProposalJudged | None:
        index = judged.member
        if index not in self._proposals:
            return None
        proposed, proposal = self._proposals.pop(index)
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
            trigger=proposed.trigger.value,
            diagnosis=proposal.diagnosis,
            old_hypothesis=before,
            new_hypothesis=proposal.apply_to(before),
            verdict=judged.verdict,
            version=member.version if is_new_version else None,
        )

    def _build_mismatch(self, common_fields: dict[str, Any], judged: VerdictEvent) -> PredictionFailed:
        verdict, step = judged.verdict, self._step
        counterexample = verdict.counterexample
        action = predicted = observed = None
        question = ""
        if counterexample is not None and counterexample.step > 0 and step is not None and counterexample.action == step.action:
            prediction = step.intent.predictions.get(judged.member)
            action, observed, question = step.action, step.frame, step.intent.question
            predicted = prediction.frame if prediction else None
        return PredictionFailed(
            **common_fields,
            member=judged.member,
            verdict=verdict,
            action=action,
            predicted=predicted,
            observed=observed,
            question=question,
            member_label=self._format_member_label(judged.member),
        )


def make_opening(opening: OpenEvent, *, seq: int, time: float, at: int) -> RunOpened:
    """What an opening tells; seq, time: of its event; at: actions sent by then."""
    level = opening.sandbox.level if opening.sandbox else ""
    return RunOpened(
        seq=seq, time=time, at=at, run=opening.run, spec=opening.spec, versions=opening.versions or {}, sandbox_level=level
    )


def _make_recorded_intent(action: Action) -> IntendEvent:
    """What stands for the INTEND of an action that came with a recording: nobody here meant or predicted anything by it."""
    kind = ActionKind.RESET if action == RESET else ActionKind.PROBE
    return IntendEvent(action, kind, None, None, "", {})


def read_display_events(ledger: Ledger) -> Iterator[tuple[DisplayEvent, State]]:
    """Yield everything a ledger tells, in order, each with the state it left. Raises UsageError when it has no opening."""
    state = State.from_opening(ledger)
    builder = DisplayEventBuilder(state, ledger)
    for event in ledger:
        state.apply(event, ledger)
        display_event = builder.build(event)
        if display_event is not None:
            yield display_event, state
