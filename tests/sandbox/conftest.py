"""The host of the tests of the sandbox itself: it waits two seconds for a step, and no longer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lawbook.sandbox.host import Host


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    with Host(step_seconds=2.0) as host:
        yield host
