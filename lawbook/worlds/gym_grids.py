"""Gymnasium's own grid worlds, and the door by which anybody registers another: `register` a view and a rule of completion.

An environment of your own, or another view of a known one, in five lines of a module `lakes.py`, is played as
`py:lakes:SOURCE/Lake-v0` or, once packaged, under an entry point of your own that names the same SOURCE:

    from lawbook.worlds.gym_grids import SOURCE, register

    register("Lake-v0",
             view=lambda env, state: env.grid_with(state),             # H x W whole numbers from 0 to 255
             completed=lambda env, state, reward: state == env.goal)   # asked when the environment says it terminated

Reward is not completion: the goal of CliffWalking pays -1. Nothing of a reward is ever shown, and
only a rule that says `scored` has it kept on record.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from lawbook.errors import UsageError
from lawbook.worlds.address_options import AddressOptions
from lawbook.worlds.gym_adapter import GymRule, GymSource, GymWorld

__all__ = ["RULES", "SOURCE", "GymRule", "GymSource", "GymWorld", "count_shortest_solution", "register"]

RULES: dict[str, GymRule] = {}

SOURCE = GymSource("gym", "Gymnasium environments with discrete actions, seen as a grid of whole numbers.", RULES)
"""The entry point `gym`; other packages may offer it under a name of their own after registering."""


def register(
    env_id: str, *, view: Callable[[Any, Any], npt.ArrayLike], completed: Callable[[Any, Any, float], bool], **more: Any
) -> None:
    """Make the Gymnasium environment `env_id` playable. A second registration replaces the first.

    See GymRule for what each argument is, `more` being options, optimum, scored, example, about and palette.
    """
    RULES[env_id] = GymRule(view, completed, **more)


def count_shortest_solution(env: Any, completed: Callable[[Any, Any, float], bool]) -> int | None:
    """Count the fewest actions from the present state to a completion; None where something is left to chance, or there is no way.

    Breadth-first over the table `env.P` of Gymnasium's toy environments: state -> action -> [(probability, state, reward,
    terminated)].
    """
    start = int(env.s)
    distance, queue = {start: 0}, deque([start])
    while queue:
        state = queue.popleft()
        for outcomes in env.P[state].values():
            if len(outcomes) != 1:
                return None
            ((_, successor, reward, terminated),) = outcomes
            if terminated and completed(env, successor, reward):
                return distance[state] + 1
            if successor not in distance and not terminated:
                distance[successor] = distance[state] + 1
                queue.append(successor)
    return None


# FrozenLake-v1 and CliffWalking-v1. The avatar is drawn over the cell it stands on, a hole included.
FROZEN, HOLE, GOAL, START, AVATAR = range(5)
_LAKE_CODES = np.zeros(256, dtype=np.uint8)
_LAKE_CODES[[ord(letter) for letter in "FHGS"]] = FROZEN, HOLE, GOAL, START


def _view_lake(env: Any, state: int) -> npt.NDArray[np.uint8]:
    grid: npt.NDArray[np.uint8] = _LAKE_CODES[env.desc.view(np.uint8)]
    grid.flat[int(state)] = AVATAR
    return grid


def _is_lake_completed(env: Any, state: int, reward: float) -> bool:
    return bool(env.desc.flat[int(state)] == b"G")


def _read_lake_options(options: AddressOptions) -> dict[str, Any]:
    """Without map_seed: Gymnasium's own 4 x 4 or 8 x 8 map. With it: the random solvable map of that seed, each cell frozen with
    probability p. The time limit is 25 actions a side, which is what Gymnasium registers for its two maps."""
    from gymnasium.envs.toy_text.frozen_lake import MAPS, generate_random_map

    slippery = options.get_bool("is_slippery", False)
    size = options.get_int("size", 8, low=2, high=32)
    seed = options.get_int("map_seed", 0, low=0, high=2**31 - 1)
    p = options.get_float("p", 0.8, low=0.6, high=1.0)
    if "map_seed" in options:
        lake = generate_random_map(size, p, seed)
    elif "p" in options or f"{size}x{size}" not in MAPS:
        raise UsageError(f"{options.world}: only random maps have p, or a size other than 4 and 8; add map_seed=7 or another seed.")
    else:
        lake = MAPS[f"{size}x{size}"]
    return {"desc": lake, "is_slippery": slippery, "max_episode_steps": 25 * size}


register(
    "FrozenLake-v1",
    view=_view_lake,
    completed=_is_lake_completed,
    options=_read_lake_options,
    optimum=lambda env: count_shortest_solution(env, _is_lake_completed),
    example="is_slippery=false&map_seed=7&size=8",
    about="Cross a frozen lake between its holes (map_seed, size 2 to 32, p, is_slippery).",
    palette="lake",
)


def _view_cliff(env: Any, state: int) -> npt.NDArray[np.uint8]:
    grid = np.full(env.shape, FROZEN, dtype=np.uint8)
    grid[-1, 1:-1] = HOLE  # the cliff: whoever steps off it stands at the start again
    grid[-1, -1] = GOAL
    grid.flat[int(env.start_state_index)] = START
    grid.flat[int(state)] = AVATAR
    return grid


def _is_cliff_completed(env: Any, state: int, reward: float) -> bool:
    return bool(state == env.nS - 1)  # it pays -1, like any other step


register(
    "CliffWalking-v1",
    view=_view_cliff,
    completed=_is_cliff_completed,
    optimum=lambda env: count_shortest_solution(env, _is_cliff_completed),
    about="Walk along a cliff; whoever falls stands at the start again.",
)


# Taxi-v4, on the map that Gymnasium prints: 7 x 11, a cell every second column, walls between some of them.
# A code is what lies on a cell, plus TAXI where the taxi stands on it, empty, or LADEN where it does with the passenger inside.
FLOOR, WALL, STAND, PASSENGER, DESTINATION = range(5)
TAXI, LADEN = 5, 10
_TAXI_CODES = np.full(256, WALL, dtype=np.uint8)
_TAXI_CODES[[ord(letter) for letter in " :"]] = FLOOR
_TAXI_CODES[[ord(letter) for letter in "RGYB"]] = STAND
_IN_TAXI = 4


def _view_taxi(env: Any, state: int) -> npt.NDArray[np.uint8]:
    row, column, passenger, destination = env.decode(int(state))
    stands = [(1 + down, 1 + 2 * right) for down, right in env.locs]
    grid: npt.NDArray[np.uint8] = _TAXI_CODES[env.desc.view(np.uint8)]
    if passenger != _IN_TAXI:
        grid[stands[passenger]] = PASSENGER
    grid[stands[destination]] = DESTINATION
    grid[1 + row, 1 + 2 * column] += LADEN if passenger == _IN_TAXI else TAXI
    return grid


def _is_taxi_completed(env: Any, state: int, reward: float) -> bool:
    _, _, passenger, destination = env.decode(int(state))
    return bool(passenger == destination)


register(
    "Taxi-v4",
    view=_view_taxi,
    completed=_is_taxi_completed,
    optimum=lambda env: count_shortest_solution(env, _is_taxi_completed),
    example="seed=3",
    about="Fetch a passenger and set him down where he wants to be (seed: where all three are at first).",
)
