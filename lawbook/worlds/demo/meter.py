"""`demo:meter`: walk to the exit before the bar along the lower edge runs out. How many actions a unit of the bar lasts shows
nowhere, and is another number in every level. An empty bar is game over."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from lawbook.worlds.demo.board import (
    EXIT,
    FLOOR,
    START,
    Board,
    Cell,
    Move,
    compute_distances,
    draw_board,
    find_cells,
    find_items,
    get_letter,
    make_maze,
    move_cell,
    put_letter,
    to_board,
)
from lawbook.worlds.demo.look import Pixels, Theme, draw_theme
from lawbook.worlds.demo.puzzle import AVATAR, Puzzle, PuzzleGame, PuzzleStage

BAR = "bar"
"""A block of the bar: `bar0`, `bar1`, `bar2`, by the units left in it."""
PACES = (2, 3, 4, 5)
"""Actions that a unit lasts; each in one level, in an order drawn from the seed."""


class MeterState(NamedTuple):
    """Where the avatar is, and how many actions are left."""

    avatar: Cell
    n_left: int


class Meter(Puzzle[MeterState]):
    """n_units: of a full bar, even, two a block. pace: actions that a unit lasts; a bump into a wall is one too."""

    def __init__(self, board: Board, n_units: int, pace: int) -> None:
        super().__init__(board, MeterState(find_cells(board, START)[0], n_units * pace))
        self.n_units = n_units
        self.pace = pace

    def step(self, state: MeterState, move: Move) -> MeterState:
        return MeterState(move_cell(self.board, state.avatar, move), state.n_left - 1)

    def is_won(self, state: MeterState) -> bool:
        return get_letter(self.board, state.avatar) == EXIT

    def is_lost(self, state: MeterState) -> bool:
        return state.n_left == 0 and not self.is_won(state)

    def list_sprites(self, state: MeterState) -> Iterator[tuple[str, Cell]]:
        units_left = -(-state.n_left // self.pace)  # a unit is gone when the last of its actions is
        for block in range(self.n_units // 2):
            yield f"{BAR}{min(max(units_left - 2 * block, 0), 2)}", (len(self.board) - 1, 1 + block)
        yield from find_items(self.board, EXIT)
        yield AVATAR, state.avatar


class MeterLevelSpec(NamedTuple):
    """What a level should be like: share of inner walls taken out, actions of a full bar (at least), fewest moves (from, to)."""

    openness: float
    n_actions: int
    moves: tuple[int, int]


LEVEL_SPECS = (
    MeterLevelSpec(0.6, 14, (6, 9)),
    MeterLevelSpec(0.5, 20, (11, 15)),
    MeterLevelSpec(0.4, 27, (16, 21)),
    MeterLevelSpec(0.3, 34, (22, 28)),
)


def draw(rng: Random, aim: MeterLevelSpec) -> Board | None:
    """A board that meets the aim, if this attempt comes to one."""
    grid = make_maze(rng, aim.openness)
    start = rng.choice(find_cells(grid, FLOOR))
    low, high = aim.moves
    exits = [cell for cell, n_moves in compute_distances(grid, start).items() if low <= n_moves <= high]
    if not exits:
        return None
    put_letter(grid, EXIT, rng.choice(exits))
    put_letter(grid, START, start)
    return to_board(grid)


def make_bar_pictures(look: Theme, colour: int) -> dict[str, Pixels]:
    """The pictures of the blocks of a bar, by name."""
    drawings = ("    /eeee/eeee/    ", "    /uuee/uuee/    ", "    /uuuu/uuuu/    ")
    return {f"{BAR}{n}": look.make_picture(drawing, u=colour, e=look.dark) for n, drawing in enumerate(drawings)}


def build(rng: Random) -> PuzzleGame[MeterState]:
    look = draw_theme(rng)
    full, frame, light = look.bright[:3]
    things = {EXIT: look.make_exit(frame, light), AVATAR: look.make_walker(look.avatar), **make_bar_pictures(look, full)}
    stages = []
    for aim, pace in zip(LEVEL_SPECS, rng.sample(PACES, len(PACES)), strict=True):
        n_units = 2 * -(-aim.n_actions // (2 * pace))
        stages.append(PuzzleStage(Meter(draw_board(draw, rng, aim), n_units, pace), things))
    return PuzzleGame(stages, look)
