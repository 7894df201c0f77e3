"""The files of a workspace as MCP tools, for agents without a file system. No link is followed, and nothing is sent."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import Any

from lawbook.agents.api.operation import OK, REFUSED, WRONG, Argument, CommandResult, Operation
from lawbook.agents.api.workspace import Workspace
from lawbook.errors import RefusedError, UsageError

MAX_READ_LINES, MAX_READ_CHARACTERS = 400, 20_000
"""Of one answer."""
MAX_LISTED = 200
"""Files of a list."""

_NAME_ARGUMENT = Argument("name", "of the file: world_model.md, or notes/a.py", required=True)


def list_files(workspace: Workspace) -> str:
    """Every file, with its size in bytes."""
    lines = []
    for name in sorted(os.listdir(workspace.descriptor)):  # noqa: PTH208 - a descriptor has no path
        found = os.stat(name, dir_fd=workspace.descriptor, follow_symlinks=False)
        if stat.S_ISREG(found.st_mode) and not name.startswith("."):
            lines.append(f"{name} {found.st_size:,}")
        elif stat.S_ISDIR(found.st_mode) and not name.startswith("."):
            lines.append(f"{name}/")
    more = [f"(and {len(lines) - MAX_LISTED} more)"] if len(lines) > MAX_LISTED else []
    return "\n".join(lines[:MAX_LISTED] + more) or "no file"


def read_file(workspace: Workspace, name: str, start: int = 1, lines: int = MAX_READ_LINES) -> str:
    """Lines of a file, from `start` (1: the first)."""
    texts = workspace.read(name).splitlines()
    start, lines = max(1, start), min(max(1, lines), MAX_READ_LINES)
    part, length = list[str](), 0
    for text in texts[start - 1 : start - 1 + lines]:
        length += len(text) + 1
        if length > MAX_READ_CHARACTERS and part:
            break
        part.append(text[:MAX_READ_CHARACTERS])
    n_left = len(texts) - (start - 1) - len(part)
    return "\n".join([*part, *([f"({n_left:,} lines more: start {start + len(part)})"] if n_left > 0 else [])]) or "(empty)"


def write_file(workspace: Workspace, name: str, text: str) -> str:
    """Put a file there, in place of what has its name."""
    _require_visible(name)
    workspace.write(name, text)
    return f"{name}: {len(text):,} characters"


def edit_file(workspace: Workspace, name: str, old: str, new: str = "") -> str:
    """Put a text in place of another that stands in a file once."""
    _require_visible(name)
    content = workspace.read(name)
    n_places = content.count(old) if old else 0
    if n_places != 1:
        raise RefusedError(f"That text stands in {name} {n_places} times; give one that stands there once.")
    workspace.write(name, content.replace(old, new))
    return f"{name}: changed, {len(content) - len(old) + len(new):,} characters"


def _require_visible(name: str) -> None:
    if any(part.startswith(".") for part in name.removeprefix("./").split("/")):
        raise RefusedError(f"{name[:99]!r} is no name for a file of yours; begin it with a letter or a digit.")


FILE_TOOLS = {
    row.name: row
    for row in (
        Operation("list_files", "the files of your workspace", list_files),
        Operation(
            "read_file",
            "a file of your workspace, such as GUIDE.md",
            read_file,
            (
                _NAME_ARGUMENT,
                Argument("start", "first line, from 1", "number"),
                Argument("lines", f"how many, at most {MAX_READ_LINES}", "number"),
            ),
        ),
        Operation(
            "write_file",
            "write a file of your workspace, whole",
            write_file,
            (_NAME_ARGUMENT, Argument("text", "what it is to hold", required=True)),
            has_effects=True,
        ),
        Operation(
            "edit_file",
            "put a text in place of another in a file of your workspace",
            edit_file,
            (
                _NAME_ARGUMENT,
                Argument("old", "what stands there, once", required=True),
                Argument("new", "what is to stand there (nothing: it is taken out)"),
            ),
            has_effects=True,
        ),
    )
}
"""By name."""


def call_file_tool(workspace: Workspace, name: str, fields: Mapping[str, Any]) -> CommandResult:
    """The answer to one of these tools; whatever is wrong ends in a sentence."""
    try:
        tool = FILE_TOOLS[name]
        return CommandResult(str(tool.handler(workspace, **tool.parse_fields(fields))), OK)
    except RefusedError as error:
        return CommandResult(str(error), REFUSED)
    except UsageError as error:
        return CommandResult(str(error), WRONG)
    except OSError as error:
        return CommandResult(f"That failed ({error.strerror}); try it again.", REFUSED)
