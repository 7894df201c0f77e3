"""The mind of a run that an agent drives from outside: it is not asked, it calls. What is left here is who judges fidelity."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NoReturn

from lawbook.agents.api.workspace import FIDELITY
from lawbook.core.hypothesis import Hypothesis, find_rule_citations
from lawbook.core.results import Judgement
from lawbook.errors import MindError
from lawbook.minds.base import Case, Mind, judge_by_citations

MIND_NAME = "drive"
MIN_ANSWER_CHARACTERS = 12
"""Characters of an answer about one rule: a word is none."""

_RULE_LINE = re.compile(r"[ \t>*#-]*([RU]\d+)\b[ \t]*[:.)]?(.*)")


class ExternalAgentMind:
    """judge: a mind that judges fidelity; None: the mechanical trace, and the agent's own written answer for every rule.

    fidelity_texts: what each member's agent wrote about its present proposal; set by the door before it proposes.
    """

    proposes = True

    def __init__(self, judge: Mind | None = None, name: str = MIND_NAME) -> None:
        self.name = name
        self.fidelity_texts: dict[int, str] = {}
        self.judge_mind = judge

    def propose(self, case: Case) -> NoReturn:
        raise MindError("An agent drives this run through its workspace; go on with: lawbook drive --resume.")

    explore = propose

    def judge(self, case: Case, hypothesis: Hypothesis) -> Judgement:
        """Eq. 21 by whoever judges. What the agent wrote becomes part of the judgement, and so of the ledger."""
        if self.judge_mind is not None:
            return self.judge_mind.judge(case, hypothesis)
        judgement, text = judge_by_citations(hypothesis), self.fidelity_texts.get(case.member, "")
        answers = parse_answers(text)
        rules = {rule: f"{location}. {answers.get(rule, '')[:500]}" for rule, location in judgement.rules.items()}
        missing = describe_missing_answers(hypothesis, text)
        return Judgement(judgement.faithful and not missing, rules, judgement.reason or missing)

    def receipt(self) -> Mapping[str, float | int | str]:
        return {} if self.judge_mind is None else self.judge_mind.receipt()


def describe_missing_answers(hypothesis: Hypothesis, text: str) -> str:
    """Which rules `text` says nothing of, as a sentence that asks for it; empty when there are none."""
    answers = parse_answers(text)
    missing = [rule for rule in find_rule_citations(hypothesis).rules if len(answers.get(rule, "")) < MIN_ANSWER_CHARACTERS]
    if not missing:
        return ""
    missing_list = ", ".join(missing[:12]) + (f" and {len(missing) - 12} more" if len(missing) > 12 else "")
    return (
        f"{FIDELITY} does not say how the program keeps to {missing_list}; write a line of at least "
        f"{MIN_ANSWER_CHARACTERS} characters for each "
        f"rule, such as `{missing[0]}: step() does exactly that`, after comparing rule and code, then propose again."
    )


def parse_answers(text: str) -> dict[str, str]:
    """What is said of each rule: from the line that begins with its number to the next such line."""
    answers: dict[str, str] = {}
    rule = ""
    for line in text.splitlines():
        match = _RULE_LINE.fullmatch(line[:2000])
        if match:
            rule = match[1]
        if rule:
            answer = (match[2] if match else line).strip()
            answers[rule] = f"{answers.get(rule, '')} {answer}".strip()[:2000]
    return answers
