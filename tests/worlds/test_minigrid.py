"""`minigrid:`: the whole grid in one code a cell, missions completed by their own rules, baselines that are shortest."""

from __future__ import annotations

from collections import deque
from copy import deepcopy
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from minigrid.core.constants import COLOR_TO_IDX, OBJECT_TO_IDX, STATE_TO_IDX
from minigrid.wrappers import FullyObsWrapper

from lawbook.core.record import Action, Status
from lawbook.errors import UsageError
from lawbook.worlds.address import WorldAddress, load_world_source, make_world
from lawbook.worlds.minigrid import RULES, count_shortest_solution, encode_cells, render_grid
from lawbook.worlds.process import WorldProcess
from lawbook.worlds.world import World

LEFT, RIGHT, FORWARD, PICK_UP, DROP, TOGGLE, DONE = (Action(number) for number in range(1, 8))
EMPTY, GOAL = 0, 172


def world(name: str) -> World:
    return make_world(WorldAddress.parse(f"minigrid:MiniGrid-{name}"))


def of(thing: str, colour: str, state: str | int = 0) -> int:
    """The code of a thing, by MiniGrid's own words."""
    number = STATE_TO_IDX[state] if isinstance(state, str) else state
    return int(encode_cells(np.array([OBJECT_TO_IDX[thing], COLOR_TO_IDX[colour], number], dtype=np.uint8)))


def agent(frame: np.ndarray) -> tuple[int, int, int]:
    """(row, column, direction) of the agent."""
    ((row, column),) = np.argwhere((frame >= 216) & (frame < 220))
    return int(row), int(column), int(frame[row, column]) - 216


def test_no_two_kinds_of_cell_have_one_code() -> None:
    kinds = np.array([(o, c, s) for o in range(1, 11) for c in range(6) for s in range(4)], dtype=np.uint8)
    assert sorted(encode_cells(kinds).tolist()) == list(range(240))
    assert of("empty", "red") == EMPTY and of("goal", "green") == GOAL


@pytest.mark.parametrize("name", list(RULES))
def test_the_frame_is_the_fully_observed_grid(name: str) -> None:
    env = FullyObsWrapper(gymnasium.make(name, disable_env_checker=True))
    observation, _ = env.reset(seed=5)
    dice = np.random.default_rng(0)
    for _ in range(20):
        assert np.array_equal(render_grid(env.unwrapped, None), encode_cells(observation["image"]).T)
        observation, _, terminated, truncated, _ = env.step(int(dice.integers(7)))
        if terminated or truncated:
            break


@pytest.mark.parametrize("name", ["Empty-8x8-v0", "DoorKey-6x6-v0", "FourRooms-v0", "LavaGapS6-v0", "Unlock-v0"])
def test_seeds_make_starts_and_resets_repeat_them(name: str) -> None:
    starts = set()
    for seed in range(8):
        played = world(f"{name}?seed={seed}")
        first = played.reset().frame
        played.step(LEFT)
        assert np.array_equal(played.reset().frame, first)
        assert played.spec.actions == (1, 2, 3, 4, 5, 6, 7) and played.spec.clicks == ()
        starts.add(first.tobytes())
    assert (len(starts) == 1) == (name == "Empty-8x8-v0")  # that one leaves nothing to chance


def test_turning_shows_and_walking_follows_it() -> None:
    played = world("Empty-8x8-v0")
    seen = [agent(played.reset().frame)]
    seen += [agent(played.step(action).frame) for action in (FORWARD, RIGHT, FORWARD, LEFT, LEFT, FORWARD, DONE)]
    assert seen == [(1, 1, 0), (1, 2, 0), (1, 2, 1), (2, 2, 1), (2, 2, 0), (2, 2, 3), (1, 2, 3), (1, 2, 3)]


def test_the_goal_completes_and_the_baseline_is_what_it_takes() -> None:
    played = world("Empty-8x8-v0")
    assert played.spec.baselines == (11,)
    assert played.reset().frame[6, 6] == GOAL
    seen = [played.step(action) for action in [FORWARD] * 5 + [RIGHT] + [FORWARD] * 5]
    assert [o.status for o in seen] == [Status.RUNNING] * 10 + [Status.COMPLETED]
    assert agent(seen[-1].frame)[:2] == (6, 6) and seen[-1].level == 1


def test_lava_is_over_and_no_completion() -> None:
    played = world("LavaGapS5-v0?seed=1")
    lava = of("lava", "red")
    frame = played.reset().frame
    row = next(row for row in (1, 2, 3) if frame[row, 2] == lava)
    for action in [RIGHT] + [FORWARD] * (row - 1) + [LEFT]:
        assert played.step(action).status is Status.RUNNING
    fallen = played.step(FORWARD)
    assert fallen.status is Status.OVER and fallen.level == 0
    assert np.array_equal(played.reset().frame, frame)


def test_time_runs_out_as_a_truncation() -> None:
    played = world("Empty-5x5-v0")
    played.reset()
    seen = [played.step(DONE) for _ in range(100)]
    assert {o.status for o in seen[:-1]} == {Status.RUNNING} and seen[-1].status is Status.TRUNCATED


