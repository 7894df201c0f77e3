"""The same door as an MCP server on stdio: a tool for each operation, and some for the files of the workspace.

`python -m lawbook.agents.api.mcp_server WORKSPACE`, or `./law mcp`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lawbook import __version__
from lawbook.agents.api.file_tools import FILE_TOOLS, call_file_tool
from lawbook.agents.api.framing import send_request
from lawbook.agents.api.operation import BUG, OK, WRONG, CommandResult
from lawbook.agents.api.operations import OPERATIONS
from lawbook.agents.api.progress import ActionCounter
from lawbook.agents.api.workspace import SOCKET, Workspace
from lawbook.errors import UsageError

PROGRESS_SECONDS = 2.0
"""Between two words of progress, to a client that waits."""


def main(arguments: Sequence[str]) -> int:
    """Serve until the client hangs up. Every call goes through the socket of the workspace, as a command would.

    arguments: the workspace; or `--descriptor`, the number of one that is open at it, the process that keeps the run (nobody else
    is spoken to, whatever an agent has put in place of the socket), and the descriptor of its ActionCounter. Returns the exit code.
    """
    if len(arguments) not in (1, 4) or (len(arguments) == 4 and arguments[0] != "--descriptor"):
        print("python -m lawbook.agents.api.mcp_server WORKSPACE", file=sys.stderr)
        return 2
    try:
        import anyio
        import mcp.server.stdio
        import mcp.types as types
        from mcp.server.lowlevel import Server
    except ImportError as error:
        print(f"MCP needs the package {error.name}: pip install 'lawbook[mcp]'.", file=sys.stderr)
        return 2
    tools = [
        types.Tool(
            name=operation.name,
            description=operation.description,
            input_schema=operation.schema,
            annotations=types.ToolAnnotations(read_only_hint=not operation.has_effects),
        )
        for operation in (*OPERATIONS.values(), *FILE_TOOLS.values())
    ]

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def report_progress(context: Any) -> None:
        """Say how long it has taken and how many actions were sent, to a client that asked to be told."""
        began, n_before = anyio.current_time(), counter.read() if counter else 0
        while True:
            await anyio.sleep(PROGRESS_SECONDS)
            seconds = round(anyio.current_time() - began)
            sent = f", {counter.read() - n_before:,} actions sent" if counter else ""
            await context.session.report_progress(float(seconds), None, f"{seconds} seconds{sent}")

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name in FILE_TOOLS:
            answer = partial(call_file_tool, workspace, params.name, dict(params.arguments or {}))
        else:
            request = {"tool": params.name, "arguments": dict(params.arguments or {})}
            answer = partial(send_request, workspace, SOCKET, request, keeper_pid=keeper_pid)
        async with anyio.create_task_group() as group:
            group.start_soon(report_progress, context)
            result = await anyio.to_thread.run_sync(partial(_answer_safely, answer))
            group.cancel_scope.cancel()
        return types.CallToolResult(content=[types.TextContent(type="text", text=result.text)], is_error=result.code != OK)

    server = Server(
        "law",
        version=__version__,
        instructions="An unknown world behind a gate. Begin with the tool brief; read_file GUIDE.md tells how to work.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )

    async def serve() -> None:
        async with mcp.server.stdio.stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    is_handed_on = len(arguments) == 4
    keeper_pid = int(arguments[2]) if is_handed_on else None
    counter = ActionCounter(int(arguments[3])) if is_handed_on else None
    with Workspace.from_descriptor(int(arguments[1])) if is_handed_on else Workspace(Path(arguments[0])) as workspace:
        anyio.run(serve)
    return 0


def _answer_safely(answer: Callable[[], CommandResult]) -> CommandResult:
    """Every request has an answer, whatever happens to us while it is made: where nobody is behind the door, too."""
    try:
        return answer()
    except UsageError as error:
        return CommandResult(str(error), WRONG)
    except Exception as error:
        return CommandResult(f"That failed inside Lawbook ({type(error).__name__}); try it another way.", BUG)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
