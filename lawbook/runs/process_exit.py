"""How the process of a run ends: exit codes by outcome, and signals that let it leave in order."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from lawbook.core.results import RunOutcome

EXIT_CODES = {RunOutcome.WON: 0, RunOutcome.NONDETERMINISTIC: 3, RunOutcome.IN_DOUBT: 3}
"""Exit code of every ending; 1 of the others."""


@contextmanager
def interrupt_on_sigterm() -> Iterator[None]:
    """SIGTERM is a Ctrl-C, and a second one does not disturb the leaving. An action in flight is waited for by the session."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signal_number, signal.SIG_IGN)
        raise KeyboardInterrupt

    previous_handlers = {
        signal_number: signal.signal(signal_number, interrupt) for signal_number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for signal_number, handler in previous_handlers.items():
            signal.signal(signal_number, handler)
