"""The demo games, proven on the real engine: shortest solutions, hazards, twins, resets, animation."""

import copy
from collections import deque
from random import Random

import numpy as np
import pytest
from arcengine import ActionInput, ARCBaseGame, GameAction, GameState

from lawbook.record import Action, Status
from lawbook.worlds.address import WorldAddress, make
from lawbook.worlds.arcgame import ArcGameWorld
from lawbook.worlds.demo import maze, twins
from lawbook.worlds.demo.board import BLOCK, MOVES, SIDE, STRIP, cells

MODULES = {"maze": maze, "twins": twins}


def world(name: str, seed: int) -> ArcGameWorld:
    made = make(WorldAddress.parse(f"demo:{name}?seed={seed}"))
    assert isinstance(made, ArcGameWorld)
    return made


def send(game: ARCBaseGame, number: int) -> tuple[ARCBaseGame, bytes, GameState, int]:
    """What a copy of the game becomes by one action: (copy, settled frame, state, completed levels)."""
    shared = {id(game._clean_levels): game._clean_levels}  # never changed, so not worth copying
    after = copy.deepcopy(game, shared)
    answer = after.perform_action(ActionInput(id=GameAction.from_id(number)), raw=True)
    return after, answer.frame[-1].tobytes(), answer.state, answer.levels_completed


def solve(game: ARCBaseGame, level: int) -> tuple[list[int], ARCBaseGame]:
    """Breadth-first over the real engine, states told apart by what they show: the shortest solution, and the game after it."""
    seen = {game.camera.render(game.current_level.get_sprites()).tobytes()}
    queue: deque[tuple[ARCBaseGame, list[int]]] = deque([(game, [])])
    while queue:
        here, way = queue.popleft()
        for number in MOVES:
            after, shown, state, completed = send(here, number)
            if completed > level:
                return [*way, number], after
            if shown not in seen and state is not GameState.GAME_OVER:
                seen.add(shown)
                queue.append((after, [*way, number]))
    raise AssertionError(f"level {level} has no solution")


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("seed", [0, 7, 4242])
def test_the_recorded_shortest_solutions_are_the_engines_own(name, seed):
    played = world(name, seed)
    played.reset()
    game, ways = played._game, []
    for level in range(len(game._levels)):
        way, game = solve(game, level)
        ways.append(way)
    assert played.spec.baselines == tuple(len(way) for way in ways) and played.spec.baseline == "optimal"
    assert len(ways) >= 3
    for level, way in enumerate(ways):
        for number in way[:-1]:
            seen = played.step(Action(number))
            assert (seen.status, seen.level) == (Status.RUNNING, level) and len(seen.frames) == 1
        seen = played.step(Action(way[-1]))
        assert (seen.status, seen.level) == (Status.COMPLETED, level + 1) and len(seen.frames) > 1
    assert seen.level == played.spec.levels


def walk(name: str, seed: int, level: int, target: str) -> tuple[ArcGameWorld, list[Action]]:
    """A world at the start of `level`, and a way to a block with the letter `target` that enters no other thing on its way."""
    made = world(name, seed)
    made.reset()
    for number in range(level):
        for step in solve(made._game, number)[0]:
            made.step(Action(step))
    board = letters(made._game)
    (start,) = cells(board, "@")
    ways = {start: []}
    queue = deque([start])
    while queue:
        cell = queue.popleft()
        for number, (down, right) in MOVES.items():
            new = cell[0] + down, cell[1] + right
            if new in ways:
                continue
            if board[new[0]][new[1]] == target:
                return made, [*ways[cell], Action(number)]
            if board[new[0]][new[1]] == ".":
                ways[new] = [*ways[cell], Action(number)]
                queue.append(new)
    raise AssertionError(f"no way to {target!r}")


