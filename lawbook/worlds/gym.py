"""Gymnasium environments as worlds: a view makes the grid, a rule says what completion is; both can be registered from outside.

An environment of your own, or another view of a known one, in five lines of a module `lakes.py`, is played as
`py:lakes:SOURCE/Lake-v0` or, once packaged, under an entry point of your own that names the same SOURCE:

    from lawbook.worlds.gym import SOURCE, register

    register("Lake-v0",
             view=lambda env, state: env.grid_with(state),             # H x W whole numbers from 0 to 255
             completed=lambda env, state, reward: state == env.goal)   # asked when the environment says it terminated

Reward is not completion: the goal of CliffWalking pays -1. Nothing of a reward is ever shown.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lawbook.errors import UsageError
from lawbook.record import Action, Observation, Status, freeze
from lawbook.worlds.address import unknown
from lawbook.worlds.options import Options
from lawbook.worlds.world import World, WorldSpec

if TYPE_CHECKING:
    import gymnasium

SEED = 0
"""Every reset repeats it, so that one history has one outcome."""


def _no_options(options: Options) -> dict[str, Any]:
    return {}


def _no_optimum(env: Any) -> int | None:
    return None


@dataclass(frozen=True)
class Rule:
    """How one Gymnasium environment becomes a world. `env` is always the unwrapped environment.

    view(env, observation): an H x W grid of whole numbers from 0 to 255; the settled frame.
    completed(env, observation, reward): whether a termination was the goal; when not, the level is over.
    options(options): the world's options, read into keyword arguments of `gymnasium.make`.
    optimum(env): fewest actions to the goal, or None. example, about: for `lawbook worlds`. palette: colours for people.
    """

    view: Callable[[Any, Any], npt.ArrayLike]
    completed: Callable[[Any, Any, float], bool]
    options: Callable[[Options], dict[str, Any]] = _no_options
    optimum: Callable[[Any], int | None] = _no_optimum
    example: str = ""
    about: str = ""
    palette: str = "gym"


RULES: dict[str, Rule] = {}


def register(
    env_id: str,
    *,
    view: Callable[[Any, Any], npt.ArrayLike],
    completed: Callable[[Any, Any, float], bool],
    options: Callable[[Options], dict[str, Any]] = _no_options,
    optimum: Callable[[Any], int | None] = _no_optimum,
    example: str = "",
    about: str = "",
    palette: str = "gym",
) -> None:
    """Make the Gymnasium environment `env_id` playable; see Rule for the arguments. A second registration replaces the first."""
    RULES[env_id] = Rule(view, completed, options, optimum, example, about, palette)


class GymWorld:
    """One Gymnasium environment with discrete actions: its action number a is our id a + 1 (0 is RESET), and it has one level.

    Raises UsageError when its actions are not discrete.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], rule: Rule) -> None:
        from gymnasium.spaces import Discrete

        space = env.action_space
        if not isinstance(space, Discrete):
            raise UsageError(
                f"{env.spec and env.spec.id} has no discrete actions ({space}); only environments that have are worlds."
            )
        self._env, self._rule, self._first = env, rule, int(space.start)
        self._actions = tuple(range(1, int(space.n) + 1))
        self.spec = WorldSpec(
            shape=self.reset().frame.shape,
            actions=self._actions,
            levels=1,
            baselines=(rule.optimum(env.unwrapped),),
            palette=rule.palette,
        )

    def reset(self) -> Observation:
        observation, _ = self._env.reset(seed=SEED)
        return self._observe(observation, Status.RUNNING)

    def step(self, action: Action) -> Observation:
        observation, reward, terminated, truncated, _ = self._env.step(action.id - 1 + self._first)
        if terminated:
            won = self._rule.completed(self._env.unwrapped, observation, float(reward))
            return self._observe(observation, Status.COMPLETED if won else Status.OVER)
        return self._observe(observation, Status.TRUNCATED if truncated else Status.RUNNING)

    def close(self) -> None:
        self._env.close()

    def _observe(self, observation: Any, status: Status) -> Observation:
        frame = freeze(self._rule.view(self._env.unwrapped, observation))
        return Observation((frame,), status, int(status is Status.COMPLETED), self._actions)


