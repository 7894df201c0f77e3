"""An agent at the wheel of a run: seats for its members, one loop over doors and seats, everything it costs in the ledger."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from threading import RLock

import lawbook
from lawbook.agents.api.dispatcher import CommandDispatcher
from lawbook.agents.api.external_mind import ExternalAgentMind
from lawbook.agents.api.operation import CommandResult
from lawbook.agents.api.socket_server import SocketServer
from lawbook.agents.api.workspace import Workspace
from lawbook.agents.api.workspace_setup import setup_workspace
from lawbook.agents.runner.agent_cli import AgentCLI, find_program
from lawbook.agents.runner.agent_home import AgentHome
from lawbook.agents.runner.agent_session import AgentSession
from lawbook.agents.runner.claude import Claude
from lawbook.agents.runner.codex import Codex
from lawbook.arc.settings import GAMES_VARIABLE
from lawbook.core import spending
from lawbook.core.results import RunOutcome
from lawbook.errors import LawbookError, MindError, UsageError
from lawbook.ledger.events import AGENT_OP, RecordedConfinement
from lawbook.minds.agent import CodingAgentMind
from lawbook.runs.folder import AGENTS_LINK, RunFolder
from lawbook.runs.session import Session
from lawbook.worlds.address import BY_PATH, WorldAddress

AGENT_CLIS: Mapping[str, AgentCLI] = {cli.name: cli for cli in (Claude(), Codex())}
HOMES_FOLDER = ".agents"
"""Beside the runs: places of agents, by a name that says nothing of the world. A run's folder has a link to its own."""
LOGS_FOLDER = "logs"
LAST_ANSWERS_SECONDS = 20.0
"""Seconds that the end of a run waits for answers which are still coming: what they cost is told at their end."""


def check_agent(mind: object) -> None:
    """Raises UsageError, before a run begins, when the agent, a key for its model or what the relay to it needs is missing."""
    assert isinstance(mind, CodingAgentMind)
    try:
        import_module("lawbook.agents.runner.model_proxy")
    except ImportError as error:
        raise UsageError(
            f"An agent at the wheel needs {error.name}, which is not installed; pip install 'lawbook[agents]' (in a clone: "
            "pip install '.[agents]') brings it."
        ) from error
    cli = AGENT_CLIS[mind.agent]
    find_program(cli)
    cli.find_endpoint(os.environ)


def run_agents(session: Session, folder: RunFolder) -> RunOutcome:
    """Let agents drive until the run has ended. Raises MindError when a cap is reached, or no agent gets anywhere; the run can be
    resumed then, and its places are as they were left."""
    config, mind = folder.load_config(), session.mind
    assert isinstance(mind, CodingAgentMind)
    session.mind = ExternalAgentMind(name=mind.name)
    with ExitStack() as stack:
        agent_homes = [
            AgentHome.make(homes_folder / f"m{member_state.index}")
            for homes_folder in [_make_homes_folder(folder)]
            for member_state in session.state.members
        ]
        agent_sessions: list[AgentSession] = []
        hidden_paths, secret_paths = _list_hidden_paths(config.world, folder), _list_secret_paths(config.world, folder)
        for member, agent_home in enumerate(agent_homes):
            log_prefix = folder.path / LOGS_FOLDER / f"m{member}"
            agent_session = AgentSession(
                AGENT_CLIS[mind.agent],
                mind.model,
                agent_home,
                log_prefix,
                hidden_paths,
                secret_paths,
                weak=session.host.allows_weak,
            )
            agent_sessions.append(agent_session)
        workspaces = [stack.enter_context(Workspace(agent_home.workspace)) for agent_home in agent_homes]
        for member, workspace in enumerate(workspaces):
            setup_workspace(workspace, session, member)
        dispatcher = _MeteredDispatcher(session, workspaces, agent_sessions)
        stack.callback(dispatcher.close)
        server = SocketServer(dispatcher, folder)
        stack.callback(server.close)
        _log_confinement(session, agent_sessions)
        for agent_session, workspace in zip(agent_sessions, workspaces, strict=True):
            agent_session.open_bridge(workspace)
            stack.callback(agent_session.close)
            agent_session.proxy.check_caps, agent_session.proxy.cost_lock = dispatcher.check_caps, dispatcher.cost_lock
        return _run_loop(session, server, dispatcher, agent_sessions)


def _run_loop(
    session: Session, server: SocketServer, dispatcher: _MeteredDispatcher, agent_sessions: Sequence[AgentSession]
) -> RunOutcome:
    try:
        while True:
            server.run_once(0.1)
            if dispatcher.failure is not None:
                raise dispatcher.failure
            if (run_outcome := session.outcome) is not None:
                return run_outcome
            dispatcher.record_costs()
            dispatcher.check_caps()
            for member, agent_session in enumerate(agent_sessions):
                outcome = agent_session.poll_outcome(dispatcher.count_progress(member))
                if outcome is not None:
                    dispatcher.log_cost(member, outcome.receipt)
                    if error := agent_session.find_stop_error(outcome):
                        raise error
                if agent_session.can_start:
                    agent_session.start(dispatcher.run_command(member, ["brief"]).text, dispatcher.count_progress(member))
    finally:
        for member, agent_session in enumerate(agent_sessions):
            outcome = agent_session.stop(dispatcher.count_progress(member))
            if outcome is not None:
                dispatcher.log_cost(member, outcome.receipt)
        deadline = time.monotonic() + LAST_ANSWERS_SECONDS
        for agent_session in agent_sessions:
            agent_session.proxy.wait_for_answers(max(0.0, deadline - time.monotonic()))
        dispatcher.record_costs(include_pending=True)


