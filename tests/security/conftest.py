"""The host that is attacked: short of patience, its processes told from everybody else's by their memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from attacks import MEMORY, sandbox

from lawbook.sandbox.host import Host


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    with sandbox(MEMORY) as host:
        yield host
