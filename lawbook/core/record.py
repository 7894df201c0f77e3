"""Evidence: Observation, Action, Trajectory, Record. The ground floor; the only evidence there is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, overload

import numpy as np
import numpy.typing as npt

Frame = npt.NDArray[np.uint8]
"""H x W array of uint8 colour codes; read-only once it is in an Observation."""
MAX_NUMBER = 1 << 31
"""Above every id and coordinate there is (a number without end cannot even be told)."""
MAX_CELLS = 4 << 20
"""Of one frame: as many as a program can show."""


class Status(StrEnum):
    """The state of the level after an action. COMPLETED: this step completed the level (the frame already shows the next one)."""

    RUNNING = "running"
    COMPLETED = "completed"
    OVER = "over"
    TRUNCATED = "truncated"


class Action(NamedTuple):
    """One action: `id` as the world numbers it, and for a click `x` (column) and `y` (row), both from 0."""

    id: int
    x: int | None = None
    y: int | None = None

    def __str__(self) -> str:
        return str(self.id) if self.x is None else f"{self.id}@{self.x},{self.y}"


RESET = Action(0)
"""Starts the level anew. Counts as an action, opens a new trajectory, and is never given to a program."""


class ActionKind(StrEnum):
    """The kind of action that an INTEND announces."""

    PLAN = "plan"
    PROBE = "probe"
    RESET = "reset"


def freeze(frame: npt.ArrayLike) -> Frame:
    """Copy `frame` as a private, contiguous, read-only H x W uint8 array (some worlds change arrays they have already returned).

    Raises ValueError when it is not two-dimensional or holds a value outside 0..255.
    """
    source = np.asarray(frame)
    if source.ndim != 2 or source.size == 0:
        raise ValueError(f"a frame is a non-empty H x W array, not one of shape {source.shape}")
    if source.dtype != np.uint8 and (source.dtype.kind not in "iub" or source.min() < 0 or source.max() > 255):
        raise ValueError(f"a frame holds whole numbers from 0 to 255, not these of type {source.dtype}")
    copy = np.array(source, dtype=np.uint8, order="C", copy=True)
    copy.flags.writeable = False
    return copy


@dataclass(frozen=True, eq=False, slots=True)
class Observation:
    """An answer of the world.

    frames: the animation, oldest first, each H x W uint8 and read-only; the last is the settled frame.
    status: of the level after the action.
    level: the level now being played, from 0 (after COMPLETED: the next).
    available: ids of the actions the world accepts now, RESET aside.
    reward: what the action paid; 0 where a world pays nothing.
    """

    frames: Sequence[Frame]
    status: Status
    level: int
    available: tuple[int, ...]
    reward: float = 0.0

    @property
    def frame(self) -> Frame:
        """The settled frame, H x W uint8, read-only."""
        return self.frames[-1]

    def to_opening(self) -> Observation:
        """Return this observation as the first of a new trajectory, RUNNING: settled frame, and the animation that led to it."""
        return Observation(self.frames, Status.RUNNING, self.level, self.available)


class _StoredFrames(Sequence[Frame]):
    """The frames of a step on record: the settled one lies in its trajectory's block, and is not kept a second time."""

    __slots__ = ("_earlier_frames", "_step", "_trajectory")

    def __init__(self, trajectory: Trajectory, step: int, animation: Sequence[Frame]) -> None:
        self._trajectory, self._step, self._earlier_frames = trajectory, step, animation

    def __len__(self) -> int:
        return len(self._earlier_frames) + 1

    @overload
    def __getitem__(self, index: int) -> Frame: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Frame]: ...
    def __getitem__(self, index: int | slice) -> Frame | Sequence[Frame]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(len(self))[index])
        position = range(len(self))[index]
        is_earlier = position < len(self._earlier_frames)
        return self._earlier_frames[position] if is_earlier else self._trajectory.get_frame(self._step)


