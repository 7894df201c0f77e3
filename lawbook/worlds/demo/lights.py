"""`demo:lights`: a click on a lamp switches it and those beside it, above it and below. All lit: the level is completed."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from lawbook.worlds.demo.board import FLOOR, MOVES, Board, Cell, Move, draw_board, find_cells, make_room, put_letter, to_board
from lawbook.worlds.demo.look import draw_theme
from lawbook.worlds.demo.puzzle import Puzzle, PuzzleGame, PuzzleStage, explore

LIT, DARK = "L", "D"
SIDE = 7

DarkLamps = frozenset[Cell]
"""A state: the lamps that are dark."""


class LightsPuzzle(Puzzle[DarkLamps]):
    def __init__(self, board: Board) -> None:
        super().__init__(board, frozenset(find_cells(board, DARK)))
        self.lamps = find_cells(board, LIT + DARK)
        self.moves = self.lamps
        self._switched = {lamp: frozenset({lamp, *find_neighbours(lamp)}).intersection(self.lamps) for lamp in self.lamps}

    def step(self, state: DarkLamps, move: Move) -> DarkLamps:
        return state ^ self._switched.get(move, frozenset())

    def is_won(self, state: DarkLamps) -> bool:
        return not state

    def list_sprites(self, state: DarkLamps) -> Iterator[tuple[str, Cell]]:
        return ((DARK if lamp in state else LIT, lamp) for lamp in self.lamps)


def find_neighbours(cell: Cell) -> list[Cell]:
    """List the four blocks beside this one, on the board or not."""
    return [(cell[0] + down, cell[1] + right) for down, right in MOVES.values()]


class LightsLevelSpec(NamedTuple):
    """What a level should be like: lamps, fewest clicks."""

    lamps: int
    clicks: int


LEVEL_SPECS = (LightsLevelSpec(5, 3), LightsLevelSpec(7, 4), LightsLevelSpec(9, 5), LightsLevelSpec(11, 6))


class EndlessLights(LightsPuzzle):
    """The same without an end, to see how far everything is from all lit."""

    def is_won(self, state: DarkLamps) -> bool:
        return False


def draw(rng: Random, level_spec: LightsLevelSpec) -> Board | None:
    """Draw a board that meets the aim, if this attempt comes to one.

    Clicking the same lamps once more takes everything back, so that as many clicks lead from a state to all lit as the other way
    round.
    """
    grid = make_room(SIDE)
    lamps = grow_cluster(rng, find_cells(grid, FLOOR), level_spec.lamps)
    put_letter(grid, LIT, *lamps)
    candidates = [dark for dark, clicks in explore(EndlessLights(to_board(grid))) if clicks == level_spec.clicks]
    if not candidates:
        return None
    put_letter(grid, DARK, *rng.choice(candidates))
    return to_board(grid)


def grow_cluster(rng: Random, candidates: list[Cell], size: int) -> list[Cell]:
    """Choose `size` of the blocks, hanging together."""
    chosen = [candidates[len(candidates) // 2]]
    while len(chosen) < size:
        chosen.append(
            rng.choice(
                [cell for cell in candidates if cell not in chosen and any(near in chosen for near in find_neighbours(cell))]
            )
        )
    return chosen


def build(rng: Random) -> PuzzleGame[DarkLamps]:
    """Build the game from a random generator."""
    game_theme = draw_theme(rng)
    lit, dark = game_theme.bright[:2]
    pictures = {
        LIT: game_theme.make_picture(" ll /lggl/lggl/ ll ", l=lit, g=game_theme.lit),
        DARK: game_theme.make_picture(" ll /lffl/lffl/ ll ", l=dark),
    }
    return PuzzleGame(
        [PuzzleStage(LightsPuzzle(draw_board(draw, rng, level_spec)), pictures) for level_spec in LEVEL_SPECS],
        game_theme,
        blinking=(LIT,),
        clicks=True,
    )
