"""One command being answered: whose it is, and what it may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lawbook.agents.api.memory import DoorMemory
from lawbook.agents.api.usage import UsageCounter
from lawbook.agents.api.workspace import Workspace
from lawbook.core.hypothesis import Hypothesis
from lawbook.core.results import ProgramError
from lawbook.errors import RefusedError
from lawbook.runs.session import Session
from lawbook.runs.state import Member
from lawbook.sandbox.host import Program


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

    def load_program(self, hypothesis: Hypothesis) -> Program:
        """Load the program of a hypothesis; its rulebook says what it may leave open. Raises RefusedError where it fails."""
        return self._load(hypothesis.files, hypothesis.rulebook)

    def load_drafted_program(self) -> Program:
        """Load what stands in the workspace; its rulebook matters only where it may leave things open. Raises RefusedError."""
        if self.session.protocol.allows_open:
            return self.load_program(self.read_hypothesis())
        return self._load(self.workspace.read_program(), "")

    def _load(self, files: Mapping[str, str], rulebook: str) -> Program:
        program = self.session.host.load(files, self.session.protocol.find_open_rules(rulebook))
        if isinstance(program, ProgramError):
            raise RefusedError(f"The program does not load: {program.reason}")
        return program
