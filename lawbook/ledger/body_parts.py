"""Parts of bodies: actions, verdicts, proposals, answers as JSON holds them; and what a value there must be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from lawbook.core.hypothesis import Decision
from lawbook.core.record import Action, Status
from lawbook.core.results import Counterexample, Judgement, MismatchRegion, Probe, ProgramError, Verdict, VerdictKind
from lawbook.ledger.events import CallAnswer, PredictedOutcome, StoredProposal, StoredSubgoal

Body = dict[str, Any]
_STATUSES = {status.value: status for status in Status}


def pack_action(action: Action | None) -> list[int] | None:
    """[id] or [id, x, y]; None where the world was opened without an action."""
    if action is None:
        return None
    return [action.id] if action.x is None or action.y is None else [action.id, action.x, action.y]


def pack_verdict(verdict: Verdict) -> Body:
    body = asdict(verdict)
    counterexample = verdict.counterexample
    if counterexample is not None:
        body["counterexample"]["action"] = pack_action(counterexample.action)
    return body


def unpack_verdict(body: Mapping[str, Any]) -> Verdict:
    counterexample, fault, judgement = body["counterexample"], body["fault"], body["judgement"]
    return Verdict(
        VerdictKind(body["outcome"]),
        check_text(body["reason"]),
        None if counterexample is None else unpack_counterexample(counterexample),
        None if fault is None else ProgramError(**fault),
        None if judgement is None else unpack_judgement(judgement),
        check_number(body["replayed"]),
        check_amount(body["seconds"]),
    )


def pack_proposal(proposal: StoredProposal) -> Body:
    return {
        "decision": proposal.decision.value,
        "rulebook": proposal.rulebook,
        "files": None if proposal.files is None else dict(proposal.files),
        "diagnosis": proposal.diagnosis,
        **({"unusable": proposal.unusable} if proposal.unusable else {}),
    }


def unpack_proposal(body: Mapping[str, Any]) -> StoredProposal:
    files = body["files"]
    return StoredProposal(
        Decision(body["decision"]),
        check_text_or_none(body["rulebook"]),
        None if files is None else {check_text(name): check_text(content_id) for name, content_id in files.items()},
        check_text(body["diagnosis"]),
        check_text(body.get("unusable", "")),
    )


def pack_statuses(statuses: frozenset[Status]) -> str | list[str]:
    """The one status, or a list of those that are left possible, likeliest first."""
    names = [status.value for status in Status if status in statuses]
    return names[0] if len(names) == 1 else names


def unpack_statuses(packed: Any) -> frozenset[Status]:
    names = packed if type(packed) is list else [packed]
    if not names or len(set(names)) != len(names):
        raise ValueError(f"{packed!r} where a status or some belong")
    return frozenset(_STATUSES[name] for name in names)


def pack_prediction(prediction: PredictedOutcome) -> list[Any]:
    """[frame, status] where all is claimed, else [frame, [status, ...], open cells or null]."""
    names = [status.value for status in Status if status in prediction.statuses]
    return [prediction.frame, names[0]] if prediction.is_whole else [prediction.frame, names, prediction.open_cells]


def unpack_prediction(packed: Any) -> PredictedOutcome:
    if len(packed) == 2:
        frame, status = packed
        return PredictedOutcome(check_text(frame), frozenset((_STATUSES[status],)))
    frame, statuses, open_cells = packed
    if type(statuses) is not list:
        raise TypeError(f"{statuses!r} where a list belongs")
    return PredictedOutcome(check_text(frame), unpack_statuses(statuses), check_text_or_none(open_cells))


def pack_answer(answer: CallAnswer | None) -> Any:
    match answer:
        case StoredProposal():
            return pack_proposal(answer)
        case Judgement():
            return {"faithful": answer.faithful, "rules": dict(answer.rules), "reason": answer.reason}
        case Probe():
            return {"probe": pack_action(answer.action), "question": answer.question}
        case StoredSubgoal():
            unusable = {"unusable": answer.unusable} if answer.unusable else {}
            return {"subgoal": answer.source, "question": answer.question, **unusable}
    return answer


def unpack_answer(op: str, request: str | None, answer: Any) -> CallAnswer | None:
    if answer is None or request is not None:
        return check_text_or_none(answer)
    match op:
        case "propose":
            return unpack_proposal(answer)
        case "judge":
            return unpack_judgement(answer)
        case "explore" if "subgoal" in answer:
            return StoredSubgoal(
                check_text(answer["subgoal"]), check_text(answer["question"]), check_text(answer.get("unusable", ""))
            )
        case "explore":
            return Probe(unpack_action(answer["probe"]), check_text(answer["question"]))
    raise ValueError(f"a call of {op} with an answer")


def unpack_judgement(body: Mapping[str, Any]) -> Judgement:
    judgement = Judgement(**body)
    if type(judgement.faithful) is not bool or type(judgement.rules) is not dict or type(judgement.reason) is not str:
        raise TypeError("a judgement that is none")
    return judgement


def unpack_counterexample(body: Mapping[str, Any]) -> Counterexample:
    regions = tuple(MismatchRegion(*row[:5], *map(tuple, row[5:])) for row in body["regions"])
    return Counterexample(
        **{
            **body,
            "action": unpack_action_or_none(body["action"]),
            "expected": Status(body["expected"]),
            "predicted": Status(body["predicted"]),
            "regions": regions,
        }
    )


# -- what a value must be: JSON has few types, and none of them passes for another -----------------------------------------------


def unpack_action(packed: Any) -> Action:
    if len(packed) == 1 and type(packed[0]) is int:  # nearly all of them
        return Action(packed[0])
    action = Action(*packed)
    if type(action.id) is not int or (action.x is not None and not type(action.x) is type(action.y) is int):
        raise TypeError(f"an action that is {packed!r}")
    return action


def unpack_action_or_none(packed: Any) -> Action | None:
    return None if packed is None else unpack_action(packed)


def check_number(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r} where a number belongs")
    return value


def check_number_or_none(value: Any) -> int | None:
    return None if value is None else check_number(value)


def check_numbers(values: Any) -> tuple[int, ...]:
    for value in values:
        if type(value) is not int:
            raise TypeError(f"{value!r} where a number belongs")
    return tuple(values)


def check_amount(value: Any) -> float:
    if type(value) is not float and type(value) is not int:
        raise TypeError(f"{value!r} where an amount belongs")
    return value


def check_finite(value: Any) -> float:
    if type(value) is not float or not math.isfinite(value):
        raise TypeError(f"{value!r} where a finite amount belongs")
    return value


def check_text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError(f"{value!r} where a text belongs")
    return value


def check_text_or_none(value: Any) -> str | None:
    return None if value is None else check_text(value)


def check_texts(values: Any) -> tuple[str, ...]:
    if type(values) is not list:
        raise TypeError(f"{values!r} where a list belongs")
    for value in values:
        if type(value) is not str:
            raise TypeError(f"{value!r} where a text belongs")
    return tuple(values)


def check_bool(value: Any) -> bool:
    if type(value) is not bool:
        raise TypeError(f"{value!r} where yes or no belongs")
    return value


def check_mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{value!r} where a mapping belongs")
    return value
