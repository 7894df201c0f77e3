"""A rulebook as people see it: its numbered rules and questions, and what a revision did to them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import NamedTuple

from lawbook.core.hypothesis import RULEBOOK, Hypothesis

# As hypothesis.trace finds them: an id at the start of a line, whatever bullets stand before it.
_ENTRY = re.compile(r"^[ \t>*#-]*((?:R|Q|U)\d+)\b[\s.:)*-]*(.*)$")
_WORD = re.compile(r"\w+")
_EMPHASIS = re.compile(r"[*_`]{1,2}(\S(?:.*?\S)?)[*_`]{1,2}")

_MAX_COMPARED, _MAX_SEARCHED = 60, 4000
"""Entries, and words of an entry, that are compared with each other at most; characters of an entry that are searched for signs."""


class RuleChange(NamedTuple):
    """What a revision did to one entry. mark: `+` new, `-` retracted, `~` reworded, a blank for untouched."""

    mark: str
    name: str
    text: str
    before: str = ""


def parse_entries(rulebook: str) -> dict[str, str]:
    """Parse a rulebook: id (`R1`, `Q2`) -> what it says, in order, on one line and without Markdown's signs.

    Text outside entries is left out.
    """
    lines_by_id: dict[str, list[str]] = {}
    current_lines: list[str] | None = None
    for line in rulebook.splitlines():
        match = _ENTRY.match(line)
        if match:
            current_lines = lines_by_id.setdefault(match[1], [])
            current_lines.append(match[2])
        elif not line.strip() or line.lstrip().startswith("#"):
            current_lines = None
        elif current_lines is not None:
            current_lines.append(line)
    return {name: _strip_emphasis(" ".join(" ".join(lines).split())) for name, lines in lines_by_id.items()}


def _strip_emphasis(text: str) -> str:
    return _EMPHASIS.sub(r"\1", text[:_MAX_SEARCHED]) + text[_MAX_SEARCHED:]


def parse_entry_id(line: str) -> str | None:
    """Return the id of the rule or question that begins on this line; None when none does."""
    match = _ENTRY.match(line)
    return match[1] if match else None


def compare_rulebooks(before: str, after: str) -> list[RuleChange]:
    """List every entry of the new rulebook with what happened to it, in order, and then those that were retracted.

    An entry that says what another said before has only been renumbered. One that says nearly the same is reworded.
    """
    old, new = parse_entries(before), parse_entries(after)
    unchanged = set(old.values()) & set(new.values())
    unmatched = {name: text for name, text in old.items() if text not in unchanged}
    rule_changes = []
    for name, text in new.items():
        if text in unchanged:
            rule_changes.append(RuleChange(" ", name, text))
            continue
        source = _find_reworded_entry(name, text, unmatched)
        rule_changes.append(RuleChange("+", name, text) if source is None else RuleChange("~", name, text, unmatched.pop(source)))
    return [*rule_changes, *(RuleChange("-", name, text) for name, text in unmatched.items())]


def _find_reworded_entry(name: str, text: str, unmatched: Mapping[str, str]) -> str | None:
    """Which of the entries that are left this one is a rewording of: of its own name if it is like it at all, else the likest."""
    if name in unmatched and _compute_similarity(text, unmatched[name]) > 0.4:
        return name
    if len(unmatched) > _MAX_COMPARED:
        return None
    best = max(unmatched, key=lambda candidate: _compute_similarity(text, unmatched[candidate]), default=None)
    return best if best is not None and best[0] == name[0] and _compute_similarity(text, unmatched[best]) > 0.7 else None


def _compute_similarity(first: str, second: str) -> float:
    return difflib.SequenceMatcher(
        None, _WORD.findall(first)[:_MAX_COMPARED], _WORD.findall(second)[:_MAX_COMPARED], autojunk=False
    ).ratio()


def collect_texts(hypothesis: Hypothesis | None) -> dict[str, str]:
    """Collect file name -> text of everything in a hypothesis, the rulebook first."""
    return {} if hypothesis is None else {RULEBOOK: hypothesis.rulebook, **hypothesis.files}


def diff_hypotheses(before: Hypothesis | None, after: Hypothesis, *, include_program: bool = True) -> list[str]:
    """List the lines of a unified diff of the rulebook, and of the program if asked for; empty when nothing changed."""
    old, new = collect_texts(before), collect_texts(after)
    lines: list[str] = []
    for name in dict.fromkeys([*new, *old]):
        if name != RULEBOOK and not include_program:
            continue
        old_text, new_text = old.get(name, ""), new.get(name, "")
        if old_text != new_text:
            lines += difflib.unified_diff(
                old_text.splitlines(),
                new_text.splitlines(),
                f"{name} before" if old_text else "/dev/null",
                name if new_text else "/dev/null",
                lineterm="",
            )
    return lines
