"""The files that an answer leaves: whole texts and search/replace edits applied to the ones before, or a sentence why not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lawbook.core.hypothesis import ENGINE, RULEBOOK
from lawbook.minds.llm.parsing import Block, Edit, Said, Unreadable

_QUOTED = 80


def changed(said: Said, before: Mapping[str, str], only: str | None = None, *, last: bool = False) -> dict[str, str]:
    """All files after the answer: `before` with its whole files put in and its edits applied.

    only: RULEBOOK or ENGINE where the answer is about the rulebook, or about the program, alone. last: there is no asking again,
    so a block whose end is missing is taken as it is. Raises Unreadable.
    """
    files = dict(before)
    blocks = [block for block in said.blocks if _counts(block, only)]
    if said.edits or any(block.name for block in blocks):  # then one without a name is quoted, or an example
        blocks = [block for block in blocks if block.name]
    for block in blocks:
        name = block.name or _meant(block, len(blocks), only)
        if not name:
            raise Unreadable("A fenced block has no file name before it; write the name on the line above each block.")
        if not block.closed and not last:
            raise Unreadable(f"Your answer ends inside {name}; was it cut short? Answer again, with edits or a shorter file.")
        if not block.body.strip():
            raise Unreadable(f"{name} is empty in your answer; write the whole file, or edits of it.")
        files[name] = _ended(block.body)
    for edit in said.edits:
        name = edit.file or _only_file(files, only)
        files[name] = applied(edit, name, files.get(name, ""))
    return files


def from_json(answer: Mapping[str, Any], before: Mapping[str, str], only: str | None = None) -> dict[str, str]:
    """As `changed`, from {"files": [{"name", "source"}], "edits": [{"file", "search", "replace"}]}. Raises Unreadable."""
    files = dict(before)
    for one in _objects(answer.get("files")):
        name, source = _text(one, "name"), _text(one, "source")
        if not source.strip():
            raise Unreadable(f"{name} is empty in your answer; give its whole source, or edits of it.")
        files[name] = _ended(source)
    for one in _objects(answer.get("edits")):
        edit = Edit(str(one.get("file") or ""), _text(one, "search"), _text(one, "replace"))
        name = edit.file or _only_file(files, only)
        files[name] = applied(edit, name, files.get(name, ""))
    return files


def applied(edit: Edit, name: str, source: str) -> str:
    """`source` with the one place that the edit names replaced; blanks at the ends of lines do not matter. Raises Unreadable."""
    if not edit.search.strip():
        if source.strip():
            raise Unreadable(f"An edit of {name} has an empty SEARCH part; copy the lines that are to be replaced into it.")
        return _ended(edit.replace)
    if not source:
        raise Unreadable(f"There is no {name} to edit; write the whole file, or name another.")
    old, new = edit.search.split("\n"), edit.replace.split("\n") if edit.replace else []
    lines = source.split("\n")
    places = _places(lines, old) or _places([line.rstrip() for line in lines], [line.rstrip() for line in old])
    if not places:
        places, old, new = _shifted(lines, old, new)
    if len(places) != 1:
        quoted = next(line.strip() for line in edit.search.split("\n") if line.strip())[:_QUOTED]
        if not places:
            raise Unreadable(f"The SEARCH text beginning `{quoted}` is nowhere in {name}; copy whole lines of it exactly.")
        raise Unreadable(
            f"The SEARCH text beginning `{quoted}` is in {name} {len(places)} times; add lines until it is there once."
        )
    at = places[0]
    return "\n".join([*lines[:at], *new, *lines[at + len(old) :]])


def _places(lines: list[str], wanted: list[str]) -> list[int]:
    first = wanted[0]
    return [k for k, line in enumerate(lines) if line == first and lines[k : k + len(wanted)] == wanted]


def _shifted(lines: list[str], old: list[str], new: list[str]) -> tuple[list[int], list[str], list[str]]:
    """(places, old, new) once more, without blank lines around it and with another indentation: models indent whole answers."""
    while not old[0].strip():
        old = old[1:]
    while not old[-1].strip():
        old = old[:-1]
    wanted, size = _dedented(old), len(old)
    starts = (k for k in range(len(lines) - size + 1) if lines[k].strip() == wanted[0].strip())
    places = [k for k in starts if _dedented(lines[k : k + size]) == wanted]
    if len(places) == 1:
        depth, margin = _depth(old), " " * _depth(lines[places[0] : places[0] + size])
        new = [margin + line[min(depth, _depth([line])) :] if line.strip() else "" for line in new]
    return places, old, new


def _dedented(lines: Sequence[str]) -> list[str]:
    depth = _depth(lines)
    return [line[depth:].rstrip() for line in lines]


def _depth(lines: Iterable[str]) -> int:
    return min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)


def _counts(block: Block, only: str | None) -> bool:
    """Is this block one of the files? Not what is quoted from elsewhere: shell, JSON, text, patches."""
    info = block.info.lower().split(" ")[0]
    if info in ("sh", "bash", "shell", "console", "diff", "json", "text", "txt", "output") and not block.name:
        return False
    if only == RULEBOOK and not block.name:
        return info not in ("python", "py")
    return True


def _meant(block: Block, blocks: int, only: str | None) -> str:
    """Which file a nameless block is, one of so many: the only one asked for, or the one of its language."""
    if blocks > 1:
        return ""
    if block.info.lower().startswith(("md", "markdown")):
        return RULEBOOK if only != ENGINE else ""
    return only or (ENGINE if block.info.lower().startswith("py") else "")


def _only_file(files: Mapping[str, str], only: str | None) -> str:
    return RULEBOOK if only == RULEBOOK else ENGINE


def _ended(source: str) -> str:
    return source.strip("\n") + "\n"


def _objects(given: object) -> Iterable[Mapping[str, Any]]:
    if given is None:
        return []
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise Unreadable("`files` and `edits` are lists of objects; answer in the shape of the schema.")
    return given


def _text(one: Mapping[str, Any], name: str) -> str:
    value = one.get(name)
    if not isinstance(value, str):
        raise Unreadable(f"`{name}` is missing or no text; answer in the shape of the schema.")
    return value.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode("utf-8", "replace")
