"""What the tests of host and search share: a start, plenty of time, a program in a worker."""

from __future__ import annotations

import numpy as np
from hostile import program as counter

from lawbook.core.hypothesis import ENGINE
from lawbook.core.results import InitialObservation, Limits
from lawbook.sandbox.host import Host, Program
from lawbook.sandbox.worker_client import Worker

__all__ = ["PLENTY", "START", "counter", "loaded", "worker"]

START = InitialObservation(np.zeros((4, 4), dtype=np.uint8), 2, (1, 2))
PLENTY = Limits(nodes=100_000, depth=1000, seconds=30.0)


def loaded(host: Host, files: dict[str, str] | str) -> Program:
    answer = host.load(files if isinstance(files, dict) else {ENGINE: files})
    assert isinstance(answer, Program), answer
    return answer


def worker(host: Host, files: dict[str, str] | str, *, twin: bool = False) -> Worker:
    answer = loaded(host, files).start_worker(twin=twin)
    assert isinstance(answer, Worker), answer
    return answer
