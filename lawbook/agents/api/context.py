"""One command being answered: whose it is, and what it may use."""

from __future__ import annotations

from dataclasses import dataclass, field

from lawbook.agents.api.memory import DoorMemory
from lawbook.agents.api.usage import UsageCounter
from lawbook.agents.api.workspace import Workspace
from lawbook.core.hypothesis import Hypothesis
from lawbook.runs.session import Session
from lawbook.runs.state import Member


@dataclass(frozen=True)
class CommandContext:
    """What an operation is given: the run, the workspace of `member`, what all doors have cost so far, and its standard
    input; memory: what the door remembers of that member."""

    session: Session
    workspace: Workspace
    member: int
    usage: UsageCounter
    stdin: str = ""
    memory: DoorMemory = field(default_factory=DoorMemory)

    @property
    def member_state(self) -> Member:
        """The state of the member whose door this is."""
        return self.session.state.members[self.member]

    def read_hypothesis(self) -> Hypothesis:
        """Read what stands in the workspace now. Raises RefusedError where it cannot be read."""
        return self.workspace.read_hypothesis(rulebook=self.session.protocol.needs_rulebook)
