"""What each member predicts, live: one worker a member, standing where the present trajectory has got to. Never searched in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lawbook.core.hypothesis import Hypothesis
from lawbook.core.record import Action, Observation
from lawbook.core.results import Fault, Prediction, Start, Verdict
from lawbook.sandbox.host import Host, Program
from lawbook.sandbox.worker_client import Worker

_PERHAPS_OTHERS = ("killed", "time", "subgoal")
"""Kinds of fault that may be somebody else's doing; `subgoal` is whatever goes wrong where a subgoal is searched for (plan.py)."""


class Forecast:
    """Programs and live workers by member. A predicted action costs one step of each worker; nothing is replayed for it."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._programs: dict[int, tuple[Hypothesis, Program]] = {}
        self._workers: dict[int, Worker] = {}

    def program(self, member: int, hypothesis: Hypothesis) -> Program | Fault:
        """The loaded program of this member's hypothesis; loaded once for each version."""
        known = self._programs.get(member)
        if known is not None and known[0].same_program(hypothesis):
            return known[1]
        loaded = patiently(self.host.load, hypothesis.files)
        if not isinstance(loaded, Fault):
            self._programs[member] = (hypothesis, loaded)
        return loaded

    def enter(self, member: int, hypothesis: Hypothesis, first: Observation, actions: Sequence[Action] = ()) -> Prediction | Fault:
        """Initialise once from `first`, roll over `actions`, and stand there. Returns what is rendered at that point."""
        self.drop(member)
        program = self.program(member, hypothesis)
        if isinstance(program, Fault):
            return program
        worker = program.worker()
        if isinstance(worker, Fault):
            return worker
        try:
            replay = worker.replay(Start.of(first), actions)
        except BaseException:
            worker.close()
            raise
        if replay.fault is not None:
            worker.close()
            return replay.fault
        self._workers[member] = worker
        return Prediction(replay.frames[-1].copy(), replay.statuses[-1])

    def stands(self, member: int) -> bool:
        return member in self._workers

    def step(self, member: int, action: Action) -> Prediction | Fault:
        """What `action` is predicted to show. The worker stands behind it afterwards, or after a Fault nowhere."""
        seen = self._workers[member].step(action)
        if isinstance(seen, Fault):
            self.drop(member)
        return seen

    def drop(self, member: int) -> None:
        """End this member's worker; it is entered anew when it is next needed."""
        worker = self._workers.pop(member, None)
        if worker is not None:
            worker.close()

    def close(self) -> None:
        for member in list(self._workers):
            self.drop(member)


def patiently[**P, T](deed: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What came of running a program (a Fault or Verdict where it failed): once more where it was killed or late, for somebody
    else may have killed it, or used up this machine's time; a program that does it itself does it again."""
    seen = deed(*args, **kwargs)
    fault = seen if isinstance(seen, Fault) else seen.fault if isinstance(seen, Verdict) else None
    return deed(*args, **kwargs) if fault is not None and fault.kind in _PERHAPS_OTHERS else seen
