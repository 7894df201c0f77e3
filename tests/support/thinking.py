"""A scripted mind that thinks at its desk: inner calls of a scripted model for each answer, every one through the ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from minds import Scripted

from lawbook.core.hypothesis import Hypothesis, Proposal
from lawbook.core.results import Judgement, Probe, Subgoal
from lawbook.errors import MindError
from lawbook.minds.base import Case, Exchange, judge_by_citations

RECEIPT = {"input_tokens": 100, "cached_tokens": 60, "output_tokens": 20, "reasoning_tokens": 5, "dollars": 0.25, "retries": 1}


class DownError(MindError):
    """The provider died; what the call cost until then."""

    receipt: ClassVar = {"input_tokens": 9, "output_tokens": 2, "dollars": 0.125, "failures": 1}


class Thinking(Scripted):
    """Scripted, but for every answer it asks its model first: reflect (twice the same), then compile, or one call of the name.

    The model's answers are a function of the request. dies: numbers of requests (from 1) at which the provider is down.
    asked: what the model was asked, as (step, request).
    """

    def __init__(self, *given: object, dies: Callable[[int], bool] = lambda number: False, **more: object) -> None:
        super().__init__(*given, **more)  # type: ignore[arg-type]
        self.asked: list[tuple[str, str]] = []
        self._dies = dies

    def think(self, case: Case, step: str, request: str) -> str:
        assert case.tools is not None

        def ask() -> Exchange:
            self.asked.append((step, request))
            if self._dies(len(self.asked)):
                raise DownError("The provider is down.")
            return Exchange(f"{step} says {len(request)}", RECEIPT)

        return case.tools.exchange(step, request, ask)

    def propose(self, case: Case) -> Proposal:
        assert case.tools is not None
        seen = case.tools.python("print(len(record), frames.shape, [a.id for a in actions])")
        thoughts = [self.think(case, "reflect", seen) for _ in range(2)]
        thoughts.append(self.think(case, "compile", f"{seen} {thoughts}"))
        proposal = super().propose(case)
        return Proposal(proposal.decision, proposal.rulebook, proposal.files, "; ".join(thoughts))

    def judge(self, case: Case, hypothesis: Hypothesis) -> Judgement:
        self.think(case, "judge", hypothesis.rulebook)
        return judge_by_citations(hypothesis)

    def explore(self, case: Case) -> Subgoal | Probe:
        self.think(case, "explore", f"{case.record.n_actions} {case.refusal}")
        return super().explore(case)

    def receipt(self) -> Mapping[str, float | int | str]:
        return {}
