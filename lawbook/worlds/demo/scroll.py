"""`demo:scroll`: walk to the exit of a board that is larger than what is seen of it at once. The view follows the avatar, as far as
the edges of the board; what lies outside is not seen before one comes near."""

from __future__ import annotations

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
    make_maze,
    put_letter,
    to_board,
)
from lawbook.worlds.demo.look import BLOCK, draw_theme, make_strip
from lawbook.worlds.demo.puzzle import AVATAR, PuzzleGame, PuzzleStage, WalkPuzzle


class Scroll(WalkPuzzle):
    goal = EXIT

    def corner(self, state: Cell) -> Cell:
        """The upper left block of the view: SIDE x SIDE blocks, the avatar in the middle unless an edge is near."""
        return find_corner(state, len(self.board), len(self.board[0]))


def find_corner(avatar: Cell, n_rows: int, n_columns: int) -> Cell:
    """The upper left block of the view on a board of so many rows and columns."""
    top, left = (min(max(place - SIDE // 2, 0), size - SIDE) for place, size in zip(avatar, (n_rows, n_columns), strict=True))
    return top, left


def is_in_view(corner: Cell, cell: Cell) -> bool:
    return all(0 <= place - first < SIDE for place, first in zip(cell, corner, strict=True))


class ScrollGame(PuzzleGame[Cell]):
    """The camera moves over the level; the strip stays where it is on the screen, in front of the board."""

    puzzle: Scroll

    def _draw_sprites(self) -> None:
        super()._draw_sprites()
        top, left = self.puzzle.corner(self.state)
        self.camera.x, self.camera.y = BLOCK * left, BLOCK * top
        view = [letters[left : left + SIDE] for letters in self.puzzle.board[top : top + SIDE]]
        header = make_strip(tuple(view), self.level_index, len(self.stages), self.theme)
        self.current_level.add_sprite(header.set_position(self.camera.x, self.camera.y))


class ScrollLevelSpec(NamedTuple):
    """What a level should be like: share of inner walls taken out, rows and columns (odd), fewest moves (from, to)."""

    openness: float
    size: tuple[int, int]
    moves: tuple[int, int]


LEVEL_SPECS = (
    ScrollLevelSpec(0.6, (15, 25), (10, 14)),
    ScrollLevelSpec(0.55, (25, 15), (14, 19)),
    ScrollLevelSpec(0.5, (23, 25), (20, 27)),
    ScrollLevelSpec(0.45, (31, 31), (28, 38)),
)


def draw(rng: Random, aim: ScrollLevelSpec) -> Board | None:
    """A board that meets the aim, its exit out of view at the start, if this attempt comes to one."""
    grid = make_maze(rng, aim.openness, *aim.size)
    start = rng.choice(find_cells(grid, FLOOR))
    corner = find_corner(start, *aim.size)
    low, high = aim.moves
    exits = [
        cell for cell, n_moves in compute_distances(grid, start).items() if low <= n_moves <= high and not is_in_view(corner, cell)
    ]
    if not exits:
        return None
    put_letter(grid, EXIT, rng.choice(exits))
    put_letter(grid, START, start)
    return to_board(grid)


def build(rng: Random) -> ScrollGame:
    look = draw_theme(rng)
    things = {EXIT: look.make_exit(*look.bright[:2]), AVATAR: look.make_walker(look.avatar)}
    return ScrollGame([PuzzleStage(Scroll(draw_board(draw, rng, aim)), things) for aim in LEVEL_SPECS], look)
