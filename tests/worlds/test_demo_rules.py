"""The rules of each demo game, on boards small enough to read; and what the drawn ones promise."""

from collections.abc import Hashable
from random import Random
from typing import Any

import numpy as np
import pytest
from arcengine import GameState
from demo_games import build, send, shown, solve, world

from lawbook.core.record import Action, Status
from lawbook.worlds.demo import budget, fog, keys, lights, mirror, push, twins
from lawbook.worlds.demo.board import DOWN, LEFT, MOVES, RIGHT, UP, compute_distances, find_cells
from lawbook.worlds.demo.look import BLOCK, STRIP, parse_picture
from lawbook.worlds.demo.puzzle import CLICK, Puzzle, PuzzleGame, PuzzleStage, WalkPuzzle, count_fewest_moves, explore

TO = {"u": UP, "d": DOWN, "l": LEFT, "r": RIGHT}


def board(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def after[S: Hashable](puzzle: Puzzle[S], moves: str) -> S:
    """The state after moves such as `rrd`."""
    state = puzzle.start
    for letter in moves:
        assert not puzzle.is_won(state) and not puzzle.is_lost(state)
        state = puzzle.step(state, TO[letter])
    return state


def scene(puzzle: Puzzle[Any], moves: str = "") -> set[tuple[str, tuple[int, int]]]:
    return set(puzzle.list_sprites(after(puzzle, moves)))


# -- searching -------------------------------------------------------------------------------------


def test_what_is_won_or_lost_has_nothing_after_it() -> None:
    class Both(WalkPuzzle):
        goal, hazard = "E", "X"

    row = Both(board("###### #E@.X# ######"))
    assert list(explore(row)) == [((1, 2), 0), ((1, 1), 1), ((1, 3), 1), ((1, 4), 2)]
    assert count_fewest_moves(row) == 1 and count_fewest_moves(Both(board("##### #EX@# #####"))) is None


# -- keys ------------------------------------------------------------------------------------------

LOCKED = board("######## #a@A.XE# ########")


def test_a_door_stops_until_its_key_is_held() -> None:
    puzzle = keys.KeysPuzzle(LOCKED)
    assert after(puzzle, "r") == puzzle.start
    assert after(puzzle, "lrr") == ((1, 3), {(1, 1), (1, 3)})
    assert puzzle.is_lost(after(puzzle, "lrrrr")) and not puzzle.is_lost(after(puzzle, "lrrr"))
    assert count_fewest_moves(puzzle) is None and count_fewest_moves(keys.KeysPuzzle(board("###### #a@AE# ######"))) == 4


def test_keys_are_shown_where_they_lie_then_in_the_strip_and_open_doors_are_gone() -> None:
    puzzle = keys.KeysPuzzle(LOCKED)
    assert {("a", (1, 1)), ("A", (1, 3)), ("E", (1, 6)), ("X", (1, 5)), ("avatar", (1, 2))} == scene(puzzle)
    assert scene(puzzle, "l") - scene(puzzle) == {("a", (-1, 7)), ("avatar", (1, 1))}
    assert scene(puzzle, "lrrr") == {("a", (-1, 7)), ("E", (1, 6)), ("X", (1, 5)), ("avatar", (1, 4))}


@pytest.mark.parametrize("seed", range(4))
def test_no_door_can_be_done_without(seed: int) -> None:
    for puzzle, _ in build("keys", seed).stages:
        doors = find_cells(puzzle.board, keys.DOORS)
        assert doors and len(doors) == len(find_cells(puzzle.board, keys.KEYS))
        for door in doors:
            walled = [list(row) for row in puzzle.board]
            walled[door[0]][door[1]] = "#"
            assert count_fewest_moves(keys.KeysPuzzle(tuple(map("".join, walled)))) is None


# -- push ------------------------------------------------------------------------------------------


def test_a_box_is_pushed_never_pulled_and_not_through_walls_or_boxes() -> None:
    puzzle = push.PushPuzzle(board("####### #@$.o.# #######"))
    assert after(puzzle, "r") == ((1, 2), {(1, 3)}) and not puzzle.is_won(after(puzzle, "r"))
    assert puzzle.is_won(after(puzzle, "rr")) and count_fewest_moves(puzzle) == 2
    assert after(puzzle, "rl") == ((1, 1), {(1, 3)})
    stuck = push.PushPuzzle(board("####### #@$$.o# #######"))
    assert after(stuck, "r") == stuck.start and count_fewest_moves(stuck) is None
    wall = push.PushPuzzle(board("##### #@.$# #..o# #####"))
    assert after(wall, "rr") == after(wall, "r") and count_fewest_moves(wall) is None


def test_a_mark_shows_through_a_box() -> None:
    puzzle = push.PushPuzzle(board("##### #@$o# #####"))
    _, things = build("push").stages[0]
    assert (things[push.BOX][1:3, 1:3] == -1).all() and (things[push.MARK][1:3, 1:3] >= 0).all()
    assert scene(puzzle, "r") == {("o", (1, 3)), ("$", (1, 3)), ("avatar", (1, 2))}


# -- lights ----------------------------------------------------------------------------------------

LAMPS = board("####### #.....# #..L..# #.LDL.# #..L..# #.....# #######")


def test_a_click_switches_a_lamp_and_those_beside_it_and_elsewhere_nothing() -> None:
    """Every one of the 64 x 64 places where one can click, on the engine."""
    stage = build("lights").stages[0]
    game = PuzzleGame([PuzzleStage(lights.LightsPuzzle(LAMPS), stage.pictures)], build("lights").theme, clicks=True)
    effects = {}
    for x in range(64):
        for y in range(64):
            game.set_level(0)
            _, state, _ = send(game, Action(CLICK, x, y))
            effects[y, x] = game.state
            assert (state is GameState.WIN) == (game.state == frozenset())
    centre, upper = (3, 3), (2, 3)
    assert effects[4 * 8 + 4, 4 + 3 * 8] == {(2, 3), (3, 2), (3, 4), (4, 3)}  # 8 x 8 cells a block, 4 of margin, 8 of strip
    assert effects[3 * 8 + 4, 4 + 3 * 8] == {upper}
    for (y, x), found in effects.items():
        block = (y - 8) // 8, (x - 4) // 8
        if block in game.puzzle.lamps:
            lamps = {lamp for lamp in game.puzzle.lamps if abs(lamp[0] - block[0]) + abs(lamp[1] - block[1]) <= 1}
            assert found == lamps ^ {centre}
        else:
            assert found == {centre}


def test_all_lit_is_the_end_and_a_second_click_takes_the_first_back() -> None:
    puzzle = lights.LightsPuzzle(LAMPS)
    once = puzzle.step(puzzle.start, (2, 3))
    assert puzzle.step(once, (2, 3)) == puzzle.start and count_fewest_moves(puzzle) == 5
    dark = [name for name, _ in puzzle.list_sprites(puzzle.start)]
    assert sorted(dark) == ["D", "L", "L", "L", "L"]


# -- budget ----------------------------------------------------------------------------------------

CORRIDOR = board("######### #@.d...E# #########")


def test_every_action_takes_a_unit_a_bump_too_and_an_empty_bar_is_the_end() -> None:
    puzzle = budget.BudgetPuzzle(CORRIDOR, 4)
    assert [after(puzzle, moves).units_left for moves in ("", "r", "ru", "rul")] == [4, 3, 2, 1]
    assert not puzzle.is_lost(after(puzzle, "rul")) and puzzle.is_lost(after(puzzle, "rull"))
    assert (
        puzzle.is_won(after(puzzle, "rrrrrr")) and after(puzzle, "rrrrrr").units_left == 0
    )  # the last unit is enough for the exit
    assert count_fewest_moves(budget.BudgetPuzzle(CORRIDOR, 2)) is None


def test_a_drop_fills_the_bar_once() -> None:
    puzzle = budget.BudgetPuzzle(CORRIDOR, 4)
    assert [after(puzzle, moves).units_left for moves in ("r", "rr", "rrl", "rrlr")] == [3, 4, 3, 2]
    assert ("d", (1, 3)) in scene(puzzle, "r") and ("d", (1, 3)) not in scene(puzzle, "rrl")


def test_the_bar_is_as_long_as_what_is_left() -> None:
    puzzle = budget.BudgetPuzzle(board("########## #@......E# ##########"), 6)
    for spent in range(7):
        left = 6 - spent
        bar = sorted((cell, name) for name, cell in scene(puzzle, "u" * spent) if name.startswith("bar"))
        assert [cell for cell, _ in bar] == [(2, 1), (2, 2), (2, 3)]
        assert [int(name[3:]) for _, name in bar] == [min(2, left), min(2, max(0, left - 2)), max(0, left - 4)]


@pytest.mark.parametrize("seed", range(4))
def test_no_drop_can_be_left_out_and_a_bump_is_not_fatal_at_once(seed: int) -> None:
    for puzzle, _ in build("budget", seed).stages:
        full = puzzle.start.units_left
        for row, column in find_cells(puzzle.board, budget.DROP):
            without = [list(line) for line in puzzle.board]
            without[row][column] = "."
            assert count_fewest_moves(budget.BudgetPuzzle(tuple(map("".join, without)), full)) is None
        assert count_fewest_moves(budget.BudgetPuzzle(puzzle.board, full - 2)) == count_fewest_moves(puzzle)


def test_an_empty_bar_is_game_over_on_the_engine() -> None:
    made = world("budget", 0)
    full = made._game.puzzle.start.units_left
    made.reset()
    seen = [made.step(Action(1 + k % 2)) for k in range(full)]  # up and down does not lead to the exit
    assert [one.status for one in seen] == [Status.RUNNING] * (full - 1) + [Status.OVER]
    assert len({one.frame.tobytes() for one in seen}) == full


# -- fog -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_only_what_is_near_is_drawn_and_it_is_drawn_as_it_is(seed: int) -> None:
    game = build("fog", seed)
    clear = PuzzleGame(
        [PuzzleStage(type("Clear", (WalkPuzzle,), {"goal": "E"})(p.board), things) for p, things in game.stages], game.theme
    )
    for level in range(len(game.stages)):
        game.set_level(level)
        clear.set_level(level)
        for state, _ in list(explore(game.puzzle))[::7]:
            for one in (game, clear):
                one.state = state
                one._draw_sprites()
            foggy, whole = shown(game), shown(clear)
            for row in range(15):
                for column in range(15):
                    block = np.s_[STRIP + BLOCK * row : STRIP + BLOCK * (row + 1), 2 + BLOCK * column : 2 + BLOCK * (column + 1)]
                    if abs(row - state[0]) <= fog.SIGHT and abs(column - state[1]) <= fog.SIGHT:
                        assert np.array_equal(foggy[block], whole[block])
                    else:
                        assert (foggy[block] == game.theme.dark).all()
            assert np.array_equal(foggy[:STRIP], whole[:STRIP])


def test_what_is_left_behind_is_covered_again_and_the_exit_is_out_of_sight() -> None:
    made = world("fog", 0)
    first = made.reset().frame
    there = next(n for n in MOVES if made.step(Action(n)).frame.tobytes() != first.tobytes())
    assert np.array_equal(made.step(Action({1: 2, 2: 1, 3: 4, 4: 3}[there])).frame, first)
    for puzzle, _ in made._game.stages:
        assert find_cells(puzzle.board, "E")[0] in puzzle.find_hidden(puzzle.start)


# -- mirror ----------------------------------------------------------------------------------------


def test_the_second_avatar_is_reflected_and_each_is_stopped_by_its_own_walls() -> None:
    upright = mirror.MirrorPuzzle(board("######### #@..#.&.# #p..#.q.# #########"), upright=True)
    assert upright.start == ((1, 1), (1, 6))
    assert after(upright, "r") == ((1, 2), (1, 5)) and after(upright, "l") == ((1, 1), (1, 7))
    assert upright.is_won(after(upright, "d")) and count_fewest_moves(upright) == 1
    level = mirror.MirrorPuzzle(board("##### #@.p# #...# ##### #&.q# #...# #####"), upright=False)
    assert after(level, "d") == ((2, 1), (4, 1)) and after(level, "u") == ((1, 1), (5, 1))
    assert after(level, "ur") == ((1, 2), (5, 2)) and count_fewest_moves(level) == 2


def test_both_must_be_in_place_at_once() -> None:
    puzzle = mirror.MirrorPuzzle(board("######### #@.p#q.&# #########"), upright=True)
    assert not puzzle.is_won(after(puzzle, "r")) and puzzle.is_won(after(puzzle, "rr"))
    one_only = mirror.MirrorPuzzle(board("########## #@p.#.q.&# ##########"), upright=True)
    assert not one_only.is_won(after(one_only, "r")) and not one_only.is_won(after(one_only, "rr"))


@pytest.mark.parametrize("seed", range(6))
def test_the_two_rooms_do_not_meet_and_a_detour_is_needed(seed: int) -> None:
    for puzzle, _ in build("mirror", seed).stages:
        one, other = (compute_distances(puzzle.board, start) for start in puzzle.start)
        assert not set(one) & set(other)
        (place,), (second,) = (find_cells(puzzle.board, letter) for letter in mirror.PLACES)
        assert (count_fewest_moves(puzzle) or 0) > max(one[place], other[second])


def test_the_mirror_stands_upright_in_some_games_and_not_in_others() -> None:
    assert {build("mirror", seed).puzzle.upright for seed in range(8)} == {True, False}


# -- maze ------------------------------------------------------------------------------------------


def test_a_hazard_is_game_over_and_a_reset_brings_the_same_level_back() -> None:
    made = world("maze", 0)
    made.reset()
    for action in solve(made._game)[0]:
        before = made.step(action)
    puzzle = made._game.puzzle
    way = path(puzzle.board, "X")
    for action in way[:-1]:
        assert made.step(action).status is Status.RUNNING
    over = made.step(way[-1])
    assert (over.status, over.level, len(over.frames)) == (Status.OVER, 1, 1)
    again = made.reset()
    assert (again.status, again.level) == (Status.RUNNING, 1) and np.array_equal(again.frame, before.frame)


def path(letters: tuple[str, ...], target: str) -> list[Action]:
    """A way from the start to a block with the letter `target` that enters no other thing."""
    (start,) = find_cells(letters, "@")
    ways: dict[tuple[int, int], list[Action]] = {start: []}
    queue = [start]
    for cell in queue:
        for number, (down, right) in MOVES.items():
            new = cell[0] + down, cell[1] + right
            if new not in ways and letters[new[0]][new[1]] in "." + target:
                ways[new] = [*ways[cell], Action(number)]
                queue.append(new)
                if letters[new[0]][new[1]] == target:
                    return ways[new]
    raise AssertionError(f"no way to {target!r}")


# -- twins -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
def test_the_wrong_twin_is_harmless_and_looks_untouched_afterwards(seed: int) -> None:
    made = world("twins", seed)
    made.reset()
    for action in solve(made._game)[0]:
        made.step(action)
    way = path(made._game.puzzle.board, twins.WRONG)
    for action in way:
        seen = made.step(action)
        assert (seen.status, seen.level, len(seen.frames)) == (Status.RUNNING, 1, 1)
    back = Action({1: 2, 2: 1, 3: 4, 4: 3}[way[-1].id])
    off = made.step(back)
    assert np.array_equal(made.step(way[-1]).frame, seen.frame) and np.array_equal(made.step(back).frame, off.frame)


def test_only_a_deliberate_test_tells_the_twins_apart() -> None:
    """The first pad fits two rules; afterwards exactly one of them holds, in every level the same; over the seeds both occur."""
    counts = set()
    for seed in range(12):
        game = build("twins", seed)
        (first, *others), floor = game.stages, game.theme.floor
        assert find_cells(first.puzzle.board, twins.RIGHT) and not find_cells(first.puzzle.board, twins.WRONG)
        colour, shape = features(first.pictures[twins.RIGHT], floor)
        rules = set()
        for puzzle, things in others:
            assert all(len(find_cells(puzzle.board, letter)) == 1 for letter in (twins.RIGHT, twins.WRONG))
            pads = (features(things[letter], floor) for letter in (twins.RIGHT, twins.WRONG))
            agree = [(c == colour, s == shape) for c, s in pads]
            assert sorted(agree) == [(False, True), (True, False)]
            rules.add("colour" if agree[0][0] else "shape")
        assert len(rules) == 1
        counts |= rules
    assert counts == {"colour", "shape"}


def features(pixels: np.ndarray, floor: int) -> tuple[int, bytes]:
    (colour,) = {int(c) for c in pixels.ravel()} - {floor}
    return colour, (pixels != floor).tobytes()


def test_no_shape_is_another_one_turned_or_mirrored() -> None:
    shapes = [parse_picture(shape, {"p": 1, "f": 0}) for shape in twins.SHAPES]
    looks = [{np.rot90(s, k).tobytes() for s in (shape, shape.T) for k in range(4)} for shape in shapes]
    assert len(set.union(*looks)) == sum(map(len, looks))


@pytest.mark.parametrize("seed", range(12))
def test_in_every_game_the_nearer_pad_is_sometimes_right_and_sometimes_wrong(seed: int) -> None:
    nearer = []
    for letters in twins.draw_boards(Random(seed))[1:]:
        reached = compute_distances(letters, find_cells(letters, "@")[0])
        nearer.append(reached[find_cells(letters, twins.RIGHT)[0]] < reached[find_cells(letters, twins.WRONG)[0]])
    assert set(nearer) == {True, False}
