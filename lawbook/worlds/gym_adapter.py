"""Any Gymnasium environment with discrete actions as a World: a view makes the grid, a rule says what completion is."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from lawbook.core.record import Action, Observation, Status, freeze
from lawbook.errors import UsageError
from lawbook.worlds.address import make_unknown_error
from lawbook.worlds.address_options import AddressOptions
from lawbook.worlds.world import World, WorldSpec

if TYPE_CHECKING:
    import gymnasium


def _read_no_options(options: AddressOptions) -> dict[str, Any]:
    return {}


def _find_no_optimum(env: Any) -> int | None:
    return None


@dataclass(frozen=True)
class GymRule:
    """How one Gymnasium environment becomes a world. `env` is always the unwrapped environment.

    view(env, observation): an H x W grid of whole numbers from 0 to 255; the settled frame.
    completed(env, observation, reward): whether a termination was the goal; when not, the level is over.
    options(options): the world's options, read into keyword arguments of `gymnasium.make`; `seed` is read for every environment.
    optimum(env): fewest actions from the state after a reset to the goal, or None; it may leave `env` in any state.
    scored: whether its rewards are passed on (they are no part of what a mind is told); otherwise every observation pays 0.
    example, about: for `lawbook worlds`, which lists only what has something about it. palette: colours for people.
    """

    view: Callable[[Any, Any], npt.ArrayLike]
    completed: Callable[[Any, Any, float], bool]
    options: Callable[[AddressOptions], dict[str, Any]] = _read_no_options
    optimum: Callable[[Any], int | None] = _find_no_optimum
    scored: bool = False
    example: str = ""
    about: str = ""
    palette: str = "gym"


class GymWorld:
    """One Gymnasium environment with discrete actions: its action number a is our id a + 1 (0 is RESET), and it has one level.

    seed: what every reset repeats, so that one history has one outcome. Raises UsageError when its actions are not discrete.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], rule: GymRule, seed: int = 0) -> None:
        from gymnasium.spaces import Discrete

        space = env.action_space
        if not isinstance(space, Discrete):
            raise UsageError(
                f"{env.spec and env.spec.id} has no discrete actions ({space}); only environments that have are worlds."
            )
        self._env, self._rule, self._seed, self._first_action = env, rule, seed, int(space.start)
        self._actions = tuple(range(1, int(space.n) + 1))
        shape = self.reset().frame.shape
        self.spec = WorldSpec(
            shape=shape, actions=self._actions, levels=1, baselines=(rule.optimum(env.unwrapped),), palette=rule.palette
        )

    def reset(self) -> Observation:
        """Begin the level anew; see World.reset."""
        observation, _ = self._env.reset(seed=self._seed)
        return self._observe(observation, Status.RUNNING)

    def step(self, action: Action) -> Observation:
        """Send one action; see World.step."""
        observation, env_reward, terminated, truncated, _ = self._env.step(action.id - 1 + self._first_action)
        reward = float(env_reward)
        if terminated:
            is_goal = self._rule.completed(self._env.unwrapped, observation, reward)
            return self._observe(observation, Status.COMPLETED if is_goal else Status.OVER, reward)
        return self._observe(observation, Status.TRUNCATED if truncated else Status.RUNNING, reward)

    def close(self) -> None:
        """Let go of the environment."""
        self._env.close()

    def _observe(self, observation: Any, status: Status, reward: float = 0.0) -> Observation:
        frame = freeze(self._rule.view(self._env.unwrapped, observation))
        scored_reward = reward if self._rule.scored else 0.0
        return Observation((frame,), status, int(status is Status.COMPLETED), self._actions, scored_reward)


@dataclass(frozen=True)
class GymSource:
    """Worlds out of a table of rules. scheme: before the colon; package: what must be imported for its environments to exist."""

    scheme: str
    summary: str
    rules: Mapping[str, GymRule]
    package: str = "gymnasium"

    def names(self) -> Iterator[tuple[str, str]]:
        """List the environments that a rule says something about; see WorldSource.names."""
        for env_id, rule in self.rules.items():
            if rule.about:
                yield env_id + (f"?{rule.example}" if rule.example else ""), rule.about

    def make(self, name: str, options: Mapping[str, str]) -> World:
        """Make an environment by its id; see WorldSource.make. Raises UsageError."""
        importlib.import_module(self.package)
        import gymnasium

        if name not in self.rules:
            if name not in gymnasium.registry:
                raise make_unknown_error(self.scheme, name, self.rules)
            raise UsageError(
                f"Gymnasium has {name}, but nobody has said yet how it looks as a grid and when it is completed; register both "
                f"in five lines (`python -m pydoc lawbook.worlds.gym_grids` shows them) and play py:yourmodule:SOURCE/{name}."
            )
        rule, address_options = self.rules[name], AddressOptions(f"{self.scheme}:{name}", options)
        arguments = rule.options(address_options)
        seed = address_options.get_int("seed", 0, low=0, high=2**31 - 1)
        address_options.reject_unread()
        try:
            env = gymnasium.make(name, disable_env_checker=True, **arguments)
        except gymnasium.error.Error as error:
            raise UsageError(f"Gymnasium cannot make {name} ({error}); check its name and what it needs.") from error
        return GymWorld(env, rule, seed)
