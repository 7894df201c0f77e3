"""Reading a world's `?key=value` options: each checked, the unknown ones refused, every refusal a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lawbook.core.plugins import nearest
from lawbook.errors import UsageError


class Options:
    """The options given to one world. Read each with its kind and default, then call `done`.

    world: its address without options, for the sentences. Every method raises UsageError.
    """

    def __init__(self, world: str, given: Mapping[str, str]) -> None:
        self.world = world
        self._given = given
        self._known: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._given

    def whole(self, key: str, default: int, *, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""
        text = self._read(key)
        if text is None:
            return default
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise UsageError(f"{self.world}: {key} is a whole number from {low} to {high}, not {text!r}.")
        return value

    def number(self, key: str, default: float, *, low: float, high: float) -> float:
        """A number from `low` to `high`."""
        text = self._read(key)
        if text is None:
            return default
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            raise UsageError(f"{self.world}: {key} is a number from {low} to {high}, not {text!r}.")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """`true` or `false`."""
        text = self._read(key)
        if text is None:
            return default
        if text.lower() not in ("true", "false"):
            raise UsageError(f"{self.world}: {key} is true or false, not {text!r}.")
        return text.lower() == "true"

    def word(self, key: str, default: str, among: Sequence[str] = ()) -> str:
        """Any text, or one of those in `among`."""
        text = self._read(key)
        if text is not None and among and text not in among:
            raise UsageError(f"{self.world}: {key} is one of {', '.join(among)}, not {text!r}.{nearest(text, among)}")
        return default if text is None else text

    def done(self) -> None:
        """Refuse whatever was given and never read."""
        for key in self._given:
            if key not in self._known:
                takes = f"It takes: {', '.join(self._known)}." if self._known else "It takes none."
                raise UsageError(f"{self.world} has no option {key!r}.{nearest(key, self._known)} {takes}")

    def _read(self, key: str) -> str | None:
        self._known.append(key)
        return self._given.get(key)
