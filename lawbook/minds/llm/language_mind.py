"""A frozen language model as a mind: reflect, revise, compile, judge, simplify, explore, each a call over a rebuilt context."""

from __future__ import annotations

from collections.abc import Mapping

from lawbook.core.hypothesis import RULEBOOK, Decision, Hypothesis, Proposal, trace
from lawbook.core.results import Judgement, Outcome, Probe, Subgoal
from lawbook.minds.base import Case, Why
from lawbook.minds.llm import outputs, prompt_context
from lawbook.minds.llm.images import pictures
from lawbook.minds.llm.model import Model, Part, Receipt
from lawbook.minds.llm.operator_call import Calls, UnusableError
from lawbook.minds.llm.tools import Tools, difference

NOTHING = Hypothesis("", {})
CHANGED = 4_000
"""Characters of a difference that a judge is shown."""


class LanguageMind:
    """The model proposes, judges and explores. Everything it is shown comes from the case; nothing is kept from call to call."""

    proposes = True

    def __init__(self, name: str, model: Model, *, images: bool = False) -> None:
        self.name = name
        self._calls = Calls(model, images=images)

    def propose(self, case: Case) -> Proposal:
        """Reflect, then revise, then compile, as far as the decision asks for (Eq. 16-18); or simplify (Eq. 23)."""
        try:
            return self._simplified(case) if case.why is Why.SIMPLIFY else self._proposed(case)
        except UnusableError as error:
            decision = Decision.REVISE_RULEBOOK if case.needs_rulebook else Decision.REPAIR_CODE
            return Proposal(decision, unusable=str(error))

    def judge(self, case: Case, hypothesis: Hypothesis) -> Judgement:
        """From rulebook and program alone, the mechanical trace as advice (Eq. 21): no record, no word of how it was compiled."""
        found = trace(hypothesis)
        program = "\n\n".join(prompt_context.numbered(name, source) for name, source in prompt_context.in_order(hypothesis.files))
        parts = [
            Part("rulebook", f"# The rulebook\n\n{prompt_context.file(RULEBOOK, hypothesis.rulebook)}", stable=True),
            Part("program", f"# The program, its lines numbered\n\n{program}"),
            Part("trace", _advice(hypothesis)),
            *_news(case, hypothesis),
        ]
        try:
            return self._calls.ask(
                "judge",
                case,
                parts,
                lambda said, last: outputs.read_judgement(said, found.rules, last=last),
                outputs.JUDGEMENT_SCHEMA,
            )
        except UnusableError as error:
            return Judgement(False, {}, f"It could not be judged. {error}")

    def explore(self, case: Case) -> Subgoal | Probe:
        """A subgoal where a program stands to plan in, or a probe."""
        parts = self._case(case, prompt_context.draft(case))
        if not case.admissible:
            parts.append(Part("no program", "No program stands that could plan a way to a subgoal: name a probe."))
        try:
            return self._calls.ask(
                "explore",
                case,
                parts,
                lambda said, last: outputs.read_exploration(said, case.interface, subgoals=case.admissible),
                outputs.EXPLORATION_SCHEMA,
                pictures=lambda: pictures(case),
            )
        except UnusableError as error:
            return Subgoal("", "", unusable=str(error))

    def receipt(self) -> Receipt:
        return self._calls.receipt()

    # -- the operators -------------------------------------------------------------------------------------------------------------

    def _proposed(self, case: Case) -> Proposal:
        base = prompt_context.draft(case)
        parts = self._case(case, base)
        first = base is None or (case.needs_rulebook and not base.rulebook.strip())
        allowed = _allowed(case, first=first)
        decision, diagnosis = allowed[0], ""
        if len(allowed) > 1:
            decision, diagnosis = self._reflected(case, parts, allowed)
            parts.append(Part("diagnosis", f"# What was decided\n\n{decision}. {diagnosis}"))
        if decision is Decision.RETAIN:
            return Proposal(Decision.RETAIN, diagnosis=diagnosis)
        base = base or NOTHING
        book = base.rulebook
        if decision is Decision.REVISE_RULEBOOK:
            book = self._revised(case, parts, base)
            parts.append(Part("revised", _revised_book(book, base)))
        if len(allowed) > 1 or first:
            files = self._compiled(case, parts, base, revised=book != base.rulebook)
        else:  # there was nothing to decide: what the evidence means is said with the files, and costs no call of its own
            diagnosis, files = self._diagnosed(case, parts, base)
        return _proposal(case, Hypothesis(book, files), diagnosis)

    def _reflected(self, case: Case, parts: list[Part], allowed: tuple[Decision, ...]) -> tuple[Decision, str]:
        choices = f"The decision is one of: {', '.join(allowed)}."
        found = self._calls.ask(
            "reflect",
            case,
            [*parts, Part("choices", choices)],
            lambda said, last: outputs.read_reflection(said, allowed),
            outputs.reflection_schema(allowed),
            tools=Tools(case),
            pictures=lambda: pictures(case),
        )
        return found.decision, found.diagnosis

    def _revised(self, case: Case, parts: list[Part], base: Hypothesis) -> str:
        return self._calls.ask(
            "revise",
            case,
            parts,
            lambda said, last: outputs.read_revision(said, base.rulebook, last=last),
            outputs.REVISION_SCHEMA,
            pictures=lambda: pictures(case),
        )

    def _compiled(self, case: Case, parts: list[Part], base: Hypothesis, *, revised: bool) -> Mapping[str, str]:
        return self._calls.ask(
            "compile",
            case,
            parts,
            lambda said, last: outputs.read_compilation(said, base.files, unchanged=revised, last=last),
            outputs.COMPILATION_SCHEMA,
            tools=Tools(case),
            pictures=lambda: pictures(case),
        )

    def _diagnosed(self, case: Case, parts: list[Part], base: Hypothesis) -> tuple[str, Mapping[str, str]]:
        return self._calls.ask(
            "compile",
            case,
            parts,
            lambda said, last: (
                outputs.read_diagnosis(said),
                outputs.read_compilation(said, base.files, unchanged=False, last=last),
            ),
            outputs.DIAGNOSED_SCHEMA,
            tools=Tools(case),
            also="diagnose",
            pictures=lambda: pictures(case),
        )

    def _simplified(self, case: Case) -> Proposal:
        if prompt_context.kept_before(case):  # nothing shorter was found for this very text: it is not asked about again
            return Proposal(Decision.RETAIN, diagnosis=prompt_context.KEPT)
        stands = case.hypothesis or NOTHING
        found = self._calls.ask(
            "simplify",
            case,
            self._case(case, case.hypothesis),
            lambda said, last: outputs.read_simplification(said, stands, rulebook=case.needs_rulebook, last=last),
            outputs.SIMPLIFICATION_SCHEMA,
        )
        if found is None:
            return Proposal(Decision.RETAIN, diagnosis=prompt_context.KEPT)
        book = None if found.rulebook == stands.rulebook else found.rulebook
        files = None if found.same_program(stands) else found.files
        return Proposal(Decision.SIMPLIFY, book, files, "A shorter account of the same record.")

    def _case(self, case: Case, base: Hypothesis | None) -> list[Part]:
        return [*prompt_context.believed(case, base), *prompt_context.evidence(case), *prompt_context.situation(case, base)]


