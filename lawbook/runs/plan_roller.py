"""Goes on with a plan: what the rest of it must show, rolled anew where what was seen may have changed it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lawbook.core.record import Trajectory
from lawbook.core.results import Counterexample, ExecutionResult, Prediction, ProgramError, Verdict, VerdictKind
from lawbook.ledger.contents import load_prediction
from lawbook.planning.live_prediction import retry_on_host_fault
from lawbook.planning.planner import roll
from lawbook.protocols import gate
from lawbook.protocols.protocol import Protocol
from lawbook.runs.action_executor import ActionExecutor
from lawbook.runs.event_log import EventLog
from lawbook.runs.state import ActivePlan
from lawbook.sandbox.host import Program


class PlanRoller:
    """Rolls plans on for a session. get_program: of a member, as it stands."""

    def __init__(
        self, event_log: EventLog, executor: ActionExecutor, protocol: Protocol, get_program: Callable[[int], Program]
    ) -> None:
        self._event_log, self._executor, self._protocol, self._get_program = event_log, executor, protocol, get_program
        self._rolled: tuple[int, int, tuple[Prediction, ...]] = (-1, 0, ())  # the plan, actions sent then, what follows

    def get_expected(self, active: ActivePlan) -> Prediction | None:
        """Return what the next action of a plan must be predicted to show; None where that is not known."""
        return next(iter(self.list_upcoming(active, 1)), None)

    def list_upcoming(self, active: ActivePlan, limit: int | None = None) -> Sequence[Prediction]:
        """List what the rest of a plan is predicted to show, or its first `limit` actions; empty where that is not known."""
        plan_seq, n_then, predictions = self._rolled
        if plan_seq == active.plan_seq:
            return predictions[active.n_sent - n_then :][:limit]
        if self._may_change(active) and active.n_open:
            return ()
        return [load_prediction(self._event_log.ledger, outcome) for outcome in active.predictions[active.n_sent :][:limit]]

    def roll_on(self, active: ActivePlan) -> ExecutionResult | None:
        """Roll what is left of a plan anew where its last step may have shown more than was predicted of it.

        Returns how the plan ended by that. None: it still ends in its aim, and what was rolled is what its next steps must show.
        """
        if not active.n_open or not self._may_change(active):
            return None
        if not active.is_open:
            return self._roll_again(active) if self._rolled[0] != active.plan_seq else None
        actions = active.executable.list_remaining(active.n_sent)
        rollout = retry_on_host_fault(self._executor.roll_on, active.member, actions, active.subgoal)
        if isinstance(rollout, ProgramError) and rollout.kind == "subgoal":
            return self._end_changed_plan(active, f"The subgoal itself fails: {rollout.reason}")
        if isinstance(rollout, Counterexample | ProgramError):
            return self._falsify(active, rollout)
        predictions, holds = rollout
        change = gate.explain_plan_change(predictions, holds, active.aim)
        if change is not None:
            return self._end_changed_plan(active, change)
        self._rolled = (active.plan_seq, active.n_sent, predictions)
        return None

    def _may_change(self, active: ActivePlan) -> bool:
        """Whether what is seen can change where this plan leads."""
        member = self._event_log.state.members[active.member]
        return self._protocol.allows_open and member.admissible and self._get_program(active.member).has_update

    def _roll_again(self, active: ActivePlan) -> ExecutionResult | None:
        """After a resume: what had been rolled where something was last left open, rolled once more from there."""
        current, program = self._event_log.state.record.current, self._get_program(active.member)
        prefix = Trajectory(current.first, current.earlier)
        for step in current.steps[: len(current) - (active.n_sent - active.n_open)]:
            prefix.append(*step)
        actions = active.executable.list_remaining(active.n_open)
        rollout = retry_on_host_fault(roll, program, prefix, actions, active.subgoal)
        if isinstance(rollout, ProgramError):
            return self._falsify(active, rollout)
        self._rolled = (active.plan_seq, active.n_open, rollout[0])
        return None

    def _falsify(self, active: ActivePlan, finding: Counterexample | ProgramError) -> ExecutionResult:
        if isinstance(finding, Counterexample):
            verdict = Verdict(VerdictKind.COUNTEREXAMPLE, finding.text, finding)
        else:
            verdict = Verdict(VerdictKind.FAULT, f"Going on with a plan: {finding.reason}", fault=finding)
        self._executor.falsify(active.member, verdict)
        return ExecutionResult((), None, None, (active.member,), verdict.reason)

    def _end_changed_plan(self, active: ActivePlan, reason: str) -> ExecutionResult:
        self._event_log.append_verdict(active.member, "plan", Verdict(VerdictKind.CHANGED, reason))
        return ExecutionResult((), None, halt_reason=reason)
