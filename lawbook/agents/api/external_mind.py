"""The mind of a run that an agent drives from outside: it is not asked, it calls. What is left here is who judges fidelity."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NoReturn

from lawbook.agents.api.workspace import FIDELITY
from lawbook.core.hypothesis import Hypothesis, trace
from lawbook.core.results import Judgement
from lawbook.errors import MindError
from lawbook.minds.base import Case, Mind, judge_by_trace

NAME = "drive"
LEAST = 12
"""Characters of an answer about one rule: a word is none."""

_LINE = re.compile(r"[ \t>*#-]*(R\d+)\b[ \t]*[:.)]?(.*)")


class AtTheWheel:
    """judge: a mind that judges fidelity; None: the mechanical trace, and the agent's own written answer for every rule.

    written: what each member's agent wrote about its present proposal; set by the door before it proposes.
    """

    proposes = True

    def __init__(self, judge: Mind | None = None, name: str = NAME) -> None:
        self.name = name
        self.written: dict[int, str] = {}
        self.judged_by = judge

    def propose(self, case: Case) -> NoReturn:
        raise MindError("An agent drives this run through its workspace; go on with: lawbook drive --resume.")

    explore = propose

    def judge(self, case: Case, hypothesis: Hypothesis) -> Judgement:
        """Eq. 21 by whoever judges. What the agent wrote becomes part of the judgement, and so of the ledger."""
        if self.judged_by is not None:
            return self.judged_by.judge(case, hypothesis)
        found, text = judge_by_trace(hypothesis), self.written.get(case.member, "")
        answers = answers_in(text)
        rules = {rule: f"{where}. {answers.get(rule, '')[:500]}" for rule, where in found.rules.items()}
        missing = unanswered(hypothesis, text)
        return Judgement(found.faithful and not missing, rules, found.reason or missing)

    def receipt(self) -> Mapping[str, float | int | str]:
        return {} if self.judged_by is None else self.judged_by.receipt()


def unanswered(hypothesis: Hypothesis, text: str) -> str:
    """Which rules `text` says nothing of, as a sentence that asks for it; empty when there are none."""
    answers = answers_in(text)
    missing = [rule for rule in trace(hypothesis).rules if len(answers.get(rule, "")) < LEAST]
    if not missing:
        return ""
    several = ", ".join(missing[:12]) + (f" and {len(missing) - 12} more" if len(missing) > 12 else "")
    return (
        f"{FIDELITY} does not say how the program keeps to {several}; write a line of at least {LEAST} characters for each "
        f"rule, such as `{missing[0]}: step() does exactly that`, after comparing rule and code, then propose again."
    )


def answers_in(text: str) -> dict[str, str]:
    """What is said of each rule: from the line that begins with its number to the next such line."""
    answers: dict[str, str] = {}
    rule = ""
    for line in text.splitlines():
        found = _LINE.fullmatch(line[:2000])
        if found:
            rule = found[1]
        if rule:
            said = (found[2] if found else line).strip()
            answers[rule] = f"{answers.get(rule, '')} {said}".strip()[:2000]
    return answers
