"""Processes of a host that should have ended, found by a number that only that host was given."""

from __future__ import annotations

from pathlib import Path


def processes(memory_mb: int) -> list[int]:
    """Ids of the zygotes and workers of a host with this memory (a worker has its zygote's command line)."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if str(memory_mb << 20).encode() in command:
                found.append(int(folder.name))
    return found
