"""`demo:maze`: walk to the exit, past walls and hazards. Touching a hazard is game over."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from lawbook.worlds.demo.board import EXIT, FLOOR, HAZARD, START, WALL, Board, Cell, cells, distances, drawn, found, maze, put
from lawbook.worlds.demo.look import theme
from lawbook.worlds.demo.puzzle import AVATAR, PuzzleGame, Stage, Walk


class Maze(Walk):
    goal, hazard = EXIT, HAZARD


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


def draw(rng: Random, aim: Aim) -> Board | None:
    """A board that meets the aim, if this attempt comes to one."""
    grid = maze(rng, aim.openness)
    floor = cells(grid, FLOOR)
    rng.shuffle(floor)
    start = floor.pop()
    put(grid, HAZARD, *floor[: aim.hazards])
    safe, plain = distances(grid, start, WALL + HAZARD), distances(grid, start)
    low, high = aim.moves
    exits = [cell for cell, moves in safe.items() if low <= moves <= high and moves - plain[cell] >= aim.detour]
    if not exits:
        return None
    put(grid, EXIT, rng.choice(exits))
    put(grid, START, start)
    return drawn(grid)


def build(rng: Random) -> PuzzleGame[Cell]:
    look = theme(rng)
    door, light, fire, ember = look.bright[:4]
    things = {
        EXIT: look.exit(door, light),
        HAZARD: look.hazard(fire, ember),
        AVATAR: look.walker(look.avatar),
    }
    return PuzzleGame([Stage(Maze(found(draw, rng, aim)), things) for aim in AIMS], look)
