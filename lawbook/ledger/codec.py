"""Events as bodies: `encode` writes a typed event as what JSON can hold, `decode` reads it back. Nobody else knows the keys.

Keys that a body has beyond these are left alone: they stay in the ledger, and no reader minds them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from lawbook.core.hypothesis import Trigger
from lawbook.core.record import ActionKind, Status
from lawbook.core.results import RunOutcome
from lawbook.core.spending import Caps
from lawbook.ledger.body_parts import (
    Body,
    check_amount,
    check_bool,
    check_finite,
    check_mapping,
    check_number,
    check_number_or_none,
    check_numbers,
    check_text,
    check_text_or_none,
    check_texts,
    pack_action,
    pack_answer,
    pack_prediction,
    pack_proposal,
    pack_statuses,
    pack_verdict,
    unpack_action,
    unpack_action_or_none,
    unpack_answer,
    unpack_prediction,
    unpack_proposal,
    unpack_statuses,
    unpack_verdict,
)
from lawbook.ledger.events import (
    EVENT_KINDS,
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
    ProposeEvent,
    RecordedConfinement,
    RecordedSandbox,
    RecordingSource,
    VerdictEvent,
)
from lawbook.ledger.opening import MalformedEventError, RecordedSettings, RecordedSpec

_STATUSES = {status.value: status for status in Status}
_ACTION_KINDS = {kind.value: kind for kind in ActionKind}


def encode(event: AnyEvent) -> Body:
    """The body of an event. What an event does not tell has no key there."""
    return _ENCODERS[type(event)](event)


def decode(kind: EventKind, body: Mapping[str, Any], label: str = "An event") -> AnyEvent:
    """The event that a body tells; label: how a sentence names it.

    Raises MalformedEventError (a UsageError) for a body that no run writes.
    """
    try:
        return _DECODERS[kind](body)
    except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
        if isinstance(error, MalformedEventError):
            raise
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise MalformedEventError(
            f"{label} ({kind}) cannot be read ({reason[:200]}); the ledger was written by another version, or altered."
        ) from error


def _encode_open(event: OpenEvent) -> Body:
    body: Body = {"run": dict(event.run.values), "spec": dict(event.spec.values)}
    if event.versions is not None:
        body["versions"] = dict(event.versions)
    if event.sandbox is not None:
        body["sandbox"] = {"level": event.sandbox.level} | (
            {} if event.sandbox.facts is None else {"facts": dict(event.sandbox.facts)}
        )
    if event.is_resumed:
        body["resumed"] = True
    if event.caps is not None:
        body["caps"] = asdict(event.caps)
    if event.recording is not None:
        body["recording"] = asdict(event.recording)
    return body


def _decode_open(body: Mapping[str, Any]) -> OpenEvent:
    return OpenEvent(
        RecordedSettings(check_mapping(body["run"])),
        RecordedSpec(check_mapping(body["spec"])),
        check_mapping(body["versions"]) if "versions" in body else None,
        _unpack_sandbox(body["sandbox"]) if "sandbox" in body else None,
        check_bool(body.get("resumed", False)),
        Caps(**body["caps"]) if "caps" in body else None,
        RecordingSource(*(check_text(body["recording"][name]) for name in ("game", "guid", "digest")))
        if "recording" in body
        else None,
    )


def _unpack_sandbox(body: Mapping[str, Any]) -> RecordedSandbox:
    return RecordedSandbox(check_text(body["level"]), check_mapping(body["facts"]) if "facts" in body else None)


def _encode_observe(event: ObserveEvent) -> Body:
    body: Body = {
        "trajectory": event.trajectory,
        "action": pack_action(event.action),
        "frames": list(event.frames),
        "status": event.status.value,
        "level": event.level,
        "available": list(event.available),
    }
    if event.reward:
        body["reward"] = float(event.reward)
    if event.line is not None:
        body["line"] = event.line
    if event.is_unclaimed:
        body["unclaimed"] = True
    return body


def _decode_observe(body: Mapping[str, Any]) -> ObserveEvent:
    frames = check_texts(body["frames"])
    if not frames:
        raise ValueError("an observation without a frame")
    return ObserveEvent(
        check_number(body["trajectory"]),
        unpack_action_or_none(body["action"]),
        frames,
        _STATUSES[body["status"]],
        check_number(body["level"]),
        check_numbers(body["available"]),
        check_text(body["line"]) if "line" in body else None,
        check_finite(body["reward"]) if "reward" in body else 0.0,
        check_bool(body.get("unclaimed", False)),
    )


def _encode_propose(event: ProposeEvent) -> Body:
    circumstance = {"member": event.member, "why": event.trigger.value, "cause": event.cause.value, "at": event.n_actions}
    return circumstance | pack_proposal(event.proposal)


def _decode_propose(body: Mapping[str, Any]) -> ProposeEvent:
    trigger, cause = Trigger(body["why"]), Trigger(body["cause"])
    return ProposeEvent(check_number(body["member"]), trigger, cause, check_number(body["at"]), unpack_proposal(body))


def _encode_verdict(event: VerdictEvent) -> Body:
    return {"member": event.member, "about": event.about, "verdict": pack_verdict(event.verdict)}


def _decode_verdict(body: Mapping[str, Any]) -> VerdictEvent:
    return VerdictEvent(check_number(body["member"]), check_text(body["about"]), unpack_verdict(body["verdict"]))


def _encode_intend(event: IntendEvent) -> Body:
    return {
        "action": pack_action(event.action),
        "sort": event.kind.value,
        "member": event.member,
        "plan": event.plan_seq,
        "question": event.question,
        "predictions": {str(member): pack_prediction(prediction) for member, prediction in event.predictions.items()},
    }


def _decode_intend(body: Mapping[str, Any]) -> IntendEvent:
    return IntendEvent(
        unpack_action(body["action"]),
        _ACTION_KINDS[body["sort"]],
        check_number_or_none(body["member"]),
        check_number_or_none(body["plan"]),
        check_text(body["question"]),
        {int(member): unpack_prediction(packed) for member, packed in body["predictions"].items()},
    )


def _encode_plan(event: PlanEvent) -> Body:
    body: Body = {
        "member": event.member,
        "subgoal": event.subgoal,
        "question": event.question,
        "nodes": event.nodes,
        "seconds": event.seconds,
        "cut": event.cut,
    }
    if event.aim is not None:
        body["aim"] = event.aim
    if event.risk:
        body["risk"] = event.risk
    if event.actions is None:
        return body | {"actions": None, "reason": event.reason, "exhausted": event.exhausted}
    return body | {
        "actions": [pack_action(action) for action in event.actions],
        "certified": event.certified,
        "method": event.method,
    }


def _decode_plan(body: Mapping[str, Any]) -> PlanEvent:
    actions = body["actions"]
    search = (
        check_number(body["member"]),
        check_text_or_none(body["subgoal"]),
        check_text(body["question"]),
        check_number(body["nodes"]),
        check_amount(body["seconds"]),
        check_text_or_none(body["cut"]),
    )
    aim, risk = check_text_or_none(body.get("aim")), check_number(body.get("risk", 0))
    if actions is None:
        reason, exhausted = check_text(body["reason"]), check_bool(body["exhausted"])
        return PlanEvent(*search, None, reason=reason, exhausted=exhausted, aim=aim, risk=risk)
    unpacked, certified, method = (
        tuple(unpack_action(action) for action in actions),
        check_bool(body["certified"]),
        check_text(body["method"]),
    )
    return PlanEvent(*search, unpacked, certified=certified, method=method, aim=aim, risk=risk)


def _encode_draw(event: DrawEvent) -> Body:
    body: Body = {"classes": [list(members) for members in event.classes], "drawn": event.class_index, "plan": event.plan_seq}
    if event.predicted_frames is not None:
        body["ahead"] = list(event.predicted_frames)
    if event.predicted_statuses is not None:
        body["ahead_statuses"] = [pack_statuses(statuses) for statuses in event.predicted_statuses]
    if event.predicted_open_cells is not None:
        body["ahead_open"] = list(event.predicted_open_cells)
    return body


def _encode_no_plan(event: NoPlanEvent) -> Body:
    return {"classes": [], "drawn": None, "plan": None, "asked": list(event.members)}


def _decode_draw(body: Mapping[str, Any]) -> DrawEvent | NoPlanEvent:
    classes = tuple(check_numbers(members) for members in body["classes"])
    if body["plan"] is None:
        if classes or body["drawn"] is not None:
            raise ValueError("a draw of no plan from what somebody has")
        return NoPlanEvent(check_numbers(body["asked"]))
    return DrawEvent(
        classes,
        check_number(body["drawn"]),
        check_number(body["plan"]),
        check_texts(body["ahead"]) if "ahead" in body else None,
        tuple(map(unpack_statuses, body["ahead_statuses"])) if "ahead_statuses" in body else None,
        tuple(map(check_text_or_none, body["ahead_open"])) if "ahead_open" in body else None,
    )


def _encode_call(event: CallEvent) -> Body:
    body: Body = {
        "member": event.member,
        "call": event.number,
        "op": event.op,
        "answer": pack_answer(event.answer),
        "seconds": event.seconds,
        "receipt": dict(event.receipt),
    }
    if event.request is not None:
        body["request"] = event.request
    if event.failure is not None:
        body["failed"] = event.failure
    return body


def _decode_call(body: Mapping[str, Any]) -> CallEvent:
    op, request = check_text(body["op"]), check_text(body["request"]) if "request" in body else None
    return CallEvent(
        check_number(body["member"]),
        check_number(body["call"]),
        op,
        unpack_answer(op, request, body["answer"]),
        check_amount(body["seconds"]),
        check_mapping(body["receipt"]),
        request,
        check_text(body["failed"]) if "failed" in body else None,
    )


def _encode_note(event: NoteEvent) -> Body:
    body: Body = {"text": event.text}
    if event.author:
        body["by"] = event.author
    if event.line is not None:
        body["line"] = event.line
    if event.member is not None:
        body["member"] = event.member
    if event.confinement is not None:
        body["confinement"] = asdict(event.confinement)
    return body


def _decode_note(body: Mapping[str, Any]) -> NoteEvent:
    confinement = body.get("confinement")
    return NoteEvent(
        check_text(body["text"]),
        check_text(body.get("by", "")),
        check_text(body["line"]) if "line" in body else None,
        check_number_or_none(body.get("member")),
        None
        if confinement is None
        else RecordedConfinement(
            check_text(confinement["level"]), check_text(confinement["rung"]), check_mapping(confinement["facts"])
        ),
    )


def _encode_close(event: CloseEvent) -> Body:
    return {"outcome": event.outcome.value, "sentence": event.sentence, "head": event.head}


def _decode_close(body: Mapping[str, Any]) -> CloseEvent:
    return CloseEvent(RunOutcome(body["outcome"]), check_text(body["sentence"]), check_text(body["head"]))


_ENCODERS: Mapping[type[AnyEvent], Callable[[Any], Body]] = {
    OpenEvent: _encode_open,
    ObserveEvent: _encode_observe,
    ProposeEvent: _encode_propose,
    VerdictEvent: _encode_verdict,
    IntendEvent: _encode_intend,
    PlanEvent: _encode_plan,
    DrawEvent: _encode_draw,
    NoPlanEvent: _encode_no_plan,
    CallEvent: _encode_call,
    NoteEvent: _encode_note,
    CloseEvent: _encode_close,
}
_DECODERS: Mapping[EventKind, Callable[[Mapping[str, Any]], AnyEvent]] = {
    EVENT_KINDS[event_class]: decoder
    for event_class, decoder in (
        (OpenEvent, _decode_open),
        (ObserveEvent, _decode_observe),
        (ProposeEvent, _decode_propose),
        (VerdictEvent, _decode_verdict),
        (IntendEvent, _decode_intend),
        (PlanEvent, _decode_plan),
        (DrawEvent, _decode_draw),
        (CallEvent, _decode_call),
        (NoteEvent, _decode_note),
        (CloseEvent, _decode_close),
    )
}