class Trajectory:
    """All from the observation after a reset or level start to the next reset, completion, game over or truncation.

    A completing step is the last of its trajectory; its frame opens the next one.
    """

    def __init__(self, first: Observation) -> None:
        self.first = first
        self.steps: list[tuple[Action, Observation]] = []
        self._settled = np.empty((8, *first.frame.shape), dtype=np.uint8)
        self._settled[0] = first.frame

    def append(self, action: Action, observation: Observation) -> None:
        """Add one step. Raises ValueError when the trajectory is closed or the frame has another shape."""
        if self.is_closed:
            raise ValueError("this trajectory has ended; a reset or the next level opens a new one")
        n = len(self.steps) + 1
        if n == len(self._settled):
            enlarged = np.empty((2 * n, *self._settled.shape[1:]), dtype=np.uint8)
            enlarged[:n] = self._settled
            self._settled = enlarged
        self._settled[n] = observation.frame
        frames = _StoredFrames(self, n, observation.frames[:-1])
        self.steps.append(
            (action, Observation(frames, observation.status, observation.level, observation.available, observation.reward))
        )

    def get_frame(self, n: int) -> Frame:
        """Return the settled frame after `n` steps, H x W uint8, read-only."""
        view: Frame = self._settled[n]
        view.flags.writeable = False
        return view

    @property
    def is_closed(self) -> bool:
        """True once a step ended it (completion, game over, truncation). A reset ends it from outside."""
        return bool(self.steps) and self.steps[-1][1].status is not Status.RUNNING

    @property
    def actions(self) -> list[Action]:
        """The n actions, in order."""
        return [action for action, _ in self.steps]

    @property
    def observations(self) -> list[Observation]:
        """List what was seen after each action."""
        return [observation for _, observation in self.steps]

    @property
    def statuses(self) -> list[Status]:
        """n + 1 statuses, the first RUNNING."""
        return [Status.RUNNING, *(observation.status for _, observation in self.steps)]

    @property
    def settled_frames(self) -> npt.NDArray[np.uint8]:
        """All settled frames as one block, (n + 1) x H x W uint8, the first one first. A view: do not write."""
        view = self._settled[: len(self.steps) + 1]
        view.flags.writeable = False
        return view

    @property
    def last(self) -> Observation:
        """The last observation; the first one, where nothing has been done."""
        return self.steps[-1][1] if self.steps else self.first

    def __len__(self) -> int:
        return len(self.steps)


def completes_last_level(observation: Observation, levels: int | None) -> bool:
    """Say whether this step completed the last of `levels` levels; False where their number is not known."""
    return observation.status is Status.COMPLETED and levels is not None and observation.level >= levels


class Record:
    """Every trajectory so far (H in the paper), a view of the ledger: only what reads the ledger may write here.

    levels: how many levels the world has, or None when it never says.
    """

    def __init__(self, levels: int | None = None) -> None:
        self.levels = levels
        self.trajectories: list[Trajectory] = []
        self.n_actions = 0
        self.last: Observation | None = None

    def extend(self, action: Action | None, observation: Observation) -> None:
        """Add what followed `action` (None: the world was opened, which costs nothing)."""
        if action is None or action == RESET:
            self.trajectories.append(Trajectory(observation.to_opening()))
        else:
            self.current.append(action, observation)
        self.n_actions += action is not None
        self.last = observation
        if observation.status is Status.COMPLETED and not self.is_won:
            self.trajectories.append(Trajectory(observation.to_opening()))

    @property
    def current(self) -> Trajectory:
        """The trajectory that is being played (or was played last)."""
        return self.trajectories[-1]

    @property
    def is_won(self) -> bool:
        """True when the last level has been completed."""
        return self.last is not None and completes_last_level(self.last, self.levels)

    @property
    def level(self) -> int:
        """The level now being played, from 0."""
        return self.last.level if self.last is not None else 0

    @property
    def needs_reset(self) -> bool:
        """True when only RESET makes sense: after game over or truncation."""
        return self.last is not None and self.last.status in (Status.OVER, Status.TRUNCATED)

    def __iter__(self) -> Iterator[Trajectory]:
        return iter(self.trajectories)

    def __len__(self) -> int:
        return len(self.trajectories)
