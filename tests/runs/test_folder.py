"""The folder of a run: what stands in run.toml, and what is said of what may not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lawbook.errors import UsageError
from lawbook.runs.folder import RunConfig, RunFolder


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path, RunConfig("demo:maze"))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("bugdet = 5", "run.toml cannot be read .there is no 'bugdet'. Did you mean 'budget'"),
        ("xyzzy = 5", "run.toml cannot be read .there is no 'xyzzy'[)]; mend it"),
        ("budget = 0", "run.toml: budget must be at least 1"),
        ("policy = 'all'", "run.toml: There is no policy 'all'"),
        ("budget = true", "run.toml cannot be read .budget = True"),
        ("budget = 1.5", "run.toml cannot be read .budget = 1.5"),
        ("max_dollars = nan", "run.toml: max_dollars must be a number from 0"),
    ],
)
def test_what_is_wrong_in_run_toml_is_a_sentence(folder: RunFolder, line: str, says: str) -> None:
    kept = [one for one in folder.toml.read_text().splitlines() if not one.startswith(f"{line.split()[0]} =")]
    kept.insert(kept.index("[run]") + 1, line)
    folder.toml.write_text("\n".join(kept))
    with pytest.raises(UsageError, match=says):
        folder.load_config()


def test_the_settings_of_a_run_are_written_as_ever(folder: RunFolder) -> None:
    text = folder.toml.read_text()
    assert text[: text.index("[versions]")] == (
        '[run]\nworld = "demo:maze"\nmind = "induce"\nprotocol = "memento3"\npopulation = 1\nbudget = 500\nseed = 0\n'
        'nodes = 200000\nmemory_mb = 512\nweak_sandbox = false\npolicy = "uniform"\nimages = false\nseed_with = ""\n'
        'fallback = ""\n\n'
    )
    assert folder.load_config() == RunConfig("demo:maze")


def test_a_run_begins_without_pydantic() -> None:
    code = "import sys, lawbook.runs.lifecycle; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
