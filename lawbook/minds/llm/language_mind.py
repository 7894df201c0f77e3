"""A frozen language model as a mind: reflect, revise, compile, judge, simplify, explore, each a call over a rebuilt context."""

from __future__ import annotations

from collections.abc import Mapping

from lawbook.core.hypothesis import RULEBOOK, Decision, Hypothesis, Proposal, Trigger, find_rule_citations
from lawbook.core.results import Judgement, Probe, Subgoal, VerdictKind
from lawbook.minds.base import Case
from lawbook.minds.llm import outputs, prompt_context
from lawbook.minds.llm.images import render_images
from lawbook.minds.llm.model import Model, Part, Receipt
from lawbook.minds.llm.operator_call import OperatorCaller, UnusableAnswerError
from lawbook.minds.llm.tools import Toolset, diff_hypotheses

EMPTY_HYPOTHESIS = Hypothesis("", {})
MAX_DIFF_CHARS = 4_000
"""Characters of a difference that a judge is shown."""


class LLMMind:
    """The model proposes, judges and explores. Everything it is shown comes from the case; nothing is kept from call to call."""

    proposes = True

    def __init__(self, name: str, model: Model, *, images: bool = False) -> None:
        self.name = name
        self._caller = OperatorCaller(model, images=images)

    def propose(self, case: Case) -> Proposal:
        """Reflect, then revise, then compile, as far as the decision asks for (Eq. 16-18); or simplify (Eq. 23)."""
        try:
            return self._simplify(case) if case.trigger is Trigger.SIMPLIFY else self._propose_by_decision(case)
        except UnusableAnswerError as error:
            decision = Decision.REVISE_RULEBOOK if case.needs_rulebook else Decision.REPAIR_CODE
            return Proposal(decision, unusable=str(error))

    def judge(self, case: Case, hypothesis: Hypothesis) -> Judgement:
        """Judge from rulebook and program alone, with the mechanical trace as advice (Eq. 21): no record. Raises MindError."""
        citations = find_rule_citations(hypothesis)
        program = "\n\n".join(
            prompt_context.format_numbered(name, source) for name, source in prompt_context.sort_files(hypothesis.files)
        )
        parts = [
            Part("rulebook", f"# The rulebook\n\n{prompt_context.format_file(RULEBOOK, hypothesis.rulebook)}", stable=True),
            Part("program", f"# The program, its lines numbered\n\n{program}"),
            Part("trace", _format_citations(hypothesis)),
            *_build_change_parts(case, hypothesis),
        ]
        try:
            return self._caller.ask(
                "judge",
                case,
                parts,
                lambda text, final_attempt: outputs.read_judgement(text, citations.rules, final_attempt=final_attempt),
                outputs.JUDGEMENT_SCHEMA,
            )
        except UnusableAnswerError as error:
            return Judgement(False, {}, f"It could not be judged. {error}")

    def explore(self, case: Case) -> Subgoal | Probe:
        """Ask for a subgoal where a program stands to plan in, or for a probe. Raises MindError."""
        parts = self._build_parts(case, prompt_context.pick_draft(case))
        if not case.admissible:
            parts.append(Part("no program", "No program stands that could plan a way to a subgoal: name a probe."))
        try:
            return self._caller.ask(
                "explore",
                case,
                parts,
                lambda text, final_attempt: outputs.read_exploration(text, case.interface, may_name_subgoal=case.admissible),
                outputs.EXPLORATION_SCHEMA,
                make_images=lambda: render_images(case),
            )
        except UnusableAnswerError as error:
            return Subgoal("", "", unusable=str(error))

    def receipt(self) -> Receipt:
        """Return the cost of the calls since the last receipt that is not in the ledger yet."""
        return self._caller.receipt()

    # -- the operators -------------------------------------------------------------------------------------------------------------

    def _propose_by_decision(self, case: Case) -> Proposal:
        base = prompt_context.pick_draft(case)
        parts = self._build_parts(case, base)
        is_first = base is None or (case.needs_rulebook and not base.rulebook.strip())
        allowed = _list_allowed_decisions(case, is_first=is_first)
        decision, diagnosis = allowed[0], ""
        if len(allowed) > 1:
            decision, diagnosis = self._reflect(case, parts, allowed)
            parts.append(Part("diagnosis", f"# What was decided\n\n{decision}. {diagnosis}"))
        if decision is Decision.RETAIN:
            return Proposal(Decision.RETAIN, diagnosis=diagnosis)
        base = base or EMPTY_HYPOTHESIS
        rulebook = base.rulebook
        if decision is Decision.REVISE_RULEBOOK:
            rulebook = self._revise(case, parts, base)
            parts.append(Part("revised", _format_revised_rulebook(rulebook, base)))
        if len(allowed) > 1 or is_first:
            files = self._compile(case, parts, base, revised=rulebook != base.rulebook)
        else:  # there was nothing to decide: what the evidence means is said with the files, and costs no call of its own
            diagnosis, files = self._compile_with_diagnosis(case, parts, base)
        return _build_proposal(case, Hypothesis(rulebook, files), diagnosis)

    def _reflect(self, case: Case, parts: list[Part], allowed: tuple[Decision, ...]) -> tuple[Decision, str]:
        choices = f"The decision is one of: {', '.join(allowed)}."
        reflection = self._caller.ask(
            "reflect",
            case,
            [*parts, Part("choices", choices)],
            lambda text, final_attempt: outputs.read_reflection(text, allowed),
            outputs.build_reflection_schema(allowed),
            tools=Toolset(case),
            make_images=lambda: render_images(case),
        )
        return reflection.decision, reflection.diagnosis

    def _revise(self, case: Case, parts: list[Part], base: Hypothesis) -> str:
        return self._caller.ask(
            "revise",
            case,
            parts,
            lambda text, final_attempt: outputs.read_revision(text, base.rulebook, final_attempt=final_attempt),
            outputs.REVISION_SCHEMA,
            make_images=lambda: render_images(case),
        )

    def _compile(self, case: Case, parts: list[Part], base: Hypothesis, *, revised: bool) -> Mapping[str, str]:
        return self._caller.ask(
            "compile",
            case,
            parts,
            lambda text, final_attempt: outputs.read_compilation(text, base.files, may_stay=revised, final_attempt=final_attempt),
            outputs.COMPILATION_SCHEMA,
            tools=Toolset(case),
            make_images=lambda: render_images(case),
        )

    def _compile_with_diagnosis(self, case: Case, parts: list[Part], base: Hypothesis) -> tuple[str, Mapping[str, str]]:
        return self._caller.ask(
            "compile",
            case,
            parts,
            lambda text, final_attempt: (
                outputs.read_diagnosis(text),
                outputs.read_compilation(text, base.files, may_stay=False, final_attempt=final_attempt),
            ),
            outputs.DIAGNOSED_COMPILATION_SCHEMA,
            tools=Toolset(case),
            extra_prompt="diagnose",
            make_images=lambda: render_images(case),
        )

    def _simplify(self, case: Case) -> Proposal:
        if prompt_context.has_failed_simplification(
            case
        ):  # nothing shorter was found for this very text: it is not asked about again
            return Proposal(Decision.RETAIN, diagnosis=prompt_context.RETAIN_DIAGNOSIS)
        current = case.hypothesis or EMPTY_HYPOTHESIS
        shorter = self._caller.ask(
            "simplify",
            case,
            self._build_parts(case, case.hypothesis),
            lambda text, final_attempt: outputs.read_simplification(
                text, current, has_rulebook=case.needs_rulebook, final_attempt=final_attempt
            ),
            outputs.SIMPLIFICATION_SCHEMA,
        )
        if shorter is None:
            return Proposal(Decision.RETAIN, diagnosis=prompt_context.RETAIN_DIAGNOSIS)
        rulebook = None if shorter.rulebook == current.rulebook else shorter.rulebook
        files = None if shorter.has_same_program(current) else shorter.files
        return Proposal(Decision.SIMPLIFY, rulebook, files, "A shorter account of the same record.")

    def _build_parts(self, case: Case, base: Hypothesis | None) -> list[Part]:
        return [
            *prompt_context.build_hypothesis_parts(case, base),
            *prompt_context.build_record_parts(case),
            *prompt_context.build_situation_parts(case, base),
        ]


