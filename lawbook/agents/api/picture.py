"""A board as a picture for an agent: scaled up, with a grid, the numbers of rows and columns, and the codes of its colours."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

import numpy as np
import numpy.typing as npt

from lawbook.core.frame_text import format_colour

MAX_SIDE = 1024
"""Pixels of a board's longer side, at most."""
MARGIN, LEGEND_HEIGHT, SWATCH = 26, 22, 34
"""Pixels: left of a board and above it, below it, and of one colour's place in the legend."""
PAPER, INK, LINE = (255, 255, 255), (0, 0, 0), (128, 128, 128)

RGB = tuple[int, int, int]


def draw_board(
    frame: npt.NDArray[np.uint8], colours: Sequence[RGB], tiling: tuple[int, int, int] = (8, 0, 0)
) -> tuple[bytes, tuple[int, int]]:
    """(a PNG of an H x W frame, its width and height in pixels). tiling: size of the tiles between whose lines numbers stand, and
    where the first begins; the numbers are those of cells."""
    from PIL import Image, ImageDraw, ImageFont

    height, width = frame.shape
    scale = max(1, min(16, MAX_SIDE // max(height, width)))
    board = np.array([*colours[: int(frame.max()) + 1]], dtype=np.uint8)[frame]
    codes = np.unique(frame).tolist()
    size = (
        max(MARGIN + width * scale + 1, MARGIN + SWATCH * min(len(codes), 12)),
        MARGIN + height * scale + LEGEND_HEIGHT * -(-len(codes) // 12),
    )
    image = Image.new("RGB", size, PAPER)
    image.paste(Image.fromarray(np.kron(board, np.ones((scale, scale, 1), dtype=np.uint8))), (MARGIN, MARGIN))
    drawing, font = ImageDraw.Draw(image), ImageFont.load_default_imagefont()
    tile, top, left = tiling
    step = tile * max(1, -(-24 // (tile * scale)))
    for row in range(top, height, step):
        drawing.line((MARGIN - 4, MARGIN + row * scale, MARGIN + width * scale, MARGIN + row * scale), fill=LINE)
        drawing.text((1, MARGIN + row * scale), str(row), fill=INK, font=font)
    for column in range(left, width, step):
        drawing.line((MARGIN + column * scale, MARGIN - 4, MARGIN + column * scale, MARGIN + height * scale), fill=LINE)
        drawing.text((MARGIN + column * scale, 6), str(column), fill=INK, font=font)
    for k, code in enumerate(codes):
        x, y = MARGIN + SWATCH * (k % 12), MARGIN + height * scale + 4 + LEGEND_HEIGHT * (k // 12)
        drawing.rectangle((x, y, x + 14, y + 14), fill=tuple(colours[code]), outline=INK)
        drawing.text((x + 18, y + 2), format_colour(code), fill=INK, font=font)
    output = BytesIO()
    image.quantize(256).save(output, "PNG", optimize=True)
    return output.getvalue(), size
