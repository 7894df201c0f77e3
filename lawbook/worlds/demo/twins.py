"""`demo:twins`: a pad completes the first level. For its colour, or for its shape? From the second level on the two are apart."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from lawbook.worlds.demo.board import FLOOR, START, Board, Cell, cells, distances, drawn, found, maze, put
from lawbook.worlds.demo.look import theme
from lawbook.worlds.demo.puzzle import AVATAR, PuzzleGame, Stage, Walk

RIGHT, WRONG = "R", "W"
"""The pad that completes the level, and the one on which nothing happens."""

SHAPES = ("pppp/pffp/pffp/pppp", "pffp/fppf/fppf/pffp", "pppp/ffff/ffff/pppp", "pppp/pppp/fppf/fppf", "pfpf/fpfp/pfpf/fpfp")


class Twins(Walk):
    goal, harmless = RIGHT, WRONG


class Aim(NamedTuple):
    """What a level should be like: share of inner walls taken out, moves to the near pad and to the far one (from, to).
    A level without a far pad has the right one only."""

    openness: float
    near: tuple[int, int]
    far: tuple[int, int] | None


AIMS = (
    Aim(0.75, (5, 9), None),
    Aim(0.65, (5, 9), (12, 18)),
    Aim(0.50, (6, 11), (14, 22)),
    Aim(0.45, (8, 12), (16, 26)),
)


def draw(rng: Random, aim: Aim, right_is_near: bool) -> Board | None:
    """A board that meets the aim, if this attempt comes to one."""
    grid = maze(rng, aim.openness)
    start = rng.choice(cells(grid, FLOOR))
    moves = distances(grid, start)
    fitting = [[cell for cell, n in moves.items() if low <= n <= high] for low, high in filter(None, (aim.near, aim.far))]
    if not all(fitting):
        return None
    put(grid, START, start)
    for letter, places in zip((RIGHT, WRONG) if right_is_near else (WRONG, RIGHT), fitting, strict=False):
        put(grid, letter, rng.choice(places))
    return drawn(grid)


def boards(rng: Random) -> tuple[Board, ...]:
    """In some of the levels with two pads the right one is near, in some it is far."""
    near = [True, False, rng.random() < 0.5]
    rng.shuffle(near)
    return tuple(found(draw, rng, aim, right_is_near) for aim, right_is_near in zip(AIMS, [True, *near], strict=True))


def build(rng: Random) -> PuzzleGame[Cell]:
    """Of two twins one has the first pad's colour, the other its shape; the seed says which of these counts, in every level the
    same."""
    look = theme(rng)
    colours = list(look.bright)
    shapes = rng.sample(SHAPES, len(SHAPES))
    colour_counts = rng.random() < 0.5
    stages = []
    for number, one in enumerate(boards(rng)):
        other_colour, other_shape = colours[1 + number % 3], shapes[1 + number % 4]
        twins = look.picture(other_shape, p=colours[0]), look.picture(shapes[0], p=other_colour)
        if number == 0:
            pads = {RIGHT: look.picture(shapes[0], p=colours[0])}
        else:
            pads = dict(zip((RIGHT, WRONG) if colour_counts else (WRONG, RIGHT), twins, strict=True))
        stages.append(Stage(Twins(one), {**pads, AVATAR: look.walker(look.avatar)}))
    return PuzzleGame(stages, look)
