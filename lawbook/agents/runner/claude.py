"""Claude Code at the wheel: `claude -p`, with its own tools for files and the shell, our MCP server, and nothing of the user's."""

from __future__ import annotations

import json
from collections.abc import Mapping

from lawbook.agents.runner.agent_cli import MCP_SERVER_NAME, SessionConfig, SessionOutput, is_count, parse_events
from lawbook.agents.runner.model_proxy import ModelEndpoint
from lawbook.errors import UsageError

ALLOWED_TOOLS = "Bash,Read,Edit,Write,Glob,Grep"
ENDPOINT_PATHS = ("/v1/messages", "/v1/messages/count_tokens")


class Claude:
    """The user's `claude`, with ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN, and ANTHROPIC_BASE_URL for another endpoint)."""

    name = "claude"
    program = "claude"
    install = "npm install -g @anthropic-ai/claude-code"

    def find_endpoint(self, environment: Mapping[str, str]) -> ModelEndpoint:
        base_url = environment.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
        if key := environment.get("ANTHROPIC_API_KEY"):
            return ModelEndpoint(base_url.rstrip("/"), {"x-api-key": key}, ENDPOINT_PATHS)
        if token := environment.get("ANTHROPIC_AUTH_TOKEN"):
            return ModelEndpoint(base_url.rstrip("/"), {"Authorization": f"Bearer {token}"}, ENDPOINT_PATHS)
        raise UsageError("--mind coder:claude needs a key for its model: set ANTHROPIC_API_KEY (the agent itself never sees it).")

    def prepare(self, config: SessionConfig) -> None:
        """Everything is told on its command line."""

    def build_command(self, path: str, config: SessionConfig) -> list[str]:
        servers = {}
        if config.mcp_command:
            servers[MCP_SERVER_NAME] = {"type": "stdio", "command": config.mcp_command[0], "args": list(config.mcp_command[1:])}
        return [
            path, "--print", config.prompt,
            "--output-format", "stream-json", "--verbose",
            "--permission-mode", "acceptEdits", "--tools", ALLOWED_TOOLS,
            "--allowed-tools", f"{ALLOWED_TOOLS},mcp__{MCP_SERVER_NAME}",
            "--strict-mcp-config", "--mcp-config", json.dumps({"mcpServers": servers}),
            "--no-session-persistence",
            *(["--model", config.model] if config.model else []),
        ]  # fmt: skip

    def build_environment(self, config: SessionConfig) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": config.url,
            "ANTHROPIC_API_KEY": config.token,
            "CLAUDE_CONFIG_DIR": str(config.home / ".claude"),
            "CLAUDE_CODE_TMPDIR": str(config.session_folder),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "ENABLE_TOOL_SEARCH": "false",  # our tools are few: all of them are shown from the start
            "MCP_TOOL_TIMEOUT": "3600000",  # a search or a proposal may take its time
        }

    def parse_output(self, output: str) -> SessionOutput:
        n_turns = 0
        for event in parse_events(output):
            n_turns += event.get("type") == "assistant"
            if event.get("type") == "result":
                messages = [
                    event.get("result"),
                    *(errors if isinstance(errors := event.get("errors"), list) else []),
                    event.get("subtype"),
                ]
                reported_turns, cost = event.get("num_turns"), event.get("total_cost_usd")
                return SessionOutput(
                    int(reported_turns) if is_count(reported_turns) else n_turns,
                    float(cost) if is_count(cost) else None,
                    bool(event.get("is_error")),
                    next((message for message in messages if message and isinstance(message, str)), ""),
                )
        return SessionOutput(n_turns)
