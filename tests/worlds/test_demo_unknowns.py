"""The demo games in which something cannot be known: what is withheld is withheld, what is promised of it holds."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
from demo_games import after, board, build, scene, shown, solve, world

from lawbook.core.record import Action, Observation, Status
from lawbook.worlds.arcengine_world import ArcGameWorld
from lawbook.worlds.demo import dusk, meter, overlap, scroll, sequence
from lawbook.worlds.demo.board import FLOOR, SIDE, WALL, compute_distances, find_cells
from lawbook.worlds.demo.look import BLOCK, STRIP
from lawbook.worlds.demo.puzzle import AVATAR, CLICK, PuzzleGame, PuzzleStage, WalkPuzzle, count_fewest_moves, explore
from lawbook.worlds.process import WorldProcess

NAMES = ["dusk", "meter", "overlap", "scroll", "sequence"]
SEEDS = range(4)


# -- all of them -----------------------------------------------------------------------------------


def random_actions(name: str, number: int) -> list[Action]:
    """`number` actions, resets among them; clicks on the blocks of a 7 x 7 board."""
    rng = Random(f"actions of {name}")
    ids = [0, *[CLICK] * 9] if name == "sequence" else [0, *[1, 2, 3, 4] * 5]
    drawn = (rng.choice(ids) for _ in range(number))
    return [Action(n, rng.randrange(4, 60), rng.randrange(8, 64)) if n == CLICK else Action(n) for n in drawn]


def observe(played: ArcGameWorld | WorldProcess, actions: list[Action]) -> list[Observation]:
    """What every action led to, after a first reset; what is over is reset."""
    observations = [played.reset()]
    for action in actions:
        over = observations[-1].status is Status.OVER
        observations.append(played.reset() if over or action.id == 0 else played.step(action))
    return observations


def digest(observations: list[Observation]) -> str:
    """Of all that was seen, every frame of every animation."""
    hashed = hashlib.sha256()
    for observation in observations:
        hashed.update(repr((observation.status, observation.level, observation.available, len(observation.frames))).encode())
        for frame in observation.frames:
            hashed.update(frame.tobytes())
    return hashed.hexdigest()


@pytest.mark.parametrize("name", NAMES)
def test_one_history_has_one_outcome_in_every_process(name: str) -> None:
    actions = random_actions(name, 150)
    observations = observe(world(name, 5), actions)
    assert Status.OVER in {observation.status for observation in observations} or name in ("overlap", "scroll")
    code = f"import test_demo_unknowns as t; print(t.digest(t.observe(t.world({name!r}, 5), t.random_actions({name!r}, 150))))"
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "3",
        "PYTHONPATH": f"{Path(__file__).parent}{os.pathsep}{Path(__file__).parents[1] / 'support'}",
    }
    other = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert other.stdout.strip() == digest(observations)
    with WorldProcess(f"demo:{name}?seed=5") as played:
        assert digest(observe(played, actions)) == digest(observations)


@pytest.mark.parametrize("name", NAMES)
def test_an_attempt_after_a_reset_sees_what_the_attempt_before_saw(name: str) -> None:
    """In the second level: the same actions lead to the same frames, the opening animation's too, whatever was done before."""
    played = world(name, 2)
    played.reset()
    for action in solve(played._game)[0]:
        completed = played.step(action)
    actions = [action for action in random_actions(name, 40) if action.id != 0]
    attempts = []
    played.step(actions[0])  # a reset with nothing done since the level began would restart the whole game
    for _ in range(3):
        attempt = [played.reset()]
        for action in actions:
            if attempt[-1].status is not Status.RUNNING:
                break
            attempt.append(played.step(action))
        attempts.append(digest(attempt))
        assert attempt[0].level == 1 and np.array_equal(attempt[0].frame, completed.frame)
    assert len(set(attempts)) == 1


# -- meter -----------------------------------------------------------------------------------------

CORRIDOR = board("########## #@......E# ##########")


