"""The audit of a run on a server: nothing is played again there, but its scorecard is asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from arc_games import MARK, WALK, lay_out
from arc_server import Server, serving
from forging import Forgery
from minds import Scripted

from lawbook.arc import settings
from lawbook.audit.report import audit_run
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.sandbox.host import Host


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    lay_out(root := tmp_path_factory.mktemp("games"))
    with serving(root) as server, pytest.MonkeyPatch.context() as patch:
        for name in (settings.COOKIES_VARIABLE, settings.GAMES_VARIABLE, settings.MODE_VARIABLE, settings.TICKET_VARIABLE):
            patch.delenv(name, raising=False)
        patch.setenv(settings.URL_VARIABLE, server.url)
        patch.setenv(settings.KEY_VARIABLE, "our-key")
        yield server


@pytest.mark.slow
def test_the_scorecard_confirms_what_was_counted_and_shows_a_run_that_was_cut_short(server: Server, tmp_path: Path) -> None:
    config = RunConfig("arc:zq77?mode=online", protocol="vanilla", budget=20)
    with Host() as host, start_run(config, tmp_path / "runs", host=host, mind=Scripted()) as (folder, session):
        for action in (MARK, WALK, MARK):
            session.probe(action, "?")
        session.reset("anew")
        session.probe(WALK, "?")
    found = {line.name: line for line in audit_run(folder, strict=True).lines}
    assert all(line.ok is not False for line in found.values())
    assert found["world"].ok is None and "server" in found["world"].says
    assert "5 of 20 actions, 5 billed in 1 play; the scorecard says the same" in found["counts"].says
    forgery = Forgery(folder)
    del forgery.pages[-2:]  # the last action was never sent, says the forger
    forged = audit_run(forgery.written(tmp_path / "forged"), strict=True)
    assert [line.name for line in forged.lines if line.ok is False] == ["counts"]
    assert audit_run(forgery.written(tmp_path / "again")).holds, "nobody was asked"
