"""A mind's desk: what it may use while it thinks (minds.mind.Desk), and its inner calls, each whole and in the ledger."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from lawbook.core import frame_text, spending, validation
from lawbook.core.record import Action, Trajectory
from lawbook.core.results import Prediction
from lawbook.errors import MindError, RefusedError
from lawbook.ledger.ledger import Kind
from lawbook.minds.base import Exchange
from lawbook.runs.event_log import Journal

MOST = 20_000
"""Characters of what a simulation shows."""
MAX_ANSWER = 4 << 20
"""Characters of a model's answer."""


class Desk:
    """The desk for one call of one member's mind. See minds.mind.Desk.

    python: runs code over the record; simulate: asks the member's program (raises RefusedError); prefix: the place on record that
    a simulation starts from.
    """

    def __init__(
        self,
        journal: Journal,
        member: int,
        python: Callable[[str], str],
        simulate: Callable[[Sequence[Action], int, int | None], Sequence[Prediction]],
        prefix: Callable[[int, int | None], Trajectory],
    ) -> None:
        self._journal, self._member, self._python, self._simulate, self._prefix = journal, member, python, simulate, prefix
        self._told: Counter[str] = Counter()

    def python(self, code: str) -> str:
        try:
            return self._python(code)
        except RefusedError as refusal:
            return str(refusal)

    def simulate(self, actions: Sequence[Action], trajectory: int = -1, step: int | None = None) -> str:
        try:
            before = self._prefix(trajectory, step).last.frame
            shown = self._simulate(actions, trajectory, step)
        except RefusedError as refusal:
            return str(refusal)
        lines = []
        for number, (action, prediction) in enumerate(zip(actions, shown, strict=False), 1):
            lines.append(f"{number}. action {action}: {prediction.status}; {frame_text.difference(before, prediction.frame)}")
            before = prediction.frame
        return frame_text.clip("\n".join(lines), MOST)

    def exchange(self, step: str, request: str, ask: Callable[[], Exchange]) -> str:
        """The answer to `request`, from the ledger or from `ask`. The same request twice in one call of the mind is two exchanges.

        Raises MindError: a cap is reached, or whatever `ask` raises; what a failed call cost (its `receipt`) is written down too.
        """
        state, ledger = self._journal.state, self._journal.ledger
        digest = hashlib.sha256(f"{step}\0{request}".encode("utf-8", "surrogatepass")).hexdigest()
        known = state.members[self._member].inner.get(digest, ())
        self._told[digest] += 1
        if self._told[digest] <= len(known):
            return ledger.text(known[self._told[digest] - 1])
        spending.check(state.caps, state.spent)
        call = state.members[self._member].asked
        body: dict[str, Any] = {"member": self._member, "call": call, "op": step, "request": digest, "answer": None, "receipt": {}}
        began = time.perf_counter()
        try:
            with spending.watched(state.caps, state.spent):
                given = ask()
            body["receipt"] = validation.receipt(given.receipt)
            answer = validation.words(given.answer, "An answer", MAX_ANSWER)
            body["answer"] = ledger.put_text(answer)
        except BaseException as error:
            body["receipt"] = body["receipt"] or validation.receipt(getattr(error, "receipt", {}))
            body["failed"] = validation.failure(error)
            if isinstance(error, RefusedError):
                raise MindError(f"The model answered {step} with what is no answer: {error}") from error
            raise
        finally:
            self._journal.append(Kind.CALL, body | {"seconds": time.perf_counter() - began})
            self._journal.commit()
        return answer
