"""Codex at the wheel: `codex exec`, its own sandbox off inside ours, with our MCP server and nothing of the user's."""

from __future__ import annotations

from collections.abc import Mapping

import tomli_w

from lawbook.agents.runner.agent_cli import SERVER, Call, Result, events
from lawbook.agents.runner.model_proxy import Endpoint
from lawbook.errors import UsageError

KEY = "LAWBOOK_TOKEN"
OPENAI = "https://api.openai.com/v1"


class Codex:
    """The user's `codex`, with OPENAI_API_KEY (or OPENAI_BASE_URL, to which a key is only given if there is one)."""

    name = "codex"
    program = "codex"
    install = "npm install -g @openai/codex"

    def endpoint(self, environment: Mapping[str, str]) -> Endpoint:
        base, key = (environment.get("OPENAI_BASE_URL") or OPENAI).rstrip("/"), environment.get("OPENAI_API_KEY")
        if not key and base == OPENAI:
            raise UsageError("--mind coder:codex needs a key for its model: set OPENAI_API_KEY (the agent itself never sees it).")
        return Endpoint(base, {"Authorization": f"Bearer {key}"} if key else {}, ("/responses", "/responses/compact", "/models"))

    def prepare(self, call: Call) -> None:
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
                "lawbook": {"name": "lawbook", "base_url": call.url, "env_key": KEY, "wire_api": "responses"},
            },
        }
        if call.server:
            settings["mcp_servers"] = {
                SERVER: {
                    "command": call.server[0],
                    "args": list(call.server[1:]),
                    "required": True,  # else the first turns begin without it
                    "startup_timeout_sec": 60,
                    "tool_timeout_sec": 3600,
                }
            }
        (call.fresh / "config.toml").write_text(tomli_w.dumps(settings), encoding="utf-8")

    def command(self, path: str, call: Call) -> list[str]:
        asked = ["--json", "--skip-git-repo-check", "--ephemeral", "-C", str(call.workspace)]
        return [path, "exec", *asked, *(["--model", call.model] if call.model else []), call.prompt]

    def environment(self, call: Call) -> dict[str, str]:
        return {"CODEX_HOME": str(call.fresh), KEY: call.token}

    def result(self, output: str) -> Result:
        turns, said, failed = 0, "", False
        for event in events(output):
            match event:
                case {"type": "item.completed", "item": {"type": "agent_message", "text": str(text)}}:
                    turns, said = turns + 1, text
                case {"type": "item.completed", "item": {"type": "command_execution" | "mcp_tool_call" | "file_change"}}:
                    turns += 1
                case {"type": "turn.failed", "error": {"message": str(message)}} | {"type": "error", "message": str(message)}:
                    failed, said = True, message
                case _:
                    pass
        return Result(turns, None, failed, said)
