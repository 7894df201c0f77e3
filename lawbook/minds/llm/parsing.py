"""What a model said, taken apart: fields, fenced files, search/replace edits, JSON. Forgiving in form, exact in content.

Whatever cannot be read is an Unreadable with one sentence for the model; nothing else is ever raised, whatever the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

MAX_ANSWER = 2_000_000
"""Characters of an answer that are looked at."""

_NAME = re.compile(r"(?<![\w./-])(?:[\w.-]+/){0,8}([A-Za-z_]\w{0,63}\.(?:py|md))(?!\w)")
_FENCE = re.compile(r" {0,8}(`{3,}|~{3,})(.*)")
_SEARCH, _MIDDLE, _REPLACE = (
    re.compile(r"\s*<{5,}\s*SEARCH\b"),
    re.compile(r"\s*={5,}\s*$"),
    re.compile(r"\s*>{5,}(?:\s*REPLACE)?\s*$"),
)
_DECORATION = " \t>*#_-`|•"


class Unreadable(Exception):  # noqa: N818 - it is what the answer was
    """str(error): one sentence for the model that says what to answer instead."""


class Edit(NamedTuple):
    """Replace `search`, which must stand exactly once in `file` (empty: the one that is meant), by `replace`."""

    file: str
    search: str
    replace: str


class Block(NamedTuple):
    """A fenced block. name: of the file it is said to be, or empty; closed: its end was there."""

    name: str
    info: str
    body: str
    closed: bool


@dataclass
class Said:
    """An answer taken apart. lines: those outside of blocks and edits."""

    lines: list[str] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)


def clean(text: str) -> str:
    """Line ends as LF; no byte order mark, no NUL, no half surrogates, no thinking aloud in tags; not endlessly long."""
    text = text[:MAX_ANSWER].encode("utf-8", "replace").decode("utf-8", "replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\ufeff", "").replace("\x00", "")
    for tag in ("think", "thinking"):
        start = text.find(f"<{tag}>")
        end = text.rfind(f"</{tag}>")
        if end >= 0 and (start < 0 or not text[:start].strip()):  # some servers leave only the closing one
            text = text[end + len(tag) + 3 :]
    return text.strip("\n")


# -- JSON -----------------------------------------------------------------------------------------------


def json_in(text: str, names: Iterable[str]) -> Mapping[str, Any] | None:
    """The JSON object in `text` that has one of these names; None when the answer is not meant as JSON. Raises Unreadable."""
    expected = set(names)
    starts = [k for k, sign in enumerate(text[:20_000]) if sign == "{"][:50]
    decoder, why = json.JSONDecoder(strict=False), ""
    for start in starts:
        try:
            found, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            why = why or str(error)
            continue
        if isinstance(found, dict) and expected & set(found):
            return found
    meant = text.lstrip("`json \n").startswith("{") and any(f'"{name}"' in text for name in expected)
    if meant:
        raise Unreadable(f"The JSON of your answer is malformed ({why[:120]}); answer with one complete JSON object.")
    return None


# -- blocks, edits and the lines between ----------------------------------------------------------------


def take_apart(text: str) -> Said:
    """Fenced blocks and edits of a cleaned answer, each with the file named just before it. Raises Unreadable for half an edit."""
    said, near = Said(), ""
    lines = text.split("\n")
    k = 0
    while k < len(lines):
        line = lines[k]
        if _SEARCH.match(line):
            edit, k = _edit(lines, k, near)
            said.edits.append(edit)
            continue
        fence = _FENCE.fullmatch(line)
        if fence:
            block, inner, k = _block(lines, k, fence[1], fence[2].strip(), near)
            said.edits += inner
            near = block.name if inner else ""  # further edits are of the same file, a further block is not
            if block.body.strip() or not inner:
                said.blocks.append(block)
            continue
        said.lines.append(line)
        if line.strip():
            near = _named(line)
        k += 1
    return said


def _block(lines: list[str], k: int, mark: str, info: str, near: str) -> tuple[Block, list[Edit], int]:
    """The block that opens in line k; what it holds of edits; the line after it."""
    name = _named(info) or ("" if info.lower().startswith("py") and near.endswith(".md") else near)
    prose = info.lower().startswith(("md", "markdown")) or name.endswith(".md")
    body: list[str] = []
    edits: list[Edit] = []
    depth, closed = 1, False
    k += 1
    while k < len(lines):
        line = lines[k]
        if _SEARCH.match(line):
            named = next((found for one in reversed(body) if one.strip() for found in [_named(one)] if found), name)
            edit, k = _edit(lines, k, named)
            edits.append(edit)
            continue
        fence = _FENCE.fullmatch(line)
        if fence and fence[1][0] == mark[0] and len(fence[1]) >= len(mark):
            if not fence[2].strip():
                depth -= 1
            elif prose:  # a block within a rulebook
                depth += 1
            else:  # the next one begins, and this one's end was forgotten
                closed = True
                break
            if depth == 0:
                closed, k = True, k + 1
                break
        body.append(line)
        k += 1
    if edits:
        body = [line for line in body if not _named(line) or len(line) > 120]
    if not _named(info) and not edits:
        first = next((line for line in body if line.strip()), "")
        if first.lstrip().startswith(("#", "<!--")) and _NAME.fullmatch(first.strip(" \t#<>!-:")):
            name = _named(first)
    return Block(name, info, "\n".join(body), closed), edits, k


def _edit(lines: list[str], k: int, name: str) -> tuple[Edit, int]:
    """The edit that begins in line k, and the line after it."""
    middle = next((j for j in range(k + 1, len(lines)) if _MIDDLE.match(lines[j])), None)
    end = None if middle is None else next((j for j in range(middle + 1, len(lines)) if _REPLACE.match(lines[j])), None)
    if middle is None or end is None:
        missing = "no ======= line" if middle is None else "no >>>>>>> REPLACE line"
        raise Unreadable(
            f"An edit that begins with <<<<<<< SEARCH has {missing}; was your answer cut short? Write each edit whole."
        )
    named = _named(lines[k]) or name
    return Edit(named, "\n".join(lines[k + 1 : middle]), "\n".join(lines[middle + 1 : end])), end + 1


def _named(line: str) -> str:
    """The file that a line names, or an empty string. A long line is prose that mentions one."""
    if len(line) > 120:
        return ""
    found = _NAME.findall(line)
    return str(found[-1]) if len(found) == 1 else ""


# -- fields ---------------------------------------------------------------------------------------------


def fields(lines: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """What stands after each `NAME:` (or under a heading NAME), up to the next of the names. The last one counts when repeated."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in lines:
        started = _field(line, names)
        if started is not None:
            name, rest = started
            current = found[name] = [rest]
        elif current is not None:
            current.append(line)
    return {name: "\n".join(text).strip().strip("*").strip() for name, text in found.items()}


def _field(line: str, names: Sequence[str]) -> tuple[str, str] | None:
    bare = line.strip().lstrip(_DECORATION)
    for name in names:
        if bare[: len(name)].upper() != name:
            continue
        rest = bare[len(name) :].lstrip("*_` \t")
        if rest[:1] in (":", "="):
            return name, rest[1:].strip().lstrip("*_").strip()
        if not rest and line.strip() != bare:  # a heading, or bold
            return name, ""
    return None


def word(text: str, choices: Sequence[str]) -> str | None:
    """The one of `choices` that a field's text begins with, or the only one it names; None when there is none, or more."""
    plain = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    for choice in sorted(choices, key=len, reverse=True):
        if plain == choice or plain.startswith(f"{choice}_"):
            return choice
    named = [choice for choice in choices if f"_{choice}_" in f"_{plain}_"]
    return named[0] if len(named) == 1 else None


def outside(said: Said) -> Iterator[str]:
    """Lines where fields may stand: those between the blocks; where there are none, everything, for a model that fences all."""
    yield from said.lines
    if not any(line.strip() for line in said.lines):
        for block in said.blocks:
            yield from block.body.split("\n")
