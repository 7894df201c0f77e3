"""A world from another package: examples/outside-world, really installed, found by its entry point and played by the command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "outside-world"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example installed in it, from a copy of its source, without any network."""
    folder = tmp_path_factory.mktemp("outside")
    source, target = folder / "source", folder / "packages"
    shutil.copytree(EXAMPLE, source)
    options = ["--quiet", "--offline", "--no-cache", "--no-deps", "--no-build-isolation", "--python", sys.executable]
    install = [sys.executable, "-m", "uv", "pip", "install", *options, "--target", str(target), str(source)]
    subprocess.run(install, check=True)
    return target


def lawbook(*words: str, packages: Path | None, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": str(cwd), "PYTHONPATH": str(packages) if packages else ""}
    return subprocess.run(
        [sys.executable, "-P", "-m", "lawbook", *words], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


def test_it_is_listed_beside_ours(installed: Path, tmp_path: Path) -> None:
    listed = lawbook("worlds", packages=installed, cwd=tmp_path)
    assert listed.returncode == 0 and "garden:bushes?seed=3" in listed.stdout and "demo:" in listed.stdout
    assert "garden" not in lawbook("worlds", packages=None, cwd=tmp_path).stdout


def test_the_random_mind_plays_it(installed: Path, tmp_path: Path) -> None:
    words = ("play", "garden:bushes?seed=3", "--mind", "random", "--budget", "40", "--json")
    played = lawbook(*words, packages=installed, cwd=tmp_path)
    told = json.loads(played.stdout)
    assert played.returncode == (0 if told["outcome"] == "won" else 1), played.stderr
    assert told["protocol"] == "vanilla" and 14 <= told["actions"] <= 40 and told["outcome"] in ("won", "budget")


def test_the_built_in_mind_learns_it_and_wins(installed: Path, tmp_path: Path) -> None:
    played = lawbook("play", "garden:bushes?seed=3", "--json", packages=installed, cwd=tmp_path)
    assert played.returncode == 0, played.stderr
    told = json.loads(played.stdout)
    assert told["outcome"] == "won" and told["protocol"] == "memento3" and told["per_level"][0]["baseline"] == 14


def test_what_is_wrong_with_it_is_a_sentence(installed: Path, tmp_path: Path) -> None:
    for world, packages, says in [
        ("garden:bush", installed, "Did you mean 'bushes'"),
        ("garden:bushes?seed=1000", installed, "whole number from 0 to 999"),
        ("garden:bushes", None, "no kind of world called 'garden'"),
    ]:
        refused = lawbook("play", world, packages=packages, cwd=tmp_path)
        assert refused.returncode == 2 and says in refused.stderr
        assert not (tmp_path / "runs").exists()
