"""`demo:mirror`: two avatars in two rooms walk at once, the second one reflected. Walls stop each by itself; when both are on the
places of their colours the level is completed."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from lawbook.worlds.demo.board import (
    FLOOR,
    WALL,
    Board,
    Cell,
    Move,
    compute_distances,
    draw_board,
    find_cells,
    find_items,
    make_maze,
    move_cell,
    put_letter,
    to_board,
)
from lawbook.worlds.demo.look import draw_theme
from lawbook.worlds.demo.puzzle import AVATAR, Puzzle, PuzzleGame, PuzzleStage, explore

STARTS, PLACES = "@&", "pq"
"""Of the one that walks as told and of the one that is reflected."""
REFLECTED = "reflected"


class MirrorState(NamedTuple):
    avatar: Cell
    reflected: Cell


class MirrorPuzzle(Puzzle[MirrorState]):
    """upright: the mirror stands upright, so that left and right change places; otherwise up and down do."""

    def __init__(self, board: Board, upright: bool) -> None:
        super().__init__(board, MirrorState(*(find_cells(board, letter)[0] for letter in STARTS)))
        self.upright = upright
        self._places = [cell for letter in PLACES for cell in find_cells(board, letter)]

    def step(self, state: MirrorState, move: Move) -> MirrorState:
        down, right = move
        reflected = (down, -right) if self.upright else (-down, right)
        return MirrorState(move_cell(self.board, state.avatar, move), move_cell(self.board, state.reflected, reflected))

    def is_won(self, state: MirrorState) -> bool:
        return list(state) == self._places

    def list_sprites(self, state: MirrorState) -> Iterator[tuple[str, Cell]]:
        yield from find_items(self.board, PLACES)
        yield AVATAR, state.avatar
        yield REFLECTED, state.reflected


class MirrorLevelSpec(NamedTuple):
    """What a level should be like: share of inner walls taken out, length of the rooms, fewest moves (from, to), and how many
    moves more than the slower of the two would need alone, at least."""

    openness: float
    length: int
    moves: tuple[int, int]
    extra_moves: int


LEVEL_SPECS = (
    MirrorLevelSpec(0.7, 7, (5, 8), 1),
    MirrorLevelSpec(0.6, 9, (8, 12), 2),
    MirrorLevelSpec(0.5, 11, (12, 17), 3),
    MirrorLevelSpec(0.4, 13, (16, 22), 4),
)
WIDTH = 7
"""Of a room across the mirror, the walls included."""


def draw(rng: Random, level_spec: MirrorLevelSpec, upright: bool) -> Board | None:
    """Draw a board that meets the aim, if this attempt comes to one: with the mirror upright, and turned over afterwards."""
    left_room, right_room = (make_maze(rng, level_spec.openness, level_spec.length, WIDTH) for _ in range(2))
    grid = [[*left, WALL, *right] for left, right in zip(left_room, right_room, strict=True)]
    floor = find_cells(grid, FLOOR)
    starts = [rng.choice([cell for cell in floor if (cell[1] > WIDTH) is beyond]) for beyond in (False, True)]
    for letter, start in zip(STARTS, starts, strict=True):
        put_letter(grid, letter, start)
    distances_alone = [compute_distances(grid, start) for start in starts]
    low, high = level_spec.moves
    candidates = [
        state
        for state, moves in explore(MirrorPuzzle(to_board(grid), upright=True))
        if low <= moves <= high
        and moves >= level_spec.extra_moves + max(distances_alone[0][state.avatar], distances_alone[1][state.reflected])
        and starts[0] != state.avatar
        and starts[1] != state.reflected
    ]
    if not candidates:
        return None
    for letter, place in zip(PLACES, rng.choice(candidates), strict=True):
        put_letter(grid, letter, place)
    return to_board(grid if upright else list(zip(*grid, strict=True)))


def build(rng: Random) -> PuzzleGame[MirrorState]:
    """Build the game from a random generator, which says how the mirror stands, in every level the same."""
    upright = rng.random() < 0.5
    game_theme = draw_theme(rng)
    pictures = {AVATAR: game_theme.make_walker(game_theme.avatar), REFLECTED: game_theme.make_walker(game_theme.bright[0])}
    for place, colour in zip(PLACES, (game_theme.avatar, game_theme.bright[0]), strict=True):
        pictures[place] = game_theme.make_picture("pppp/pffp/pffp/pppp", p=colour)
    stages = [
        PuzzleStage(MirrorPuzzle(draw_board(draw, rng, level_spec, upright), upright), pictures) for level_spec in LEVEL_SPECS
    ]
    return PuzzleGame(stages, game_theme, blinking=(AVATAR, REFLECTED))
