"""A run told as it went: one thing after another, read off the events, live or from the ledger alone. All views hang on this."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lawbook.core.hypothesis import Proposal
from lawbook.core.record import RESET, Action, Status
from lawbook.ledger.codec import action_of, proposal_of, verdict_of
from lawbook.ledger.ledger import Event, Kind, Ledger
from lawbook.runs.state import Sort, State
from lawbook.view.display_events import Called, Ended, Missed, Opened, Planned, Proposed, Remarked, Stepped, Told


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
                    **here,
                    plan=self._plans[body["plan"]],
                    number=body["plan"],
                    classes=body["classes"],
                    drawn=body["drawn"],
                    ahead=tuple(body.get("ahead", ())),
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
                    inner="request" in body,
                )
            case Kind.NOTE:
                told = Remarked(**here, text=body["text"], by=str(body.get("by", "")))
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
            frames=tuple(body["frames"]),
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


def story(ledger: Ledger) -> Iterator[tuple[Told, State]]:
    """Everything a ledger tells, in order, each with the state it left. Raises UsageError when it has no opening."""
    state = State.opened(ledger)
    teller = Teller(state, ledger)
    for event in ledger:
        state.apply(event, ledger)
        told = teller.tell(event)
        if told is not None:
            yield told, state
