"""Whether somebody is playing a run, asked without disturbing whoever does."""

from __future__ import annotations

import os
from pathlib import Path

from lawbook.runs.folder import RunFolder


def is_alive(folder: RunFolder) -> bool:
    """Return whether somebody is playing it: holds the lock beside its ledger.

    Asks without touching the lock (Linux; elsewhere False).
    """
    try:
        status = folder.ledger.with_name(folder.ledger.name + ".lock").stat()
        locks = Path("/proc/locks").read_text(encoding="ascii")
    except OSError:
        return False
    lock_id = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    return any(fields[1] == "FLOCK" and fields[5] == lock_id for fields in map(str.split, locks.splitlines()) if len(fields) > 5)
