"""`demo:keys`: walk to the exit. A door stops whoever lacks the key of its colour; keys that are held are shown in the strip, and a
door once entered is gone. Touching a hazard is game over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from lawbook.worlds.demo.board import (
    EXIT,
    FLOOR,
    HAZARD,
    START,
    WALL,
    Board,
    Cell,
    Grid,
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
from lawbook.worlds.demo.puzzle import AVATAR, Puzzle, PuzzleGame, Stage, fewest

KEYS = "abc"
DOORS = KEYS.upper()


class State(NamedTuple):
    """Where the avatar is, and what is gone: keys that were picked up, doors that were opened."""

    avatar: Cell
    gone: frozenset[Cell]


class Keys(Puzzle[State]):
    def __init__(self, board: Board) -> None:
        super().__init__(board, State(cells(board, START)[0], frozenset()))
        self._key = {at(board, cell).upper(): cell for cell in cells(board, KEYS)}

    def step(self, state: State, move: Move) -> State:
        new = moved(self.board, state.avatar, move)
        letter = at(self.board, new)
        if letter in DOORS and self._key[letter] not in state.gone:
            return state
        return State(new, state.gone | {new} if letter in KEYS + DOORS else state.gone)

    def won(self, state: State) -> bool:
        return at(self.board, state.avatar) == EXIT

    def lost(self, state: State) -> bool:
        return at(self.board, state.avatar) == HAZARD

    def scene(self, state: State) -> Iterator[tuple[str, Cell]]:
        for letter, cell in lying(self.board, EXIT + HAZARD + KEYS + DOORS):
            if cell not in state.gone:
                yield letter, cell
            elif letter in KEYS:
                yield letter, (-1, len(self.board[0]) - 1 - KEYS.index(letter))
        yield AVATAR, state.avatar


class Aim(NamedTuple):
    """What a level should be like: share of inner walls taken out, keys, hazards, fewest moves (from, to)."""

    openness: float
    keys: int
    hazards: int
    moves: tuple[int, int]


AIMS = (Aim(0.4, 1, 0, (10, 18)), Aim(0.3, 1, 3, (16, 26)), Aim(0.25, 2, 4, (24, 38)), Aim(0.2, 3, 5, (34, 52)))


def draw(rng: Random, aim: Aim) -> Board | None:
    """A board that meets the aim and on which no door can be done without, if this attempt comes to one."""
    grid = maze(rng, aim.openness)
    start, goal, *hazards = rng.sample(cells(grid, FLOOR), 2 + aim.hazards)
    put(grid, START, start)
    put(grid, EXIT, goal)
    put(grid, HAZARD, *hazards)
    if not lock(rng, grid, start, goal, aim.keys):
        return None
    board = drawn(grid)
    moves = fewest(Keys(board))
    return board if moves and aim.moves[0] <= moves <= aim.moves[1] else None


def lock(rng: Random, grid: Grid, start: Cell, goal: Cell, keys: int) -> bool:
    """Put in doors, each on every way from the start to the goal or to an earlier door's key, and their keys in front of all doors.
    False where there is no room for one."""
    wanted = [goal]
    for key, door in list(zip(KEYS, DOORS, strict=True))[:keys]:
        places = straits(grid, start, rng.choice(wanted))
        if not places:
            return False
        put(grid, door, rng.choice(places))
        moves = distances(grid, start, WALL + HAZARD + DOORS)
        places = [cell for cell, n in moves.items() if n > 2 and at(grid, cell) == FLOOR]
        if not places:
            return False
        wanted.append(rng.choice(places))
        put(grid, key, wanted[-1])
    return True


def straits(grid: Grid, start: Cell, goal: Cell) -> list[Cell]:
    """Floor blocks, not beside the start, that lie on every way from the start to the goal."""
    there, back = distances(grid, start, WALL + HAZARD), distances(grid, goal, WALL + HAZARD)
    if goal not in there:
        return []
    shortest = [cell for cell in there if there[cell] + back[cell] == there[goal]]
    alone = Counter(there[cell] for cell in shortest)
    places = []
    for cell in shortest:
        if alone[there[cell]] == 1 and there[cell] > 1 and at(grid, cell) == FLOOR:
            put(grid, WALL, cell)
            if goal not in distances(grid, start, WALL + HAZARD):
                places.append(cell)
            put(grid, FLOOR, cell)
    return places


def build(rng: Random) -> PuzzleGame[State]:
    look = theme(rng)
    *colours, frame, fire = look.bright[:5]
    things = {EXIT: look.exit(frame, look.lit), HAZARD: look.hazard(fire, look.dark), AVATAR: look.walker(look.avatar)}
    for key, door, colour in zip(KEYS, DOORS, colours, strict=True):
        things[key] = look.picture("kkk /k kk/kkk /  k ", k=colour)
        things[door] = look.picture("dddd/dfdf/dfdf/dddd", d=colour)
    return PuzzleGame([Stage(Keys(found(draw, rng, aim)), things) for aim in AIMS], look)
