"""The memory that a worker shares with the run process: a ring of predicted frames with their statuses."""

from __future__ import annotations

import fcntl
import mmap
import os

import numpy as np

from lawbook.core.record import MAX_CELLS

STATUSES = ("running", "completed", "over")
"""A status in the ring is an index into this (values of `lawbook.core.record.Status`; a program never predicts a truncation)."""
STATUS_SETS = ((0, 1), (0, 2), (1, 2), (0, 1, 2))
"""A set of statuses left possible is written as len(STATUSES) plus an index into this."""
OPEN_FLAG = 0x80
"""Added to a status where the frame leaves cells open: which, and under what rule, stands in `open_cells`."""

CHUNK_BYTES = 512 << 10
MAX_CHUNK_FRAMES = 1024
MAX_FRAME_CELLS = MAX_CELLS
N_CHUNKS = 3  # one being computed, one on its way, one being compared
_HEADER_BYTES = 8192
MEMORY_BYTES = _HEADER_BYTES + 2 * N_CHUNKS * MAX_FRAME_CELLS
"""Bytes of address space; only pages that are written to cost memory."""


def create_shared_memory() -> int:
    """Create a file descriptor of fresh shared memory that nobody can shrink (who touched the lost part would die of SIGBUS)."""
    memory = os.memfd_create("lawbook-ring", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(memory, MEMORY_BYTES)
    fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return memory


class FrameRing:
    """The memory, laid out for frames of one shape (H, W).

    n_done: one 64-bit count, of frames finished since this replay began; written by the worker after the frame.
    frames, open_cells: capacity x H x W uint8; statuses: one byte each; number k lies at k % capacity. open_cells counts only where
    the status says so. chunk_frames: frames between two messages.
    """

    def __init__(self, memory: mmap.mmap, shape: tuple[int, int]) -> None:
        height, width = shape
        frame_bytes = height * width
        self.chunk_frames = max(1, min(MAX_CHUNK_FRAMES, CHUNK_BYTES // frame_bytes))
        self.capacity = N_CHUNKS * self.chunk_frames
        view = memoryview(memory)
        self.n_done = view[:8].cast("Q")
        self.statuses = view[64 : 64 + self.capacity]
        cells = np.frombuffer(memory, dtype=np.uint8, count=self.capacity * frame_bytes, offset=_HEADER_BYTES)
        self.frames = cells.reshape(self.capacity, height, width)
        offset = _HEADER_BYTES + N_CHUNKS * MAX_FRAME_CELLS
        planes = np.frombuffer(memory, dtype=np.uint8, count=self.capacity * frame_bytes, offset=offset)
        self.open_cells = planes.reshape(self.capacity, height, width)
