"""`demo:push`: push boxes, one at a time, onto marks. Walls and other boxes stop a box, and so whoever pushes it."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from lawbook.worlds.demo.board import (
    FLOOR,
    START,
    WALL,
    Board,
    Cell,
    Move,
    draw_board,
    find_cells,
    find_items,
    make_room,
    move_cell,
    put_letter,
    to_board,
)
from lawbook.worlds.demo.look import draw_theme
from lawbook.worlds.demo.puzzle import AVATAR, Puzzle, PuzzleGame, PuzzleStage, explore

BOX, MARK = "$", "o"
SIDE = 7


class PushState(NamedTuple):
    """Where the avatar is, and where the boxes are."""

    avatar: Cell
    boxes: frozenset[Cell]


class PushPuzzle(Puzzle[PushState]):
    def __init__(self, board: Board) -> None:
        super().__init__(board, PushState(find_cells(board, START)[0], frozenset(find_cells(board, BOX))))
        self._marks = frozenset(find_cells(board, MARK))

    def step(self, state: PushState, move: Move) -> PushState:
        target = move_cell(self.board, state.avatar, move)
        if target not in state.boxes:
            return PushState(target, state.boxes)
        beyond = move_cell(self.board, target, move)
        if beyond in state.boxes:  # another box, or itself, where a wall stopped it
            return state
        return PushState(target, state.boxes - {target} | {beyond})

    def is_won(self, state: PushState) -> bool:
        return state.boxes == self._marks

    def list_sprites(self, state: PushState) -> Iterator[tuple[str, Cell]]:
        yield from find_items(self.board, MARK)
        yield from ((BOX, box) for box in sorted(state.boxes))
        yield AVATAR, state.avatar


class PushLevelSpec(NamedTuple):
    """What a level should be like: inner walls, boxes, fewest moves (from, to)."""

    walls: int
    boxes: int
    moves: tuple[int, int]


LEVEL_SPECS = (
    PushLevelSpec(2, 1, (6, 9)),
    PushLevelSpec(3, 2, (9, 14)),
    PushLevelSpec(4, 2, (14, 20)),
    PushLevelSpec(2, 3, (14, 22)),
)


def draw(rng: Random, level_spec: PushLevelSpec) -> Board | None:
    """Draw a board that meets the aim, if this attempt comes to one: boxes somewhere in a room, marks where they can be pushed."""
    grid = make_room(SIDE)
    start, *free_cells = rng.sample(find_cells(grid, FLOOR), 1 + level_spec.boxes + level_spec.walls)
    boxes = frozenset(free_cells[: level_spec.boxes])
    put_letter(grid, START, start)
    put_letter(grid, BOX, *boxes)
    put_letter(grid, WALL, *free_cells[level_spec.boxes :])
    fewest_moves: dict[frozenset[Cell], int] = {}  # the boxes -> fewest moves until they lie so
    for state, moves in explore(PushPuzzle(to_board(grid))):
        fewest_moves.setdefault(state.boxes, moves)
    low, high = level_spec.moves
    candidates = [marks for marks, moves in fewest_moves.items() if low <= moves <= high and not marks & {start, *boxes}]
    if not candidates:
        return None
    put_letter(grid, MARK, *rng.choice(candidates))
    return to_board(grid)


def build(rng: Random) -> PuzzleGame[PushState]:
    """Build the game from a random generator."""
    game_theme = draw_theme(rng)
    box, mark = game_theme.bright[:2]
    pictures = {
        MARK: game_theme.make_picture("    / mm / mm /    ", m=mark),
        BOX: game_theme.make_picture("bbbb/b  b/b  b/bbbb", b=box),  # a mark shows through
        AVATAR: game_theme.make_walker(game_theme.avatar),
    }
    return PuzzleGame(
        [PuzzleStage(PushPuzzle(draw_board(draw, rng, level_spec)), pictures) for level_spec in LEVEL_SPECS], game_theme
    )
