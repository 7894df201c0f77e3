"""Boards of letters, on which every demo game is laid out: random mazes, where things stand, and shortest ways.

A board is rows of letters, one a block: `#` wall, `.` floor, `@` the avatar's start, any other letter a thing of the game's own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from random import Random

Board = tuple[str, ...]
Grid = list[list[str]]
"""A board that is still being drawn."""
Cell = tuple[int, int]
"""(row, column) of a block, from 0."""
Move = tuple[int, int]
"""(rows, columns) of a step."""

SIDE = 15
"""Rows and columns of the largest board that is seen as a whole."""
UP, DOWN, LEFT, RIGHT = (-1, 0), (1, 0), (0, -1), (0, 1)
MOVES: dict[int, Move] = {1: UP, 2: DOWN, 3: LEFT, 4: RIGHT}
"""Action id -> step, as ARC-AGI-3 has them."""

WALL, FLOOR, START = "#", ".", "@"
EXIT, HAZARD = "E", "X"
"""What several games have: it completes the level; it is game over."""


def make_maze(rng: Random, openness: float, rows: int = SIDE, columns: int = SIDE) -> Grid:
    """Draw a random walled maze of `rows` x `columns` letters, both odd.

    openness: the share, 0 to 1, of its inner walls that is then taken out.
    """
    grid = [[WALL] * columns for _ in range(rows)]
    stack = [(1, 1)]
    grid[1][1] = FLOOR
    while stack:
        row, column = stack[-1]
        neighbours = [
            (row + 2 * down, column + 2 * right)
            for down, right in MOVES.values()
            if 0 < row + 2 * down < rows and 0 < column + 2 * right < columns and grid[row + 2 * down][column + 2 * right] == WALL
        ]
        if not neighbours:
            stack.pop()
            continue
        neighbour = rng.choice(neighbours)
        grid[(row + neighbour[0]) // 2][(column + neighbour[1]) // 2] = FLOOR
        grid[neighbour[0]][neighbour[1]] = FLOOR
        stack.append(neighbour)
    inner = [(r, c) for r in range(1, rows - 1) for c in range(1, columns - 1) if grid[r][c] == WALL and (r + c) % 2]
    for row, column in rng.sample(inner, round(openness * len(inner))):
        grid[row][column] = FLOOR
    for row in range(2, rows - 1, 2):  # a pillar that no wall touches any more is in nobody's way
        for column in range(2, columns - 1, 2):
            if all(grid[row + down][column + right] == FLOOR for down, right in MOVES.values()):
                grid[row][column] = FLOOR
    return grid


def make_room(side: int) -> Grid:
    """Make a square of floor with walls around it, `side` x `side` letters."""
    inner_row = [WALL, *FLOOR * (side - 2), WALL]
    return [[WALL] * side, *(inner_row.copy() for _ in range(side - 2)), [WALL] * side]


def put_letter(grid: Grid, letter: str, *positions: Cell) -> None:
    """Put a letter on each of these blocks."""
    for row, column in positions:
        grid[row][column] = letter


def to_board(grid: Sequence[Sequence[str]]) -> Board:
    """Return the grid as a board, which does not change any more."""
    return tuple("".join(row) for row in grid)


def draw_board[**P](attempt: Callable[P, Board | None], *args: P.args, **kwargs: P.kwargs) -> Board:
    """Return the first board that comes of an attempt with these arguments. Raises RuntimeError after too many."""
    for _ in range(5000):
        board = attempt(*args, **kwargs)
        if board is not None:
            return board
    raise RuntimeError(f"no board like {args[1:]} was found")


def find_cells(board: Sequence[Sequence[str]], letters: str) -> list[Cell]:
    """List where any of `letters` stands, row by row."""
    return [(r, c) for r, row in enumerate(board) for c, letter in enumerate(row) if letter in letters]


def find_items(board: Sequence[Sequence[str]], letters: str) -> list[tuple[str, Cell]]:
    """List (letter, block) of everything on the board that is one of `letters`, row by row."""
    return [(get_letter(board, cell), cell) for cell in find_cells(board, letters)]


def get_letter(board: Sequence[Sequence[str]], cell: Cell) -> str:
    """Return the letter on a block."""
    return board[cell[0]][cell[1]]


def move_cell(board: Sequence[Sequence[str]], cell: Cell, move: Move, blocked: Collection[str] = WALL) -> Cell:
    """Return the block that a step leads to: the same one where a letter of `blocked` is in the way."""
    target = cell[0] + move[0], cell[1] + move[1]
    return cell if get_letter(board, target) in blocked else target


def compute_distances(board: Sequence[Sequence[str]], start: Cell, blocked: Collection[str] = WALL) -> dict[Cell, int]:
    """Count the fewest moves from `start` to every block that can be reached, breadth-first.

    Letters of `blocked` are not entered.
    """
    moves, queue = {start: 0}, deque([start])
    while queue:
        cell = queue.popleft()
        for move in MOVES.values():
            target = move_cell(board, cell, move, blocked)
            if target not in moves:
                moves[target] = moves[cell] + 1
                queue.append(target)
    return moves
