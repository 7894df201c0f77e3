"""Answers of a model, taken apart: fields, fenced files, search/replace edits, JSON. Forgiving in form, exact in content.

Whatever cannot be read is an UnreadableAnswerError with one sentence for the model; nothing else is ever raised, whatever the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

MAX_ANSWER_CHARS = 2_000_000
"""Characters of an answer that are looked at."""

_FILE_NAME = re.compile(r"(?<![\w./-])(?:[\w.-]+/){0,8}([A-Za-z_]\w{0,63}\.(?:py|md))(?!\w)")
_FENCE = re.compile(r" {0,8}(`{3,}|~{3,})(.*)")
_SEARCH, _MIDDLE, _REPLACE = (
    re.compile(r"\s*<{5,}\s*SEARCH\b"),
    re.compile(r"\s*={5,}\s*$"),
    re.compile(r"\s*>{5,}(?:\s*REPLACE)?\s*$"),
)
_DECORATION = " \t>*#_-`|•"


class UnreadableAnswerError(Exception):
    """An answer that cannot be read. str(error): one sentence for the model that says what to answer instead."""


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
class ParsedAnswer:
    """An answer taken apart. lines: those outside of blocks and edits."""

    lines: list[str] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)


def clean_answer(text: str) -> str:
    """Clean a text: line ends as LF; no byte order mark, NUL, half surrogates or thinking aloud in tags; not endlessly long."""
    text = text[:MAX_ANSWER_CHARS].encode("utf-8", "replace").decode("utf-8", "replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\ufeff", "").replace("\x00", "")
    for tag in ("think", "thinking"):
        start = text.find(f"<{tag}>")
        end = text.rfind(f"</{tag}>")
        if end >= 0 and (start < 0 or not text[:start].strip()):  # some servers leave only the closing one
            text = text[end + len(tag) + 3 :]
    return text.strip("\n")


# -- JSON -----------------------------------------------------------------------------------------------


def find_json_object(text: str, names: Iterable[str]) -> Mapping[str, Any] | None:
    """Find the JSON object in `text` that has one of these names; None when the answer is not meant as JSON.

    Raises UnreadableAnswerError for JSON that is broken, or of another shape.
    """
    expected = set(names)
    starts = [k for k, character in enumerate(text[:20_000]) if character == "{"][:50]
    decoder, problem = json.JSONDecoder(strict=False), ""
    for start in starts:
        try:
            value, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            problem = problem or str(error)
            continue
        if isinstance(value, dict) and expected & set(value):
            return value
    is_meant_as_json = text.lstrip("`json \n").startswith("{") and any(f'"{name}"' in text for name in expected)
    if is_meant_as_json:
        raise UnreadableAnswerError(
            f"The JSON of your answer is malformed ({problem[:120]}); answer with one complete JSON object."
        )
    return None


# -- blocks, edits and the lines between ----------------------------------------------------------------


def parse_answer(text: str) -> ParsedAnswer:
    """Find the fenced blocks and edits of a cleaned answer, each with the file named just before it.

    Raises UnreadableAnswerError for half an edit.
    """
    answer, preceding_name = ParsedAnswer(), ""
    lines = text.split("\n")
    k = 0
    while k < len(lines):
        line = lines[k]
        if _SEARCH.match(line):
            edit, k = _parse_edit(lines, k, preceding_name)
            answer.edits.append(edit)
            continue
        fence = _FENCE.fullmatch(line)
        if fence:
            block, block_edits, k = _parse_block(lines, k, fence[1], fence[2].strip(), preceding_name)
            answer.edits += block_edits
            preceding_name = block.name if block_edits else ""  # further edits are of the same file, a further block is not
            if block.body.strip() or not block_edits:
                answer.blocks.append(block)
            continue
        answer.lines.append(line)
        if line.strip():
            preceding_name = _find_file_name(line)
        k += 1
    return answer


def _parse_block(lines: list[str], k: int, fence_mark: str, info: str, preceding_name: str) -> tuple[Block, list[Edit], int]:
    """The block that opens in line k; what it holds of edits; the line after it."""
    name = _find_file_name(info) or ("" if info.lower().startswith("py") and preceding_name.endswith(".md") else preceding_name)
    is_markdown = info.lower().startswith(("md", "markdown")) or name.endswith(".md")
    body: list[str] = []
    edits: list[Edit] = []
    depth, is_closed = 1, False
    k += 1
    while k < len(lines):
        line = lines[k]
        if _SEARCH.match(line):
            edit_file = next(
                (
                    candidate
                    for body_line in reversed(body)
                    if body_line.strip()
                    for candidate in [_find_file_name(body_line)]
                    if candidate
                ),
                name,
            )
            edit, k = _parse_edit(lines, k, edit_file)
            edits.append(edit)
            continue
        fence = _FENCE.fullmatch(line)
        if fence and fence[1][0] == fence_mark[0] and len(fence[1]) >= len(fence_mark):
            if not fence[2].strip():
                depth -= 1
            elif is_markdown:  # a block within a rulebook
                depth += 1
            else:  # the next one begins, and this one's end was forgotten
                is_closed = True
                break
            if depth == 0:
                is_closed, k = True, k + 1
                break
        body.append(line)
        k += 1
    if edits:
        body = [line for line in body if not _find_file_name(line) or len(line) > 120]
    if not _find_file_name(info) and not edits:
        first_line = next((line for line in body if line.strip()), "")
        if first_line.lstrip().startswith(("#", "<!--")) and _FILE_NAME.fullmatch(first_line.strip(" \t#<>!-:")):
            name = _find_file_name(first_line)
    return Block(name, info, "\n".join(body), is_closed), edits, k


def _parse_edit(lines: list[str], k: int, name: str) -> tuple[Edit, int]:
    """The edit that begins in line k, and the line after it."""
    middle = next((j for j in range(k + 1, len(lines)) if _MIDDLE.match(lines[j])), None)
    end = None if middle is None else next((j for j in range(middle + 1, len(lines)) if _REPLACE.match(lines[j])), None)
    if middle is None or end is None:
        missing = "no ======= line" if middle is None else "no >>>>>>> REPLACE line"
        raise UnreadableAnswerError(
            f"An edit that begins with <<<<<<< SEARCH has {missing}; was your answer cut short? Write each edit whole."
        )
    file_name = _find_file_name(lines[k]) or name
    return Edit(file_name, "\n".join(lines[k + 1 : middle]), "\n".join(lines[middle + 1 : end])), end + 1


def _find_file_name(line: str) -> str:
    """The file that a line names, or an empty string. A long line is prose that mentions one."""
    if len(line) > 120:
        return ""
    names = _FILE_NAME.findall(line)
    return str(names[-1]) if len(names) == 1 else ""


# -- fields ---------------------------------------------------------------------------------------------


def find_fields(lines: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Find what stands after each `NAME:` (or under a heading NAME), up to the next of the names. A repeated one counts last."""
    lines_by_name: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in lines:
        field_start = _match_field(line, names)
        if field_start is not None:
            name, value = field_start
            current = lines_by_name[name] = [value]
        elif current is not None:
            current.append(line)
    return {name: "\n".join(field_lines).strip().strip("*").strip() for name, field_lines in lines_by_name.items()}


