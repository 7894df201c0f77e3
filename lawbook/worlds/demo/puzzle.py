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
from lawbook.worlds.demo.board import MOVES, SIDE, START, Board, Cell, Move, at, cells, lying, moved
from lawbook.worlds.demo.look import BLOCK, STRIP, Pixels, Theme, picture, spread, standing, strip, walls
from lawbook.worlds.world import WorldSpec

AVATAR = "avatar"
CLICK = 6
MANY = 5000
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
    def won(self, state: S) -> bool: ...

    def lost(self, state: S) -> bool:
        return False

    @abstractmethod
    def scene(self, state: S) -> Iterable[tuple[str, Cell]]:
        """What stands where, beside the walls: (name, block), from back to front."""

    def hidden(self, state: S) -> Collection[Cell]:
        """Blocks of which nothing is to be seen."""
        return ()


class Walk(Puzzle[Cell]):
    """The plainest rules: an avatar walks, and walls stop it. A state is where it is.

    goal, hazard, harmless: letters of blocks that complete the level, that are game over, and that only lie there.
    """

    goal: str
    hazard = harmless = ""

    def __init__(self, board: Board) -> None:
        super().__init__(board, cells(board, START)[0])

    def step(self, state: Cell, move: Move) -> Cell:
        return moved(self.board, state, move)

    def won(self, state: Cell) -> bool:
        return at(self.board, state) in self.goal

    def lost(self, state: Cell) -> bool:
        return at(self.board, state) in self.hazard

    def scene(self, state: Cell) -> Iterator[tuple[str, Cell]]:
        yield from lying(self.board, self.goal + self.hazard + self.harmless)
        yield AVATAR, state


def explore[S: Hashable](puzzle: Puzzle[S]) -> Iterator[tuple[S, int]]:
    """The states that can be reached, each with the fewest moves to it, nearest first, up to MANY. Nothing follows a state that is
    won or lost."""
    found, queue = {puzzle.start}, deque([(puzzle.start, 0)])
    while queue and len(found) < MANY:
        state, moves = queue.popleft()
        yield state, moves
        if puzzle.won(state) or puzzle.lost(state):
            continue
        for move in puzzle.moves:
            new = puzzle.step(state, move)
            if new not in found:
                found.add(new)
                queue.append((new, moves + 1))


def fewest[S: Hashable](puzzle: Puzzle[S]) -> int | None:
    """Length of a shortest solution; None when there is none, or too much to search."""
    return next((moves for state, moves in explore(puzzle) if puzzle.won(state)), None)


class Stage[S: Hashable](NamedTuple):
    """A puzzle and the pictures of its things, by name."""

    puzzle: Puzzle[S]
    things: Mapping[str, Pixels]


class PuzzleGame[S: Hashable](ARCBaseGame):
    """Stage by stage, each a level. A completed one ends with a blink: three frames on the spot, then the next level's first.

    blinking: names of the things that blink. clicks: the blocks are clicked (action 6), instead of four moves of one block.
    """

    def __init__(self, stages: list[Stage[S]], look: Theme, *, blinking: Collection[str] = (AVATAR,), clicks: bool = False) -> None:
        self.stages = stages
        self.look = look
        self.blinking = blinking
        self._fog = picture("dddd/dddd/dddd/dddd", {"d": look.dark})
        sizes = [(min(len(p.board[0]), SIDE), min(len(p.board), SIDE)) for p, _ in stages]  # of a larger board a part is seen
        levels = [Level(grid_size=(BLOCK * columns, STRIP + BLOCK * rows)) for columns, rows in sizes]
        camera = Camera(background=look.floor, letter_box=look.wall)
        super().__init__("demo", levels, camera, available_actions=[CLICK] if clicks else list(MOVES))

    def on_set_level(self, level: Level) -> None:
        self.puzzle, self._things = self.stages[self.level_index]
        self.state = self.puzzle.start
        self._blinks = 0
        board = self.puzzle.board
        self._scenery = strip(board, self.level_index, len(self.stages), self.look), walls(board, self.look)
        self._show()

    def step(self) -> None:
        if self._blinks:
            self._blinks -= 1
            if not self._blinks:
                self.next_level()
        elif self.action.id is not GameAction.RESET:
            move = self._move()
            if move is not None:
                self.state = self.puzzle.step(self.state, move)
            if self.puzzle.won(self.state):
                self._blinks = 2
            elif self.puzzle.lost(self.state):
                self.lose()
        self._show()
        if not self._blinks:
            self.complete_action()

    def _move(self) -> Move | None:
        """What the action means to the rules; None for a click beside the board."""
        if self.action.id.value != CLICK:
            return MOVES[self.action.id.value]
        place = self.camera.display_to_grid(self.action.data["x"], self.action.data["y"])
        return None if place is None or place[1] < STRIP else ((place[1] - STRIP) // BLOCK, place[0] // BLOCK)

    def _show(self) -> None:
        """Let the level's sprites show the state."""
        level = self.current_level
        level.remove_all_sprites()
        for sprite in self._scenery:
            level.add_sprite(sprite)
        for name, cell in self.puzzle.scene(self.state):
            pixels = self._things[name]
            if self._blinks == 1 and name in self.blinking:
                pixels = np.full_like(pixels, pixels[1, 1])
            level.add_sprite(standing(name, pixels, cell))
        hidden = self.puzzle.hidden(self.state)
        if hidden:
            level.add_sprite(spread("fog", self._fog, hidden, self.puzzle.board))


def world[S: Hashable](build: Callable[[Random], PuzzleGame[S]], name: str, seed: int) -> ArcGameWorld:
    """The world of a game that `build` draws from a generator seeded with its name and `seed`."""
    game = build(Random(f"{name}:{seed}"))
    actions = tuple(game._available_actions)
    baselines = tuple(fewest(puzzle) for puzzle, _ in game.stages)
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
