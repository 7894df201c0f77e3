"""What the demo games look like: colours drawn from a seed, small pictures, and the sprites of a board.

Every block is 4 x 4 cells. A strip above the board shows the level, one pip each; the engine enlarges a small board and puts it in
the middle of the 64 x 64 frame.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from random import Random

import numpy as np
import numpy.typing as npt
from arcengine import Sprite

from lawbook.worlds.demo.board import WALL, Board, Cell, find_cells

Pixels = npt.NDArray[np.int8]
"""Rows x columns of colours; -1 is transparent."""

BLOCK = 4
STRIP = 4
"""Rows of cells above the board: as high as a block, so that row -1 of the board lies in the strip."""

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

    def make_picture(self, text: str, **colours: int) -> Pixels:
        """Make pixels from a drawing, rows separated by `/`.

        `f` is floor, a letter of `colours` what it says, any other transparent.
        """
        return parse_picture(text, {"f": self.floor, **colours})

    def make_exit(self, frame: int, light: int) -> Pixels:
        return self.make_picture("dddd/dlld/dlld/dddd", d=frame, l=light)

    def make_hazard(self, fire: int, ember: int) -> Pixels:
        return self.make_picture("xhxh/hxhx/xhxh/hxhx", x=fire, h=ember)

    def make_walker(self, colour: int) -> Pixels:
        """Make the picture of somebody who walks, eyes and all."""
        return self.make_picture("faaf/aeae/aaaa/faaf", a=colour, e=self.eyes)


def draw_theme(rng: Random) -> Theme:
    """Draw colours that can be told apart, from a random generator."""
    floor = rng.choice(list(_FLOORS))
    wall, shade = rng.choice([pair for pair in _WALLS if floor not in pair and not (floor == 4 and 3 in pair)])
    bright = [colour for colour in _FLOORS[floor] if colour not in (wall, shade)]
    rng.shuffle(bright)
    greys = [colour for colour in _GREYS if colour not in (floor, wall, shade)]
    return Theme(floor, wall, shade, bright.pop(), greys[1], greys[0], greys[-1], tuple(bright))


def parse_picture(text: str, colours: Mapping[str, int]) -> Pixels:
    """Make pixels (int8, H x W) from a drawing, rows separated by `/`; a letter without a colour is transparent, -1."""
    return np.array([[colours.get(letter, -1) for letter in row] for row in text.split("/")], dtype=np.int8)


def make_sprite(name: str, pixels: Pixels, cell: Cell) -> Sprite:
    """Make a sprite with its upper left corner on a block (or, in row -1, in the strip)."""
    row, column = cell
    return Sprite(pixels, name=name, x=column * BLOCK, y=STRIP + row * BLOCK)


def make_tiled_sprite(name: str, pixels: Pixels, covered: Collection[Cell], board: Board) -> Sprite:
    """Make one sprite as large as the board that shows the 4 x 4 picture on each block of `covered`."""
    rows, columns = len(board), len(board[0])
    blocks = np.full((rows, columns, BLOCK, BLOCK), -1, dtype=np.int8)
    if covered:
        blocks[*zip(*covered, strict=True)] = pixels
    return make_sprite(name, blocks.swapaxes(1, 2).reshape(rows * BLOCK, columns * BLOCK), (0, 0))


def make_walls(board: Board, game_theme: Theme) -> Sprite:
    """Make one sprite of all walls of a board."""
    return make_tiled_sprite(
        "walls", parse_picture("wwws/wwww/wsww/wwww", {"w": game_theme.wall, "s": game_theme.shade}), find_cells(board, WALL), board
    )


def make_strip(board: Board, number: int, n_levels: int, game_theme: Theme) -> Sprite:
    """Make the strip of level `number`, from 0, out of `n_levels`."""
    pixels = np.full((STRIP, len(board[0]) * BLOCK), game_theme.wall, dtype=np.int8)
    for pip in range(n_levels):
        pixels[1:3, 4 * pip + 2 : 4 * pip + 4] = game_theme.lit if pip <= number else game_theme.dark
    return make_sprite("strip", pixels, (-1, 0))
