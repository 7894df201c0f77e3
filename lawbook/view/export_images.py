"""A level as pictures: its boards in order on one PNG, and every frame of it as a GIF."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lawbook.core.record import Frame, Status
from lawbook.errors import UsageError
from lawbook.view.gif import Pixels, encode_gif
from lawbook.view.palette import RGB, get_palette
from lawbook.view.run_index import RunIndex
from lawbook.view.svg_png import encode_indexed_png

MAX_BOARDS, BOARDS_ACROSS, GAP, BOARD_PIXELS, GIF_PIXELS = 12, 4, 12, 256, 448
"""Boards of a PNG, of them side by side, pixels between them, pixels of one at least half of which it is wide, and of a GIF."""
MAX_FRAMES = 1500
"""Frames of a GIF at most; with more, animations are left out, and then every so many boards."""
STEP_DELAY, ANIMATION_DELAY, LAST_DELAY = 12, 5, 150
"""Hundredths of a second that a settled board, a frame of an animation and the last board are shown."""

_BACKGROUND: RGB = (244, 242, 238)


def render_storyboard(ledger: Path, level: int | None) -> bytes:
    """Draw a PNG of up to MAX_BOARDS settled boards of a level, evenly from its first sight to its end.

    level: from 0; None: the last that was completed, or the first. Raises UsageError for a level that was never played.
    """
    frames, colours = _collect_frames(ledger, level)
    settled = [frame for frame, is_animation in frames if not is_animation]
    sampled = _sample_evenly(settled, MAX_BOARDS)
    used_colours, boards = _index_colours(sampled, colours, BOARD_PIXELS)
    height, width = boards[0].shape
    n_columns = min(BOARDS_ACROSS, len(boards))
    n_rows = -(-len(boards) // n_columns)
    sheet = np.full((n_rows * (height + GAP) + GAP, n_columns * (width + GAP) + GAP), len(used_colours), np.uint8)
    for k, board in enumerate(boards):
        top, left = GAP + k // n_columns * (height + GAP), GAP + k % n_columns * (width + GAP)
        sheet[top : top + height, left : left + width] = board
    return encode_indexed_png(sheet, [*used_colours, _BACKGROUND])


def render_animation(ledger: Path, level: int | None) -> bytes:
    """Draw a GIF of every frame of a level, failed attempts too.

    Above MAX_FRAMES animations are left out, and then every so many boards. level: from 0; None: the last that was completed, or
    the first. Raises UsageError for a level that was never played.
    """
    frames, colours = _collect_frames(ledger, level)
    if len(frames) > MAX_FRAMES:
        frames = _sample_evenly([item for item in frames if not item[1]], MAX_FRAMES)
    used_colours, boards = _index_colours([frame for frame, _ in frames], colours, GIF_PIXELS)
    delays = [ANIMATION_DELAY if is_animation else STEP_DELAY for _, is_animation in frames]
    return encode_gif(boards, used_colours, [*delays[:-1], LAST_DELAY])


def _collect_frames(path: Path, level: int | None) -> tuple[list[tuple[Frame, bool]], tuple[RGB, ...]]:
    """Every frame of a level with whether it is one of an animation, and the colours. level: from 0; None: the last that was
    completed, or the first. The frame that completes a level shows the next one already, and is left out."""
    with RunIndex(path) as run_index:
        run_index.read_events()
        completed_levels = [
            completion.event.level_before
            for completion in run_index.steps
            if completion.event and completion.event.status is Status.COMPLETED
        ]
        level_index = level if level is not None else max(completed_levels, default=0)
        frames: list[tuple[Frame, bool]] = []
        for step in run_index.steps:
            if not frames and step.level == level_index:
                frames.append((run_index.ledger.read_frame(step.frames[-1]), False))
            elif step.event is not None and step.event.level_before == level_index:
                *animation_ids, settled_id = step.frames
                frames += [(run_index.ledger.read_frame(frame_id), True) for frame_id in animation_ids]
                if step.event.status is not Status.COMPLETED:
                    frames.append((run_index.ledger.read_frame(settled_id), False))
        if not frames:
            raise UsageError(f"Level {level_index + 1} was never played in this run; `lawbook show` lists those that were.")
        return frames, get_palette(run_index.opening.spec.palette).colours


def _sample_evenly[One](items: Sequence[One], max_items: int) -> list[One]:
    """At most so many of them, evenly, the first and the last among them."""
    if len(items) <= max_items:
        return list(items)
    return [items[round(k * (len(items) - 1) / (max_items - 1))] for k in range(max_items)]


def _index_colours(frames: Sequence[Frame], colours: tuple[RGB, ...], target_pixels: int) -> tuple[list[RGB], list[Pixels]]:
    """The colours that are used, and the frames in their numbers, each cell a square of pixels, about `across` for the longer side.

    Where all 256 codes are used the last two share a colour: one number is kept for whoever draws around the boards.
    """
    codes = sorted({int(code) for frame in frames for code in np.unique(frame)})
    code_index = np.zeros(256, np.uint8)
    for k, code in enumerate(codes):
        code_index[code] = min(k, 254)
    scale = max(1, target_pixels // max(frames[0].shape))
    used_colours = [colours[code] for code in codes[:255]]
    return used_colours, [code_index[frame].repeat(scale, axis=0).repeat(scale, axis=1) for frame in frames]