class GymSource:
    """The entry point `gym`; other packages may use it under a name of their own after registering."""

    summary = "Gymnasium environments with discrete actions, seen as a grid of whole numbers."

    def names(self) -> Iterator[tuple[str, str]]:
        for env_id, rule in RULES.items():
            yield env_id + (f"?{rule.example}" if rule.example else ""), rule.about

    def make(self, name: str, options: Mapping[str, str]) -> World:
        if name not in RULES:
            raise unknown("gym", name, RULES)
        import gymnasium

        rule, given = RULES[name], Options(f"gym:{name}", options)
        settings = rule.options(given)
        given.done()
        try:
            env = gymnasium.make(name, disable_env_checker=True, **settings)
        except gymnasium.error.Error as error:
            raise UsageError(f"Gymnasium cannot make {name} ({error}); check its name and what it needs.") from error
        return GymWorld(env, rule)


SOURCE = GymSource()


# FrozenLake-v1. Codes of the grid; the avatar is drawn over the cell it stands on, a hole included.
FROZEN, HOLE, GOAL, START, AVATAR = range(5)
_CODES = np.zeros(256, dtype=np.uint8)
_CODES[[ord(letter) for letter in "FHGS"]] = FROZEN, HOLE, GOAL, START


def _lake_view(env: Any, state: int) -> npt.NDArray[np.uint8]:
    grid: npt.NDArray[np.uint8] = _CODES[env.desc.view(np.uint8)]
    grid.flat[int(state)] = AVATAR
    return grid


def _lake_completed(env: Any, state: int, reward: float) -> bool:
    return bool(env.desc.flat[int(state)] == b"G")


def _lake_options(options: Options) -> dict[str, Any]:
    """Without map_seed: Gymnasium's own 4 x 4 or 8 x 8 map. With it: the random solvable map of that seed, each cell frozen with
    probability p. The time limit is 25 actions a side, which is what Gymnasium registers for its two maps."""
    from gymnasium.envs.toy_text.frozen_lake import MAPS, generate_random_map

    slippery = options.flag("is_slippery", False)
    size = options.whole("size", 8, low=2, high=32)
    seed = options.whole("map_seed", 0, low=0, high=2**31 - 1)
    p = options.number("p", 0.8, low=0.6, high=1.0)
    if "map_seed" in options:
        lake = generate_random_map(size, p, seed)
    elif "p" in options or f"{size}x{size}" not in MAPS:
        raise UsageError(f"{options.world}: only random maps have p, or a size other than 4 and 8; add map_seed=7 or another seed.")
    else:
        lake = MAPS[f"{size}x{size}"]
    return {"desc": lake, "is_slippery": slippery, "max_episode_steps": 25 * size}


def _lake_optimum(env: Any) -> int | None:
    """Shortest way from the start to the goal, breadth-first over Gymnasium's own transitions; None where they are slippery."""
    start = int(np.flatnonzero(env.initial_state_distrib)[0])
    distance, queue = {start: 0}, deque([start])
    while queue:
        state = queue.popleft()
        for outcomes in env.P[state].values():
            if len(outcomes) != 1:
                return None
            (_, after, _, _), *_ = outcomes
            if after not in distance:
                distance[after] = distance[state] + 1
                if _lake_completed(env, after, 0.0):
                    return distance[after]
                queue.append(after)
    return None


register(
    "FrozenLake-v1",
    view=_lake_view,
    completed=_lake_completed,
    options=_lake_options,
    optimum=_lake_optimum,
    example="is_slippery=false&map_seed=7&size=8",
    about="Cross a frozen lake between its holes (map_seed, size 2 to 32, p, is_slippery).",
    palette="lake",
)
