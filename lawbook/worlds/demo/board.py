"""What the demo games share: boards of blocks, mazes, shortest ways, colours, and a game in which an avatar walks.

A board is 15 x 15 blocks of 4 x 4 cells, written as 15 strings of 15 letters: `#` wall, `.` floor, `@` the avatar's start, any
other letter a thing. It lies under a strip that shows the level, in the middle of the 64 x 64 frame.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import numpy.typing as npt
from arcengine import ARCBaseGame, Camera, GameAction, Level, Sprite

from lawbook.worlds.arcgame import ArcGameWorld
from lawbook.worlds.world import WorldSpec

Board = tuple[str, ...]
Cell = tuple[int, int]
"""(row, column) of a block, from 0."""

SIDE = 15
BLOCK = 4
STRIP = 4
MOVES: dict[int, tuple[int, int]] = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}
"""Action id -> (rows, columns): up, down, left, right, as ARC-AGI-3 has them."""

WALL, FLOOR, START = "#", ".", "@"

# Colours of the ARC palette that look well together: walls with their shade, and for every floor the greys and the bright colours
# that stand out on it.
_WALLS = ((3, 2), (9, 10), (13, 8), (15, 7), (2, 3), (12, 11), (9, 15), (14, 3))
_GREYS = (0, 1, 2, 3, 4, 5)
_ON_DARK, _ON_LIGHT = (6, 7, 8, 9, 10, 11, 12, 14, 15), (6, 7, 8, 9, 12, 13, 14, 15)
_FLOORS = {5: _ON_DARK, 4: _ON_DARK, 0: _ON_LIGHT, 1: _ON_LIGHT}


@dataclass(frozen=True)
class Theme:
    """Colours of one game, all different: floor, wall and its shade, avatar and eyes, pips, five or more bright ones to spare."""

    floor: int
    wall: int
    shade: int
    avatar: int
    eyes: int
    lit: int
    dark: int
    bright: tuple[int, ...]


def theme(rng: Random) -> Theme:
    floor = rng.choice(list(_FLOORS))
    wall, shade = rng.choice([pair for pair in _WALLS if floor not in pair and not (floor == 4 and 3 in pair)])
    bright = [colour for colour in _FLOORS[floor] if colour not in (wall, shade)]
    rng.shuffle(bright)
    greys = [colour for colour in _GREYS if colour not in (floor, wall, shade)]
    return Theme(floor, wall, shade, bright.pop(), greys[1], greys[0], greys[-1], tuple(bright))


def maze(rng: Random, openness: float) -> list[list[str]]:
    """A random walled maze of SIDE x SIDE letters; `openness` is the share of its inner walls that is then taken out."""
    grid = [[WALL] * SIDE for _ in range(SIDE)]
    stack = [(1, 1)]
    grid[1][1] = FLOOR
    while stack:
        row, column = stack[-1]
        ways = [
            (row + 2 * down, column + 2 * right)
            for down, right in MOVES.values()
            if 0 < row + 2 * down < SIDE and 0 < column + 2 * right < SIDE and grid[row + 2 * down][column + 2 * right] == WALL
        ]
        if not ways:
            stack.pop()
            continue
        new = rng.choice(ways)
        grid[(row + new[0]) // 2][(column + new[1]) // 2] = FLOOR
        grid[new[0]][new[1]] = FLOOR
        stack.append(new)
    inner = [(r, c) for r in range(1, SIDE - 1) for c in range(1, SIDE - 1) if grid[r][c] == WALL and (r + c) % 2]
    for row, column in rng.sample(inner, round(openness * len(inner))):
        grid[row][column] = FLOOR
    for row in range(2, SIDE - 1, 2):  # a pillar that no wall touches any more is in nobody's way
        for column in range(2, SIDE - 1, 2):
            if all(grid[row + down][column + right] == FLOOR for down, right in MOVES.values()):
                grid[row][column] = FLOOR
    return grid


def cells(board: Sequence[Sequence[str]], letter: str) -> list[Cell]:
    """Where `letter` stands, row by row."""
    return [(r, c) for r, row in enumerate(board) for c, found in enumerate(row) if found == letter]


def distances(board: Sequence[Sequence[str]], start: Cell, blocked: Collection[str] = (WALL,)) -> dict[Cell, int]:
    """Fewest moves from `start` to every block that can be reached without entering a letter of `blocked`, breadth-first."""
    found, queue = {start: 0}, deque([start])
    while queue:
        row, column = queue.popleft()
        for down, right in MOVES.values():
            new = row + down, column + right
            if new not in found and board[new[0]][new[1]] not in blocked:
                found[new] = found[row, column] + 1
                queue.append(new)
    return found


def shortest(board: Board, goal: str, blocked: Collection[str] = (WALL,)) -> int:
    """Fewest moves from the start to a block of `goal`. Raises ValueError when there is no way."""
    reached = distances(board, cells(board, START)[0], blocked)
    return min(reached[cell] for cell in cells(board, goal) if cell in reached)


def picture(text: str, colours: Mapping[str, int]) -> npt.NDArray[np.int8]:
    """Pixels of a sprite from a drawing, rows separated by `/`; a letter without a colour is transparent (-1)."""
    return np.array([[colours.get(letter, -1) for letter in row] for row in text.split("/")], dtype=np.int8)


def sprite(name: str, pixels: npt.NDArray[np.int8], cell: Cell, layer: int) -> Sprite:
    """A sprite that stands on a block and is tagged with its name."""
    row, column = cell
    return Sprite(pixels, name=name, x=column * BLOCK, y=STRIP + row * BLOCK, layer=layer, tags=[name])


def level(board: Board, number: int, of: int, look: Theme, things: Mapping[str, npt.NDArray[np.int8]]) -> Level:
    """The level of a board: strip, walls and avatar, and for every letter in `things` sprites tagged with that letter."""
    colours = {"f": look.floor, "w": look.wall, "s": look.shade, "a": look.avatar, "e": look.eyes}
    strip = np.full((STRIP, SIDE * BLOCK), look.wall, dtype=np.int8)
    for pip in range(of):
        strip[1:3, 4 * pip + 2 : 4 * pip + 4] = look.lit if pip <= number else look.dark
    walls = np.full((SIDE * BLOCK, SIDE * BLOCK), -1, dtype=np.int8)
    for row, column in cells(board, WALL):
        walls[row * BLOCK : (row + 1) * BLOCK, column * BLOCK : (column + 1) * BLOCK] = picture("wwws/wwww/wsww/wwww", colours)
    sprites = [
        Sprite(strip, name="strip", collidable=False),
        Sprite(walls, name="walls", y=STRIP, tags=[WALL]),
        sprite("avatar", picture("faaf/aeae/aaaa/faaf", colours), cells(board, START)[0], layer=2),
    ]
    for letter, pixels in things.items():
        sprites += [sprite(letter, pixels, cell, layer=1) for cell in cells(board, letter)]
    return Level(sprites, grid_size=(SIDE * BLOCK, STRIP + SIDE * BLOCK), name=f"{number + 1}")


class WalkingGame(ARCBaseGame):
    """Four moves of one block. Walls stop the avatar; what any other thing does, `touch` says.

    A level is completed with a blink: three frames on the spot, then the next level's first.
    """

    def __init__(self, levels: list[Level], look: Theme) -> None:
        self._blink = 0
        camera = Camera(background=look.floor, letter_box=look.wall)
        super().__init__("demo", levels, camera, available_actions=list(MOVES))

    def on_set_level(self, level: Level) -> None:
        self.avatar = level.get_sprites_by_name("avatar")[0]
        self._pixels = self.avatar.pixels
        self._blink = 0

    def step(self) -> None:
        if self._blink:
            self._blink -= 1
            self.avatar.pixels = self._pixels if self._blink == 0 else np.full_like(self._pixels, self._pixels[1, 1])
            if self._blink == 0:
                self.next_level()
                self.complete_action()
            return
        if self.action.id is not GameAction.RESET:
            down, right = MOVES[self.action.id.value]
            met = {tag for sprite in self.try_move_sprite(self.avatar, right * BLOCK, down * BLOCK) for tag in sprite.tags}
            if met and WALL not in met:
                self.avatar.move(right * BLOCK, down * BLOCK)
                self.touch(met)
        if not self._blink:
            self.complete_action()

    def touch(self, met: set[str]) -> None:
        """The avatar has just walked onto the things tagged `met`."""
        raise NotImplementedError

    def complete(self) -> None:
        """Let the level end as completed."""
        self._blink = 2


def world(build: Callable[[Random], tuple[ARCBaseGame, tuple[int, ...]]], name: str, seed: int) -> ArcGameWorld:
    """The world of a game that `build` draws, with its shortest solutions, from a generator seeded with its name and `seed`."""
    game, baselines = build(Random(f"{name}:{seed}"))
    spec = WorldSpec(
        shape=(64, 64), actions=tuple(MOVES), levels=len(baselines), baselines=baselines, baseline="optimal", palette="arc"
    )
    return ArcGameWorld(game, spec)
