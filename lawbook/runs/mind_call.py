"""One call of a mind, whole: asked, its answer made exact, written down with what it cost; or one sentence about what it did."""

from __future__ import annotations

import time
from typing import Literal

from lawbook.core import spending, validation
from lawbook.core.hypothesis import Hypothesis
from lawbook.errors import LawbookError, MindError, RefusedError
from lawbook.ledger.contents import store_exploration, store_proposal
from lawbook.ledger.events import CallAnswer, CallEvent
from lawbook.ledger.ledger import Ledger
from lawbook.minds.base import Case, Mind
from lawbook.runs.event_log import EventLog
from lawbook.runs.state import Member

MindOperation = Literal["propose", "judge", "explore"]


def call_mind(
    event_log: EventLog, mind: Mind, member: Member, op: MindOperation, case: Case, candidate: Hypothesis | None = None
) -> CallAnswer:
    """Call a mind and return its answer as the ledger has it (a StoredProposal, a Judgement, a StoredSubgoal or a Probe).

    One that came before a crash and has had no consequence yet is not asked for again. candidate: what is to be judged. Raises
    MindError for whatever a mind does that is no answer; what the call cost is written down all the same.
    """
    if op not in member.pending_answers:
        if not member.cached_exchanges:  # else a resumed call may need nothing but what its desk has already
            spending.check_caps(event_log.state.caps, event_log.state.spending)
        answer, number, started_at = None, member.n_calls, time.perf_counter()
        try:
            answer = _request_answer(event_log.ledger, mind, op, case, candidate)
        finally:
            seconds = time.perf_counter() - started_at
            event_log.append(CallEvent(member.index, number, op, answer, seconds, _read_receipt(mind)))
            event_log.commit()
    return member.pending_answers[op]


def _request_answer(ledger: Ledger, mind: Mind, op: MindOperation, case: Case, candidate: Hypothesis | None) -> CallAnswer:
    try:
        match op:
            case "propose":
                return store_proposal(ledger, validation.validate_proposal(mind.propose(case)))
            case "explore":
                return store_exploration(ledger, validation.validate_exploration(mind.explore(case)))
            case "judge":
                assert candidate is not None
                return validation.validate_judgement(mind.judge(case, candidate))
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
