"""Every demo game, proven on the real engine: shortest solutions, what is to be seen, seeds, resets, animation."""

import copy
import os
import subprocess
import sys
from random import Random

import numpy as np
import pytest
from arcengine import ARCBaseGame, GameState
from demo_games import build, candidates, fork, send, shown, solve, world

from lawbook.core.record import Action, Status
from lawbook.errors import RefusedError
from lawbook.worlds.arcengine_world import ArcGameWorld
from lawbook.worlds.demo import GAMES
from lawbook.worlds.demo.puzzle import CLICK
from lawbook.worlds.process import WorldProcess

LARGE = {"budget", "lights", "mirror", "push"}
"""Their levels have a thousand states and more; all but the first seed are proven among the slow tests."""
SEEDS = [0, 7, 4242]


PROOFS = [
    pytest.param(name, seed, marks=[pytest.mark.slow] if name in LARGE and seed else [], id=f"{name}-{seed}")
    for name in GAMES
    for seed in SEEDS
]


@pytest.mark.parametrize(("name", "seed"), PROOFS)
def test_the_recorded_shortest_solutions_are_the_engines_own(name: str, seed: int) -> None:
    played = world(name, seed)
    played.reset()
    game, ways = played._game, []
    for _ in game.stages:
        way, game = solve(game)
        ways.append(way)
    assert played.spec.baselines == tuple(map(len, ways)) and played.spec.baseline == "optimal"
    assert played.spec.levels == len(ways) >= 3
    for level, way in enumerate(ways):
        for action in way[:-1]:
            seen = played.step(action)
            assert (seen.status, seen.level) == (Status.RUNNING, level) and len(seen.frames) == 1
        seen = played.step(way[-1])
        assert (seen.status, seen.level) == (Status.COMPLETED, level + 1) and len(seen.frames) > 1
    assert seen.level == played.spec.levels


@pytest.mark.parametrize("name", GAMES)
def test_a_fork_is_as_good_as_a_deep_copy(name: str) -> None:
    game, rng = build(name), Random(name)
    for _ in range(60):
        number = rng.choice(game._available_actions)
        action = Action(number, rng.randrange(64), rng.randrange(64)) if number == CLICK else Action(number)
        before, deep, other = shown(game).tobytes(), copy.deepcopy(game), fork(game)
        expected, found = send(deep, action), send(other, action)
        assert expected[1:] == found[1:] and np.array_equal(expected[0], found[0])
        assert (deep.state, deep.level_index) == (other.state, other.level_index) and shown(game).tobytes() == before
        if found[1] is GameState.GAME_OVER:
            send(other, Action(0))
        game = other


@pytest.mark.parametrize("name", GAMES)
def test_seeds_change_layout_and_colours_and_every_level_can_be_solved(name: str) -> None:
    many = 16
    frames, colours, lengths = set(), set(), set()
    for seed in range(many):
        made = world(name, seed)
        first = made.reset().frame
        assert first.shape == (64, 64) and first.max() < 16
        assert made.spec.baselines and all(moves and moves >= (3 if made.spec.clicks else 5) for moves in made.spec.baselines)
        assert made.spec.baselines[0] < made.spec.baselines[-1]
        frames.add(first.tobytes())
        colours.add(frozenset(first.ravel().tolist()))
        lengths.add(made.spec.baselines)
        for _, things in made._game.stages:  # every picture is another one, and stands out from floor and walls
            assert len({picture.tobytes() for picture in things.values()}) == len(things)
            for picture in things.values():
                assert {int(colour) for colour in picture.ravel()} - {-1, made._game.theme.floor, made._game.theme.wall}
    assert len(frames) == many and len(colours) > 5 and (name == "lights" or len(lengths) > many // 2)
    assert np.array_equal(world(name, 3).reset().frame, world(name, 3).reset().frame)


DIGEST = """
import hashlib
from lawbook.worlds.address import WorldAddress, make_world
from lawbook.worlds.demo import GAMES
found = hashlib.sha256()
for name in GAMES:
    for seed in range(2):
        game = make_world(WorldAddress.parse(f"demo:{name}?seed={seed}"))._game
        for level in range(len(game.stages)):
            game.set_level(level)
            found.update(game.camera.render(game.current_level.get_sprites()).tobytes())
print(found.hexdigest())
"""


def test_a_seed_means_the_same_in_every_process() -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", DIGEST], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        )
        for seed in ("1", "2")
    ]
    assert runs[0].stdout == runs[1].stdout


@pytest.mark.parametrize("name", GAMES)
def test_a_reset_brings_the_level_back_and_a_second_one_the_first_level(name: str) -> None:
    made = world(name, 1)
    made.reset()
    for action in solve(made._game)[0]:
        second = made.step(action)
    moved = next(seen for action in candidates(made._game) if (seen := made.step(action)).frame.tobytes() != second.frame.tobytes())
    again = made.reset()
    assert (again.status, again.level) == (Status.RUNNING, 1)
    assert np.array_equal(again.frame, second.frame) and not np.array_equal(moved.frame, second.frame)
    assert made.reset().level == 0  # no action since the level began: the engine restarts the whole game


@pytest.mark.parametrize("name", GAMES)
def test_a_completed_level_blinks(name: str) -> None:
    made = world(name, 0)
    made.reset()
    way = solve(made._game)[0]
    *_, last = [made.step(action) for action in way]
    assert last.status is Status.COMPLETED and len(last.frames) == 4
    done, blink, done_again, following = last.frames
    assert np.array_equal(done, done_again) and not np.array_equal(done, blink)
    assert np.array_equal(following, shown(made._game)) and not np.array_equal(following, done)


def test_clicks_pass_the_process_and_other_actions_do_not() -> None:
    with WorldProcess("demo:lights?seed=2") as played:
        assert (played.spec.actions, played.spec.clicks) == ((CLICK,), (CLICK,))
        first = played.reset().frame
        effects = {played.step(Action(CLICK, x, 40)).frame.tobytes() for x in range(2, 64, 4)}
        assert len(effects) > 1 and first.tobytes() in effects
        with pytest.raises(RefusedError, match="no action 1"):
            played.step(Action(1))


class Redrawn(ARCBaseGame):
    """A game that draws over the frame it has already returned, as some do."""

    def __init__(self) -> None:
        from arcengine import Camera, Level, Sprite

        super().__init__("redrawn", [Level([Sprite([[1]], name="dot")])], Camera(), available_actions=[1])
        self.canvas = np.zeros((64, 64), dtype=np.int8)
        self.camera.render = lambda sprites: self.canvas  # type: ignore[method-assign]

    def step(self) -> None:
        self.canvas += 1
        self.complete_action()


def test_frames_are_copied_on_receipt() -> None:
    made = ArcGameWorld(Redrawn(), world("maze", 0).spec)
    seen = [made.reset(), made.step(Action(1)), made.step(Action(1))]
    assert [int(o.frame[0, 0]) for o in seen] == [1, 2, 3]
    assert all(not o.frame.flags.writeable for o in seen)