def count_units(puzzle: meter.Meter, n_actions: int) -> int:
    """Units of the bar that are shown after so many actions."""
    return sum(int(name[3:]) for name, _ in scene(puzzle, "u" * n_actions) if name.startswith(meter.BAR))


def test_a_unit_lasts_as_many_actions_as_the_pace_and_an_empty_bar_is_the_end() -> None:
    puzzle = meter.Meter(CORRIDOR, 4, 3)
    assert [count_units(puzzle, n) for n in range(13)] == [4, 4, 4, 3, 3, 3, 2, 2, 2, 1, 1, 1, 0]
    assert not puzzle.is_lost(after(puzzle, "u" * 11)) and puzzle.is_lost(after(puzzle, "u" * 12))
    tight = meter.Meter(CORRIDOR, 2, 4)
    assert (
        puzzle.is_won(after(puzzle, "r" * 7))
        and count_fewest_moves(tight) == 7
        and count_fewest_moves(meter.Meter(CORRIDOR, 2, 3)) is None
    )
    exact = meter.Meter(board("###### #@..E# ######"), 3, 1)
    assert exact.is_won(after(exact, "rrr")) and not exact.is_lost(after(exact, "rrr"))  # the last unit is enough for the exit


@pytest.mark.parametrize("seed", SEEDS)
def test_no_first_frame_tells_the_pace(seed: int) -> None:
    """With any other pace the level looks the same until the bar first shrinks; in one game all paces occur."""
    game = build("meter", seed)
    assert sorted(puzzle.pace for puzzle, _ in game.stages) == list(meter.PACES)
    for puzzle, _ in game.stages:
        assert puzzle.n_units % 2 == 0 and puzzle.n_units // 2 <= len(puzzle.board[0]) - 2
        for pace in meter.PACES:
            other = meter.Meter(puzzle.board, puzzle.n_units, pace)
            for n_actions in range(min(pace, puzzle.pace)):
                assert scene(puzzle, "u" * n_actions) == scene(other, "u" * n_actions)
    assert len({tuple(puzzle.pace for puzzle, _ in build("meter", other).stages) for other in range(12)}) > 6


# -- dusk ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_only_what_is_next_to_the_avatar_and_the_bar_are_drawn(seed: int) -> None:
    game = build("dusk", seed)
    clear = PuzzleGame([PuzzleStage(meter.Meter(p.board, p.n_units, 1), things) for p, things in game.stages], game.theme)
    for level in range(len(game.stages)):
        game.set_level(level)
        clear.set_level(level)
        for state, _ in list(explore(game.puzzle))[::97]:
            for one in (game, clear):
                one.state = state
                one._draw_sprites()
            dark, whole = shown(game), shown(clear)
            for row in range(SIDE):
                for column in range(SIDE):
                    top, left = STRIP + BLOCK * row, 2 + BLOCK * column
                    block = np.s_[top : top + BLOCK, left : left + BLOCK]
                    is_seen = row == SIDE - 1 or (abs(row - state.avatar[0]) <= 1 and abs(column - state.avatar[1]) <= 1)
                    assert np.array_equal(dark[block], whole[block]) if is_seen else (dark[block] == game.theme.dark).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_one_bar_is_too_short_to_look_everywhere_and_long_enough_with_a_map(seed: int) -> None:
    for (puzzle, _), aim in zip(build("dusk", seed).stages, dusk.LEVEL_SPECS, strict=True):
        (start,), (goal,) = find_cells(puzzle.board, "@"), find_cells(puzzle.board, "E")
        moves = compute_distances(puzzle.board, start)
        assert moves[goal] + 3 <= puzzle.n_units
        assert sum(n < moves[goal] for n in moves.values()) >= aim.spread * puzzle.n_units
        assert goal in puzzle.find_hidden(puzzle.start)


# -- overlap ---------------------------------------------------------------------------------------


