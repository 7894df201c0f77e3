"""A level as pictures: its boards in order on one PNG, and every frame of it as a GIF."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lawbook.core.record import Frame, Status
from lawbook.errors import UsageError
from lawbook.view.gif import Pixels, gif
from lawbook.view.palette import RGB, palette
from lawbook.view.run_index import Chronicle
from lawbook.view.svg_png import indexed_png

BOARDS, ACROSS, GAP, BOARD, SCREEN = 12, 4, 12, 256, 448
"""Boards of a PNG, of them side by side, pixels between them, pixels of one at least half of which it is wide, and of a GIF."""
FRAMES = 1500
"""Frames of a GIF at most; with more, animations are left out, and then every so many boards."""
STEP, FLASH, END = 12, 5, 150
"""Hundredths of a second that a settled board, a frame of an animation and the last board are shown."""

_PAPER: RGB = (244, 242, 238)


def storyboard(ledger: Path, level: int | None) -> bytes:
    """PNG of up to BOARDS settled boards of a level, evenly from its first sight to its end. Raises UsageError."""
    frames, colours = _frames(ledger, level)
    settled = [frame for frame, moving in frames if not moving]
    picked = _evenly(settled, BOARDS)
    used, boards = _indexed(picked, colours, BOARD)
    height, width = boards[0].shape
    across = min(ACROSS, len(boards))
    down = -(-len(boards) // across)
    sheet = np.full((down * (height + GAP) + GAP, across * (width + GAP) + GAP), len(used), np.uint8)
    for k, board in enumerate(boards):
        top, left = GAP + k // across * (height + GAP), GAP + k % across * (width + GAP)
        sheet[top : top + height, left : left + width] = board
    return indexed_png(sheet, [*used, _PAPER])


def film(ledger: Path, level: int | None) -> bytes:
    """GIF of every frame of a level, failed attempts too. Raises UsageError."""
    frames, colours = _frames(ledger, level)
    if len(frames) > FRAMES:
        frames = _evenly([one for one in frames if not one[1]], FRAMES)
    used, boards = _indexed([frame for frame, _ in frames], colours, SCREEN)
    delays = [FLASH if moving else STEP for _, moving in frames]
    return gif(boards, used, [*delays[:-1], END])


def _frames(path: Path, level: int | None) -> tuple[list[tuple[Frame, bool]], tuple[RGB, ...]]:
    """Every frame of a level with whether it is one of an animation, and the colours. level: from 0; None: the last that was
    completed, or the first. The frame that completes a level shows the next one already, and is left out."""
    with Chronicle(path) as chronicle:
        chronicle.read()
        done = [s.told.level_before for s in chronicle.steps if s.told and s.told.status is Status.COMPLETED]
        wanted = level if level is not None else max(done, default=0)
        found: list[tuple[Frame, bool]] = []
        for step in chronicle.steps:
            if not found and step.level == wanted:
                found.append((chronicle.ledger.seen(step.frames[-1]), False))
            elif step.told is not None and step.told.level_before == wanted:
                *moving, settled = step.frames
                found += [(chronicle.ledger.seen(name), True) for name in moving]
                if step.told.status is not Status.COMPLETED:
                    found.append((chronicle.ledger.seen(settled), False))
        if not found:
            raise UsageError(f"Level {wanted + 1} was never played in this run; `lawbook show` lists those that were.")
        return found, palette(chronicle.opened.spec["palette"]).colours


def _evenly[One](every: Sequence[One], most: int) -> list[One]:
    """At most so many of them, evenly, the first and the last among them."""
    if len(every) <= most:
        return list(every)
    return [every[round(k * (len(every) - 1) / (most - 1))] for k in range(most)]


def _indexed(frames: Sequence[Frame], colours: tuple[RGB, ...], across: int) -> tuple[list[RGB], list[Pixels]]:
    """The colours that are used, and the frames in their numbers, each cell a square of pixels, about `across` for the longer side.

    Where all 256 codes are used the last two share a colour: one number is kept for whoever draws around the boards.
    """
    codes = sorted({int(code) for frame in frames for code in np.unique(frame)})
    number = np.zeros(256, np.uint8)
    for k, code in enumerate(codes):
        number[code] = min(k, 254)
    scale = max(1, across // max(frames[0].shape))
    used = [colours[code] for code in codes[:255]]
    return used, [number[frame].repeat(scale, axis=0).repeat(scale, axis=1) for frame in frames]
