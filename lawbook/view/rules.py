"""A rulebook as people see it: its numbered rules and questions, and what a revision did to them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from lawbook.hypothesis import RULEBOOK, Hypothesis

# As hypothesis.trace finds them: an id at the start of a line, whatever bullets stand before it.
_ENTRY = re.compile(r"^\s*(?:[-*#>]+\s*)*\**((?:R|Q)\d+)\b[\s.:)*-]*(.*)$")
_STRUCK = re.compile(r"[*_`]{1,2}(\S(?:.*?\S)?)[*_`]{1,2}")


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
    return {name: _STRUCK.sub(r"\1", " ".join(" ".join(lines).split())) for name, lines in found.items()}


def changes(before: str, after: str) -> list[Change]:
    """Every entry of both rulebooks with what happened to it, in the order of the new one, retracted ones in their old places."""
    old, new = entries(before), entries(after)
    return list(_merged(old, new))


def _merged(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Change]:
    names, olds = list(new), list(old)
    matcher = difflib.SequenceMatcher(None, olds, names, autojunk=False)
    for _, i1, i2, j1, j2 in matcher.get_opcodes():
        for name in olds[i1:i2]:
            if name not in new:
                yield Change("-", name, old[name])
        for name in names[j1:j2]:
            if name not in old:
                yield Change("+", name, new[name])
            else:
                yield Change(" " if old[name] == new[name] else "~", name, new[name], old[name])


def texts(hypothesis: Hypothesis | None) -> dict[str, str]:
    """File name -> text of everything in a hypothesis, the rulebook first."""
    return {} if hypothesis is None else {RULEBOOK: hypothesis.rulebook, **hypothesis.files}


def diff(before: Hypothesis | None, after: Hypothesis) -> list[str]:
    """Lines of a unified diff of rulebook and program; empty when nothing changed."""
    old, new = texts(before), texts(after)
    lines: list[str] = []
    for name in dict.fromkeys([*new, *old]):
        one, two = old.get(name, ""), new.get(name, "")
        if one != two:
            lines += difflib.unified_diff(
                one.splitlines(), two.splitlines(), f"{name} before" if one else "/dev/null", name if two else "/dev/null", lineterm=""
            )
    return lines
