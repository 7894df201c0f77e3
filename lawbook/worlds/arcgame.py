"""A game on `arcengine` as a World: what its frames, levels and states mean here."""

from __future__ import annotations

from arcengine import ActionInput, ARCBaseGame, FrameDataRaw, GameAction, GameState

from lawbook.errors import WorldError
from lawbook.record import RESET, Action, Observation, Status, freeze
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
        self._completed = 0

    def reset(self) -> Observation:
        return self._send(RESET)

    def step(self, action: Action) -> Observation:
        return self._send(action)

    def close(self) -> None:
        pass

    def _send(self, action: Action) -> Observation:
        data = {} if action.x is None else {"x": action.x, "y": action.y}
        answer = self._game.perform_action(ActionInput(id=GameAction.from_id(action.id), data=data), raw=True)
        if not isinstance(answer, FrameDataRaw) or not answer.frame:
            raise WorldError(f"The game gave no frame for action {action}; it has ended, and only a reset can follow.")
        before, self._completed = self._completed, answer.levels_completed
        if action.id != RESET.id and self._completed > before:
            status = Status.COMPLETED
        elif answer.state is GameState.GAME_OVER:
            status = Status.OVER
        else:
            status = Status.RUNNING
        return Observation(
            frames=tuple(freeze(frame) for frame in answer.frame),  # now: some games draw over what they have returned
            status=status,
            level=self._completed,
            available=tuple(number for number in answer.available_actions if number != RESET.id),
        )
