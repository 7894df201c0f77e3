"""Queries of a run, none of which changes it: the reading half of a session, for our loop and for every door."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lawbook.core.hypothesis import Hypothesis
from lawbook.core.record import Observation, Record, Status, Trajectory
from lawbook.core.results import Counterexample, Prediction, RunOutcome
from lawbook.errors import RefusedError, UsageError
from lawbook.ledger.contents import load_prediction
from lawbook.ledger.git_versions import GitVersions
from lawbook.minds.base import Version
from lawbook.planning import population
from lawbook.protocols.protocol import Protocol
from lawbook.runs.event_log import EventLog
from lawbook.runs.state import Member, State


@dataclass(frozen=True)
class RunStatus:
    """The standing of a run.

    level from 0; sent, left: actions; unpredicted: actions that may still go without a prediction, None: any number; admissible:
    members that may steer; due: members whose mind is to reflect.
    """

    status: Status
    level: int
    levels: int | None
    n_actions: int
    actions_left: int
    unpredicted_left: int | None
    admissible: tuple[int, ...]
    due: tuple[int, ...]
    outcome: RunOutcome | None


class RunQueries:
    """A fold over a journal, asked. budget: actions in all (B); seed: of every draw."""

    event_log: EventLog
    git: GitVersions
    protocol: Protocol
    budget: int
    seed: int

    @property
    def state(self) -> State:
        """The state of the run, folded from its ledger."""
        return self.event_log.state

    @property
    def record(self) -> Record:
        """The record so far."""
        return self.state.record

    @property
    def outcome(self) -> RunOutcome | None:
        """The outcome of the run; None while it goes on."""
        return self.state.outcome

    @property
    def actions_left(self) -> int:
        """Actions that may still be sent."""
        return self.budget - self.state.n_actions

    @property
    def ahead(self) -> Sequence[Prediction]:
        """Return what the rest of the plan being followed is predicted to show; empty where the ledger does not say."""
        active, ledger = self.state.active_plan, self.event_log.ledger
        return [load_prediction(ledger, outcome) for outcome in active.predictions[active.n_sent :]] if active else ()

    def list_admissible_members(self) -> list[int]:
        """List the members that may steer."""
        return [m.index for m in self.state.members if m.admissible]

    def list_due_members(self) -> list[int]:
        """List the members whose mind is to reflect now. None where the protocol asks for no hypothesis."""
        if self.outcome or not self.protocol.needs_hypothesis:
            return []
        return [m.index for m in self.state.members if m.is_due]

    def pick_explorer(self) -> int | None:
        """Pick the member whose mind explores: an admissible one, else any, drawn. None: nothing may be sent without a model."""
        allowance = self.protocol.get_allowance(self.budget)
        if not self.list_admissible_members() and allowance is not None and self.state.n_unpredicted >= allowance:
            return None
        members = self.list_admissible_members() or [m.index for m in self.state.members]
        return population.draw_explorer(members, self.seed, self.state.n_actions)

    def get_status(self) -> RunStatus:
        """Return where the run stands, budget and allowance included."""
        allowance, last_observation = self.protocol.get_allowance(self.budget), self.record.last
        return RunStatus(
            status=last_observation.status if last_observation else Status.RUNNING,
            level=self.record.level,
            levels=self.record.levels,
            n_actions=self.state.n_actions,
            actions_left=self.actions_left,
            unpredicted_left=None if allowance is None else max(0, allowance - self.state.n_unpredicted),
            admissible=tuple(self.list_admissible_members()),
            due=tuple(self.list_due_members()),
            outcome=self.outcome,
        )

    def get_observation(self, trajectory: int = -1, step: int = -1) -> Observation:
        """Return what was seen: by default last; else after `step` actions of a trajectory (0: its first). Raises RefusedError."""
        try:
            selected = self.record.trajectories[trajectory]
            step = range(len(selected) + 1)[step]
        except IndexError:
            raise RefusedError(
                f"There is no trajectory {trajectory} with a step {step} on record; see how many there are."
            ) from None
        return selected.steps[step - 1][1] if step else selected.first

    def get_history(self, member: int = 0) -> tuple[Version, ...]:
        """Return every proposal of a member that was settled, in order, refused ones too."""
        return tuple(self._get_member(member).history)

    def get_counterexample(self, member: int = 0) -> Counterexample | None:
        """Return where this member's last proposal, or its standing program, was last found wrong."""
        verdict = self._get_member(member).verdict
        return verdict.counterexample if verdict else None

    def load_version(self, version: int, member: int = 0) -> Hypothesis:
        """Load an accepted version of a member (from 1), to read or to propose again. Raises RefusedError when there is none."""
        try:
            return self.git.load(f"m{self._get_member(member).index}-i{version}")
        except UsageError as error:
            raise RefusedError(str(error)) from error

    def diff_versions(self, old: int, new: int, member: int = 0) -> str:
        """Return what changed from one accepted version of a member to another, as a unified diff. Raises RefusedError."""
        index = self._get_member(member).index
        try:
            return self.git.diff(f"m{index}-i{old}", f"m{index}-i{new}")
        except UsageError as error:
            raise RefusedError(str(error)) from error

    def get_prefix(self, trajectory: int = -1, step: int | None = None) -> Trajectory:
        """Return a trajectory as it was after `step` actions (None: all), for simulating from there. Raises RefusedError."""
        self.get_observation(trajectory, -1 if step is None else step)
        selected = self.record.trajectories[trajectory]
        prefix = Trajectory(selected.first)
        for action, observation in selected.steps[:step]:
            prefix.append(action, observation)
        return prefix

    def _get_member(self, member: int) -> Member:
        members = self.state.members
        if type(member) is not int or not 0 <= member < len(members):
            raise RefusedError(f"There is no such member; members are numbered from 0 to {len(members) - 1}.")
        return members[member]

    def _require_open(self) -> None:
        if self.outcome:
            raise RefusedError(f"The run has ended ({self.outcome}); start another.")
        if self.state.intent is not None:
            raise RefusedError(f"What became of action {self.state.intent.action} is in doubt; resume the run to settle it.")

    def _require_running(self) -> None:
        self._require_open()
        if self.record.needs_reset:
            raise RefusedError("The level is over; only a reset makes sense now.")
