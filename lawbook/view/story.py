"""A run told as it went: one thing after another, read off the events, live or from the ledger alone. All views hang on this."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lawbook.answers import Counterexample, Outcome, Verdict
from lawbook.hypothesis import Decision, Hypothesis, Proposal
from lawbook.memory.bodies import action_of, proposal_of, verdict_of
from lawbook.memory.ledger import Event, Kind, Ledger
from lawbook.record import RESET, Action, Status
from lawbook.state import Sort, State
from lawbook.view.rules import Change, changes
from lawbook.view.words import count, first_sentence, one_line


@dataclass(frozen=True, kw_only=True)
class Told:
    """One thing that happened. seq: number of the event that settled it; time: seconds since 1970; at: actions sent by then."""

    seq: int
    time: float
    at: int

    @property
    def line(self) -> str:
        """One line for a person, cleaned; empty when it is not worth one."""
        return ""

    @property
    def mood(self) -> str:
        """`good`, `bad`, `busy`, `ask` or `plain`: how to colour it."""
        return "plain"


@dataclass(frozen=True, kw_only=True)
class Opened(Told):
    """run, spec, versions, sandbox: as the OPEN event has them."""

    run: Mapping[str, Any]
    spec: Mapping[str, Any]
    versions: Mapping[str, str] = field(default_factory=dict)
    sandbox: Mapping[str, Any] = field(default_factory=dict)

    @property
    def line(self) -> str:
        run, (height, width) = self.run, self.spec["shape"]
        levels = count(self.spec["levels"], "level") if self.spec["levels"] else "levels unknown"
        return one_line(
            f"{run['world']}: {height} x {width} cells, {len(self.spec['actions'])} actions, {levels}; "
            f"{run['mind']} under {run['protocol']}, budget {run['budget']}"
        )


@dataclass(frozen=True, kw_only=True)
class Stepped(Told):
    """An action and what came back. intent: the INTEND body. frame, level, status: of the observation; before: the frame before it.
    exact: member -> whether its prediction came true (None: not compared). level_before: the level it was sent in."""

    action: Action
    intent: Mapping[str, Any]
    frame: str
    before: str
    status: Status
    level: int
    level_before: int
    exact: Mapping[int, bool | None]

    @property
    def sort(self) -> Sort:
        return Sort(self.intent["sort"])

    @property
    def line(self) -> str:
        match self.status:
            case Status.COMPLETED:
                return f"level {self.level_before + 1} completed"
            case Status.OVER:
                return f"game over after action {self.action}"
            case Status.TRUNCATED:
                return f"the world broke off after action {self.action} (its own time limit)"
        question = self.intent["question"]
        if self.sort is Sort.PROBE:
            return f"probe {self.action}: {one_line(question)}" if question else ""
        return f"reset: {one_line(question)}" if self.sort is Sort.RESET else ""

    @property
    def mood(self) -> str:
        if self.status is not Status.RUNNING:
            return "good" if self.status is Status.COMPLETED else "bad"
        return "ask" if self.sort is Sort.PROBE else "plain"


@dataclass(frozen=True, kw_only=True)
class Proposed(Told):
    """A proposal with the gate's answer. number: from 1; before: what it changed; after: what it would be; version: the new one's
    number, None when nothing new stands; whose: `member 1: ` in a population, else empty."""

    number: int
    member: int
    decision: Decision
    why: str
    diagnosis: str
    before: Hypothesis | None
    after: Hypothesis
    verdict: Verdict
    version: int | None
    whose: str = ""

    @property
    def accepted(self) -> bool:
        return self.verdict.outcome is Outcome.ADMISSIBLE

    @property
    def changes(self) -> list[Change]:
        return changes(self.before.rulebook if self.before else "", self.after.rulebook)

    @property
    def line(self) -> str:
        if not self.accepted:
            return f"{self.whose}{self.decision} refused ({self.verdict.outcome}): {first_sentence(self.verdict.reason, 300)}"
        if self.version is None:
            return ""
        marks = [f"{change.mark}{change.name}" for change in self.changes if change.mark != " " and change.name.startswith("R")]
        if self.before is None:
            what = f" {count(len(marks), 'rule')};"
        else:
            what = f" {' '.join(marks)};" if marks else " the program alone;"
        replayed = f"replays all {count(self.verdict.replayed, 'step')}" if self.verdict.replayed else "nothing on record to replay"
        return f"{self.whose}v{self.version} accepted:{what} {replayed}, {self.after.description_bytes:,} bytes"

    @property
    def mood(self) -> str:
        return "good" if self.accepted else "bad"


@dataclass(frozen=True, kw_only=True)
class Missed(Told):
    """A member's prediction was wrong, or its program failed. predicted, observed: frame ids, None where there is none to show;
    action: the one predicted, None for the first rendering of a trajectory or a failure while planning."""

    member: int
    verdict: Verdict
    action: Action | None
    predicted: str | None
    observed: str | None
    question: str = ""
    whose: str = ""

    @property
    def line(self) -> str:
        example = self.verdict.counterexample
        return f"{self.whose}wrong: {parted(example) if example else first_sentence(self.verdict.reason, 300)}"

    @property
    def mood(self) -> str:
        return "bad"


@dataclass(frozen=True, kw_only=True)
class Planned(Told):
    """The plan that is followed next. plan: its PLAN body; number: its event, which the INTENDs of its actions name;
    classes: members by identical plans; drawn: which class."""

    plan: Mapping[str, Any]
    number: int
    classes: list[list[int]]
    drawn: int

    @property
    def line(self) -> str:
        shortest = ", certified shortest" if self.plan["certified"] else ""
        if self.plan["subgoal"] is None:
            target = "the goal"
        else:
            target = one_line(self.plan["question"]) or "a subgoal"
        return f"a plan of {count(len(self.plan['actions']), 'action')}{shortest}: {target}"

    @property
    def mood(self) -> str:
        return "busy" if self.plan["subgoal"] is None else "ask"


@dataclass(frozen=True, kw_only=True)
class Called(Told):
    """A call of a member's mind. op: propose, judge or explore."""

    member: int
    op: str
    answered: bool
    seconds: float
    receipt: Mapping[str, Any]

    @property
    def line(self) -> str:
        return "" if self.answered else f"the mind gave no answer ({self.op}, after {self.seconds:.1f} s)"

    @property
    def mood(self) -> str:
        return "plain" if self.answered else "bad"


