"""What an Atari world costs beyond the bare emulator, an action, and what many actions add to memory: `python bench/ale.py`.

The same random actions, a reset where an episode ended, go to the bare emulator in this process (with the screen copied out of it)
and through the world's own process.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import time

from worlds import resident

from lawbook.core.record import Action, Status
from lawbook.worlds.process import WorldProcess

try:
    from ale_py import ALEInterface, LoggerMode, roms
except ImportError:
    print("ale-py is not installed; pip install '.[ale]' brings it.")
    raise SystemExit(0) from None

FRAMESKIP = 4


def bare(game: str, actions: list[int]) -> list[float]:
    """Seconds for each action in the emulator alone."""
    ALEInterface.setLoggerMode(LoggerMode.Error)
    emulator = ALEInterface()
    emulator.setFloat("repeat_action_probability", 0.0)
    emulator.loadROM(roms.get_rom_path(game))
    emulator.reset_game()
    minimal = emulator.getMinimalActionSet()
    seconds = []
    for number in actions:
        began = time.perf_counter()
        for _ in range(FRAMESKIP):
            emulator.act(minimal[number - 1])
        emulator.getScreen()
        seconds.append(time.perf_counter() - began)
        if emulator.game_over():
            emulator.reset_game()
    return seconds


def through(game: str, actions: list[int]) -> tuple[list[float], list[float], float, float]:
    """Seconds for each action and each reset through the world's process; megabytes of it and us after 200 actions and at last."""
    seconds, resets, before = [], [], 0.0
    with WorldProcess(f"ale:{game}?frameskip={FRAMESKIP}") as world:
        seen = world.reset()
        for count, number in enumerate(actions):
            if count == 200:
                before = resident(os.getpid())
            began = time.perf_counter()
            seen = world.step(Action(number))
            seconds.append(time.perf_counter() - began)
            if seen.status is not Status.RUNNING:
                began = time.perf_counter()
                world.reset()
                resets.append(time.perf_counter() - began)
        return seconds, resets, before, resident(os.getpid())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", nargs="?", default="pong")
    parser.add_argument("--actions", type=int, default=20_000, help="(default: 20000)")
    settings = parser.parse_args()
    with WorldProcess(f"ale:{settings.game}") as world:
        actions = random.Random(settings.game).choices(world.spec.actions, k=settings.actions)
    engine = bare(settings.game, actions)
    ours, resets, before, after = through(settings.game, actions)
    one, other = 1e3 * statistics.median(engine), 1e3 * statistics.median(ours)
    p99 = 1e3 * sorted(ours)[int(0.99 * len(ours))]
    print(f"ale:{settings.game}: {len(actions):,} random actions of {FRAMESKIP} frames; load {os.getloadavg()[0]:.1f}")
    print(f"  bare emulator: {one:.2f} ms an action; through the world's process: {other:.2f} (median), {p99:.2f} (p99)")
    if resets:
        print(f"  a reset, which loads the game anew: {1e3 * statistics.median(resets):.0f} ms (median of {len(resets)})")
    print(f"  memory of both processes: {before:.0f} MB after 200 actions, {after:.0f} at the end: {after - before:+.0f} MB")


if __name__ == "__main__":
    main()
