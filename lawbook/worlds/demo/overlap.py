"""`demo:overlap`: walk to the exit, over flowers and through ghosts, which are reflections of the avatar and pass through walls.

Where things share a block, one is drawn in front of the other. Which one is decided by the seed, for each single thing of a level;
it shows nowhere before they meet, and never matters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

from lawbook.worlds.demo.board import (
    EXIT,
    FLOOR,
    SIDE,
    START,
    Board,
    Cell,
    compute_distances,
    draw_board,
    find_cells,
    find_items,
    make_maze,
    put_letter,
    to_board,
)
from lawbook.worlds.demo.look import draw_theme
from lawbook.worlds.demo.puzzle import AVATAR, PuzzleGame, PuzzleStage, WalkPuzzle

FLOWER = "f"
GHOSTS = ("ghost0", "ghost1")
"""Reflected left to right, and top to bottom."""


class Overlap(WalkPuzzle):
    """ghosts: names of those in this level. order: of all things, numbered as `list_things` lists them, from back to front."""

    goal, harmless = EXIT, FLOWER

    def __init__(self, board: Board, ghosts: Sequence[str], order: Sequence[int]) -> None:
        super().__init__(board)
        self.ghosts = tuple(ghosts)
        self.order = tuple(order)

    def list_things(self, state: Cell) -> list[tuple[str, Cell]]:
        """(name, block) of what lies there, row by row, then of the ghosts, then of the avatar."""
        row, column = state
        reflections = (row, len(self.board[0]) - 1 - column), (len(self.board) - 1 - row, column)
        return [*find_items(self.board, EXIT + FLOWER), *zip(self.ghosts, reflections, strict=False), (AVATAR, state)]

    def list_sprites(self, state: Cell) -> Iterator[tuple[str, Cell]]:
        things = self.list_things(state)
        return (things[number] for number in self.order)


class OverlapLevelSpec(NamedTuple):
    """What a level should be like: share of inner walls taken out, flowers, ghosts, fewest moves (from, to)."""

    openness: float
    n_flowers: int
    n_ghosts: int
    moves: tuple[int, int]


LEVEL_SPECS = (
    OverlapLevelSpec(0.65, 16, 1, (6, 9)),
    OverlapLevelSpec(0.55, 18, 1, (10, 14)),
    OverlapLevelSpec(0.5, 20, 2, (14, 19)),
    OverlapLevelSpec(0.4, 24, 2, (19, 26)),
)


def draw(rng: Random, aim: OverlapLevelSpec) -> Board | None:
    """A board that meets the aim, if this attempt comes to one: start and exit lie on two sides of every mirror, so that the avatar
    meets each ghost on any way."""
    grid = make_maze(rng, aim.openness)
    start = rng.choice(find_cells(grid, FLOOR))
    middle = SIDE // 2
    mirrored = (1, 0)[: aim.n_ghosts]  # column, row
    low, high = aim.moves
    exits = [
        cell
        for cell, n_moves in compute_distances(grid, start).items()
        if low <= n_moves <= high and all((start[axis] - middle) * (cell[axis] - middle) < 0 for axis in mirrored)
    ]
    if not exits:
        return None
    put_letter(grid, EXIT, rng.choice(exits))
    put_letter(grid, START, start)
    put_letter(grid, FLOWER, *rng.sample(find_cells(grid, FLOOR), aim.n_flowers))
    return to_board(grid)


def build(rng: Random) -> PuzzleGame[Cell]:
    look = draw_theme(rng)
    frame, light, petal, *ghost_colours = look.bright[:5]
    things = {
        EXIT: look.make_exit(frame, light),
        FLOWER: look.make_picture("p  p/    /    /p  p", p=petal),
        AVATAR: look.make_walker(look.avatar),
    }
    for name, colour in zip(GHOSTS, ghost_colours, strict=True):
        things[name] = look.make_picture(" gg /gege/gggg/g  g", g=colour, e=look.eyes)
    stages = []
    for aim in LEVEL_SPECS:
        board = draw_board(draw, rng, aim)
        n_things = 1 + aim.n_flowers + aim.n_ghosts + 1
        order = rng.sample(range(n_things), n_things)
        stages.append(PuzzleStage(Overlap(board, GHOSTS[: aim.n_ghosts], order), things))
    return PuzzleGame(stages, look, blinking=(AVATAR, EXIT, *GHOSTS))  # whichever of them is in front
