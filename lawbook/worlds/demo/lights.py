"""`demo:lights`: a click on a lamp switches it and the lamps beside it, above and below. When all are lit the level is completed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random
from typing import NamedTuple

from lawbook.worlds.demo.board import FLOOR, MOVES, WALL, Board, Cell, Move, cells, drawn
from lawbook.worlds.demo.look import theme
from lawbook.worlds.demo.puzzle import Puzzle, PuzzleGame, Stage, explore

LIT, DARK = "L", "D"
SIZE = 7

Dark = frozenset[Cell]
"""A state: the lamps that are dark."""


class Lights(Puzzle[Dark]):
    def __init__(self, board: Board) -> None:
        super().__init__(board, frozenset(cells(board, DARK)))
        self.lamps = cells(board, LIT + DARK)
        self.moves = self.lamps
        self._switched = {lamp: frozenset({lamp, *beside(lamp)}).intersection(self.lamps) for lamp in self.lamps}

    def step(self, state: Dark, move: Move) -> Dark:
        return state ^ self._switched.get(move, frozenset())

    def won(self, state: Dark) -> bool:
        return not state

    def scene(self, state: Dark) -> Iterator[tuple[str, Cell]]:
        return ((DARK if lamp in state else LIT, lamp) for lamp in self.lamps)


def beside(cell: Cell) -> list[Cell]:
    return [(cell[0] + down, cell[1] + right) for down, right in MOVES.values()]


class Aim(NamedTuple):
    """What a level should be like: lamps, fewest clicks."""

    lamps: int
    clicks: int


AIMS = (Aim(5, 3), Aim(7, 4), Aim(9, 5), Aim(11, 6))


def draw(rng: Random, aim: Aim) -> Board:
    """A board that meets the aim. Raises RuntimeError after too many tries.

    Clicking the same lamps again takes everything back, so as many clicks lead from a state to all lit as the other way round.
    """
    for _ in range(1000):
        lamps = cluster(rng, aim.lamps)
        dark = [state for state, clicks in explore(Unlit(board(lamps, ()))) if clicks == aim.clicks]
        if dark:
            return board(lamps, rng.choice(dark))
    raise RuntimeError(f"no board like {aim} was found")


class Unlit(Lights):
    """The same without an end, to see how far everything is from all lit."""

    def won(self, state: Dark) -> bool:
        return False


def cluster(rng: Random, lamps: int) -> list[Cell]:
    """Blocks of the board that hang together."""
    inner = [(row, column) for row in range(1, SIZE - 1) for column in range(1, SIZE - 1)]
    found = [(SIZE // 2, SIZE // 2)]
    while len(found) < lamps:
        found.append(rng.choice([cell for cell in inner if cell not in found and any(near in found for near in beside(cell))]))
    return found


def board(lamps: Iterable[Cell], dark: Iterable[Cell]) -> Board:
    grid = [[FLOOR if 0 < row < SIZE - 1 and 0 < column < SIZE - 1 else WALL for column in range(SIZE)] for row in range(SIZE)]
    for letter, those in ((LIT, lamps), (DARK, dark)):
        for row, column in those:
            grid[row][column] = letter
    return drawn(grid)


def build(rng: Random) -> PuzzleGame[Dark]:
    look = theme(rng)
    lit, dark = look.bright[:2]
    things = {
        LIT: look.picture(" ll /lggl/lggl/ ll ", l=lit, g=look.lit),
        DARK: look.picture(" ll /lffl/lffl/ ll ", l=dark),
    }
    return PuzzleGame([Stage(Lights(draw(rng, aim)), things) for aim in AIMS], look, blinking=(LIT,), clicks=True)
