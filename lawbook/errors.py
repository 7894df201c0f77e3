"""Every failure a person can meet: each carries one sentence that says what to do, and the exit code it ends in."""

from __future__ import annotations


class LawbookError(Exception):
    """Base of all expected failures. `str(error)` is one sentence for a person; `exit_code` is the process exit code."""

    exit_code = 1


class UsageError(LawbookError):
    """Wrong use: an unknown world, a malformed option, a missing extra, a broken run folder. Exit code 2."""

    exit_code = 2


class WorldError(LawbookError):
    """The world process failed, broke its interface, or gave one history two outcomes. Exit code 3."""

    exit_code = 3


class HostError(LawbookError):
    """The sandboxed host could not be started or is weaker than required. Exit code 3. A bad *program* is a Fault, not this."""

    exit_code = 3


class MindError(LawbookError):
    """The mind could not answer (provider down, quota, caps). The run pauses and can be resumed. Exit code 1."""


class RefusedError(LawbookError):
    """The gate refused an operation before anything was sent. The sentence says what to do instead."""
