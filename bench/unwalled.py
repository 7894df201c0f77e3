"""A run with no walls in it, for benches that count actions of our own mind: program and world are called, not messaged.

Session, gate, ledger, verify, plan, mind and population are the real ones; only the processes are left out, and the git memory. The
programs are written by the built-in mind. One run counts as many actions here as behind the walls (`bench/population.py --walls`).
"""

from __future__ import annotations

import importlib.machinery
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from lawbook.core.hypothesis import ENGINE, strip_comments
from lawbook.core.record import Action, Record, Status, freeze
from lawbook.core.results import InitialObservation, Limits, NoPlan, Prediction, ProgramError
from lawbook.ledger.events import OpenEvent
from lawbook.ledger.ledger import Ledger
from lawbook.ledger.opening import RecordedSettings, RecordedSpec
from lawbook.minds.registry import make_mind
from lawbook.protocols.protocol import get_protocol
from lawbook.runs.event_log import EventLog
from lawbook.runs.folder import RunConfig
from lawbook.runs.session import Session
from lawbook.runs.state import Member, State
from lawbook.sandbox.program_loader import Engine, compile_subgoal
from lawbook.sandbox.search import Bounds, search
from lawbook.sandbox.worker_replies import CandidatePlan, Replay, ReplayCheck, decode_search_reply
from lawbook.worlds.address import WorldAddress, make_world

QUICK = Path("/dev/shm")


@lru_cache(256)
def _compiled(file: str, source: str) -> Any:
    return compile(strip_comments(source), file, "exec", dont_inherit=True)


@lru_cache(64)
def _engine(files: tuple[tuple[str, str], ...]) -> Engine:
    """The program's functions, its files as modules that only it sees."""
    sources = dict(files)

    class Finder:
        def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
            return importlib.machinery.ModuleSpec(name, self) if f"{name}.py" in sources else None  # type: ignore[arg-type]

        def create_module(self, spec: Any) -> None:
            return None

        def exec_module(self, module: ModuleType) -> None:
            exec(_compiled(f"{module.__name__}.py", sources[f"{module.__name__}.py"]), module.__dict__)  # noqa: S102 - ours

    finder = Finder()
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]
    try:
        engine = Engine(importlib.import_module(ENGINE.removesuffix(".py")), ENGINE)
    finally:
        sys.meta_path.remove(finder)  # type: ignore[arg-type]
        for name in sources:
            sys.modules.pop(name.removesuffix(".py"), None)  # the next program has its own of that name
    return engine


class Worker:
    """As lawbook.sandbox.worker_client.Worker, without a process."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._state, self._start = engine, None, InitialObservation(np.empty((0, 0), np.uint8), 0, ())

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def close(self) -> None:
        pass

    def _shown(self) -> Prediction:
        engine = self._engine
        over = engine.is_over is not None and engine.is_over(self._state)
        status = Status.COMPLETED if engine.is_goal(self._state) else Status.OVER if over else Status.RUNNING
        return Prediction(freeze(engine.render(self._state)), status)

    def replay(
        self, start: InitialObservation, actions: Sequence[Action], check: ReplayCheck | None = None, *, twice: bool = False
    ) -> Replay:
        self._start = start
        self._state = self._engine.initial_state(
            {"frame": start.frame, "level": start.level, "available_actions": tuple(start.available)}
        )
        seen = [self._shown()]
        for action in actions:
            if twice:
                self._engine.step(self._state, action)
            self._state = self._engine.step(self._state, action)
            seen.append(self._shown())
        frames, statuses = np.stack([shown.frame for shown in seen]), tuple(shown.status for shown in seen)
        stopped = check is not None and not check(0, frames, statuses)
        return Replay(frames, statuses, None, stopped)

    def step(self, action: Action) -> Prediction:
        self._state = self._engine.step(self._state, action)
        return self._shown()

    def _goal(self, goal: str | None) -> Any:
        return None if goal is None else compile_subgoal(goal, self._engine)

    def holds(self, goal: str | None = None) -> bool:
        return bool((self._goal(goal) or self._engine.is_goal)(self._state))

    def search(self, limits: Limits, goal: str | None = None, *, clicks: Sequence[int] = ()) -> CandidatePlan | NoPlan:
        assert limits.depth is not None
        began = time.perf_counter()
        tries = [Action(number) for number in self._start.available if number not in clicks]
        bounds = Bounds(limits.nodes, limits.depth, began + limits.seconds)
        way = search(self._engine, self._state, self._goal(goal), tries, bounds)
        rows = None if way.actions is None else [list(action) for action in way.actions]
        answer = {**way._asdict(), "actions": rows, "keyed": self._engine.key is not None}
        return decode_search_reply(answer, self._start, limits.depth, time.perf_counter() - began)


class Program:
    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = tuple(sorted(files.items()))

    def worker(self, *, twin: bool = False) -> Worker | ProgramError:
        return Worker(_engine(self._files))


class Host:
    """As lawbook.sandbox.host.Host, without a sandbox."""

    def load(self, files: Mapping[str, str]) -> Program | ProgramError:
        return Program(files)


class Forgetful:
    """In place of the git memory, which no session reads while it plays."""

    def save(self, *_: object, **__: object) -> None:
        pass


@contextmanager
def unwalled_run(config: RunConfig) -> Iterator[Session]:
    """A session of such a run, opened."""
    world = make_world(WorldAddress.parse(config.world))
    where = QUICK if QUICK.is_dir() else None
    with tempfile.TemporaryDirectory(dir=where) as folder:
        ledger = Ledger.create(Path(folder) / "ledger.sqlite")
        journal = EventLog(ledger, State(Record(world.spec.levels), [Member(index) for index in range(config.population)]))
        session = Session(
            journal,
            world,
            Host(),  # type: ignore[arg-type]
            Forgetful(),  # type: ignore[arg-type]
            make_mind(config.mind),
            get_protocol(config.protocol),
            budget=config.budget,
            seed=config.seed,
            limits=Limits(nodes=config.nodes),
            policy=config.policy,
        )
        session.open(OpenEvent(RecordedSettings(asdict(config)), RecordedSpec(asdict(world.spec))))
        try:
            yield session
        finally:
            session.close()
