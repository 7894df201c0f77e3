"""Scripted minds for tests: real minds with a script instead of a model, played through the real session."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lawbook.core.hypothesis import ENGINE, Decision, Hypothesis, Proposal, Trigger
from lawbook.core.record import Action
from lawbook.core.results import Judgement, Probe, Subgoal
from lawbook.minds.base import Case, judge_by_citations

DOCS = Path(__file__).parents[2] / "docs"


def worked_example() -> Hypothesis:
    """The rulebook and program that docs/contract.md teaches with."""
    text = (DOCS / "contract.md").read_text(encoding="utf-8")
    rulebook, program = re.search(r"```markdown\n(.*?)```.*?```python\n(.*?)```", text, re.DOTALL).groups()  # type: ignore[union-attr]
    return Hypothesis(rulebook, {ENGINE: program})


def replaced(hypothesis: Hypothesis, old: str, new: str, rulebook: tuple[str, str] | None = None) -> Hypothesis:
    """The same with one thing changed in the program (and in the rulebook); what is changed must be there."""
    source = hypothesis.files[ENGINE]
    assert old in source
    book = hypothesis.rulebook
    if rulebook:
        assert rulebook[0] in book
        book = book.replace(*rulebook)
    return Hypothesis(book, {ENGINE: source.replace(old, new)})


class Scripted:
    """Answers `propose` from a list of hypotheses, one after the other, the last again and again; retains when that stands already.

    explores: answers to `explore` by actions sent so far, the last one repeated. Keeps the cases it was shown in `cases`, and what
    it judged in `judged`.
    """

    name = "scripted"
    proposes = True

    def __init__(
        self,
        hypotheses: Sequence[Hypothesis] = (),
        explores: Sequence[Subgoal | Probe] = (Probe(Action(3), "what does 3 do?"),),
        judge: Callable[[Hypothesis], Judgement] = judge_by_citations,
    ) -> None:
        self.hypotheses, self.explores, self.judges = list(hypotheses), list(explores), judge
        self.cases: list[Case] = []
        self.judged: list[Hypothesis] = []

    def propose(self, case: Case) -> Proposal:
        self.cases.append(case)
        # A function of the case alone: how many different texts this member has had judged so far.
        refused = [version.hypothesis for version in case.history]
        if case.trigger in (Trigger.LEVEL, Trigger.NO_PLAN, Trigger.SIMPLIFY):
            return Proposal(Decision.RETAIN)
        fresh = [h for h in self.hypotheses if h not in refused] or self.hypotheses[-1:]
        return as_proposal(case, fresh[0])

    def judge(self, case: Case, hypothesis: Hypothesis) -> Judgement:
        self.judged.append(hypothesis)
        return self.judges(hypothesis)

    def explore(self, case: Case) -> Subgoal | Probe:
        self.cases.append(case)
        return self.explores[min(case.record.n_actions, len(self.explores) - 1)]

    def receipt(self) -> Mapping[str, float | int | str]:
        return {"tokens": 7}


def as_proposal(case: Case, wanted: Hypothesis) -> Proposal:
    """`wanted` with the decision that fits what it changes."""
    if not case.needs_rulebook:
        return Proposal(Decision.REPAIR_CODE, None, wanted.files, "scripted")
    if case.hypothesis is None or case.hypothesis.rulebook != wanted.rulebook:
        return Proposal(Decision.REVISE_RULEBOOK, wanted.rulebook, wanted.files, "scripted")
    return Proposal(Decision.REPAIR_CODE, None, wanted.files, "scripted")
