"""An agent at the wheel of a run: seats for its members, one loop over doors and seats, everything it costs in the ledger."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import RLock

import lawbook
from lawbook.agents.api.dispatcher import Door
from lawbook.agents.api.external_mind import AtTheWheel
from lawbook.agents.api.operation import Reply
from lawbook.agents.api.socket_server import Server
from lawbook.agents.api.usage import CODER
from lawbook.agents.api.workspace import Workspace
from lawbook.agents.api.workspace_setup import furnish
from lawbook.agents.runner.agent_cli import Cli, find
from lawbook.agents.runner.agent_home import Place
from lawbook.agents.runner.agent_session import Seat
from lawbook.agents.runner.claude import Claude
from lawbook.agents.runner.codex import Codex
from lawbook.arc.settings import GAMES
from lawbook.core import spending, validation
from lawbook.errors import LawbookError, MindError
from lawbook.ledger.ledger import Kind
from lawbook.minds.agent import CoderMind
from lawbook.runs.folder import RunFolder
from lawbook.runs.session import Session
from lawbook.runs.state import Ending
from lawbook.worlds.address import BY_PATH, WorldAddress

CLIS: Mapping[str, Cli] = {cli.name: cli for cli in (Claude(), Codex())}
PLACES = ".agents"
"""Beside the runs: places of agents, by a name that says nothing of the world. A run's folder has a link to its own."""
LINK, LOGS = "agents", "logs"
LAST_ANSWERS = 20.0
"""Seconds that the end of a run waits for answers which are still coming: what they cost is told at their end."""


def check(mind: object) -> None:
    """Raises UsageError, before a run begins, when the agent or a key for its model is missing."""
    assert isinstance(mind, CoderMind)
    cli = CLIS[mind.agent]
    find(cli)
    cli.endpoint(os.environ)


def drive(session: Session, folder: RunFolder) -> Ending:
    """Let agents drive until the run has ended. Raises MindError when a cap is reached, or no agent gets anywhere; the run can be
    resumed then, and its places are as they were left."""
    config, mind = folder.config(), session.mind
    assert isinstance(mind, CoderMind)
    session.mind = AtTheWheel(name=mind.name)
    with ExitStack() as stack:
        places = [Place.make(home / f"m{m.index}") for home in [_home(folder)] for m in session.state.members]
        seats: list[Seat] = []
        hidden, secret = _hidden(config.world, folder), _secret(config.world, folder)
        for member, place in enumerate(places):
            log = folder.path / LOGS / f"m{member}"
            seat = Seat(CLIS[mind.agent], mind.model, place, log, hidden, secret, weak=config.weak_sandbox)
            seats.append(seat)
        workspaces = [stack.enter_context(Workspace(place.workspace)) for place in places]
        for member, workspace in enumerate(workspaces):
            furnish(workspace, session, member)
        door = _Metered(session, workspaces, seats)
        stack.callback(door.close)
        server = Server(door, folder)
        stack.callback(server.close)
        _note_confinement(session, seats)
        for seat, workspace in zip(seats, workspaces, strict=True):
            seat.open(workspace)
            stack.callback(seat.close)
            seat.forwarder.may_ask, seat.forwarder.counting = door.may_ask, door.counting
        return _loop(session, server, door, seats)


def _loop(session: Session, server: Server, door: _Metered, seats: Sequence[Seat]) -> Ending:
    try:
        while True:
            server.turn(0.1)
            if door.broken is not None:
                raise door.broken
            if (ending := session.ended) is not None:
                return ending
            door.settle()
            door.may_ask()
            for member, seat in enumerate(seats):
                over = seat.ended(door.mark(member))
                if over is not None:
                    door.write(member, over.receipt)
                    if hopeless := seat.give_up(over):
                        raise hopeless
                if seat.ready:
                    seat.start(door.answer(member, ["brief"]).text, door.mark(member))
    finally:
        for member, seat in enumerate(seats):
            over = seat.end(door.mark(member))
            if over is not None:
                door.write(member, over.receipt)
        until = time.monotonic() + LAST_ANSWERS
        for seat in seats:
            seat.forwarder.finish(max(0.0, until - time.monotonic()))
        door.settle(whole=True)


