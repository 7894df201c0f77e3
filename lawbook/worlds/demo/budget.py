"""`demo:budget`: walk to the exit before the bar along the lower edge runs out. Every action takes one unit of it, a bump into a
wall too; a drop fills it up again, once. An empty bar is game over."""

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
    at,
    cells,
    distances,
    drawn,
    found,
    lying,
    maze,
    moved,
    put,
)
from lawbook.worlds.demo.look import theme
from lawbook.worlds.demo.puzzle import AVATAR, Puzzle, PuzzleGame, Stage

DROP = "d"
BAR = "bar"
"""A block of the bar: `bar0`, `bar1`, `bar2`, by the units left in it."""


class State(NamedTuple):
    """Where the avatar is, units left, drops that are used up."""

    avatar: Cell
    left: int
    gone: frozenset[Cell]


class Budget(Puzzle[State]):
    """full: units of a full bar, even."""

    def __init__(self, board: Board, full: int) -> None:
        super().__init__(board, State(cells(board, START)[0], full, frozenset()))
        self._full = full

    def step(self, state: State, move: Move) -> State:
        new = moved(self.board, state.avatar, move)
        if at(self.board, new) == DROP and new not in state.gone:
            return State(new, self._full, state.gone | {new})
        return State(new, state.left - 1, state.gone)

    def won(self, state: State) -> bool:
        return at(self.board, state.avatar) == EXIT

    def lost(self, state: State) -> bool:
        return state.left == 0 and not self.won(state)

    def scene(self, state: State) -> Iterator[tuple[str, Cell]]:
        for block in range(self._full // 2):
            yield f"{BAR}{min(max(state.left - 2 * block, 0), 2)}", (len(self.board) - 1, 1 + block)
        yield from ((letter, cell) for letter, cell in lying(self.board, EXIT + DROP) if cell not in state.gone)
        yield AVATAR, state.avatar


class Aim(NamedTuple):
    """What a level should be like: share of inner walls taken out, units of a full bar, drops, fewest moves of each leg (from, to):
    from the start to the first drop, from there to the next, from the last to the exit. No drop can be left out."""

    openness: float
    full: int
    drops: int
    leg: tuple[int, int]


AIMS = (Aim(0.6, 16, 0, (6, 9)), Aim(0.4, 22, 0, (14, 19)), Aim(0.35, 18, 1, (11, 16)), Aim(0.3, 16, 2, (10, 14)))


def draw(rng: Random, aim: Aim) -> Board | None:
    """A board that meets the aim, if this attempt comes to one: each stop is out of reach, by one full bar, of all stops before the
    last."""
    grid = maze(rng, aim.openness)
    stops = [rng.choice(cells(grid, FLOOR))]
    early: set[Cell] = set()
    low, high = aim.leg
    for _ in range(aim.drops + 1):
        moves = distances(grid, stops[-1])
        fitting = [cell for cell, n in moves.items() if low <= n <= high and cell not in early]
        if not fitting:
            return None
        stops.append(rng.choice(fitting))
        early.update(cell for cell, n in moves.items() if n <= aim.full)
    start, *drops, goal = stops
    put(grid, START, start)
    put(grid, DROP, *drops)
    put(grid, EXIT, goal)
    return drawn(grid)


def build(rng: Random) -> PuzzleGame[State]:
    look = theme(rng)
    full, frame, light = look.bright[:3]
    things = {
        EXIT: look.exit(frame, light),
        DROP: look.picture(" uu /uuuu/uuuu/ uu ", u=full),
        AVATAR: look.walker(look.avatar),
    }
    for units, drawing in enumerate(("    /eeee/eeee/    ", "    /uuee/uuee/    ", "    /uuuu/uuuu/    ")):
        things[f"{BAR}{units}"] = look.picture(drawing, u=full, e=look.dark)
    return PuzzleGame([Stage(Budget(found(draw, rng, aim), aim.full), things) for aim in AIMS], look)
