"""One call of a mind, whole: asked, its answer made exact, written down with what it cost; or one sentence about what it did."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Literal

from lawbook.core import spending, validation
from lawbook.core.hypothesis import Hypothesis
from lawbook.errors import LawbookError, MindError, RefusedError
from lawbook.ledger.codec import pack_exploration, pack_judgement, pack_proposal
from lawbook.ledger.ledger import Kind, Ledger
from lawbook.minds.base import Case, Mind
from lawbook.runs.event_log import Journal
from lawbook.runs.state import Member

Op = Literal["propose", "judge", "explore"]


def answer(journal: Journal, mind: Mind, member: Member, op: Op, case: Case, tried: Hypothesis | None = None) -> Mapping[str, Any]:
    """A mind's answer as the ledger has it (pack_proposal, pack_judgement, pack_exploration).

    One that came before a crash and has had no consequence yet is not asked for again. tried: what is to be judged. Raises
    MindError for whatever a mind does that is no answer; what the call cost is written down all the same.
    """
    if op not in member.pending:
        if not member.inner:  # else a resumed call may need nothing but what its desk has already
            spending.check(journal.state.caps, journal.state.spent)
        body: dict[str, Any] = {"member": member.index, "call": member.asked, "op": op, "answer": None}
        began = time.perf_counter()
        try:
            body["answer"] = _asked(journal.ledger, mind, op, case, tried)
        finally:
            body |= {"seconds": time.perf_counter() - began, "receipt": _receipt(mind)}
            journal.append(Kind.CALL, body)
            journal.commit()
    found: Mapping[str, Any] = member.pending[op].body["answer"]
    return found


def _asked(ledger: Ledger, mind: Mind, op: Op, case: Case, tried: Hypothesis | None) -> dict[str, Any]:
    try:
        match op:
            case "propose":
                return pack_proposal(ledger, validation.proposal(mind.propose(case)))
            case "explore":
                return pack_exploration(ledger, validation.exploration(mind.explore(case)))
            case "judge":
                assert tried is not None
                return pack_judgement(validation.judgement(mind.judge(case, tried)))
    except RefusedError as error:
        raise MindError(f"The mind {mind.name} answered {op} with what is no answer: {error}") from error
    except LawbookError:
        raise
    except (Exception, SystemExit) as error:
        raise MindError(
            f"The mind {mind.name} failed at {op} ({validation.failure(error)}); mend it, then resume the run."
        ) from error


def _receipt(mind: Mind) -> dict[str, float | int | str]:
    try:
        return validation.receipt(mind.receipt())
    except Exception:  # it decides nothing
        return {}