def search(env: Any, limit: int = 60) -> list[int]:
    """A shortest way to a termination with a reward, breadth-first over copies of the whole environment, with all its actions."""

    def key(env: Any) -> tuple[Any, ...]:
        return (env.hash(), env.carrying and (env.carrying.type, env.carrying.color))

    ways, queue = {key(env): []}, deque([env])
    while queue:
        here = queue.popleft()
        way = ways[key(here)]
        for action in range(7):
            there = deepcopy(here)
            _, reward, terminated, _, _ = there.step(action)
            if terminated and reward > 0:
                return [*way, action]
            if not terminated and key(there) not in ways and len(way) < limit:
                ways[key(there)] = [*way, action]
                queue.append(there)
    raise AssertionError("no way")


@pytest.mark.parametrize(
    "name", ["DoorKey-5x5-v0?seed=0", "DoorKey-5x5-v0?seed=1", "LavaGapS5-v0?seed=2", "Empty-Random-5x5-v0?seed=3"]
)
def test_no_way_is_shorter_than_the_baseline_and_it_is_played(name: str) -> None:
    """Against a search that knows nothing of which actions help: MiniGrid's own reward says when its mission is done."""
    env_id, _, seed = name.partition("?seed=")
    env = gymnasium.make(f"MiniGrid-{env_id}", disable_env_checker=True).unwrapped
    env.reset(seed=int(seed))
    plan = search(env)
    played = world(name)
    assert played.spec.baselines == (len(plan),)
    played.reset()
    seen = [played.step(Action(action + 1)) for action in plan]
    assert [o.status for o in seen] == [Status.RUNNING] * (len(plan) - 1) + [Status.COMPLETED]


def test_the_search_for_a_baseline_leaves_no_trace() -> None:
    env = gymnasium.make("MiniGrid-DoorKey-6x6-v0", disable_env_checker=True).unwrapped
    env.reset(seed=4)
    assert count_shortest_solution(env, RULES["MiniGrid-DoorKey-6x6-v0"].completed) is not None
    observation, _ = env.reset(seed=4)
    assert observation["image"].shape == (7, 7, 3)  # what the agent sees is there again
    env.max_steps = 3
    assert count_shortest_solution(env, RULES["MiniGrid-DoorKey-6x6-v0"].completed) is None  # no way in that time


def test_a_key_leaves_the_grid_when_it_is_taken_and_a_door_shows_its_state() -> None:
    env = gymnasium.make("MiniGrid-Unlock-v0", disable_env_checker=True).unwrapped
    env.reset(seed=1)
    colour = env.door.color
    played = world("Unlock-v0?seed=1")
    first = played.reset().frame
    assert (first == of("key", colour)).sum() == 1 and (first == of("door", colour, "locked")).sum() == 1
    plan = search(env)
    seen = [played.step(Action(action + 1)) for action in plan]
    taken = plan.index(PICK_UP.id - 1)
    assert (seen[taken].frame == of("key", colour)).sum() == 0
    assert {o.status for o in seen[:-1]} == {Status.RUNNING} and seen[-1].status is Status.COMPLETED
    assert plan[-1] == TOGGLE.id - 1 and (seen[-1].frame == of("door", colour, "open")).sum() == 1
    assert played.spec.baselines == (len(plan),)


@pytest.mark.parametrize("name", ["DoorKey-6x6-v0?seed=1", "FourRooms-v0?seed=2", "LavaGapS6-v0?seed=1", "Unlock-v0?seed=1"])
def test_one_history_has_one_outcome(name: str) -> None:
    dice = np.random.default_rng(1)
    plan = [Action(int(number)) for number in dice.integers(1, 8, size=150)]

    def play() -> list[tuple[Status, bytes]]:
        played = world(name)
        seen = [played.reset()]
        for action in plan:
            seen.append(played.step(action) if seen[-1].status is Status.RUNNING else played.reset())
        return [(o.status, o.frame.tobytes()) for o in seen]

    assert play() == play() and len(set(play())) > 5


def test_a_missing_package_names_the_extra_that_brings_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "minigrid.py").write_text("raise ModuleNotFoundError('No module', name='minigrid')")
    monkeypatch.syspath_prepend(tmp_path)  # the child imports what we would import
    with pytest.raises(UsageError, match=r"minigrid.*pip install 'lawbook\[minigrid\]'"):
        WorldProcess("minigrid:MiniGrid-Unlock-v0")


def test_in_its_own_process_and_by_the_list() -> None:
    names = [name for name, about in load_world_source("minigrid").names() if about]  # type: ignore[attr-defined]
    assert len(names) == 5
    with WorldProcess(f"minigrid:{names[1]}") as played:
        assert played.spec.palette == "minigrid" and played.reset().frame.shape == played.spec.shape == (6, 6)
    for name, says in [("Unlocked-v0", "Did you mean 'MiniGrid-Unlock-v0'"), ("Fetch-5x5-N2-v0", "nobody has said")]:
        with pytest.raises(UsageError, match=says):
            world(name)
