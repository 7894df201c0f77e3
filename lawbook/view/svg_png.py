"""A frame as a picture: PNG by Pillow, and SVG shapes."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lawbook.core.record import Frame
from lawbook.view.motion_path import Point
from lawbook.view.palette import RGB, format_css, get_palette

if TYPE_CHECKING:
    from PIL.Image import Image


def encode_png(frame: Frame, palette_name: str) -> bytes:
    """Return an indexed PNG of a frame (uint8, H x W), one pixel a cell, in the colours of the palette of that name."""
    return encode_indexed_png(frame, get_palette(palette_name).colours[: int(frame.max()) + 1])


def encode_indexed_png(pixels: npt.NDArray[np.uint8], colours: Sequence[RGB]) -> bytes:
    """Return a PNG of uint8, H x W pixels, each the number of a colour; colours: 256 at most."""
    output = BytesIO()
    build_indexed_image(pixels, colours).save(output, "PNG", compress_level=9)
    return output.getvalue()


def build_indexed_image(pixels: npt.NDArray[np.uint8], colours: Sequence[RGB]) -> Image:
    """Build Pillow's image of uint8, H x W pixels, each the number of a colour; colours: 256 at most."""
    from PIL import Image  # costs time: not before there is something to draw

    image = Image.frombytes("P", (pixels.shape[1], pixels.shape[0]), pixels.tobytes())
    image.putpalette(bytes(channel for colour in colours for channel in colour))
    return image


def encode_data_uri(frame: Frame, palette_name: str) -> str:
    """Return the PNG of a frame (uint8, H x W) as an address that holds it, for an `img`."""
    return "data:image/png;base64," + base64.b64encode(encode_png(frame, palette_name)).decode()


def find_rectangles(mask: npt.NDArray[np.bool_]) -> list[tuple[int, int, int, int]]:
    """Cover exactly the True cells of an H x W mask with disjoint rectangles (row, column, height, width), greedily, row by row."""
    uncovered = mask.copy()
    rectangles = []
    for row, column in np.argwhere(mask).tolist():
        if not uncovered[row, column]:
            continue
        width = 1
        while column + width < uncovered.shape[1] and uncovered[row, column + width]:
            width += 1
        height = 1
        while row + height < uncovered.shape[0] and uncovered[row + height, column : column + width].all():
            height += 1
        uncovered[row : row + height, column : column + width] = False
        rectangles.append((row, column, height, width))
    return rectangles


def format_outline(mask: npt.NDArray[np.bool_]) -> str:
    """Write an SVG path (one unit a cell) of the rectangles that cover an H x W mask."""
    return "".join(f"M{column} {row}h{width}v{height}h-{width}z" for row, column, height, width in find_rectangles(mask))


def render_svg_cells(frame: Frame, palette_name: str) -> str:
    """Draw a frame (uint8, H x W) as SVG paths, one unit a cell, one path a colour.

    The commonest colour is one rectangle behind them.
    """
    height, width = frame.shape
    colours = get_palette(palette_name).colours
    codes, counts = np.unique(frame, return_counts=True)
    background_code = int(codes[counts.argmax()])
    parts = [f'<rect width="{width}" height="{height}" fill="{format_css(colours[background_code])}"/>']
    parts += [
        f'<path fill="{format_css(colours[code])}" d="{format_outline(frame == code)}"/>'
        for code in codes.tolist()
        if code != background_code
    ]
    return "".join(parts)


def format_polyline(points: Sequence[Point]) -> str:
    """Write the `points` of an SVG polyline, corners only."""
    corners = [
        point
        for index, point in enumerate(points)
        if index in (0, len(points) - 1) or not _is_straight(points[index - 1], point, points[index + 1])
    ]
    return " ".join(f"{column:g},{row:g}" for row, column in corners)


def _is_straight(first: Point, second: Point, third: Point) -> bool:
    return (second[0] - first[0]) * (third[1] - second[1]) == (second[1] - first[1]) * (third[0] - second[0]) and second != first
