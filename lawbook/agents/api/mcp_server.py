"""The same door as an MCP server on stdio: a tool for each operation.

`python -m lawbook.agents.api.mcp_server WORKSPACE`, or `./law mcp`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lawbook import __version__
from lawbook.agents.api.framing import send_request
from lawbook.agents.api.operation import OK
from lawbook.agents.api.operations import OPERATIONS
from lawbook.agents.api.workspace import SOCKET, Workspace
from lawbook.errors import UsageError


def main(arguments: Sequence[str]) -> int:
    """Serve until the client hangs up. Every call goes through the socket of the workspace, as a command would.

    arguments: the workspace; or `--descriptor`, the number of one that is open at it, and the process that keeps the run: nobody
    else is spoken to, whatever an agent has put in place of the socket. Returns the exit code.
    """
    if len(arguments) not in (1, 3) or (len(arguments) == 3 and arguments[0] != "--descriptor"):
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
        for operation in OPERATIONS.values()
    ]

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        request = {"tool": params.name, "arguments": dict(params.arguments or {})}
        try:
            result = await anyio.to_thread.run_sync(partial(send_request, workspace, SOCKET, request, keeper_pid=keeper_pid))
        except UsageError as error:
            return types.CallToolResult(content=[types.TextContent(type="text", text=str(error))], is_error=True)
        return types.CallToolResult(content=[types.TextContent(type="text", text=result.text)], is_error=result.code != OK)

    server = Server(
        "law",
        version=__version__,
        instructions="An unknown world behind a gate. Begin with the tool brief; GUIDE.md in the workspace tells how to work.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )

    async def serve() -> None:
        async with mcp.server.stdio.stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    keeper_pid = int(arguments[2]) if len(arguments) == 3 else None
    with Workspace.from_descriptor(int(arguments[1])) if len(arguments) == 3 else Workspace(Path(arguments[0])) as workspace:
        anyio.run(serve)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
