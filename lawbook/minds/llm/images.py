"""Frames as pictures, for models that take them: the present one, and the one before it."""

from __future__ import annotations

import struct
import zlib
from colorsys import hsv_to_rgb

import numpy as np

from lawbook.core.record import Frame
from lawbook.minds.base import Case
from lawbook.minds.llm.model import Picture

SIZE = 768
"""Pixels of the longer side, about."""


def pictures(case: Case) -> tuple[Picture, ...]:
    """The last two settled frames of the present trajectory, the present one last."""
    if not len(case.record):
        return ()
    here = case.record.here
    n = len(here)
    shown = [(f"The frame after {k} steps of the present trajectory:", here.frame(k)) for k in range(max(0, n - 1), n + 1)]
    return tuple(Picture(caption, png(frame)) for caption, frame in shown)


def png(frame: Frame) -> bytes:
    """A PNG of an H x W frame, each cell a square, each code a colour of its own: 0 black, 1 white, others around the wheel."""
    cell = max(1, SIZE // max(frame.shape))
    pixels = frame.repeat(cell, axis=0).repeat(cell, axis=1)
    rows = np.zeros((pixels.shape[0], pixels.shape[1] + 1), dtype=np.uint8)  # each row begins with its filter, 0: none
    rows[:, 1:] = pixels
    head = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 3, 0, 0, 0)
    palette = bytes(part for code in range(int(frame.max()) + 1) for part in _colour(code))
    chunks = ((b"IHDR", head), (b"PLTE", palette), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _colour(code: int) -> tuple[int, int, int]:
    if code < 2:
        return (255 * code,) * 3
    red, green, blue = hsv_to_rgb((code - 2) * 0.381966 % 1, (1.0, 0.55)[code // 2 % 2], (1.0, 0.6)[code // 4 % 2])
    return round(255 * red), round(255 * green), round(255 * blue)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
