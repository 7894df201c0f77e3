"""What is believed: Rulebook and program as one Hypothesis, the Proposal that changes it, its description length, its trace."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

ENGINE = "world_model_engine.py"
"""The module that defines the contract's functions; it may import the other files of the hypothesis."""
RULEBOOK = "world_model.md"
MAX_BYTES = 1_000_000
"""Largest rulebook plus program that is looked at."""

_FILE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\.py")
_RULE = re.compile(r"^\s*(?:[-*#>]+\s*)*\**((?:R|Q)\d+)\b", re.MULTILINE)
_CITED = re.compile(r"\bR\d+\b")


class Decision(StrEnum):
    """What reflection chose (d in Eq. 16), and SIMPLIFY, our declared shortening (Eq. 23)."""

    RETAIN = "retain"
    REVISE_RULEBOOK = "revise_rulebook"
    REPAIR_CODE = "repair_code"
    SIMPLIFY = "simplify"


def code_bytes(source: str) -> int:
    """UTF-8 bytes of Python source without comments, blank lines and trailing blanks; all bytes when it does not tokenize."""
    lines = source.splitlines(keepends=True)
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column]
    except (tokenize.TokenError, SyntaxError, ValueError, IndexError):
        return len(source.encode("utf-8", "replace"))
    kept = (line.rstrip() for line in lines)
    return sum(len(line.encode("utf-8", "replace")) + 1 for line in kept if line)


@dataclass(frozen=True)
class Hypothesis:
    """One rulebook (psi, Markdown) with its program (theta: file name -> Python source)."""

    rulebook: str
    files: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def description_bytes(self) -> int:
        """L(psi) + L(theta): bytes of the rulebook plus bytes of the program without comments (Eq. 23)."""
        return len(self.rulebook.encode("utf-8", "replace")) + sum(code_bytes(text) for text in self.files.values())

    def same_program(self, other: Hypothesis) -> bool:
        return dict(self.files) == dict(other.files)


@dataclass(frozen=True)
class Proposal:
    """What a mind proposes. `rulebook` or `files` None means unchanged. `diagnosis` says what was wrong, in a sentence or two."""

    decision: Decision
    rulebook: str | None = None
    files: Mapping[str, str] | None = None
    diagnosis: str = ""

    def applied_to(self, current: Hypothesis | None) -> Hypothesis:
        """The hypothesis that would stand if this were accepted."""
        base = current or Hypothesis("", {})
        return Hypothesis(
            base.rulebook if self.rulebook is None else self.rulebook,
            dict(base.files if self.files is None else self.files),
        )


def misshapen(hypothesis: Hypothesis) -> str | None:
    """Why this cannot even be tried (names, sizes, missing engine), as one sentence; None when it can."""
    if ENGINE not in hypothesis.files:
        return f"The program has no {ENGINE}; propose files that include it."
    for name in hypothesis.files:
        if not _FILE_NAME.fullmatch(name):
            return f"{name!r} is no name for a module; use letters, digits and underscores, ending in .py, without folders."
    if hypothesis.description_bytes > MAX_BYTES:
        return f"Rulebook and program are {hypothesis.description_bytes:,} bytes; keep them under {MAX_BYTES:,}."
    return None


@dataclass(frozen=True)
class Trace:
    """The mechanical trace between a rulebook and a program: advice for a judge, never a verdict.

    rules, questions: ids in order of appearance (`R1`, `Q1`); cited: rule -> places (`file:line`) that name it;
    uncited: rules no code names; unknown: rules that code names and the rulebook does not hold.
    """

    rules: tuple[str, ...]
    questions: tuple[str, ...]
    cited: Mapping[str, tuple[str, ...]]
    uncited: tuple[str, ...]
    unknown: tuple[str, ...]


def trace(hypothesis: Hypothesis) -> Trace:
    """Which rule is cited where. Rules and questions are numbered at the start of a line; code cites them in comments."""
    ids = list(dict.fromkeys(_RULE.findall(hypothesis.rulebook)))
    rules = tuple(name for name in ids if name.startswith("R"))
    places: dict[str, list[str]] = {}
    for file, text in hypothesis.files.items():
        for number, line in enumerate(text.splitlines(), start=1):
            _, mark, comment = line.partition("#")
            if mark:
                for name in dict.fromkeys(_CITED.findall(comment)):
                    places.setdefault(name, []).append(f"{file}:{number}")
    return Trace(
        rules=rules,
        questions=tuple(name for name in ids if name.startswith("Q")),
        cited={name: tuple(found) for name, found in places.items()},
        uncited=tuple(name for name in rules if name not in places),
        unknown=tuple(name for name in places if name not in rules),
    )
