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
    """agent: of AGENTS; model: as the agent calls it, empty for its own choice. drives: it is handed the wheel, not asked."""

    proposes = True
    drives = True

    def __init__(self, agent: str, model: str = "") -> None:
        self.agent, self.model = agent, model
        self.name = f"coder:{agent}:{model}" if model else f"coder:{agent}"

    def propose(self, case: Case) -> NoReturn:
        raise MindError(f"The mind {self.name} drives a run and is not asked; play it with lawbook play --mind {self.name}.")

    explore = propose

    def judge(self, case: Case, hypothesis: Hypothesis) -> Judgement:
        return judge_by_citations(hypothesis)

    def receipt(self) -> Mapping[str, float | int | str]:
        return {}


class CodingAgentSource:
    """The entry point `coder`."""

    summary = "A command line agent at the wheel, confined to a workspace: coder:AGENT, coder:AGENT:MODEL."

    def names(self) -> Iterable[tuple[str, str]]:
        return [(f"coder:{agent}", description) for agent, description in AGENTS.items()]

    def make(self, argument: str) -> CodingAgentMind:
        agent, _, model = argument.partition(":")
        if agent not in AGENTS:
            raise UsageError(
                f"There is no agent {agent!r} to put at the wheel; write --mind "
                f"{' or --mind '.join(f'coder:{known_agent}' for known_agent in AGENTS)}."
            )
        return CodingAgentMind(agent, model)


SOURCE = CodingAgentSource()
