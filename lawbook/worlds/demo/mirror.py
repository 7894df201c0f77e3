"""`demo:mirror`: two avatars in two rooms walk at once, the second one reflected. Walls stop each by itself; when both are on the
places of their colours the level is completed."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from lawbook.worlds.demo.board import FLOOR, WALL, Board, Cell, Move, cells, distances, drawn, lying, maze, moved
from lawbook.worlds.demo.look import theme
from lawbook.worlds.demo.puzzle import AVATAR, Puzzle, PuzzleGame, Stage, explore

STARTS, PLACES = "@&", "pq"
"""Of the one that walks as told and of the one that is reflected."""
REFLECTED = "reflected"


class State(NamedTuple):
    avatar: Cell
    reflected: Cell


class Mirror(Puzzle[State]):
    """upright: the mirror stands upright, so that left and right change places; otherwise up and down do."""

    def __init__(self, board: Board, upright: bool) -> None:
        super().__init__(board, State(*(cells(board, letter)[0] for letter in STARTS)))
        self._upright = upright
        self._places = [cell for letter in PLACES for cell in cells(board, letter)]

    def step(self, state: State, move: Move) -> State:
        down, right = move
        reflected = (down, -right) if self._upright else (-down, right)
        return State(moved(self.board, state.avatar, move), moved(self.board, state.reflected, reflected))

    def won(self, state: State) -> bool:
        return list(state) == self._places

    def scene(self, state: State) -> Iterator[tuple[str, Cell]]:
        yield from lying(self.board, PLACES)
        yield AVATAR, state.avatar
        yield REFLECTED, state.reflected


class Aim(NamedTuple):
    """What a level should be like: share of inner walls taken out, length of the rooms, fewest moves (from, to), and how many
    moves more than the slower of the two would need alone, at least."""

    openness: float
    length: int
    moves: tuple[int, int]
    more: int


AIMS = (Aim(0.7, 7, (5, 8), 1), Aim(0.6, 9, (8, 12), 2), Aim(0.5, 11, (12, 17), 3), Aim(0.4, 13, (16, 22), 4))
WIDTH = 7
"""Of a room across the mirror, the walls included."""


def draw(rng: Random, aim: Aim, upright: bool) -> Board:
    """A board that meets the aim, drawn with the mirror upright and turned over afterwards. Raises RuntimeError after too many
    tries."""
    low, high = aim.moves
    for _ in range(1000):
        one, other = (maze(rng, aim.openness, aim.length, WIDTH) for _ in range(2))
        grid = [[*left, WALL, *right] for left, right in zip(one, other, strict=True)]
        floor = cells(grid, FLOOR)
        starts = rng.choice([c for c in floor if c[1] < WIDTH]), rng.choice([c for c in floor if c[1] > WIDTH])
        for letter, (row, column) in zip(STARTS, starts, strict=True):
            grid[row][column] = letter
        alone = [distances(grid, start) for start in starts]
        ends = [
            state
            for state, moves in explore(Mirror(drawn(grid), upright=True))
            if low <= moves <= high and moves >= aim.more + max(from_[cell] for from_, cell in zip(alone, state, strict=True))
        ]
        ends = [state for state in ends if not set(state) & set(starts)]
        if ends:
            for letter, (row, column) in zip(PLACES, rng.choice(ends), strict=True):
                grid[row][column] = letter
            return drawn(grid if upright else list(zip(*grid, strict=True)))
    raise RuntimeError(f"no board like {aim} was found")


def build(rng: Random) -> PuzzleGame[State]:
    """The seed says how the mirror stands, in every level the same."""
    look = theme(rng)
    upright = rng.random() < 0.5
    things = {AVATAR: look.walker(look.avatar), REFLECTED: look.walker(look.bright[0])}
    for place, colour in zip(PLACES, (look.avatar, look.bright[0]), strict=True):
        things[place] = look.picture("pppp/pffp/pffp/pppp", p=colour)
    stages = [Stage(Mirror(draw(rng, aim, upright), upright), things) for aim in AIMS]
    return PuzzleGame(stages, look, blinking=(AVATAR, REFLECTED))
