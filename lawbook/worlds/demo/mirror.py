"""`demo:mirror`: two avatars in two rooms walk at once, the second one reflected. Walls stop each by itself; when both are on the
places of their colours the level is completed."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from lawbook.worlds.demo.board import FLOOR, WALL, Board, Cell, Move, cells, distances, drawn, found, lying, maze, moved, put
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
        self.upright = upright
        self._places = [cell for letter in PLACES for cell in cells(board, letter)]

    def step(self, state: State, move: Move) -> State:
        down, right = move
        reflected = (down, -right) if self.upright else (-down, right)
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


def draw(rng: Random, aim: Aim, upright: bool) -> Board | None:
    """A board that meets the aim, if this attempt comes to one: drawn with the mirror upright, and turned over afterwards."""
    one, other = (maze(rng, aim.openness, aim.length, WIDTH) for _ in range(2))
    grid = [[*left, WALL, *right] for left, right in zip(one, other, strict=True)]
    floor = cells(grid, FLOOR)
    starts = [rng.choice([cell for cell in floor if (cell[1] > WIDTH) is beyond]) for beyond in (False, True)]
    for letter, start in zip(STARTS, starts, strict=True):
        put(grid, letter, start)
    alone = [distances(grid, start) for start in starts]
    low, high = aim.moves
    fitting = [
        state
        for state, moves in explore(Mirror(drawn(grid), upright=True))
        if low <= moves <= high
        and moves >= aim.more + max(alone[0][state.avatar], alone[1][state.reflected])
        and starts[0] != state.avatar
        and starts[1] != state.reflected
    ]
    if not fitting:
        return None
    for letter, place in zip(PLACES, rng.choice(fitting), strict=True):
        put(grid, letter, place)
    return drawn(grid if upright else list(zip(*grid, strict=True)))


def build(rng: Random) -> PuzzleGame[State]:
    """The seed says how the mirror stands, in every level the same."""
    upright = rng.random() < 0.5
    look = theme(rng)
    things = {AVATAR: look.walker(look.avatar), REFLECTED: look.walker(look.bright[0])}
    for place, colour in zip(PLACES, (look.avatar, look.bright[0]), strict=True):
        things[place] = look.picture("pppp/pffp/pffp/pppp", p=colour)
    stages = [Stage(Mirror(found(draw, rng, aim, upright), upright), things) for aim in AIMS]
    return PuzzleGame(stages, look, blinking=(AVATAR, REFLECTED))
