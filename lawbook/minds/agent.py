"""The mind that is an agent at the wheel: it is not asked, it drives the run through its workspace (see lawbook.agents.runner)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NoReturn

from lawbook.core.hypothesis import Hypothesis
from lawbook.core.results import Judgement
from lawbook.errors import MindError, UsageError
from lawbook.minds.base import Case, judge_by_citations

AGENTS = {
    "claude": "your installed Claude Code, headless (ANTHROPIC_API_KEY)",
    "codex": "your installed Codex, headless (OPENAI_API_KEY)",
}


class CodingAgentMind:
    """A command line agent that drives a run itself and is asked nothing.

    agent: of AGENTS. model: as the agent calls it, empty for its own choice. drives: it is handed the run, not asked.
    """

    proposes = True
    drives = True

    def __init__(self, agent: str, model: str = "") -> None:
        self.agent, self.model = agent, model
        self.name = f"coder:{agent}:{model}" if model else f"coder:{agent}"

    def propose(self, case: Case) -> NoReturn:
        """Raise MindError, always: this mind drives a run and is not asked."""
        raise MindError(f"The mind {self.name} drives a run and is not asked; play it with lawbook play --mind {self.name}.")

    explore = propose

    def judge(self, case: Case, hypothesis: Hypothesis) -> Judgement:
        """Judge by citations alone: the rules that the code names in comments."""
        return judge_by_citations(hypothesis)

    def receipt(self) -> Mapping[str, float | int | str]:
        """Return an empty receipt: the agent's spending is metered where it runs."""
        return {}


class CodingAgentSource:
    """The entry point `coder`."""

    summary = "A command line agent at the wheel, confined to a workspace: coder:AGENT, coder:AGENT:MODEL."

    def names(self) -> Iterable[tuple[str, str]]:
        """Return (address, description) of every agent."""
        return [(f"coder:{agent}", description) for agent, description in AGENTS.items()]

    def make(self, argument: str) -> CodingAgentMind:
        """Make the mind of `AGENT` or `AGENT:MODEL`. Raises UsageError for an agent that is none of AGENTS."""
        agent, _, model = argument.partition(":")
        if agent not in AGENTS:
            options = " or ".join(f"--mind coder:{known_agent}" for known_agent in AGENTS)
            raise UsageError(f"There is no agent {agent!r} to put at the wheel; write {options}.")
        return CodingAgentMind(agent, model)


SOURCE = CodingAgentSource()
