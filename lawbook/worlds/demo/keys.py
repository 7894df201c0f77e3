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
from lawbook.worlds.demo.puzzle import AVATAR, Puzzle, PuzzleGame, PuzzleStage, count_fewest_moves

KEYS = "abc"
DOORS = KEYS.upper()


class KeysState(NamedTuple):
    """Where the avatar is, and what is gone: keys that were picked up, doors that were opened."""

    avatar: Cell
    removed: frozenset[Cell]


class KeysPuzzle(Puzzle[KeysState]):
    def __init__(self, board: Board) -> None:
        super().__init__(board, KeysState(find_cells(board, START)[0], frozenset()))
        self._key = {get_letter(board, cell).upper(): cell for cell in find_cells(board, KEYS)}

    def step(self, state: KeysState, move: Move) -> KeysState:
        target = move_cell(self.board, state.avatar, move)
        letter = get_letter(self.board, target)
        if letter in DOORS and self._key[letter] not in state.removed:
            return state
        return KeysState(target, state.removed | {target} if letter in KEYS + DOORS else state.removed)

    def is_won(self, state: KeysState) -> bool:
        return get_letter(self.board, state.avatar) == EXIT

    def is_lost(self, state: KeysState) -> bool:
        return get_letter(self.board, state.avatar) == HAZARD

    def list_sprites(self, state: KeysState) -> Iterator[tuple[str, Cell]]:
        for letter, cell in find_items(self.board, EXIT + HAZARD + KEYS + DOORS):
            if cell not in state.removed:
                yield letter, cell
            elif letter in KEYS:
                yield letter, (-1, len(self.board[0]) - 1 - KEYS.index(letter))
        yield AVATAR, state.avatar


class KeysLevelSpec(NamedTuple):
    """What a level should be like: share of inner walls taken out, keys, hazards, fewest moves (from, to)."""

    openness: float
    keys: int
    hazards: int
    moves: tuple[int, int]


LEVEL_SPECS = (
    KeysLevelSpec(0.4, 1, 0, (10, 18)),
    KeysLevelSpec(0.3, 1, 3, (16, 26)),
    KeysLevelSpec(0.25, 2, 4, (24, 38)),
    KeysLevelSpec(0.2, 3, 5, (34, 52)),
)


def draw(rng: Random, level_spec: KeysLevelSpec) -> Board | None:
    """Draw a board that meets the aim and on which no door can be done without, if this attempt comes to one."""
    grid = make_maze(rng, level_spec.openness)
    start, goal, *hazards = rng.sample(find_cells(grid, FLOOR), 2 + level_spec.hazards)
    put_letter(grid, START, start)
    put_letter(grid, EXIT, goal)
    put_letter(grid, HAZARD, *hazards)
    if not add_doors(rng, grid, start, goal, level_spec.keys):
        return None
    board = to_board(grid)
    moves = count_fewest_moves(KeysPuzzle(board))
    return board if moves and level_spec.moves[0] <= moves <= level_spec.moves[1] else None


def add_doors(rng: Random, grid: Grid, start: Cell, goal: Cell, n_doors: int) -> bool:
    """Put in doors and their keys in front of all doors. Returns False where there is no room for one.

    Each door is on every way from the start to the goal or to an earlier door's key.
    """
    targets = [goal]
    for key, door in list(zip(KEYS, DOORS, strict=True))[:n_doors]:
        places = find_chokepoints(grid, start, rng.choice(targets))
        if not places:
            return False
        put_letter(grid, door, rng.choice(places))
        moves = compute_distances(grid, start, WALL + HAZARD + DOORS)
        places = [cell for cell, n in moves.items() if n > 2 and get_letter(grid, cell) == FLOOR]
        if not places:
            return False
        targets.append(rng.choice(places))
        put_letter(grid, key, targets[-1])
    return True


def find_chokepoints(grid: Grid, start: Cell, goal: Cell) -> list[Cell]:
    """Find floor blocks, not beside the start, that lie on every way from the start to the goal."""
    from_start, from_goal = compute_distances(grid, start, WALL + HAZARD), compute_distances(grid, goal, WALL + HAZARD)
    if goal not in from_start:
        return []
    on_shortest_path = [cell for cell in from_start if from_start[cell] + from_goal[cell] == from_start[goal]]
    n_at_distance = Counter(from_start[cell] for cell in on_shortest_path)
    places = []
    for cell in on_shortest_path:
        if n_at_distance[from_start[cell]] == 1 and from_start[cell] > 1 and get_letter(grid, cell) == FLOOR:
            put_letter(grid, WALL, cell)
            if goal not in compute_distances(grid, start, WALL + HAZARD):
                places.append(cell)
            put_letter(grid, FLOOR, cell)
    return places


def build(rng: Random) -> PuzzleGame[KeysState]:
    """Build the game from a random generator."""
    game_theme = draw_theme(rng)
    *colours, frame, fire = game_theme.bright[:5]
    pictures = {
        EXIT: game_theme.make_exit(frame, game_theme.lit),
        HAZARD: game_theme.make_hazard(fire, game_theme.dark),
        AVATAR: game_theme.make_walker(game_theme.avatar),
    }
    for key, door, colour in zip(KEYS, DOORS, colours, strict=True):
        pictures[key] = game_theme.make_picture("kkk /k kk/kkk /  k ", k=colour)
        pictures[door] = game_theme.make_picture("dddd/dfdf/dfdf/dddd", d=colour)
    return PuzzleGame(
        [PuzzleStage(KeysPuzzle(draw_board(draw, rng, level_spec)), pictures) for level_spec in LEVEL_SPECS], game_theme
    )
