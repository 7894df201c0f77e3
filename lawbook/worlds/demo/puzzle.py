"""A demo game: its rules in plain Python, said once, searched for the shortest solutions and played on `arcengine`.

The rules have the form of the program that a mind has to find: a state, a step, what is won and what is lost, what is to be seen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from random import Random
from typing import NamedTuple

import numpy as np
from arcengine import ARCBaseGame, Camera, GameAction, Level

from lawbook.worlds.arcengine_world import ArcGameWorld
from lawbook.worlds.demo.board import MOVES, START, Board, Cell, Move, find_cells, find_items, get_letter, move_cell
from lawbook.worlds.demo.look import (
    BLOCK,
    STRIP,
    Pixels,
    Theme,
    make_sprite,
    make_strip,
    make_tiled_sprite,
    make_walls,
    parse_picture,
)
from lawbook.worlds.world import WorldSpec

AVATAR = "avatar"
CLICK = 6
MAX_STATES = 5000
"""States after which a search gives up: a level that needs more is not for us."""


class Puzzle[S: Hashable](ABC):
    """The rules of one level. A state is hashable and holds all that can change."""

    moves: Collection[Move] = tuple(MOVES.values())
    """What can be done: steps, as (rows, columns); or where blocks are clicked, their (row, column)."""

    def __init__(self, board: Board, start: S) -> None:
        self.board = board
        self.start = start

    @abstractmethod
    def step(self, state: S, move: Move) -> S:
        """What a move makes of a state that is neither won nor lost."""

    @abstractmethod
    def is_won(self, state: S) -> bool: ...

    def is_lost(self, state: S) -> bool:
        return False

    @abstractmethod
    def list_sprites(self, state: S) -> Iterable[tuple[str, Cell]]:
        """What stands where, beside the walls: (name, block), from back to front."""

    def find_hidden(self, state: S) -> Collection[Cell]:
        """Blocks of which nothing is to be seen."""
        return ()


class WalkPuzzle(Puzzle[Cell]):
    """The plainest rules: an avatar walks, and walls stop it. A state is where it is.

    goal, hazard, harmless: letters of blocks that complete the level, that are game over, and that only lie there.
    """

    goal: str
    hazard = harmless = ""

    def __init__(self, board: Board) -> None:
        super().__init__(board, find_cells(board, START)[0])

    def step(self, state: Cell, move: Move) -> Cell:
        return move_cell(self.board, state, move)

    def is_won(self, state: Cell) -> bool:
        return get_letter(self.board, state) in self.goal

    def is_lost(self, state: Cell) -> bool:
        return get_letter(self.board, state) in self.hazard

    def list_sprites(self, state: Cell) -> Iterator[tuple[str, Cell]]:
        yield from find_items(self.board, self.goal + self.hazard + self.harmless)
        yield AVATAR, state


def explore[S: Hashable](puzzle: Puzzle[S]) -> Iterator[tuple[S, int]]:
    """The states that can be reached, each with the fewest moves to it, nearest first, up to MAX_STATES. Nothing follows a state
    that is won or lost."""
    visited, queue = {puzzle.start}, deque([(puzzle.start, 0)])
    while queue and len(visited) < MAX_STATES:
        state, moves = queue.popleft()
        yield state, moves
        if puzzle.is_won(state) or puzzle.is_lost(state):
            continue
        for move in puzzle.moves:
            successor = puzzle.step(state, move)
            if successor not in visited:
                visited.add(successor)
                queue.append((successor, moves + 1))


def count_fewest_moves[S: Hashable](puzzle: Puzzle[S]) -> int | None:
    """Length of a shortest solution; None when there is none, or too much to search."""
    return next((moves for state, moves in explore(puzzle) if puzzle.is_won(state)), None)


class PuzzleStage[S: Hashable](NamedTuple):
    """A puzzle and the pictures of its things, by name."""

    puzzle: Puzzle[S]
    pictures: Mapping[str, Pixels]


class PuzzleGame[S: Hashable](ARCBaseGame):
    """Stage by stage, each a level. A completed one ends with a blink: three frames on the spot, then the next level's first.

    blinking: names of the things that blink. clicks: the blocks are clicked (action 6), instead of four moves of one block.
    """

    def __init__(
        self, stages: list[PuzzleStage[S]], theme: Theme, *, blinking: Collection[str] = (AVATAR,), clicks: bool = False
    ) -> None:
        self.stages = stages
        self.theme = theme
        self.blinking = blinking
        self._fog = parse_picture("dddd/dddd/dddd/dddd", {"d": theme.dark})
        levels = [Level(grid_size=(BLOCK * len(p.board[0]), STRIP + BLOCK * len(p.board))) for p, _ in stages]
        camera = Camera(background=theme.floor, letter_box=theme.wall)
        super().__init__("demo", levels, camera, available_actions=[CLICK] if clicks else list(MOVES))

    def on_set_level(self, level: Level) -> None:
        self.puzzle, self._pictures = self.stages[self.level_index]
        self.state = self.puzzle.start
        self._blink_frames = 0
        board = self.puzzle.board
        self._scenery = make_strip(board, self.level_index, len(self.stages), self.theme), make_walls(board, self.theme)
        self._draw_sprites()

    def step(self) -> None:
        if self._blink_frames:
            self._blink_frames -= 1
            if not self._blink_frames:
                self.next_level()
        elif self.action.id is not GameAction.RESET:
            move = self._decode_move()
            if move is not None:
                self.state = self.puzzle.step(self.state, move)
            if self.puzzle.is_won(self.state):
                self._blink_frames = 2
            elif self.puzzle.is_lost(self.state):
                self.lose()
        self._draw_sprites()
        if not self._blink_frames:
            self.complete_action()

    def _decode_move(self) -> Move | None:
        """What the action means to the rules; None for a click beside the board."""
        if self.action.id.value != CLICK:
            return MOVES[self.action.id.value]
        cell = self.camera.display_to_grid(self.action.data["x"], self.action.data["y"])
        return None if cell is None or cell[1] < STRIP else ((cell[1] - STRIP) // BLOCK, cell[0] // BLOCK)

    def _draw_sprites(self) -> None:
        """Let the level's sprites show the state."""
        level = self.current_level
        level.remove_all_sprites()
        for sprite in self._scenery:
            level.add_sprite(sprite)
        for name, cell in self.puzzle.list_sprites(self.state):
            pixels = self._pictures[name]
            if self._blink_frames == 1 and name in self.blinking:
                pixels = np.full_like(pixels, pixels[1, 1])
            level.add_sprite(make_sprite(name, pixels, cell))
        hidden = self.puzzle.find_hidden(self.state)
        if hidden:
            level.add_sprite(make_tiled_sprite("fog", self._fog, hidden, self.puzzle.board))


def world[S: Hashable](build: Callable[[Random], PuzzleGame[S]], name: str, seed: int) -> ArcGameWorld:
    """The world of a game that `build` draws from a generator seeded with its name and `seed`."""
    game = build(Random(f"{name}:{seed}"))
    actions = tuple(game._available_actions)
    baselines = tuple(count_fewest_moves(puzzle) for puzzle, _ in game.stages)
    spec = WorldSpec(
        shape=(64, 64),
        actions=actions,
        clicks=tuple(number for number in actions if number == CLICK),
        levels=len(baselines),
        baselines=baselines,
        baseline="optimal",
        palette="arc",
    )
    return ArcGameWorld(game, spec)
