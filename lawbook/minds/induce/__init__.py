"""The built-in mind: rulebook and program induced from the record alone, with no language model, no network, no world in mind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from lawbook.core.hypothesis import Decision, Hypothesis, Proposal, Trigger
from lawbook.core.record import Record
from lawbook.core.results import Judgement, Probe, Subgoal, VerdictKind
from lawbook.errors import UsageError
from lawbook.minds.base import Case, judge_by_citations
from lawbook.minds.induce.belief_codegen import write_belief
from lawbook.minds.induce.co_movers import analyse_record
from lawbook.minds.induce.codegen import write_hypothesis
from lawbook.minds.induce.contact_log import RecordAnalysis
from lawbook.minds.induce.exceptions import add_exceptions, add_starts
from lawbook.minds.induce.exploration import choose_exploration
from lawbook.minds.induce.law_induction import find_rival_laws
from lawbook.minds.induce.law_tables import Laws
from lawbook.minds.induce.mirrored_regions import find_mirrored_regions, remove_mirrored_regions
from lawbook.minds.induce.overlay_removal import Overlay, add_patches, strip_overlay
from lawbook.minds.induce.partial_view import fill_dark_cells, find_dark_colour, find_view_window, pack_level_maps
from lawbook.minds.induce.ranking import HypothesisRanking
from lawbook.minds.induce.walker import Walker


class Analysis(NamedTuple):
    """The findings about one state of the record: what lies over it, the rest as seen, and the rival laws that fit it."""

    record: Record
    record_size: tuple[int, int]
    overlay: Overlay
    record_analysis: RecordAnalysis
    ranking: HypothesisRanking


class InducingMind:
    """A frozen symbolic proposer. Its answers are functions of the case; what it keeps is only so as not to think twice."""

    name = "induce"
    proposes = True
    free = True  # it costs nothing, and says the same when it is asked again

    def __init__(self) -> None:
        self._analysis: Analysis | None = None

    def propose(self, case: Case) -> Proposal:
        """Propose the best laws that no other member holds, with every exception that they need to reproduce the record.

        Or something shorter, or nothing new, where that is all there is to say. Learnt from the record alone; raises nothing.
        """
        current = case.hypothesis
        refused = [
            version.hypothesis
            for version in case.history
            if version.outcome is not VerdictKind.ADMISSIBLE and version.n_actions == case.record.n_actions
        ]
        if current is not None and not case.admissible:
            refused.append(current)
        candidate = next(
            (h for h in self._generate_hypotheses(case) if not any(_is_equal(h, rejected, case) for rejected in refused)), None
        )
        candidate = candidate or next(self._generate_hypotheses(case))
        if current is not None and case.admissible:
            if (
                case.trigger is Trigger.SIMPLIFY
                and not candidate.has_same_program(current)
                and candidate.description_bytes < current.description_bytes
            ):
                return Proposal(
                    Decision.SIMPLIFY,
                    candidate.rulebook if case.needs_rulebook else None,
                    candidate.files,
                    "A shorter account of the same record.",
                )
            if case.trigger is Trigger.SIMPLIFY or candidate.has_same_program(current):
                return Proposal(Decision.RETAIN, diagnosis="The record says nothing new.")
        diagnosis = _write_diagnosis(case)
        if case.needs_rulebook and (current is None or candidate.rulebook != current.rulebook):
            return Proposal(Decision.REVISE_RULEBOOK, candidate.rulebook, candidate.files, diagnosis)
        return Proposal(Decision.REPAIR_CODE, None, candidate.files, diagnosis)

    def judge(self, case: Case, hypothesis: Hypothesis) -> Judgement:
        """Judge by citations: faithful when every rule is cited by the code, and no other."""
        return judge_by_citations(hypothesis)

    def explore(self, case: Case) -> Subgoal | Probe:
        """Choose the untried thing that is worth most, through the laws this member holds."""
        analysis = self._analyse(case)
        index = analysis.ranking.find_own(case)
        laws, overlay = analysis.ranking.complete_laws(index)
        current_state = analysis.ranking.find_state(index, case.record.current)
        if case.allows_open:  # for itself it knows more than its program says
            laws = add_starts(laws, analysis.record_analysis)
        return choose_exploration(case, laws, overlay, analysis.record_analysis, current_state)

    def count_exceptions(self, case: Case) -> int:
        """Count the observations that this member's program has learnt by heart."""
        analysis = self._analyse(case)
        laws, overlay = analysis.ranking.complete_laws(analysis.ranking.find_own(case))
        recalled = sum(effect is not None for _, steps in (*laws.histories, *overlay.patches) for _, effect in steps)
        return len(laws.starts) + len(laws.places) + recalled

    def receipt(self) -> Mapping[str, float | int | str]:
        """Return an empty receipt: it costs nothing."""
        return {}

    def _analyse(self, case: Case) -> Analysis:
        record_size = len(case.record), case.record.n_actions
        if self._analysis is None or self._analysis.record is not case.record or self._analysis.record_size != record_size:
            stripped = strip_overlay(case.record)
            overlay, record = stripped.overlay, stripped.record
            if mirrored_regions := find_mirrored_regions(record):
                overlay, record = replace(overlay, copies=mirrored_regions), remove_mirrored_regions(record, mirrored_regions)
            dark_colour = find_dark_colour(record)
            if dark_colour is not None:
                record = fill_dark_cells(record, dark_colour)
            record_analysis = replace(analyse_record(record), dark_colour=dark_colour)
            if dark_colour is not None and (view_window := find_view_window(stripped.record, record_analysis, dark_colour)):
                overlay = replace(overlay, view=view_window, maps=pack_level_maps(stripped.record, record))
            self._analysis = Analysis(
                case.record,
                record_size,
                overlay,
                record_analysis,
                HypothesisRanking(
                    find_rival_laws(record_analysis),
                    record_analysis,
                    overlay,
                    case.record,
                    case.interface if case.allows_open else None,
                ),
            )
        return self._analysis

    def _generate_hypotheses(self, case: Case) -> Iterator[Hypothesis]:
        """Generate what this member is to hold first, then the others, and last the record learnt by heart with no avatar in it."""
        analysis = self._analyse(case)
        for index in analysis.ranking.rank_laws(case):
            laws, overlay = analysis.ranking.complete_laws(index)
            if case.allows_open:
                unknown = analysis.ranking.learn_unknown(index)
                yield write_belief(laws, overlay, unknown, case.interface.actions, analysis.ranking.laws)
            else:
                yield write_hypothesis(laws, overlay, case.interface.actions, analysis.ranking.laws)
        memorised_laws = add_exceptions(Laws(), analyse_record(case.record, blind=True))
        yield write_hypothesis(memorised_laws, add_patches(Overlay(), Walker(memorised_laws), case.record), case.interface.actions)


def _is_equal(one: Hypothesis, other: Hypothesis, case: Case) -> bool:
    return one.has_same_program(other) and (one.rulebook == other.rulebook or not case.needs_rulebook)


def _write_diagnosis(case: Case) -> str:
    """Say what was wrong, in a sentence."""
    if case.verdict is not None and case.verdict.reason:
        return "Explained anew after: " + case.verdict.reason.split("\n", 1)[0][:300]
    return "A first account of what is seen." if case.hypothesis is None else "The record says more than was held."


class InduceSource:
    """The entry point `induce`."""

    summary = "Built in: symbolic induction from the record alone; no key, no network."

    def names(self) -> Iterable[tuple[str, str]]:
        """Return the one address there is, with its summary."""
        return [("induce", self.summary)]

    def make(self, argument: str) -> InducingMind:
        """Make the mind. Raises UsageError for any argument."""
        if argument:
            raise UsageError(f"The mind induce takes nothing after a colon, not {argument!r}; write --mind induce.")
        return InducingMind()


SOURCE = InduceSource()
