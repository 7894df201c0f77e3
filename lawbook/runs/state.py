"""The state of a run as a fold over its ledger: nothing here that the events do not say, so a resumed run knows all it knew."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from lawbook.core.hypothesis import Decision, Hypothesis, Proposal
from lawbook.core.record import RESET, Action, Record, Status
from lawbook.core.results import Verdict
from lawbook.core.spending import Caps, Spent, lasted
from lawbook.errors import UsageError
from lawbook.ledger.codec import action_of, actions_of, proposal_of, verdict_of
from lawbook.ledger.git_versions import Saved
from lawbook.ledger.ledger import Event, Kind, Ledger, read_observation
from lawbook.minds.base import News, Version, Why
from lawbook.protocols.gate import ROUNDS

OPS = ("propose", "judge", "explore")
"""Calls of a mind; other CALL events tell of what stands around it: the model behind it, doors, an agent's own costs."""
GROWN = 1.25
"""A description this many times its length at the last simplification is asked to be simplified."""


class Sort(StrEnum):
    """What kind of action an INTEND announces."""

    PLAN = "plan"
    PROBE = "probe"
    RESET = "reset"


class Ending(StrEnum):
    """How a run ended."""

    WON = "won"
    BUDGET = "budget"
    STUCK = "stuck"
    FINISHED = "finished"
    NONDETERMINISTIC = "nondeterministic"
    IN_DOUBT = "in_doubt"


@dataclass
class Member:
    """One hypothesis (h^i) and what is going on about it.

    hypothesis: last accepted text (falsified or not). admissible: may it steer? why: the reason it is due for reflection.
    rounds: refusals since the last acceptance or new evidence. faults: accepted programs that failed without any new evidence.
    refusals: unusable explorations in a row, with the last's reason.
    pending: answers of its mind that have had no consequence yet, by operation (what a resumed run reuses). asked: calls answered.
    inner: answers of the model behind its mind in the call that is going on, as texts, by digest of the request.
    proposal: what was proposed and has no verdict yet, with its event number.
    """

    index: int
    hypothesis: Hypothesis | None = None
    admissible: bool = False
    why: Why | None = Why.START
    rounds: int = 0
    faults: int = 0
    verdict: Verdict | None = None
    refusals: int = 0
    refusal: str = ""
    version: int = 0
    asked: int = 0
    pending: dict[str, Event] = field(default_factory=dict)
    inner: dict[str, list[str]] = field(default_factory=dict)
    proposal: tuple[int, Proposal] | None = None
    history: list[Version] = field(default_factory=list)
    news: list[News] = field(default_factory=list)
    simplify: bool = False
    simplified_bytes: int = 0
    no_plan: str = ""
    thought_at: int = -1
    """How many actions had been sent when it was last asked because nobody had a plan."""

    @property
    def due(self) -> bool:
        return self.why is not None and self.rounds < ROUNDS and self.faults < ROUNDS

    def settle(self) -> None:
        """Something came of what its mind answered: nothing of that is asked for again."""
        self.pending.clear()
        self.inner.clear()


@dataclass
class Active:
    """The plan being followed: its PLAN event, who drives, what is to be sent, how much of it has been."""

    plan: int
    member: int
    actions: tuple[Action, ...]
    subgoal: str | None
    question: str
    at: int = 0


@dataclass
class Intent:
    """An INTEND without its OBSERVE: the action that is in flight, or in doubt after a crash."""

    seq: int
    action: Action
    sort: Sort
    member: int | None
    plan: int | None
    question: str
    predictions: dict[int, tuple[str, Status]]


