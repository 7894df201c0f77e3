"""What helps an agent think: notes, and Python over the record. And the end."""

from __future__ import annotations

from collections.abc import Sequence

from lawbook.agents.api.context import CommandContext
from lawbook.core.results import RunOutcome
from lawbook.errors import RefusedError, UsageError


def note(context: CommandContext, words: Sequence[str]) -> str:
    """Keep a sentence: it stands in ./law brief."""
    text = " ".join(words).strip()
    if not text:
        raise UsageError("A note needs words.")
    if len(text) > 2000:
        raise RefusedError(f"A note of {len(text):,} characters is too long; keep it under 2,000.")
    context.session.note(text)
    return "kept"


def finish(context: CommandContext, message: str) -> str:
    """End the run for good."""
    if context.session.outcome:
        return f"The run had already ended: {context.session.outcome}; nothing to finish."
    context.session.finish(RunOutcome.FINISHED, message)
    return "The run has ended: finished."


def run_python(context: CommandContext, words: Sequence[str] = (), code: str | None = None) -> str:
    """Run code over the record in the sandbox."""
    if code is None:
        if len(words) != 1:
            raise UsageError("Give one file of your workspace, or --code CODE, or - and the code on stdin.")
        code = context.stdin if words[0] == "-" else context.workspace.read(words[0])
    if not code.strip():
        raise UsageError("There is no code to run.")
    return context.session.run_python(code) or "(nothing was printed)"
