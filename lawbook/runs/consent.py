"""Consent: what programs of a run folder may do here is said by whoever runs a command, never by the folder."""

from __future__ import annotations

from dataclasses import dataclass

from lawbook.errors import UsageError

DEFAULT_MEMORY_MB = 512
"""What a program may use unless somebody says more."""


@dataclass(frozen=True)
class Consent:
    """Permissions for programs of a run folder that may come from elsewhere.

    weak: run them although the sandbox does not keep them from files and network. memory_mb: for one program; None: up to 512.
    """

    weak: bool = False
    memory_mb: int | None = None

    def choose_memory(self, recorded_mb: int) -> int:
        """Return the limit to run with: what the run was played with. Raises UsageError where that is more than is allowed."""
        allowed_mb = DEFAULT_MEMORY_MB if self.memory_mb is None else self.memory_mb
        if recorded_mb > allowed_mb:
            raise UsageError(
                f"This run gave each program {recorded_mb:,} MB, and {allowed_mb:,} MB are allowed here; say --memory "
                f"{recorded_mb} if you want its programs to have as much on this machine."
            )
        return recorded_mb
