"""A game on `arcengine` as a World: what its frames, levels and states mean here."""

from __future__ import annotations

from arcengine import ActionInput, ARCBaseGame, FrameDataRaw, GameAction

from lawbook.core.record import RESET, Action, Observation, freeze
from lawbook.errors import WorldError
from lawbook.worlds.arcengine_outcome import interpret_state
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
        """Begin the level anew; see World.reset."""
        return self._send(RESET)

    def step(self, action: Action) -> Observation:
        """Send one action; see World.step."""
        return self._send(action)

    def close(self) -> None:
        """Let go of the environment."""

    def _send(self, action: Action) -> Observation:
        response = self._game.perform_action(ActionInput(id=GameAction.from_id(action.id), data=make_click_data(action)), raw=True)
        observation = decode_observation(response, action, self._level)
        self._level = observation.level
        return observation


def make_click_data(action: Action) -> dict[str, int]:
    """Return the engine's data of an action: x and y of a click, in pixels; else nothing."""
    return {} if action.x is None or action.y is None else {"x": action.x, "y": action.y}


def decode_observation(response: object, action: Action, previous_level: int) -> Observation:
    """Return what the engine answered to `action`, in level `previous_level`, as an observation.

    Raises WorldError where it is none.
    """
    if not isinstance(response, FrameDataRaw) or not response.frame:
        raise WorldError(f"The game gave no frame for action {action}; it has ended, and only a reset can follow.")
    status, level = interpret_state(
        response.state.name, response.levels_completed, response.win_levels, previous_level, reset=action == RESET
    )
    return Observation(
        frames=tuple(freeze(frame) for frame in response.frame),  # now: some games draw over what they have returned
        status=status,
        level=level,
        available=tuple(number for number in response.available_actions if number != RESET.id),
    )
