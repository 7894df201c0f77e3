"""Claude Code at the wheel: `claude -p`, with its own tools for files and the shell, our MCP server, and nothing of the user's."""

from __future__ import annotations

import json
from collections.abc import Mapping

from lawbook.agents.runner.agent_cli import SERVER, Call, Result, events, number
from lawbook.agents.runner.model_proxy import Endpoint
from lawbook.errors import UsageError

TOOLS = "Bash,Read,Edit,Write,Glob,Grep"
PATHS = ("/v1/messages", "/v1/messages/count_tokens")


class Claude:
    """The user's `claude`, with ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN, and ANTHROPIC_BASE_URL for another endpoint)."""

    name = "claude"
    program = "claude"
    install = "npm install -g @anthropic-ai/claude-code"

    def endpoint(self, environment: Mapping[str, str]) -> Endpoint:
        base = environment.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
        if key := environment.get("ANTHROPIC_API_KEY"):
            return Endpoint(base.rstrip("/"), {"x-api-key": key}, PATHS)
        if token := environment.get("ANTHROPIC_AUTH_TOKEN"):
            return Endpoint(base.rstrip("/"), {"Authorization": f"Bearer {token}"}, PATHS)
        raise UsageError("--mind coder:claude needs a key for its model: set ANTHROPIC_API_KEY (the agent itself never sees it).")

    def prepare(self, call: Call) -> None:
        """Everything is told on its command line."""

    def command(self, path: str, call: Call) -> list[str]:
        servers = {}
        if call.server:
            servers[SERVER] = {"type": "stdio", "command": call.server[0], "args": list(call.server[1:])}
        return [
            path, "--print", call.prompt,
            "--output-format", "stream-json", "--verbose",
            "--permission-mode", "acceptEdits", "--tools", TOOLS, "--allowed-tools", f"{TOOLS},mcp__{SERVER}",
            "--strict-mcp-config", "--mcp-config", json.dumps({"mcpServers": servers}),
            "--no-session-persistence",
            *(["--model", call.model] if call.model else []),
        ]  # fmt: skip

    def environment(self, call: Call) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": call.url,
            "ANTHROPIC_API_KEY": call.token,
            "CLAUDE_CONFIG_DIR": str(call.home / ".claude"),
            "CLAUDE_CODE_TMPDIR": str(call.fresh),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "ENABLE_TOOL_SEARCH": "false",  # our tools are few: all of them are shown from the start
            "MCP_TOOL_TIMEOUT": "3600000",  # a search or a proposal may take its time
        }

    def result(self, output: str) -> Result:
        turns = 0
        for event in events(output):
            turns += event.get("type") == "assistant"
            if event.get("type") == "result":
                said = [event.get("result"), *(one if isinstance(one := event.get("errors"), list) else []), event.get("subtype")]
                told, cost = event.get("num_turns"), event.get("total_cost_usd")
                return Result(
                    int(told) if number(told) else turns,
                    float(cost) if number(cost) else None,
                    bool(event.get("is_error")),
                    next((words for words in said if words and isinstance(words, str)), ""),
                )
        return Result(turns)
