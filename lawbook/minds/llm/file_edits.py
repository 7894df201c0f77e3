"""The files that an answer leaves: whole texts and search/replace edits applied to the ones before, or a sentence why not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lawbook.core.hypothesis import ENGINE, RULEBOOK
from lawbook.minds.llm.parsing import Block, Edit, ParsedAnswer, UnreadableAnswerError

_MAX_QUOTED_CHARS = 80


def apply_answer(
    answer: ParsedAnswer, before: Mapping[str, str], target_file: str | None = None, *, final_attempt: bool = False
) -> dict[str, str]:
    """All files after the answer: `before` with its whole files put in and its edits applied.

    target_file: RULEBOOK or ENGINE where the answer is about the rulebook, or about the program, alone. final_attempt: there is
    no asking again, so a block whose end is missing is taken as it is. Raises Unreadable.
    """
    files = dict(before)
    blocks = [block for block in answer.blocks if _is_file_block(block, target_file)]
    if answer.edits or any(block.name for block in blocks):  # then one without a name is quoted, or an example
        blocks = [block for block in blocks if block.name]
    for block in blocks:
        name = block.name or _guess_file_name(block, len(blocks), target_file)
        if not name:
            raise UnreadableAnswerError("A fenced block has no file name before it; write the name on the line above each block.")
        if not block.closed and not final_attempt:
            raise UnreadableAnswerError(
                f"Your answer ends inside {name}; was it cut short? Answer again, with edits or a shorter file."
            )
        if not block.body.strip():
            raise UnreadableAnswerError(f"{name} is empty in your answer; write the whole file, or edits of it.")
        files[name] = _end_with_newline(block.body)
    for edit in answer.edits:
        name = edit.file or _pick_default_file(files, target_file)
        files[name] = apply_edit(edit, name, files.get(name, ""))
    return files


def apply_json_answer(answer: Mapping[str, Any], before: Mapping[str, str], target_file: str | None = None) -> dict[str, str]:
    """As `changed`, from {"files": [{"name", "source"}], "edits": [{"file", "search", "replace"}]}. Raises Unreadable."""
    files = dict(before)
    for entry in _require_objects(answer.get("files")):
        name, source = _require_text(entry, "name"), _require_text(entry, "source")
        if not source.strip():
            raise UnreadableAnswerError(f"{name} is empty in your answer; give its whole source, or edits of it.")
        files[name] = _end_with_newline(source)
    for entry in _require_objects(answer.get("edits")):
        edit = Edit(str(entry.get("file") or ""), _require_text(entry, "search"), _require_text(entry, "replace"))
        name = edit.file or _pick_default_file(files, target_file)
        files[name] = apply_edit(edit, name, files.get(name, ""))
    return files


def apply_edit(edit: Edit, name: str, source: str) -> str:
    """`source` with the one place that the edit names replaced; blanks at the ends of lines do not matter. Raises Unreadable."""
    if not edit.search.strip():
        if source.strip():
            raise UnreadableAnswerError(
                f"An edit of {name} has an empty SEARCH part; copy the lines that are to be replaced into it."
            )
        return _end_with_newline(edit.replace)
    if not source:
        raise UnreadableAnswerError(f"There is no {name} to edit; write the whole file, or name another.")
    old_lines, new_lines = edit.search.split("\n"), edit.replace.split("\n") if edit.replace else []
    lines = source.split("\n")
    matches = _find_matches(lines, old_lines) or _find_matches(
        [line.rstrip() for line in lines], [line.rstrip() for line in old_lines]
    )
    if not matches:
        matches, old_lines, new_lines = _match_reindented(lines, old_lines, new_lines)
    if len(matches) != 1:
        quoted = next(line.strip() for line in edit.search.split("\n") if line.strip())[:_MAX_QUOTED_CHARS]
        if not matches:
            raise UnreadableAnswerError(
                f"The SEARCH text beginning `{quoted}` is nowhere in {name}; copy whole lines of it exactly."
            )
        raise UnreadableAnswerError(
            f"The SEARCH text beginning `{quoted}` is in {name} {len(matches)} times; add lines until it is there once."
        )
    start = matches[0]
    return "\n".join([*lines[:start], *new_lines, *lines[start + len(old_lines) :]])


def _find_matches(lines: list[str], target_lines: list[str]) -> list[int]:
    first_line = target_lines[0]
    return [k for k, line in enumerate(lines) if line == first_line and lines[k : k + len(target_lines)] == target_lines]


def _match_reindented(lines: list[str], old_lines: list[str], new_lines: list[str]) -> tuple[list[int], list[str], list[str]]:
    """(places, old, new) once more, without blank lines around it and with another indentation: models indent whole answers."""
    while not old_lines[0].strip():
        old_lines = old_lines[1:]
    while not old_lines[-1].strip():
        old_lines = old_lines[:-1]
    target_lines, size = _dedent(old_lines), len(old_lines)
    starts = (k for k in range(len(lines) - size + 1) if lines[k].strip() == target_lines[0].strip())
    matches = [k for k in starts if _dedent(lines[k : k + size]) == target_lines]
    if len(matches) == 1:
        depth, margin = _measure_indent(old_lines), " " * _measure_indent(lines[matches[0] : matches[0] + size])
        new_lines = [margin + line[min(depth, _measure_indent([line])) :] if line.strip() else "" for line in new_lines]
    return matches, old_lines, new_lines


def _dedent(lines: Sequence[str]) -> list[str]:
    depth = _measure_indent(lines)
    return [line[depth:].rstrip() for line in lines]


def _measure_indent(lines: Iterable[str]) -> int:
    return min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)


def _is_file_block(block: Block, target_file: str | None) -> bool:
    """Is this block one of the files? Not what is quoted from elsewhere: shell, JSON, text, patches."""
    language = block.info.lower().split(" ")[0]
    if language in ("sh", "bash", "shell", "console", "diff", "json", "text", "txt", "output") and not block.name:
        return False
    if target_file == RULEBOOK and not block.name:
        return language not in ("python", "py")
    return True


def _guess_file_name(block: Block, n_blocks: int, target_file: str | None) -> str:
    """Which file a nameless block is, one of so many: the only one asked for, or the one of its language."""
    if n_blocks > 1:
        return ""
    if block.info.lower().startswith(("md", "markdown")):
        return RULEBOOK if target_file != ENGINE else ""
    return target_file or (ENGINE if block.info.lower().startswith("py") else "")


def _pick_default_file(files: Mapping[str, str], target_file: str | None) -> str:
    return RULEBOOK if target_file == RULEBOOK else ENGINE


def _end_with_newline(source: str) -> str:
    return source.strip("\n") + "\n"


def _require_objects(value: object) -> Iterable[Mapping[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise UnreadableAnswerError("`files` and `edits` are lists of objects; answer in the shape of the schema.")
    return value


def _require_text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str):
        raise UnreadableAnswerError(f"`{key}` is missing or no text; answer in the shape of the schema.")
    return value.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode("utf-8", "replace")
