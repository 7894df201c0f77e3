"""A rulebook as people see it: its numbered rules and questions, and what a revision did to them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import NamedTuple

from lawbook.core.hypothesis import RULEBOOK, Hypothesis

# As hypothesis.trace finds them: an id at the start of a line, whatever bullets stand before it.
_ENTRY = re.compile(r"^[ \t>*#-]*((?:R|Q)\d+)\b[\s.:)*-]*(.*)$")
_WORD = re.compile(r"\w+")
_STRUCK = re.compile(r"[*_`]{1,2}(\S(?:.*?\S)?)[*_`]{1,2}")

_MANY, _LONG = 60, 4000
"""Entries, and words of an entry, that are compared with each other at most; characters of an entry that are searched for signs."""


class Change(NamedTuple):
    """What a revision did to one entry. mark: `+` new, `-` retracted, `~` reworded, a blank for untouched."""

    mark: str
    name: str
    text: str
    before: str = ""


def entries(rulebook: str) -> dict[str, str]:
    """Id (`R1`, `Q2`) -> what it says, in order, on one line and without Markdown's signs. Text outside entries is left out."""
    found: dict[str, list[str]] = {}
    now: list[str] | None = None
    for line in rulebook.splitlines():
        match = _ENTRY.match(line)
        if match:
            now = found.setdefault(match[1], [])
            now.append(match[2])
        elif not line.strip() or line.lstrip().startswith("#"):
            now = None
        elif now is not None:
            now.append(line)
    return {name: _bare(" ".join(" ".join(lines).split())) for name, lines in found.items()}


def _bare(text: str) -> str:
    return _STRUCK.sub(r"\1", text[:_LONG]) + text[_LONG:]


def entry(line: str) -> str | None:
    """The id of the rule or question that begins on this line; None when none does."""
    match = _ENTRY.match(line)
    return match[1] if match else None


def changes(before: str, after: str) -> list[Change]:
    """Every entry of the new rulebook with what happened to it, in order, and then those that were retracted.

    An entry that says what another said before has only been renumbered. One that says nearly the same is reworded.
    """
    old, new = entries(before), entries(after)
    kept = set(old.values()) & set(new.values())
    left = {name: text for name, text in old.items() if text not in kept}
    found = []
    for name, text in new.items():
        if text in kept:
            found.append(Change(" ", name, text))
            continue
        source = _source(name, text, left)
        found.append(Change("+", name, text) if source is None else Change("~", name, text, left.pop(source)))
    return [*found, *(Change("-", name, text) for name, text in left.items())]


def _source(name: str, text: str, left: Mapping[str, str]) -> str | None:
    """Which of the entries that are left this one is a rewording of: of its own name if it is like it at all, else the likest."""
    if name in left and _likeness(text, left[name]) > 0.4:
        return name
    if len(left) > _MANY:
        return None
    likest = max(left, key=lambda other: _likeness(text, left[other]), default=None)
    return likest if likest is not None and likest[0] == name[0] and _likeness(text, left[likest]) > 0.7 else None


def _likeness(one: str, two: str) -> float:
    return difflib.SequenceMatcher(None, _WORD.findall(one)[:_MANY], _WORD.findall(two)[:_MANY], autojunk=False).ratio()


def texts(hypothesis: Hypothesis | None) -> dict[str, str]:
    """File name -> text of everything in a hypothesis, the rulebook first."""
    return {} if hypothesis is None else {RULEBOOK: hypothesis.rulebook, **hypothesis.files}


def diff(before: Hypothesis | None, after: Hypothesis, *, program: bool = True) -> list[str]:
    """Lines of a unified diff of the rulebook, and of the program if asked for; empty when nothing changed."""
    old, new = texts(before), texts(after)
    lines: list[str] = []
    for name in dict.fromkeys([*new, *old]):
        if name != RULEBOOK and not program:
            continue
        one, two = old.get(name, ""), new.get(name, "")
        if one != two:
            lines += difflib.unified_diff(
                one.splitlines(),
                two.splitlines(),
                f"{name} before" if one else "/dev/null",
                name if two else "/dev/null",
                lineterm="",
            )
    return lines
