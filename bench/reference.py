"""The workload of the benchmarks: the reference program, a first frame for it, and a long walk."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import numpy.typing as npt

NAME = "walled_grid, 64 x 64 frame, 8 keys"
FOLDER = Path(__file__).parent / "programs" / "walled_grid"
AVAILABLE = (1, 2, 3, 4)

_COLOURS = {".": 0, "#": 5, "@": 9, "k": 4, "X": 11}
_PLAN = """
################
#@.....#......k#
#......#.......#
#..k...#....k..#
#......#.......#
#..............#
#....######....#
#.........#....#
#k.....k..#....#
#.........#....#
#....#....#....#
#....#.......k.#
#.k..#.........#
#....#..k.#....#
#....#....#...X#
################
"""


def files() -> dict[str, str]:
    """File name -> source of the program."""
    return {path.name: path.read_text() for path in sorted(FOLDER.glob("*.py"))}


def frame() -> npt.NDArray[np.uint8]:
    """The first frame, 64 x 64 uint8: 16 x 16 blocks of 4 x 4 cells."""
    blocks = np.array([[_COLOURS[letter] for letter in row] for row in _PLAN.split()], dtype=np.uint8)
    return np.kron(blocks, np.ones((4, 4), dtype=np.uint8))


def walk(steps: int, seed: int = 0) -> list[tuple[int, None, None]]:
    """`steps` random moves as (id, x, y)."""
    choice = random.Random(seed)
    return [(choice.choice(AVAILABLE), None, None) for _ in range(steps)]
