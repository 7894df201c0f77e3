"""What can be asked of a run without changing it: the reading half of a session, for our loop and for every door."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lawbook.core.hypothesis import Hypothesis
from lawbook.core.record import Observation, Record, Status, Trajectory
from lawbook.core.results import Counterexample, Prediction
from lawbook.errors import RefusedError, UsageError
from lawbook.ledger.git_versions import GitMemory
from lawbook.minds.base import Version
from lawbook.protocols.protocol import Protocol
from lawbook.runs.event_log import Journal
from lawbook.runs.state import Ending, Member, State


@dataclass(frozen=True)
class Standing:
    """Where a run stands. level from 0; sent, left: actions; unpredicted: actions that may still go without a prediction, None:
    any number; admissible: members that may steer; due: members whose mind is to reflect."""

    status: Status
    level: int
    levels: int | None
    sent: int
    left: int
    unpredicted: int | None
    admissible: tuple[int, ...]
    due: tuple[int, ...]
    ended: Ending | None


class Reading:
    """A fold over a journal, asked. budget: actions in all (B); rules: the protocol."""

    journal: Journal
    git: GitMemory
    rules: Protocol
    budget: int
    _rolled: Sequence[Prediction]

    @property
    def state(self) -> State:
        return self.journal.state

    @property
    def record(self) -> Record:
        return self.state.record

    @property
    def ended(self) -> Ending | None:
        return self.state.ending

    @property
    def left(self) -> int:
        """Actions that may still be sent."""
        return self.budget - self.state.sent

    @property
    def ahead(self) -> Sequence[Prediction]:
        """What the rest of the plan being followed is predicted to show; empty where nobody knows, as after a resume."""
        active = self.state.active
        return self._rolled[active.at :] if active else ()

    def admissible(self) -> list[int]:
        return [m.index for m in self.state.members if m.admissible]

    def due(self) -> list[int]:
        """Members whose mind is to reflect now. None where the protocol asks for no hypothesis."""
        if self.ended or not self.rules.needs_hypothesis:
            return []
        return [m.index for m in self.state.members if m.due]

    def status(self) -> Standing:
        """Where the run stands, budget and allowance included."""
        allowed, last = self.rules.allowance(self.budget), self.record.last
        return Standing(
            status=last.status if last else Status.RUNNING,
            level=self.record.level,
            levels=self.record.levels,
            sent=self.state.sent,
            left=self.left,
            unpredicted=None if allowed is None else max(0, allowed - self.state.unpredicted),
            admissible=tuple(self.admissible()),
            due=tuple(self.due()),
            ended=self.ended,
        )

    def observe(self, trajectory: int = -1, step: int = -1) -> Observation:
        """What was seen: by default last; else after `step` actions of a trajectory (0: its first). Raises RefusedError."""
        try:
            there = self.record.trajectories[trajectory]
            step = range(len(there) + 1)[step]
        except IndexError:
            raise RefusedError(
                f"There is no trajectory {trajectory} with a step {step} on record; see how many there are."
            ) from None
        return there.steps[step - 1][1] if step else there.first

    def history(self, member: int = 0) -> tuple[Version, ...]:
        """Every proposal of a member that was settled, in order, refused ones too."""
        return tuple(self._member(member).history)

    def counterexample(self, member: int = 0) -> Counterexample | None:
        """Where this member's last proposal, or its standing program, was last found wrong."""
        verdict = self._member(member).verdict
        return verdict.counterexample if verdict else None

    def restore(self, version: int, member: int = 0) -> Hypothesis:
        """An accepted version of a member (from 1), to read or to propose again. Raises RefusedError when there is none."""
        try:
            return self.git.load(f"m{self._member(member).index}-i{version}")
        except UsageError as error:
            raise RefusedError(str(error)) from error

    def diff(self, old: int, new: int, member: int = 0) -> str:
        """What changed from one accepted version of a member to another, as a unified diff. Raises RefusedError."""
        index = self._member(member).index
        try:
            return self.git.diff(f"m{index}-i{old}", f"m{index}-i{new}")
        except UsageError as error:
            raise RefusedError(str(error)) from error

    def prefix(self, trajectory: int = -1, step: int | None = None) -> Trajectory:
        """A trajectory as it was after `step` actions (None: all it has), for simulating from there. Raises RefusedError."""
        self.observe(trajectory, -1 if step is None else step)
        there = self.record.trajectories[trajectory]
        copy = Trajectory(there.first)
        for action, observation in there.steps[:step]:
            copy.append(action, observation)
        return copy

    def _member(self, member: int) -> Member:
        members = self.state.members
        if type(member) is not int or not 0 <= member < len(members):
            raise RefusedError(f"There is no such member; members are numbered from 0 to {len(members) - 1}.")
        return members[member]
