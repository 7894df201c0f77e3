"""`demo:push`: push boxes, one at a time, onto marks. Walls and other boxes stop a box, and so whoever pushes it."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from lawbook.worlds.demo.board import FLOOR, START, WALL, Board, Cell, Move, cells, drawn, found, lying, moved, put, room
from lawbook.worlds.demo.look import theme
from lawbook.worlds.demo.puzzle import AVATAR, Puzzle, PuzzleGame, Stage, explore

BOX, MARK = "$", "o"
SIDE = 7


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


def draw(rng: Random, aim: Aim) -> Board | None:
    """A board that meets the aim, if this attempt comes to one: boxes somewhere in a room, marks where they can be pushed."""
    grid = room(SIDE)
    start, *rest = rng.sample(cells(grid, FLOOR), 1 + aim.boxes + aim.walls)
    boxes = frozenset(rest[: aim.boxes])
    put(grid, START, start)
    put(grid, BOX, *boxes)
    put(grid, WALL, *rest[aim.boxes :])
    arranged: dict[frozenset[Cell], int] = {}  # the boxes -> fewest moves until they lie so
    for state, moves in explore(Push(drawn(grid))):
        arranged.setdefault(state.boxes, moves)
    low, high = aim.moves
    fitting = [marks for marks, moves in arranged.items() if low <= moves <= high and not marks & {start, *boxes}]
    if not fitting:
        return None
    put(grid, MARK, *rng.choice(fitting))
    return drawn(grid)


def build(rng: Random) -> PuzzleGame[State]:
    look = theme(rng)
    box, mark = look.bright[:2]
    things = {
        MARK: look.picture("    / mm / mm /    ", m=mark),
        BOX: look.picture("bbbb/b  b/b  b/bbbb", b=box),  # a mark shows through
        AVATAR: look.walker(look.avatar),
    }
    return PuzzleGame([Stage(Push(found(draw, rng, aim)), things) for aim in AIMS], look)
