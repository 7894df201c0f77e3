"""One seat at the wheel: an agent in its place, started, watched and started again with the brief, until the run has ended."""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from lawbook.agents.api.workspace import Workspace
from lawbook.agents.api.workspace_setup import LAW
from lawbook.agents.runner.agent_cli import Call, Cli, belongings, find, version
from lawbook.agents.runner.agent_home import Place
from lawbook.agents.runner.confinement_probe import Confinement, confine
from lawbook.agents.runner.model_prices import price
from lawbook.agents.runner.model_proxy import Forwarder
from lawbook.agents.runner.tcp_bridge import Doorway
from lawbook.agents.runner.usage_meter import Meter
from lawbook.errors import MindError
from lawbook.sandbox.agent_process import NAMESPACES, PORT, Agent

PATIENCE = 3
"""Sessions in a row that may end without an action and without an accepted proposal."""
SILENCE = 1800.0
"""Seconds without a request to the model and without a command, after which an agent is taken for lost."""
LAST_WORDS = 500
"""Characters of what an agent said last, for the ledger."""
MOST_OUTPUT = 64 << 20
WAIT = 2.0
"""Seconds before a session that failed is followed by another; twice as long after the next."""

BEGIN = """\
You are at the wheel: this folder is your workspace, an unknown world lies behind ./law (the same operations are the tools of the \
MCP server `law`), and GUIDE.md tells how to work. Nobody will answer questions. Go on until ./law says that the run has ended; \
to stop before is to lose what the budget still holds. Where things stand:

"""
AGAIN = "You go on with a run that you, or somebody like you, began; what is known is in your files. " + BEGIN


@dataclass(frozen=True)
class Ended:
    """One session of an agent that is over. failed: it could not do its work; said: its last words, or why."""

    receipt: dict[str, float | int | str]
    failed: bool
    said: str


