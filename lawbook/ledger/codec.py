"""Event bodies: how actions, proposals, verdicts and explorations are written into the ledger and read back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from lawbook.core.hypothesis import Decision, Proposal
from lawbook.core.record import Action, Observation, Status
from lawbook.core.results import Counterexample, Fault, Judgement, NoPlan, Outcome, Plan, Probe, Region, Subgoal, Verdict
from lawbook.ledger.ledger import Kind, Ledger, read_observation

Body = dict[str, Any]


def pack_action(action: Action | None) -> list[int] | None:
    """[id] or [id, x, y]; None where the world was opened without an action."""
    if action is None:
        return None
    return [action.id] if action.x is None or action.y is None else [action.id, action.x, action.y]


def action_of(packed: list[int] | None) -> Action | None:
    return None if packed is None else Action(*packed)


def recorded(ledger: Ledger) -> Iterator[tuple[Action | None, Observation]]:
    """What was sent and what was seen, in order; the first was no action. Raises UsageError for an observation that is none."""
    for event in ledger.events([Kind.OBSERVE]):
        yield action_of(event.body["action"]), read_observation(ledger, event.body)


def actions_of(packed: list[list[int]]) -> tuple[Action, ...]:
    return tuple(Action(*one) for one in packed)


def pack_proposal(ledger: Ledger, proposal: Proposal) -> Body:
    """A PROPOSE body without member and circumstance; texts are stored by content."""
    return {
        "decision": proposal.decision.value,
        "rulebook": None if proposal.rulebook is None else ledger.put_text(proposal.rulebook),
        "files": None if proposal.files is None else {name: ledger.put_text(text) for name, text in proposal.files.items()},
        "diagnosis": proposal.diagnosis,
        **({"unusable": proposal.unusable} if proposal.unusable else {}),
    }


def proposal_of(ledger: Ledger, body: Mapping[str, Any]) -> Proposal:
    files = body["files"]
    return Proposal(
        Decision(body["decision"]),
        None if body["rulebook"] is None else ledger.text(body["rulebook"]),
        None if files is None else {name: ledger.text(text) for name, text in files.items()},
        body["diagnosis"],
        body.get("unusable", ""),
    )


def pack_judgement(judgement: Judgement) -> Body:
    return {"faithful": judgement.faithful, "rules": dict(judgement.rules), "reason": judgement.reason}


def pack_verdict(verdict: Verdict) -> Body:
    body = asdict(verdict)
    example = verdict.counterexample
    if example is not None:
        body["counterexample"]["action"] = pack_action(example.action)
    return body


def verdict_of(body: Mapping[str, Any]) -> Verdict:
    example, fault, judgement = body["counterexample"], body["fault"], body["judgement"]
    return Verdict(
        Outcome(body["outcome"]),
        body["reason"],
        None if example is None else _counterexample(example),
        None if fault is None else Fault(**fault),
        None if judgement is None else Judgement(**judgement),
        body["replayed"],
        body["seconds"],
    )


def _counterexample(body: Mapping[str, Any]) -> Counterexample:
    regions = tuple(Region(*row[:5], *map(tuple, row[5:])) for row in body["regions"])
    return Counterexample(
        **{
            **body,
            "action": action_of(body["action"]),
            "expected": Status(body["expected"]),
            "predicted": Status(body["predicted"]),
            "regions": regions,
        }
    )


def pack_plan(ledger: Ledger, member: int, found: Plan | NoPlan, subgoal: Subgoal | None) -> Body:
    body: Body = {
        "member": member,
        "subgoal": ledger.put_text(subgoal.source) if subgoal else None,
        "question": subgoal.question if subgoal else "",
        "nodes": found.nodes,
        "seconds": found.seconds,
        "cut": found.cut,
    }
    if isinstance(found, Plan):
        return body | {"actions": [pack_action(a) for a in found.actions], "certified": found.certified, "method": found.method}
    return body | {"actions": None, "reason": found.reason, "exhausted": found.exhausted}


def pack_exploration(ledger: Ledger, answer: Subgoal | Probe) -> Body:
    if isinstance(answer, Probe):
        return {"probe": pack_action(answer.action), "question": answer.question}
    unusable = {"unusable": answer.unusable} if answer.unusable else {}
    return {"subgoal": ledger.put_text(answer.source), "question": answer.question, **unusable}


def exploration_of(ledger: Ledger, body: Mapping[str, Any]) -> Subgoal | Probe:
    if "subgoal" in body:
        return Subgoal(ledger.text(body["subgoal"]), body["question"], body.get("unusable", ""))
    return Probe(Action(*body["probe"]), body["question"])
