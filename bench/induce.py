"""How many actions the built-in mind takes, beside random ones, on worlds it has never seen: `python bench/induce.py`.

Every action counts, resets included. A run that does not reach the goal has spent its budget. Seeds are ranges, FIRST:STOP.
--unwalled: program and world are called, not messaged: the same session, the same actions, in a fraction of the time.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from unwalled import unwalled_run

from lawbook.core.hypothesis import Trigger
from lawbook.core.record import RESET, Action, Record
from lawbook.core.results import RunOutcome
from lawbook.ledger.events import CallEvent
from lawbook.minds.base import Case, Interface
from lawbook.minds.registry import make_mind
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.runs.loops.memento3 import play
from lawbook.runs.session import Session
from lawbook.sandbox.host import Host
from lawbook.worlds.address import WorldAddress
from lawbook.worlds.process import WorldProcess

PROTOCOLS = {"induce": "memento3", "random": "vanilla", "graph": "vanilla"}
GAMES = ("maze", "twins", "keys", "push", "lights", "budget", "fog", "mirror")
GRIDS = ("MiniGrid-Empty-8x8-v0", "MiniGrid-DoorKey-6x6-v0")


@dataclass(frozen=True)
class Played:
    """One run. per_level, shortest: actions of each level, spent and least needed (None: not known).
    answers: how many the mind gave, judgements included; slowest: the one that took longest, in seconds."""

    won: bool
    actions: int
    per_level: dict[int, int]
    shortest: tuple[int | None, ...]
    completed: int
    answers: int
    slowest: float
    seconds: float


def played(host: Host | None, out: Path, world: str, mind: str, budget: int, seed: int, population: int = 1) -> Played:
    config = RunConfig(world, mind=mind, protocol=PROTOCOLS[mind], budget=budget, seed=seed, population=population)
    began = time.perf_counter()
    with opened(config, out, host) as session:
        play(session)
        state, spec = session.state, session.world.spec
        answers = [event.seconds for event in session.event_log.ledger.read_data(CallEvent)]
    return Played(
        won=state.outcome is RunOutcome.WON,
        actions=state.n_actions,
        per_level=dict(state.actions_per_level),
        shortest=spec.baselines or (),
        completed=state.n_completed,
        answers=len(answers),
        slowest=max(answers),
        seconds=time.perf_counter() - began,
    )


@contextmanager
def opened(config: RunConfig, out: Path, host: Host | None) -> Iterator[Session]:
    """A session of such a run; without a host, one without walls."""
    if host is None:
        with unwalled_run(config) as session:
            yield session
    else:
        with start_run(config, out, host=host) as (_, session):
            yield session


def lakes(host: Host | None, out: Path, size: int, budget: int, seeds: range, population: int) -> None:
    print(f"\nFrozenLake {size} x {size}, not slippery, maps {seeds.start} to {seeds.stop - 1}, within {budget} actions")
    print("mind       reached  median    mean  worst  shortest  answers  slowest answer   a run")
    for mind in PROTOCOLS:
        world = f"gym:FrozenLake-v1?is_slippery=false&size={size}&map_seed="
        runs = [played(host, out, f"{world}{seed}", mind, budget, seed, population if mind == "induce" else 1) for seed in seeds]
        spent = [run.actions if run.won else budget for run in runs]
        print(
            f"{mind:8} {sum(run.won for run in runs):>5}/{len(runs):<3}"
            f" {statistics.median(spent):>7.1f} {statistics.mean(spent):>7.1f} {max(spent):>6}"
            f" {statistics.mean(run.shortest[0] or 0 for run in runs):>9.1f} {statistics.mean(run.answers for run in runs):>8.1f}"
            f" {max(run.slowest for run in runs) * 1e3:>12.0f} ms {statistics.mean(run.seconds for run in runs):>5.1f} s"
        )


def demos(host: Host | None, out: Path, name: str, budget: int, seeds: range, population: int) -> None:
    print(f"\ndemo:{name}, within {budget} actions: spent/shortest of each level")
    ratios: dict[str, list[float]] = {mind: [] for mind in PROTOCOLS}
    for seed in seeds:
        for mind in PROTOCOLS:
            run = played(host, out, f"demo:{name}?seed={seed}", mind, budget, seed, population if mind == "induce" else 1)
            levels = "  ".join(f"{run.per_level.get(k, 0):>3}/{least}" for k, least in enumerate(run.shortest))
            print(
                f"seed {seed} {mind:8} levels {run.completed}/{len(run.shortest)}  {levels}"
                f"  total {run.actions}/{sum(least or 0 for least in run.shortest)}  answers {run.answers}"
                f"  slowest answer {run.slowest * 1e3:.0f} ms  {run.seconds:.1f} s"
            )
            if run.won:
                ratios[mind].append(run.actions / sum(least or 0 for least in run.shortest))
    for mind, found in ratios.items():
        mean = f"{statistics.mean(found):.2f} times the shortest on average where so" if found else "-"
        print(f"demo:{name} {mind}: all levels on {len(found)} of {len(seeds)} seeds, {mean}")


def grids(host: Host | None, out: Path, name: str, seeds: range, budget: int = 300) -> None:
    for mind in PROTOCOLS:
        runs = [played(host, out, f"minigrid:{name}?seed={seed}", mind, budget, seed) for seed in seeds]
        spent = [run.actions for run in runs if run.won]
        median = f"{statistics.median(spent):.0f}" if spent else "-"
        print(f"{name} {mind:8} solved {len(spent)}/{len(runs)} within {budget} actions, median {median} of those solved")


def reflection(length: int) -> None:
    """How long a proposal and an exploration take on a long record of 64 x 64 frames."""
    world = WorldProcess(WorldAddress.parse("demo:maze"))
    record, dice = Record(world.spec.levels), random.Random(0)
    record.extend(None, world.reset())
    while record.n_actions < length and not record.is_won:
        action = RESET if record.needs_reset else Action(dice.choice(world.spec.actions))
        record.extend(action, world.reset() if action == RESET else world.step(action))
    spec = world.spec
    world.close()
    interface = Interface(spec.shape, spec.actions, spec.clicks, spec.levels)
    case = Case(interface, record, Trigger.MISMATCH, None, False, None, "", length, length, 0, 1, 0, 0)
    times = []
    for _ in range(6):
        mind, began = make_mind("induce"), time.perf_counter()
        mind.propose(case)
        proposed = time.perf_counter()
        mind.explore(case)
        times.append(((proposed - began) * 1e3, (time.perf_counter() - proposed) * 1e3))
    (first, _), *others = times
    propose, explore = (statistics.median(column) for column in zip(*others, strict=True))
    print(f"\nreflection on {record.n_actions} random actions of demo:maze (64 x 64), medians of {len(others)}")
    print(f"propose {propose:.0f} ms (the first time {first:.0f} ms), then explore {explore:.0f} ms")


def seeds(text: str) -> range:
    first, _, stop = text.partition(":")
    return range(int(first), int(stop))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    maps = "map seeds of FrozenLake (default 1000:1100; 0:0 for none)"
    parser.add_argument("--maps", type=seeds, default=range(1000, 1100), help=maps)
    parser.add_argument("--games", default=",".join(GAMES), help="demo games, separated by commas (default: all)")
    parser.add_argument("--minds", default=",".join(PROTOCOLS), help="minds, separated by commas (default: all)")
    parser.add_argument("--grid-seeds", type=seeds, default=range(20), help="seeds of the MiniGrid worlds (default 0:20)")
    parser.add_argument("--demo-seeds", type=seeds, default=range(5), help="layout seeds of the demo games (default 0:5)")
    parser.add_argument("--demo-budget", type=int, default=600)
    parser.add_argument("--population", type=int, default=1)
    parser.add_argument("--unwalled", action="store_true", help="without processes between session, program and world")
    given = parser.parse_args()
    for mind in set(PROTOCOLS) - set(given.minds.split(",")):
        del PROTOCOLS[mind]
    with nullcontext() if given.unwalled else Host() as host, tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        for size, budget in ((4, 60), (8, 250)) if given.maps else ():
            lakes(host, out, size, budget, given.maps, given.population)
        for name in filter(None, given.games.split(",")) if given.demo_seeds else ():
            demos(host, out, name, given.demo_budget, given.demo_seeds, given.population)
        if given.grid_seeds:
            for name in GRIDS:
                grids(host, out, name, given.grid_seeds)
    reflection(500)


if __name__ == "__main__":
    main()
