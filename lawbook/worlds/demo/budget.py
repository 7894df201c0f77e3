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
    compute_distances,
    draw_board,
    find_cells,
    find_items,
    get_letter,
    make_maze,
    move_cell,
    put_letter,
    to_board,
)
from lawbook.worlds.demo.look import draw_theme
from lawbook.worlds.demo.puzzle import AVATAR, Puzzle, PuzzleGame, PuzzleStage

DROP = "d"
BAR = "bar"
"""A block of the bar: `bar0`, `bar1`, `bar2`, by the units left in it."""


class BudgetState(NamedTuple):
    """Where the avatar is, units left, drops that are used up."""

    avatar: Cell
    units_left: int
    used_drops: frozenset[Cell]


class BudgetPuzzle(Puzzle[BudgetState]):
    """full: units of a full bar, even."""

    def __init__(self, board: Board, full: int) -> None:
        super().__init__(board, BudgetState(find_cells(board, START)[0], full, frozenset()))
        self._full = full

    def step(self, state: BudgetState, move: Move) -> BudgetState:
        target = move_cell(self.board, state.avatar, move)
        if get_letter(self.board, target) == DROP and target not in state.used_drops:
            return BudgetState(target, self._full, state.used_drops | {target})
        return BudgetState(target, state.units_left - 1, state.used_drops)

    def is_won(self, state: BudgetState) -> bool:
        return get_letter(self.board, state.avatar) == EXIT

    def is_lost(self, state: BudgetState) -> bool:
        return state.units_left == 0 and not self.is_won(state)

    def list_sprites(self, state: BudgetState) -> Iterator[tuple[str, Cell]]:
        for block in range(self._full // 2):
            yield f"{BAR}{min(max(state.units_left - 2 * block, 0), 2)}", (len(self.board) - 1, 1 + block)
        yield from ((letter, cell) for letter, cell in find_items(self.board, EXIT + DROP) if cell not in state.used_drops)
        yield AVATAR, state.avatar


class BudgetLevelSpec(NamedTuple):
    """What a level should be like: share of inner walls taken out, units of a full bar, drops, fewest moves of each leg (from, to):
    from the start to the first drop, from there to the next, from the last to the exit. No drop can be left out."""

    openness: float
    full: int
    drops: int
    leg_moves: tuple[int, int]


LEVEL_SPECS = (
    BudgetLevelSpec(0.6, 16, 0, (6, 9)),
    BudgetLevelSpec(0.4, 22, 0, (14, 19)),
    BudgetLevelSpec(0.35, 18, 1, (11, 16)),
    BudgetLevelSpec(0.3, 16, 2, (10, 14)),
)


def draw(rng: Random, level_spec: BudgetLevelSpec) -> Board | None:
    """Draw a board that meets the aim, if this attempt comes to one.

    Each stop is out of reach, by one full bar, of all stops before the last.
    """
    grid = make_maze(rng, level_spec.openness)
    stops = [rng.choice(find_cells(grid, FLOOR))]
    covered: set[Cell] = set()
    low, high = level_spec.leg_moves
    for _ in range(level_spec.drops + 1):
        moves = compute_distances(grid, stops[-1])
        candidates = [cell for cell, n in moves.items() if low <= n <= high and cell not in covered]
        if not candidates:
            return None
        stops.append(rng.choice(candidates))
        covered.update(cell for cell, n in moves.items() if n <= level_spec.full)
    start, *drops, goal = stops
    put_letter(grid, START, start)
    put_letter(grid, DROP, *drops)
    put_letter(grid, EXIT, goal)
    return to_board(grid)


def build(rng: Random) -> PuzzleGame[BudgetState]:
    """Build the game from a random generator."""
    game_theme = draw_theme(rng)
    full, frame, light = game_theme.bright[:3]
    pictures = {
        EXIT: game_theme.make_exit(frame, light),
        DROP: game_theme.make_picture(" uu /uuuu/uuuu/ uu ", u=full),
        AVATAR: game_theme.make_walker(game_theme.avatar),
    }
    for units, drawing in enumerate(("    /eeee/eeee/    ", "    /uuee/uuee/    ", "    /uuuu/uuuu/    ")):
        pictures[f"{BAR}{units}"] = game_theme.make_picture(drawing, u=full, e=game_theme.dark)
    return PuzzleGame(
        [PuzzleStage(BudgetPuzzle(draw_board(draw, rng, level_spec), level_spec.full), pictures) for level_spec in LEVEL_SPECS],
        game_theme,
    )
