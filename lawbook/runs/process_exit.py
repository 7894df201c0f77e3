"""How the process of a run ends: exit codes by outcome, and signals that let it leave in order."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from lawbook.runs.state import Ending

CODES = {Ending.WON: 0, Ending.NONDETERMINISTIC: 3, Ending.IN_DOUBT: 3}
"""Exit code of every ending; 1 of the others."""


@contextmanager
def graceful() -> Iterator[None]:
    """SIGTERM is a Ctrl-C, and a second one does not disturb the leaving. An action in flight is waited for by the session."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {name: signal.signal(name, interrupt) for name in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)
