"""The built-in mind: rulebook and program induced from the record alone, with no language model, no network, no world in mind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from lawbook.core.hypothesis import Decision, Hypothesis, Proposal
from lawbook.core.record import Record
from lawbook.core.results import Judgement, Outcome, Probe, Subgoal
from lawbook.errors import UsageError
from lawbook.minds.base import Case, Why, judge_by_trace
from lawbook.minds.induce.co_movers import studied
from lawbook.minds.induce.codegen import written
from lawbook.minds.induce.contact_log import Study
from lawbook.minds.induce.exceptions import memorised
from lawbook.minds.induce.exploration import exploration
from lawbook.minds.induce.law_induction import rivals
from lawbook.minds.induce.law_tables import Laws
from lawbook.minds.induce.mirrored_regions import copies, without
from lawbook.minds.induce.overlay_removal import Over, bared, patched
from lawbook.minds.induce.partial_view import dark, maps, unveiled, view
from lawbook.minds.induce.ranking import Team
from lawbook.minds.induce.walker import Walker


class Thought(NamedTuple):
    """What one state of the record leads to: what lies over it, the rest as seen, and the rival laws that fit it."""

    record: Record
    at: tuple[int, int]
    over: Over
    seen: Study
    team: Team


class InducingMind:
    """A frozen symbolic proposer. Its answers are functions of the case; what it keeps is only so as not to think twice."""

    name = "induce"
    proposes = True
    free = True  # it costs nothing, and says the same when it is asked again

    def __init__(self) -> None:
        self._thought: Thought | None = None

    def propose(self, case: Case) -> Proposal:
        """The best laws that no other member holds, with every exception that they need to reproduce the record."""
        current = case.hypothesis
        refused = [
            version.hypothesis
            for version in case.history
            if version.outcome is not Outcome.ADMISSIBLE and version.at == case.record.actions
        ]
        if current is not None and not case.admissible:
            refused.append(current)
        tried = next((h for h in self._hypotheses(case) if not any(_equal(h, other, case) for other in refused)), None)
        tried = tried or next(self._hypotheses(case))
        if current is not None and case.admissible:
            if case.why is Why.SIMPLIFY and not tried.same_program(current) and tried.description_bytes < current.description_bytes:
                return Proposal(
                    Decision.SIMPLIFY,
                    tried.rulebook if case.needs_rulebook else None,
                    tried.files,
                    "A shorter account of the same record.",
                )
            if case.why is Why.SIMPLIFY or tried.same_program(current):
                return Proposal(Decision.RETAIN, diagnosis="The record says nothing new.")
        diagnosis = _diagnosis(case)
        if case.needs_rulebook and (current is None or tried.rulebook != current.rulebook):
            return Proposal(Decision.REVISE_RULEBOOK, tried.rulebook, tried.files, diagnosis)
        return Proposal(Decision.REPAIR_CODE, None, tried.files, diagnosis)

    def judge(self, case: Case, hypothesis: Hypothesis) -> Judgement:
        """Faithful when every rule is cited by the code, and no other."""
        return judge_by_trace(hypothesis)

    def explore(self, case: Case) -> Subgoal | Probe:
        """The untried thing that is worth most, through the laws this member holds."""
        thought = self._think(case)
        laws, over = thought.team.whole(thought.team.own(case))
        return exploration(case, laws, over, thought.seen)

    def exceptions(self, case: Case) -> int:
        """How many observations this member's program has learnt by heart."""
        thought = self._think(case)
        laws, over = thought.team.whole(thought.team.own(case))
        recalled = sum(effect is not None for _, steps in (*laws.histories, *over.patches) for _, effect in steps)
        return len(laws.starts) + len(laws.places) + recalled

    def receipt(self) -> Mapping[str, float | int | str]:
        return {}

    def _think(self, case: Case) -> Thought:
        at = len(case.record), case.record.actions
        if self._thought is None or self._thought.record is not case.record or self._thought.at != at:
            bare = bared(case.record)
            over, record = bare.over, bare.record
            if shown_again := copies(record):
                over, record = replace(over, copies=shown_again), without(record, shown_again)
            hidden = dark(record)
            if hidden is not None:
                record = unveiled(record, hidden)
            seen = replace(studied(record), dark=hidden)
            if hidden is not None and (shown := view(bare.record, seen, hidden)):
                over = replace(over, view=shown, maps=maps(bare.record, record))
            self._thought = Thought(case.record, at, over, seen, Team(rivals(seen), seen, over, case.record))
        return self._thought

    def _hypotheses(self, case: Case) -> Iterator[Hypothesis]:
        """What this member is to hold first, then the others, and last the record learnt by heart with no avatar in it."""
        thought = self._think(case)
        for index in thought.team.order(case):
            laws, over = thought.team.whole(index)
            yield written(laws, over, case.interface.actions, thought.team.laws)
        by_heart = memorised(Laws(), studied(case.record, blind=True))
        yield written(by_heart, patched(Over(), Walker(by_heart), case.record), case.interface.actions)


def _equal(one: Hypothesis, other: Hypothesis, case: Case) -> bool:
    return one.same_program(other) and (one.rulebook == other.rulebook or not case.needs_rulebook)


def _diagnosis(case: Case) -> str:
    """What was wrong, in a sentence."""
    if case.verdict is not None and case.verdict.reason:
        return "Explained anew after: " + case.verdict.reason.split("\n", 1)[0][:300]
    return "A first account of what is seen." if case.hypothesis is None else "The record says more than was held."


class InduceSource:
    """The entry point `induce`."""

    summary = "Built in: symbolic induction from the record alone; no key, no network."

    def names(self) -> Iterable[tuple[str, str]]:
        return [("induce", self.summary)]

    def make(self, argument: str) -> InducingMind:
        if argument:
            raise UsageError(f"The mind induce takes nothing after a colon, not {argument!r}; write --mind induce.")
        return InducingMind()


SOURCE = InduceSource()
