"""`gym:`: CliffWalking and Taxi beside FrozenLake (which test_worlds.py knows), and environments registered from outside."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from lawbook.core.record import Action, Status
from lawbook.errors import UsageError
from lawbook.worlds import gym_grids
from lawbook.worlds.address import WorldAddress, make_world
from lawbook.worlds.process import WorldProcess
from lawbook.worlds.world import World

DOCS = Path(__file__).parents[2] / "docs"
SOUTH, NORTH, EAST, WEST, PICK_UP, SET_DOWN = (Action(number) for number in range(1, 7))
UP, RIGHT, DOWN, LEFT = (Action(number) for number in range(1, 5))


def world(text: str) -> World:
    return make_world(WorldAddress.parse(f"gym:{text}"))


# -- CliffWalking --------------------------------------------------------------------------------------------------------------


def test_the_cliffs_goal_completes_although_it_pays_minus_one_and_thirteen_is_the_shortest_way() -> None:
    played = world("CliffWalking-v1")
    first = played.reset()
    assert first.frame.tolist() == [[0] * 12] * 3 + [[4, *[1] * 10, 2]]
    way = [UP, *[RIGHT] * 11, DOWN]
    seen = [played.step(action) for action in way]
    assert [o.status for o in seen] == [Status.RUNNING] * 12 + [Status.COMPLETED]
    assert seen[-1].level == 1 and seen[-1].frame[3, 11] == gym_grids.AVATAR
    assert played.spec.baselines == (len(way),)
    env = gymnasium.make("CliffWalking-v1")
    env.reset(seed=0)
    assert {env.step(action.id - 1)[1] for action in way} == {-1}


def test_who_falls_off_the_cliff_stands_at_the_start_and_nothing_is_over() -> None:
    played = world("CliffWalking-v1")
    first = played.reset()
    fallen = played.step(RIGHT)
    assert fallen.status is Status.RUNNING and np.array_equal(fallen.frame, first.frame)
    assert played.step(UP).frame[2, 0] == gym_grids.AVATAR


# -- Taxi -----------------------------------------------------------------------------------------------------------------------


def test_the_taxis_picture_tells_all_there_is_and_its_walls_are_the_real_ones() -> None:
    env = gymnasium.make("Taxi-v4").unwrapped
    env.reset(seed=0)
    view = gym_grids.RULES["Taxi-v4"].view
    pictures = {}
    for state in range(500):
        row, column, passenger, destination = env.decode(state)
        if passenger == destination:
            continue  # he is where he wants to be: the ride is over
        grid = np.asarray(view(env, state))
        assert grid.shape == (7, 11)
        pictures[grid.tobytes()] = state
        for action, (down, right) in enumerate([(1, 0), (-1, 0), (0, 1), (0, -1)]):
            ((_, after, _, _),) = env.P[state][action]
            wall = grid[1 + row + down, 1 + 2 * column + right] == gym_grids.WALL
            assert (env.decode(after)[:2] == (row, column)) == wall
    assert len(pictures) == 400  # no two states look the same


def distances(grid: np.ndarray, start: tuple[int, int]) -> dict[tuple[int, int], int]:
    """Fewest moves over the picture alone: a step down or up, two to the side past what is no wall."""
    found, queue = {start: 0}, deque([start])
    while queue:
        row, column = queue.popleft()
        for down, right in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            new = (row + down, column + 2 * right)
            if grid[row + down, column + right] != gym_grids.WALL and new not in found:
                found[new] = found[row, column] + 1
                queue.append(new)
    return found


def way(grid: np.ndarray, start: tuple[int, int], end: tuple[int, int]) -> list[Action]:
    """A shortest way, walked back from its end."""
    left = distances(grid, end)
    actions, (row, column) = [], start
    while (row, column) != end:
        for action, (down, right) in zip((SOUTH, NORTH, EAST, WEST), ((1, 0), (-1, 0), (0, 1), (0, -1)), strict=True):
            new = (row + down, column + 2 * right)
            if grid[row + down, column + right] != gym_grids.WALL and left.get(new, 99) == left[row, column] - 1:
                actions.append(action)
                row, column = new
                break
    return actions


def place(grid: np.ndarray, *codes: int) -> tuple[int, int]:
    ((row, column),) = np.argwhere(np.isin(grid, codes))
    return int(row), int(column)


def test_twenty_rides_end_where_the_passenger_wants_to_be_in_the_fewest_actions() -> None:
    starts = set()
    for seed in range(20):
        played = world(f"Taxi-v4?seed={seed}")
        first = played.reset().frame
        starts.add(first.tobytes())
        assert np.array_equal(played.reset().frame, first)  # a reset repeats its seed
        taxi = place(first, *range(gym_grids.TAXI, gym_grids.TAXI + 5))
        passenger = place(first, gym_grids.PASSENGER, gym_grids.PASSENGER + gym_grids.TAXI)
        goal = place(first, gym_grids.DESTINATION, gym_grids.DESTINATION + gym_grids.TAXI)
        plan = [*way(first, taxi, passenger), PICK_UP, *way(first, passenger, goal), SET_DOWN]
        assert played.spec.baselines == (len(plan),)
        seen = [played.step(action) for action in plan]
        assert [o.status for o in seen] == [Status.RUNNING] * (len(plan) - 1) + [Status.COMPLETED]
        riding = [o.frame for o in seen[plan.index(PICK_UP) : -1]]
        assert all((frame >= gym_grids.LADEN).sum() == 1 and not (frame == gym_grids.PASSENGER).any() for frame in riding)
    assert len(starts) > 15


def test_a_ride_is_truncated_after_gymnasiums_two_hundred_actions_and_not_over() -> None:
    played = world("Taxi-v4")
    played.reset()
    seen = [played.step(SET_DOWN) for _ in range(200)]  # nobody is in the taxi: it pays -10 and changes nothing
    assert {o.status for o in seen[:-1]} == {Status.RUNNING} and seen[-1].status is Status.TRUNCATED


def test_the_seed_is_what_a_slippery_lake_slips_by() -> None:
    def slide(seed: int) -> list[bytes]:
        played = world(f"FrozenLake-v1?is_slippery=true&seed={seed}")
        seen = [played.reset()]
        while seen[-1].status is Status.RUNNING:
            seen.append(played.step(Action(3)))
        return [o.frame.tobytes() for o in seen]

    assert slide(1) == slide(1)
    assert len({tuple(slide(seed)) for seed in range(6)}) > 1


# -- others ---------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def rules() -> Iterator[dict[str, gym_grids.GymRule]]:
    before = dict(gym_grids.RULES)
    yield gym_grids.RULES
    gym_grids.RULES.clear()
    gym_grids.RULES.update(before)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("CartPole-v1", r"Gymnasium has CartPole-v1, but nobody has said.*five lines.*play py:yourmodule:SOURCE/CartPole-v1"),
        ("Taxi-v3", "Did you mean 'Taxi-v4'"),
        ("Elsewhere-v0", "There is no world gym:Elsewhere-v0"),
        ("Taxi-v4?seed=-1", "whole number"),
        ("CliffWalking-v1?is_slippery=true", "no option 'is_slippery'. It takes: seed"),
    ],
)
def test_what_is_not_there_is_a_sentence(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        world(name)


@pytest.mark.parametrize("name", ["Taxi-v4?seed=5", "CliffWalking-v1", "FrozenLake-v1?is_slippery=true&seed=3"])
def test_one_history_has_one_outcome(name: str) -> None:
    dice = np.random.default_rng(1)
    played, twin = world(name), world(name)
    plan = [Action(int(number)) for number in dice.choice(played.spec.actions, size=120)]

    def play(world: World) -> list[tuple[Status, bytes]]:
        seen = [world.reset()]
        for action in plan:
            seen.append(world.step(action) if seen[-1].status is Status.RUNNING else world.reset())
        return [(o.status, o.frame.tobytes()) for o in seen]

    history = play(played)
    assert play(twin) == history and play(played) == history and len(set(history)) > 5


def test_an_environment_without_discrete_actions_is_no_world(rules: dict[str, gym_grids.GymRule]) -> None:
    gym_grids.register("Pendulum-v1", view=lambda env, state: [[0]], completed=lambda env, state, reward: False)
    with pytest.raises(UsageError, match="no discrete actions"):
        world("Pendulum-v1")


def test_the_five_lines_of_the_docs_make_a_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DOCS / "worlds.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n# (\w+)\.py\n(.*?)```.*?`lawbook play py:\1:SOURCE/([\w-]+)", text, re.DOTALL)
    assert found is not None
    module, lines, name = found.groups()
    assert len([line for line in lines.splitlines() if line.strip()]) == 5
    (tmp_path / f"{module}.py").write_text(lines, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with WorldProcess(f"py:{module}:SOURCE/{name}") as played:
        first = played.reset()
        assert first.frame.sum() > 0 and len(np.unique(first.frame)) > 1
        seen = first
        for number in [1, *[2] * 11, 3]:
            assert seen.status is Status.RUNNING
            seen = played.step(Action(number))
        assert seen.status is Status.COMPLETED and not np.array_equal(seen.frame, first.frame)
