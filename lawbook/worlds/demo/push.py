"""`demo:push`: push boxes, one at a time, onto marks. Walls and other boxes stop a box, and so whoever pushes it."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from lawbook.worlds.demo.board import FLOOR, START, WALL, Board, Cell, Grid, Move, at, cells, distances, drawn, lying, moved
from lawbook.worlds.demo.look import theme
from lawbook.worlds.demo.puzzle import AVATAR, Puzzle, PuzzleGame, Stage, explore

BOX, MARK = "$", "o"
SIZE = 7
"""Rows and columns, the outer walls included."""


class State(NamedTuple):
    """Where the avatar is, and where the boxes are."""

    avatar: Cell
    boxes: frozenset[Cell]


class Push(Puzzle[State]):
    def __init__(self, board: Board) -> None:
        super().__init__(board, State(cells(board, START)[0], frozenset(cells(board, BOX))))
        self._marks = frozenset(cells(board, MARK))

    def step(self, state: State, move: Move) -> State:
        new = moved(self.board, state.avatar, move)
        if new not in state.boxes:
            return State(new, state.boxes)
        beyond = moved(self.board, new, move)
        if beyond in state.boxes:  # another box, or itself, where a wall stopped it
            return state
        return State(new, state.boxes - {new} | {beyond})

    def won(self, state: State) -> bool:
        return state.boxes == self._marks

    def scene(self, state: State) -> Iterator[tuple[str, Cell]]:
        yield from lying(self.board, MARK)
        yield from ((BOX, box) for box in sorted(state.boxes))
        yield AVATAR, state.avatar


class Aim(NamedTuple):
    """What a level should be like: inner walls, boxes, fewest moves (from, to)."""

    walls: int
    boxes: int
    moves: tuple[int, int]


AIMS = (Aim(2, 1, (6, 9)), Aim(3, 2, (9, 14)), Aim(4, 2, (14, 20)), Aim(2, 3, (14, 22)))


def draw(rng: Random, aim: Aim) -> Board:
    """A board that meets the aim: boxes somewhere in a room, marks where one can push them. Raises RuntimeError after too many tries."""
    low, high = aim.moves
    for _ in range(1000):
        grid = room(rng, aim)
        start = Push(drawn(grid))
        ends: dict[frozenset[Cell], int] = {}  # for every arrangement of the boxes the fewest moves to it
        for state, moves in explore(start):
            ends.setdefault(state.boxes, moves)
        fitting = [boxes for boxes, moves in ends.items() if low <= moves <= high and not boxes & start.start.boxes]
        marks = rng.choice(fitting) if fitting else ()
        if marks and start.start.avatar not in marks:
            for row, column in marks:
                grid[row][column] = MARK
            return drawn(grid)
    raise RuntimeError(f"no board like {aim} was found")


def room(rng: Random, aim: Aim) -> Grid:
    """A connected room with the avatar and the boxes, without marks."""
    while True:
        grid = [[FLOOR if 0 < row < SIZE - 1 and 0 < column < SIZE - 1 else WALL for column in range(SIZE)] for row in range(SIZE)]
        start, *rest = rng.sample(cells(grid, FLOOR), 1 + aim.walls + aim.boxes)
        grid[start[0]][start[1]] = START
        for number, (row, column) in enumerate(rest):
            grid[row][column] = WALL if number < aim.walls else BOX
        if len(distances(grid, start)) == len(cells(grid, FLOOR + BOX)) + 1:
            return grid


def build(rng: Random) -> PuzzleGame[State]:
    look = theme(rng)
    box, mark = look.bright[:2]
    things = {
        MARK: look.picture("    / mm / mm /    ", m=mark),
        BOX: look.picture("bbbb/b  b/b  b/bbbb", b=box),  # a mark shows through
        AVATAR: look.walker(look.avatar),
    }
    return PuzzleGame([Stage(Push(draw(rng, aim)), things) for aim in AIMS], look)
