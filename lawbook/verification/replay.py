"""Exact replay of the whole record (Eq. 20): a Verdict, and the first place where a replay and the record part."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Self

from lawbook.core.record import Record
from lawbook.core.results import Counterexample, InitialObservation, ProgramError, Verdict, VerdictKind
from lawbook.sandbox.host import Program
from lawbook.sandbox.worker_client import Replay, Worker
from lawbook.verification.comparison import COMPARED_FIELDS, TrajectoryComparison
from lawbook.verification.unlooked import RenderingDigests, draw_look_end, draw_padding

_WARM_UP_STEPS = 50
"""Steps of a trajectory that the second replay goes through beforehand where their number is odd: turned round, the lone or the
middle one would come in the same place again, and every one in as even a place as before."""


def verify(
    program: Program,
    record: Record,
    *,
    first: Sequence[int] = (),
    twin: bool = True,
    compared_fields: Collection[str] = COMPARED_FIELDS,
    seed: str = "",
    looks_away: bool = True,
) -> Verdict:
    """Replay every trajectory from its own first observation, initialised once, and compare exactly with what was observed.

    first: trajectories to begin with (the one that failed last). twin: replay a second time in another interpreter with another
    hash seed, the trajectories in the opposite order and every step taken twice, so that set order, time, state that outlives a
    trajectory, and state that a step changes in place or keeps elsewhere show. seed: of what is drawn; nobody who writes a program
    should know it.
    Compared are the first rendering and status of each trajectory, then status and settled frame of each step; of a completing
    step the status only (its frame is the next level's), of a truncated step nothing.

    A program with `update` is shown what was seen, each time after its prediction of that was taken; in the second replay only up
    to a step of each trajectory that is drawn (looks_away; else to the end): so far it must show what it showed before, and after
    it everything it claims must hold.

    Returns ADMISSIBLE, COUNTEREXAMPLE or FAULT (`unrepeatable` when two replays differ: a difference from the record that another
    interpreter does not show again is no counterexample). Raises ValueError for an empty record, which would prove nothing, and
    HostError when the host fails.
    """
    if not len(record):
        raise ValueError("there is no trajectory to replay")
    started_at, order = time.perf_counter(), _order_trajectories(len(record), first)
    if program.has_update:
        result, n_replayed = _UpdatingReplay(program, record, compared_fields, seed, looks_away).find_fault(first, twin)
    else:
        result, n_replayed = _find_fault(program, record, order, compared_fields, seed, twin)
    seconds = time.perf_counter() - started_at
    match result:
        case None:
            return Verdict(VerdictKind.ADMISSIBLE, replayed=n_replayed, seconds=seconds)
        case Counterexample():
            return Verdict(VerdictKind.COUNTEREXAMPLE, result.text, counterexample=result, replayed=n_replayed, seconds=seconds)
        case ProgramError():
            return Verdict(VerdictKind.FAULT, result.reason, fault=result, replayed=n_replayed, seconds=seconds)


def _find_fault(
    program: Program, record: Record, order: Sequence[int], compared_fields: Collection[str], seed: str, twin: bool
) -> tuple[Counterexample | ProgramError | None, int]:
    """What two replays of a program without `update` find first, and how many steps the first took."""
    result, n_replayed = _replay_all(program, record, [(k, None) for k in order], compared_fields, seed)
    if isinstance(result, Counterexample) and twin:
        result = _find_unrepeatable_mismatch(program, record, result, compared_fields, seed) or result
    elif result is None and twin:
        warm_up: list[tuple[int, int | None]] = [(order[0], _WARM_UP_STEPS)] if len(order) % 2 else []
        second_order = [*warm_up, *((k, None) for k in reversed(order))]
        result = _to_unrepeatable_fault(_replay_all(program, record, second_order, compared_fields, seed, twin=True)[0])
    return result, n_replayed


_ADVICE = "Let nothing depend on the order of sets, on hash or id, on time or chance, or on variables beside the state"


def _replay_all(
    program: Program,
    record: Record,
    order: Iterable[tuple[int, int | None]],
    compared_fields: Collection[str],
    seed: str,
    *,
    twin: bool = False,
    twice: bool | None = None,
) -> tuple[Counterexample | ProgramError | None, int]:
    """What one worker's replay of trajectories (index, steps or None for all) finds first, and how many steps it took."""
    n_replayed = 0
    with WorkerChain(program, twin) as workers:
        for index, steps in order:
            comparison = TrajectoryComparison(index, record.trajectories[index], compared_fields, steps)
            padding = draw_padding(seed, index, comparison.trajectory)
            worker = workers.get()
            if isinstance(worker, ProgramError):
                return worker, n_replayed
            replay = worker.replay(
                InitialObservation.from_observation(comparison.trajectory.first),
                comparison.actions,
                check=comparison,
                twice=twin if twice is None else twice,
                padding=padding,
            )
            result = judge_replay(replay, comparison)
            n_replayed += max(comparison.n_checked - 1, 0)
            if result is not None:
                return result, n_replayed
    return None, n_replayed


class WorkerChain:
    """One worker for many replays; another only where it did not come back from what follows a trajectory's end."""

    def __init__(self, program: Program, twin: bool) -> None:
        self._program, self._twin = program, twin
        self._worker: Worker | None = None

    def get(self) -> Worker | ProgramError:
        """Return the worker. A ProgramError: it does not load any more."""
        if self._worker is None or self._worker.has_ended:
            self.close()
            started = self._program.start_worker(twin=self._twin)
            if isinstance(started, ProgramError):
                return started
            self._worker = started
        return self._worker

    def close(self) -> None:
        """End the worker, if there is one."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def judge_replay(replay: Replay, comparison: TrajectoryComparison) -> Counterexample | ProgramError | None:
    """Say what a replay that was compared by `comparison` came to; None where all of it holds."""
    if comparison.counterexample is not None:
        return comparison.counterexample
    if replay.fault is not None:
        location = f"Replaying trajectory {comparison.index} (level {comparison.trajectory.first.level})"
        step_text = f"step {replay.fault.step}" if replay.fault.step else "its start"
        return replace(replay.fault, reason=f"{location}, {step_text}: {replay.fault.reason}", trajectory=comparison.index)
    if comparison.n_checked != len(comparison):
        raise ValueError(f"a replay ended after {comparison.n_checked} of {len(comparison)} renderings without saying why")
    return None


class _UpdatingReplay:
    """The replays of a program with `update`: looking, in time order; then looking away from a drawn step on, twice."""

    def __init__(self, program: Program, record: Record, compared_fields: Collection[str], seed: str, looks_away: bool) -> None:
        self._program, self._record, self._compared_fields, self._seed = program, record, compared_fields, seed
        self._looks_away = looks_away
        self._digests: dict[int, list[bytes]] = {}  # of what each trajectory showed last

    def find_fault(self, first: Sequence[int], twin: bool) -> tuple[Counterexample | ProgramError | None, int]:
        """What they find first, and how many steps the first replay took."""
        indices = range(len(self._record))
        result, n_replayed = None, 0
        for order in [*([index] for index in first), indices]:  # in workers of their own: what is kept beside the state stays apart
            result, n_replayed = self._look(order)
            if result is not None:
                break
        if isinstance(result, Counterexample) and twin:
            second, _ = self._look([result.trajectory], twin=True, steps=result.step)
            result = _describe_unrepeated(result, second) or result
        elif result is None and twin:
            result = self._look_away_in_twin() or self._look_away_afresh()
        return result, n_replayed

    def _look(
        self, order: Sequence[int], *, twin: bool = False, steps: int | None = None
    ) -> tuple[Counterexample | ProgramError | None, int]:
        """In lockstep: each observation goes in only when its prediction was taken."""
        n_replayed = 0
        with WorkerChain(self._program, twin) as workers:
            for index in order:
                comparison = TrajectoryComparison(index, self._record.trajectories[index], self._compared_fields, steps)
                digests = RenderingDigests(comparison)
                worker = workers.get()
                if isinstance(worker, ProgramError):
                    return worker, n_replayed
                replay = worker.replay(
                    InitialObservation.from_observation(comparison.trajectory.first),
                    comparison.actions,
                    check=digests,
                    observations=comparison.trajectory.observations[: len(comparison.actions)],
                    in_lockstep=True,
                )
                result = judge_replay(replay, comparison)
                n_replayed += max(comparison.n_checked - 1, 0)
                if result is not None:
                    return result, n_replayed
                self._digests[index] = digests.digests
        return None, n_replayed

    def _look_away_in_twin(self) -> Counterexample | ProgramError | None:
        """The second replay: the other interpreter, the opposite order, every call twice."""
        order: list[tuple[int, int | None]] = [(index, None) for index in reversed(range(len(self._record)))]
        if len(order) % 2:
            order.insert(0, (0, _WARM_UP_STEPS))
        with WorkerChain(self._program, True) as workers:
            for index, steps in order:
                looks = self._draw_look_end(index)
                n_same = looks + 2  # the rendering after the last look is made of nothing else than in the first replay
                result, digests = self._replay_part(workers, index, looks, self._digests[index][:n_same], steps, twice=True)
                if isinstance(result, Counterexample):
                    return self._confirm_unlooked(result, looks)
                if result is not None:
                    return _to_unrepeatable_fault(result)
                if steps is None:
                    self._digests[index] = digests
        return None

    def _look_away_afresh(self) -> ProgramError | None:
        """The third: as a plan is rolled, in a fresh worker for each trajectory. It must show exactly what the second did."""
        for index in range(len(self._record)):
            with WorkerChain(self._program, False) as workers:
                result, _ = self._replay_part(workers, index, self._draw_look_end(index), self._digests[index])
            if result is not None:
                return _to_unrepeatable_fault(result)
        return None

    def _confirm_unlooked(self, counterexample: Counterexample, looks: int) -> Counterexample | ProgramError:
        """The same in a fresh worker of the first interpreter: what is not wrong again there is no counterexample."""
        with WorkerChain(self._program, False) as workers:
            second, _ = self._replay_part(workers, counterexample.trajectory, looks, (), counterexample.step)
        unrepeated = _describe_unrepeated(counterexample, second)
        if unrepeated is not None:
            return unrepeated
        since = f"step {looks}" if looks else "the start of the trajectory"
        text = (
            f"{counterexample.text} That was predicted without looking since {since} (looking at every step, the whole record is "
            "reproduced): claim only what holds without looking on, and leave the rest open."
        )
        return replace(counterexample, text=text)

    def _replay_part(
        self,
        workers: WorkerChain,
        index: int,
        looks: int,
        expected: Sequence[bytes],
        steps: int | None = None,
        *,
        twice: bool = False,
    ) -> tuple[Counterexample | ProgramError | None, list[bytes]]:
        """A replay in bulk that is shown what was seen up to step `looks`, and must begin with the digests `expected`."""
        comparison = TrajectoryComparison(index, self._record.trajectories[index], self._compared_fields, steps)
        digests = RenderingDigests(comparison, expected)
        worker = workers.get()
        if isinstance(worker, ProgramError):
            return worker, []
        replay = worker.replay(
            InitialObservation.from_observation(comparison.trajectory.first),
            comparison.actions,
            check=digests,
            twice=twice,
            observations=comparison.trajectory.observations[: min(looks, len(comparison.actions))],
            padding=draw_padding(self._seed, index, comparison.trajectory),
        )
        if digests.differs_at is not None:
            place = f"Trajectory {index}, step {digests.differs_at}"
            reason = f"{place}: what is shown, or left open, is not what it was before, with the same looked at."
            return ProgramError("unrepeatable", reason, index, digests.differs_at), []
        return judge_replay(replay, comparison), digests.digests

    def _draw_look_end(self, index: int) -> int:
        n_steps = len(TrajectoryComparison(index, self._record.trajectories[index], self._compared_fields).actions)
        return draw_look_end(self._seed, index, n_steps) if self._looks_away else n_steps


def _find_unrepeatable_mismatch(
    program: Program, record: Record, counterexample: Counterexample, compared_fields: Collection[str], seed: str
) -> ProgramError | None:
    """What is to be said of a program that fails otherwise, or not at all, in the other interpreter. None where it fails again."""
    order = [(counterexample.trajectory, counterexample.step)]
    second_result, _ = _replay_all(program, record, order, compared_fields, seed, twin=True, twice=False)
    return _describe_unrepeated(counterexample, second_result)


def _describe_unrepeated(
    counterexample: Counterexample, second_result: Counterexample | ProgramError | None
) -> ProgramError | None:
    if isinstance(second_result, ProgramError) or second_result == counterexample:
        return None
    second_outcome = (
        f"the second time this: {second_result.text}" if second_result else "the second time this trajectory went right."
    )
    return ProgramError(
        "unrepeatable",
        "Replayed twice, in two interpreters with different hash seeds, the program showed different things: "
        f"{counterexample.text} And "
        f"{second_outcome} {_ADVICE}.",
        counterexample.trajectory,
        counterexample.step,
    )


def _to_unrepeatable_fault(result: Counterexample | ProgramError | None) -> ProgramError | None:
    """What the second replay found, said of a program whose first replay was right in everything."""
    if result is None or (isinstance(result, ProgramError) and result.kind in ("time", "memory", "killed")):
        return result
    reason = result.text if isinstance(result, Counterexample) else result.reason
    return ProgramError(
        "unrepeatable",
        "A first replay reproduced the whole record, but a second one, in another interpreter with another hash seed, with the "
        f"trajectories in the opposite order and every step taken twice from its state, did not. {reason} {_ADVICE}; and let step "
        "return a new state and leave the old one as it is.",
        result.trajectory,
        result.step,
    )


def _order_trajectories(n_trajectories: int, first: Sequence[int]) -> list[int]:
    if any(not 0 <= k < n_trajectories for k in first):
        raise ValueError(f"there are {n_trajectories} trajectories, so not all of {list(first)}")
    return list(dict.fromkeys([*first, *range(n_trajectories)]))
