"""`induce`: learn from the first part of a recording, foretell the rest one step ahead, and say how often that was right."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lawbook.arc.recording_io import record_of
from lawbook.core.hypothesis import Hypothesis, trace
from lawbook.core.record import RESET, Action, Frame, Record, Status, Trajectory
from lawbook.core.results import Fault, Start
from lawbook.errors import UsageError
from lawbook.minds.base import Case, Interface, Mind, Why
from lawbook.sandbox.host import Host, Program
from lawbook.verification.replay import verify


class Pair(NamedTuple):
    """One step of the test: what was shown before, what was done, what came of it."""

    before: Frame
    action: Action
    after: Frame
    status: Status

    @property
    def key(self) -> tuple[bytes, Action]:
        return self.before.tobytes(), self.action


@dataclass
class Share:
    """Steps of which a share was right."""

    right: int = 0
    steps: int = 0

    def add(self, right: bool) -> None:
        self.right, self.steps = self.right + right, self.steps + 1

    def __str__(self) -> str:
        return f"{self.right / self.steps:>5.0%} of {self.steps}" if self.steps else "    - of 0"


@dataclass
class Row:
    """How one way of foretelling did: on all steps, on pairs (frame, action) of the training, and on those never seen."""

    name: str
    every: Share = field(default_factory=Share)
    seen: Share = field(default_factory=Share)
    unseen: Share = field(default_factory=Share)

    def add(self, known: bool, right: bool) -> None:
        self.every.add(right)
        (self.seen if known else self.unseen).add(right)


@dataclass(frozen=True)
class Foretold:
    """What came of it. restarts: how often the program was initialised anew from a real frame, after it had been wrong.
    admissible: the program reproduces all of the training exactly. bytes: description length. seconds: of the reflection."""

    rows: tuple[Row, ...]
    restarts: int
    admissible: bool
    bytes: int
    rules: int
    exceptions: int
    seconds: float
    hypothesis: Hypothesis


def foretell(file: Path, train: int, test: int, mind: Mind, host: Host) -> Foretold:
    """Give `mind` the first `train` actions of a recording, and ask its program about the `test` actions after them.

    The program is initialised at a trajectory's first frame and rolled over the real actions; a step is right when the settled
    frame and the status are (for one that completes a level the status alone, since its frame is the next level's). Once wrong,
    it is initialised anew from the real frame. Raises UsageError when the recording is too short.
    """
    record, spec = record_of(file)
    if record.actions < train + test or train < 1 or test < 1:
        raise UsageError(f"{file} holds {record.actions} actions; ask for --train and --test of that many in all.")
    known, interface = _until(record, train), Interface(spec.shape, spec.actions, spec.clicks, spec.levels)
    case = Case(interface, known, Why.START, None, False, None, "", test, test, 0, 1, 0, 0)
    began = time.perf_counter()
    hypothesis = mind.propose(case).applied_to(None)
    seconds = time.perf_counter() - began
    program = host.load(hypothesis.files)
    if isinstance(program, Fault):
        raise UsageError(f"The mind's program does not load: {program.reason}")
    verdict = verify(program, known)
    memory = {pair.key: (pair.after, pair.status) for trajectory in known for pair in _steps(trajectory)}
    rows = Row("program"), Row("nothing changes"), Row("memorised pairs, else nothing")
    restarts = 0
    first = len(known.trajectories) - 1, len(known.here)
    for index in range(first[0], len(record)):
        trajectory, start = record.trajectories[index], first[1] if index == first[0] else 0
        pairs = list(_steps(trajectory))
        told = _rolled(program, trajectory, start)
        for pair in pairs[start:]:
            if rows[0].every.steps == test:
                break
            said, restarted = next(told)
            restarts += restarted
            seen, ends = pair.key in memory, pair.status is Status.COMPLETED
            rows[0].add(seen, said)
            same = np.array_equal(pair.before, pair.after) and pair.status is Status.RUNNING
            rows[1].add(seen, same and not ends)
            after, status = memory.get(pair.key, (pair.before, Status.RUNNING))
            rows[2].add(seen, status is pair.status and (ends or np.array_equal(after, pair.after)))
    rules = trace(hypothesis).rules
    exceptions = int(getattr(mind, "exceptions", lambda _: 0)(case))
    return Foretold(rows, restarts, verdict.admissible, hypothesis.description_bytes, len(rules), exceptions, seconds, hypothesis)


def _until(record: Record, actions: int) -> Record:
    """The first so many actions of a record, resets included."""
    part = Record(record.levels)
    for trajectory in record:
        if part.actions >= actions:
            break
        if part.last is None or part.last.status is not Status.COMPLETED:
            part.extend(RESET if len(part) else None, trajectory.first)
        for action, observation in trajectory.steps:
            if part.actions == actions:
                break
            part.extend(action, observation)
    return part


def _steps(trajectory: Trajectory) -> Iterator[Pair]:
    for k, (action, observation) in enumerate(trajectory.steps):
        yield Pair(trajectory.frame(k), action, observation.frame, observation.status)


def _rolled(program: Program, trajectory: Trajectory, start: int) -> Iterator[tuple[bool, bool]]:
    """From step `start` on: was that step foretold exactly, and was the program initialised anew for it?"""
    opening, at, anew = Start.of(trajectory.first), 0, False
    while at < len(trajectory):
        worker = program.worker()
        if isinstance(worker, Fault):
            raise UsageError(f"The mind's program does not start: {worker.reason}")
        with worker:
            replay = worker.replay(opening, trajectory.actions[at:])
        for step in range(at, len(trajectory)):
            (_, seen), k = trajectory.steps[step], step - at + 1
            right = k < len(replay.frames) and replay.statuses[k] is seen.status
            right = right and (seen.status is Status.COMPLETED or np.array_equal(replay.frames[k], seen.frame))
            if step >= start:
                yield right, anew and step == at
            if not right:
                break
        at, anew = step + 1, True
        opening = Start(trajectory.frame(at), trajectory.first.level, trajectory.last.available)


def told(found: Foretold) -> str:
    """The figures as a table."""
    lines = [f"{'':32}{'every step':>14}{'pairs seen':>14}{'never seen':>14}"]
    lines += [f"{row.name:32}{row.every!s:>14}{row.seen!s:>14}{row.unseen!s:>14}" for row in found.rows]
    kept = "reproduces" if found.admissible else "DOES NOT reproduce"
    lines += [
        f"initialised anew {found.restarts} times; {kept} the training exactly",
        f"description {found.bytes:,} bytes, {found.rules} rules, {found.exceptions} exceptions; reflection {found.seconds:.2f} s",
    ]
    return "\n".join(lines)