@dataclass(frozen=True, kw_only=True)
class Remarked(Told):
    """A note, or an exploration that could not be used."""

    text: str
    bad: bool = False

    @property
    def line(self) -> str:
        return one_line(self.text, 300)

    @property
    def mood(self) -> str:
        return "bad" if self.bad else "plain"


@dataclass(frozen=True, kw_only=True)
class Ended(Told):
    outcome: str
    sentence: str

    @property
    def line(self) -> str:
        return f"{self.outcome}: {one_line(self.sentence)}"

    @property
    def mood(self) -> str:
        return "good" if self.outcome == "won" else "bad"


class Teller:
    """Turns events into what they tell. Call `tell` with each event after the state has taken it in.

    To begin in the middle of a run, give its state and call `catch_up` first.
    """

    def __init__(self, state: State, ledger: Ledger, compares: tuple[str, ...] = ("frame", "status")) -> None:
        self.state, self.ledger, self._compares = state, ledger, compares
        self._before = {m.index: m.hypothesis for m in state.members}
        self._versions = {m.index: m.version for m in state.members}
        self._number = sum(len(m.history) for m in state.members)
        self._proposals: dict[int, tuple[Mapping[str, Any], Proposal]] = {}
        self._plans: dict[int, Mapping[str, Any]] = {}
        self._intent: Mapping[str, Any] | None = None
        self._step: Stepped | None = None
        self._frame, self._level = "", 0

    def catch_up(self) -> None:
        """Take in what the ledger holds already, telling nothing of it."""
        for event in self.ledger.events([Kind.PROPOSE, Kind.PLAN, Kind.INTEND, Kind.OBSERVE]):
            self._remember(event)

    def _remember(self, event: Event) -> None:
        match event.kind:
            case Kind.PROPOSE:
                self._proposals[event.body["member"]] = event.body, proposal_of(self.ledger, event.body)
            case Kind.PLAN:
                self._plans[event.seq] = event.body
            case Kind.INTEND:
                self._intent = event.body
            case Kind.OBSERVE:
                self._frame, self._level, self._intent = event.body["frames"][-1], event.body["level"], None

    def tell(self, event: Event) -> Told | None:
        """What this event tells, None when it only prepares something."""
        body = event.body
        here: dict[str, Any] = {"seq": event.seq, "time": event.time, "at": self.state.sent}
        told: Told | None = None
        match event.kind:
            case Kind.OPEN:
                told = Opened(**here, **{key: body[key] for key in ("run", "spec", "versions", "sandbox") if key in body})
            case Kind.OBSERVE:
                told = self._step = self._stepped(here, body)
            case Kind.VERDICT if body["about"] == "proposal":
                told = self._proposed(here, body)
            case Kind.VERDICT if body["about"] == "prediction":
                told = self._missed(here, body)
            case Kind.VERDICT:
                told = Remarked(**here, text=f"an exploration could not be used: {body['verdict']['reason']}", bad=True)
            case Kind.DRAW if body["plan"] in self._plans:
                told = Planned(
                    **here, plan=self._plans[body["plan"]], number=body["plan"], classes=body["classes"], drawn=body["drawn"]
                )
            case Kind.CALL:
                answered = body["answer"] is not None
                told = Called(
                    **here,
                    member=body["member"],
                    op=body["op"],
                    answered=answered,
                    seconds=body["seconds"],
                    receipt=body["receipt"],
                )
            case Kind.NOTE:
                told = Remarked(**here, text=body["text"])
            case Kind.CLOSE:
                told = Ended(**here, outcome=body["outcome"], sentence=body["sentence"])
        self._remember(event)
        return told

    def _whose(self, member: int) -> str:
        return f"member {member}: " if len(self.state.members) > 1 else ""

    def _stepped(self, here: dict[str, Any], body: Mapping[str, Any]) -> Stepped | None:
        action = action_of(body["action"])
        if action is None:
            return None
        intent = self._intent or _unannounced(action)
        status, frame = Status(body["status"]), body["frames"][-1]
        return Stepped(
            **here,
            action=action,
            intent=intent,
            frame=frame,
            before=self._frame,
            status=status,
            level=body["level"],
            level_before=self._level,
            exact={int(m): self._exact(seen, told, frame, status) for m, (seen, told) in intent["predictions"].items()},
        )

    def _exact(self, frame: str, status: str, observed: str, ended: Status) -> bool | None:
        """Did a prediction come true? Compared as the gate does, by content: identical frames have one id."""
        if ended is Status.TRUNCATED:
            return None
        if "status" in self._compares and status != ended:
            return False
        return "frame" not in self._compares or ended is Status.COMPLETED or frame == observed

    def _proposed(self, here: dict[str, Any], body: Mapping[str, Any]) -> Proposed | None:
        index = body["member"]
        if index not in self._proposals:
            return None
        asked, proposal = self._proposals.pop(index)
        member, before = self.state.members[index], self._before[index]
        new = member.version > self._versions[index]
        self._before[index], self._versions[index] = member.hypothesis, member.version
        self._number += 1
        return Proposed(
            **here,
            number=self._number,
            member=index,
            whose=self._whose(index),
            decision=proposal.decision,
            why=asked["why"],
            diagnosis=proposal.diagnosis,
            before=before,
            after=proposal.applied_to(before),
            verdict=verdict_of(body["verdict"]),
            version=member.version if new else None,
        )

    def _missed(self, here: dict[str, Any], body: Mapping[str, Any]) -> Missed:
        verdict, step = verdict_of(body["verdict"]), self._step
        example = verdict.counterexample
        action = predicted = observed = None
        question = ""
        if example is not None and example.step > 0 and step is not None and example.action == step.action:
            seen = step.intent["predictions"].get(str(body["member"]))
            action, predicted, observed, question = step.action, seen and seen[0], step.frame, step.intent["question"]
        return Missed(
            **here,
            member=body["member"],
            verdict=verdict,
            action=action,
            predicted=predicted,
            observed=observed,
            question=question,
            whose=self._whose(body["member"]),
        )


