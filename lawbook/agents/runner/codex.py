"""Codex at the wheel: `codex exec`, its own sandbox off inside ours, with our MCP server and nothing of the user's."""

from __future__ import annotations

from collections.abc import Mapping

import tomli_w

from lawbook.agents.runner.agent_cli import MCP_SERVER_NAME, SessionConfig, SessionOutput, parse_events
from lawbook.agents.runner.model_endpoint import ModelEndpoint
from lawbook.errors import UsageError

TOKEN_VARIABLE = "LAWBOOK_TOKEN"
OPENAI_URL = "https://api.openai.com/v1"


class Codex:
    """The user's `codex`, with OPENAI_API_KEY (or OPENAI_BASE_URL, to which a key is only given if there is one)."""

    name = "codex"
    program = "codex"
    install = "npm install -g @openai/codex"

    def find_endpoint(self, environment: Mapping[str, str]) -> ModelEndpoint:
        base_url, key = (environment.get("OPENAI_BASE_URL") or OPENAI_URL).rstrip("/"), environment.get("OPENAI_API_KEY")
        if not key and base_url == OPENAI_URL:
            raise UsageError("--mind coder:codex needs a key for its model: set OPENAI_API_KEY (the agent itself never sees it).")
        return ModelEndpoint(
            base_url, {"Authorization": f"Bearer {key}"} if key else {}, ("/responses", "/responses/compact", "/models")
        )

    def prepare(self, config: SessionConfig) -> None:
        settings: dict[str, object] = {
            "model_provider": "lawbook",
            "approval_policy": "never",
            "sandbox_mode": "danger-full-access",  # it cannot make its own inside ours
            "web_search": "disabled",
            "check_for_update_on_startup": False,
            "project_doc_max_bytes": 64 << 10,
            "analytics": {"enabled": False},
            "features": {"apps": False, "plugins": False, "multi_agent": False},  # what looks for the network, or plays for two
            "model_providers": {
                "lawbook": {"name": "lawbook", "base_url": config.url, "env_key": TOKEN_VARIABLE, "wire_api": "responses"},
            },
        }
        if config.mcp_command:
            settings["mcp_servers"] = {
                MCP_SERVER_NAME: {
                    "command": config.mcp_command[0],
                    "args": list(config.mcp_command[1:]),
                    "required": True,  # else the first turns begin without it
                    "startup_timeout_sec": 60,
                    "tool_timeout_sec": 3600,
                }
            }
        (config.session_folder / "config.toml").write_text(tomli_w.dumps(settings), encoding="utf-8")

    def build_command(self, path: str, config: SessionConfig) -> list[str]:
        options = ["--json", "--skip-git-repo-check", "--ephemeral", "-C", str(config.workspace)]
        return [path, "exec", *options, *(["--model", config.model] if config.model else []), config.prompt]

    def build_environment(self, config: SessionConfig) -> dict[str, str]:
        return {"CODEX_HOME": str(config.session_folder), TOKEN_VARIABLE: config.token}

    def parse_output(self, output: str) -> SessionOutput:
        n_turns, last_message, has_failed = 0, "", False
        for event in parse_events(output):
            match event:
                case {"type": "item.completed", "item": {"type": "agent_message", "text": str(text)}}:
                    n_turns, last_message = n_turns + 1, text
                case {"type": "item.completed", "item": {"type": "command_execution" | "mcp_tool_call" | "file_change"}}:
                    n_turns += 1
                case {"type": "turn.failed", "error": {"message": str(message)}} | {"type": "error", "message": str(message)}:
                    has_failed, last_message = True, message
                case _:
                    pass
        return SessionOutput(n_turns, None, has_failed, last_message)
