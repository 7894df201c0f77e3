"""One ARC-AGI-3 game through the official toolkit's wrapper for local games. To import this imports the toolkit: seconds."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arc_agi import EnvironmentInfo, EnvironmentWrapper, LocalEnvironmentWrapper
from arcengine import GameAction
from pydantic import ValidationError

from lawbook.core.record import RESET, Action, Observation
from lawbook.errors import UsageError, WorldError
from lawbook.worlds.arcengine_world import decode_observation, make_click_data
from lawbook.worlds.world import WorldSpec

ACTIONS, CLICKS = tuple(range(1, 8)), (6,)
"""All that ARC-AGI-3 knows. Every observation says which of them a game accepts; nothing promises that they stay the same."""


class ArcWorld:
    """A game behind the toolkit's wrapper, whose making has already reset it once: that is the opening.

    baselines: actions of people per level, or None; failure_handler: what the toolkit logs. Raises WorldError where the game
    itself fails.
    """

    def __init__(self, env: EnvironmentWrapper, baselines: tuple[int, ...] | None, failure_handler: FailureHandler) -> None:
        self._env, self._failure_handler, self._level = env, failure_handler, 0
        response = env.observation_space
        levels = (response and response.win_levels) or None
        first = self._receive(response, RESET)
        self._first_observation: Observation | None = first
        self.spec = WorldSpec(
            shape=first.frame.shape,
            actions=ACTIONS,
            clicks=CLICKS,
            levels=levels,
            baselines=baselines if baselines and len(baselines) == levels else None,
            baseline="human",
            palette="arc",
        )

    def reset(self) -> Observation:
        first_observation, self._first_observation = self._first_observation, None
        return first_observation or self._receive(self._env.reset(), RESET)

    def step(self, action: Action) -> Observation:
        return self._receive(self._env.step(GameAction.from_id(action.id), data=make_click_data(action)), action)

    def close(self) -> None:
        pass

    def _receive(self, response: object, action: Action) -> Observation:
        if response is None:  # the toolkit swallows what a game raises, and logs it
            raise WorldError(f"The game failed at action {action}: {self._failure_handler.last or 'it gave no answer'}.")
        observation = decode_observation(response, action, self._level)
        self._level = observation.level
        return observation


class FailureHandler(logging.Handler):
    """Keeps the first and the last thing the toolkit complained about."""

    first, last = "", ""

    def emit(self, record: logging.LogRecord) -> None:
        self.last = " ".join(record.getMessage().split())
        self.first = self.first or self.last


def start(folder: Path, metadata: Mapping[str, Any], baselines: tuple[int, ...] | None, seed: int) -> ArcWorld:
    """The game in `folder`. Raises UsageError, without the name of the game, when the toolkit can make nothing of it.

    seed: for games that take one. Not through the toolkit's `Arcade`: that one may look for games on the network, and lets
    environment variables overrule what it is told.
    """
    try:
        info = EnvironmentInfo.model_validate(dict(metadata))
    except ValidationError as error:
        fields = ", ".join(".".join(map(str, detail["loc"])) for detail in error.errors())
        raise UsageError(
            f"its metadata.json is not what the toolkit expects (see {fields or 'all of it'}); mend that file."
        ) from error
    info.local_dir = str(folder)
    failure_handler, logger = FailureHandler(), logging.Logger("toolkit", logging.WARNING)
    logger.addHandler(failure_handler)
    env = LocalEnvironmentWrapper(info, logger, scorecard_id="", seed=seed)
    if env.observation_space is None:
        raise UsageError(f"it cannot be played ({failure_handler.first or 'the toolkit made nothing of it'}); mend its folder.")
    return ArcWorld(env, baselines, failure_handler)
