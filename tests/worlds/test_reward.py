"""What a world pays: through its process, into the ledger, into the record, out as a recording and back; nothing where it is 0."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lawbook.cli import main
from lawbook.core.record import RESET, Action, Observation, Record, Status, freeze
from lawbook.errors import UsageError, WorldError
from lawbook.ledger.codec import decode, encode
from lawbook.ledger.contents import load_observation, store_observation
from lawbook.ledger.events import EventKind, ObserveEvent
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import list_runs
from lawbook.worlds.process import WorldProcess
from lawbook.worlds.recorded_world import describe_replay_difference
from lawbook.worlds.world import WorldSpec, pack_spec

DOCS = Path(__file__).resolve().parents[2] / "docs"
PLAY = ("--mind", "random", "--protocol", "vanilla")
PAYS = "py:scored_worlds:SOURCE/pays"
LAKE = "FrozenLake-v1?map_seed=7&size=4"


def observation(reward: float = 0.0) -> Observation:
    return Observation((freeze([[1, 2]]),), Status.RUNNING, 0, (1, 2), reward)


def test_a_world_pays_through_its_own_process() -> None:
    with WorldProcess(PAYS) as world:
        assert world.reset().reward == 0.0
        assert [world.step(Action(number)).reward for number in (1, 2, 1)] == [0.0, -1.5, 0.0]
    with WorldProcess("py:scored_worlds:SOURCE/pays-numpy") as world:
        world.reset()
        assert world.step(Action(2)).reward == 2.0


def test_a_reward_that_is_no_number_breaks_the_interface() -> None:
    with WorldProcess("py:scored_worlds:SOURCE/pays-nan") as world:
        world.reset()
        with pytest.raises(WorldError, match=r"broke its interface \(a reward of nan\)"):
            world.step(Action(2))


def test_the_frames_of_an_emulator_can_be_counted() -> None:
    with WorldProcess(PAYS) as world:
        assert (world.spec.frameskip, world.spec.opening) == (2, 3)
        assert world.spec.count_frames(steps=100, starts=4) == 212
    with WorldProcess("demo:maze") as world:
        assert world.spec.count_frames(steps=100, starts=4) == 100


def test_an_opening_says_frames_only_where_there_are_any_to_say() -> None:
    grid = WorldSpec(shape=(1, 2), actions=(1, 2))
    packed = pack_spec(grid)
    assert "frameskip" not in packed and "opening" not in packed and WorldSpec(**packed) == grid
    for fields in ({"frameskip": 4}, {"opening": 7}, {"frameskip": 4, "opening": 7}):
        packed = pack_spec(replace(grid, **fields))
        assert {name: packed[name] for name in ("frameskip", "opening") if name in packed} == fields
        assert WorldSpec(**packed) == replace(grid, **fields)


def test_the_ledger_keeps_a_reward_and_a_body_without_one_is_as_it_was(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "ledger.sqlite") as ledger:
        plain, paid = (encode(store_observation(ledger, observation(reward), Action(1), 0)) for reward in (0.0, -1.5))
        assert list(plain) == ["trajectory", "action", "frames", "status", "level", "available"]
        assert paid == {**plain, "reward": -1.5}
        events = [decode(EventKind.OBSERVE, body) for body in (plain, paid)]
        assert [load_observation(ledger, event).reward for event in events if isinstance(event, ObserveEvent)] == [0.0, -1.5]
        with pytest.raises(UsageError, match="cannot be read"):
            decode(EventKind.OBSERVE, {**plain, "reward": "much"})


def test_the_record_keeps_rewards_and_a_trajectory_begins_without_one() -> None:
    record = Record(levels=2)
    record.extend(None, observation())
    record.extend(Action(1), observation(3.0))
    record.extend(Action(2), Observation((freeze([[3, 4]]),), Status.COMPLETED, 1, (1, 2), 5.0))
    assert [seen.reward for _, seen in record.trajectories[0].steps] == [3.0, 5.0]
    assert len(record) == 2 and record.current.first.reward == 0.0


def test_a_world_that_pays_otherwise_is_not_the_one_on_record() -> None:
    with WorldProcess(PAYS) as world:
        shown = [(None, world.reset()), (Action(2), world.step(Action(2))), (RESET, world.reset())]
    with WorldProcess(PAYS) as world:
        assert describe_replay_difference(world, shown) is None
    history = [shown[0], (Action(2), Observation(shown[1][1].frames, Status.RUNNING, 0, (1, 2)))]
    with WorldProcess(PAYS) as world:
        assert describe_replay_difference(world, history) == "after action 1 it shows reward -1.5, and 0.0 is on record"


def test_a_run_keeps_what_was_paid_and_so_do_its_recording_and_its_resumption(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def bodies(folder: Path) -> list[tuple[object, float]]:
        with Ledger.open(folder / "ledger.sqlite", readonly=True) as ledger:
            return [(event.body["action"], event.body.get("reward", 0.0)) for event in ledger.read_events([EventKind.OBSERVE])]

    out, again = tmp_path / "runs", tmp_path / "again"
    assert main.main(["play", PAYS, *PLAY, "--plain", "--budget", "30", "--out", str(out)]) in (0, 1)
    (ours,) = list_runs(out)
    paid = bodies(ours.path)
    assert {tuple(action or ()): reward for action, reward in paid if action} == {(1,): 0.0, (2,): -1.5}
    recording = tmp_path / "a.jsonl"
    assert main.main(["export", str(ours.path), "-o", str(recording)]) == 0
    lines = [json.loads(line)["data"] for line in recording.read_text().splitlines()]
    assert [line.get("reward") for line in lines] == [reward or None for _, reward in paid]
    assert main.main(["import", str(recording), *PLAY, "--budget", "5", "--out", str(again)]) == 0
    (theirs,) = list_runs(again)
    assert bodies(theirs.path) == paid
    assert main.main(["play", "--resume", str(theirs.path), "--plain"]) in (0, 1), capsys.readouterr().err
    assert bodies(theirs.path)[: len(paid)] == paid and len(bodies(theirs.path)) > len(paid)
    assert main.main(["audit", str(theirs.path), "--strict"]) == 0, capsys.readouterr().out


# -- Gymnasium ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("address", "goal"), [(f"gym:{LAKE}", 0.0), (f"py:scored_worlds:SOURCE/{LAKE}", 1.0)])
def test_a_rule_that_is_scored_passes_gymnasiums_reward_on_and_no_other_does(address: str, goal: float) -> None:
    with WorldProcess(address) as world:
        first = world.reset()
        way = shortest(first.frame)
        seen = [world.step(action) for action in way]
    assert [o.reward for o in seen] == [0.0] * (len(way) - 1) + [goal]
    assert seen[-1].status is Status.COMPLETED


def shortest(lake: np.ndarray) -> list[Action]:
    """A way over the frozen cells (0) from the avatar (4) to the goal (2), breadth first."""
    moves = {1: (0, -1), 2: (1, 0), 3: (0, 1), 4: (-1, 0)}
    ((row, column),) = np.argwhere(lake == 4)
    ways: dict[tuple[int, int], list[Action]] = {(int(row), int(column)): []}
    queue = list(ways)
    for here in queue:
        for number, (down, right) in moves.items():
            there = here[0] + down, here[1] + right
            if not (0 <= there[0] < len(lake) and 0 <= there[1] < len(lake)) or lake[there] == 1 or there in ways:
                continue
            ways[there] = [*ways[here], Action(number)]
            queue.append(there)
            if lake[there] == 2:
                return ways[there]
    raise AssertionError("no way")


def test_the_pole_of_the_docs_is_drawn_and_pays_one_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DOCS / "worlds.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n# poles\.py\n(.*?)```", text, re.DOTALL)
    assert found is not None
    (tmp_path / "poles.py").write_text(found[1], encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with WorldProcess("py:poles:SOURCE/CartPole-v1?seed=3") as world:
        seen = [world.reset()]
        while seen[-1].status is Status.RUNNING:
            seen.append(world.step(Action(1)))
        assert seen[-1].status is Status.OVER and 5 < len(seen) < 20
        assert [o.reward for o in seen] == [0.0] + [1.0] * (len(seen) - 1)
        pictures = {o.frame.tobytes() for o in seen}
        assert len(pictures) > 3 and all(len(np.unique(o.frame)) > 1 for o in seen)
        assert np.array_equal(world.reset().frame, seen[0].frame)
