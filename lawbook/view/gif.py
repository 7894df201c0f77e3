"""An animated GIF made by hand: indexed colours, LZW, and of every frame only the rectangle that changed."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from lawbook.view.palette import RGB

Pixels = npt.NDArray[np.uint8]
_MAX_CODES = 4096
"""Codes of 12 bits at most; then the table is begun anew."""


def encode_gif(frames: Sequence[Pixels], colours: Sequence[RGB], delays: Sequence[int]) -> bytes:
    """frames: H x W each, all of one shape, each pixel the number of a colour (256 at most). delays: hundredths of a second that
    each is shown. It is played again and again."""
    height, width = frames[0].shape
    n_bits = max(2, (len(colours) - 1).bit_length())
    colour_table = bytes(channel for colour in colours for channel in colour).ljust(3 << n_bits, b"\0")
    return b"".join(
        [
            b"GIF89a" + struct.pack("<HHBBB", width, height, 0xF0 | (n_bits - 1), 0, 0) + colour_table,
            b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00",
            *_encode_images(frames, delays, n_bits),
            b"\x3b",
        ]
    )


def _encode_images(frames: Sequence[Pixels], delays: Sequence[int], n_bits: int) -> Iterator[bytes]:
    previous: Pixels | None = None
    for frame, delay in zip(frames, delays, strict=True):
        top, left, bottom, right = _find_changed_box(previous, frame)
        part = frame[top:bottom, left:right]
        yield b"\x21\xf9\x04" + struct.pack("<BHBB", 1 << 2, delay, 0, 0)  # it stays in place below the next
        yield b"\x2c" + struct.pack("<HHHHB", left, top, right - left, bottom - top, 0) + bytes([n_bits])
        compressed = encode_lzw(part.tobytes(), n_bits)
        for k in range(0, len(compressed), 255):
            block = compressed[k : k + 255]
            yield bytes([len(block)]) + block
        yield b"\0"
        previous = frame


def _find_changed_box(previous: Pixels | None, frame: Pixels) -> tuple[int, int, int, int]:
    """top, left, bottom, right of what differs; one pixel where nothing does."""
    if previous is None:
        return 0, 0, *frame.shape
    rows, columns = np.nonzero(previous != frame)
    if not len(rows):
        return 0, 0, 1, 1
    return int(rows.min()), int(columns.min()), int(rows.max()) + 1, int(columns.max()) + 1


def encode_lzw(data: bytes, n_bits: int) -> bytes:
    """LZW as GIF has it: codes of bits + 1 to 12 bits, least significant bit first."""
    clear_code, end_code = 1 << n_bits, (1 << n_bits) + 1
    table: dict[int, int] = {}
    code_size, next_code = n_bits + 1, end_code + 1
    output, buffer, n_buffered = bytearray(), 0, 0

    def write_code(code: int) -> None:
        nonlocal buffer, n_buffered
        buffer |= code << n_buffered
        n_buffered += code_size
        while n_buffered >= 8:
            output.append(buffer & 255)
            buffer >>= 8
            n_buffered -= 8

    write_code(clear_code)
    prefix = data[0]
    for byte in data[1:]:
        key = prefix << 8 | byte
        known_code = table.get(key)
        if known_code is not None:
            prefix = known_code
            continue
        write_code(prefix)
        prefix = byte
        if next_code < _MAX_CODES:
            table[key] = next_code
            if next_code == 1 << code_size:
                code_size += 1
            next_code += 1
        else:
            write_code(clear_code)
            table.clear()
            code_size, next_code = n_bits + 1, end_code + 1
    write_code(prefix)
    write_code(end_code)
    if n_buffered:
        output.append(buffer & 255)
    return bytes(output)