def _proposal(case: Case, wanted: Hypothesis, diagnosis: str) -> Proposal:
    """`wanted` against what stands: the decision is the one that fits what has changed since then, drafts in between included."""
    stands = case.hypothesis or NOTHING
    files = None if wanted.same_program(stands) else wanted.files
    if wanted.rulebook != stands.rulebook:
        return Proposal(Decision.REVISE_RULEBOOK, wanted.rulebook, files, diagnosis)
    return Proposal(Decision.REPAIR_CODE, None, files, diagnosis)


def _allowed(case: Case, *, first: bool) -> tuple[Decision, ...]:
    """What may be decided now; with one alone there is nothing to decide."""
    if first:
        return (Decision.REVISE_RULEBOOK if case.needs_rulebook else Decision.REPAIR_CODE,)
    book = (Decision.REVISE_RULEBOOK,) if case.needs_rulebook else ()
    stay = (Decision.RETAIN,) if case.admissible and case.hypothesis is not None else ()
    return (*book, Decision.REPAIR_CODE, *stay)


def _revised_book(book: str, base: Hypothesis) -> str:
    stays = "\n\nIf the program does all of that already, answer NO CHANGE." if base.files else ""
    return f"# The rulebook as it has just been revised\n\n{prompt_context.file(RULEBOOK, book)}{stays}"


def _news(case: Case, hypothesis: Hypothesis) -> list[Part]:
    """What changed since the last pair that was found faithful, where that is little."""
    accepted = (version.hypothesis for version in reversed(case.history) if version.outcome is Outcome.ADMISSIBLE)
    changed = next((difference(before, hypothesis) for before in accepted), "")
    if not changed or len(changed) > CHANGED:
        return []
    title = "# What changed since the last pair that was found faithful (look here first; every rule is judged all the same)"
    return [Part("changed", f"{title}\n\n{prompt_context.fenced(changed, 'diff')}")]


def _advice(hypothesis: Hypothesis) -> str:
    found = trace(hypothesis)
    lines = [f"{rule}: {', '.join(found.cited.get(rule, ())) or 'cited nowhere'}" for rule in found.rules]
    unknown = [f"The code cites {', '.join(found.unknown)}, which the rulebook does not hold."] if found.unknown else []
    return "\n".join(["# Where comments cite the rules (a hint, not evidence)", "", *lines, *unknown])
