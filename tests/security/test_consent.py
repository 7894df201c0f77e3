"""A run folder from elsewhere asks for no sandbox, or for much memory: only who runs the command can say yes to that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lawbook.audit import report
from lawbook.cli import main, regress
from lawbook.errors import UsageError
from lawbook.runs import lifecycle, recheck
from lawbook.runs.consent import Consent
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.runs.loops import play
from lawbook.sandbox.host import Host

LAKE = "gym:FrozenLake-v1?map_seed=3&size=4"
COMMANDS = (["verify"], ["regress"], ["audit", "--strict"])


class Noticed(Host):
    """The host, which also says how it was started."""

    started: list[dict[str, Any]]

    def __init__(self, **settings: Any) -> None:
        self.started.append(settings)
        super().__init__(**settings)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    Noticed.started = []
    for module in (report, regress, recheck, lifecycle):
        monkeypatch.setattr(module, "Host", Noticed)
    yield Noticed.started


def make_run(tmp_path: Path, host: Host, **settings: Any) -> RunFolder:
    """A finished run whose folder says that it was played so."""
    with start_run(RunConfig(LAKE, budget=30, **settings), tmp_path, host=host) as (folder, session):
        play(session)
    return folder


def test_no_command_leaves_the_sandbox_because_a_folder_says_so(
    tmp_path: Path, host: Host, started: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run(tmp_path, host, weak_sandbox=True)
    for command in COMMANDS:
        assert main.main([*command, str(folder.path)]) == 0, capsys.readouterr()
        assert main.main([*command, str(folder.path), "--weak-sandbox"]) == 0
    assert [settings["weak"] for settings in started] == [False, True] * len(COMMANDS)


def test_no_command_gives_more_memory_because_a_folder_says_so(
    tmp_path: Path, host: Host, started: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run(tmp_path, host, memory_mb=1024)
    for command in COMMANDS:
        assert main.main([*command, str(folder.path)]) == 2
        assert "say --memory 1024 if you want" in capsys.readouterr().err
        assert main.main([*command, str(folder.path), "--memory", "1024"]) == 0
    assert [settings["memory_mb"] for settings in started] == [1024] * len(COMMANDS)


def test_a_resumed_run_is_confined_unless_it_is_said_again(tmp_path: Path, host: Host, started: list[dict[str, Any]]) -> None:
    with start_run(RunConfig(LAKE, budget=30, weak_sandbox=True, memory_mb=600), tmp_path, host=host) as (folder, _):
        pass
    with pytest.raises(UsageError, match="--memory 600"), resume_run(folder):
        pass
    for consent in (Consent(memory_mb=600), Consent(True, 2000)):
        with resume_run(folder, consent=consent) as session:
            assert session.host.allows_weak is consent.weak
    assert [(settings["weak"], settings["memory_mb"]) for settings in started] == [(False, 600), (True, 600)]


def test_less_memory_than_is_allowed_stays_less() -> None:
    assert Consent().choose_memory(100) == 100 and Consent(memory_mb=2000).choose_memory(700) == 700
