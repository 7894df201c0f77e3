"""The prompts, each a file of its own under prompts/: which make up an operator's, for which arm, in which version."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from importlib.resources import files

_COMMON = ("system", "contract", "notation")
OPERATOR_PROMPTS = {
    "reflect": (*_COMMON, "reflect", "tools"),
    "revise": (*_COMMON, "revise"),
    "compile": (*_COMMON, "compile", "diagnose", "tools"),
    "judge": ("contract", "judge"),
    "simplify": (*_COMMON, "simplify"),
    "explore": (*_COMMON, "explore"),
    "direct": ("direct_system", "direct"),
}
"""The files of every operator's prompt: those before the task, which has the operator's own name, are the system message; those
after it are put in where they are wanted: the diagnosis where no reflection came before, and how to look closer where the model
takes no tool calls itself."""

_MARKED_SECTION = r"<!-- {0} -->(\n?)(.*?)<!-- /{0} -->(\n?)"


def build_system_prompt(op: str, rulebook: bool = True, allows_open: bool = False) -> str:
    """Build the system message of an operator. rulebook: for an arm that has one; allows_open: for one with open cells."""
    names = OPERATOR_PROMPTS[op][: OPERATOR_PROMPTS[op].index(op)]
    return "\n".join(load_prompt(name, rulebook, allows_open=allows_open) for name in names)


@lru_cache(64)
def load_prompt(name: str, rulebook: bool = True, later: bool = True, allows_open: bool = False) -> str:
    """Load the text of one file.

    rulebook False: without what speaks of a rulebook, and not a byte otherwise different. later False: without what is of no use
    before anything has been proposed. allows_open: with what speaks of leaving open what cannot be known.
    """
    source = _load_source(name)
    for mark, keep in (("rulebook", rulebook), ("later", later), ("open", allows_open)):
        source = _filter_section(source, mark, keep)
    return source


def _filter_section(source: str, mark: str, keep: bool) -> str:
    pattern = re.compile(_MARKED_SECTION.format(mark), re.DOTALL)
    if keep:
        return pattern.sub(lambda section: section[2] if section[1] else section[2] + section[3], source)
    # Where both marks stand on lines of their own those lines go, and elsewhere what is between them.
    return pattern.sub(lambda section: "" if section[1] else section[3], source)


def compute_version(op: str) -> str:
    """Compute the version of an operator's prompt: `3-1a2b3c4d` is the number in prompts/versions.txt and a hash of its files.

    A `+` after the number: they have been changed since they had it.
    """
    digest = hashlib.sha256("\0".join(_load_source(name) for name in OPERATOR_PROMPTS[op]).encode()).hexdigest()[:8]
    number, recorded_digest = _load_version_numbers().get(op, ("0", ""))
    return f"{number}{'' if recorded_digest == digest else '+'}-{digest}"


@lru_cache(1)
def _load_version_numbers() -> dict[str, tuple[str, str]]:
    """op -> (number, hash), from lines `op number hash`, the last of each."""
    rows = (line.split() for line in _read_prompt_file("versions.txt").splitlines() if line and not line.startswith("#"))
    return {op: (number, digest) for op, number, digest in rows}


def _load_source(name: str) -> str:
    return _read_prompt_file(f"{name}.md")


@lru_cache(64)
def _read_prompt_file(name: str) -> str:
    return (files("lawbook.minds.llm") / "prompts" / name).read_text(encoding="utf-8")