class _MeteredDispatcher(CommandDispatcher):
    """A door that writes down what the models behind the agents have cost by then, before it answers.

    cost_lock: held while costs are on their way from the meters into the ledger, and while a request is let through: whoever asks
    whether a cap is reached sees every cost once.
    """

    def __init__(self, session: Session, workspaces: Sequence[Workspace], agent_sessions: Sequence[AgentSession]) -> None:
        super().__init__(session, workspaces)
        self.agent_sessions, self.cost_lock = agent_sessions, RLock()

    def run_command(self, member: int, argv: Sequence[str], stdin: str = "") -> CommandResult:
        self.record_costs()
        try:
            return super().run_command(member, argv, stdin)
        finally:  # a search may take long
            self.agent_sessions[member].last_command_at = time.monotonic()

    def call_tool(self, member: int, name: str, fields: Mapping[str, object]) -> CommandResult:
        self.record_costs()
        try:
            return super().call_tool(member, name, fields)
        finally:
            self.agent_sessions[member].last_command_at = time.monotonic()

    def record_costs(self, include_pending: bool = False) -> None:
        """Write down what was answered since the last time. include_pending: requests that are still on their way too."""
        with self.cost_lock:
            for member, agent_session in enumerate(self.agent_sessions):
                if include_pending or agent_session.meter.has_answers:
                    receipt, seconds = agent_session.meter.take_receipt()
                    if receipt:
                        self.log_cost(member, receipt, seconds)

    def log_cost(self, member: int, receipt: Mapping[str, float | int | str], seconds: float = 0.0) -> None:
        """What an agent cost, into the ledger, behind the end of the run too: there is nothing else that may come there."""
        try:
            self.session.add_cost(member, self.agent_sessions[member].n_sessions, AGENT_OP, receipt, seconds)
        except LawbookError as error:
            self.failure = self.failure or error

    def check_caps(self) -> None:
        """Raises MindError when a cap of the run is reached, what is not yet written down included; and once the run has ended."""
        state = self.session.state
        if state.outcome is not None:
            raise MindError(f"The run has ended ({state.outcome}).")
        unrecorded = {"requests": 0} | _sum_receipts([agent_session.meter.build_receipt() for agent_session in self.agent_sessions])
        spending.check_caps(state.caps, state.spending, unrecorded)

    def count_progress(self, member: int) -> int:
        """Grows with every action of anybody, and with every version of this member's that was accepted."""
        return self.session.state.n_actions + self.session.state.members[member].version


def _sum_receipts(receipts: Sequence[Mapping[str, float | int | str]]) -> dict[str, float | int]:
    totals: dict[str, float | int] = {}
    for receipt in receipts:
        for name, value in receipt.items():
            if not isinstance(value, str):
                totals[name] = totals.get(name, 0) + value
    if any(receipt and "dollars" not in receipt for receipt in receipts):
        totals.pop("dollars", None)  # a price is missing, and so the sum
    return totals


def _make_homes_folder(folder: RunFolder) -> Path:
    """The places of this run's agents, and a link to them for people."""
    token = hashlib.sha256(str(folder.path.resolve()).encode()).hexdigest()[:12]
    homes_folder = folder.path.resolve().parent / HOMES_FOLDER / token
    link = folder.path / AGENTS_LINK
    if not link.is_symlink():
        link.symlink_to(os.path.relpath(homes_folder, folder.path.resolve()))
    return homes_folder


def _list_hidden_paths(world: str, folder: RunFolder) -> list[Path]:
    """What no agent may read, even where it lies in a folder of the system's."""
    games_folder = os.environ.get(GAMES_VARIABLE)
    current_folder = [Path.cwd()] if WorldAddress.parse(world).scheme == BY_PATH else []
    return [folder.path, *current_folder, *([Path(games_folder)] if games_folder else [])]


def _list_secret_paths(world: str, folder: RunFolder) -> list[Path]:
    """What the probe tries to read: the ledger and the rest of the run, Lawbook's own worlds, the games."""
    paths = [
        folder.ledger,
        folder.path,
        *(Path(lawbook.__path__[0]) / name for name in ("worlds", "arc")),
        *_list_hidden_paths(world, folder),
    ]
    return [path for path in dict.fromkeys(paths) if path.exists()]


def _log_confinement(session: Session, agent_sessions: Sequence[AgentSession]) -> None:
    """What the start-up probe found, for whoever reads the ledger."""
    for member, agent_session in enumerate(agent_sessions):
        confinement = agent_session.confinement
        text = f"{agent_session.cli.name}: {agent_session.version}. {confinement.summary}"
        session.add_confinement(member, text, RecordedConfinement(confinement.level, confinement.rung, dict(confinement.facts)))
