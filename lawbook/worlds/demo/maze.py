"""`demo:maze`: walk to the exit, past walls and hazards. Touching a hazard is game over."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from lawbook.worlds.arcgame import ArcGameWorld
from lawbook.worlds.demo import board
from lawbook.worlds.demo.board import (
    FLOOR,
    START,
    WALL,
    Board,
    WalkingGame,
    cells,
    distances,
    level,
    maze,
    picture,
    shortest,
    theme,
)

EXIT, HAZARD = "E", "X"


class Aim(NamedTuple):
    """What a level should be like: share of inner walls taken out, hazards, fewest moves (from, to), and how many moves more
    than if the hazards were harmless, at least."""

    openness: float
    hazards: int
    moves: tuple[int, int]
    detour: int


AIMS = (
    Aim(0.70, 0, (5, 8), 0),
    Aim(0.45, 3, (9, 13), 0),
    Aim(0.40, 6, (13, 18), 2),
    Aim(0.30, 8, (18, 24), 2),
    Aim(0.25, 9, (24, 32), 4),
)


def draw(rng: Random, aim: Aim) -> Board:
    """A board that meets the aim. Raises RuntimeError after too many tries."""
    for _ in range(5000):
        grid = maze(rng, aim.openness)
        floor = cells(grid, FLOOR)
        rng.shuffle(floor)
        start = floor.pop()
        for row, column in floor[: aim.hazards]:
            grid[row][column] = HAZARD
        safe, plain = distances(grid, start, (WALL, HAZARD)), distances(grid, start)
        low, high = aim.moves
        exits = [cell for cell, moves in safe.items() if low <= moves <= high and moves - plain[cell] >= aim.detour]
        if exits:
            row, column = rng.choice(exits)
            grid[row][column] = EXIT
            grid[start[0]][start[1]] = START
            return tuple("".join(line) for line in grid)
    raise RuntimeError(f"no maze like {aim} was found")


def boards(rng: Random) -> tuple[Board, ...]:
    return tuple(draw(rng, aim) for aim in AIMS)


class Maze(WalkingGame):
    def touch(self, met: set[str]) -> None:
        if HAZARD in met:
            self.lose()
        elif EXIT in met:
            self.complete()


def build(rng: Random) -> tuple[Maze, tuple[int, ...]]:
    """The game and its shortest solutions."""
    look = theme(rng)
    door, light, fire, ember = look.bright[:4]
    things = {
        EXIT: picture("dddd/dlld/dlld/dddd", {"d": door, "l": light}),
        HAZARD: picture("xhxh/hxhx/xhxh/hxhx", {"x": fire, "h": ember}),
    }
    drawn = boards(rng)
    levels = [level(one, number, len(drawn), look, things) for number, one in enumerate(drawn)]
    return Maze(levels, look), tuple(shortest(one, EXIT, (WALL, HAZARD)) for one in drawn)


def world(seed: int) -> ArcGameWorld:
    return board.world(build, "maze", seed)
