"""`demo:maze`: walk to the exit, past walls and hazards. Touching a hazard is game over."""

from __future__ import annotations

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
    compute_distances,
    draw_board,
    find_cells,
    make_maze,
    put_letter,
    to_board,
)
from lawbook.worlds.demo.look import draw_theme
from lawbook.worlds.demo.puzzle import AVATAR, PuzzleGame, PuzzleStage, WalkPuzzle


class MazePuzzle(WalkPuzzle):
    goal, hazard = EXIT, HAZARD


class MazeLevelSpec(NamedTuple):
    """What a level should be like: share of inner walls taken out, hazards, fewest moves (from, to), and how many moves more
    than if the hazards were harmless, at least."""

    openness: float
    hazards: int
    moves: tuple[int, int]
    detour: int


LEVEL_SPECS = (
    MazeLevelSpec(0.70, 0, (5, 8), 0),
    MazeLevelSpec(0.45, 3, (9, 13), 0),
    MazeLevelSpec(0.40, 6, (13, 18), 2),
    MazeLevelSpec(0.30, 8, (18, 24), 2),
    MazeLevelSpec(0.25, 9, (24, 32), 4),
)


def draw(rng: Random, level_spec: MazeLevelSpec) -> Board | None:
    """Draw a board that meets the aim, if this attempt comes to one."""
    grid = make_maze(rng, level_spec.openness)
    floor = find_cells(grid, FLOOR)
    rng.shuffle(floor)
    start = floor.pop()
    put_letter(grid, HAZARD, *floor[: level_spec.hazards])
    safe_distances, plain_distances = compute_distances(grid, start, WALL + HAZARD), compute_distances(grid, start)
    low, high = level_spec.moves
    exits = [
        cell
        for cell, moves in safe_distances.items()
        if low <= moves <= high and moves - plain_distances[cell] >= level_spec.detour
    ]
    if not exits:
        return None
    put_letter(grid, EXIT, rng.choice(exits))
    put_letter(grid, START, start)
    return to_board(grid)


def build(rng: Random) -> PuzzleGame[Cell]:
    """Build the game from a random generator."""
    game_theme = draw_theme(rng)
    door, light, fire, ember = game_theme.bright[:4]
    pictures = {
        EXIT: game_theme.make_exit(door, light),
        HAZARD: game_theme.make_hazard(fire, ember),
        AVATAR: game_theme.make_walker(game_theme.avatar),
    }
    return PuzzleGame(
        [PuzzleStage(MazePuzzle(draw_board(draw, rng, level_spec)), pictures) for level_spec in LEVEL_SPECS], game_theme
    )
