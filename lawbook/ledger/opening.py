"""The settings of a run and the description of its world, as an opening has them: everything that was written, read by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lawbook.errors import UsageError


class MalformedEventError(UsageError, ValueError):
    """A body that no run writes. Also a ValueError, like whatever else reading an altered ledger raises."""


_REQUIRED = {"world": str, "mind": str, "protocol": str, "population": int, "budget": int, "seed": int, "memory_mb": int}
_REQUIRED |= {"weak_sandbox": bool}


@dataclass(frozen=True)
class RecordedSettings:
    """What a run was asked for (`RunConfig` as a mapping). values: all of it, as written, whichever version wrote it.

    Each setting is looked at when it is read: raises MalformedEventError where the opening does not say it.
    """

    values: Mapping[str, Any]

    @property
    def world(self) -> str:
        return str(_read(self.values, "world", str))

    @property
    def mind(self) -> str:
        return str(_read(self.values, "mind", str))

    @property
    def protocol(self) -> str:
        return str(_read(self.values, "protocol", str))

    @property
    def policy(self) -> str:
        """Empty in runs from before there were policies."""
        return str(self.values.get("policy", ""))

    @property
    def population(self) -> int:
        return int(_read(self.values, "population", int))

    @property
    def budget(self) -> int:
        return int(_read(self.values, "budget", int))

    @property
    def seed(self) -> int:
        return int(_read(self.values, "seed", int))

    @property
    def memory_mb(self) -> int:
        return int(_read(self.values, "memory_mb", int))

    @property
    def weak_sandbox(self) -> bool:
        return bool(_read(self.values, "weak_sandbox", bool))

    def check_complete(self) -> None:
        """Raises MalformedEventError where what no run can be without is missing, or is of another type."""
        for name, setting_type in _REQUIRED.items():
            _read(self.values, name, setting_type)

    @property
    def lasting_values(self) -> dict[str, Any]:
        """What stays as it is when a run is resumed: all but its caps."""
        return {name: value for name, value in self.values.items() if not name.startswith("max_")}


@dataclass(frozen=True)
class RecordedSpec:
    """A world's description (`WorldSpec` as a mapping). values: all of it, as written, whichever version wrote it.

    Each part is looked at when it is read: raises MalformedEventError where the opening does not say it.
    """

    values: Mapping[str, Any]

    @property
    def shape(self) -> tuple[int, int]:
        height, width = _read_numbers(self.values, "shape")
        return height, width

    @property
    def actions(self) -> tuple[int, ...]:
        return _read_numbers(self.values, "actions")

    @property
    def clicks(self) -> tuple[int, ...]:
        return _read_numbers(self.values, "clicks")

    @property
    def levels(self) -> int | None:
        """None where the world never says."""
        levels: int | None = _read(self.values, "levels", int, type(None))
        return levels

    @property
    def baselines(self) -> tuple[int | None, ...] | None:
        baselines = _read(self.values, "baselines", list, tuple, type(None))
        return None if baselines is None else tuple(baselines)

    @property
    def baseline(self) -> str:
        return str(_read(self.values, "baseline", str))

    @property
    def palette(self) -> str:
        return str(_read(self.values, "palette", str))

    @property
    def is_replayable(self) -> bool:
        return bool(_read(self.values, "replayable", bool))

    @property
    def ticket(self) -> str:
        """How the play is taken up again; empty where it is not, but replayed."""
        return str(self.values.get("ticket", ""))


def _read(values: Mapping[str, Any], name: str, *types: type) -> Any:
    value = values.get(name, ...)
    if type(value) not in types:
        described = "nothing" if value is ... else repr(value)[:80]
        raise MalformedEventError(
            f"The opening of this run says {described} of its {name}; it was altered, or is of another version."
        )
    return value


def _read_numbers(values: Mapping[str, Any], name: str) -> tuple[int, ...]:
    numbers = _read(values, name, list, tuple)
    if any(type(number) is not int for number in numbers):
        raise MalformedEventError(
            f"The opening of this run says {numbers!r:.80} of its {name}; it was altered, or is of another version."
        )
    return tuple(numbers)