def _unannounced(action: Action) -> Mapping[str, Any]:
    """What stands for the INTEND of an action that came with a recording: nobody here meant or predicted anything by it."""
    sort = Sort.RESET if action == RESET else Sort.PROBE
    return {"sort": sort.value, "member": None, "plan": None, "question": "", "predictions": {}}


def parted(example: Counterexample) -> str:
    """Where a prediction and what was observed part, in a few words."""
    what = f"action {example.action}" if example.action is not None else "the first sight of a trajectory"
    if example.expected is not example.predicted:
        return f"{what} was predicted to leave the level {example.predicted}, and left it {example.expected}"
    if not example.regions:
        return f"{what} showed something else than was predicted"
    top = min(region.top for region in example.regions)
    left = min(region.left for region in example.regions)
    bottom, right = max(region.bottom for region in example.regions), max(region.right for region in example.regions)
    cells = count(example.cells, "cell")
    return f"{what} showed {cells} other than predicted, in rows {top} to {bottom}, columns {left} to {right}"


def story(ledger: Ledger) -> Iterator[tuple[Told, State]]:
    """Everything a ledger tells, in order, each with the state it left. Raises UsageError when it has no opening."""
    state = State.opened(ledger)
    teller = Teller(state, ledger)
    for event in ledger:
        state.apply(event, ledger)
        told = teller.tell(event)
        if told is not None:
            yield told, state
