"""The trail of a run: every event held against those before it, by code that shares no state with what plays and resumes runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from lawbook.arc import recording_format
from lawbook.audit.hypothesis_checker import Beliefs, Place
from lawbook.core.record import RESET, Action, Observation, Record, Status
from lawbook.core.results import Counterexample, Outcome, Prediction
from lawbook.errors import LawbookError
from lawbook.ledger.codec import action_of, verdict_of
from lawbook.ledger.ledger import Event, Kind, Ledger, read_observation
from lawbook.protocols import gate
from lawbook.protocols.protocol import Protocol, find_protocol
from lawbook.runs.state import OPS, Ending, Sort
from lawbook.verification.determinism import DeterminismWatch
from lawbook.verification.replay import compare
from lawbook.worlds.world import WorldSpec, refuses_action

_SETTINGS = {"world": str, "mind": str, "protocol": str, "population": int, "budget": int, "seed": int, "memory_mb": int}
_SETTINGS |= {"weak_sandbox": bool}


@dataclass(frozen=True)
class Finding:
    """Something that is not as it must be. line: of the audit it belongs to; seq: at which event; says: what, for a person."""

    line: str
    seq: int
    says: str

    def __str__(self) -> str:
        return f"event {self.seq} {self.says}"


@dataclass(frozen=True)
class _Intent:
    seq: int
    action: Action
    plan: int | None
    predictions: dict[int, tuple[str, Status]]


class Trail:
    """A ledger walked from its first event to its last. What is wrong lies in `findings`; the rest is what was met on the way.

    announced, predicted, compared: actions with an INTEND, with a prediction by anybody, and predictions compared again.
    unpredicted: probes without a prediction. imported: lines of a recording. restarts: resets of the whole game. said: words of a
    person. unlike: levels that did not always begin alike. receipts: of every call.
    confined: by what agents were, and how well.
    """

    beliefs: Beliefs
    rules: Protocol
    spec: WorldSpec
    _guessed = False

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.findings: list[Finding] = []
        self.openings: list[Event] = []
        self.closed: Event | None = None
        self.record = Record()
        self.announced = self.predicted = self.compared = self.unpredicted = self.imported = self.restarts = 0
        self.said = self.events = self.unlike = 0
        self.receipts: list[Mapping[str, Any]] = []
        self.confined: list[str] = []
        self.intent: _Intent | None = None
        self._event: Event
        self._watch = DeterminismWatch()
        self._digest = sha256()
        self._wrong: dict[int, Counterexample] = {}
        self._right: set[int] = set()
        self._due: Ending | None = None
        self._walk()

    @property
    def run(self) -> Mapping[str, Any]:
        """The settings in the opening."""
        settings: Mapping[str, Any] = self.openings[0].body["run"]
        return settings

    def _walk(self) -> None:
        try:
            for event in self.ledger:
                self._event, self.events = event, self.events + 1
                try:
                    self._take(event)
                except (LookupError, TypeError, ValueError, AttributeError, AssertionError, LawbookError) as error:
                    what = f"{type(error).__name__}: {str(error)[:200]}"
                    self._find("order", f"is nothing that a run writes there ({what})")
        except LawbookError as error:  # a row that cannot be read
            self.findings.append(Finding("order", self.events, f"cannot be read: {error}"))
        if self.openings:
            self._no_more()

    def _find(self, line: str, says: str) -> None:
        self.findings.append(Finding(line, self._event.seq, says))

    def _take(self, event: Event) -> None:
        kind, body = event.kind, event.body
        if not self.openings and (kind is not Kind.OPEN or body.get("resumed")):
            self._find("order", "stands where a run's opening must")
            return
        self._may_follow(kind, body)
        match kind:
            case Kind.OPEN:
                self._opened(event)
            case Kind.OBSERVE:
                self._observed(body)
            case Kind.INTEND:
                self._intended(body)
            case Kind.PROPOSE:
                self.beliefs.proposed(event)
            case Kind.VERDICT:
                self._judged(event)
            case Kind.PLAN:
                self.beliefs.planned(event)
            case Kind.DRAW:
                self.beliefs.drawn(event)
            case Kind.CALL:
                self._called(body)
            case Kind.NOTE:
                self._noted(body)
            case Kind.CLOSE:
                self._ended(event)

    def _may_follow(self, kind: Kind, body: Mapping[str, Any]) -> None:
        """What no event but its own kind may come between, or after."""
        if self.closed is not None and not (kind is Kind.CALL and (body["op"] not in OPS or "request" in body)):
            self._find("order", f"comes after the run had ended with event {self.closed.seq}")
        if kind is not Kind.VERDICT or body["about"] != "prediction":
            self._unsaid()
            if self._due is not None and kind not in (Kind.CLOSE, Kind.NOTE, Kind.OPEN) and "line" not in body:
                self._find("order", f"comes where the run had to end ({self._due})")
                self._due = None
        if self.intent is not None and kind not in (Kind.OBSERVE, Kind.OPEN, Kind.CLOSE, Kind.CALL, Kind.NOTE):
            self._find("intents", f"comes while nothing is on record of what action {self.intent.action} led to")
            self.intent = None

    def _unsaid(self) -> None:
        """Mismatches that had to be the next thing on record, and are not."""
        for member, example in self._wrong.items():
            at = f"trajectory {example.trajectory}, step {example.step}"
            self._find("predictions", f"stands where member {member}'s wrong prediction of {at} had to be told")
        self._wrong, self._right = {}, set()

    def _no_more(self) -> None:
        self._unsaid()
        if self._due is not None:
            self._find("order", f"is the last, and the run had to end there ({self._due})")
        for index in range(len(self.beliefs.members)):
            self.beliefs.buried(index, self.beliefs.place)
        came = self.openings[0].body.get("recording")
        if came is not None and self._digest.hexdigest() != came["digest"]:
            self._find("record", "is the last, and the imported lines are not those of the recording that the opening names")

    # -- beginning and end ---------------------------------------------------------------------------------------------------

    def _opened(self, event: Event) -> None:
        body = event.body
        spec, run = _spec(body["spec"]), body["run"]
        for name, kind in _SETTINGS.items():
            if type(run[name]) is not kind:
                raise ValueError(f"its {name} is {run[name]!r}")
        if not isinstance(body["sandbox"]["level"], str) or not all(isinstance(body[n], dict) for n in ("sandbox", "versions")):
            raise ValueError("it does not say what it ran on")
        dict(body["sandbox"]["facts"])
        if not self.openings:
            self.rules, self.record = find_protocol(run["protocol"]), Record(spec.levels)
            self.beliefs = Beliefs(self.ledger, self.record, self.rules, run, self._find)
        else:
            if not body.get("resumed"):
                self._find("order", "opens a run that was opened before")
            if _lasting(run) != _lasting(self.run):
                self._find("settings", "resumes the run with other settings than it was begun with")
            # A recording does not tell all that the world knows, nor a server twice what people took; the next opening does.
            if replace(spec, ticket="", baselines=None) != replace(self.spec, ticket="", baselines=None) and not self._guessed:
                self._find("settings", "resumes the run in another world than it was begun with")
            self.beliefs.resumed()
        self.spec, self._guessed = spec, "recording" in body
        self.openings.append(event)

    def _ended(self, event: Event) -> None:
        body, due, self._due = event.body, self._due, None
        outcome = Ending(body["outcome"])
        self.closed = event
        if body["head"] != event.prev_hash:
            self._find("head", "does not name the head of the ledger that it ends")
        if due is not None and outcome is not due:
            self._find("order", f"ends the run as {outcome}, and it had ended as {due}")
        if due is None and outcome in (Ending.WON, Ending.BUDGET, Ending.NONDETERMINISTIC):
            self._find("order", f"ends the run as {outcome}, which is not what is on record")
        if (outcome is Ending.IN_DOUBT) != (self.intent is not None):
            self._find("order", f"ends the run as {outcome}, and {'an' if self.intent else 'no'} action was in flight")

    # -- around an action ----------------------------------------------------------------------------------------------------

    def _intended(self, body: Mapping[str, Any]) -> None:
        action, sort, index = Action(*body["action"]), Sort(body["sort"]), body["member"]
        predictions = {int(m): (frame, Status(status)) for m, (frame, status) in body["predictions"].items()}
        budget, question = self.run["budget"], body["question"]
        if self.record.actions >= budget:
            self._find("counts", f"announces an action beyond the budget of {budget:,}")
        if (action == RESET) != (sort is Sort.RESET):
            self._find("intents", f"announces action {action} as a {sort}")
        refusal = None
        match sort:
            case Sort.RESET:
                refusal = None if question else "It gives no reason."
                self.restarts += gate.refuses_reset(self.record, whole=False) is not None
            case Sort.PROBE:
                refusal = gate.refuses_probe(self.rules, index in predictions, self.unpredicted, budget, question)
                self.unpredicted += index not in predictions
            case Sort.PLAN:
                self.beliefs.steers(body, action, predictions)
        if sort is not Sort.PLAN and body["plan"] is not None:
            self._find("plans", f"is a {sort} that claims a plan")
        refusal = refusal or (refuses_action(self.spec, self.record.here.last, action) if action != RESET else None)
        if refusal:
            self._find("intents", f"announces what may not be sent: {refusal}")
        self._foretold(action, predictions)
        answer = {} if index is None else self.beliefs.members[index].answers.get("explore", {})
        if sort is Sort.PROBE and not answer:
            self.beliefs.tried(self._event.seq, action, index, question)
        if "probe" in answer and sort is not Sort.PLAN and (answer["probe"], answer["question"]) != (body["action"], question):
            self._find("intents", f"is not what the mind of member {index} had answered")
        for member in self.beliefs.members:
            member.answers.clear()
        self.intent = _Intent(self._event.seq, action, body["plan"], predictions)
        self.announced += 1
        self.predicted += bool(predictions)

    def _foretold(self, action: Action, predictions: Collection[int]) -> None:
        """Every member that may steer predicts, and nobody else; nobody is asked what a reset will show."""
        due = {m for m, member in enumerate(self.beliefs.members) if member.admissible and action != RESET}
        if set(predictions) != due:
            said, needed = (", ".join(map(str, sorted(them))) or "none" for them in (set(predictions), due))
            self._find("intents", f"holds predictions of members {said}, and had to hold those of {needed}")

    def _observed(self, body: Mapping[str, Any]) -> None:
        action, seen, imported = action_of(body["action"]), read_observation(self.ledger, body), "line" in body
        opens = action is None or action == RESET
        intent, self.intent = self.intent, None
        if imported:
            self._imported(recording_format.written(self.ledger.text(body["line"]), seen.frames))
        elif action is not None and (intent is None or intent.action != action):
            said = f"action {intent.action}" if intent else "nothing"
            self._find("intents", f"shows what action {action} led to, and {said} had been announced")
        if (action is None) != (self.record.last is None):
            self._find("order", "opens the world a second time" if action is None else "is no first observation")
        if body["trajectory"] != len(self.record) - (not opens):
            self._find("record", f"claims trajectory {body['trajectory']}, and belongs to {len(self.record) - (not opens)}")
        self._fits(action, seen, imported)
        opened, before = len(self.record), self.beliefs.place
        self.record.extend(action, seen)
        parted = None
        if opens:
            self.unlike += self._watch.opened(opened, self.record.here.first) is not None
        else:
            here = self.record.trajectories[opened - 1]
            self._compare(action, seen, intent.predictions if intent else {}, before)  # type: ignore[arg-type]
            parted = self._watch.see(opened - 1, here.first, action, seen)  # type: ignore[arg-type]
        self.beliefs.acted(intent.plan if intent else None, not opens and seen.status is Status.RUNNING)
        over = {Ending.NONDETERMINISTIC: parted is not None and not imported, Ending.WON: self.record.won}
        over[Ending.BUDGET] = self.record.actions >= self.run["budget"]
        self._due = next((ending for ending, is_so in over.items() if is_so), None)

    def _compare(self, action: Action, seen: Observation, predictions: Mapping[int, tuple[str, Status]], before: Place) -> None:
        """Every prediction held against what came; what differs has to be told next. before: the record until then."""
        index = before[0] - 1
        here = self.record.trajectories[index]
        for member, (frame, status) in predictions.items():
            predicted = Prediction(self.ledger.frame(frame), status)
            known = {"trajectory": index, "step": len(here), "level": here.first.level, "before": here.settled[len(here) - 1]}
            example = compare(predicted, seen, action=action, compares=self.rules.compares, **known)
            self.compared += 1
            if example is None:
                self._right.add(member)
            else:
                self._wrong[member] = example
                self.beliefs.buried(member, before, (index, len(here), frame, status))

    def _fits(self, action: Action | None, seen: Observation, imported: bool) -> None:
        """What can follow in any world that keeps its interface."""
        last, levels = self.record.last, self.spec.levels
        if seen.frame.shape != self.spec.shape or not set(seen.available) <= set(self.spec.actions):
            self._find("record", "shows a frame or offers actions that this world does not have")
        if imported or last is None:
            return
        if self.record.won or (self.record.needs_reset and action != RESET):
            self._find("record", f"goes on after the level or the world was {last.status}")
        honest: Collection[int] = (last.level,)
        if action == RESET:
            honest = range(last.level + 1) if seen.status is Status.RUNNING else ()
        elif seen.status is Status.COMPLETED:
            honest = (last.level + 1, max(levels or 0, last.level + 1))
        if seen.level not in honest:
            self._find("record", f"goes from level {last.level} to {seen.level} and calls that {seen.status}")

    def _imported(self, line: str) -> None:
        """A line of the recording that a run was imported from."""
        if "recording" not in self.openings[0].body or self.announced or len(self.openings) > 1:
            self._find("order", "claims to come from a recording, where there is none")
        self._digest.update(line.encode() + b"\n")
        self.imported += 1

    # -- what is said --------------------------------------------------------------------------------------------------------

    def _judged(self, event: Event) -> None:
        body = event.body
        index, about, verdict = body["member"], body["about"], verdict_of(body["verdict"])
        match about:
            case "prediction":
                if index in self._right and verdict.counterexample is not None and len(self.record.here):
                    self._find("predictions", f"calls wrong what member {index} had predicted as it came")
                self.beliefs.fell(index, verdict, self._wrong.pop(index, None))
            case "proposal":
                self.beliefs.settled(event, verdict)
            case "explore" if verdict.outcome is Outcome.REFUSED:
                pass
            case _:
                self._find("verdicts", f"is a verdict about {about} that says {verdict.outcome}")
        self.beliefs.members[index].answers.clear()

    def _called(self, body: Mapping[str, Any]) -> None:
        op, answer, receipt = body["op"], body.get("answer"), body.get("receipt")
        if isinstance(receipt, Mapping):
            self.receipts.append(receipt)
        if op in OPS and isinstance(answer, Mapping) and "request" not in body:  # others cost something, and decide nothing
            member = self.beliefs.members[body["member"]]
            if op in member.answers:
                self._find("order", f"asks member {body['member']}'s mind to {op} although an answer stood")
            if op == "judge" and member.proposal is None:
                self._find("order", f"asks member {body['member']}'s mind to judge what nobody had proposed")
            if body["call"] != member.asked:
                self._find("order", f"is call {body['call']} of member {body['member']}'s mind, and {member.asked} were answered")
            member.answers[op] = answer
            member.asked += 1

    def _noted(self, body: Mapping[str, Any]) -> None:
        if "line" in body:
            self._imported(self.ledger.text(body["line"]))
        if not isinstance(body["text"], str):
            self._find("order", "is a note without words")
        self.said += body.get("by") == "person"
        if isinstance(body.get("confinement"), Mapping):
            self.confined.append(f"{body['confinement']['rung']} ({body['confinement']['level']})")
            if body["confinement"]["level"] != "full" and not self.run["weak_sandbox"]:
                self._find("sandbox", "tells of an agent that was not confined, and --weak-sandbox was not given")


def _lasting(run: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that stay as they are when a run is resumed: all but its caps."""
    return {name: value for name, value in run.items() if not name.startswith("max_")}


def _spec(told: Mapping[str, Any]) -> WorldSpec:
    """The world as an opening describes it. Raises TypeError or ValueError."""
    numbers = {name: tuple(map(int, told[name])) for name in ("shape", "actions", "clicks")}
    levels, baselines = told["levels"], told["baselines"]
    if (levels is not None and type(levels) is not int) or len(numbers["shape"]) != 2 or type(told["replayable"]) is not bool:
        raise ValueError("it describes no world")
    return WorldSpec(**{**told, **numbers, "baselines": None if baselines is None else tuple(baselines)})
