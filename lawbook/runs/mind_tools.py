"""A mind's desk: what it may use while it thinks (minds.mind.Desk), and its inner calls, each whole and in the ledger."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Sequence

from lawbook.core import frame_text, spending, validation
from lawbook.core.record import Action, Trajectory
from lawbook.core.results import Prediction
from lawbook.errors import MindError, RefusedError
from lawbook.ledger.events import CallEvent
from lawbook.minds.base import Exchange
from lawbook.runs.event_log import EventLog
from lawbook.verification.open_cells import fill_open_cells, format_openness

MAX_SIMULATION_CHARS = 20_000
"""Characters of what a simulation shows."""
MAX_ANSWER_CHARS = 4 << 20
"""Characters of a model's answer."""


class MindTools:
    """The desk for one call of one member's mind. See minds.mind.Desk.

    python: runs code over the record; simulate: asks the member's program (raises RefusedError); prefix: the place on record that
    a simulation starts from.
    """

    def __init__(
        self,
        event_log: EventLog,
        member: int,
        python: Callable[[str], str],
        simulate: Callable[[Sequence[Action], int, int | None], Sequence[Prediction]],
        prefix: Callable[[int, int | None], Trajectory],
    ) -> None:
        self._event_log, self._member, self._python, self._simulate, self._prefix = event_log, member, python, simulate, prefix
        self._request_counts: Counter[str] = Counter()

    def python(self, code: str) -> str:
        """Run `code` in the sandbox over the record; return what it prints."""
        try:
            return self._python(code)
        except RefusedError as refusal:
            return str(refusal)

    def simulate(self, actions: Sequence[Action], trajectory: int = -1, step: int | None = None) -> str:
        """Say what this member's program predicts for `actions`, from the present or from a place on record."""
        try:
            previous_frame = self._prefix(trajectory, step).last.frame
            predictions = self._simulate(actions, trajectory, step)
        except RefusedError as refusal:
            return str(refusal)
        lines = []
        for number, (action, prediction) in enumerate(zip(actions, predictions, strict=False), 1):
            shown, openness = fill_open_cells(prediction, previous_frame), format_openness(prediction)
            difference = frame_text.format_difference(previous_frame, shown)
            lines.append(f"{number}. action {action}: {prediction.status}{f' [{openness}]' if openness else ''}; {difference}")
            previous_frame = shown
        return frame_text.clip_text("\n".join(lines), MAX_SIMULATION_CHARS)

    def exchange(self, step: str, request: str, ask: Callable[[], Exchange]) -> str:
        """Return the answer to `request`, from the ledger or from `ask`. One request, twice in a call of the mind, makes two.

        Raises MindError: a cap is reached, or whatever `ask` raises; what a failed call cost (its `receipt`) is written down too.
        """
        state, ledger = self._event_log.state, self._event_log.ledger
        digest = hashlib.sha256(f"{step}\0{request}".encode("utf-8", "surrogatepass")).hexdigest()
        cached_answers = state.members[self._member].cached_exchanges.get(digest, ())
        self._request_counts[digest] += 1
        if self._request_counts[digest] <= len(cached_answers):
            return ledger.get_text(cached_answers[self._request_counts[digest] - 1])
        spending.check_caps(state.caps, state.spending)
        number, answer_id, failure = state.members[self._member].n_calls, None, None
        receipt: dict[str, float | int | str] = {}
        started_at = time.perf_counter()
        try:
            with spending.enforce_caps(state.caps, state.spending):
                exchange = ask()
            receipt = validation.clean_receipt(exchange.receipt)
            answer = validation.validate_text(exchange.answer, "An answer", MAX_ANSWER_CHARS)
            answer_id = ledger.put_text(answer)
        except BaseException as error:
            receipt = receipt or validation.clean_receipt(getattr(error, "receipt", {}))
            failure = validation.describe_exception(error)
            if isinstance(error, RefusedError):
                raise MindError(f"The model answered {step} with what is no answer: {error}") from error
            raise
        finally:
            seconds = time.perf_counter() - started_at
            self._event_log.append(CallEvent(self._member, number, step, answer_id, seconds, receipt, digest, failure))
            self._event_log.commit()
        return answer
