"""MiniGrid's rooms, keys, doors and lava as worlds: the whole grid, the agent's direction in it, one code for each cell.

code = 24 (object - 1) + 4 colour + state, with MiniGrid's own numbers (`minigrid.core.constants`): object 1 empty, 2 wall, 4 door,
5 key, 8 goal, 9 lava, 10 the agent; state 0 open, 1 closed, 2 locked, and for the agent 0 right, 1 down, 2 left, 3 up. So an empty
cell is 0, the goal 172, the agent 216 to 219. What is carried has left the grid; what the agent stands on is hidden by it.

All seven actions are there: 1 turn left, 2 turn right, 3 forward, 4 pick up, 5 drop, 6 toggle, 7 done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from lawbook.worlds.gym_adapter import GymRule, GymSource

CompletionTest = Callable[[Any, Any, float], bool]

AGENT = 10
"""MiniGrid's number of the agent among its objects."""


def encode_cells(cells: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Encode each (object, colour, state), the last axis of `cells`, as one number from 0 to 239.

    object from 1, colour below 6, state below 4. Returns uint8, of the shape of `cells` without its last axis.
    """
    return (cells[..., 0] - 1) * 24 + cells[..., 1] * 4 + cells[..., 2]


def render_grid(env: Any, observation: Any) -> npt.NDArray[np.uint8]:
    """Return what `minigrid.wrappers.FullyObsWrapper` shows, rows first, as codes (uint8, H x W).

    `observation` shows less and is not used.
    """
    cells = env.grid.encode()
    column, row = env.agent_pos
    cells[column, row] = AGENT, 0, env.agent_dir
    return encode_cells(cells).T


def is_on_goal(env: Any, observation: Any, reward: float) -> bool:
    """Return whether the agent stands on a goal. Terminated anywhere else, it stands in lava."""
    cell = env.grid.get(*env.agent_pos)
    return cell is not None and cell.type == "goal"


def is_door_open(env: Any, observation: Any, reward: float) -> bool:
    """Return whether the mission of Unlock is fulfilled: its door has been opened."""
    return bool(env.door.is_open)


def count_shortest_solution(env: Any, completed: CompletionTest) -> int | None:
    """Count the fewest actions from the state after a reset to completion, breadth-first over the environment's own `step`.

    Only turning, walking, picking up and opening are tried: nothing is in the way in these environments, so that putting something
    down never helps. None when there is no way within the environment's time limit.
    """
    moves = env.actions
    doors = [cell for cell in env.grid.grid if cell is not None and cell.type == "door"]

    def read_state() -> tuple[Any, ...]:  # what has been picked up is carried still, so this says all that has changed
        flags = tuple((door.is_open, door.is_locked) for door in doors)
        return (int(env.agent_pos[0]), int(env.agent_pos[1]), int(env.agent_dir), env.carrying, flags)

    def restore_state(state: tuple[Any, ...]) -> None:
        column, row, env.agent_dir, env.carrying, flags = state
        env.agent_pos, env.step_count, env.grid.grid = (column, row), distance[state], list(cells[state])
        for door, (is_open, is_locked) in zip(doors, flags, strict=True):
            door.is_open, door.is_locked = is_open, is_locked

    env.gen_obs = dict  # what the agent would see costs nearly all of a step
    try:
        start = read_state()
        cells = {start: list(env.grid.grid)}
        distance, queue = {start: 0}, deque([start])
        while queue:
            state = queue.popleft()
            for action in (moves.left, moves.right, moves.forward, moves.pickup, moves.toggle):
                restore_state(state)
                _, reward, terminated, truncated, _ = env.step(action)
                if terminated and completed(env, None, reward):
                    return distance[state] + 1
                successor = read_state()
                if successor not in distance and not terminated and not truncated:
                    distance[successor], cells[successor] = distance[state] + 1, env.grid.grid
                    queue.append(successor)
        return None
    finally:
        del env.gen_obs


def _make_rule(completed: CompletionTest, about: str = "", example: str = "") -> GymRule:
    return GymRule(
        render_grid,
        completed,
        optimum=lambda env: count_shortest_solution(env, completed),
        about=about,
        example=example,
        palette="minigrid",
    )


RULES: dict[str, GymRule] = {
    "MiniGrid-Empty-8x8-v0": _make_rule(
        is_on_goal, "An empty room with a goal; also 5x5, 6x6, 16x16, and Random-5x5, Random-6x6 (seed)."
    ),
    "MiniGrid-DoorKey-6x6-v0": _make_rule(
        is_on_goal, "Take the key, unlock the door, reach the goal; also 5x5, 8x8, 16x16 (seed).", "seed=1"
    ),
    "MiniGrid-FourRooms-v0": _make_rule(is_on_goal, "Four rooms with gaps in their walls, 100 actions at most (seed).", "seed=2"),
    "MiniGrid-LavaGapS6-v0": _make_rule(is_on_goal, "Through the gap in a strip of lava; also S5, S7 (seed).", "seed=1"),
    "MiniGrid-Unlock-v0": _make_rule(is_door_open, "Find the key and open the door (seed).", "seed=1"),
    **{
        f"MiniGrid-{name}-v0": _make_rule(is_on_goal)
        for name in (
            *("Empty-5x5", "Empty-6x6", "Empty-16x16", "Empty-Random-5x5", "Empty-Random-6x6"),
            *("DoorKey-5x5", "DoorKey-8x8", "DoorKey-16x16", "LavaGapS5", "LavaGapS7"),
        )
    },
}

SOURCE = GymSource("minigrid", "MiniGrid's rooms, keys, doors and lava, the whole grid at once.", RULES, package="minigrid")
"""The entry point `minigrid`."""
