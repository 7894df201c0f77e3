"""What an agent may ask its model for: nothing with which the provider would reach the world outside on its behalf."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_AGENT_TOOLS = re.compile(
    r"custom|function|namespace|local_shell|shell|apply_patch|tool_search|computer|computer_use_preview"
    r"|(bash|text_editor|memory|computer|tool_search_tool_regex|tool_search_tool_bm25)_\d{8}"
)
"""The kinds of tools that the agent's own program runs, or that only look through those; a date is Anthropic's version."""
_PROVIDER_STATE_FIELDS = ("container", "prompt", "background")
"""What at the top of a request is the provider's own: a container, a stored prompt with its tools, an answer nobody waits for."""


class ForbiddenRequestError(Exception):
    """A request that is not passed on; the sentence is for the agent."""


def check_request(body: bytes) -> bytes:
    """The request as it is passed on: what was looked at is what is sent, whatever others make of doubled keys. Raises
    ForbiddenRequestError for what is no JSON, and for what reaches outside."""
    try:
        request = json.loads(body)
        external_access = ", ".join(dict.fromkeys(find_external_access(request)))
        checked_body = json.dumps(request).encode()
    except (ValueError, RecursionError) as error:
        raise ForbiddenRequestError("What is passed on is JSON, not compressed and not too deep.") from error
    if external_access:
        raise ForbiddenRequestError(f"What the provider would run or fetch would reach outside; not passed on: {external_access}.")
    return checked_body


def find_external_access(request: object) -> Iterator[str]:
    """What in a request the provider would run or fetch itself (search, code, shells, remote MCP, documents and images by address),
    and so would reach the world outside for the agent.

    It counts wherever it stands: whatever is in a list called `tools` is a tool, whatever ends in `_url` is fetched unless it is
    `data:`.
    """
    if isinstance(request, dict):
        yield from (name for name in _PROVIDER_STATE_FIELDS if request.get(name))
    yield from _walk_external_access(request)


def _walk_external_access(node: object, is_tool: bool = False) -> Iterator[str]:
    """tool: `asked` is one, or several."""
    if isinstance(node, list):
        for entry in node:
            yield from _walk_external_access(entry, is_tool)
    if not isinstance(node, dict):
        return
    if is_tool and (foreign_kind := _find_foreign_kind(node)):
        yield foreign_kind
    for name, value in node.items():
        if (name == "mcp_servers" and value) or (name in ("file_id", "file_ids") and value and not isinstance(value, dict)):
            yield name  # a stored file; a mapping of that name is what a tool says of its arguments
        if name.endswith("_url") and _is_external_url(value):
            yield f"{name} (only data: is)"
        if name == "source" and isinstance(value, dict) and value.get("type") in ("url", "file"):
            yield f"source of type {value['type']}"
        yield from _walk_external_access(value, name == "tools" and isinstance(value, list))


def _find_foreign_kind(tool: Mapping[str, Any]) -> str:
    """The kind of a tool that the agent's own program does not run; empty where it does."""
    kind = str(tool.get("type") or "custom")
    if not _AGENT_TOOLS.fullmatch(kind):
        return kind[:99]
    environment = tool.get("environment")
    if kind == "shell" and environment is not None and not (isinstance(environment, dict) and environment.get("type") == "local"):
        return "shell that is not local"
    return ""


def _is_external_url(value: object) -> bool:
    address = value.get("url") if isinstance(value, dict) else value
    return isinstance(address, str) and not address.startswith("data:")
