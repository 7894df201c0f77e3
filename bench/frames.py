"""64 x 64 frames on which labelling goes wrong or slow, if it goes wrong or slow at all."""

from __future__ import annotations

import random

import numpy as np
import numpy.typing as npt

Frame = npt.NDArray[np.uint8]
SIDE = 64


def awkward() -> dict[str, Frame]:
    """By name: nothing, the most components, the longest ways, the most merging, the most regions."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    snake = np.ones((SIDE, SIDE), np.uint8)
    snake[1::2] = 0
    snake[1::4, -1], snake[3::4, 0] = 1, 1
    comb = np.tile(np.array([1, 0], np.uint8), (SIDE, SIDE // 2))
    comb[-1] = 1
    rng = np.random.default_rng(5)
    return {
        "flat": np.zeros((SIDE, SIDE), np.uint8),
        "checkerboard": ((rows + columns) % 2).astype(np.uint8),
        "dots": ((rows % 2 == 0) & (columns % 2 == 0)).astype(np.uint8),
        "every cell its own": (rows * SIDE + columns).astype(np.uint8),
        "snake": snake,
        "snake upright": snake.T.copy(),
        "comb": comb,
        "diagonal stripes": ((rows + columns) // 2 % 2).astype(np.uint8),
        "spiral": spiral(),
        "tree": tree(),
        **{f"noise, {k} colours": rng.integers(0, k, (SIDE, SIDE), dtype=np.uint8) for k in (2, 3, 4, 16, 256)},
        **{f"noise, {100 * p:.0f}% full": (rng.random((SIDE, SIDE)) < p).astype(np.uint8) for p in (0.41, 0.59)},
    }


def spiral() -> Frame:
    """A way of one cell's width from the corner to the middle."""
    frame = np.zeros((SIDE, SIDE), np.uint8)
    heading, cell = (0, 1), (0, 0)
    frame[cell] = 1
    for _ in range(2 * SIDE):
        while True:
            ahead, beyond = ((cell[0] + k * heading[0], cell[1] + k * heading[1]) for k in (1, 2))
            if not all(0 <= at < SIDE for at in ahead) or (all(0 <= at < SIDE for at in beyond) and frame[beyond]):
                break
            cell = ahead
            frame[cell] = 1
        heading = heading[1], -heading[0]
    return frame


def tree() -> Frame:
    """A random maze without loops: long ways with many branches."""
    choice, frame = random.Random(5), np.zeros((SIDE, SIDE), np.uint8)
    way = [(0, 0)]
    frame[0, 0] = 1
    while way:
        row, column = way[-1]
        near = [(row + 2 * down, column + 2 * right) for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0))]
        near = [(r, c) for r, c in near if 0 <= r < SIDE and 0 <= c < SIDE and not frame[r, c]]
        if not near:
            way.pop()
            continue
        new = choice.choice(near)
        frame[(row + new[0]) // 2, (column + new[1]) // 2] = frame[new] = 1
        way.append(new)
    return frame
