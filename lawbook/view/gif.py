"""An animated GIF, compressed by Pillow: of every frame only the rectangle that changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from lawbook.view.palette import RGB
from lawbook.view.svg_png import build_indexed_image

Pixels = npt.NDArray[np.uint8]


def encode_gif(frames: Iterable[Pixels], colours: Sequence[RGB], delays: Sequence[int]) -> bytes:
    """Return the GIF of one or more frames, played again and again.

    frames: uint8, H x W each, all of one shape, each pixel the number of a colour. colours: 256 at most. delays: hundredths of a
    second that each frame is shown. Raises ValueError where there are more of one than of the other.
    """
    from PIL import GifImagePlugin  # costs time: not before there is something to draw

    # Not `Image.save(save_all=True)`: it leaves out a frame that equals the one before, and later ones change their numbers.
    parts: list[bytes] = []
    previous: Pixels | None = None
    for frame, delay in zip(frames, delays, strict=True):
        top, left, bottom, right = _find_changed_box(previous, frame)
        image = build_indexed_image(frame[top:bottom, left:right], colours)
        if previous is None:
            parts += GifImagePlugin.getheader(image, info={"loop": 0})[0]
        parts += GifImagePlugin.getdata(image, (left, top), duration=10 * delay, disposal=1)  # it stays in place below the next
        previous = frame
    return b"".join([*parts, b";"])


def _find_changed_box(previous: Pixels | None, frame: Pixels) -> tuple[int, int, int, int]:
    """Return top, left, bottom, right of what differs; one pixel where nothing does."""
    if previous is None:
        return 0, 0, *frame.shape
    rows, columns = np.nonzero(previous != frame)
    if not len(rows):
        return 0, 0, 1, 1
    return int(rows.min()), int(columns.min()), int(rows.max()) + 1, int(columns.max()) + 1
