"""The prompts, each a file of its own under prompts/: which make up an operator's, for which arm, in which version."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from importlib.resources import files

_ALL = ("system", "contract", "notation")
OPS = {
    "reflect": (*_ALL, "reflect", "tools"),
    "revise": (*_ALL, "revise"),
    "compile": (*_ALL, "compile", "diagnose", "tools"),
    "judge": ("contract", "judge"),
    "simplify": (*_ALL, "simplify"),
    "explore": (*_ALL, "explore"),
    "direct": ("direct_system", "direct"),
}
"""The files of every operator's prompt: those before the task, which has the operator's own name, are the system message; those
after it are put in where they are wanted: the diagnosis where no reflection came before, and how to look closer where the model
takes no tool calls itself."""

_MARKED = r"<!-- {0} -->(\n?)(.*?)<!-- /{0} -->(\n?)"


def system(op: str, rulebook: bool = True) -> str:
    """The system message of an operator."""
    return "\n".join(prompt(name, rulebook) for name in OPS[op][: OPS[op].index(op)])


@lru_cache(64)
def prompt(name: str, rulebook: bool = True, later: bool = True) -> str:
    """The text of one file. rulebook False: without what speaks of a rulebook, and not a byte otherwise different. later False:
    without what is of no use before anything has been proposed."""
    source = _source(name)
    for mark, kept in (("rulebook", rulebook), ("later", later)):
        source = _marked(source, mark, kept)
    return source


def _marked(source: str, mark: str, kept: bool) -> str:
    found = re.compile(_MARKED.format(mark), re.DOTALL)
    if kept:
        return found.sub(lambda one: one[2] if one[1] else one[2] + one[3], source)
    # Where both marks stand on lines of their own those lines go, and elsewhere what is between them.
    return found.sub(lambda one: "" if one[1] else one[3], source)


def version(op: str) -> str:
    """`3-1a2b3c4d`: the number in prompts/versions.txt, and the hash of all files of the operator's prompt. A `+` after the
    number: they have been changed since they had it."""
    digest = hashlib.sha256("\0".join(_source(name) for name in OPS[op]).encode()).hexdigest()[:8]
    number, known = _numbers().get(op, ("0", ""))
    return f"{number}{'' if known == digest else '+'}-{digest}"


@lru_cache(1)
def _numbers() -> dict[str, tuple[str, str]]:
    """op -> (number, hash), from lines `op number hash`, the last of each."""
    rows = (line.split() for line in _file("versions.txt").splitlines() if line and not line.startswith("#"))
    return {op: (number, digest) for op, number, digest in rows}


def _source(name: str) -> str:
    return _file(f"{name}.md")


@lru_cache(64)
def _file(name: str) -> str:
    return (files("lawbook.minds.llm") / "prompts" / name).read_text(encoding="utf-8")
