"""`demo:fog`: walk to the exit. Only what is near is drawn, and what is left behind is covered again: the map must be remembered."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from lawbook.worlds.demo.board import EXIT, FLOOR, START, Board, Cell, cells, distances, drawn, maze
from lawbook.worlds.demo.look import theme
from lawbook.worlds.demo.puzzle import AVATAR, PuzzleGame, Stage, Walk

NEAR = 2
"""How many blocks away, in rows and in columns, is still near."""


class Fog(Walk):
    goal = EXIT

    def hidden(self, state: Cell) -> list[Cell]:
        return [
            (row, column)
            for row, letters in enumerate(self.board)
            for column in range(len(letters))
            if not near(state, (row, column))
        ]


def near(one: Cell, other: Cell) -> bool:
    return abs(one[0] - other[0]) <= NEAR and abs(one[1] - other[1]) <= NEAR


class Aim(NamedTuple):
    """What a level should be like: share of inner walls taken out, fewest moves (from, to)."""

    openness: float
    moves: tuple[int, int]


AIMS = (Aim(0.6, (6, 9)), Aim(0.5, (10, 14)), Aim(0.4, (14, 19)), Aim(0.3, (19, 26)))


def draw(rng: Random, aim: Aim) -> Board:
    """A board that meets the aim, its exit out of sight at the start. Raises RuntimeError after too many tries."""
    low, high = aim.moves
    for _ in range(1000):
        grid = maze(rng, aim.openness)
        start = rng.choice(cells(grid, FLOOR))
        exits = [cell for cell, moves in distances(grid, start).items() if low <= moves <= high and not near(start, cell)]
        if exits:
            row, column = rng.choice(exits)
            grid[row][column] = EXIT
            grid[start[0]][start[1]] = START
            return drawn(grid)
    raise RuntimeError(f"no board like {aim} was found")


def build(rng: Random) -> PuzzleGame[Cell]:
    look = theme(rng)
    things = {EXIT: look.exit(*look.bright[:2]), AVATAR: look.walker(look.avatar)}
    return PuzzleGame([Stage(Fog(draw(rng, aim)), things) for aim in AIMS], look)
