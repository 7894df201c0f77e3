"""Output of an analysis, in the memory its process shares with ours: still there when the process is not."""

from __future__ import annotations

import io
import mmap
import struct

_BYTE_COUNT = struct.Struct("<Q")
_HEADER_BYTES = 64


class OutputBuffer(io.TextIOBase):
    """A text stream that keeps the first `max_bytes` (UTF-8) and counts the rest."""

    def __init__(self, memory: mmap.mmap, max_bytes: int) -> None:
        self._memory, self._max_bytes = memory, max_bytes

    def clear(self) -> None:
        """Forget all that was written."""
        _BYTE_COUNT.pack_into(self._memory, 0, 0)

    def writable(self) -> bool:
        """Return True, always."""
        return True

    def write(self, text: str) -> int:
        """Write text as far as there is room; return its length in characters. Raises TypeError for what is no text."""
        if not isinstance(text, str):
            raise TypeError(f"write() takes text, not {type(text).__name__}")
        data = text.encode("utf-8", "replace")
        offset = self._read_count()
        stored = data[: max(0, self._max_bytes - offset)]
        self._memory[_HEADER_BYTES + offset : _HEADER_BYTES + offset + len(stored)] = stored
        _BYTE_COUNT.pack_into(self._memory, 0, offset + len(data))
        return len(text)

    def read_back(self) -> tuple[str, int]:
        """Read (what was kept, how many bytes were not). From the outside: whoever wrote may have scribbled over all of it."""
        n_written = self._read_count()
        data = bytes(self._memory[_HEADER_BYTES : _HEADER_BYTES + min(n_written, self._max_bytes)])
        return data.decode("utf-8", "replace"), max(0, n_written - self._max_bytes)

    def _read_count(self) -> int:
        count: int = _BYTE_COUNT.unpack_from(self._memory, 0)[0]
        return count
