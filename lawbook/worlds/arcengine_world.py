"""A game on `arcengine` as a World: what its frames, levels and states mean here."""

from __future__ import annotations

from arcengine import ActionInput, ARCBaseGame, FrameDataRaw, GameAction

from lawbook.core.record import RESET, Action, Observation, freeze
from lawbook.errors import WorldError
from lawbook.worlds.arcengine_outcome import outcome
from lawbook.worlds.world import WorldSpec


class ArcGameWorld:
    """One `arcengine` game, played in this process. Frames: all that an action caused, the last one settled.

    COMPLETED when the number of completed levels grew: the last frame then shows the next level. OVER on the engine's GAME_OVER.
    A reset is the engine's own: it restarts the level, and the whole game when no action was sent since the level began, or after
    the game was won.
    """

    def __init__(self, game: ARCBaseGame, spec: WorldSpec) -> None:
        self.spec = spec
        self._game = game
        self._level = 0

    def reset(self) -> Observation:
        return self._send(RESET)

    def step(self, action: Action) -> Observation:
        return self._send(action)

    def close(self) -> None:
        pass

    def _send(self, action: Action) -> Observation:
        answer = self._game.perform_action(ActionInput(id=GameAction.from_id(action.id), data=click(action)), raw=True)
        seen = observed(answer, action, self._level)
        self._level = seen.level
        return seen


def click(action: Action) -> dict[str, int]:
    """The engine's data of an action: x and y of a click, else nothing."""
    return {} if action.x is None or action.y is None else {"x": action.x, "y": action.y}


def observed(answer: object, action: Action, before: int) -> Observation:
    """What the engine answered to `action`, in level `before`, as an observation. Raises WorldError where it is none."""
    if not isinstance(answer, FrameDataRaw) or not answer.frame:
        raise WorldError(f"The game gave no frame for action {action}; it has ended, and only a reset can follow.")
    status, level = outcome(answer.state.name, answer.levels_completed, answer.win_levels, before, reset=action == RESET)
    return Observation(
        frames=tuple(freeze(frame) for frame in answer.frame),  # now: some games draw over what they have returned
        status=status,
        level=level,
        available=tuple(number for number in answer.available_actions if number != RESET.id),
    )
