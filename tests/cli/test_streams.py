"""Output that is closed or full, descriptors that are not there, places that can only be read: sentences, and true codes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import list_runs

LAWBOOK = [sys.executable, "-m", "lawbook"]
PLAY = ["play", "demo:maze", "--budget", "3", "--plain", "--mind", "random", "--protocol", "vanilla"]


def run(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`lawbook` and what follows, by a shell that closes or turns what it says."""
    text = f'"{sys.executable}" -m lawbook {command}'
    return subprocess.run(["bash", "-c", text], cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_descriptor_changes_no_exit_code(tmp_path: Path, closed: str) -> None:
    assert run(f"worlds {closed}", tmp_path).returncode == 0
    ended = run(f"{' '.join(PLAY)} --out runs {closed}", tmp_path)
    assert ended.returncode == 1 and "bug" not in ended.stderr
    (folder,) = list_runs(tmp_path / "runs")
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        assert ledger.check() is None
    assert run(f"show {folder.path} {closed}", tmp_path).returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("command", ["worlds", "minds", " ".join(PLAY)])
def test_a_full_output_is_a_sentence_and_no_bug(tmp_path: Path, command: str) -> None:
    ended = run(f"{command} > /dev/full", tmp_path)
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1 and "No space left" in ended.stderr and "make room" in ended.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_place_that_can_only_be_read_is_a_sentence(tmp_path: Path) -> None:
    ended = run(f"{' '.join(PLAY)} --out runs", tmp_path)
    (folder,) = list_runs(tmp_path / "runs")
    folder.path.chmod(0o555)
    ended = run(f"export {folder.path}", tmp_path)
    assert ended.returncode == 2 and "cannot be written" in ended.stderr
