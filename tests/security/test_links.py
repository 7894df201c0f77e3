"""A run folder from elsewhere with links in it: none is followed, nothing elsewhere is read, made or written."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lawbook.cli import main
from lawbook.errors import UsageError
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.sandbox.host import Host

LINKS = (
    "report.html",
    "ledger.sqlite",
    "ledger.sqlite.lock",
    "ledger.sqlite-wal",
    "run.toml",
    "memory",
    "memory.rebuilt",
    "memory.replaced",
    "memory/.git",
    "memory/.git/config",
    "drive.log",
)
COMMANDS = (["show"], ["score"], ["report"], ["verify"], ["audit"], ["audit", "--mend"], ["history"], ["play", "--resume"])


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory, host: Host) -> Path:
    """A run that can go on, with an accepted version in its memory."""
    with start_run(RunConfig("demo:maze", budget=25), tmp_path_factory.mktemp("runs"), host=host) as (folder, session):
        for member in session.list_due_members():
            session.propose(session.call_mind(member, "propose"), member)
        while session.state.n_actions < 3:
            session.probe(session.call_mind(0, "explore").action, "what does it do?")  # type: ignore[union-attr]
    return folder.path


def look_at(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("name", LINKS)
def test_no_link_in_a_run_folder_is_followed(
    begun: Path, tmp_path: Path, name: str, host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(begun, tmp_path / "run")
    folder, elsewhere = RunFolder(tmp_path / "run"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    place, target = folder.path / name, elsewhere / "precious"
    if place.is_dir():
        shutil.copytree(place, target)
        shutil.rmtree(place)
    elif place.exists():
        shutil.copy(place, target)
        place.unlink()
    elif not name.startswith("memory"):
        target.write_text("precious")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)
    before = look_at(elsewhere)
    for command in COMMANDS:
        assert main.main([*command, str(folder.path)]) == 2, command
        assert "is a link" in capsys.readouterr().err, command
    with pytest.raises(UsageError, match="is a link"), resume_run(folder, host=host):
        pass
    assert look_at(elsewhere) == before


def test_a_link_in_place_of_a_lock_is_not_followed(begun: Path, tmp_path: Path) -> None:
    shutil.copytree(begun, tmp_path / "run")
    lock = tmp_path / "run" / "ledger.sqlite.lock"
    lock.unlink(missing_ok=True)
    lock.symlink_to(tmp_path / "made")
    with pytest.raises(UsageError, match="cannot be written"):
        Ledger.open(tmp_path / "run" / "ledger.sqlite")
    assert not (tmp_path / "made").exists()


def test_a_report_is_whole_or_as_it_was(begun: Path, tmp_path: Path) -> None:
    shutil.copytree(begun, tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    folder.write_report("first")
    victim = tmp_path / "victim"
    victim.write_text("precious")
    folder.report.unlink()
    folder.report.symlink_to(victim)
    folder.write_report("second")
    assert victim.read_text() == "precious" and not folder.report.is_symlink() and folder.report.read_text() == "second"
    assert [path.name for path in folder.path.glob(".report*")] == []