class Seat:
    """The agent of one member. log: where its output goes, out of its reach; model: empty for the program's own choice.

    Raises UsageError when the program or a key is missing, HostError when this machine cannot confine it.
    """

    def __init__(
        self, cli: Cli, model: str, place: Place, log: Path, hidden: list[Path], secret: list[Path], *, weak: bool
    ) -> None:
        self.cli, self.model, self.place, self.log = cli, model, place, log
        self.path = find(cli)
        endpoint = cli.endpoint(os.environ)
        self.version = version(self.path)
        self.walls = place.walls(belongings(self.path), hidden)
        self.environment = place.environment()
        self.confinement: Confinement = confine(self.walls, place.workspace, self.environment, secret, weak=weak)
        self.meter = Meter(price)
        self.forwarder = Forwarder(endpoint, self.meter)
        self.sessions = len(list(log.parent.glob(f"{log.name}-*.jsonl")))  # those of a run that is resumed
        self.idle = 0
        self._agent: Agent | None = None
        self._doorway: Doorway | None = None
        self._began, self._not_before, self._mark = 0.0, 0.0, -1
        self.heard = 0.0
        """When its last command came (time.monotonic)."""

    @property
    def ready(self) -> bool:
        """Whether another session may be started now."""
        return self._agent is None and time.monotonic() >= self._not_before

    def open(self, workspace: Workspace) -> None:
        """Open another way to the door, where the usual one is shut to the agent."""
        if self.confinement.rung != NAMESPACES:
            self._doorway = Doorway(workspace)

    def start(self, brief: str, mark: int) -> None:
        """Start a session. mark: a number that grows with what the agent brings about. Raises MindError when its files cannot be
        written."""
        try:
            self._start(brief, mark)
        except OSError as error:
            where = f"{self.place.folder} ({error.strerror})"
            raise MindError(f"{self.cli.program} cannot be started in {where}; make room there, and resume the run.") from error

    def _start(self, brief: str, mark: int) -> None:
        own = self.confinement.rung == NAMESPACES
        relay = None if own else socket.create_server(("127.0.0.1", 0))
        port = PORT if relay is None else int(relay.getsockname()[1])
        words = (AGAIN if self.sessions else BEGIN) + brief
        server = (str(self.place.workspace / LAW), "mcp") if find_spec("mcp") else ()
        place, fresh = self.place, self.place.session()
        call = Call(words, place.home, place.workspace, fresh, f"http://127.0.0.1:{port}", self.forwarder.token, server, self.model)
        self.cli.prepare(call)
        self.sessions += 1
        self._began, self._mark = time.monotonic(), mark
        self.log.parent.mkdir(exist_ok=True)
        with self._output().open("wb") as output, self._output(".err").open("wb") as errors:
            self._agent = Agent(
                self.cli.command(self.path, call),
                self.environment | self.cli.environment(call),
                str(self.place.workspace),
                replace(self.walls, writable=(*self.walls.writable, str(fresh))),
                rung=self.confinement.rung,
                ports=[port, *([self._doorway.port] if self._doorway else [])],
                stdout=output,
                stderr=errors,
            )
        relay = relay or self._agent.relay
        assert relay is not None
        self.forwarder.serve(relay)

    def ended(self, mark: int) -> Ended | None:
        """What came of the session, once it is over by itself or nothing was heard for long; None while it goes on, or none was
        begun."""
        if self._agent is None:
            return None
        lost = time.monotonic() - max(self._began, self.heard, self.forwarder.heard) > SILENCE
        return self._settle(mark) if lost or self._agent.poll() is not None else None

    def end(self, mark: int) -> Ended | None:
        """End the session now; None when none goes on."""
        return None if self._agent is None else self._settle(mark)

    def close(self) -> None:
        if self._agent is not None:
            self._agent.end()
            self._agent = None
        if self._doorway is not None:
            self._doorway.close()
        self.forwarder.close()

    def give_up(self, last: Ended) -> MindError | None:
        """Why there is no point in another session; None while there is."""
        if self.idle < PATIENCE:
            return None
        why = self.forwarder.failure or last.said or "it said nothing"
        times = f"{self.cli.program} ended {self.idle} times without an action or an accepted proposal"
        return MindError(f"{times} ({why.rstrip('.')}); resume the run to try again.")

    def _settle(self, mark: int) -> Ended:
        agent, self._agent = self._agent, None
        assert agent is not None
        code = agent.poll()
        agent.end()
        self.forwarder.close()
        told = self.cli.result(_end_of(self._output()))
        errors = _end_of(self._output(".err")).strip()
        failed = told.failed or code not in (0, None)
        said = _plain(told.said or (errors.splitlines() or [""])[-1])
        self.idle = 0 if mark > self._mark else self.idle + 1
        self._not_before = time.monotonic() + (WAIT * 2 ** (self.idle - 1) if failed and self.idle else 0.0)
        receipt: dict[str, float | int | str] = {
            "requests": 0,  # counted by the meter, answer by answer
            "agent": self.version,
            "session": self.sessions,
            "turns": told.turns,
            "session_seconds": round(time.monotonic() - self._began, 3),
            "exit": "ended" if code is None else code,
            "said": said,
        }
        if told.dollars is not None:
            receipt["told_dollars"] = told.dollars
        return Ended(receipt, failed, said)

    def _output(self, ending: str = ".jsonl") -> Path:
        return self.log.with_name(f"{self.log.name}-{self.sessions}{ending}")


def _plain(text: str) -> str:
    """So much of it as can be shown on one line: nothing that a terminal would obey."""
    return " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * LAST_WORDS]).split())[:LAST_WORDS]


def _end_of(file: Path) -> str:
    """The last of what was printed, as much as can be looked through."""
    with file.open("rb") as opened:
        opened.seek(max(0, file.stat().st_size - MOST_OUTPUT))
        return opened.read().decode("utf-8", "replace")
