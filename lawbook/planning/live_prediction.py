"""Live predictions: one worker a member, standing where the present trajectory has got to. Never searched in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lawbook.core.hypothesis import Hypothesis
from lawbook.core.record import Action, Observation
from lawbook.core.results import InitialObservation, Prediction, ProgramError, Verdict
from lawbook.protocols.protocol import Protocol
from lawbook.sandbox.host import Host, Program
from lawbook.sandbox.worker_client import Worker

_HOST_FAULT_KINDS = ("killed", "time", "subgoal")
"""Kinds of fault that may be somebody else's doing; `subgoal` is whatever goes wrong where a subgoal is searched for
(planner.py)."""


class LivePredictor:
    """Programs and live workers by member. A predicted action costs one step of each worker; nothing is replayed for it."""

    def __init__(self, host: Host, protocol: Protocol) -> None:
        self.host, self._protocol = host, protocol
        self._programs: dict[int, tuple[Hypothesis, Program]] = {}
        self._workers: dict[int, Worker] = {}

    def load_program(self, member: int, hypothesis: Hypothesis) -> Program | ProgramError:
        """Load the program of this member's hypothesis; once for each version."""
        cached = self._programs.get(member)
        open_rules = self._protocol.find_open_rules(hypothesis.rulebook)
        if cached is not None and cached[0].has_same_program(hypothesis) and cached[1].open_rules == open_rules:
            return cached[1]
        program = retry_on_host_fault(self.host.load, hypothesis.files, open_rules)
        if not isinstance(program, ProgramError):
            self._programs[member] = (hypothesis, program)
        return program

    def start_worker(
        self,
        member: int,
        hypothesis: Hypothesis,
        first: Observation,
        actions: Sequence[Action] = (),
        observations: Sequence[Observation] = (),
    ) -> Prediction | ProgramError:
        """Initialise once from `first`, roll over `actions`, and stand there. Returns what is rendered at that point.

        observations: what was seen after each action but the last; that goes with the next step.
        """
        self.drop_worker(member)
        program = self.load_program(member, hypothesis)
        if isinstance(program, ProgramError):
            return program
        worker = program.start_worker()
        if isinstance(worker, ProgramError):
            return worker
        try:
            replay = worker.replay(InitialObservation.from_observation(first), actions, observations=observations)
        except BaseException:
            worker.close()
            raise
        if replay.fault is not None:
            worker.close()
            return replay.fault
        self._workers[member] = worker
        return replay.get_prediction(-1)

    def has_worker(self, member: int) -> bool:
        """Return whether a worker stands for this member."""
        return member in self._workers

    def predict_step(self, member: int, action: Action, observation: Observation | None = None) -> Prediction | ProgramError:
        """Predict what `action` will show. The worker stands behind it afterwards, or after a ProgramError nowhere.

        observation: what was seen after the step before, None at the start of a trajectory.
        """
        prediction = self._workers[member].step(action, observation)
        if isinstance(prediction, ProgramError):
            self.drop_worker(member)
        return prediction

    def roll_on(
        self, member: int, actions: Sequence[Action], observation: Observation, subgoal: str | None = None
    ) -> tuple[tuple[Prediction, ...], bool | None] | ProgramError:
        """Roll `actions` from here, after `observation`: what each is predicted to show, and does the goal (the subgoal) hold then?

        The worker goes on standing where it stands.
        """
        rollout = self._workers[member].roll(actions, observation, subgoal)
        if isinstance(rollout, ProgramError):
            self.drop_worker(member)
        return rollout

    def drop_worker(self, member: int) -> None:
        """End this member's worker; it is entered anew when it is next needed."""
        worker = self._workers.pop(member, None)
        if worker is not None:
            worker.close()

    def close(self) -> None:
        """Close every worker."""
        for member in list(self._workers):
            self.drop_worker(member)


def retry_on_host_fault[**P, T](function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a program (a ProgramError or Verdict comes back where it failed); once more where it was killed or late.

    Somebody else may have killed it, or used up this machine's time; a program that does it itself does it again.
    """
    result = function(*args, **kwargs)
    fault = result if isinstance(result, ProgramError) else result.fault if isinstance(result, Verdict) else None
    return function(*args, **kwargs) if fault is not None and fault.kind in _HOST_FAULT_KINDS else result
