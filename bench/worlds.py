"""What a world costs beyond its bare engine, an action, and what a long run adds to memory: `python bench/worlds.py`.

The same random actions, resets where a level is over, are sent twice: to the bare engine in this process, and through everything an
action passes: gate, intent and outcome durably in the ledger, the world's own process, the record, the watch over determinism, and
the comparison of a prediction with what came (here always the right one; the model's own time is `bench/plan.py`'s and
`bench/action.py`'s). With LAWBOOK_GAMES set, an ARC-AGI-3 game too.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from arcengine import ActionInput, GameAction

from lawbook.answers import Prediction
from lawbook.host.host import Host
from lawbook.launch import new_run
from lawbook.memory.ledger import Kind
from lawbook.record import RESET, Action, Status
from lawbook.runfolder import RunConfig
from lawbook.session import Session
from lawbook.verify import compare
from lawbook.worlds.address import WorldAddress, make
from lawbook.worlds.arc import GAMES, installed
from lawbook.worlds.arcgame import click, observed

COMPARES = ("frame", "status")


def choices(dice: random.Random, shape: tuple[int, int], clicks: tuple[int, ...]) -> Any:
    """A function from what is available to an action."""

    def choose(available: tuple[int, ...]) -> Action:
        number = dice.choice(available)
        return Action(number, dice.randrange(shape[1]), dice.randrange(shape[0])) if number in clicks else Action(number)

    return choose


def bare(address: str, actions: int) -> tuple[list[Action], list[float]]:
    """Random actions as a game allows them, RESET where it is over, and the seconds each took its bare engine."""
    world: Any = make(WorldAddress.parse(address))
    game = getattr(world, "_game", None) or world._env._game  # the engine itself: without our wrapping, and the toolkit's
    choose = choices(random.Random(address), world.spec.shape, world.spec.clicks)
    seen = world.reset()
    sent: list[Action] = []
    seconds: list[float] = []
    engine = game.perform_action
    while len(sent) < actions:
        action = RESET if seen.status is Status.OVER else choose(seen.available)
        given = ActionInput(id=GameAction.from_id(action.id), data=click(action))
        began = time.perf_counter()
        answer = engine(given, raw=True)
        seconds.append(time.perf_counter() - began)
        sent.append(action)
        seen = observed(answer, action, seen.level)
        if seen.level == world.spec.levels:
            break
    return sent, seconds


@contextmanager
def run(address: str, actions: int, host: Host, out: Path) -> Iterator[Session]:
    with new_run(RunConfig(address, mind="random", protocol="vanilla", budget=actions + 1), out, host=host) as (_, session):
        yield session


def send(session: Session, action: Action) -> None:
    """One action, all the way, and its comparison with the right prediction."""
    here = session.record.here
    before, step = here.last.frame, len(here)
    sent = session.reset("the level is over") if action == RESET else session.probe(action, "what comes of it?")
    seen = sent.observation
    assert seen is not None
    if action != RESET:
        found = compare(
            Prediction(seen.frame.copy(), seen.status),
            seen,
            trajectory=0,
            step=step + 1,
            level=seen.level,
            action=action,
            before=before,
            compares=COMPARES,
        )
        assert found is None


def through(address: str, sent: list[Action], host: Host, out: Path) -> list[float]:
    """Seconds each action took through everything."""
    seconds = []
    with run(address, len(sent), host, out) as session:
        for action in sent:
            began = time.perf_counter()
            send(session, action)
            seconds.append(time.perf_counter() - began)
        assert [tuple(a) for t in session.record for a, _ in t.steps] == [tuple(a) for a in sent if a != RESET]
    return seconds


def resident(*processes: int) -> float:
    """Megabytes that these and all their descendants keep in memory, shared pages divided among those who share them."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(words[1]), []).append(int(path.parent.name))
    todo, total = list(processes), 0
    while todo:
        process = todo.pop()
        todo += children.get(process, [])
        try:
            rollup = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
    return total / 1024


def growth(address: str, actions: int, host: Host, out: Path) -> tuple[float, float, float]:
    """Megabytes of all our processes after the first 200 actions and after all of them, and those of the ledger's file."""
    with run(address, actions, host, out) as session:
        spec = session.world.spec
        choose = choices(random.Random(f"long:{address}"), spec.shape, spec.clicks)
        begin = 0.0
        for number in range(actions):
            record = session.record
            if record.last is None or record.won:
                break
            send(session, RESET if record.needs_reset else choose(record.here.last.available))
            if number == 200:
                begin = resident(os.getpid())
        frames = sum(len(event.body["frames"]) for event in session.journal.ledger.events([Kind.OBSERVE]))
        size = sum(path.stat().st_size for path in session.journal.ledger.path.parent.glob("ledger.sqlite*"))
        print(f"  {session.state.sent:,} actions, {len(session.record):,} trajectories, {frames:,} frames")
        return begin, resident(os.getpid()), size / 2**20


def measure(address: str, settings: argparse.Namespace, host: Host, out: Path) -> None:
    sent, engine = bare(address, settings.actions)
    ours = through(address, sent, host, out)
    resets = sum(action == RESET for action in sent)
    print(f"{address}: {len(sent):,} random actions, {resets:,} of them resets, 64 x 64 cells")
    one, two = 1e3 * statistics.median(engine), 1e3 * statistics.median(ours)
    ordered = sorted(b - a for a, b in zip(engine, ours, strict=True))
    print(f"  bare engine: {one:.2f} ms an action (median), {len(sent) / sum(engine):,.0f} actions a second")
    print(f"  through everything: {two:.2f} ms an action (median), {len(sent) / sum(ours):,.0f} actions a second")
    print(
        f"  overhead: {1e3 * statistics.median(ordered):.2f} ms an action (median of the pairs; to be under 1.5), "
        f"{1e3 * ordered[int(0.99 * len(ordered))]:.2f} ms (p99)"
    )
    if settings.memory:
        begin, end, size = growth(address, settings.memory, host, out)
        grown = f"{end - begin:+.0f} MB (to be under 150)"
        print(f"  memory of all our processes: {begin:.0f} MB, then {end:.0f}: {grown}; ledger {size:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "worlds", nargs="*", metavar="WORLD", help="on arcengine (default: demo:maze, and the first game of LAWBOOK_GAMES)"
    )
    parser.add_argument("--actions", type=int, default=1500, help="for the time (default: 1500)")
    parser.add_argument("--memory", type=int, default=20_000, help="actions for the memory (default: 20000; 0: not at all)")
    settings = parser.parse_args()
    real = [f"arc:{next(iter(installed()))}"] if os.environ.get(GAMES) else []
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder, Host() as host:
        for address in settings.worlds or ["demo:maze", *real]:
            measure(address, settings, host, Path(folder))


if __name__ == "__main__":
    main()
