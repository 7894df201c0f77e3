"""Beliefs: rulebook and program as one Hypothesis, the Proposal that changes it, its description length, its trace."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, lru_cache
from types import MappingProxyType

ENGINE = "world_model_engine.py"
"""The module that defines the contract's functions; it may import the other files of the hypothesis."""
RULEBOOK = "world_model.md"
MAX_BYTES = 1_000_000
"""Largest rulebook plus program, comments included, that is looked at."""
MAX_FILES = 64

_FILE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\.py")
_RULE = re.compile(r"^[ \t>*#-]*((?:R|Q|U)\d+)\b", re.MULTILINE)  # one class: groups in groups take for ever over a ruled line
_CITATION = re.compile(r"\b[RU]\d+\b")
_LONG_LINE, _BLANKS = 10_000, " \t\f\n"
_LAYOUT = (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


class Decision(StrEnum):
    """The choice of a reflection (d in Eq. 16), and SIMPLIFY, our declared shortening (Eq. 23)."""

    RETAIN = "retain"
    REVISE_RULEBOOK = "revise_rulebook"
    REPAIR_CODE = "repair_code"
    SIMPLIFY = "simplify"


class Trigger(StrEnum):
    """The reason for which a mind is asked."""

    START = "start"  # nothing is believed yet
    MISMATCH = "mismatch"  # a prediction was wrong
    LEVEL = "level"  # a level was completed
    NO_PLAN = "no_plan"  # no member sees a way to a goal
    REFUSED = "refused"  # the last proposal was refused; case.verdict says why
    SIMPLIFY = "simplify"  # propose something shorter that still holds
    EXPLORE = "explore"  # name a subgoal or a probe
    UNCLAIMED_END = "unclaimed_end"  # the level ended where the program had left that open


def strip_comments(source: str) -> str:
    """Strip comments, and blanks at the ends of lines, from Python source; every line stays where it was.

    What runs is the bare text: what does not count as description cannot be read back by the program either. Source that does not
    tokenize, or has lines so long that tokenizing takes for ever (its time grows with their square), is left as it is.
    """
    return _strip_and_count(source)[0]


def count_code_bytes(source: str) -> int:
    """Count the UTF-8 bytes of the bare source without its blank lines (those inside a string count)."""
    return _strip_and_count(source)[1]


@lru_cache(64)  # folding and loading ask again and again about texts that stay
def _strip_and_count(source: str) -> tuple[str, int]:
    lines = io.StringIO(source.replace("\r\n", "\n").replace("\r", "\n")).readlines()  # as Python breaks them
    unchanged = source, len(source.encode("utf-8", "replace"))
    if any(len(line) > _LONG_LINE for line in lines):
        return unchanged
    stripped, string_rows = list(lines), set[int]()
    try:
        for token in tokenize.generate_tokens(iter(lines).__next__):
            (first_row, column), (last_row, _) = token.start, token.end
            if token.type == tokenize.COMMENT:
                stripped[first_row - 1] = lines[first_row - 1][:column]
            elif token.type not in _LAYOUT:
                string_rows.update(range(first_row, last_row))  # lines that end within a string
    except (tokenize.TokenError, SyntaxError, ValueError, IndexError, SystemError):  # the last: Python 3.13, at f"{)
        return unchanged
    stripped = [line if row in string_rows else line.rstrip(_BLANKS) + "\n" for row, line in enumerate(stripped, start=1)]
    counted_lines = (line for row, line in enumerate(stripped, start=1) if row in string_rows or line != "\n")
    return "".join(stripped), sum(len(line.encode("utf-8", "replace")) for line in counted_lines)


@dataclass(frozen=True)
class Hypothesis:
    """One rulebook (psi, Markdown) with its program (theta: file name -> Python source; a read-only copy of what is given)."""

    rulebook: str
    files: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # What was verified must stay what it was: minds are shown this very object.
        object.__setattr__(self, "files", MappingProxyType(dict(self.files)))

    @cached_property
    def description_bytes(self) -> int:
        """L(psi) + L(theta): bytes of the rulebook plus bytes of the program without comments (Eq. 23)."""
        return len(self.rulebook.encode("utf-8", "replace")) + sum(count_code_bytes(text) for text in self.files.values())

    def has_same_program(self, other: Hypothesis) -> bool:
        """Return whether the programs are equal, file by file and byte by byte; the rulebooks do not matter."""
        return self.files == other.files


@dataclass(frozen=True)
class Proposal:
    """A mind's proposal. `rulebook` or `files` None means unchanged. `diagnosis` says what was wrong, in a sentence or two.

    unusable: why what the mind said could not be made into a proposal; it is refused with this sentence. Empty as a rule.
    """

    decision: Decision
    rulebook: str | None = None
    files: Mapping[str, str] | None = None
    diagnosis: str = ""
    unusable: str = ""

    def apply_to(self, current: Hypothesis | None) -> Hypothesis:
        """Return the hypothesis that would stand if this were accepted."""
        base = current or Hypothesis("", {})
        return Hypothesis(
            base.rulebook if self.rulebook is None else self.rulebook,
            base.files if self.files is None else self.files,
        )


def find_open_rules(rulebook: str) -> frozenset[int]:
    """Return the numbers k of the rules Uk (1 to 255) of a rulebook: what cannot be known, under which cells may be left open."""
    numbers = (int(name[1:]) for name in _RULE.findall(rulebook) if name[0] == "U" and len(name) < 5)
    return frozenset(number for number in numbers if 0 < number < 256)


def validate_files(hypothesis: Hypothesis) -> str | None:
    """Say why this cannot even be tried (names, sizes, missing engine), as one sentence; None when it can."""
    length = len(hypothesis.rulebook) + sum(map(len, hypothesis.files.values()))
    if length > MAX_BYTES:
        return f"Rulebook and program are {length:,} characters; keep them under {MAX_BYTES:,}."
    if ENGINE not in hypothesis.files:
        return f"The program has no {ENGINE}; propose files that include it."
    if len(hypothesis.files) > MAX_FILES:
        return f"The program has {len(hypothesis.files):,} files; keep them to {MAX_FILES}."
    for name in hypothesis.files:
        if not _FILE_NAME.fullmatch(name):
            return f"{name[:99]!r} is no name for a module; use letters, digits and underscores, ending in .py, without folders."
    return None


@dataclass(frozen=True)
class RuleCitations:
    """The mechanical trace between a rulebook and a program: advice for a judge, never a verdict.

    rules, questions: ids in order of appearance (`R1`, `Q1`); citations: rule -> places (`file:line`) that name it;
    uncited: rules no code names; unknown: rules that code names and the rulebook does not hold.
    """

    rules: tuple[str, ...]
    questions: tuple[str, ...]
    citations: Mapping[str, tuple[str, ...]]
    uncited: tuple[str, ...]
    unknown: tuple[str, ...]


def find_rule_citations(hypothesis: Hypothesis) -> RuleCitations:
    """Find which rule is cited where. Rules and questions are numbered at the start of a line; code cites them in comments."""
    ids = list(dict.fromkeys(_RULE.findall(hypothesis.rulebook)))
    rules = tuple(name for name in ids if name[0] in "RU")
    places: dict[str, list[str]] = {}
    for file, text in hypothesis.files.items():
        for number, line in enumerate(text.splitlines(), start=1):
            _, hash_sign, comment = line.partition("#")
            if hash_sign:
                for name in dict.fromkeys(_CITATION.findall(comment)):
                    places.setdefault(name, []).append(f"{file}:{number}")
    return RuleCitations(
        rules=rules,
        questions=tuple(name for name in ids if name.startswith("Q")),
        citations={name: tuple(citations) for name, citations in places.items()},
        uncited=tuple(name for name in rules if name not in places),
        unknown=tuple(name for name in places if name not in rules),
    )