def test_ghosts_are_reflections_and_pass_through_walls() -> None:
    puzzle = overlap.Overlap(board("####### #@f#..# #....E# #######"), overlap.GHOSTS, range(5))
    assert {(overlap.GHOSTS[0], (1, 4)), (overlap.GHOSTS[1], (2, 2)), ("f", (1, 2)), (AVATAR, (1, 2))} <= scene(puzzle, "r")
    assert {(overlap.GHOSTS[0], (2, 3)), (overlap.GHOSTS[1], (1, 3)), (AVATAR, (2, 3))} <= scene(puzzle, "drr")


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_drawing_shows_nowhere_before_things_meet_and_never_matters(seed: int) -> None:
    game = build("overlap", seed)
    for puzzle, things in game.stages:
        n_things = len(puzzle.list_things(puzzle.start))
        assert sorted(puzzle.order) == list(range(n_things))
        other = overlap.Overlap(puzzle.board, puzzle.ghosts, puzzle.order[::-1])
        reversed_game = PuzzleGame([PuzzleStage(other, things)], game.theme)
        drawn = PuzzleGame([PuzzleStage(puzzle, things)], game.theme)
        assert list(explore(puzzle)) == list(explore(other)) and count_fewest_moves(puzzle) == count_fewest_moves(other)
        n_met = 0
        for state, _ in explore(puzzle):
            for one in (drawn, reversed_game):
                one.state = state
                one._draw_sprites()
            places = [cell for _, cell in puzzle.list_things(state)]
            if len(set(places)) == n_things:
                assert np.array_equal(shown(drawn), shown(reversed_game))
            else:
                n_met += not np.array_equal(shown(drawn), shown(reversed_game))
        assert n_met >= 8


@pytest.mark.parametrize("seed", SEEDS)
def test_the_avatar_meets_every_ghost_on_any_way(seed: int) -> None:
    middle = SIDE // 2
    for puzzle, _ in build("overlap", seed).stages:
        for axis in (1, 0)[: len(puzzle.ghosts)]:  # the way leads over the mirror: without its blocks there is none
            rows = [
                "".join(WALL if (row, column)[axis] == middle else letter for column, letter in enumerate(letters))
                for row, letters in enumerate(puzzle.board)
            ]
            assert count_fewest_moves(Plain(tuple(rows))) is None


class Plain(WalkPuzzle):
    goal = "E"


def test_the_avatar_is_sometimes_in_front_of_a_ghost_and_sometimes_behind() -> None:
    fronts = set()
    for seed in range(6):
        for puzzle, _ in build("overlap", seed).stages:
            names = [name for name, _ in puzzle.list_sprites(puzzle.start)]
            fronts.add(names.index(AVATAR) > names.index(overlap.GHOSTS[0]))
    assert fronts == {True, False}


# -- sequence --------------------------------------------------------------------------------------


def click(cell: tuple[int, int]) -> Action:
    """A click on a block of a 7 x 7 board, which is shown twice as large, with 4 cells of margin."""
    return Action(CLICK, 4 + 8 * cell[1] + 3, 8 + 8 * cell[0] + 3)


