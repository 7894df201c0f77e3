"""Put a run together from its parts, new or resumed, and take it apart again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from lawbook import gate
from lawbook.answers import Limits
from lawbook.errors import LawbookError, UsageError, WorldError
from lawbook.host.host import Host
from lawbook.journal import Journal, Listener
from lawbook.memory.bodies import action_of
from lawbook.memory.git import GitMemory
from lawbook.memory.ledger import Kind, Ledger, read_observation
from lawbook.minds.mind import Mind
from lawbook.minds.sources import make_mind
from lawbook.record import RESET, Observation, Record
from lawbook.runfolder import RunConfig, RunFolder, versions
from lawbook.score.counts import counting
from lawbook.session import Session
from lawbook.state import Ending, Member, State
from lawbook.worlds import arc
from lawbook.worlds.address import WorldAddress
from lawbook.worlds.process import WorldProcess
from lawbook.worlds.world import World


@contextmanager
def new_run(
    config: RunConfig, out: Path, *, host: Host | None = None, mind: Mind | None = None, listener: Listener | None = None
) -> Iterator[tuple[RunFolder, Session]]:
    """Start a run in its own folder below `out`.

    host: one that is running already (it is left running); mind: an object instead of `config.mind`.
    Raises UsageError, WorldError, HostError.
    """
    rules = gate.protocol(config.protocol)
    mind = mind or make_mind(config.mind)
    if rules.needs_hypothesis and not mind.proposes:
        raise UsageError(f"The mind {config.mind!r} proposes no hypotheses; play it with --protocol vanilla.")
    with ExitStack() as stack:
        world = _world(config)
        stack.callback(world.close)
        host = host or stack.enter_context(Host(weak=config.weak_sandbox, memory_mb=config.memory_mb))
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
    folder: RunFolder, *, host: Host | None = None, mind: Mind | None = None, listener: Listener | None = None
) -> Iterator[Session]:
    """Go on with a run that was interrupted or killed: fold its ledger, bring the world back by replay, settle what is in doubt."""
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
        mind = mind or make_mind(config.mind)
        world = _world(config, _ticket(ledger))
        stack.callback(world.close)
        host = host or stack.enter_context(Host(weak=config.weak_sandbox, memory_mb=config.memory_mb))
        git = GitMemory.rebuild(folder.memory, state.accepted)  # whatever a crash left of it does not matter
        session = _session(Journal(ledger, state, [listener] if listener else []), world, host, git, mind, config)
        stack.callback(session.close)
        session.journal.append(Kind.OPEN, {**_opening(config, world, host), "resumed": True})
        _bring_back(session, world)
        yield session


def fold(ledger: Ledger) -> State:
    """The state a ledger tells of, without a world: to resume, show or check.

    Raises UsageError when it has no opening, or an event that no run writes there.
    """
    state = State.opened(ledger)
    for event in ledger:
        try:
            state.apply(event, ledger)
        except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
            what = f"Event {event.seq} ({event.kind}) does not follow from those before it ({type(error).__name__}: {error})"
            raise UsageError(f"{what}; the ledger was written by another version, or altered.") from error
    return state


def _world(config: RunConfig, ticket: str = "") -> WorldProcess:
    address = WorldAddress.parse(config.world)
    return WorldProcess(address, environment=arc.environment(address, ticket))


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
    rules, limits = gate.protocol(config.protocol), Limits(nodes=config.nodes)
    return Session(journal, world, host, git, mind, rules, budget=config.budget, seed=config.seed, limits=limits)


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
    for number, event in enumerate(session.journal.ledger.events([Kind.OBSERVE])):
        action, expected = action_of(event.body["action"]), read_observation(session.journal.ledger, event.body)
        seen = world.reset() if action is None or action == RESET else world.step(action)
        if not _same(seen, expected):
            raise WorldError(
                f"Replayed, the world shows something else after action {number} than is on record; the run cannot go on."
            )
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
    elif billed == counts.billed:
        session.resend()
    else:
        said = "does not say whether it arrived" if billed is None else "has billed it, and does not show again what came of it"
        sentence = f"Action {intent.action} was in flight when the run broke off, and the world {said}; it is counted as billed."
        session.finish(Ending.IN_DOUBT, sentence)


def _same(one: Observation, two: Observation) -> bool:
    return (one.status, one.level, one.available, len(one.frames)) == (
        two.status,
        two.level,
        two.available,
        len(two.frames),
    ) and all(np.array_equal(a, b) for a, b in zip(one.frames, two.frames, strict=True))