def _match_field(line: str, names: Sequence[str]) -> tuple[str, str] | None:
    stripped = line.strip().lstrip(_DECORATION)
    for name in names:
        if stripped[: len(name)].upper() != name:
            continue
        after_name = stripped[len(name) :].lstrip("*_` \t")
        if after_name[:1] in (":", "="):
            return name, after_name[1:].strip().lstrip("*_").strip()
        if not after_name and line.strip() != stripped:  # a heading, or bold
            return name, ""
    return None


def match_choice(text: str, choices: Sequence[str]) -> str | None:
    """Return the one of `choices` that a field's text begins with, or the only one it names; None when there is none, or more."""
    normalized = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    for choice in sorted(choices, key=len, reverse=True):
        if normalized == choice or normalized.startswith(f"{choice}_"):
            return choice
    mentioned = [choice for choice in choices if f"_{choice}_" in f"_{normalized}_"]
    return mentioned[0] if len(mentioned) == 1 else None


def iterate_field_lines(answer: ParsedAnswer) -> Iterator[str]:
    """Iterate over the lines where fields may stand: those between the blocks.

    Where there are none, over everything, for a model that fences all.
    """
    yield from answer.lines
    if not any(line.strip() for line in answer.lines):
        for block in answer.blocks:
            yield from block.body.split("\n")
