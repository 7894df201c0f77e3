"""What all tests share: a sandbox host, the runs that the viewers show, and how far random examples wander."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from evil_minds import evil
from hypothesis import settings
from lakes import LAKE, NO_HOLES, STILL_NO_HOLES, TRUE
from minds import Scripted

from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.lifecycle import start_run
from lawbook.runs.loops.memento3 import play
from lawbook.sandbox.host import Host

settings.register_profile("ci", derandomize=True)
settings.register_profile("torture", derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    """A sandbox as a run has it. Modules that measure limits, or count its processes, start one of their own."""
    with Host() as host:
        yield host


@pytest.fixture(scope="session")
def runs(host: Host, tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunFolder]:
    """Runs of one folder, by name: wrong, refused, then true proposals; harmful texts; a population; random and induced play."""
    out = tmp_path_factory.mktemp("shown") / "runs"
    kinds = {
        "scripted": (RunConfig(LAKE), Scripted([NO_HOLES, STILL_NO_HOLES, TRUE])),
        "evil": (RunConfig(LAKE), evil("x" * 200_000)),
        "population": (RunConfig(LAKE, population=2), Scripted([NO_HOLES, TRUE])),
        "random": (RunConfig("demo:maze?seed=1", mind="random", protocol="vanilla", budget=60), None),
        "maze": (RunConfig("demo:maze?seed=1", budget=40), None),
    }
    found = {}
    for name, (config, mind) in kinds.items():
        with start_run(config, out, host=host, mind=mind) as (folder, session):
            play(session)
        found[name] = RunFolder(folder.path.rename(folder.path.with_name(name)))
    return found
