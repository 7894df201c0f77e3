"""A frame as a picture: PNG made by hand, and SVG shapes. No dependency beyond numpy."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lawbook.core.record import Frame
from lawbook.view.motion_path import Point
from lawbook.view.palette import RGB, css, palette


def png(frame: Frame, name: str) -> bytes:
    """An indexed PNG of H x W pixels, one a cell, in the colours of palette `name`."""
    return indexed_png(frame, palette(name).colours[: int(frame.max()) + 1])


def indexed_png(pixels: npt.NDArray[np.uint8], colours: Sequence[RGB]) -> bytes:
    """A PNG of H x W pixels, each the number of a colour."""
    height, width = pixels.shape
    rows = np.zeros((height, width + 1), dtype=np.uint8)  # each row begins with its filter, 0: none
    rows[:, 1:] = pixels
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))
        + _chunk(b"PLTE", bytes(part for colour in colours for part in colour))
        + _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9))
        + _chunk(b"IEND", b"")
    )


def data_uri(frame: Frame, name: str) -> str:
    return "data:image/png;base64," + base64.b64encode(png(frame, name)).decode()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def rectangles(mask: npt.NDArray[np.bool_]) -> list[tuple[int, int, int, int]]:
    """Disjoint rectangles (row, column, height, width) that cover exactly the True cells, greedily, row by row."""
    left = mask.copy()
    found = []
    for row, column in np.argwhere(mask).tolist():
        if not left[row, column]:
            continue
        width = 1
        while column + width < left.shape[1] and left[row, column + width]:
            width += 1
        height = 1
        while row + height < left.shape[0] and left[row + height, column : column + width].all():
            height += 1
        left[row : row + height, column : column + width] = False
        found.append((row, column, height, width))
    return found


def outline(mask: npt.NDArray[np.bool_]) -> str:
    """An SVG path (one unit a cell) of the rectangles that cover the mask."""
    return "".join(f"M{column} {row}h{width}v{height}h-{width}z" for row, column, height, width in rectangles(mask))


def svg_cells(frame: Frame, name: str) -> str:
    """SVG paths of all cells, one unit a cell, one path a colour; the commonest colour is one rectangle behind them."""
    height, width = frame.shape
    colours = palette(name).colours
    codes, counts = np.unique(frame, return_counts=True)
    ground = int(codes[counts.argmax()])
    parts = [f'<rect width="{width}" height="{height}" fill="{css(colours[ground])}"/>']
    parts += [f'<path fill="{css(colours[code])}" d="{outline(frame == code)}"/>' for code in codes.tolist() if code != ground]
    return "".join(parts)


def polyline(points: Sequence[Point]) -> str:
    """`points` of an SVG polyline, corners only."""
    kept = [p for k, p in enumerate(points) if k in (0, len(points) - 1) or not _straight(points[k - 1], p, points[k + 1])]
    return " ".join(f"{column:g},{row:g}" for row, column in kept)


def _straight(one: Point, two: Point, three: Point) -> bool:
    return (two[0] - one[0]) * (three[1] - two[1]) == (two[1] - one[1]) * (three[0] - two[0]) and two != one