def letters(game: ARCBaseGame) -> list[list[str]]:
    """The board as its sprites stand now."""
    board = [["."] * SIDE for _ in range(SIDE)]
    for sprite in game.current_level.get_sprites():
        if sprite.name == "walls":
            for row in range(SIDE):
                for column in range(SIDE):
                    if sprite.pixels[row * BLOCK, column * BLOCK] >= 0:
                        board[row][column] = "#"
        elif sprite.name != "strip":
            board[(sprite.y - STRIP) // BLOCK][sprite.x // BLOCK] = "@" if sprite.name == "avatar" else sprite.name
    return board


def test_a_hazard_is_game_over_and_a_reset_brings_the_same_level_back():
    made, way = walk("maze", 0, 1, maze.HAZARD)
    before = made._game.camera.render(made._game.current_level.get_sprites())
    for action in way[:-1]:
        assert made.step(action).status is Status.RUNNING
    over = made.step(way[-1])
    assert (over.status, over.level) == (Status.OVER, 1)
    again = made.reset()
    assert (again.status, again.level) == (Status.RUNNING, 1) and np.array_equal(again.frame, before)
    assert made.reset().level == 0  # no action since the level began: the engine restarts the whole game


@pytest.mark.parametrize("seed", [0, 1])
def test_the_wrong_twin_is_harmless_and_looks_untouched_afterwards(seed):
    made, way = walk("twins", seed, 1, twins.WRONG)
    for action in way:
        seen = made.step(action)
        assert (seen.status, seen.level, len(seen.frames)) == (Status.RUNNING, 1, 1)
    back = Action({1: 2, 2: 1, 3: 4, 4: 3}[way[-1].id])
    off = made.step(back)
    assert np.array_equal(made.step(way[-1]).frame, seen.frame) and np.array_equal(made.step(back).frame, off.frame)


def test_only_a_deliberate_test_tells_the_twins_apart():
    """The first pad fits two rules; afterwards exactly one of them holds, in every level the same; over the seeds both occur."""
    counts = set()
    for seed in range(12):
        game, _ = twins.build(Random(f"twins:{seed}"))
        first, *others = game._clean_levels
        floor = game.camera.background
        (pad,) = first.get_sprites_by_name(twins.RIGHT)
        assert not first.get_sprites_by_name(twins.WRONG)
        colour, shape = features(pad.pixels, floor)
        rules = set()
        for level in others:
            (right,), (wrong,) = level.get_sprites_by_name(twins.RIGHT), level.get_sprites_by_name(twins.WRONG)
            agree = [(c == colour, s == shape) for c, s in (features(right.pixels, floor), features(wrong.pixels, floor))]
            assert sorted(agree) == [(False, True), (True, False)]
            rules.add("colour" if agree[0][0] else "shape")
        assert len(rules) == 1
        counts |= rules
    assert counts == {"colour", "shape"}


def test_no_shape_is_another_one_turned_or_mirrored():
    shapes = [twins.picture(shape, {"p": 1, "f": 0}) for shape in twins.SHAPES]
    looks = [{np.rot90(s, k).tobytes() for s in (shape, shape.T) for k in range(4)} for shape in shapes]
    assert len(set.union(*looks)) == sum(map(len, looks))


def features(pixels: np.ndarray, floor: int) -> tuple[int, bytes]:
    (colour,) = {int(c) for c in pixels.ravel()} - {floor}
    return colour, (pixels != floor).tobytes()


@pytest.mark.parametrize("seed", range(12))
def test_in_every_game_the_nearer_pad_is_sometimes_right_and_sometimes_wrong(seed):
    nearer = []
    for board in twins.boards(Random(seed))[1:]:
        reached = twins.distances(board, cells(board, "@")[0])
        nearer.append(reached[cells(board, twins.RIGHT)[0]] < reached[cells(board, twins.WRONG)[0]])
    assert set(nearer) == {True, False}


@pytest.mark.parametrize("name", MODULES)
def test_seeds_change_layout_and_colours_and_every_level_can_be_solved(name):
    frames, colours = set(), set()
    for seed in range(40):
        made = world(name, seed)
        first = made.reset().frame
        assert first.shape == (64, 64) and first.max() < 16
        assert all(moves and moves >= 5 for moves in made.spec.baselines or ())
        frames.add(first.tobytes())
        colours.add(frozenset(first.ravel().tolist()))
    assert len(frames) == 40 and len(colours) > 10
    assert np.array_equal(world(name, 3).reset().frame, world(name, 3).reset().frame)


def test_walls_stop_and_the_animation_is_kept_whole():
    made, way = walk("maze", 0, 0, maze.EXIT)
    first = made.reset().frame
    board = letters(made._game)
    (cell,) = cells(board, "@")
    for number, (down, right) in MOVES.items():
        if board[cell[0] + down][cell[1] + right] == "#":
            seen = made.step(Action(number))
            assert np.array_equal(seen.frame, first) and len(seen.frames) == 1
    assert len(way) == (made.spec.baselines or ())[0]
    *_, last = [made.step(action) for action in way]
    assert last.status is Status.COMPLETED and len(last.frames) == 4
    on_exit, blink, on_exit_again, following = last.frames
    assert np.array_equal(on_exit, on_exit_again) and not np.array_equal(on_exit, blink)
    assert np.array_equal(following, made._game.camera.render(made._game.current_level.get_sprites()))


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


def test_frames_are_copied_on_receipt():
    made = ArcGameWorld(Redrawn(), world("maze", 0).spec)
    seen = [made.reset(), made.step(Action(1)), made.step(Action(1))]
    assert [int(o.frame[0, 0]) for o in seen] == [1, 2, 3]
    assert all(not o.frame.flags.writeable for o in seen)
