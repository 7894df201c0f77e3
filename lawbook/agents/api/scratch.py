"""What helps an agent think: notes, and Python over the record. And the end."""

from __future__ import annotations

from collections.abc import Sequence

from lawbook.agents.api.context import CommandContext
from lawbook.core.hypothesis import ENGINE
from lawbook.core.results import RunOutcome
from lawbook.errors import RefusedError, UsageError
from lawbook.runs import record_scripts

MAX_SCRIPT_SECONDS = 300
"""Of a script: nobody else is answered meanwhile."""
MAX_FILE_BYTES = 100_000
"""Of what a script prints into a file."""
SCRIPT_HELP = f"""\
The program of your workspace can be imported ({ENGINE.removesuffix(".py")}), and modules that your code imports. state_after() is
its state now, state_after(t, k) that after k actions of trajectory t: step it further with the program's own step. An answer shows
9,000 characters; --file writes up to {MAX_FILE_BYTES:,} bytes there. --seconds goes to {MAX_SCRIPT_SECONDS}."""


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


def run_python(
    context: CommandContext,
    words: Sequence[str] = (),
    code: str | None = None,
    seconds: int | None = None,
    file: str | None = None,
) -> str:
    """Run code over the record in the sandbox, with the workspace's program to import. file: where what it prints goes."""
    name = None
    if code is None:
        if len(words) != 1:
            raise UsageError("Give one file of your workspace, or --code CODE, or - and the code on stdin.")
        name = None if words[0] == "-" else words[0]
        code = context.stdin if name is None else context.workspace.read(name)
    if not code.strip():
        raise UsageError("There is no code to run.")
    if seconds is not None and not 0 < seconds <= MAX_SCRIPT_SECONDS:
        raise UsageError(f"A script may take 1 to {MAX_SCRIPT_SECONDS} seconds.")
    modules = context.workspace.read_modules(code, ENGINE)
    text = record_scripts.run_script(
        context.session.host,
        context.session.record,
        code,
        seconds=float(seconds or record_scripts.DEFAULT_TIMEOUT_S),
        max_bytes=record_scripts.MAX_OUTPUT_BYTES if file is None else MAX_FILE_BYTES,
        modules=modules,
        name=name,
    )
    if file is None:
        return text
    context.workspace.write(file, text + "\n")
    return f"{file}: {len(text):,} characters in {text.count(chr(10)) + 1:,} lines; the last: {text.rpartition(chr(10))[2][:200]}"
