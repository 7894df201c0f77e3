"""Worlds that pay, played as `py:scored_worlds:SOURCE/name`: FrozenLake with its reward, some that pay other things."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from lawbook.core.record import Action, Observation, Status
from lawbook.worlds.gym_adapter import GymSource
from lawbook.worlds.gym_grids import RULES
from lawbook.worlds.world import World, WorldSpec

LAKES = GymSource("scored", "A lake that pays.", {"FrozenLake-v1": replace(RULES["FrozenLake-v1"], scored=True)})


class Payer:
    """Pays what it was made with for action 2, nothing for action 1; two frames an action, three before it begins."""

    spec = WorldSpec(shape=(1, 2), actions=(1, 2), frameskip=2, opening=3)

    def __init__(self, pay: float) -> None:
        self.pay, self.steps = pay, 0

    def reset(self) -> Observation:
        self.steps = 0
        return self._observe(0.0)

    def step(self, action: Action) -> Observation:
        self.steps += 1
        return self._observe(self.pay if action.id == 2 else 0.0)

    def close(self) -> None:
        pass

    def _observe(self, reward: float) -> Observation:
        return Observation((np.array([[self.steps % 256, 7]], dtype=np.uint8),), Status.RUNNING, 0, (1, 2), reward)


PAYS = {"pays": -1.5, "pays-nan": float("nan"), "pays-numpy": np.float32(2)}


class ScoredSource:
    summary = "Worlds that pay."

    def names(self) -> Iterator[tuple[str, str]]:
        yield "pays", ""

    def make(self, name: str, options: Mapping[str, str]) -> World:
        return Payer(PAYS[name]) if name in PAYS else LAKES.make(name, options)


SOURCE = ScoredSource()
