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
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from arcengine import ActionInput, GameAction

from lawbook.arc.settings import GAMES_VARIABLE
from lawbook.arc.source import find_installed_games
from lawbook.core.record import RESET, Action, Frame, Observation, Status
from lawbook.core.results import Prediction
from lawbook.ledger.events import EventKind, ObserveEvent
from lawbook.ledger.ledger import Event
from lawbook.runs.event_log import Listener
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.runs.session import Session
from lawbook.sandbox.host import Host
from lawbook.verification.comparison import compare_prediction
from lawbook.worlds.address import WorldAddress, make_world
from lawbook.worlds.arcengine_world import decode_observation, make_click_data

COMPARES = ("frame", "status")
PLAN = 50
"""Most actions in one plan."""


def choices(dice: random.Random, shape: tuple[int, int], clicks: tuple[int, ...]) -> Any:
    """A function from what is available to an action."""

    def choose(available: tuple[int, ...]) -> Action:
        number = dice.choice(available)
        return Action(number, dice.randrange(shape[1]), dice.randrange(shape[0])) if number in clicks else Action(number)

    return choose


def bare(address: str, actions: int) -> tuple[list[list[Action]], list[float]]:
    """Random actions as a game allows them, RESET where it is over, and the seconds each took its bare engine.

    They come in the pieces in which they can be sent as plans: a reset by itself, up to PLAN actions to the end of a level.
    """
    world: Any = make_world(WorldAddress.parse(address))
    game = getattr(world, "_game", None) or world._env._game  # the engine itself: without our wrapping, and the toolkit's
    choose = choices(random.Random(address), world.spec.shape, world.spec.clicks)
    seen = world.reset()
    pieces: list[list[Action]] = [[]]
    seconds: list[float] = []
    while len(seconds) < actions:
        action = RESET if seen.status is Status.OVER else choose(seen.available)
        given = ActionInput(id=GameAction.from_id(action.id), data=make_click_data(action))
        began = time.perf_counter()
        answer = game.perform_action(given, raw=True)
        seconds.append(time.perf_counter() - began)
        if action == RESET or seen.status is not Status.RUNNING or len(pieces[-1]) == PLAN or pieces[-1] == [RESET]:
            pieces.append([])
        pieces[-1].append(action)
        seen = decode_observation(answer, action, seen.level)
        if seen.level == world.spec.levels:
            break
    return [piece for piece in pieces if piece], seconds


@contextmanager
def run(address: str, actions: int, host: Host, out: Path, listener: Listener | None = None) -> Iterator[Session]:
    config = RunConfig(address, mind="random", protocol="vanilla", budget=actions + 1)
    with start_run(config, out, host=host, listener=listener) as (_, session):
        yield session


def compared(before: Frame, seen: Observation, action: Action) -> None:
    """What comparing a prediction costs, here with the right one."""
    predicted = Prediction(seen.frame.copy(), seen.status)
    assert (
        compare_prediction(predicted, seen, trajectory=0, step=1, level=0, action=action, before=before, compared_fields=COMPARES)
        is None
    )


def through(address: str, pieces: list[list[Action]], host: Host, out: Path) -> list[float]:
    """Seconds from one acknowledged action to the next, sent as plans."""
    seconds: list[float] = []
    shown: list[Observation] = []  # the last that was seen
    began = 0.0

    def listen(event: Event) -> None:
        nonlocal began
        if event.kind is EventKind.OBSERVE:
            last = session.record.last if shown else None
            if last is not None:
                compared(shown.pop().frame, last, event.data.action)
                seconds.append(time.perf_counter() - began)
                began = time.perf_counter()
                shown.append(last)

    with run(address, sum(map(len, pieces)), host, out, listen) as session:
        assert session.record.last is not None
        shown.append(session.record.last)
        for piece in pieces:
            began = time.perf_counter()
            sent = session.reset("the level is over") if piece == [RESET] else session.execute(piece)
            assert len(sent.actions) == len(piece), sent.halt_reason
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


