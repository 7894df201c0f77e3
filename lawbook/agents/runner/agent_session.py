"""One seat at the wheel: an agent in its place, started, watched and started again with the brief, until the run has ended."""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from lawbook.agents.api.workspace import Workspace
from lawbook.agents.api.workspace_setup import CLIENT_FILE
from lawbook.agents.runner.agent_cli import AgentCLI, SessionConfig, find_program, list_agent_files, query_version
from lawbook.agents.runner.agent_home import AgentHome
from lawbook.agents.runner.confinement_probe import ConfinementReport, confine
from lawbook.agents.runner.model_prices import price_tokens
from lawbook.agents.runner.model_proxy import ModelProxy
from lawbook.agents.runner.tcp_bridge import TCPBridge
from lawbook.agents.runner.usage_meter import UsageMeter
from lawbook.errors import MindError
from lawbook.sandbox.agent_process import NAMESPACES, PORT, AgentProcess

MAX_IDLE_SESSIONS = 3
"""Sessions in a row that may end without an action and without an accepted proposal."""
SILENCE_SECONDS = 1800.0
"""Seconds without a request to the model and without a command, after which an agent is taken for lost."""
MAX_MESSAGE_CHARS = 500
"""Characters of what an agent said last, for the ledger."""
MAX_OUTPUT_BYTES = 64 << 20
RETRY_DELAY_SECONDS = 2.0
"""Seconds before a session that failed is followed by another; twice as long after the next."""

START_PROMPT = """\
You are at the wheel: this folder is your workspace, an unknown world lies behind ./law (the same operations are the tools of the \
MCP server `law`), and GUIDE.md tells how to work. Nobody will answer questions. Go on until ./law says that the run has ended; \
to stop before is to lose what the budget still holds. Where things stand:

"""
RESUME_PROMPT = "You go on with a run that you, or somebody like you, began; what is known is in your files. " + START_PROMPT


@dataclass(frozen=True)
class SessionOutcome:
    """One session of an agent that is over. has_failed: it could not do its work; message: its last words, or why."""

    receipt: dict[str, float | int | str]
    has_failed: bool
    message: str


