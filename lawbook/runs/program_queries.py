"""Queries of programs and scripts: the half of a session that runs code and writes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from lawbook.core import validation
from lawbook.core.hypothesis import Hypothesis
from lawbook.core.record import Action
from lawbook.core.results import Prediction, ProgramError, Verdict
from lawbook.errors import HostError, RefusedError
from lawbook.planning.live_prediction import LivePredictor, retry_on_host_fault
from lawbook.planning.planner import roll
from lawbook.planning.regression import describe_regressions, replan_completed_levels
from lawbook.runs import record_scripts
from lawbook.runs.queries import RunQueries
from lawbook.runs.state import Member
from lawbook.sandbox.host import Host, Program
from lawbook.verification.replay import verify
from lawbook.worlds.world import World


class ProgramQueries(RunQueries):
    """A run asked through its programs. host: where they run."""

    host: Host
    world: World
    _predictor: LivePredictor

    def run_python(self, code: str) -> str:
        """Run `code` over the record in the sandbox; return what it prints. Changes nothing. See record_scripts.GUIDE."""
        return record_scripts.run_script(self.host, self.record, validation.validate_text(code, "The code"))

    def verify(self, member: int = 0) -> Verdict:
        """Replay the whole record once more with this member's program. Changes nothing. Raises RefusedError without a program."""
        return verify(self._get_program(member), self.record, compared_fields=self.protocol.compared_fields)

    def simulate(
        self, actions: Sequence[Action], member: int = 0, trajectory: int = -1, step: int | None = None
    ) -> tuple[Prediction, ...]:
        """Return what this member's program says `actions` would show, from the present or after `step` actions of a trajectory.

        Any program that was once accepted may be asked, falsified or not. Nothing is sent. Raises RefusedError.
        """
        rollout = retry_on_host_fault(
            roll,
            self._get_program(member),
            self.get_prefix(trajectory, step),
            [validation.validate_action(action) for action in actions],
        )
        if isinstance(rollout, ProgramError):
            raise RefusedError(f"The program fails on those actions: {rollout.reason}")
        return rollout[0]

    def _describe_regressions(self, m: Member, candidate: Hypothesis) -> str:
        """What to tell of completed levels that a changed program sees no way through any more; empty when there is nothing."""
        if not self.state.n_completed or (m.hypothesis is not None and candidate.has_same_program(m.hypothesis)):
            return ""
        results = [
            replan_completed_levels(self._load_program(m.index, hypothesis), self.record, self.world.spec.clicks)
            for hypothesis in (m.hypothesis, candidate)
            if hypothesis is not None
        ]
        return describe_regressions({result.level for result in results[0] if result.planned_length is not None}, results[-1])

    def _get_program(self, member: int) -> Program:
        hypothesis = self._get_member(member).hypothesis
        if hypothesis is None:
            raise RefusedError("There is no program yet; propose one.")
        return self._load_program(member, hypothesis)

    def _load_program(self, member: int, hypothesis: Hypothesis) -> Program:
        program = self._predictor.load_program(member, hypothesis)
        if isinstance(program, ProgramError):
            raise HostError(f"A program that was accepted does not load any more ({program.reason}); resume the run to try again.")
        return program
