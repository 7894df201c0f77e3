"""FrozenLake with decoys, a world for `bench/population.py`: several kinds of marked cells, one kind of which is the goal.

`py:decoys:SOURCE/FrozenLake-v1?map_seed=3&size=8&kinds=4`, from the folder of this file. The map is Gymnasium's random one of that
seed; its goal is taken off, and marks of `kinds` colours, one to three of each, are put on frozen cells that can be reached. Which
kind is the goal, and which colour each kind has, is drawn too, so that nothing but trying tells. Nothing happens on a decoy.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import numpy as np
from gymnasium.envs.toy_text.frozen_lake import generate_random_map

from lawbook.worlds.address_options import AddressOptions
from lawbook.worlds.gym_grids import SOURCE, count_shortest_solution, register

__all__ = ["SOURCE", "desc"]

COPIES = 3
"""Marks of one kind, at most."""
FROZEN, HOLE, START, AVATAR, FIRST = range(5)
LETTERS = "GDEIJKLM"
"""The goal, and as many decoys: Gymnasium takes any other letter for ice."""


def desc(map_seed: int, size: int, kinds: int) -> list[str]:
    """The rows of a map, letters of LETTERS for its marks. Raises ValueError where there are too few cells for them."""
    dice = random.Random(f"decoys:{map_seed}")
    rows = [list(row) for row in generate_random_map(size, 0.8, map_seed)]
    rows[-1][-1] = "F"
    cells = [cell for cell in _reached(rows) if rows[cell[0]][cell[1]] == "F" and sum(cell) > 1]
    copies = [dice.randint(1, COPIES) for _ in range(kinds)]
    places = dice.sample(cells, sum(copies))
    for letter, number in zip(LETTERS, copies, strict=False):
        for _ in range(number):
            row, col = places.pop()
            rows[row][col] = letter
    return ["".join(row) for row in rows]


def _reached(rows: list[list[str]]) -> list[tuple[int, int]]:
    """Cells within reach of the upper left one, holes aside, the nearest first."""
    found, queue = {(0, 0): 0}, deque([(0, 0)])
    while queue:
        row, col = queue.popleft()
        for near in ((row + 1, col), (row - 1, col), (row, col + 1), (row, col - 1)):
            if near not in found and all(0 <= k < len(rows) for k in near) and rows[near[0]][near[1]] != "H":
                found[near] = 0
                queue.append(near)
    return list(found)


def _options(options: AddressOptions) -> dict[str, Any]:
    size = options.get_int("size", 8, low=4, high=32)
    seed = options.get_int("map_seed", 0, low=0, high=2**31 - 1)
    kinds = options.get_int("kinds", 4, low=1, high=len(LETTERS))
    return {"desc": desc(seed, size, kinds), "is_slippery": False, "max_episode_steps": 25 * size}


def _view(env: Any, state: int) -> Any:
    colours = list(range(FIRST, FIRST + len(LETTERS)))
    random.Random(f"colours:{env.desc.tobytes().decode()}").shuffle(colours)
    codes = np.zeros(256, dtype=np.uint8)
    codes[[ord(letter) for letter in "FHS" + LETTERS]] = [FROZEN, HOLE, START, *colours]
    grid = codes[env.desc.view(np.uint8)]
    grid.flat[int(state)] = AVATAR
    return grid


def _completed(env: Any, state: int, reward: float) -> bool:
    return bool(env.desc.flat[int(state)] == b"G")


register(
    "FrozenLake-v1",
    view=_view,
    completed=_completed,
    options=_options,
    optimum=lambda env: count_shortest_solution(env, _completed),
)