class AgentSession:
    """The agent of one member. log_prefix: where its output goes, out of its reach; model: empty for the program's own choice.

    Raises UsageError when the program or a key is missing, HostError when this machine cannot confine it.
    """

    def __init__(
        self,
        cli: AgentCLI,
        model: str,
        agent_home: AgentHome,
        log_prefix: Path,
        hidden_paths: list[Path],
        secret_paths: list[Path],
        *,
        weak: bool,
    ) -> None:
        self.cli, self.model, self.agent_home, self.log_prefix = cli, model, agent_home, log_prefix
        self.program_path = find_program(cli)
        endpoint = cli.find_endpoint(os.environ)
        self.version = query_version(self.program_path)
        self.access_policy = agent_home.build_access_policy(list_agent_files(self.program_path), hidden_paths)
        self.environment = agent_home.build_environment()
        self.confinement: ConfinementReport = confine(
            self.access_policy, agent_home.workspace, self.environment, secret_paths, weak=weak
        )
        self.meter = UsageMeter(price_tokens)
        self.proxy = ModelProxy(endpoint, self.meter)
        self.n_sessions = len(list(log_prefix.parent.glob(f"{log_prefix.name}-*.jsonl")))  # those of a run that is resumed
        self.n_idle_sessions = 0
        self._agent: AgentProcess | None = None
        self._tcp_bridge: TCPBridge | None = None
        self._started_at, self._not_before, self._progress_at_start = 0.0, 0.0, -1
        self.last_command_at = 0.0
        """When its last command came (time.monotonic)."""

    @property
    def can_start(self) -> bool:
        """Whether another session may be started now."""
        return self._agent is None and time.monotonic() >= self._not_before

    def open_bridge(self, workspace: Workspace) -> None:
        """Open another way to the door, where the usual one is shut to the agent."""
        if self.confinement.rung != NAMESPACES:
            self._tcp_bridge = TCPBridge(workspace)

    def start(self, brief: str, progress: int) -> None:
        """Start a session. progress: a number that grows with what the agent brings about. Raises MindError when its files cannot
        be written."""
        try:
            self._start(brief, progress)
        except OSError as error:
            location = f"{self.agent_home.folder} ({error.strerror})"
            raise MindError(f"{self.cli.program} cannot be started in {location}; make room there, and resume the run.") from error

    def _start(self, brief: str, progress: int) -> None:
        has_own_network = self.confinement.rung == NAMESPACES
        relay = None if has_own_network else socket.create_server(("127.0.0.1", 0))
        port = PORT if relay is None else int(relay.getsockname()[1])
        prompt = (RESUME_PROMPT if self.n_sessions else START_PROMPT) + brief
        mcp_command = (str(self.agent_home.workspace / CLIENT_FILE), "mcp") if find_spec("mcp") else ()
        agent_home, session_folder = self.agent_home, self.agent_home.make_session_folder()
        config = SessionConfig(
            prompt,
            agent_home.home,
            agent_home.workspace,
            session_folder,
            f"http://127.0.0.1:{port}",
            self.proxy.token,
            mcp_command,
            self.model,
        )
        self.cli.prepare(config)
        self.n_sessions += 1
        self._started_at, self._progress_at_start = time.monotonic(), progress
        self.log_prefix.parent.mkdir(exist_ok=True)
        with self._build_output_path().open("wb") as output, self._build_output_path(".err").open("wb") as error_output:
            self._agent = AgentProcess(
                self.cli.build_command(self.program_path, config),
                self.environment | self.cli.build_environment(config),
                str(self.agent_home.workspace),
                replace(self.access_policy, writable=(*self.access_policy.writable, str(session_folder))),
                rung=self.confinement.rung,
                ports=[port, *([self._tcp_bridge.port] if self._tcp_bridge else [])],
                stdout=output,
                stderr=error_output,
            )
        relay = relay or self._agent.relay
        assert relay is not None
        self.proxy.serve(relay)

    def poll_outcome(self, progress: int) -> SessionOutcome | None:
        """What came of the session, once it is over by itself or nothing was heard for long; None while it goes on, or none was
        begun."""
        if self._agent is None:
            return None
        is_lost = time.monotonic() - max(self._started_at, self.last_command_at, self.proxy.last_activity_at) > SILENCE_SECONDS
        return self._conclude(progress) if is_lost or self._agent.poll() is not None else None

    def stop(self, progress: int) -> SessionOutcome | None:
        """End the session now; None when none goes on."""
        return None if self._agent is None else self._conclude(progress)

    def close(self) -> None:
        if self._agent is not None:
            self._agent.end()
            self._agent = None
        if self._tcp_bridge is not None:
            self._tcp_bridge.close()
        self.proxy.close()

    def find_stop_error(self, outcome: SessionOutcome) -> MindError | None:
        """Why there is no point in another session; None while there is."""
        if self.n_idle_sessions < MAX_IDLE_SESSIONS:
            return None
        reason = self.proxy.failure or outcome.message or "it said nothing"
        summary = f"{self.cli.program} ended {self.n_idle_sessions} times without an action or an accepted proposal"
        return MindError(f"{summary} ({reason.rstrip('.')}); resume the run to try again.")

    def _conclude(self, progress: int) -> SessionOutcome:
        agent, self._agent = self._agent, None
        assert agent is not None
        exit_code = agent.poll()
        agent.end()
        self.proxy.close()
        session_output = self.cli.parse_output(_read_tail(self._build_output_path()))
        error_text = _read_tail(self._build_output_path(".err")).strip()
        has_failed = session_output.failed or exit_code not in (0, None)
        message = _sanitize_text(session_output.message or (error_text.splitlines() or [""])[-1])
        self.n_idle_sessions = 0 if progress > self._progress_at_start else self.n_idle_sessions + 1
        self._not_before = time.monotonic() + (
            RETRY_DELAY_SECONDS * 2 ** (self.n_idle_sessions - 1) if has_failed and self.n_idle_sessions else 0.0
        )
        receipt: dict[str, float | int | str] = {
            "requests": 0,  # counted by the meter, answer by answer
            "agent": self.version,
            "session": self.n_sessions,
            "turns": session_output.n_turns,
            "session_seconds": round(time.monotonic() - self._started_at, 3),
            "exit": "ended" if exit_code is None else exit_code,
            "said": message,
        }
        if session_output.dollars is not None:
            receipt["told_dollars"] = session_output.dollars
        return SessionOutcome(receipt, has_failed, message)

    def _build_output_path(self, suffix: str = ".jsonl") -> Path:
        return self.log_prefix.with_name(f"{self.log_prefix.name}-{self.n_sessions}{suffix}")


def _sanitize_text(text: str) -> str:
    """So much of it as can be shown on one line: nothing that a terminal would obey."""
    return " ".join("".join(character if character.isprintable() else " " for character in text[: 4 * MAX_MESSAGE_CHARS]).split())[
        :MAX_MESSAGE_CHARS
    ]


def _read_tail(file: Path) -> str:
    """The last of what was printed, as much as can be looked through."""
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - MAX_OUTPUT_BYTES))
        return stream.read().decode("utf-8", "replace")
