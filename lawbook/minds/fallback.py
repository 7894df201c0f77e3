"""A mind with help at its side: one that writes its first hypothesis (--seed-with), one that explores where it cannot (--fallback).

Help is off unless asked for, and every answer that was not the mind's own is marked in the ledger, in the receipt of its call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lawbook.core.hypothesis import Decision, Hypothesis, Proposal
from lawbook.core.results import Judgement, Probe, Subgoal
from lawbook.errors import UsageError
from lawbook.minds.base import Case, Mind, is_driver, is_free
from lawbook.minds.registry import make_mind


class FallbackMind:
    """`mind`, with `seed` for the first hypothesis of each member and `fallback` for explorations. Either may be None."""

    def __init__(self, mind: Mind, *, seed: Mind | None = None, fallback: Mind | None = None) -> None:
        self.mind, self.seed, self.fallback = mind, seed, fallback
        self.name, self.proposes = mind.name, mind.proposes
        self._receipt_extras: dict[str, float | int | str] = {}
        self._called_minds: list[Mind] = []
        self._seed_hypotheses: dict[int, Hypothesis] = {}

    def propose(self, case: Case) -> Proposal:
        """Propose as the mind does; as long as this member has proposed nothing, as the seed does. Raises MindError."""
        self._begin_call()
        seed_proposal = self._propose_seed(case)
        if seed_proposal is None:
            return self._register_call(self.mind).propose(case)
        assert self.seed is not None
        self._receipt_extras = {"seeded_by": self.seed.name}
        self._seed_hypotheses[case.member] = seed_proposal.apply_to(case.hypothesis)
        return replace(seed_proposal, diagnosis=f"Seeded by {self.seed.name}: {seed_proposal.diagnosis}".strip(" :"))

    def judge(self, case: Case, hypothesis: Hypothesis) -> Judgement:
        """Judge as the mind does; a text that the seed wrote is judged by the seed. Raises MindError."""
        self._begin_call()
        if self.seed is None or not self._is_first_proposal(case) or self._find_seed_hypothesis(case) != hypothesis:
            return self._register_call(self.mind).judge(case, hypothesis)
        self._receipt_extras = {"seeded_by": self.seed.name}
        return self._register_call(self.seed).judge(case, hypothesis)

    def explore(self, case: Case) -> Subgoal | Probe:
        """Explore as the mind does; with one action of the fallback's where the mind's answer, or its last one, was of no use.

        Raises MindError where the mind fails and there is no fallback.
        """
        self._begin_call()
        if self.fallback is None:
            return self._register_call(self.mind).explore(case)
        answer = None if case.refusal else self._register_call(self.mind).explore(case)
        if answer is not None and not (isinstance(answer, Subgoal) and answer.unusable):
            return answer
        self._receipt_extras = {"fallback": self.fallback.name}
        # Its subgoals speak of its own program's states: as if none stood, it names the next action instead.
        fallback_answer = self._register_call(self.fallback).explore(replace(case, admissible=False))
        return fallback_answer if isinstance(fallback_answer, Probe) else answer or self._register_call(self.mind).explore(case)

    def receipt(self) -> Mapping[str, float | int | str]:
        """Return the sum of the costs of all who were asked in the last call, with the name of the one whose answer it was."""
        costs: dict[str, float | int | str] = {}
        for mind in self._called_minds:
            for name, value in mind.receipt().items():
                total = costs.get(name, 0)
                is_number = not isinstance(value, str) and not isinstance(total, str)
                costs[name] = total + value if is_number else value  # type: ignore[operator]
        extras = self._receipt_extras
        self._begin_call()
        return {**costs, **extras} if costs or not extras else {**extras, "requests": 0}

    def _begin_call(self) -> None:
        self._receipt_extras, self._called_minds = {}, []

    def _register_call(self, mind: Mind) -> Mind:
        if not any(mind is called_mind for called_mind in self._called_minds):
            self._called_minds.append(mind)
        return mind

    def _propose_seed(self, case: Case) -> Proposal | None:
        if self.seed is None or not self._is_first_proposal(case):
            return None
        proposal = self._register_call(self.seed).propose(case)
        return None if proposal.decision is Decision.RETAIN else proposal

    def _is_first_proposal(self, case: Case) -> bool:
        return case.hypothesis is None and not case.history

    def _find_seed_hypothesis(self, case: Case) -> Hypothesis | None:
        """Return what the seed wrote. A resume does not know; then only a seed that is free, and says the same, is asked
        again."""
        if case.member not in self._seed_hypotheses and is_free(self.seed):
            proposal = self._propose_seed(case)
            if proposal is not None:
                self._seed_hypotheses[case.member] = proposal.apply_to(case.hypothesis)
        return self._seed_hypotheses.get(case.member)


def make_mind_with_fallback(address: str, *, images: bool = False, seed_with: str = "", fallback: str = "") -> Mind:
    """Make the mind of a run as it was asked for. images: show it pictures too. Raises UsageError."""
    mind = make_mind(address, images=images)
    if not seed_with and not fallback:
        return mind
    if is_driver(mind):
        raise UsageError(f"The mind {mind.name} drives the run itself and takes no help; leave out --seed-with and --fallback.")
    seed_mind, fallback_mind = (make_mind(name) if name else None for name in (seed_with, fallback))
    for option, helper in (("--seed-with", seed_mind), ("--fallback", fallback_mind)):
        if helper is not None and is_driver(helper):
            raise UsageError(f"The mind {helper.name} drives runs and answers no question; name another mind with {option}.")
    if seed_mind is not None and not (seed_mind.proposes and mind.proposes):
        non_proposer = seed_mind if not seed_mind.proposes else mind
        raise UsageError(f"The mind {non_proposer.name} proposes no hypotheses; leave out --seed-with, or name another.")
    return FallbackMind(mind, seed=seed_mind, fallback=fallback_mind)
