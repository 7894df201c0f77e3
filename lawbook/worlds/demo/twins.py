"""`demo:twins`: a pad completes the first level. For its colour, or for its shape? From the second level on the two are apart."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from lawbook.worlds.demo.board import (
    FLOOR,
    START,
    Board,
    Cell,
    compute_distances,
    draw_board,
    find_cells,
    make_maze,
    put_letter,
    to_board,
)
from lawbook.worlds.demo.look import draw_theme
from lawbook.worlds.demo.puzzle import AVATAR, PuzzleGame, PuzzleStage, WalkPuzzle

RIGHT, WRONG = "R", "W"
"""The pad that completes the level, and the one on which nothing happens."""

SHAPES = ("pppp/pffp/pffp/pppp", "pffp/fppf/fppf/pffp", "pppp/ffff/ffff/pppp", "pppp/pppp/fppf/fppf", "pfpf/fpfp/pfpf/fpfp")


class TwinsPuzzle(WalkPuzzle):
    goal, harmless = RIGHT, WRONG


class TwinsLevelSpec(NamedTuple):
    """What a level should be like: share of inner walls taken out, moves to the near pad and to the far one (from, to).
    A level without a far pad has the right one only."""

    openness: float
    near: tuple[int, int]
    far: tuple[int, int] | None


LEVEL_SPECS = (
    TwinsLevelSpec(0.75, (5, 9), None),
    TwinsLevelSpec(0.65, (5, 9), (12, 18)),
    TwinsLevelSpec(0.50, (6, 11), (14, 22)),
    TwinsLevelSpec(0.45, (8, 12), (16, 26)),
)


def draw(rng: Random, level_spec: TwinsLevelSpec, right_is_near: bool) -> Board | None:
    """Draw a board that meets the aim, if this attempt comes to one."""
    grid = make_maze(rng, level_spec.openness)
    start = rng.choice(find_cells(grid, FLOOR))
    moves = compute_distances(grid, start)
    candidates = [
        [cell for cell, n in moves.items() if low <= n <= high] for low, high in filter(None, (level_spec.near, level_spec.far))
    ]
    if not all(candidates):
        return None
    put_letter(grid, START, start)
    for letter, places in zip((RIGHT, WRONG) if right_is_near else (WRONG, RIGHT), candidates, strict=False):
        put_letter(grid, letter, rng.choice(places))
    return to_board(grid)


def draw_boards(rng: Random) -> tuple[Board, ...]:
    """Draw the boards of all levels: in some of those with two pads the right one is near, in some it is far."""
    near_is_right = [True, False, rng.random() < 0.5]
    rng.shuffle(near_is_right)
    return tuple(
        draw_board(draw, rng, level_spec, right_is_near)
        for level_spec, right_is_near in zip(LEVEL_SPECS, [True, *near_is_right], strict=True)
    )


def build(rng: Random) -> PuzzleGame[Cell]:
    """Build the game from a random generator.

    Of two twins one has the first pad's colour, the other its shape; the generator says which of these counts, in every level the
    same.
    """
    game_theme = draw_theme(rng)
    colours = list(game_theme.bright)
    shapes = rng.sample(SHAPES, len(SHAPES))
    colour_counts = rng.random() < 0.5
    stages = []
    for number, board in enumerate(draw_boards(rng)):
        other_colour, other_shape = colours[1 + number % 3], shapes[1 + number % 4]
        twins = game_theme.make_picture(other_shape, p=colours[0]), game_theme.make_picture(shapes[0], p=other_colour)
        if number == 0:
            pads = {RIGHT: game_theme.make_picture(shapes[0], p=colours[0])}
        else:
            pads = dict(zip((RIGHT, WRONG) if colour_counts else (WRONG, RIGHT), twins, strict=True))
        stages.append(PuzzleStage(TwinsPuzzle(board), {**pads, AVATAR: game_theme.make_walker(game_theme.avatar)}))
    return PuzzleGame(stages, game_theme)
