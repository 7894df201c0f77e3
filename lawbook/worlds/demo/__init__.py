"""Our own games on `arcengine`: levels and colours are generated from a seed, and every shortest solution is known."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

from lawbook.worlds.address import make_unknown_error
from lawbook.worlds.address_options import AddressOptions
from lawbook.worlds.world import World

GAMES = {
    "budget": "Walk to the exit before the bar runs out, which every action shortens; four levels (seed).",
    "dusk": "Walk to the exit before the bar runs out; only what is next to the avatar is drawn; four levels (seed).",
    "fog": "Walk to the exit; only what is near is drawn; four levels (seed).",
    "keys": "Walk to the exit; keys open doors of their colour, hazards kill; four levels (seed).",
    "lights": "Click lamps, each switches its neighbours too, until all are lit; four levels (seed).",
    "maze": "Walk to the exit, past walls and hazards; five levels (seed).",
    "meter": "Walk to the exit before the bar runs out; how long it lasts shows nowhere and differs by level; four levels (seed).",
    "mirror": "Two avatars walk at once, one of them reflected; both must reach their places; four levels (seed).",
    "overlap": "Walk to the exit among ghosts and flowers; what is drawn in front never matters; four levels (seed).",
    "push": "Push boxes onto marks; four levels (seed).",
    "scroll": "Walk to the exit of a board larger than the view, which follows the avatar; four levels (seed).",
    "sequence": "Click lamps in the order in which they flash when a level begins; four levels (seed).",
    "twins": "The first level can be explained in two ways; only a deliberate test tells which is right; four levels (seed).",
}
"""Each is a module here with `build(rng) -> PuzzleGame`."""


class DemoSource:
    """The entry point `demo`."""

    summary = "Lawbook's own games, 64 x 64, on the engine of ARC-AGI-3."

    def names(self) -> Iterator[tuple[str, str]]:
        for name, about in GAMES.items():
            yield f"{name}?seed=0", about

    def make(self, name: str, options: Mapping[str, str]) -> World:
        if name not in GAMES:
            raise make_unknown_error("demo", name, GAMES)
        address_options = AddressOptions(f"demo:{name}", options)
        seed = address_options.get_int("seed", 0, low=0, high=2**31 - 1)
        address_options.reject_unread()
        build = importlib.import_module(f"lawbook.worlds.demo.{name}").build
        world: World = importlib.import_module("lawbook.worlds.demo.puzzle").world(build, name, seed)
        return world


SOURCE = DemoSource()