@dataclass
class State:
    """Everything a run is, rebuilt by `apply` from its events in order."""

    record: Record
    members: list[Member]
    active: Active | None = None
    intent: Intent | None = None
    draws: int = 0
    unpredicted: int = 0
    notes: list[str] = field(default_factory=list)
    per_level: dict[int, int] = field(default_factory=dict)
    mismatches: int = 0
    completed: int = 0
    ending: Ending | None = None
    plans: dict[int, Active] = field(default_factory=dict)
    accepted: list[Saved] = field(default_factory=list)
    """Every accepted iteration in order: what the git memory is derived from."""
    spent: Spent = field(default_factory=Spent)
    caps: Caps = field(default_factory=Caps)

    @classmethod
    def opened(cls, ledger: Ledger) -> State:
        """The state before anything happened, from the OPEN event. Raises UsageError when there is none."""
        opening = next(iter(ledger), None)
        if opening is None or opening.kind is not Kind.OPEN:
            raise UsageError("This ledger has no opening: the run was ended before it began; start another.")
        run, spec = opening.body["run"], opening.body["spec"]
        return cls(Record(spec["levels"]), [Member(index) for index in range(run["population"])])

    @property
    def sent(self) -> int:
        """Actions sent so far, resets included, the opening not."""
        return self.record.actions

    def apply(self, event: Event, ledger: Ledger) -> None:
        """Take one event in. Total: every kind of event has its one effect here and nowhere else."""
        body = event.body
        paused = event.kind is Kind.OPEN or "line" in body  # imported lines have their own clock
        self.spent.pass_time(event.time, paused, lasted(body))
        match event.kind:
            case Kind.OBSERVE:
                self._observed(event, ledger)
            case Kind.INTEND:
                predictions = {int(m): (frame, Status(status)) for m, (frame, status) in body["predictions"].items()}
                action = Action(*body["action"])
                self.intent = Intent(
                    event.seq, action, Sort(body["sort"]), body["member"], body["plan"], body["question"], predictions
                )
                if body["sort"] == Sort.PROBE and body["member"] not in predictions:
                    self.unpredicted += 1
                assert body["member"] is None or 0 <= body["member"] < len(self.members), "there is no such member"
                for member in self.members:  # whoever acts: what was answered before is an answer to another record
                    member.settle()
            case Kind.PROPOSE:
                member = self.members[body["member"]]
                member.proposal = (event.seq, proposal_of(ledger, body))
                member.news.clear()
                member.pending.pop("judge", None)  # what was said of another proposal, that never had a verdict
                member.why = Why(body["cause"])
                if member.why is Why.NO_PLAN:
                    member.thought_at = self.sent
            case Kind.VERDICT:
                self._judged(self.members[body["member"]], body["about"], verdict_of(body["verdict"]), event.time)
            case Kind.PLAN:
                if body["subgoal"] is None:
                    self.members[body["member"]].no_plan = body.get("reason", "")
                if body["actions"] is not None:
                    subgoal = None if body["subgoal"] is None else ledger.text(body["subgoal"])
                    actions = actions_of(body["actions"])
                    self.plans[event.seq] = Active(event.seq, body["member"], actions, subgoal, body["question"])
            case Kind.DRAW:
                self.draws += 1
                self.active = self.plans[body["plan"]]
                self.plans.clear()
            case Kind.CALL:
                self._called(event)
            case Kind.NOTE:
                if body.get("by") != "probe":  # of an agent's confinement: for people
                    self.notes.append(body["text"])
            case Kind.CLOSE:
                self.ending = Ending(body["outcome"])
            case Kind.OPEN:
                self.caps = Caps(**body["caps"]) if "caps" in body else Caps.of(body["run"])

    def _called(self, event: Event) -> None:
        body = event.body
        if body["op"] != "door":  # what somebody asked of the run cost nothing
            self.spent.call(body.get("receipt", {}))
        if "request" in body:  # an inner call, of the model behind a mind (desk.Desk.exchange)
            if body["answer"] is not None:
                self.members[body["member"]].inner.setdefault(body["request"], []).append(body["answer"])
        elif body["op"] in OPS and body["answer"] is not None:
            member = self.members[body["member"]]
            member.asked += 1
            member.pending[body["op"]] = event
            member.inner.clear()

    def _observed(self, event: Event, ledger: Ledger) -> None:
        action, observation = action_of(event.body["action"]), read_observation(ledger, event.body)
        level, opens = self.record.level, action is None or action == RESET
        if event.body["trajectory"] != len(self.record) - (not opens):
            raise ValueError("it belongs to another trajectory")
        self.record.extend(action, observation)
        self.plans.clear()
        if action is None:
            return
        self.per_level[level] = self.per_level.get(level, 0) + 1
        intent, self.intent = self.intent, None
        completed = observation.status is Status.COMPLETED
        self.completed += completed
        if self.active is not None:
            follows = intent is not None and intent.plan == self.active.plan
            self.active.at += follows
            done = self.active.at >= len(self.active.actions)
            if done or not follows or action == RESET or observation.status is not Status.RUNNING:
                self.active = None
        for member in self.members:
            member.refusals, member.refusal, member.faults = 0, "", 0
            member.simplify |= completed and not self.record.won
            if not member.admissible:
                # New evidence: a mind that had used up its rounds is asked again.
                member.rounds, member.why = 0, member.why or Why.MISMATCH
            elif completed and not self.record.won:
                member.why, member.rounds = Why.LEVEL, 0
            if intent is not None:
                member.news.append(News(self.sent, intent.member, intent.sort.value, (action,)))

    def _judged(self, member: Member, about: str, verdict: Verdict, now: float) -> None:
        """about: `proposal` (the gate's answer to one), `prediction` (it was wrong), `explore` (its answer could not be used)."""
        member.settle()
        match about:
            case "prediction":
                member.admissible, member.why, member.rounds, member.verdict = False, Why.MISMATCH, 0, verdict
                member.faults += verdict.fault is not None
                self.mismatches += 1
                if self.active is not None and self.active.member == member.index:
                    self.active = None
            case "explore":
                member.refusals += 1
                member.refusal = verdict.reason
            case "proposal":
                assert member.proposal is not None, "a verdict without a proposal"
                _, proposal = member.proposal
                member.proposal = None
                self._settled(member, proposal, verdict, now)

    def _settled(self, member: Member, proposal: Proposal, verdict: Verdict, now: float) -> None:
        tried = proposal.applied_to(member.hypothesis)
        member.verdict = verdict
        member.history.append(Version(proposal.decision, tried, verdict.outcome, verdict.reason, self.sent, proposal.diagnosis))
        simplifying = member.why is Why.SIMPLIFY
        if not verdict.admissible:
            member.rounds += 1
            if simplifying:
                member.simplified_bytes = _bytes(member)
            if simplifying or (member.admissible and member.rounds >= ROUNDS):
                # What stands goes on standing; nothing forces a change of it.
                member.why, member.rounds = None, 0
            return
        if tried != member.hypothesis:
            member.version += 1
            self.accepted.append(Saved(member.index, member.version, tried, proposal.diagnosis or proposal.decision.value, now))
            if self.active is not None and self.active.member == member.index:
                self.active = None
        member.hypothesis, member.admissible, member.rounds = tried, True, 0
        if simplifying or proposal.decision is Decision.SIMPLIFY:
            member.why, member.simplify, member.simplified_bytes = None, False, _bytes(member)
            return
        member.simplified_bytes = member.simplified_bytes or _bytes(member)
        if _bytes(member) > GROWN * member.simplified_bytes:
            member.simplify = True
        member.why = Why.SIMPLIFY if member.simplify else None
        member.simplify = False


def fold(ledger: Ledger) -> State:
    """The state a ledger tells of, without a world: to resume, show or check.

    Raises UsageError when it has no opening, or an event that no run writes there.
    """
    state = State.opened(ledger)
    for event in ledger:
        try:
            state.apply(event, ledger)
        except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
            what = f"Event {event.seq} ({event.kind}) does not follow from those before it ({type(error).__name__}: {error})"
            raise UsageError(f"{what}; the ledger was written by another version, or altered.") from error
    return state


def _bytes(member: Member) -> int:
    return 0 if member.hypothesis is None else member.hypothesis.description_bytes
