"""`demo:sequence`: a level begins with an animation, in which lamps flash one after the other; click them in that order. A wrong
lamp is game over. A reset shows the animation again, the settled frame nothing of it."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from arcengine import Level

from lawbook.worlds.demo.board import FLOOR, Board, Cell, Move, find_cells, make_room, put_letter, to_board
from lawbook.worlds.demo.look import draw_theme, make_sprite
from lawbook.worlds.demo.puzzle import Puzzle, PuzzleGame, PuzzleStage

LAMP, LIT, WRONG = "L", "lit", "wrong"
DONE, OPEN = "done", "open"
"""Below the room: a pip for every lamp that is to be clicked, in this picture or that."""
SIDE = 7


class SequenceState(NamedTuple):
    """How many lamps were clicked in order, and the lamp that was clicked out of it."""

    n_done: int
    wrong: Cell | None


class SequencePuzzle(Puzzle[SequenceState]):
    """order: the lamps that are to be clicked; one may come again."""

    def __init__(self, board: Board, order: tuple[Cell, ...]) -> None:
        super().__init__(board, SequenceState(0, None))
        self.order = order
        self.moves = self.lamps = find_cells(board, LAMP)

    def step(self, state: SequenceState, move: Move) -> SequenceState:
        if move not in self.lamps:
            return state
        return SequenceState(state.n_done + 1, None) if move == self.order[state.n_done] else SequenceState(state.n_done, move)

    def is_won(self, state: SequenceState) -> bool:
        return state.n_done == len(self.order)

    def is_lost(self, state: SequenceState) -> bool:
        return state.wrong is not None

    def list_sprites(self, state: SequenceState) -> Iterator[tuple[str, Cell]]:
        yield from ((WRONG if lamp == state.wrong else LAMP, lamp) for lamp in self.lamps)
        yield from ((DONE if number < state.n_done else OPEN, (SIDE - 1, number)) for number in range(len(self.order)))


class SequenceGame(PuzzleGame[SequenceState]):
    """The opening animation of a level: for each lamp of the order one frame in which it is lit, and one in which none is.

    These are the last frames of the action that led into the level, be it a reset or the last one of the level before.
    """

    puzzle: SequencePuzzle

    def on_set_level(self, level: Level) -> None:
        self._lit: Cell | None = None
        super().on_set_level(level)
        self._opening: tuple[Cell | None, ...] = tuple(lamp for flash in self.puzzle.order for lamp in (flash, None))
        self._action_complete = False  # the action that led here goes on until all is shown

    def step(self) -> None:
        if not self._opening:
            super().step()
            return
        self._lit, *remaining = self._opening
        self._opening = tuple(remaining)
        self._draw_sprites()
        if not self._opening:
            self.complete_action()

    def _draw_sprites(self) -> None:
        super()._draw_sprites()
        if self._lit is not None:
            self.current_level.add_sprite(make_sprite(LIT, self._pictures[LIT], self._lit))


class SequenceLevelSpec(NamedTuple):
    """What a level should be like: lamps, and how many are to be clicked (from, to)."""

    n_lamps: int
    clicks: tuple[int, int]


LEVEL_SPECS = (
    SequenceLevelSpec(4, (3, 3)),
    SequenceLevelSpec(5, (4, 5)),
    SequenceLevelSpec(6, (5, 6)),
    SequenceLevelSpec(8, (6, 7)),
)


def draw(rng: Random, aim: SequenceLevelSpec) -> SequencePuzzle:
    """A level that meets the aim."""
    grid = make_room(SIDE)
    lamps = rng.sample(find_cells(grid, FLOOR), aim.n_lamps)
    put_letter(grid, LAMP, *lamps)
    return SequencePuzzle(to_board(grid), tuple(rng.choices(lamps, k=rng.randint(*aim.clicks))))


def build(rng: Random) -> SequenceGame:
    look = draw_theme(rng)
    lit, wrong, pip = look.bright[:3]
    things = {
        LAMP: look.make_picture(" ll /lffl/lffl/ ll ", l=lit),
        LIT: look.make_picture(" ll /llll/llll/ ll ", l=lit),
        WRONG: look.make_picture("x  x/ xx / xx /x  x", x=wrong),
        DONE: look.make_picture("    / pp / pp /    ", p=pip),
        OPEN: look.make_picture("    / dd / dd /    ", d=look.dark),
    }
    return SequenceGame([PuzzleStage(draw(rng, aim), things) for aim in LEVEL_SPECS], look, blinking=(LAMP,), clicks=True)
