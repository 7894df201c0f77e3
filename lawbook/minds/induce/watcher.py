"""A walker that notes what it meets, and grounds told apart row by row."""

from __future__ import annotations

import zlib
from typing import Any

from lawbook.minds.induce.walker import Walker


class Watcher(Walker):
    """A walker that notes what its figures meet: (body, row, col, contact, action, outcome)."""

    def __init__(self, laws: Any) -> None:
        super().__init__(laws)
        self.notes: list[Any] = []

    def contacted(self, state: Any, row: int, col: int, contact: Any, happens: str, paint: Any, name: Any) -> Any:
        self.notes.append((state.body, row, col, contact, name, happens))
        if happens == "push":
            row_behind, col_behind = 2 * row - state.row, 2 * col - state.col
            behind = self.meets(self.drawn(state), state.width, state.body, row_behind, col_behind)
            self.notes.append((state.body, row_behind, col_behind, behind, None, self.effect(behind, None)[0]))
        return super().contacted(state, row, col, contact, happens, paint, name)

    def knows(self, contact: Any, name: Any) -> bool:
        """Does a law, and no guess, say what this contact does?"""
        return any(key in self.laws.contacts or (key, name) in self.laws.contacts for key in contact)


def mark_rows(ground: bytes, width: int) -> tuple[int, ...]:
    """The CRC-32 of each row of a ground."""
    return tuple(zlib.crc32(ground[at : at + width]) for at in range(0, len(ground), width))