def growth(address: str, actions: int, host: Host, out: Path) -> None:
    """Play on and on, one probe at a time, and print what all our processes keep after 200 actions and at the end."""
    with run(address, actions, host, out) as session:
        spec, record = session.world.spec, session.record
        choose = choices(random.Random(f"long:{address}"), spec.shape, spec.clicks)
        begin = 0.0
        for number in range(actions):
            if record.is_won:
                break
            if record.needs_reset:
                session.reset("the level is over")
            else:
                before = record.current.last
                action = choose(before.available)
                seen = session.probe(action, "what comes of it?").observation
                assert seen is not None
                compared(before.frame, seen, action)
            if number == 200:
                begin = resident(os.getpid())
        end = resident(os.getpid())
        frames = sum(len(event.frames) for event in session.event_log.ledger.read_data(ObserveEvent))
        size = sum(path.stat().st_size for path in session.event_log.ledger.path.parent.glob("ledger.sqlite*")) / 2**20
        print(
            f"  {session.state.n_actions:,} random actions in {len(record):,} trajectories, {frames:,} frames, ledger "
            f"{size:.0f} MB:"
        )
        print(f"  memory of all our processes: {begin:.0f} MB, then {end:.0f}: {end - begin:+.0f} MB (to be under 150)")


def measure(address: str, settings: argparse.Namespace, host: Host, out: Path) -> None:
    pieces, engine = bare(address, settings.actions)
    passes = [through(address, pieces, host, out) for _ in range(settings.passes)]
    ours = min(passes, key=statistics.median)
    resets = sum(piece == [RESET] for piece in pieces)
    print(f"{address}: {len(engine):,} random actions, {resets:,} resets among them, 64 x 64 cells, in plans of up to {PLAN}")
    print(f"  bare engine: {1e3 * statistics.median(engine):.2f} ms an action (median), {len(engine) / sum(engine):,.0f} a second")
    print(f"  through everything: {1e3 * statistics.median(ours):.2f} ms an action (median), {len(ours) / sum(ours):,.0f} a second")
    ordered = sorted(b - a for a, b in zip(engine, ours, strict=True))
    print(
        f"  overhead: {1e3 * statistics.median(ordered):.2f} ms an action (median; to be under 1.5), "
        f"{1e3 * ordered[int(0.99 * len(ordered))]:.2f} ms (p99), in the quietest of {settings.passes} passes "
        f"(medians of the passes: {', '.join(f'{1e3 * statistics.median(one):.2f}' for one in passes)} ms)"
    )
    if settings.memory:
        growth(address, settings.memory, host, out)


def disk(folder: Path, count: int = 300) -> float:
    """Median milliseconds of 4 KiB appended and made durable: what no action can be quicker than."""
    seconds = []
    with open(folder / "sync", "wb", buffering=0) as file:  # noqa: PTH123
        for _ in range(count):
            began = time.perf_counter()
            file.write(b"x" * 4096)
            os.fdatasync(file.fileno())
            seconds.append(time.perf_counter() - began)
    return 1e3 * statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "worlds", nargs="*", metavar="WORLD", help="on arcengine (default: demo:maze?seed=1, and the first game of LAWBOOK_GAMES)"
    )
    parser.add_argument("--actions", type=int, default=1500, help="for the time (default: 1500)")
    parser.add_argument("--passes", type=int, default=3, help="through everything (default: 3)")
    parser.add_argument("--memory", type=int, default=20_000, help="actions for the memory (default: 20000; 0: not at all)")
    settings = parser.parse_args()
    real = [f"arc:{next(iter(find_installed_games()))}"] if os.environ.get(GAMES_VARIABLE) else []
    worlds = settings.worlds or ["demo:maze?seed=1", *real]
    if len(worlds) > 1:  # each in an interpreter of its own: memory that one gave back would be the next one's to take
        options = [f"--{name}={value}" for name, value in vars(settings).items() if name != "worlds"]
        raise SystemExit(max(subprocess.run([sys.executable, __file__, *options, world]).returncode for world in worlds))
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder, Host() as host:
        print(
            f"the disk alone, 4 KiB appended and made durable: {disk(Path(folder)):.2f} ms; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
        measure(worlds[0], settings, host, Path(folder))


if __name__ == "__main__":
    main()
