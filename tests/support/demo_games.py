"""The demo games on the real engine: made, forked, shown, and solved by brute force."""

from __future__ import annotations

import copy
import importlib
from random import Random
from typing import Any

import numpy as np
from arcengine import ActionInput, ARCBaseGame, GameAction, GameState

from lawbook.core.record import Action
from lawbook.worlds.address import WorldAddress, make_world
from lawbook.worlds.arcengine_world import ArcGameWorld
from lawbook.worlds.demo.board import MOVES
from lawbook.worlds.demo.puzzle import CLICK, PuzzleGame


def world(name: str, seed: int) -> ArcGameWorld:
    made = make_world(WorldAddress.parse(f"demo:{name}?seed={seed}"))
    assert isinstance(made, ArcGameWorld)
    return made


def build(name: str, seed: int = 0) -> PuzzleGame[Any]:
    game: PuzzleGame[Any] = importlib.import_module(f"lawbook.worlds.demo.{name}").build(Random(f"{name}:{seed}"))
    return game


def shown(game: ARCBaseGame) -> np.ndarray:
    frame: np.ndarray = game.camera.render(game.current_level.get_sprites())
    return frame


def fork(game: PuzzleGame[Any]) -> PuzzleGame[Any]:
    """A copy that goes its own way. Nothing in these games is changed in place but what is copied here (a test below)."""
    other = copy.copy(game)
    other._levels = [copy.copy(level) for level in game._levels]
    other._camera = copy.copy(game._camera)
    return other


def send(game: ARCBaseGame, action: Action) -> tuple[list[np.ndarray], GameState, int]:
    """(frames, state, completed levels) that an action leads to."""
    data = {} if action.x is None else {"x": action.x, "y": action.y}
    answer = game.perform_action(ActionInput(id=GameAction.from_id(action.id), data=data), raw=True)
    return answer.frame, answer.state, answer.levels_completed


def candidates(game: PuzzleGame[Any]) -> list[Action]:
    """What is worth a try in this level: all moves; of clicks, on a raster finer than any lamp, one for every effect it has now."""
    if CLICK not in game._available_actions:
        return [Action(number) for number in MOVES]
    clicks = [Action(CLICK, x, y) for x in range(2, 64, 4) for y in range(2, 64, 4)]
    return list({send(fork(game), click)[0][-1].tobytes(): click for click in clicks}.values())


def solve(game: PuzzleGame[Any]) -> tuple[list[Action], PuzzleGame[Any]]:
    """Breadth-first over the real engine, layer by layer: a shortest solution of the present level, and the game after it.

    States are told apart by what the game holds and by what it shows, and these two must tell the same apart: nothing is hidden.
    """
    level, actions = game.level_index, candidates(game)
    states, frames = {game.state}, {shown(game).tobytes()}
    layer: list[tuple[PuzzleGame[Any], list[Action]]] = [(game, [])]
    while layer:
        following = []
        for here, way in layer:
            for action in actions:
                after = fork(here)
                seen, state, completed = send(after, action)
                if completed > level:
                    assert len(states) == len(frames)
                    return [*way, action], after
                if after.state not in states and state is not GameState.GAME_OVER:
                    states.add(after.state)
                    frames.add(seen[-1].tobytes())
                    following.append((after, [*way, action]))
        layer = following
    raise AssertionError(f"level {level} has no solution")
