"""Exact replay of the whole record (Eq. 20): a Verdict, and the first place where a replay and the record part."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from lawbook.core.record import Action, Frame, Observation, Record, Status, Trajectory
from lawbook.core.results import Counterexample, Fault, Outcome, Prediction, Start, Verdict
from lawbook.sandbox.host import Program
from lawbook.sandbox.worker_client import Worker
from lawbook.verification.counterexample import describe

COMPARES = ("frame", "status")
"""What a prediction can be compared on."""

_WARM_UP = 50
"""Steps of a trajectory that the second replay goes through beforehand where their number is odd: turned round, the lone or the
middle one would come in the same place again, and every one in as even a place as before."""


def verify(
    program: Program, record: Record, *, first: Sequence[int] = (), twin: bool = True, compares: Collection[str] = COMPARES
) -> Verdict:
    """Replay every trajectory from its own first observation, initialised once, and compare exactly with what was observed.

    first: trajectories to begin with (the one that failed last). twin: replay a second time in another interpreter with another
    hash seed, the trajectories in the opposite order and every step taken twice, so that set order, time, state that outlives a
    trajectory, and state that a step changes in place or keeps elsewhere show.
    Compared are the first rendering and status of each trajectory, then status and settled frame of each step; of a completing
    step the status only (its frame is the next level's), of a truncated step nothing.

    Returns ADMISSIBLE, COUNTEREXAMPLE or FAULT (`unrepeatable` when two replays differ: a difference from the record that another
    interpreter does not show again is no counterexample). Raises ValueError for an empty record, which would prove nothing, and
    HostError when the host fails.
    """
    if not len(record):
        raise ValueError("there is no trajectory to replay")
    began, order = time.perf_counter(), _order(len(record), first)
    found, replayed = _replay_all(program, record, [(k, None) for k in order], compares)
    if isinstance(found, Counterexample) and twin:
        found = _not_again(program, record, found, compares) or found
    elif found is None and twin:
        warm: list[tuple[int, int | None]] = [(order[0], _WARM_UP)] if len(order) % 2 else []
        again = [*warm, *((k, None) for k in reversed(order))]
        found = _unrepeatable(_replay_all(program, record, again, compares, twin=True)[0])
    seconds = time.perf_counter() - began
    match found:
        case None:
            return Verdict(Outcome.ADMISSIBLE, replayed=replayed, seconds=seconds)
        case Counterexample():
            return Verdict(Outcome.COUNTEREXAMPLE, found.text, counterexample=found, replayed=replayed, seconds=seconds)
        case Fault():
            return Verdict(Outcome.FAULT, found.reason, fault=found, replayed=replayed, seconds=seconds)


def compare(
    predicted: Prediction,
    observation: Observation,
    *,
    trajectory: int,
    step: int,
    level: int,
    action: Action | None,
    before: Frame,
    compares: Collection[str] = COMPARES,
) -> Counterexample | None:
    """One live prediction against what came: None where they agree (a few microseconds), else the counterexample.

    step: from 1, and action the one it followed; 0 and None for the first rendering of a trajectory. before: the settled frame
    before it (H x W uint8). Raises ValueError when the frames have different shapes.
    """
    if observation.status is Status.TRUNCATED:
        return None
    seen, shown = observation.frame, predicted.frame
    if seen.shape != shown.shape:
        raise ValueError(f"a prediction of shape {shown.shape} cannot be compared with a frame of shape {seen.shape}")
    framed = "frame" in compares and observation.status is not Status.COMPLETED
    if (not framed or seen.tobytes() == shown.tobytes()) and ("status" not in compares or predicted.status is observation.status):
        return None
    return describe(
        predicted,
        Prediction(seen, observation.status),
        trajectory=trajectory,
        step=step,
        level=level,
        action=action,
        before=before,
        framed=framed,
    )


_ADVICE = "Let nothing depend on the order of sets, on hash or id, on time or chance, or on variables beside the state"


class Comparison:
    """One trajectory, or its first `steps` steps, against the chunks of its replay as they come.

    actions: what to replay. counterexample: the first difference, once there is one. checked: renderings compared so far.
    """

    def __init__(self, index: int, trajectory: Trajectory, compares: Collection[str] = COMPARES, steps: int | None = None) -> None:
        unknown = set(compares) - set(COMPARES)
        if unknown:
            raise ValueError(f"nothing is known of comparing {', '.join(sorted(unknown))}")
        self.index, self.trajectory = index, trajectory
        statuses = trajectory.statuses[: None if steps is None else steps + 1]
        if statuses[-1] is Status.TRUNCATED:
            statuses.pop()
        self.actions = trajectory.actions[: len(statuses) - 1]
        self._settled = trajectory.settled
        self._statuses = statuses if "status" in compares else []
        self._framed = 0 if "frame" not in compares else len(statuses) - (statuses[-1] is Status.COMPLETED)
        self.checked = 0
        self.counterexample: Counterexample | None = None

    def __call__(self, at: int, frames: npt.NDArray[np.uint8], statuses: Sequence[Status]) -> bool:
        """Compare renderings `at`, `at` + 1, ... (k x H x W uint8) and their statuses; False at the first difference.

        Raises ValueError when a chunk is missing or not of the record's shape: nothing is ever taken on trust.
        """
        end = at + len(frames)
        if at != self.checked or len(statuses) != len(frames) or frames.shape[1:] != self._settled.shape[1:] or end > len(self):
            raise ValueError(
                f"renderings {at} to {end} of shape {frames.shape[1:]} do not continue at {self.checked} of {len(self)}"
            )
        k = self._framed - at
        parted = _first(
            [frame_difference(self._settled[at : min(end, self._framed)], frames[: max(k, 0)]), self._status(at, statuses)]
        )
        if parted is None:
            self.checked = end
            return True
        step = at + parted
        self.checked = step + 1
        self.counterexample = describe(
            Prediction(frames[parted].copy(), statuses[parted]),
            Prediction(self._settled[step], self.trajectory.statuses[step]),
            trajectory=self.index,
            step=step,
            level=self.trajectory.first.level,
            action=self.actions[step - 1] if step else None,
            before=self._settled[max(step - 1, 0)],
            framed=step < self._framed,
        )
        return False

    def __len__(self) -> int:
        """Renderings that a whole replay gives."""
        return len(self.actions) + 1

    def _status(self, at: int, statuses: Sequence[Status]) -> int | None:
        expected = self._statuses[at : at + len(statuses)]
        if expected == statuses:
            return None
        return next((k for k, (one, other) in enumerate(zip(expected, statuses, strict=False)) if one is not other), None)


def frame_difference(expected: npt.NDArray[np.uint8], predicted: npt.NDArray[np.uint8]) -> int | None:
    """Index of the first frame in which two blocks (k x H x W uint8) differ; None when they are equal."""
    if np.array_equal(expected, predicted):
        return None
    return int(np.argmax((expected != predicted).any(axis=(1, 2))))


def _replay_all(
    program: Program,
    record: Record,
    order: Iterable[tuple[int, int | None]],
    compares: Collection[str],
    *,
    twin: bool = False,
    twice: bool | None = None,
) -> tuple[Counterexample | Fault | None, int]:
    """What one worker's replay of trajectories (index, steps or None for all) finds first, and how many steps it took."""
    worker = program.worker(twin=twin)
    if isinstance(worker, Fault):
        return worker, 0
    replayed = 0
    with worker:
        for index, steps in order:
            comparison = Comparison(index, record.trajectories[index], compares, steps)
            found = _replay(worker, comparison, twice=twin if twice is None else twice)
            replayed += max(comparison.checked - 1, 0)
            if found is not None:
                return found, replayed
    return None, replayed


def _replay(worker: Worker, comparison: Comparison, *, twice: bool) -> Counterexample | Fault | None:
    replay = worker.replay(Start.of(comparison.trajectory.first), comparison.actions, check=comparison, twice=twice)
    if comparison.counterexample is not None:
        return comparison.counterexample
    if replay.fault is not None:
        place = f"Replaying trajectory {comparison.index} (level {comparison.trajectory.first.level})"
        step = f"step {replay.fault.step}" if replay.fault.step else "its start"
        return replace(replay.fault, reason=f"{place}, {step}: {replay.fault.reason}", trajectory=comparison.index)
    if comparison.checked != len(comparison):
        raise ValueError(f"a replay ended after {comparison.checked} of {len(comparison)} renderings without saying why")
    return None


def _not_again(program: Program, record: Record, found: Counterexample, compares: Collection[str]) -> Fault | None:
    """What is to be said of a program that fails otherwise, or not at all, in the other interpreter. None where it fails again."""
    again, _ = _replay_all(program, record, [(found.trajectory, found.step)], compares, twin=True, twice=False)
    if isinstance(again, Fault) or again == found:
        return None
    other = f"the second time this: {again.text}" if again else "the second time this trajectory went right."
    return Fault(
        "unrepeatable",
        f"Replayed twice, in two interpreters with different hash seeds, the program showed different things: {found.text} And "
        f"{other} {_ADVICE}.",
        found.trajectory,
        found.step,
    )


def _unrepeatable(found: Counterexample | Fault | None) -> Fault | None:
    """What the second replay found, said of a program whose first replay was right in everything."""
    if found is None or (isinstance(found, Fault) and found.kind in ("time", "memory", "killed")):
        return found
    what = found.text if isinstance(found, Counterexample) else found.reason
    return Fault(
        "unrepeatable",
        "A first replay reproduced the whole record, but a second one, in another interpreter with another hash seed, with the "
        f"trajectories in the opposite order and every step taken twice from its state, did not. {what} {_ADVICE}; and let step "
        "return a new state and leave the old one as it is.",
        found.trajectory,
        found.step,
    )


def _order(count: int, first: Sequence[int]) -> list[int]:
    if any(not 0 <= k < count for k in first):
        raise ValueError(f"there are {count} trajectories, so not all of {list(first)}")
    return list(dict.fromkeys([*first, *range(count)]))


def _first(places: Iterable[int | None]) -> int | None:
    return min((place for place in places if place is not None), default=None)
