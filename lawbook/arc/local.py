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
from lawbook.worlds.arcengine_world import click, observed
from lawbook.worlds.world import WorldSpec

ACTIONS, CLICKS = tuple(range(1, 8)), (6,)
"""All that ARC-AGI-3 knows. Every observation says which of them a game accepts; nothing promises that they stay the same."""


class ArcWorld:
    """A game behind the toolkit's wrapper, whose making has already reset it once: that is the opening.

    baselines: actions of people per level, or None; failures: what the toolkit logs. Raises WorldError where the game itself fails.
    """

    def __init__(self, env: EnvironmentWrapper, baselines: tuple[int, ...] | None, failures: Failures) -> None:
        self._env, self._failures, self._level = env, failures, 0
        answer = env.observation_space
        levels = (answer and answer.win_levels) or None
        first = self._receive(answer, RESET)
        self._opening: Observation | None = first
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
        opening, self._opening = self._opening, None
        return opening or self._receive(self._env.reset(), RESET)

    def step(self, action: Action) -> Observation:
        return self._receive(self._env.step(GameAction.from_id(action.id), data=click(action)), action)

    def close(self) -> None:
        pass

    def _receive(self, answer: object, action: Action) -> Observation:
        if answer is None:  # the toolkit swallows what a game raises, and logs it
            raise WorldError(f"The game failed at action {action}: {self._failures.last or 'it gave no answer'}.")
        seen = observed(answer, action, self._level)
        self._level = seen.level
        return seen


class Failures(logging.Handler):
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
        wrong = ", ".join(".".join(map(str, one["loc"])) for one in error.errors())
        raise UsageError(
            f"its metadata.json is not what the toolkit expects (see {wrong or 'all of it'}); mend that file."
        ) from error
    info.local_dir = str(folder)
    failures, log = Failures(), logging.Logger("toolkit", logging.WARNING)
    log.addHandler(failures)
    env = LocalEnvironmentWrapper(info, log, scorecard_id="", seed=seed)
    if env.observation_space is None:
        raise UsageError(f"it cannot be played ({failures.first or 'the toolkit made nothing of it'}); mend its folder.")
    return ArcWorld(env, baselines, failures)
