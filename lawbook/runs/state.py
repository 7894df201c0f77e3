"""The state of a run as a fold over its ledger: nothing here that the events do not say, so a resumed run knows all it knew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lawbook.core.executable import Executable, PlanRun
from lawbook.core.hypothesis import Decision, Hypothesis, Proposal, Trigger
from lawbook.core.record import RESET, Action, ActionKind, Observation, Record, Status
from lawbook.core.results import RunOutcome, Verdict
from lawbook.core.spending import Caps, Spending
from lawbook.errors import UsageError
from lawbook.ledger.contents import load_observation, load_proposal
from lawbook.ledger.events import (
    CONFINEMENT_PROBE,
    CallAnswer,
    CallEvent,
    CloseEvent,
    DrawEvent,
    IntendEvent,
    NoPlanEvent,
    NoteEvent,
    ObserveEvent,
    OpenEvent,
    PlanEvent,
    PredictedOutcome,
    ProposeEvent,
    VerdictEvent,
    get_duration,
)
from lawbook.ledger.git_versions import AcceptedVersion
from lawbook.ledger.ledger import Event, Ledger
from lawbook.ledger.opening import MalformedEventError
from lawbook.minds.base import PeerAction, Version
from lawbook.protocols.gate import MAX_REFUSALS

MAX_CHANGED_PLANS = 5
"""Plans to the goal in a row that what was seen changed, before the mind is asked whether more can be known."""
SIMPLIFY_GROWTH = 1.25
"""A description this many times its length at the last simplification is asked to be simplified."""


@dataclass
class Member:
    """One hypothesis (h^i) and what is going on about it.

    hypothesis: last accepted text (falsified or not). admissible: may it steer? why: the reason it is due for reflection.
    n_refusals: refusals since the last acceptance or new evidence. n_faults: accepted programs that failed without any new
    evidence. n_explore_refusals: unusable explorations in a row, with the last's reason.
    pending_answers: answers of its mind that have had no consequence yet, by operation (what a resumed run reuses). n_calls:
    calls answered. cached_exchanges: answers of the model behind its mind in the call that is going on, as texts, by digest of
    the request. proposal: what was proposed and has no verdict yet, with its event number.
    """

    index: int
    hypothesis: Hypothesis | None = None
    admissible: bool = False
    trigger: Trigger | None = Trigger.START
    n_refusals: int = 0
    n_faults: int = 0
    verdict: Verdict | None = None
    n_explore_refusals: int = 0
    explore_refusal: str = ""
    version: int = 0
    n_calls: int = 0
    pending_answers: dict[str, CallAnswer] = field(default_factory=dict)
    cached_exchanges: dict[str, list[str]] = field(default_factory=dict)
    proposal: tuple[int, Proposal] | None = None
    history: list[Version] = field(default_factory=list)
    peer_actions: list[PeerAction] = field(default_factory=list)
    should_simplify: bool = False
    simplified_bytes: int = 0
    no_plan_reason: str = ""
    n_changed_plans: int = 0
    """Plans of its to the goal, in a row, that ended because what was seen had changed where they lead."""
    reflected_at: int = -1
    """How many actions had been sent when it was last asked because nobody had a plan."""

    @property
    def is_due(self) -> bool:
        """True when this member's mind is to reflect."""
        return self.trigger is not None and self.n_refusals < MAX_REFUSALS and self.n_faults < MAX_REFUSALS

    def clear_pending(self) -> None:
        """Forget what its mind answered, of which something came: nothing of that is asked for again."""
        self.pending_answers.clear()
        self.cached_exchanges.clear()


@dataclass
class ActivePlan:
    """The executable that is being followed: its PLAN event, who drives, what is executed, how many actions of it have been sent.

    predictions: frame and status that each action is planned to show; empty where the ledger does not say (older ones name the
    frames alone). aim: goal, subgoal or frontier. n_open: how many had been sent when something was left open of the last, or seen
    besides the settled frame; 0: that has not happened.
    """

    plan_seq: int
    member: int
    executable: Executable
    subgoal: str | None
    question: str
    n_sent: int = 0
    predictions: tuple[PredictedOutcome, ...] = ()
    aim: str = "goal"
    n_open: int = 0

    @property
    def is_open(self) -> bool:
        """Say whether more may have been seen of its last step than was predicted."""
        return 0 < self.n_open == self.n_sent


