"""`demo:dusk`: walk to the exit before the bar runs out, of which every action takes a unit. Only what is next to the avatar is
drawn, and one bar is too short to look everywhere: a level is the same after a reset, so that a map of earlier attempts helps."""

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
from lawbook.worlds.demo.meter import Meter, MeterState, make_bar_pictures
from lawbook.worlds.demo.puzzle import AVATAR, PuzzleGame, PuzzleStage

NEAR = 1
"""How many blocks away, in rows and in columns, is still seen."""


class Dusk(Meter):
    def __init__(self, board: Board, n_units: int) -> None:
        super().__init__(board, n_units, pace=1)

    def find_hidden(self, state: MeterState) -> list[Cell]:
        """All but what is near and the row of the bar."""
        return [
            (row, column)
            for row, letters in enumerate(self.board[:-1])
            for column in range(len(letters))
            if not is_near(state.avatar, (row, column))
        ]


def is_near(one: Cell, other: Cell) -> bool:
    return abs(one[0] - other[0]) <= NEAR and abs(one[1] - other[1]) <= NEAR


class DuskLevelSpec(NamedTuple):
    """What a level should be like: share of inner walls taken out, units of a full bar (even), fewest moves (from, to), and how
    many times more blocks than units must be nearer than the exit, at least."""

    openness: float
    n_units: int
    moves: tuple[int, int]
    spread: float


LEVEL_SPECS = (
    DuskLevelSpec(0.5, 12, (7, 9), 1.5),
    DuskLevelSpec(0.5, 16, (11, 13), 2.5),
    DuskLevelSpec(0.45, 20, (14, 17), 3.0),
    DuskLevelSpec(0.4, 26, (18, 22), 3.0),
)


def draw(rng: Random, aim: DuskLevelSpec) -> Board | None:
    """A board that meets the aim, if this attempt comes to one."""
    grid = make_maze(rng, aim.openness)
    start = rng.choice(find_cells(grid, FLOOR))
    moves = compute_distances(grid, start)
    low, high = aim.moves
    exits = [
        cell
        for cell, n_moves in moves.items()
        if low <= n_moves <= high and sum(other < n_moves for other in moves.values()) >= aim.spread * aim.n_units
    ]
    if not exits:
        return None
    put_letter(grid, EXIT, rng.choice(exits))
    put_letter(grid, START, start)
    return to_board(grid)


def build(rng: Random) -> PuzzleGame[MeterState]:
    look = draw_theme(rng)
    full, frame, light = look.bright[:3]
    things = {EXIT: look.make_exit(frame, light), AVATAR: look.make_walker(look.avatar), **make_bar_pictures(look, full)}
    return PuzzleGame([PuzzleStage(Dusk(draw_board(draw, rng, aim), aim.n_units), things) for aim in LEVEL_SPECS], look)
