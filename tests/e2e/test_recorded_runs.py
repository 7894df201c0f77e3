"""Runs recorded by an earlier version are shown, verified and audited as they were then, and go on to the same end."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lawbook.ledger.events import EventKind
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import RunFolder

RECORDED = Path(__file__).parents[1] / "support" / "recorded_runs"
RUNS = ["finished", "interrupted", "population"]
UNFINISHED = ["interrupted", "population"]
CLOCKED = re.compile(r"\b\d+ (h|min) \d+ (min|s)\b|\b\d+(\.\d+)? (s|ms)\b")


def restore(name: str, folder: Path) -> RunFolder:
    """A copy that can be played on: `dot-git` gets its name back."""
    copy = folder / name
    shutil.copytree(RECORDED / name / "run", copy)
    (copy / "memory" / "dot-git").rename(copy / "memory" / ".git")
    return RunFolder(copy)


def lawbook(folder: Path, *words: str) -> str:
    """What a command prints beside the run, with its exit code, as it is kept in `expected`."""
    done = subprocess.run(
        [sys.executable, "-m", "lawbook", *words],
        cwd=folder, env={**os.environ, "TZ": "UTC", "COLUMNS": "200"}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    return done.stdout + (f"--- stderr\n{done.stderr}" if done.stderr else "") + f"[exit {done.returncode}]\n"


def expected(name: str, file: str) -> str:
    return CLOCKED.sub("TIME", (RECORDED / name / "expected" / file).read_text(encoding="utf-8"))


def read_outcome(folder: RunFolder) -> dict[str, Any]:
    """Actions and end of a run, as they are kept in `expected`."""
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        events = list(ledger.read_events())
    seen = [event.body for event in events if event.kind is EventKind.OBSERVE]
    closed = [event.body for event in events if event.kind is EventKind.CLOSE]
    actions = [body["action"] for body in seen if body["action"] is not None]
    return {
        "outcome": closed[-1]["outcome"] if closed else None,
        "levels": max(body["level"] for body in seen),
        "openings": sum(event.kind is EventKind.OPEN for event in events),
        "sent": len(actions),
        "actions": actions,
    }


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("command", ["show", "verify", "audit"])
def test_a_recorded_run_reads_as_it_did(tmp_path: Path, name: str, command: str) -> None:
    restore(name, tmp_path)
    assert CLOCKED.sub("TIME", lawbook(tmp_path, command, name)) == expected(name, f"{command}.txt")


def test_a_recorded_run_can_be_played_again_in_a_strict_audit(tmp_path: Path) -> None:
    restore("finished", tmp_path)
    assert CLOCKED.sub("TIME", lawbook(tmp_path, "audit", "--strict", "finished")) == expected("finished", "audit-strict.txt")


@pytest.mark.slow
@pytest.mark.parametrize("name", UNFINISHED)
def test_an_unfinished_run_goes_on_to_the_same_end(tmp_path: Path, name: str) -> None:
    folder = restore(name, tmp_path)
    assert read_outcome(folder) == json.loads((RECORDED / name / "expected" / "actions.json").read_text())
    said = lawbook(tmp_path, "play", "--resume", name, "--plain")
    assert "\nwon: 4 of 4 levels" in said and said.endswith("[exit 0]\n")
    assert read_outcome(folder) == json.loads((RECORDED / name / "expected" / "resumed-actions.json").read_text())
    assert "all that was looked at holds" in lawbook(tmp_path, "audit", name)
