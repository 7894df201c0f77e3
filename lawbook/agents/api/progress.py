"""How many actions a run has sent, in memory that its MCP servers share: they tell their clients while a long plan goes on."""

from __future__ import annotations

import mmap
import os
import struct

_COUNT = struct.Struct("<Q")


class ActionCounter:
    """A number that one process writes and others read. descriptor: to hand on; whoever is given it reads what is there."""

    def __init__(self, descriptor: int | None = None) -> None:
        if descriptor is None:
            descriptor = os.memfd_create("law-progress", os.MFD_CLOEXEC)
            os.ftruncate(descriptor, mmap.PAGESIZE)
        self.descriptor = descriptor
        self._memory = mmap.mmap(descriptor, _COUNT.size)

    def write(self, count: int) -> None:
        """Let others see this number."""
        _COUNT.pack_into(self._memory, 0, count)

    def read(self) -> int:
        """The number written last."""
        count: int = _COUNT.unpack_from(self._memory, 0)[0]
        return count

    def close(self) -> None:
        """Let go of it; others keep what they have."""
        self._memory.close()
        os.close(self.descriptor)
