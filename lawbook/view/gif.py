"""An animated GIF made by hand: indexed colours, LZW, and of every frame only the rectangle that changed."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from lawbook.view.palette import RGB

Pixels = npt.NDArray[np.uint8]
_LARGEST = 4096
"""Codes of 12 bits at most; then the table is begun anew."""


def gif(frames: Sequence[Pixels], colours: Sequence[RGB], delays: Sequence[int]) -> bytes:
    """frames: H x W each, all of one shape, each pixel the number of a colour (256 at most). delays: hundredths of a second that
    each is shown. It is played again and again."""
    height, width = frames[0].shape
    bits = max(2, (len(colours) - 1).bit_length())
    table = bytes(part for colour in colours for part in colour).ljust(3 << bits, b"\0")
    return b"".join(
        [
            b"GIF89a" + struct.pack("<HHBBB", width, height, 0xF0 | (bits - 1), 0, 0) + table,
            b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00",
            *_images(frames, delays, bits),
            b"\x3b",
        ]
    )


def _images(frames: Sequence[Pixels], delays: Sequence[int], bits: int) -> Iterator[bytes]:
    before: Pixels | None = None
    for frame, delay in zip(frames, delays, strict=True):
        top, left, bottom, right = _changed(before, frame)
        part = frame[top:bottom, left:right]
        yield b"\x21\xf9\x04" + struct.pack("<BHBB", 1 << 2, delay, 0, 0)  # it stays in place below the next
        yield b"\x2c" + struct.pack("<HHHHB", left, top, right - left, bottom - top, 0) + bytes([bits])
        packed = lzw(part.tobytes(), bits)
        for k in range(0, len(packed), 255):
            block = packed[k : k + 255]
            yield bytes([len(block)]) + block
        yield b"\0"
        before = frame


def _changed(before: Pixels | None, frame: Pixels) -> tuple[int, int, int, int]:
    """top, left, bottom, right of what differs; one pixel where nothing does."""
    if before is None:
        return 0, 0, *frame.shape
    rows, columns = np.nonzero(before != frame)
    if not len(rows):
        return 0, 0, 1, 1
    return int(rows.min()), int(columns.min()), int(rows.max()) + 1, int(columns.max()) + 1


def lzw(data: bytes, bits: int) -> bytes:
    """LZW as GIF has it: codes of bits + 1 to 12 bits, least significant bit first."""
    clear, end = 1 << bits, (1 << bits) + 1
    table: dict[int, int] = {}
    size, following = bits + 1, end + 1
    out, held, pending = bytearray(), 0, 0

    def put(code: int) -> None:
        nonlocal held, pending
        held |= code << pending
        pending += size
        while pending >= 8:
            out.append(held & 255)
            held >>= 8
            pending -= 8

    put(clear)
    prefix = data[0]
    for byte in data[1:]:
        key = prefix << 8 | byte
        known = table.get(key)
        if known is not None:
            prefix = known
            continue
        put(prefix)
        prefix = byte
        if following < _LARGEST:
            table[key] = following
            if following == 1 << size:
                size += 1
            following += 1
        else:
            put(clear)
            table.clear()
            size, following = bits + 1, end + 1
    put(prefix)
    put(end)
    if pending:
        out.append(held & 255)
    return bytes(out)
