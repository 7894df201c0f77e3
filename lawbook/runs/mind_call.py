"""One call of a mind, whole: asked, its answer made exact, written down with what it cost; or one sentence about what it did."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Literal

from lawbook.core import spending, validation
from lawbook.core.hypothesis import Hypothesis
from lawbook.errors import LawbookError, MindError, RefusedError
from lawbook.ledger.codec import pack_exploration, pack_judgement, pack_proposal
from lawbook.ledger.ledger import EventKind, Ledger
from lawbook.minds.base import Case, Mind
from lawbook.runs.event_log import EventLog
from lawbook.runs.state import Member

MindOperation = Literal["propose", "judge", "explore"]


def call_mind(
    event_log: EventLog, mind: Mind, member: Member, op: MindOperation, case: Case, candidate: Hypothesis | None = None
) -> Mapping[str, Any]:
    """A mind's answer as the ledger has it (pack_proposal, pack_judgement, pack_exploration).

    One that came before a crash and has had no consequence yet is not asked for again. candidate: what is to be judged. Raises
    MindError for whatever a mind does that is no answer; what the call cost is written down all the same.
    """
    if op not in member.pending_answers:
        if not member.cached_exchanges:  # else a resumed call may need nothing but what its desk has already
            spending.check_caps(event_log.state.caps, event_log.state.spending)
        body: dict[str, Any] = {"member": member.index, "call": member.n_calls, "op": op, "answer": None}
        started_at = time.perf_counter()
        try:
            body["answer"] = _request_answer(event_log.ledger, mind, op, case, candidate)
        finally:
            body |= {"seconds": time.perf_counter() - started_at, "receipt": _read_receipt(mind)}
            event_log.append(EventKind.CALL, body)
            event_log.commit()
    packed_answer: Mapping[str, Any] = member.pending_answers[op].body["answer"]
    return packed_answer


def _request_answer(ledger: Ledger, mind: Mind, op: MindOperation, case: Case, candidate: Hypothesis | None) -> dict[str, Any]:
    try:
        match op:
            case "propose":
                return pack_proposal(ledger, validation.validate_proposal(mind.propose(case)))
            case "explore":
                return pack_exploration(ledger, validation.validate_exploration(mind.explore(case)))
            case "judge":
                assert candidate is not None
                return pack_judgement(validation.validate_judgement(mind.judge(case, candidate)))
    except RefusedError as error:
        raise MindError(f"The mind {mind.name} answered {op} with what is no answer: {error}") from error
    except LawbookError:
        raise
    except (Exception, SystemExit) as error:
        raise MindError(
            f"The mind {mind.name} failed at {op} ({validation.describe_exception(error)}); mend it, then resume the run."
        ) from error


def _read_receipt(mind: Mind) -> dict[str, float | int | str]:
    try:
        return validation.clean_receipt(mind.receipt())
    except Exception:  # it decides nothing
        return {}
