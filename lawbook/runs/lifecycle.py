"""Put a run together from its parts, new or resumed, and take it apart again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from lawbook.core.record import Record
from lawbook.core.results import Limits, RunOutcome
from lawbook.core.spending import Caps
from lawbook.errors import LawbookError, UsageError, WorldError
from lawbook.ledger.contents import load_steps
from lawbook.ledger.events import OpenEvent, RecordedSandbox
from lawbook.ledger.git_versions import GitVersions
from lawbook.ledger.ledger import Ledger
from lawbook.ledger.opening import RecordedSettings, RecordedSpec
from lawbook.minds.base import Mind
from lawbook.minds.fallback import make_mind_with_fallback
from lawbook.protocols.protocol import get_protocol
from lawbook.runs.consent import Consent
from lawbook.runs.event_log import EventLog, Listener
from lawbook.runs.folder import RunConfig, RunFolder, collect_versions
from lawbook.runs.session import Session
from lawbook.runs.state import Member, State, fold_events
from lawbook.sandbox.host import Host
from lawbook.scoring.billing import count_run
from lawbook.worlds.address import WorldAddress, world_environment
from lawbook.worlds.process import WorldProcess
from lawbook.worlds.recorded_world import describe_replay_difference
from lawbook.worlds.world import World, pack_spec


@contextmanager
def start_run(
    config: RunConfig, out: Path, *, host: Host | None = None, mind: Mind | None = None, listener: Listener | None = None
) -> Iterator[tuple[RunFolder, Session]]:
    """Start a run in its own folder below `out`.

    host: one that is running already (it is left running); mind: an object instead of `config.mind`.
    Raises UsageError, WorldError, HostError.
    """
    protocol = get_protocol(config.protocol)
    mind = mind or make_run_mind(config)
    if protocol.needs_hypothesis and not mind.proposes:
        raise UsageError(f"The mind {config.mind!r} proposes no hypotheses; play it with --protocol vanilla.")
    with ExitStack() as stack:
        host = host or stack.enter_context(Host(weak=config.weak_sandbox, memory_mb=config.memory_mb, wait=False))
        world = _start_world(config)  # while the host starts
        stack.callback(world.close)
        host.wait_until_ready()
        folder = RunFolder.create(out, config)
        state = State(Record(world.spec.levels), [Member(index) for index in range(config.population)])
        stack.enter_context(_remove_if_empty(folder, state))
        ledger = Ledger.create(folder.ledger)
        stack.callback(ledger.close)
        event_log = EventLog(ledger, state, [listener] if listener else [])
        session = _build_session(event_log, world, host, GitVersions(folder.memory), mind, config)
        stack.callback(session.close)
        session.open(_build_opening(config, world, host))
        yield folder, session


@contextmanager
def _remove_if_empty(folder: RunFolder, state: State) -> Iterator[None]:
    """A run that failed before it saw anything leaves no folder behind."""
    try:
        yield
    except LawbookError:
        if state.record.last is None:
            shutil.rmtree(folder.path, ignore_errors=True)
        raise


@contextmanager
def resume_run(
    folder: RunFolder,
    *,
    host: Host | None = None,
    mind: Mind | None = None,
    listener: Listener | None = None,
    caps: Caps | None = None,
    consent: Consent | None = None,
) -> Iterator[Session]:
    """Go on with a run that was interrupted or killed: fold its ledger, bring the world back by replay, settle what is in doubt.

    caps: in place of those it had, from now on; what is None there stays as it was. consent: what its programs may do here; the
    folder, which may come from elsewhere, is not asked (None: confined, within 512 MB each).
    """
    folder.refuse_links()
    config = folder.load_config()
    with ExitStack() as stack:
        ledger = Ledger.open(folder.ledger, check=False)  # checked whole right here
        stack.callback(ledger.close)
        chain_error = ledger.check()
        if chain_error:
            raise UsageError(f"The ledger of this run has been altered, so it cannot go on: {chain_error}")
        state = fold_events(ledger)
        if state.outcome is not None:
            raise UsageError(f"This run has ended ({state.outcome}); `lawbook show {folder.path}` tells about it.")
        _require_same_config(ledger, config, folder)
        mind = mind or make_run_mind(config)
        world = _start_world(config, _read_ticket(ledger))
        stack.callback(world.close)
        consent = consent or Consent()
        host = host or stack.enter_context(Host(weak=consent.weak, memory_mb=consent.choose_memory(config.memory_mb)))
        git = GitVersions.rebuild(folder.memory, state.accepted_versions)  # whatever a crash left of it does not matter
        session = _build_session(EventLog(ledger, state, [listener] if listener else []), world, host, git, mind, config)
        stack.callback(session.close)
        effective_caps = state.caps.override(caps or Caps())
        session.event_log.append(replace(_build_opening(config, world, host), is_resumed=True, caps=effective_caps))
        _restore_world(session, world)
        yield session


def make_run_mind(config: RunConfig) -> Mind:
    """Make the mind that a run was asked for, with its help. Raises UsageError."""
    return make_mind_with_fallback(config.mind, images=config.images, seed_with=config.seed_with, fallback=config.fallback)


def _start_world(config: RunConfig, ticket: str = "") -> WorldProcess:
    address = WorldAddress.parse(config.world)
    return WorldProcess(address, environment=world_environment(address, ticket))


def _require_same_config(ledger: Ledger, config: RunConfig, folder: RunFolder) -> None:
    """run.toml is for people; the ledger is the truth of what was asked for. Raises UsageError where they differ."""
    recorded_config = next(ledger.read_data(OpenEvent)).run.values
    changed = [
        f"{name} was {recorded_config[name]!r}"
        for name, value in asdict(config).items()
        if recorded_config.get(name, value) != value
    ]
    if changed:
        raise UsageError(
            f"{folder.toml} was changed since this run began ({', '.join(changed)}); put that back, or start a new run."
        )


def _read_ticket(ledger: Ledger) -> str:
    """What the last opening says of how the play is taken up again; empty where it is not, but replayed."""
    openings = list(ledger.read_data(OpenEvent))
    return openings[-1].spec.ticket if openings else ""


def _build_session(event_log: EventLog, world: World, host: Host, git: GitVersions, mind: Mind, config: RunConfig) -> Session:
    protocol, limits = get_protocol(config.protocol), Limits(nodes=config.nodes)
    settings = {"budget": config.budget, "seed": config.seed}
    return Session(event_log, world, host, git, mind, protocol, limits=limits, policy=config.policy, **settings)


def _build_opening(config: RunConfig, world: World, host: Host) -> OpenEvent:
    """What was asked for, and what it runs on. A resumed run has one for each time it was taken up."""
    settings, spec = RecordedSettings(asdict(config)), RecordedSpec(pack_spec(world.spec))
    return OpenEvent(settings, spec, collect_versions(), RecordedSandbox(host.sandbox.level, dict(host.sandbox.facts)))


def _restore_world(session: Session, world: WorldProcess) -> None:
    """Send the recorded actions to a fresh world and check every frame, then settle the action that was in flight."""
    if not len(session.record):
        session.open()
        return
    if not world.spec.replayable:
        _settle_in_doubt(session, world)
        return
    if difference := describe_replay_difference(world, load_steps(session.event_log.ledger)):
        raise WorldError(f"Replayed, the world shows something else than is on record ({difference}); the run cannot go on.")
    session.settle_in_doubt()


def _settle_in_doubt(session: Session, world: WorldProcess) -> None:
    """A world that cannot be replayed goes on where it is. It is asked what became of an action in doubt: one that never reached it
    is sent; any other is counted as billed, and since nobody knows what it showed, the run ends."""
    assert session.record.last is not None
    billed, intent = world.rejoin(session.record.last), session.state.intent
    counts, _ = count_run(session.event_log.ledger)
    if intent is None:
        if billed not in (None, counts.billed):
            raise WorldError(f"The world has billed other actions than are on record ({billed} for {counts.billed}); start anew.")
        session.settle_in_doubt()
    elif billed == counts.billed:
        session.settle_in_doubt()
    else:
        reason = "does not say whether it arrived" if billed is None else "has billed it, and does not show again what came of it"
        sentence = f"Action {intent.action} was in flight when the run broke off, and the world {reason}; it is counted as billed."
        session.finish(RunOutcome.IN_DOUBT, sentence)
