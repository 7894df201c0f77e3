"""The interface of a world: reset, step, close, and a spec. Small on purpose; third parties implement it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

from lawbook.core.record import MAX_NUMBER, Action, Observation, Status


@dataclass(frozen=True)
class WorldSpec:
    """The facts that are known about a world from outside.

    shape: (H, W) of every frame. actions: ids it can ever accept, RESET (0) aside. clicks: those of them that take x and y.
    levels: how many, or None when it never says (then only the budget ends a run).
    baselines: actions a level takes, per level, None where unknown; baseline: what those are ("human", "optimal").
    palette: name of the colour table for people ("arc", "lake", ...); colours mean nothing to a mind.
    replayable: after a crash the state can be rebuilt by sending the recorded actions again (local worlds). Otherwise an action
    in doubt is asked about (see Rejoinable); where that settles nothing, it is counted as billed and the run stops.
    ticket: what a world that lives elsewhere needs to take up this play again after a crash; no secret, and for nobody else.
    frameskip, opening: frames that its emulator draws for an action, and before each first observation (see `count_frames`).
    """

    shape: tuple[int, int]
    actions: tuple[int, ...]
    clicks: tuple[int, ...] = ()
    levels: int | None = 1
    baselines: tuple[int | None, ...] | None = None
    baseline: str = "optimal"
    palette: str = "arc"
    replayable: bool = True
    ticket: str = ""
    frameskip: int = 1
    opening: int = 0

    def count_frames(self, steps: int, starts: int) -> int:
        """Count the emulator frames that `steps` actions (RESET aside) took from `starts` beginnings, the first and every RESET.

        At most: the action that ends an episode may end it before its last frame.
        """
        return self.frameskip * steps + self.opening * starts


def pack_spec(spec: WorldSpec) -> dict[str, Any]:
    """Pack a spec for the OPEN body of a ledger; `frameskip` and `opening` only where they say something (see WorldSpec)."""
    body = asdict(spec)
    for name in ("frameskip", "opening"):
        if body[name] == getattr(WorldSpec, name):
            del body[name]
    return body


class World(Protocol):
    """A deterministic environment. One history always has one outcome; every `reset` repeats the same seed.

    `reset` starts the present level anew (the first call opens the world) and returns its observation, status RUNNING.
    `step` takes one action that is not RESET. Frames are copied on receipt by whoever calls.
    """

    spec: WorldSpec

    def reset(self) -> Observation:
        """Start the present level anew; the first call opens the world. Returns its observation, status RUNNING."""

    def step(self, action: Action) -> Observation:
        """Send one action that is not RESET. Returns what followed."""

    def close(self) -> None:
        """Let go of whatever it holds."""


@runtime_checkable
class Rejoinable(Protocol):
    """A world that lives elsewhere, whose play outlives our process: made from its ticket, it is taken up instead of opened."""

    def rejoin(self, level: int) -> tuple[int, int] | None:
        """Go on in `level`. Returns what the world has billed this play, None where it will not say.

        That is: (times the whole game was begun, actions in all of them).
        """
        ...


@runtime_checkable
class WorldSource(Protocol):
    """The object that an entry point in the group `lawbook.worlds` resolves to; its name is the scheme before the colon."""

    summary: str
    """One line for `lawbook worlds`."""

    def names(self) -> Iterable[tuple[str, str]]:
        """Yield (name with a good set of options, one line about it), for `lawbook worlds`."""
        ...

    def make(self, name: str, options: Mapping[str, str]) -> World:
        """Build one. Called in the world's own process. Raises UsageError with a sentence for a bad name or option."""
        ...


def explain_refusal(
    spec: WorldSpec, last_observation: Observation, action: Action, *, check_availability: bool = True
) -> str | None:
    """Say in a sentence why this action cannot be sent; None when it can. Engines bill nonsense instead of refusing it.

    check_availability: also ask whether the world accepts it at present (for an action later in a plan only the spec is known).
    RESET is not for this: it has its own rule in the gate.
    """
    if not all(type(part) is int or (part is None and k > 0) for k, part in enumerate(action)):
        return f"An action is whole numbers: an id, and x and y for a click; not {tuple(action)!r}."
    if any(part is not None and abs(part) >= MAX_NUMBER for part in action):
        return f"Ids and coordinates are whole numbers below {MAX_NUMBER:,}; that is no action."
    if action.id not in spec.actions:
        return f"There is no action {action.id}; the actions are {', '.join(map(str, spec.actions))}."
    if action.id in spec.clicks:
        height, width = spec.shape
        if action.x is None or action.y is None:
            return f"Action {action.id} is a click; give x (column, 0 to {width - 1}) and y (row, 0 to {height - 1})."
        if not (0 <= action.x < width and 0 <= action.y < height):
            return f"A click at x={action.x}, y={action.y} lies outside; x is 0 to {width - 1}, y is 0 to {height - 1}."
    elif action.x is not None or action.y is not None:
        return f"Action {action.id} takes no coordinates; send it without x and y."
    if check_availability and last_observation.status in (Status.OVER, Status.TRUNCATED):
        return "The level is over; only a reset makes sense now."
    if check_availability and action.id not in last_observation.available:
        return (
            f"Action {action.id} is not available now; available are {', '.join(map(str, last_observation.available)) or 'none'}."
        )
    return None
