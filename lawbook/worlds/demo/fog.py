"""`demo:fog`: walk to the exit. Only what is near is drawn, and what is left behind is covered again: one must remember."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from lawbook.worlds.demo.board import (
    EXIT,
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

SIGHT = 2
"""How many blocks away, in rows and in columns, is still near."""


class FogPuzzle(WalkPuzzle):
    goal = EXIT

    def find_hidden(self, state: Cell) -> list[Cell]:
        return [
            (row, column)
            for row, letters in enumerate(self.board)
            for column in range(len(letters))
            if not is_near(state, (row, column))
        ]


def is_near(one: Cell, other: Cell) -> bool:
    """Return whether one block is in sight from the other."""
    return abs(one[0] - other[0]) <= SIGHT and abs(one[1] - other[1]) <= SIGHT


class FogLevelSpec(NamedTuple):
    """What a level should be like: share of inner walls taken out, fewest moves (from, to)."""

    openness: float
    moves: tuple[int, int]


LEVEL_SPECS = (FogLevelSpec(0.6, (6, 9)), FogLevelSpec(0.5, (10, 14)), FogLevelSpec(0.4, (14, 19)), FogLevelSpec(0.3, (19, 26)))


def draw(rng: Random, level_spec: FogLevelSpec) -> Board | None:
    """Draw a board that meets the aim, its exit out of sight at the start, if this attempt comes to one."""
    grid = make_maze(rng, level_spec.openness)
    start = rng.choice(find_cells(grid, FLOOR))
    low, high = level_spec.moves
    exits = [cell for cell, moves in compute_distances(grid, start).items() if low <= moves <= high and not is_near(start, cell)]
    if not exits:
        return None
    put_letter(grid, EXIT, rng.choice(exits))
    put_letter(grid, START, start)
    return to_board(grid)


def build(rng: Random) -> PuzzleGame[Cell]:
    """Build the game from a random generator."""
    game_theme = draw_theme(rng)
    pictures = {EXIT: game_theme.make_exit(*game_theme.bright[:2]), AVATAR: game_theme.make_walker(game_theme.avatar)}
    return PuzzleGame(
        [PuzzleStage(FogPuzzle(draw_board(draw, rng, level_spec)), pictures) for level_spec in LEVEL_SPECS], game_theme
    )
