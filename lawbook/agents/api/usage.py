"""What a run's doors printed and took, and what its agents' own programs cost: counted from CALL events, nothing else."""

from __future__ import annotations

import time
from collections import Counter, defaultdict

from lawbook.ledger.events import CallEvent, EventKind
from lawbook.ledger.ledger import Event


class UsageCounter:
    """Feed it every event in order.

    Time runs from the first command, whenever the run was started. By member: turns (commands), characters printed, refused
    (commands that did not do what was asked), seconds (of the doors).
    costs: sums of what is numeric in the receipts of launchers, and of calls of models.
    """

    def __init__(self) -> None:
        self.n_commands: Counter[int] = Counter()
        self.n_characters: Counter[int] = Counter()
        self.n_refused: Counter[int] = Counter()
        self.seconds: dict[int, float] = defaultdict(float)
        self.costs: dict[str, float] = {}
        self._minutes = 0.0
        self._last_time: float | None = None

    def add(self, event: Event) -> None:
        is_resumption = event.kind is EventKind.OPEN  # what lies before it is a pause
        if self._last_time is not None and not is_resumption:
            self._minutes += max(0.0, event.time - self._last_time) / 60
        call = event.data if event.kind is EventKind.CALL else None
        if self._last_time is not None:
            self._last_time = event.time
        elif isinstance(call, CallEvent) and call.is_command:
            self._last_time, self._minutes = event.time, call.seconds / 60
        if not isinstance(call, CallEvent):
            return
        member, receipt = call.member, call.receipt
        if call.is_command:
            self.n_commands[member] += 1
            self.n_characters[member] += int(receipt.get("characters", 0))
            self.n_refused[member] += bool(receipt.get("refused"))
            self.seconds[member] += call.seconds
            return
        for name, value in receipt.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                self.costs[name] = self.costs.get(name, 0.0) + value

    def count_minutes(self, now: float | None = None) -> float:
        """Minutes the run has taken, pauses aside; now: in seconds since 1970 (None: this moment)."""
        if self._last_time is None:
            return 0.0
        return self._minutes + max(0.0, (time.time() if now is None else now) - self._last_time) / 60
