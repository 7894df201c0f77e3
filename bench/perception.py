"""What perception costs for a 64 x 64 frame, typical and at its worst: `python bench/perception.py`."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import frames

from lawbook.core import perception
from lawbook.core.record import Action
from lawbook.worlds.address import WorldAddress, make_world
from lawbook.worlds.demo import GAMES

BAR = 2.0
FUNCTIONS: dict[str, Callable[[frames.Frame, frames.Frame], object]] = {
    "components, 4 neighbours": lambda frame, before: perception.components(frame),
    "components, 8 neighbours": lambda frame, before: perception.components(frame, diagonal=True),
    "objects, 4 neighbours": lambda frame, before: perception.objects(frame),
    "objects, 8 neighbours": lambda frame, before: perception.objects(frame, diagonal=True),
    "objects, mixed colours": lambda frame, before: perception.objects(frame, where=frame != frame[0, 0], mixed=True),
    "groups of changed cells": lambda frame, before: perception.groups(frame != before),
    "changes": lambda frame, before: perception.changes(before, frame),
    "text": lambda frame, before: perception.text(frame),
    "clicks": lambda frame, before: perception.clicks(frame),
}
ROWS = "objects as a list of tuples"
"""Not one call of ours, but what going through up to 4,096 objects one by one takes in Python."""


def demo() -> dict[str, tuple[frames.Frame, frames.Frame]]:
    """The first two different frames of each demo game: (after, before)."""
    found = {}
    for name in GAMES:
        world = make_world(WorldAddress.parse(f"demo:{name}"))
        before, spec = world.reset().frame, world.spec
        tries = [Action(number) for number in spec.actions if number not in spec.clicks]
        tries += [Action(spec.clicks[0], click.x, click.y) for click in perception.clicks(before)] if spec.clicks else []
        found[name] = next((after, before) for action in tries if ((after := world.step(action).frame) != before).any())
    return found


def milliseconds(call: Callable[[], object], repeat: int) -> float:
    """The median of `repeat` calls, after two to warm up."""
    taken = []
    for _ in range(repeat + 2):
        began = time.perf_counter()
        call()
        taken.append((time.perf_counter() - began) * 1e3)
    return statistics.median(taken[2:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=40)
    options = parser.parse_args()
    typical = demo()
    hard = {name: (frame, frames.awkward()["flat"]) for name, frame in frames.awkward().items()}
    print(f"milliseconds for one 64 x 64 frame, medians of {options.repeat}; the bar is {BAR:g} ms")
    print(f"typical: the demo games ({len(typical)}); worst: of {len(hard)} awkward frames ({'; '.join(hard)})")
    print()
    print(f"{'':28} typical    worst  on")
    calls = {**FUNCTIONS, ROWS: lambda frame, before: list(perception.objects(frame))}
    worst = {}
    for name, call in calls.items():
        usual = statistics.median(milliseconds(lambda c=call, f=f: c(*f), options.repeat) for f in typical.values())
        costs = {which: milliseconds(lambda c=call, f=f: c(*f), options.repeat) for which, f in hard.items()}
        which = max(costs, key=costs.__getitem__)
        worst[name] = costs[which]
        print(f"{name:28} {usual:7.3f} {costs[which]:8.3f}  {which}")
    name = max(FUNCTIONS, key=worst.__getitem__)
    print()
    print(f"worst case of all functions: {name}, {worst[name]:.2f} ms: {'within' if worst[name] < BAR else 'OVER'} the bar")


if __name__ == "__main__":
    main()
