"""`demo:lights`: a click on a lamp switches it and those beside it, above it and below. All lit: the level is completed."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from lawbook.worlds.demo.board import FLOOR, MOVES, Board, Cell, Move, cells, drawn, found, put, room
from lawbook.worlds.demo.look import theme
from lawbook.worlds.demo.puzzle import Puzzle, PuzzleGame, Stage, explore

LIT, DARK = "L", "D"
SIDE = 7

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


class Endless(Lights):
    """The same without an end, to see how far everything is from all lit."""

    def won(self, state: Dark) -> bool:
        return False


def draw(rng: Random, aim: Aim) -> Board | None:
    """A board that meets the aim, if this attempt comes to one.

    Clicking the same lamps once more takes everything back, so that as many clicks lead from a state to all lit as the other way
    round.
    """
    grid = room(SIDE)
    lamps = cluster(rng, cells(grid, FLOOR), aim.lamps)
    put(grid, LIT, *lamps)
    fitting = [dark for dark, clicks in explore(Endless(drawn(grid))) if clicks == aim.clicks]
    if not fitting:
        return None
    put(grid, DARK, *rng.choice(fitting))
    return drawn(grid)


def cluster(rng: Random, among: list[Cell], size: int) -> list[Cell]:
    """So many of the blocks, hanging together."""
    grown = [among[len(among) // 2]]
    while len(grown) < size:
        grown.append(rng.choice([cell for cell in among if cell not in grown and any(near in grown for near in beside(cell))]))
    return grown


def build(rng: Random) -> PuzzleGame[Dark]:
    look = theme(rng)
    lit, dark = look.bright[:2]
    things = {
        LIT: look.picture(" ll /lggl/lggl/ ll ", l=lit, g=look.lit),
        DARK: look.picture(" ll /lffl/lffl/ ll ", l=dark),
    }
    return PuzzleGame([Stage(Lights(found(draw, rng, aim)), things) for aim in AIMS], look, blinking=(LIT,), clicks=True)
