"""Reading a world's `?key=value` options: each checked, the unknown ones refused, every refusal a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lawbook.core.plugins import suggest_name
from lawbook.errors import UsageError


class AddressOptions:
    """The options given to one world. Read each with its kind and default, then call `done`.

    world: its address without options, for the sentences. Every method raises UsageError.
    """

    def __init__(self, world: str, options: Mapping[str, str]) -> None:
        self.world = world
        self._options = options
        self._read_keys: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._options

    def get_int(self, key: str, default: int, *, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`. Raises UsageError where it is none."""
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

    def get_float(self, key: str, default: float, *, low: float, high: float) -> float:
        """Return a number from `low` to `high`. Raises UsageError where it is none."""
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

    def get_bool(self, key: str, default: bool) -> bool:
        """Return what `true` or `false` says. Raises UsageError where it says neither."""
        text = self._read(key)
        if text is None:
            return default
        if text.lower() not in ("true", "false"):
            raise UsageError(f"{self.world}: {key} is true or false, not {text!r}.")
        return text.lower() == "true"

    def get_str(self, key: str, default: str, choices: Sequence[str] = ()) -> str:
        """Return any text, or one of `choices`. Raises UsageError where it is none of them."""
        text = self._read(key)
        if text is not None and choices and text not in choices:
            raise UsageError(f"{self.world}: {key} is one of {', '.join(choices)}, not {text!r}.{suggest_name(text, choices)}")
        return default if text is None else text

    def reject_unread(self) -> None:
        """Refuse whatever was given and never read. Raises UsageError that names it."""
        for key in self._options:
            if key not in self._read_keys:
                hint = f"It takes: {', '.join(self._read_keys)}." if self._read_keys else "It takes none."
                raise UsageError(f"{self.world} has no option {key!r}.{suggest_name(key, self._read_keys)} {hint}")

    def _read(self, key: str) -> str | None:
        self._read_keys.append(key)
        return self._options.get(key)
