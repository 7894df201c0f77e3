"""Annotations: what is written into a run and decides nothing: notes, a person's words, costs, how agents are confined."""

from __future__ import annotations

from collections.abc import Mapping

from lawbook.core import validation
from lawbook.core.results import RunOutcome
from lawbook.errors import RefusedError
from lawbook.ledger.events import CONFINEMENT_PROBE, PERSON, CallEvent, NoteEvent, RecordedConfinement
from lawbook.runs.event_log import EventLog
from lawbook.runs.queries import RunQueries

MAX_MESSAGE_CHARS = 2000
"""Characters of what a person says at once."""


class RunAnnotations(RunQueries):
    """The half of a session that writes without changing what is believed or sent. Each call is durable when it returns."""

    def note(self, text: str) -> None:
        """Keep a sentence for later calls of the mind. Raises RefusedError once the run has ended, and for what is no text."""
        self._require_open()
        self._append_note(NoteEvent(validation.validate_text(text, "A note")))

    def add_person_message(self, text: str) -> None:
        """Take a person's words in: agents hear them at their next command, and the run counts as assisted. Raises RefusedError."""
        append_person_message(self.event_log, text)

    def add_confinement(self, member: int, text: str, confinement: RecordedConfinement) -> None:
        """Write down what the probe of an agent's confinement found, for whoever reads the ledger."""
        self._append_note(NoteEvent(text, CONFINEMENT_PROBE, member=member, confinement=confinement))

    def add_cost(self, member: int, call: int, op: str, receipt: Mapping[str, float | int | str], seconds: float) -> None:
        """Write down what a command or an agent's own program cost: behind the end of the run too. Raises LawbookError."""
        self.event_log.append(CallEvent(member, call, op, None, seconds, validation.clean_receipt(receipt)))
        self.event_log.commit()

    def _append_note(self, note: NoteEvent) -> None:
        self.event_log.append(note)
        self.event_log.commit()


def append_person_message(event_log: EventLog, text: str) -> None:
    """Write a person's words down, of a run that is open or of one that nobody plays just now. Raises RefusedError."""
    event_log.append(NoteEvent(validate_message(text, event_log.state.outcome), PERSON))
    event_log.commit()


def validate_message(text: str, outcome: RunOutcome | None) -> str:
    """Return what a person says, trimmed. Raises RefusedError where it is nothing, too long, or the run has ended."""
    message = text.strip()
    if not message or len(message) > MAX_MESSAGE_CHARS:
        raise RefusedError(f"Say something, in at most {MAX_MESSAGE_CHARS:,} characters.")
    if outcome:
        raise RefusedError(f"The run has ended ({outcome}); nobody can hear it any more.")
    return message
