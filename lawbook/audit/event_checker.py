"""The trail of a run: every event held against those before it, by code that shares no state with what plays and resumes runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from lawbook.arc import recording_format
from lawbook.audit.hypothesis_checker import HypothesisAudit, RecordPosition
from lawbook.core.record import RESET, Action, ActionKind, Observation, Record, Status
from lawbook.core.results import Counterexample, Probe, RunOutcome, VerdictKind
from lawbook.errors import LawbookError
from lawbook.ledger.contents import load_observation, load_prediction
from lawbook.ledger.events import (
    PERSON,
    AnyEvent,
    CallEvent,
    CloseEvent,
    DrawEvent,
    EventKind,
    IntendEvent,
    NoPlanEvent,
    NoteEvent,
    ObserveEvent,
    OpenEvent,
    PlanEvent,
    PredictedOutcome,
    ProposeEvent,
    VerdictEvent,
)
from lawbook.ledger.ledger import Event, Ledger
from lawbook.ledger.opening import RecordedSettings, RecordedSpec
from lawbook.protocols import gate
from lawbook.protocols.protocol import Protocol, get_protocol
from lawbook.runs.state import is_left_open
from lawbook.verification.comparison import compare_prediction, is_unclaimed
from lawbook.verification.determinism import DeterminismChecker
from lawbook.worlds.world import WorldSpec, explain_refusal


@dataclass(frozen=True)
class Finding:
    """Something that is not as it must be. line: of the audit it belongs to; seq: at which event; says: what, for a person."""

    line: str
    seq: int
    says: str

    def __str__(self) -> str:
        return f"event {self.seq} {self.says}"


@dataclass(frozen=True)
class _AnnouncedAction:
    seq: int
    action: Action
    member: int | None
    plan_seq: int | None
    predictions: Mapping[int, PredictedOutcome]


class EventAudit:
    """A ledger walked from its first event to its last. What is wrong lies in `findings`; the rest is what was met on the way.

    n_announced, n_predicted, n_compared: actions with an INTEND, with a prediction by anybody, and predictions compared again.
    n_unpredicted: probes without a prediction. n_imported: lines of a recording. n_restarts: resets of the whole game.
    n_person_notes: words of a person. n_unlike_starts: levels that did not always begin alike. receipts: of every call.
    confinements: by what agents were, and how well. openings: by number of the event.
    """

    hypothesis_audit: HypothesisAudit
    protocol: Protocol
    spec: WorldSpec
    _is_imported = False

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.findings: list[Finding] = []
        self.openings: dict[int, OpenEvent] = {}
        self.closing: CloseEvent | None = None
        self._closing_seq = -1
        self.record = Record()
        self.n_announced = self.n_predicted = self.n_compared = self.n_unpredicted = self.n_imported = self.n_restarts = 0
        self.n_contradictions = 0
        self.n_person_notes = self.n_events = self.n_unlike_starts = 0
        self.receipts: list[Mapping[str, Any]] = []
        self.confinements: list[str] = []
        self.intent: _AnnouncedAction | None = None
        self._event: Event
        self._determinism_checker = DeterminismChecker()
        self._digest = sha256()
        self._mismatches: dict[int, Counterexample] = {}
        self._confirmed: set[int] = set()
        self._due_outcome: RunOutcome | None = None
        self._check_all()

    @property
    def run(self) -> RecordedSettings:
        """The settings in the opening."""
        return self.first_opening.run

    @property
    def first_opening(self) -> OpenEvent:
        return next(iter(self.openings.values()))

    @property
    def last_opening(self) -> OpenEvent:
        """Of the run as it was resumed last."""
        return next(reversed(self.openings.values()))

    def _check_all(self) -> None:
        try:
            for event in self.ledger:
                self._event, self.n_events = event, self.n_events + 1
                try:
                    self._check_event(event)
                except (LookupError, TypeError, ValueError, AttributeError, AssertionError, LawbookError) as error:
                    message = f"{type(error).__name__}: {str(error)[:200]}"
                    self._report("order", f"is nothing that a run writes there ({message})")
        except LawbookError as error:  # a row that cannot be read
            self.findings.append(Finding("order", self.n_events, f"cannot be read: {error}"))
        if self.openings:
            self._check_end()

    def _report(self, line: str, says: str) -> None:
        self.findings.append(Finding(line, self._event.seq, says))

    def _check_event(self, event: Event) -> None:
        if not self.openings and event.kind is not EventKind.OPEN:
            self._report("order", "stands where a run's opening must")
            return
        data = event.data
        if not self.openings and isinstance(data, OpenEvent) and data.is_resumed:
            self._report("order", "stands where a run's opening must")
            return
        self._check_order(data)
        match data:
            case OpenEvent():
                self._check_opening(event.seq, data)
            case ObserveEvent():
                self._check_observation(data)
            case IntendEvent():
                self._check_intent(data)
            case ProposeEvent():
                self.hypothesis_audit.on_proposal(event.seq, event.hash, data)
            case VerdictEvent():
                self._check_verdict(event, data)
            case PlanEvent():
                self.hypothesis_audit.on_plan(event.seq, data)
            case NoPlanEvent():
                self.hypothesis_audit.on_no_plan(data)
            case DrawEvent():
                self.hypothesis_audit.on_draw(event.seq, data)
            case CallEvent():
                self._check_call(data)
            case NoteEvent():
                self._check_note(data)
            case CloseEvent():
                self._check_closing(event, data)

    def _check_order(self, data: AnyEvent) -> None:
        """What no event but its own kind may come between, or after."""
        if self.closing is not None and not (isinstance(data, CallEvent) and not data.is_mind_call):
            self._report("order", f"comes after the run had ended with event {self._closing_seq}")
        if not (isinstance(data, VerdictEvent) and data.about == "prediction"):
            self._report_missing_mismatches()
            is_imported = isinstance(data, ObserveEvent) and data.line is not None
            if self._due_outcome is not None and not is_imported and not isinstance(data, CloseEvent | NoteEvent | OpenEvent):
                self._report("order", f"comes where the run had to end ({self._due_outcome})")
                self._due_outcome = None
        if self.intent is not None and not isinstance(data, ObserveEvent | OpenEvent | CloseEvent | CallEvent | NoteEvent):
            self._report("intents", f"comes while nothing is on record of what action {self.intent.action} led to")
            self.intent = None

    def _report_missing_mismatches(self) -> None:
        """Mismatches that had to be the next thing on record, and are not."""
        for member, counterexample in self._mismatches.items():
            location = f"trajectory {counterexample.trajectory}, step {counterexample.step}"
            self._report("predictions", f"stands where member {member}'s wrong prediction of {location} had to be told")
        self._mismatches, self._confirmed = {}, set()

    def _check_end(self) -> None:
        self._report_missing_mismatches()
        if self._due_outcome is not None:
            self._report("order", f"is the last, and the run had to end there ({self._due_outcome})")
        for index in range(len(self.hypothesis_audit.members)):
            self.hypothesis_audit.end_lifetime(index, self.hypothesis_audit.position)
        source = self.first_opening.recording
        if source is not None and self._digest.hexdigest() != source.digest:
            self._report("record", "is the last, and the imported lines are not those of the recording that the opening names")

    # -- beginning and end ---------------------------------------------------------------------------------------------------

    def _check_opening(self, seq: int, opening: OpenEvent) -> None:
        spec, run = _parse_spec(opening.spec), opening.run
        run.check_complete()
        if opening.sandbox is None or opening.sandbox.facts is None or opening.versions is None:
            raise ValueError("it does not say what it ran on")
        if not self.openings:
            self.protocol, self.record = get_protocol(run.protocol), Record(spec.levels)
            self._determinism_checker = DeterminismChecker(sees_animation=self.protocol.allows_open)
            self.hypothesis_audit = HypothesisAudit(self.ledger, self.record, self.protocol, run, self._report)
        else:
            if not opening.is_resumed:
                self._report("order", "opens a run that was opened before")
            if run.lasting_values != self.run.lasting_values:
                self._report("settings", "resumes the run with other settings than it was begun with")
            # A recording does not tell all that the world knows, nor a server twice what people took; the next opening does.
            if replace(spec, ticket="", baselines=None) != replace(self.spec, ticket="", baselines=None) and not self._is_imported:
                self._report("settings", "resumes the run in another world than it was begun with")
            self.hypothesis_audit.on_resume()
        self.spec, self._is_imported = spec, opening.recording is not None
        self.openings[seq] = opening

    def _check_closing(self, event: Event, closing: CloseEvent) -> None:
        outcome, due, self._due_outcome = closing.outcome, self._due_outcome, None
        self.closing, self._closing_seq = closing, event.seq
        if closing.head != event.prev_hash:
            self._report("head", "does not name the head of the ledger that it ends")
        if due is not None and outcome is not due:
            self._report("order", f"ends the run as {outcome}, and it had ended as {due}")
        if due is None and outcome in (RunOutcome.WON, RunOutcome.BUDGET, RunOutcome.NONDETERMINISTIC):
            self._report("order", f"ends the run as {outcome}, which is not what is on record")
        if (outcome is RunOutcome.IN_DOUBT) != (self.intent is not None):
            self._report("order", f"ends the run as {outcome}, and {'an' if self.intent else 'no'} action was in flight")

    # -- around an action ----------------------------------------------------------------------------------------------------

    def _check_intent(self, data: IntendEvent) -> None:
        action, kind, index, predictions = data.action, data.kind, data.member, data.predictions
        budget, question = self.run.budget, data.question
        if self.record.n_actions >= budget:
            self._report("counts", f"announces an action beyond the budget of {budget:,}")
        if (action == RESET) != (kind is ActionKind.RESET):
            self._report("intents", f"announces action {action} as a {kind}")
        refusal = None
        match kind:
            case ActionKind.RESET:
                refusal = None if question else "It gives no reason."
                self.n_restarts += gate.explain_reset_refusal(self.record, whole_game=False) is not None
            case ActionKind.PROBE:
                refusal = gate.explain_probe_refusal(self.protocol, index in predictions, self.n_unpredicted, budget, question)
                self.n_unpredicted += index not in predictions
            case ActionKind.PLAN:
                self.hypothesis_audit.on_plan_step(self._event.seq, data)
        if kind is not ActionKind.PLAN and data.plan_seq is not None:
            self._report("plans", f"is a {kind} that claims a plan")
        refusal = refusal or (explain_refusal(self.spec, self.record.current.last, action) if action != RESET else None)
        if refusal:
            self._report("intents", f"announces what may not be sent: {refusal}")
        self._check_predictions(action, predictions)
        answer = None if index is None else self.hypothesis_audit.members[index].pending_answers.get("explore")
        if kind is ActionKind.PROBE and answer is None:
            self.hypothesis_audit.on_probe(self._event.seq, action, index, question)
        if isinstance(answer, Probe) and kind is not ActionKind.PLAN and answer != Probe(action, question):
            self._report("intents", f"is not what the mind of member {index} had answered")
        for member in self.hypothesis_audit.members:
            member.pending_answers.clear()
        self.intent = _AnnouncedAction(self._event.seq, action, index, data.plan_seq, predictions)
        self.n_announced += 1
        self.n_predicted += bool(predictions)

    def _check_predictions(self, action: Action, predictions: Collection[int]) -> None:
        """Every member that may steer predicts, and nobody else; nobody is asked what a reset will show."""
        due_members = {m for m, member in enumerate(self.hypothesis_audit.members) if member.admissible and action != RESET}
        if set(predictions) != due_members:
            present_text, needed_text = (
                ", ".join(map(str, sorted(members))) or "none" for members in (set(predictions), due_members)
            )
            self._report("intents", f"holds predictions of members {present_text}, and had to hold those of {needed_text}")

    def _check_observation(self, data: ObserveEvent) -> None:
        action, observation, is_imported = data.action, load_observation(self.ledger, data), data.line is not None
        opens_trajectory = action is None or action == RESET
        intent, self.intent = self.intent, None
        if data.line is not None:
            self._add_imported_line(recording_format.format_line(self.ledger.get_text(data.line), observation.frames))
        elif action is not None and (intent is None or intent.action != action):
            announced = f"action {intent.action}" if intent else "nothing"
            self._report("intents", f"shows what action {action} led to, and {announced} had been announced")
        if (action is None) != (self.record.last is None):
            self._report("order", "opens the world a second time" if action is None else "is no first observation")
        if data.trajectory != len(self.record) - (not opens_trajectory):
            self._report(
                "record", f"claims trajectory {data.trajectory}, and belongs to {len(self.record) - (not opens_trajectory)}"
            )
        self._check_interface(action, observation, is_imported)
        n_trajectories, position_before = len(self.record), self.hypothesis_audit.position
        self.record.extend(action, observation)
        contradiction = None
        if opens_trajectory:
            self.n_unlike_starts += self._determinism_checker.add_opening(n_trajectories, self.record.current.first) is not None
        else:
            current = self.record.trajectories[n_trajectories - 1]
            self._compare(data, action, observation, intent, position_before)  # type: ignore[arg-type]
            contradiction = self._determinism_checker.add_step(n_trajectories - 1, current.first, action, observation)  # type: ignore[arg-type]
        is_running = not opens_trajectory and observation.status is Status.RUNNING
        driven = intent.predictions.get(intent.member) if intent is not None and intent.member is not None else None
        self.hypothesis_audit.on_action(intent.plan_seq if intent else None, is_running, is_left_open(driven, observation))
        self.n_contradictions += contradiction is not None
        is_ended = contradiction is not None and not is_imported and not self.protocol.allows_open
        outcomes = {RunOutcome.NONDETERMINISTIC: is_ended, RunOutcome.WON: self.record.is_won}
        outcomes[RunOutcome.BUDGET] = self.record.n_actions >= self.run.budget
        self._due_outcome = next((outcome for outcome, is_reached in outcomes.items() if is_reached), None)

    def _compare(
        self,
        data: ObserveEvent,
        action: Action,
        observation: Observation,
        intent: _AnnouncedAction | None,
        position_before: RecordPosition,
    ) -> None:
        """Every prediction held against what came; what differs has to be told next. position_before: the record until then."""
        index = position_before[0] - 1
        current, is_counted = self.record.trajectories[index], False
        predictions, driver = (intent.predictions, intent.member) if intent else ({}, None)
        for member, recorded in predictions.items():
            prediction = load_prediction(self.ledger, recorded)
            if member == driver and is_unclaimed(prediction, current.settled_frames[len(current) - 1], observation):
                is_counted = True
            context = {
                "trajectory": index,
                "step": len(current),
                "level": current.first.level,
                "before": current.settled_frames[len(current) - 1],
            }
            counterexample = compare_prediction(
                prediction, observation, action=action, compared_fields=self.protocol.compared_fields, **context
            )
            self.n_compared += 1
            if counterexample is None:
                self._confirmed.add(member)
            else:
                self._mismatches[member] = counterexample
                self.hypothesis_audit.end_lifetime(member, position_before, (index, len(current), recorded))
        self.n_unpredicted += is_counted
        if is_counted != data.is_unclaimed:
            said = "does not count as sent without a claim" if is_counted else "counts as sent without a claim"
            self._report("counts", f"{said} what a prediction had {'left' if is_counted else 'not left'} open altogether")

    def _check_interface(self, action: Action | None, observation: Observation, is_imported: bool) -> None:
        """What can follow in any world that keeps its interface."""
        last, levels = self.record.last, self.spec.levels
        if observation.frame.shape != self.spec.shape or not set(observation.available) <= set(self.spec.actions):
            self._report("record", "shows a frame or offers actions that this world does not have")
        if is_imported or last is None:
            return
        if self.record.is_won or (self.record.needs_reset and action != RESET):
            self._report("record", f"goes on after the level or the world was {last.status}")
        allowed_levels: Collection[int] = (last.level,)
        if action == RESET:
            allowed_levels = range(last.level + 1) if observation.status is Status.RUNNING else ()
        elif observation.status is Status.COMPLETED:
            allowed_levels = (last.level + 1, max(levels or 0, last.level + 1))
        if observation.level not in allowed_levels:
            self._report("record", f"goes from level {last.level} to {observation.level} and calls that {observation.status}")

    def _add_imported_line(self, line: str) -> None:
        """A line of the recording that a run was imported from."""
        if self.first_opening.recording is None or self.n_announced or len(self.openings) > 1:
            self._report("order", "claims to come from a recording, where there is none")
        self._digest.update(line.encode() + b"\n")
        self.n_imported += 1

    # -- what is said --------------------------------------------------------------------------------------------------------

    def _check_verdict(self, event: Event, data: VerdictEvent) -> None:
        index, about, verdict = data.member, data.about, data.verdict
        match about:
            case "prediction":
                if index in self._confirmed and verdict.counterexample is not None and len(self.record.current):
                    self._report("predictions", f"calls wrong what member {index} had predicted as it came")
                self.hypothesis_audit.on_mismatch(index, verdict, self._mismatches.pop(index, None))
            case "proposal":
                self.hypothesis_audit.on_proposal_verdict(event.seq, event.time, data)
            case "plan":
                self.hypothesis_audit.on_plan_change(event.seq, data)
            case "explore" if verdict.outcome is VerdictKind.REFUSED:
                pass
            case _:
                self._report("verdicts", f"is a verdict about {about} that says {verdict.outcome}")
        self.hypothesis_audit.members[index].pending_answers.clear()

    def _check_call(self, call: CallEvent) -> None:
        self.receipts.append(call.receipt)
        if not call.is_mind_call or call.answer is None:  # others cost something, and decide nothing
            return
        member = self.hypothesis_audit.members[call.member]
        if call.op in member.pending_answers:
            self._report("order", f"asks member {call.member}'s mind to {call.op} although an answer stood")
        if call.op == "judge" and member.proposal is None:
            self._report("order", f"asks member {call.member}'s mind to judge what nobody had proposed")
        if call.number != member.n_calls:
            self._report("order", f"is call {call.number} of member {call.member}'s mind, and {member.n_calls} were answered")
        member.pending_answers[call.op] = call.answer
        member.n_calls += 1

    def _check_note(self, note: NoteEvent) -> None:
        if note.line is not None:
            self._add_imported_line(self.ledger.get_text(note.line))
        self.n_person_notes += note.author == PERSON
        if note.confinement is not None:
            self.confinements.append(f"{note.confinement.rung} ({note.confinement.level})")
            if note.confinement.level != "full" and not self.run.weak_sandbox:
                self._report("sandbox", "tells of an agent that was not confined, and --weak-sandbox was not given")


def _parse_spec(recorded: RecordedSpec) -> WorldSpec:
    """The world as an opening describes it. Raises TypeError or ValueError."""
    checked: dict[str, Any] = {
        "shape": recorded.shape,
        "actions": recorded.actions,
        "clicks": recorded.clicks,
        "levels": recorded.levels,
    }
    checked |= {"baselines": recorded.baselines, "replayable": recorded.is_replayable}
    return WorldSpec(**{**recorded.values, **checked})