def _build_proposal(case: Case, target: Hypothesis, diagnosis: str) -> Proposal:
    """`wanted` against what stands: the decision is the one that fits what has changed since then, drafts in between included."""
    current = case.hypothesis or EMPTY_HYPOTHESIS
    files = None if target.has_same_program(current) else target.files
    if target.rulebook != current.rulebook:
        return Proposal(Decision.REVISE_RULEBOOK, target.rulebook, files, diagnosis)
    return Proposal(Decision.REPAIR_CODE, None, files, diagnosis)


def _list_allowed_decisions(case: Case, *, is_first: bool) -> tuple[Decision, ...]:
    """List what may be decided now; with one alone there is nothing to decide."""
    if is_first:
        return (Decision.REVISE_RULEBOOK if case.needs_rulebook else Decision.REPAIR_CODE,)
    revise = (Decision.REVISE_RULEBOOK,) if case.needs_rulebook else ()
    retain = (Decision.RETAIN,) if case.admissible and case.hypothesis is not None else ()
    return (*revise, Decision.REPAIR_CODE, *retain)


def _format_revised_rulebook(rulebook: str, base: Hypothesis) -> str:
    no_change_hint = "\n\nIf the program does all of that already, answer NO CHANGE." if base.files else ""
    return f"# The rulebook as it has just been revised\n\n{prompt_context.format_file(RULEBOOK, rulebook)}{no_change_hint}"


def _build_change_parts(case: Case, hypothesis: Hypothesis) -> list[Part]:
    """Build what changed since the last pair that was found faithful, where that is little."""
    accepted = (version.hypothesis for version in reversed(case.history) if version.outcome is VerdictKind.ADMISSIBLE)
    diff = next((diff_hypotheses(accepted_hypothesis, hypothesis) for accepted_hypothesis in accepted), "")
    if not diff or len(diff) > MAX_DIFF_CHARS:
        return []
    title = "# What changed since the last pair that was found faithful (look here first; every rule is judged all the same)"
    return [Part("changed", f"{title}\n\n{prompt_context.format_fenced(diff, 'diff')}")]


def _format_citations(hypothesis: Hypothesis) -> str:
    citations = find_rule_citations(hypothesis)
    lines = [f"{rule}: {', '.join(citations.citations.get(rule, ())) or 'cited nowhere'}" for rule in citations.rules]
    unknown_lines = (
        [f"The code cites {', '.join(citations.unknown)}, which the rulebook does not hold."] if citations.unknown else []
    )
    return "\n".join(["# Where comments cite the rules (a hint, not evidence)", "", *lines, *unknown_lines])
