"""What a run's doors printed and took, and what its agents' own programs cost: counted from CALL events, nothing else."""

from __future__ import annotations

import time
from collections import Counter

from lawbook.ledger.ledger import Event, EventKind

COMMAND_OP, AGENT_OP = "door", "coder"
"""`op` of the CALL of a command, and of a launcher's."""


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
        self.seconds: Counter[int] = Counter()
        self.costs: dict[str, float] = {}
        self._minutes = 0.0
        self._last_time: float | None = None

    def add(self, event: Event) -> None:
        is_resumption = event.kind is EventKind.OPEN  # what lies before it is a pause
        if self._last_time is not None and not is_resumption:
            self._minutes += max(0.0, event.time - self._last_time) / 60
        if self._last_time is not None:
            self._last_time = event.time
        elif event.kind is EventKind.CALL and event.body["op"] == COMMAND_OP:
            self._last_time, self._minutes = event.time, event.body["seconds"] / 60
        if event.kind is not EventKind.CALL:
            return
        body = event.body
        member, receipt = int(body["member"]), body["receipt"]
        if body["op"] == COMMAND_OP:
            self.n_commands[member] += 1
            self.n_characters[member] += int(receipt.get("characters", 0))
            self.n_refused[member] += bool(receipt.get("refused"))
            self.seconds[member] += body["seconds"]
            return
        for name, value in receipt.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                self.costs[name] = self.costs.get(name, 0.0) + value

    def count_minutes(self, now: float | None = None) -> float:
        """Minutes the run has taken, pauses aside; now: in seconds since 1970 (None: this moment)."""
        if self._last_time is None:
            return 0.0
        return self._minutes + max(0.0, (time.time() if now is None else now) - self._last_time) / 60
