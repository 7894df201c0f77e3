"""`induce`: learn from the first part of a recording, foretell the rest one step ahead, and say how often that was right."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lawbook.arc.recording_io import read_record
from lawbook.core.hypothesis import Hypothesis, Trigger, find_rule_citations
from lawbook.core.record import RESET, Action, Frame, Observation, Record, Status, Trajectory
from lawbook.core.results import InitialObservation, Prediction, ProgramError
from lawbook.errors import UsageError
from lawbook.minds.base import Case, ExceptionCounter, Interface, Mind
from lawbook.protocols.protocol import PROTOCOLS, Protocol
from lawbook.sandbox.host import Host, Program
from lawbook.scoring.claims import ClaimCounts
from lawbook.verification import comparison
from lawbook.verification.comparison import is_frame_comparable
from lawbook.verification.replay import verify


class Transition(NamedTuple):
    """One step of the test: what was shown before, what was done, what came of it."""

    before: Frame
    action: Action
    observation: Observation

    @property
    def after(self) -> Frame:
        return self.observation.frame

    @property
    def status(self) -> Status:
        return self.observation.status

    @property
    def key(self) -> tuple[bytes, Action]:
        return self.before.tobytes(), self.action


@dataclass
class Accuracy:
    """Steps of which a share was right."""

    n_right: int = 0
    n_steps: int = 0

    def add(self, is_right: bool) -> None:
        self.n_right, self.n_steps = self.n_right + is_right, self.n_steps + 1

    def __str__(self) -> str:
        return f"{self.n_right / self.n_steps:>5.0%} of {self.n_steps}" if self.n_steps else "    - of 0"


@dataclass
class PredictorAccuracy:
    """How one way of foretelling did: on all steps, on pairs (frame, action) of the training, and on those never seen."""

    name: str
    all_steps: Accuracy = field(default_factory=Accuracy)
    known_steps: Accuracy = field(default_factory=Accuracy)
    unknown_steps: Accuracy = field(default_factory=Accuracy)

    def add(self, is_known: bool, is_right: bool) -> None:
        self.all_steps.add(is_right)
        (self.known_steps if is_known else self.unknown_steps).add(is_right)


@dataclass(frozen=True)
class OneStepAccuracy:
    """What came of it. n_restarts: how often the program was initialised anew from a real frame, after it had been wrong.
    admissible: the program reproduces all of the training exactly. description_bytes: description length. seconds: of the
    reflection. claims: what was claimed of the cells that changed in the test."""

    predictors: tuple[PredictorAccuracy, ...]
    n_restarts: int
    admissible: bool
    description_bytes: int
    n_rules: int
    n_exceptions: int
    seconds: float
    hypothesis: Hypothesis
    claims: ClaimCounts


def measure_accuracy(
    file: Path, n_train: int, n_test: int, mind: Mind, host: Host, protocol: Protocol = PROTOCOLS["memento3"]
) -> OneStepAccuracy:
    """Give `mind` the first `train` actions of a recording, and ask its program about the `test` actions after them.

    Under a protocol that lets it, the program may leave cells and statuses open: a step is right when all that it claims is.

    The program is initialised at a trajectory's first frame and rolled over the real actions; a step is right when the settled
    frame and the status are (for one that completes a level the status alone, since its frame is the next level's). Once wrong,
    it is initialised anew from the real frame. Raises UsageError when the recording is too short.
    """
    record, spec = read_record(file)
    if record.n_actions < n_train + n_test or n_train < 1 or n_test < 1:
        raise UsageError(f"{file} holds {record.n_actions} actions; ask for --train and --test of that many in all.")
    training_record, interface = _truncate_record(record, n_train), Interface(spec.shape, spec.actions, spec.clicks, spec.levels)
    case = Case(
        interface,
        training_record,
        Trigger.START,
        None,
        False,
        None,
        "",
        n_test,
        n_test,
        0,
        1,
        0,
        0,
        needs_rulebook=protocol.needs_rulebook,
        allows_open=protocol.allows_open,
    )
    started = time.perf_counter()
    hypothesis = mind.propose(case).apply_to(None)
    seconds = time.perf_counter() - started
    program = host.load(hypothesis.files, protocol.find_open_rules(hypothesis.rulebook))
    if isinstance(program, ProgramError):
        raise UsageError(f"The mind's program does not load: {program.reason}")
    verdict = verify(program, training_record)
    memory = {
        transition.key: (transition.after, transition.status)
        for trajectory in training_record
        for transition in _iter_transitions(trajectory)
    }
    predictors = (
        PredictorAccuracy("program"),
        PredictorAccuracy("nothing changes"),
        PredictorAccuracy("memorised pairs, else nothing"),
    )
    n_restarts, claims = 0, ClaimCounts()
    seen_pairs = {
        (trajectory.first.level, *transition.key) for trajectory in training_record for transition in _iter_transitions(trajectory)
    }
    test_start = len(training_record.trajectories) - 1, len(training_record.current)
    for index in range(test_start[0], len(record)):
        trajectory, start = record.trajectories[index], test_start[1] if index == test_start[0] else 0
        transitions = list(_iter_transitions(trajectory))
        predictions = _predict_steps(program, trajectory, start)
        for transition in transitions[start:]:
            if predictors[0].all_steps.n_steps == n_test:
                break
            prediction, is_right, restarted = next(predictions)
            n_restarts += restarted
            pair = trajectory.first.level, *transition.key
            claims.add_step(prediction, transition.before, transition.observation, pair not in seen_pairs)
            seen_pairs.add(pair)
            is_known, is_completion = transition.key in memory, not is_frame_comparable(transition.status)
            predictors[0].add(is_known, is_right)
            is_unchanged = np.array_equal(transition.before, transition.after) and transition.status is Status.RUNNING
            predictors[1].add(is_known, is_unchanged and not is_completion)
            after, status = memory.get(transition.key, (transition.before, Status.RUNNING))
            predictors[2].add(is_known, status is transition.status and (is_completion or np.array_equal(after, transition.after)))
    rules = find_rule_citations(hypothesis).rules
    n_exceptions = mind.count_exceptions(case) if isinstance(mind, ExceptionCounter) else 0
    return OneStepAccuracy(
        predictors,
        n_restarts,
        verdict.admissible,
        hypothesis.description_bytes,
        len(rules),
        n_exceptions,
        seconds,
        hypothesis,
        claims,
    )


def _truncate_record(record: Record, n_actions: int) -> Record:
    """The first so many actions of a record, resets included."""
    part = Record(record.levels)
    for trajectory in record:
        if part.n_actions >= n_actions:
            break
        if part.last is None or part.last.status is not Status.COMPLETED:
            part.extend(RESET if len(part) else None, trajectory.first)
        for action, observation in trajectory.steps:
            if part.n_actions == n_actions:
                break
            part.extend(action, observation)
    return part


def _iter_transitions(trajectory: Trajectory) -> Iterator[Transition]:
    for k, (action, observation) in enumerate(trajectory.steps):
        yield Transition(trajectory.get_frame(k), action, observation)


def _predict_steps(program: Program, trajectory: Trajectory, start: int) -> Iterator[tuple[Prediction | None, bool, bool]]:
    """From step `start` on: what was foretold (None: the program failed), was that right, and was it initialised anew for it?"""
    initial_observation, first_step, has_restarted = InitialObservation.from_observation(trajectory.first), 0, False
    while first_step < len(trajectory):
        worker = program.start_worker()
        if isinstance(worker, ProgramError):
            raise UsageError(f"The mind's program does not start: {worker.reason}")
        with worker:
            replay = worker.replay(
                initial_observation, trajectory.actions[first_step:], observations=trajectory.observations[first_step:]
            )
        for step in range(first_step, len(trajectory)):
            (_, observation), k = trajectory.steps[step], step - first_step + 1
            prediction = replay.get_prediction(k) if k < len(replay.frames) else None
            is_right = prediction is not None and bool(comparison.is_right(prediction, observation.frame, observation.status))
            if step >= start:
                yield prediction, is_right, has_restarted and step == first_step
            if not is_right:
                break
        first_step, has_restarted = step + 1, True
        initial_observation = InitialObservation(
            trajectory.get_frame(first_step), trajectory.first.level, trajectory.last.available
        )


def format_accuracy(accuracy: OneStepAccuracy) -> str:
    """The figures as a table."""
    lines = [f"{'':32}{'every step':>14}{'pairs seen':>14}{'never seen':>14}"]
    lines += [
        f"{predictor.name:32}{predictor.all_steps!s:>14}{predictor.known_steps!s:>14}{predictor.unknown_steps!s:>14}"
        for predictor in accuracy.predictors
    ]
    reproduction = "reproduces" if accuracy.admissible else "DOES NOT reproduce"
    lines += [
        f"initialised anew {accuracy.n_restarts} times; {reproduction} the training exactly",
        f"description {accuracy.description_bytes:,} bytes, {accuracy.n_rules} rules, {accuracy.n_exceptions} exceptions; "
        f"reflection {accuracy.seconds:.2f} s",
    ]
    for name, cells in (("of changed cells", accuracy.claims.changed), ("of pairs first seen", accuracy.claims.first_seen)):
        n_cells = max(cells.n_cells, 1)
        lines.append(
            f"{name:20} {cells.n_right / n_cells:6.1%} claimed and right, {cells.n_wrong / n_cells:6.1%} claimed and wrong, "
            f"{cells.n_open / n_cells:6.1%} unclaimed, of {cells.n_cells:,}"
        )
    lines.append(
        f"steps with a wrong claim: {accuracy.claims.n_wrong_steps} of {accuracy.claims.n_steps} "
        f"({accuracy.claims.wrong_per_thousand:.0f} in 1,000)"
    )
    return "\n".join(lines)