@dataclass
class Intent:
    """An INTEND without its OBSERVE: the action that is in flight, or in doubt after a crash."""

    seq: int
    action: Action
    kind: ActionKind
    member: int | None
    plan_seq: int | None
    question: str
    predictions: Mapping[int, PredictedOutcome]


@dataclass
class State:
    """Everything a run is, rebuilt by `apply` from its events in order."""

    record: Record
    members: list[Member]
    active_plan: ActivePlan | None = None
    intent: Intent | None = None
    n_draws: int = 0
    n_unpredicted: int = 0
    notes: list[str] = field(default_factory=list)
    actions_per_level: dict[int, int] = field(default_factory=dict)
    n_mismatches: int = 0
    n_completed: int = 0
    outcome: RunOutcome | None = None
    open_plans: dict[int, ActivePlan] = field(default_factory=dict)
    accepted_versions: list[AcceptedVersion] = field(default_factory=list)
    """Every accepted iteration in order: what the git memory is derived from."""
    spending: Spending = field(default_factory=Spending)
    caps: Caps = field(default_factory=Caps)

    @classmethod
    def from_opening(cls, ledger: Ledger) -> State:
        """Make the state before anything happened, from the OPEN event. Raises UsageError when there is none."""
        opening = next(iter(ledger), None)
        if opening is None or not isinstance(opening.data, OpenEvent):
            raise UsageError("This ledger has no opening: the run was ended before it began; start another.")
        return cls(Record(opening.data.spec.levels), [Member(index) for index in range(opening.data.run.population)])

    @property
    def n_actions(self) -> int:
        """Actions sent so far, resets included, the opening not."""
        return self.record.n_actions

    def apply(self, event: Event, ledger: Ledger) -> None:
        """Take one event in. Total: every kind of event has its one effect here and nowhere else."""
        data = event.data
        paused = isinstance(data, OpenEvent) or (isinstance(data, ObserveEvent | NoteEvent) and data.line is not None)
        self.spending.add_time(event.time, paused, get_duration(data))  # imported lines have their own clock
        match data:
            case ObserveEvent():
                self._apply_observation(data, ledger)
            case IntendEvent():
                self._apply_intent(event.seq, data)
            case ProposeEvent():
                proposer = self.members[data.member]
                proposer.proposal = (event.seq, load_proposal(ledger, data.proposal))
                proposer.peer_actions.clear()
                proposer.pending_answers.pop("judge", None)  # what was said of another proposal, that never had a verdict
                proposer.trigger = data.cause
                if proposer.trigger is Trigger.NO_PLAN:  # older ledgers do not say it before
                    proposer.reflected_at = self.n_actions
            case VerdictEvent():
                self._apply_verdict(self.members[data.member], data.about, data.verdict, event.time)
            case PlanEvent():
                if data.subgoal is None:
                    self.members[data.member].no_plan_reason = data.reason
                if data.actions is not None:
                    subgoal = None if data.subgoal is None else ledger.get_text(data.subgoal)
                    executable, aim = PlanRun(data.actions), data.aim or ("goal" if subgoal is None else "subgoal")
                    plan = ActivePlan(event.seq, data.member, executable, subgoal, data.question, aim=aim)
                    self.open_plans[event.seq] = plan
            case NoPlanEvent():
                for index in data.members:
                    self.members[index].trigger, self.members[index].reflected_at = Trigger.NO_PLAN, self.n_actions
            case DrawEvent():
                self.n_draws += 1
                self.active_plan = self.open_plans[data.plan_seq]
                self.active_plan.predictions = data.predictions
                self.open_plans.clear()
            case CallEvent():
                self._apply_call(data)
            case NoteEvent():
                if data.author != CONFINEMENT_PROBE:  # of an agent's confinement: for people
                    self.notes.append(data.text)
            case CloseEvent():
                self.outcome = data.outcome
            case OpenEvent():
                self.caps = data.caps or Caps.from_settings(data.run.values)

    def _apply_intent(self, seq: int, intent: IntendEvent) -> None:
        self.intent = Intent(seq, intent.action, intent.kind, intent.member, intent.plan_seq, intent.question, intent.predictions)
        if intent.kind is ActionKind.PROBE and intent.member not in intent.predictions:
            self.n_unpredicted += 1
        assert intent.member is None or 0 <= intent.member < len(self.members), "there is no such member"
        for member in self.members:  # whoever acts: what was answered before is an answer to another record
            member.clear_pending()

    def _apply_call(self, call: CallEvent) -> None:
        if not call.is_command:  # what somebody asked of the run cost nothing
            self.spending.add_call(call.receipt)
        if call.answer is None:
            return
        caller = self.members[call.member]
        if call.request is not None:  # an inner call, of the model behind a mind (MindTools.exchange)
            assert isinstance(call.answer, str), "the answer of a model is a text"
            caller.cached_exchanges.setdefault(call.request, []).append(call.answer)
        elif call.is_mind_call:
            caller.n_calls += 1
            caller.pending_answers[call.op] = call.answer
            caller.cached_exchanges.clear()

    def _apply_observation(self, data: ObserveEvent, ledger: Ledger) -> None:
        action, observation = data.action, load_observation(ledger, data)
        level, opens_trajectory = self.record.level, action is None or action == RESET
        if data.trajectory != len(self.record) - (not opens_trajectory):
            raise ValueError("it belongs to another trajectory")
        self.record.extend(action, observation)
        self.n_unpredicted += data.is_unclaimed
        self.open_plans.clear()
        if action is None:
            return
        self.actions_per_level[level] = self.actions_per_level.get(level, 0) + 1
        intent, self.intent = self.intent, None
        is_completed = observation.status is Status.COMPLETED
        self.n_completed += is_completed
        if self.active_plan is not None:
            follows_plan = intent is not None and intent.plan_seq == self.active_plan.plan_seq
            self.active_plan.n_sent += follows_plan
            prediction = intent.predictions.get(self.active_plan.member) if intent is not None else None
            if is_left_open(prediction, observation):
                self.active_plan.n_open = self.active_plan.n_sent
            is_done = self.active_plan.executable.is_finished(self.active_plan.n_sent)
            if is_done or not follows_plan or action == RESET or observation.status is not Status.RUNNING:
                self._end_plan()
        for member in self.members:
            member.n_explore_refusals, member.explore_refusal, member.n_faults = 0, "", 0
            member.should_simplify |= is_completed and not self.record.is_won
            if not member.admissible:
                # New evidence: a mind that had used up its rounds is asked again.
                member.n_refusals, member.trigger = 0, member.trigger or Trigger.MISMATCH
            elif is_completed and not self.record.is_won:
                member.trigger, member.n_refusals = Trigger.LEVEL, 0
            elif intent is not None and _ends_unclaimed(intent.predictions.get(member.index), observation.status):
                member.trigger, member.n_refusals = member.trigger or Trigger.UNCLAIMED_END, 0
            if intent is not None:
                member.peer_actions.append(PeerAction(self.n_actions, intent.member, intent.kind.value, (action,)))

    def _apply_verdict(self, member: Member, about: str, verdict: Verdict, timestamp: float) -> None:
        """about: `proposal` (the gate's answer to one), `prediction` (it was wrong), `explore` (its answer could not be used),
        `plan` (it no longer ends in its aim, after what was seen)."""
        member.clear_pending()
        match about:
            case "prediction":
                member.admissible, member.trigger, member.n_refusals, member.verdict = False, Trigger.MISMATCH, 0, verdict
                member.n_faults += verdict.fault is not None
                self.n_mismatches += 1
                if self.active_plan is not None and self.active_plan.member == member.index:
                    self._end_plan()
            case "plan":
                assert self.active_plan is not None and self.active_plan.member == member.index, "no plan of its is followed"
                self._end_plan(is_changed=True)
                if member.n_changed_plans >= MAX_CHANGED_PLANS:
                    member.trigger, member.n_refusals = member.trigger or Trigger.UNCLAIMED_END, 0
                    member.n_changed_plans = 0
            case "explore":
                member.n_explore_refusals += 1
                member.explore_refusal = verdict.reason
            case "proposal":
                assert member.proposal is not None, "a verdict without a proposal"
                _, proposal = member.proposal
                member.proposal = None
                self._apply_proposal_verdict(member, proposal, verdict, timestamp)

    def _end_plan(self, *, is_changed: bool = False) -> None:
        """The plan is followed no further. is_changed: for what was seen had changed where it leads."""
        assert self.active_plan is not None
        driver: Member = self.members[self.active_plan.member]
        if self.active_plan.aim == "goal":
            driver.n_changed_plans = driver.n_changed_plans + 1 if is_changed else 0
        self.active_plan = None

    def _apply_proposal_verdict(self, member: Member, proposal: Proposal, verdict: Verdict, timestamp: float) -> None:
        candidate = proposal.apply_to(member.hypothesis)
        member.verdict = verdict
        member.history.append(
            Version(
                proposal.decision, candidate, verdict.outcome, verdict.reason, self.n_actions, proposal.diagnosis, verdict.claims
            )
        )
        is_simplifying = member.trigger is Trigger.SIMPLIFY
        if not verdict.admissible:
            member.n_refusals += 1
            if is_simplifying:
                member.simplified_bytes = _count_description_bytes(member)
            if is_simplifying or (member.admissible and member.n_refusals >= MAX_REFUSALS):
                # What stands goes on standing; nothing forces a change of it.
                member.trigger, member.n_refusals = None, 0
            return
        if candidate != member.hypothesis:
            member.version += 1
            self.accepted_versions.append(
                AcceptedVersion(member.index, member.version, candidate, proposal.diagnosis or proposal.decision.value, timestamp)
            )
            if self.active_plan is not None and self.active_plan.member == member.index:
                self._end_plan()
        member.hypothesis, member.admissible, member.n_refusals = candidate, True, 0
        if is_simplifying or proposal.decision is Decision.SIMPLIFY:
            member.trigger, member.should_simplify, member.simplified_bytes = None, False, _count_description_bytes(member)
            return
        member.simplified_bytes = member.simplified_bytes or _count_description_bytes(member)
        if _count_description_bytes(member) > SIMPLIFY_GROWTH * member.simplified_bytes:
            member.should_simplify = True
        member.trigger = Trigger.SIMPLIFY if member.should_simplify else None
        member.should_simplify = False


def is_left_open(prediction: PredictedOutcome | None, observation: Observation) -> bool:
    """Say whether a step may have shown more than was predicted: a cell or the status was left open, or there is an animation."""
    return (prediction is not None and not prediction.is_whole) or len(observation.frames) > 1


def _ends_unclaimed(prediction: PredictedOutcome | None, status: Status) -> bool:
    """Whether the level ended as a prediction had left possible and did not claim."""
    return prediction is not None and status in (Status.OVER, Status.COMPLETED) and len(prediction.statuses) > 1


def fold_events(ledger: Ledger) -> State:
    """Fold a ledger into the state it tells of, without a world: to resume, show or check.

    Raises UsageError when it has no opening, or an event that no run writes there.
    """
    state = State.from_opening(ledger)
    for event in ledger:
        try:
            state.apply(event, ledger)
        except MalformedEventError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
            message = f"Event {event.seq} ({event.kind}) does not follow from those before it ({type(error).__name__}: {error})"
            raise UsageError(f"{message}; the ledger was written by another version, or altered.") from error
    return state


def _count_description_bytes(member: Member) -> int:
    return 0 if member.hypothesis is None else member.hypothesis.description_bytes