class _Metered(Door):
    """A door that writes down what the models behind the agents have cost by then, before it answers.

    counting: held while costs are on their way from the meters into the ledger, and while a request is let through: whoever asks
    whether a cap is reached sees every cost once.
    """

    def __init__(self, session: Session, workspaces: Sequence[Workspace], seats: Sequence[Seat]) -> None:
        super().__init__(session, workspaces)
        self.seats, self.counting = seats, RLock()

    def answer(self, member: int, argv: Sequence[str], stdin: str = "") -> Reply:
        self.settle()
        try:
            return super().answer(member, argv, stdin)
        finally:  # a search may take long
            self.seats[member].heard = time.monotonic()

    def tool(self, member: int, name: str, fields: Mapping[str, object]) -> Reply:
        self.settle()
        try:
            return super().tool(member, name, fields)
        finally:
            self.seats[member].heard = time.monotonic()

    def settle(self, whole: bool = False) -> None:
        """Write down what was answered since the last time. whole: requests that are still on their way too."""
        with self.counting:
            for member, seat in enumerate(self.seats):
                if whole or seat.meter.answered:
                    receipt, seconds = seat.meter.settle()
                    if receipt:
                        self.write(member, receipt, seconds)

    def write(self, member: int, receipt: Mapping[str, float | int | str], seconds: float = 0.0) -> None:
        """What an agent cost, into the ledger, behind the end of the run too: there is nothing else that may come there."""
        body = {"member": member, "call": self.seats[member].sessions, "op": CODER, "answer": None, "seconds": seconds}
        try:
            self.session.journal.append(Kind.CALL, body | {"receipt": validation.receipt(receipt)})
            self.session.journal.commit()
        except LawbookError as error:
            self.broken = self.broken or error

    def may_ask(self) -> None:
        """Raises MindError when a cap of the run is reached, what is not yet written down included; and once the run has ended."""
        state = self.session.state
        if state.ending is not None:
            raise MindError(f"The run has ended ({state.ending}).")
        total = {"requests": 0} | _sum([seat.meter.receipt() for seat in self.seats])
        spending.check(state.caps, state.spent, total)

    def mark(self, member: int) -> int:
        """Grows with every action of anybody, and with every version of this member's that was accepted."""
        return self.session.state.sent + self.session.state.members[member].version


def _sum(receipts: Sequence[Mapping[str, float | int | str]]) -> dict[str, float | int]:
    found: dict[str, float | int] = {}
    for receipt in receipts:
        for name, value in receipt.items():
            if not isinstance(value, str):
                found[name] = found.get(name, 0) + value
    if any(receipt and "dollars" not in receipt for receipt in receipts):
        found.pop("dollars", None)  # a price is missing, and so the sum
    return found


def _home(folder: RunFolder) -> Path:
    """The places of this run's agents, and a link to them for people."""
    token = hashlib.sha256(str(folder.path.resolve()).encode()).hexdigest()[:12]
    home = folder.path.resolve().parent / PLACES / token
    link = folder.path / LINK
    if not link.is_symlink():
        link.symlink_to(os.path.relpath(home, folder.path.resolve()))
    return home


def _hidden(world: str, folder: RunFolder) -> list[Path]:
    """What no agent may read, even where it lies in a folder of the system's."""
    games = os.environ.get(GAMES)
    here = [Path.cwd()] if WorldAddress.parse(world).scheme == BY_PATH else []
    return [folder.path, *here, *([Path(games)] if games else [])]


def _secret(world: str, folder: RunFolder) -> list[Path]:
    """What the probe tries to read: the ledger and the rest of the run, Lawbook's own worlds, the games."""
    found = [folder.ledger, folder.path, *(Path(lawbook.__path__[0]) / name for name in ("worlds", "arc")), *_hidden(world, folder)]
    return [path for path in dict.fromkeys(found) if path.exists()]


def _note_confinement(session: Session, seats: Sequence[Seat]) -> None:
    """What the start-up probe found, for whoever reads the ledger."""
    for member, seat in enumerate(seats):
        found = seat.confinement
        body = {"text": f"{seat.cli.name}: {seat.version}. {found.sentence}", "by": "probe", "member": member}
        session.journal.append(
            Kind.NOTE, body | {"confinement": {"level": found.level, "rung": found.rung, "facts": dict(found.facts)}}
        )
    session.journal.commit()
