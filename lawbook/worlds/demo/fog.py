"""`demo:fog`: walk to the exit. Only what is near is drawn, and what is left behind is covered again: one must remember."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from lawbook.worlds.demo.board import EXIT, FLOOR, START, Board, Cell, cells, distances, drawn, found, maze, put
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


def draw(rng: Random, aim: Aim) -> Board | None:
    """A board that meets the aim, its exit out of sight at the start, if this attempt comes to one."""
    grid = maze(rng, aim.openness)
    start = rng.choice(cells(grid, FLOOR))
    low, high = aim.moves
    exits = [cell for cell, moves in distances(grid, start).items() if low <= moves <= high and not near(start, cell)]
    if not exits:
        return None
    put(grid, EXIT, rng.choice(exits))
    put(grid, START, start)
    return drawn(grid)


def build(rng: Random) -> PuzzleGame[Cell]:
    look = theme(rng)
    things = {EXIT: look.exit(*look.bright[:2]), AVATAR: look.walker(look.avatar)}
    return PuzzleGame([Stage(Fog(found(draw, rng, aim)), things) for aim in AIMS], look)
