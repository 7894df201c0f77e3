"""Put a run together from its parts, new or resumed, and take it apart again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lawbook.core.record import Record
from lawbook.core.results import Limits
from lawbook.core.spending import Caps
from lawbook.errors import LawbookError, UsageError, WorldError
from lawbook.ledger.codec import recorded
from lawbook.ledger.git_versions import GitMemory
from lawbook.ledger.ledger import Kind, Ledger
from lawbook.minds.base import Mind
from lawbook.minds.fallback import mind_named
from lawbook.protocols.protocol import find_protocol
from lawbook.runs.event_log import Journal, Listener
from lawbook.runs.folder import RunConfig, RunFolder, versions
from lawbook.runs.session import Session
from lawbook.runs.state import Ending, Member, State, fold
from lawbook.sandbox.host import Host
from lawbook.scoring.billing import counting
from lawbook.worlds.address import WorldAddress, world_environment
from lawbook.worlds.process import WorldProcess
from lawbook.worlds.recorded_world import parted
from lawbook.worlds.world import World


@contextmanager
def new_run(
    config: RunConfig, out: Path, *, host: Host | None = None, mind: Mind | None = None, listener: Listener | None = None
) -> Iterator[tuple[RunFolder, Session]]:
    """Start a run in its own folder below `out`.

    host: one that is running already (it is left running); mind: an object instead of `config.mind`.
    Raises UsageError, WorldError, HostError.
    """
    rules = find_protocol(config.protocol)
    mind = mind or mind_for(config)
    if rules.needs_hypothesis and not mind.proposes:
        raise UsageError(f"The mind {config.mind!r} proposes no hypotheses; play it with --protocol vanilla.")
    with ExitStack() as stack:
        host = host or stack.enter_context(Host(weak=config.weak_sandbox, memory_mb=config.memory_mb, wait=False))
        world = _world(config)  # while the host starts
        stack.callback(world.close)
        host.ready()
        folder = RunFolder.make(out, config)
        state = State(Record(world.spec.levels), [Member(index) for index in range(config.population)])
        stack.enter_context(_not_left_empty(folder, state))
        ledger = Ledger.create(folder.ledger)
        stack.callback(ledger.close)
        journal = Journal(ledger, state, [listener] if listener else [])
        session = _session(journal, world, host, GitMemory(folder.memory), mind, config)
        stack.callback(session.close)
        session.open(_opening(config, world, host))
        yield folder, session


@contextmanager
def _not_left_empty(folder: RunFolder, state: State) -> Iterator[None]:
    """A run that failed before it saw anything leaves no folder behind."""
    try:
        yield
    except LawbookError:
        if state.record.last is None:
            shutil.rmtree(folder.path, ignore_errors=True)
        raise


@contextmanager
def resumed_run(
    folder: RunFolder,
    *,
    host: Host | None = None,
    mind: Mind | None = None,
    listener: Listener | None = None,
    caps: Caps | None = None,
) -> Iterator[Session]:
    """Go on with a run that was interrupted or killed: fold its ledger, bring the world back by replay, settle what is in doubt.

    caps: in place of those it had, from now on; what is None there stays as it was.
    """
    config = folder.config()
    with ExitStack() as stack:
        ledger = Ledger.open(folder.ledger)
        stack.callback(ledger.close)
        broken = ledger.check()
        if broken:
            raise UsageError(f"The ledger of this run has been altered, so it cannot go on: {broken}")
        state = fold(ledger)
        if state.ending is not None:
            raise UsageError(f"This run has ended ({state.ending}); `lawbook show {folder.path}` tells about it.")
        _same_run(ledger, config, folder)
        mind = mind or mind_for(config)
        world = _world(config, _ticket(ledger))
        stack.callback(world.close)
        host = host or stack.enter_context(Host(weak=config.weak_sandbox, memory_mb=config.memory_mb))
        git = GitMemory.rebuild(folder.memory, state.accepted)  # whatever a crash left of it does not matter
        session = _session(Journal(ledger, state, [listener] if listener else []), world, host, git, mind, config)
        stack.callback(session.close)
        allowed = asdict(state.caps.but(caps or Caps()))
        session.journal.append(Kind.OPEN, {**_opening(config, world, host), "resumed": True, "caps": allowed})
        _bring_back(session, world)
        yield session


def mind_for(config: RunConfig) -> Mind:
    """The mind that a run was asked for, with its help. Raises UsageError."""
    return mind_named(config.mind, images=config.images, seed_with=config.seed_with, fallback=config.fallback)


def _world(config: RunConfig, ticket: str = "") -> WorldProcess:
    address = WorldAddress.parse(config.world)
    return WorldProcess(address, environment=world_environment(address, ticket))


def _same_run(ledger: Ledger, config: RunConfig, folder: RunFolder) -> None:
    """run.toml is for people; the ledger is the truth of what was asked for. Raises UsageError where they differ."""
    asked = next(ledger.events([Kind.OPEN])).body["run"]
    changed = [f"{name} was {asked[name]!r}" for name, value in asdict(config).items() if asked.get(name, value) != value]
    if changed:
        raise UsageError(
            f"{folder.toml} was changed since this run began ({', '.join(changed)}); put that back, or start a new run."
        )


def _ticket(ledger: Ledger) -> str:
    """What the last opening says of how the play is taken up again; empty where it is not, but replayed."""
    return next((str(event.body["spec"].get("ticket", "")) for event in reversed([*ledger.events([Kind.OPEN])])), "")


def _session(journal: Journal, world: World, host: Host, git: GitMemory, mind: Mind, config: RunConfig) -> Session:
    rules, limits = find_protocol(config.protocol), Limits(nodes=config.nodes)
    asked = {"budget": config.budget, "seed": config.seed}
    return Session(journal, world, host, git, mind, rules, limits=limits, policy=config.policy, **asked)


def _opening(config: RunConfig, world: World, host: Host) -> dict[str, Any]:
    """The body of an OPEN event: what was asked for, and what it runs on. A resumed run has one for each time it was taken up."""
    sandbox = {"level": host.sandbox.level, "facts": dict(host.sandbox.facts)}
    return {"run": asdict(config), "versions": versions(), "spec": asdict(world.spec), "sandbox": sandbox}


def _bring_back(session: Session, world: WorldProcess) -> None:
    """Send the recorded actions to a fresh world and check every frame, then settle the action that was in flight."""
    if not len(session.record):
        session.open()
        return
    if not world.spec.replayable:
        _settle(session, world)
        return
    if said := parted(world, recorded(session.journal.ledger)):
        raise WorldError(f"Replayed, the world shows something else than is on record ({said}); the run cannot go on.")
    session.resend()


def _settle(session: Session, world: WorldProcess) -> None:
    """A world that cannot be replayed goes on where it is. It is asked what became of an action in doubt: one that never reached it
    is sent; any other is counted as billed, and since nobody knows what it showed, the run ends."""
    assert session.record.last is not None
    billed, intent = world.rejoin(session.record.last), session.state.intent
    counts, _ = counting(session.journal.ledger)
    if intent is None:
        if billed not in (None, counts.billed):
            raise WorldError(f"The world has billed other actions than are on record ({billed} for {counts.billed}); start anew.")
        session.resend()
    elif billed == counts.billed:
        session.resend()
    else:
        said = "does not say whether it arrived" if billed is None else "has billed it, and does not show again what came of it"
        sentence = f"Action {intent.action} was in flight when the run broke off, and the world {said}; it is counted as billed."
        session.finish(Ending.IN_DOUBT, sentence)
