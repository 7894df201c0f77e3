"""One table: how near everything that happens often comes to its limit, with the bar beside it: `python bench/table.py`.

Every figure is measured here and now on the workload it names. Ratios compare two loops that take turns; times are medians, and
the disk's own time stands beside what waits for it.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import operator
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import conveyor
import numpy as np
import reference
from action import ANYWHERE, BATCH, learn_to_walk
from plan import bare as bare_search
from plan import engine, found
from verify import bare as bare_loop
from verify import loaded, proven, recorded, reference_program

from lawbook.core.hypothesis import ENGINE, Decision, Proposal, Trigger
from lawbook.core.record import RESET, Action, ActionKind, Observation, Record, Status, freeze
from lawbook.core.results import InitialObservation
from lawbook.ledger.contents import store_observation
from lawbook.ledger.events import EventKind, IntendEvent, ObserveEvent, PredictedOutcome
from lawbook.ledger.ledger import Event, Ledger
from lawbook.minds.base import Case, Interface
from lawbook.minds.registry import make_mind
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.runs.session import Session
from lawbook.sandbox.host import Host
from lawbook.worlds.address import WorldAddress
from lawbook.worlds.process import WorldProcess

HOLDS = {">=": operator.ge, "<=": operator.le, "<": operator.lt}
LAWBOOK = [sys.executable, "-m", "lawbook"]


class Row(NamedTuple):
    """One line. bar: what is to hold, with its sign (empty: only for comparison); value in `unit`."""

    what: str
    value: float
    unit: str
    sign: str = ""
    bar: float = 0.0
    note: str = ""

    def __str__(self) -> str:
        bar = f"{self.sign} {self.bar:g}" if self.sign else ""
        verdict = "" if not self.sign else "yes" if HOLDS[self.sign](self.value, self.bar) else "NO"
        return f"{self.what:58} {self.value:9.{2 if self.value < 100 else 0}f} {self.unit:6} {bar:>8} {verdict:>4}  {self.note}"


# -- ratios to the bare loop ----------------------------------------------------------------------------------------------------


def proving(host: Host, repeat: int, steps: int = 5000) -> Iterator[Row]:
    local = reference_program()
    record, program = recorded(local, steps), loaded(host)
    loops, once, twice = [], [], []
    for _ in range(repeat):
        loops.append(bare_loop(local, record))
        once.append(proven(program, record, twin=False))
        twice.append(proven(program, record, twin=True))
    each = statistics.median(loops) / steps * 1e6
    note = f"{steps:,} steps of {each:.0f} us: {spread([a / b for a, b in zip(loops, once, strict=True)])}"
    yield Row("verification, of the bare loop", ratio(loops, once), "", ">=", 0.85, note)
    note = "every frame twice, every step three times"
    yield Row("  with the second pass in the other interpreter", ratio(loops, twice), "", note=note)


def planning(host: Host, repeat: int) -> Iterator[Row]:
    start, module, program = InitialObservation(reference.frame(), 0, reference.AVAILABLE), engine(), loaded(host)
    state = module.initial_state({"frame": start.frame, "level": 0, "available_actions": start.available})
    actions = tuple(Action(number) for number in reference.AVAILABLE)
    gc.collect()
    gc.freeze()  # a worker starts frozen too
    loops, ours = [], []
    for _ in range(repeat):
        began = time.perf_counter()
        expanded = bare_search(module, state, actions)
        loops.append(time.perf_counter() - began)
        ours.append(found(program, start)[0].seconds)
    gc.unfreeze()
    note = f"{expanded:,} states expanded: {spread([a / b for a, b in zip(loops, ours, strict=True)])}"
    yield Row("planning, of the bare loop", ratio(loops, ours), "", ">=", 0.85, note)


def ratio(ones: list[float], others: list[float]) -> float:
    """The median of ratios of neighbours, which had the same machine."""
    return statistics.median(a / b for a, b in zip(ones, others, strict=True))


def spread(values: list[float]) -> str:
    return f"{len(values)} ratios from {min(values):.2f} to {max(values):.2f}"


# -- the whole path of an action ------------------------------------------------------------------------------------------------


class Watched:
    """Milliseconds from one acknowledged action to the next; what is only appended is made durable by the next commit."""

    def __init__(self) -> None:
        self.gaps: list[float] = []
        self._last: float | None = None

    def __call__(self, event: Event) -> None:
        if event.kind is EventKind.OBSERVE:
            now = time.perf_counter()
            if self._last is not None:
                self.gaps.append(1e3 * (now - self._last))
            self._last = now

    def pause(self) -> None:
        self._last = None


def walked(session: Session, watched: Watched, walk: list[Action], actions: int) -> list[float]:
    """Plans of BATCH actions there and back; what lies between two plans (search, roll, draw) is not part of an action's path."""
    watched.gaps.clear()
    for _ in range(actions // BATCH):
        watched.pause()
        outcome = session.execute(walk * (BATCH // 2), ANYWHERE)
        assert not outcome.halt_reason, outcome.halt_reason
    return watched.gaps


def path(host: Host, out: Path, actions: int) -> Iterator[Row]:
    """demo:maze, as `bench/action.py` does; frames come again, so that little is new to be stored."""

    def gaps(folder: Path) -> list[float]:
        watched = Watched()
        with start_run(RunConfig("demo:maze", budget=actions + 500), folder, host=host, listener=watched) as (_, session):
            return walked(session, watched, learn_to_walk(session), actions)

    with in_memory() as memory:
        yield from times("an action, whole: demo:maze", gaps(out), out, gaps(memory) if memory else [])


def times(name: str, gaps: list[float], out: Path, without: list[float]) -> Iterator[Row]:
    """Median and p99 beside what the disk alone takes, and what is left where there is none."""
    disk = synced(out)
    note = f"{len(gaps):,} actions; two pages made durable on this disk: {statistics.median(disk):.2f} ms"
    yield Row(f"{name}, median", statistics.median(gaps), "ms", "<", 1.5, note)
    yield Row(f"{name}, p99", late(gaps), "ms", "<", 5.0, f"the disk alone: {late(disk):.2f} ms")
    if without:
        yield Row("  the same without a disk (/dev/shm), median", statistics.median(without), "ms")
        yield Row("  the same without a disk (/dev/shm), p99", late(without), "ms")


@contextmanager
def in_memory() -> Iterator[Path | None]:
    """A folder on no disk; None where there is none."""
    if not os.access("/dev/shm", os.W_OK):
        yield None
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="lawbook-bench-") as folder:
        yield Path(folder)


def synced(out: Path, count: int = 1000) -> list[float]:
    """Milliseconds for two pages appended and made durable: the least that an action waits for the disk."""
    found = []
    with open(out / "sync", "wb", buffering=0) as file:  # noqa: PTH123
        for _ in range(count):
            began = time.perf_counter()
            file.write(b"x" * 8192)
            os.fdatasync(file.fileno())
            found.append(1e3 * (time.perf_counter() - began))
    return found


def late(values: list[float]) -> float:
    return sorted(values)[int(0.99 * len(values))]


# -- a long run -----------------------------------------------------------------------------------------------------------------


def long_run(out: Path, actions: int) -> None:
    """In an interpreter of its own: the belt, every frame of it new. Prints the gaps and the memory of this process."""
    watched = Watched()
    config = RunConfig(conveyor.ADDRESS, budget=actions + 500)
    with Host() as host, start_run(config, out, host=host, listener=watched) as (_, session):
        proposal = Proposal(Decision.REVISE_RULEBOOK, conveyor.BOOK, {ENGINE: conveyor.PROGRAM})
        verdict = session.propose(proposal)
        assert verdict.admissible, verdict.reason
        gaps = list(walked(session, watched, [Action(1), Action(2)], actions))
        assert session.state.n_actions == actions
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        frames = sum(len(event.frames) for event in session.event_log.ledger.read_data(ObserveEvent))
    print(json.dumps({"gaps": gaps, "peak": peak, "frames": frames}))


def length(out: Path, actions: int, repeat: int) -> Iterator[Row]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}

    def told(folder: Path) -> dict[str, Any]:
        command = [sys.executable, __file__, "--long", str(folder), "--actions", str(actions)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        return dict(json.loads(done.stdout))

    runs = [told(out) for _ in range(repeat)]
    name = f"an action, whole: {conveyor.FRAMES} new frames of 64 x 64"
    with in_memory() as memory:
        yield from times(name, [gap for run in runs for gap in run["gaps"]], out, told(memory)["gaps"] if memory else [])
    share = len(runs[0]["gaps"]) // 5
    grown = [statistics.median(run["gaps"][-share:]) / statistics.median(run["gaps"][:share]) for run in runs]
    note = f"medians of each; {repeat} runs from {min(grown):.2f} to {max(grown):.2f}"
    yield Row(f"the last {share:,} of {actions:,} actions, of the first {share:,}", statistics.median(grown), "", "<=", 1.2, note)
    peaks, frames = [run["peak"] for run in runs], runs[0]["frames"]
    yield Row(f"the run process at {actions:,} actions, peak", max(peaks), "MB", "<", 200.0, f"{frames:,} frames on record")


# -- from the outside -----------------------------------------------------------------------------------------------------------


def beginnings(out: Path, repeat: int) -> Iterator[Row]:
    asked, played = [], []
    for number in range(repeat):
        began = time.perf_counter()
        subprocess.run([*LAWBOOK, "--version"], check=True, stdout=subprocess.DEVNULL)
        asked.append(1e3 * (time.perf_counter() - began))
        folder, clock = out / f"play{number}", time.time()
        subprocess.run([*LAWBOOK, "play", "demo:maze", "--budget", "1", "--quiet", "--out", str(folder)], check=False)
        (ledger,) = folder.glob("*/ledger.sqlite")
        with Ledger.open(ledger, readonly=True) as opened:
            acted = next(event.time for event in opened.read_events([EventKind.OBSERVE]) if event.data.action is not None)
        played.append(acted - clock)
    empty = min(timed(lambda: subprocess.run([sys.executable, "-c", ""], check=True)) for _ in range(repeat))
    note = f"{repeat} times; Python alone: {1e3 * empty:.0f} ms"
    yield Row("lawbook --version", statistics.median(asked), "ms", "<", 150.0, note)
    yield Row("lawbook play demo:maze to its first action", statistics.median(played), "s", "<", 1.0, f"{repeat} times")


def opening(out: Path, repeat: int, actions: int = 5000) -> Iterator[Row]:
    """What it takes to believe a ledger: its schema compared, its file and its chain checked."""
    path, dice = out / "believed.sqlite", np.random.default_rng(0)
    with Ledger.create(path) as ledger:
        for _ in range(actions):
            frame = freeze(dice.integers(0, 8, (64, 64)).astype(np.uint8))
            predicted = {0: PredictedOutcome(ledger.put_frame(frame), frozenset([Status.RUNNING]))}
            ledger.write(IntendEvent(Action(1), ActionKind.PLAN, 0, 1, "", predicted))
            ledger.write(store_observation(ledger, Observation((frame,), Status.RUNNING, 0, (1,)), Action(1), 0))
            if not len(ledger) % 200:
                ledger.commit()
        ledger.commit()

    def look() -> None:
        Ledger.open(path, readonly=True).close()

    spent = [1e3 * timed(look) for _ in range(repeat)]
    note = f"best of {repeat}, median {statistics.median(spent):.0f}; {path.stat().st_size >> 20} MB, frames checked when read"
    yield Row(f"opening a ledger of {actions:,} actions to be believed", min(spent), "ms", "<", 150.0, note)


def reflection(repeat: int, transitions: int = 500) -> Iterator[Row]:
    with WorldProcess(WorldAddress.parse("demo:maze")) as world:
        spec = world.spec
        record, dice = Record(spec.levels), random.Random(0)
        record.extend(None, world.reset())
        while record.n_actions < transitions and not record.is_won:
            action = RESET if record.needs_reset else Action(dice.choice(spec.actions))
            record.extend(action, world.reset() if action == RESET else world.step(action))
    interface = Interface(spec.shape, spec.actions, spec.clicks, spec.levels)
    case = Case(interface, record, Trigger.MISMATCH, None, False, None, "", transitions, transitions, 0, 1, 0, 0)
    taken = [timed(lambda: make_mind("induce").propose(case)) for _ in range(repeat + 1)]
    note = f"{record.n_actions} random actions of demo:maze, {repeat} times, the first {taken[0]:.2f} s"
    yield Row(f"the inducer's reflection on {transitions} transitions", statistics.median(taken[1:]), "s", "<", 0.5, note)


def timed(deed: Callable[[], object]) -> float:
    began = time.perf_counter()
    deed()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--actions", type=int, default=5000)
    parser.add_argument("--repeat", type=int, default=5, help="of everything that is not measured action by action (at least 5)")
    parser.add_argument("--long", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.long:
        long_run(given.long, given.actions)
        return
    print(f"{'(' + reference.NAME + ')':58} {'':9} {'':6} {'bar':>8} {'held':>4}")
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        out = Path(folder)
        with Host() as host:
            parts = [proving(host, given.repeat), planning(host, given.repeat), path(host, out, given.actions)]
            show(itertools.chain(*parts))
        show(itertools.chain(length(out, given.actions, given.repeat), opening(out, given.repeat)))
        show(itertools.chain(beginnings(out, given.repeat), reflection(given.repeat)))
    print(f"load {', '.join(f'{load:.1f}' for load in os.getloadavg())} on {os.cpu_count()} processors")


def show(rows: Iterator[Row]) -> None:
    for row in rows:
        print(row, flush=True)


if __name__ == "__main__":
    main()
