"""What an analysis prints, in the memory its process shares with ours: still there when the process is not."""

from __future__ import annotations

import io
import mmap
import struct

_COUNT = struct.Struct("<Q")
_HEAD = 64


class Pad(io.TextIOBase):
    """A text stream that keeps the first `most` bytes (UTF-8) and counts the rest."""

    def __init__(self, memory: mmap.mmap, most: int) -> None:
        self._memory, self._most = memory, most

    def clear(self) -> None:
        _COUNT.pack_into(self._memory, 0, 0)

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() takes text, not {type(text).__name__}")
        data = text.encode("utf-8", "replace")
        at = self._written()
        kept = data[: max(0, self._most - at)]
        self._memory[_HEAD + at : _HEAD + at + len(kept)] = kept
        _COUNT.pack_into(self._memory, 0, at + len(data))
        return len(text)

    def read_back(self) -> tuple[str, int]:
        """(what was kept, how many bytes were not). From the outside: whoever wrote may have scribbled over all of it."""
        written = self._written()
        data = bytes(self._memory[_HEAD : _HEAD + min(written, self._most)])
        return data.decode("utf-8", "replace"), max(0, written - self._most)

    def _written(self) -> int:
        count: int = _COUNT.unpack_from(self._memory, 0)[0]
        return count