def read_flashes(observation: Observation, puzzle: sequence.SequencePuzzle) -> list[tuple[int, int]]:
    """The lamps of an opening animation, in order: where each frame but every second differs from the settled one."""
    lamps = []
    opening = observation.frames[-2 * len(puzzle.order) :]
    for lit, dark in zip(opening[::2], opening[1::2], strict=True):
        assert np.array_equal(dark, observation.frame)
        rows, columns = np.nonzero(lit != dark)
        (lamp,) = {((row - 8) // 8, (column - 4) // 8) for row, column in zip(rows.tolist(), columns.tolist(), strict=True)}
        lamps.append(lamp)
    return lamps


@pytest.mark.parametrize("seed", SEEDS)
def test_the_animation_shows_the_order_at_the_opening_after_a_reset_and_at_a_completion(seed: int) -> None:
    played = world("sequence", seed)
    observation = played.reset()
    for level, (puzzle, _) in enumerate(played._game.stages):
        assert observation.level == level and len(observation.frames) == 2 * len(puzzle.order) + 4 * (level > 0)
        order = read_flashes(observation, puzzle)
        assert tuple(order) == puzzle.order
        wrong = next(lamp for lamp in puzzle.lamps if lamp != order[0])
        over = played.step(click(wrong))
        assert (over.status, over.level, len(over.frames)) == (Status.OVER, level, 1)
        again = played.reset()
        assert len(again.frames) == 2 * len(puzzle.order) and read_flashes(again, puzzle) == order
        assert np.array_equal(again.frame, observation.frame)
        for lamp in order:
            observation = played.step(click(lamp))
            assert len(observation.frames) == 1 or lamp == order[-1] or observation.status is Status.COMPLETED
    assert observation.status is Status.COMPLETED and len(observation.frames) == 3


@pytest.mark.parametrize("seed", SEEDS)
def test_no_settled_frame_shows_the_order(seed: int) -> None:
    """With another order the level looks the same, and as far as it is followed so does what comes after."""
    game = build("sequence", seed)
    for puzzle, _ in game.stages:
        lamps = tuple(reversed(puzzle.order))
        other = sequence.SequencePuzzle(puzzle.board, lamps)
        one, two = puzzle.start, other.start
        for right, also_right in zip(puzzle.order, lamps, strict=True):
            assert set(puzzle.list_sprites(one)) == set(other.list_sprites(two))
            one, two = puzzle.step(one, right), other.step(two, also_right)
        assert puzzle.is_won(one) and other.is_won(two)


def test_a_wrong_lamp_is_the_end_and_a_click_beside_the_lamps_is_nothing() -> None:
    puzzle = sequence.SequencePuzzle(board("##### #L.L# #...# #####"), ((1, 3), (1, 3), (1, 1)))
    once = puzzle.step(puzzle.start, (1, 3))
    assert once == (1, None) and puzzle.step(once, (2, 2)) == once and count_fewest_moves(puzzle) == 3
    assert puzzle.is_lost(puzzle.step(once, (1, 1))) and not puzzle.is_lost(puzzle.step(once, (1, 3)))


# -- scroll ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_the_view_follows_the_avatar_to_the_edges_and_shows_the_board_as_it_is(seed: int) -> None:
    game = build("scroll", seed)
    floor, wall = game.theme.floor, game.theme.wall
    for level, (puzzle, things) in enumerate(game.stages):
        game.set_level(level)
        strips = set()
        for state, _ in list(explore(puzzle))[::5]:
            game.state = state
            game._draw_sprites()
            frame = shown(game)
            strips.add(frame[:STRIP].tobytes())
            top, left = puzzle.corner(state)
            assert 0 <= top <= len(puzzle.board) - SIDE and 0 <= left <= len(puzzle.board[0]) - SIDE
            for row in range(SIDE):
                for column in range(SIDE):
                    y, x = STRIP + BLOCK * row, 2 + BLOCK * column
                    block = frame[y : y + BLOCK, x : x + BLOCK]
                    cell = (top + row, left + column)
                    letter = puzzle.board[cell[0]][cell[1]]
                    if cell == state:
                        assert np.array_equal(block, things[AVATAR])
                    elif letter == WALL:
                        assert (block[0, :3] == wall).all()
                    elif letter == FLOOR:
                        assert (block == floor).all()
                    elif letter == "E":
                        assert np.array_equal(block, things["E"])
        assert len(strips) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_the_board_is_larger_than_the_view_and_the_exit_is_out_of_it(seed: int) -> None:
    for puzzle, _ in build("scroll", seed).stages:
        assert max(len(puzzle.board), len(puzzle.board[0])) > SIDE
        assert not scroll.is_in_view(puzzle.corner(puzzle.start), find_cells(puzzle.board, "E")[0])
    assert {len(build("scroll", seed).stages[level].puzzle.board) for level in range(4)} == {15, 23, 25, 31}
