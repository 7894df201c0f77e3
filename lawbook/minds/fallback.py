"""A mind with help at its side: one that writes its first hypothesis (--seed-with), one that explores where it cannot (--fallback).

Help is off unless asked for, and every answer that was not the mind's own is marked in the ledger, in the receipt of its call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lawbook.core.hypothesis import Decision, Hypothesis, Proposal
from lawbook.core.results import Judgement, Probe, Subgoal
from lawbook.errors import UsageError
from lawbook.minds.base import Case, Mind
from lawbook.minds.registry import make_mind


class HelpedMind:
    """`mind`, with `seed` for the first hypothesis of each member and `fallback` for explorations. Either may be None."""

    def __init__(self, mind: Mind, *, seed: Mind | None = None, fallback: Mind | None = None) -> None:
        self.mind, self.seed, self.fallback = mind, seed, fallback
        self.name, self.proposes = mind.name, mind.proposes
        self._mark: dict[str, float | int | str] = {}
        self._asked: list[Mind] = []
        self._wrote: dict[int, Hypothesis] = {}

    def propose(self, case: Case) -> Proposal:
        """The mind's; but the seed's as long as this member has proposed nothing."""
        self._begin()
        seeded = self._seeded(case)
        if seeded is None:
            return self._ask(self.mind).propose(case)
        assert self.seed is not None
        self._mark = {"seeded_by": self.seed.name}
        self._wrote[case.member] = seeded.applied_to(case.hypothesis)
        return replace(seeded, diagnosis=f"Seeded by {self.seed.name}: {seeded.diagnosis}".strip(" :"))

    def judge(self, case: Case, hypothesis: Hypothesis) -> Judgement:
        """The mind's; the seed judges what it wrote itself."""
        self._begin()
        if self.seed is None or not self._first(case) or self._written(case) != hypothesis:
            return self._ask(self.mind).judge(case, hypothesis)
        self._mark = {"seeded_by": self.seed.name}
        return self._ask(self.seed).judge(case, hypothesis)

    def explore(self, case: Case) -> Subgoal | Probe:
        """The mind's; but one action of the fallback's where the mind's answer is of no use, or its last one was of none."""
        self._begin()
        if self.fallback is None:
            return self._ask(self.mind).explore(case)
        found = None if case.refusal else self._ask(self.mind).explore(case)
        if found is not None and not (isinstance(found, Subgoal) and found.unusable):
            return found
        self._mark = {"fallback": self.fallback.name}
        # Its subgoals speak of its own program's states: as if none stood, it names the next action instead.
        given = self._ask(self.fallback).explore(replace(case, admissible=False))
        return given if isinstance(given, Probe) else found or self._ask(self.mind).explore(case)

    def receipt(self) -> Mapping[str, float | int | str]:
        """What everybody cost who was asked in the last call, with whose answer it was."""
        costs: dict[str, float | int | str] = {}
        for mind in self._asked:
            for name, value in mind.receipt().items():
                known = costs.get(name, 0)
                both = not isinstance(value, str) and not isinstance(known, str)
                costs[name] = known + value if both else value  # type: ignore[operator]
        mark = self._mark
        self._begin()
        return {**costs, **mark} if costs or not mark else {**mark, "requests": 0}

    def _begin(self) -> None:
        self._mark, self._asked = {}, []

    def _ask(self, mind: Mind) -> Mind:
        if not any(mind is one for one in self._asked):
            self._asked.append(mind)
        return mind

    def _seeded(self, case: Case) -> Proposal | None:
        if self.seed is None or not self._first(case):
            return None
        given = self._ask(self.seed).propose(case)
        return None if given.decision is Decision.RETAIN else given

    def _first(self, case: Case) -> bool:
        return case.hypothesis is None and not case.history

    def _written(self, case: Case) -> Hypothesis | None:
        """What the seed wrote for this member. A resume does not know; then only a seed that is free, and says the same, is asked
        again."""
        if case.member not in self._wrote and getattr(self.seed, "free", False):
            seeded = self._seeded(case)
            if seeded is not None:
                self._wrote[case.member] = seeded.applied_to(case.hypothesis)
        return self._wrote.get(case.member)


def mind_named(text: str, *, images: bool = False, seed_with: str = "", fallback: str = "") -> Mind:
    """The mind of a run as it was asked for. images: show it pictures too. Raises UsageError."""
    mind = make_mind(text, images=images)
    if not seed_with and not fallback:
        return mind
    if _drives(mind):
        raise UsageError(f"The mind {mind.name} drives the run itself and takes no help; leave out --seed-with and --fallback.")
    seed, other = (make_mind(name) if name else None for name in (seed_with, fallback))
    for option, helper in (("--seed-with", seed), ("--fallback", other)):
        if helper is not None and _drives(helper):
            raise UsageError(f"The mind {helper.name} drives runs and answers no question; name another mind with {option}.")
    if seed is not None and not (seed.proposes and mind.proposes):
        which = seed if not seed.proposes else mind
        raise UsageError(f"The mind {which.name} proposes no hypotheses; leave out --seed-with, or name another.")
    return HelpedMind(mind, seed=seed, fallback=other)


def _drives(mind: Mind) -> bool:
    return bool(getattr(mind, "drives", False))
