"""Frames as pictures, for models that take them: the present one, and the one before it."""

from __future__ import annotations

import struct
import zlib
from colorsys import hsv_to_rgb

import numpy as np

from lawbook.core.record import Frame
from lawbook.minds.base import Case
from lawbook.minds.llm.model import ImagePart

IMAGE_SIZE = 768
"""Pixels of the longer side, about."""


def render_images(case: Case) -> tuple[ImagePart, ...]:
    """Render the last two settled frames of the present trajectory as pictures, the present one last."""
    if not len(case.record):
        return ()
    trajectory = case.record.current
    n_steps = len(trajectory)
    captioned_frames = [
        (f"The frame after {k} steps of the present trajectory:", trajectory.get_frame(k))
        for k in range(max(0, n_steps - 1), n_steps + 1)
    ]
    return tuple(ImagePart(caption, encode_png(frame)) for caption, frame in captioned_frames)


def encode_png(frame: Frame) -> bytes:
    """Encode an H x W frame as a PNG, each cell a square, each code a colour: 0 black, 1 white, others around the wheel."""
    cell = max(1, IMAGE_SIZE // max(frame.shape))
    pixels = frame.repeat(cell, axis=0).repeat(cell, axis=1)
    rows = np.zeros((pixels.shape[0], pixels.shape[1] + 1), dtype=np.uint8)  # each row begins with its filter, 0: none
    rows[:, 1:] = pixels
    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 3, 0, 0, 0)
    palette = bytes(channel for code in range(int(frame.max()) + 1) for channel in _pick_colour(code))
    chunks = ((b"IHDR", header), (b"PLTE", palette), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_encode_chunk(kind, data) for kind, data in chunks)


def _pick_colour(code: int) -> tuple[int, int, int]:
    if code < 2:
        return (255 * code,) * 3
    red, green, blue = hsv_to_rgb((code - 2) * 0.381966 % 1, (1.0, 0.55)[code // 2 % 2], (1.0, 0.6)[code // 4 % 2])
    return round(255 * red), round(255 * green), round(255 * blue)


def _encode_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
