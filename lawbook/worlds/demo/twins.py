"""`demo:twins`: a pad completes the first level. For its colour, or for its shape? From the second level on the two are apart."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from lawbook.worlds.arcgame import ArcGameWorld
from lawbook.worlds.demo import board
from lawbook.worlds.demo.board import FLOOR, START, Board, WalkingGame, cells, distances, level, maze, picture, shortest, theme

RIGHT, WRONG = "R", "W"
"""The pad that completes the level, and the one on which nothing happens."""

SHAPES = ("pppp/pffp/pffp/pppp", "pffp/fppf/fppf/pffp", "pppp/ffff/ffff/pppp", "pppp/pppp/fppf/fppf", "pfpf/fpfp/pfpf/fpfp")


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


def draw(rng: Random, aim: Aim, right_is_near: bool) -> Board:
    """A board that meets the aim. Raises RuntimeError after too many tries."""
    for _ in range(5000):
        grid = maze(rng, aim.openness)
        start = rng.choice(cells(grid, FLOOR))
        moves = distances(grid, start)
        near = [cell for cell, n in moves.items() if aim.near[0] <= n <= aim.near[1]]
        far = [cell for cell, n in moves.items() if aim.far and aim.far[0] <= n <= aim.far[1]]
        if not near or (aim.far and not far):
            continue
        grid[start[0]][start[1]] = START
        pads = [rng.choice(near)] + ([rng.choice(far)] if aim.far else [])
        letters = (RIGHT, WRONG) if right_is_near else (WRONG, RIGHT)
        for (row, column), letter in zip(pads, letters, strict=False):
            grid[row][column] = letter
        return tuple("".join(line) for line in grid)
    raise RuntimeError(f"no board like {aim} was found")


def boards(rng: Random) -> tuple[Board, ...]:
    """In some of the levels with two pads the right one is near, in some it is far."""
    near = [True, False, rng.random() < 0.5]
    rng.shuffle(near)
    return tuple(draw(rng, aim, right_is_near) for aim, right_is_near in zip(AIMS, [True, *near], strict=True))


class Twins(WalkingGame):
    def touch(self, met: set[str]) -> None:
        if RIGHT in met:
            self.complete()


def build(rng: Random) -> tuple[Twins, tuple[int, ...]]:
    """The game and its shortest solutions. Of two twins one has the first pad's colour, the other its shape; the seed says which of
    these counts, in every level the same."""
    look = theme(rng)
    colours = list(look.bright)
    shapes = rng.sample(SHAPES, len(SHAPES))
    colour_counts = rng.random() < 0.5
    drawn = boards(rng)
    levels = []
    for number, one in enumerate(drawn):
        other_colour, other_shape = colours[1 + number % 3], shapes[1 + number % 4]
        same_colour = picture(other_shape, {"p": colours[0], "f": look.floor})
        same_shape = picture(shapes[0], {"p": other_colour, "f": look.floor})
        if number == 0:
            things = {RIGHT: picture(shapes[0], {"p": colours[0], "f": look.floor})}
        elif colour_counts:
            things = {RIGHT: same_colour, WRONG: same_shape}
        else:
            things = {RIGHT: same_shape, WRONG: same_colour}
        levels.append(level(one, number, len(drawn), look, things))
    return Twins(levels, look), tuple(shortest(one, RIGHT) for one in drawn)


def world(seed: int) -> ArcGameWorld:
    return board.world(build, "twins", seed)
