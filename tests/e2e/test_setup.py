"""The set-up: the lock says the same as pyproject.toml, scripts/setup finds a Python, heals and is quick, the wheel is whole."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
LOCAL = (ROOT / "tests" / "local-model.txt").read_text() + (ROOT / "tests" / "ale.txt").read_text()
"""The locks of the extras `local` and `ale`, which `make setup` leaves out."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
BASE_PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))


# --- The lock


def test_lock_holds_what_pyproject_asks_for() -> None:
    locked = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", LOCK + LOCAL, re.MULTILINE))
    asked = [*PROJECT["build-system"]["requires"], *PROJECT["project"]["dependencies"]]
    for extra in (PROJECT["project"]["optional-dependencies"], PROJECT["dependency-groups"]):
        asked += [line for lines in extra.values() for line in lines if isinstance(line, str)]
    wrong = []
    for requirement in map(Requirement, asked):
        name = canonicalize_name(requirement.name)
        if name != "lawbook" and (name not in locked or not requirement.specifier.contains(locked[name])):
            wrong.append(f"{requirement}, locked {locked.get(name)}")
    assert not wrong, f"run make lock: {wrong}"
    assert "lawbook" not in locked, "a stranger's package of our own name"


def test_lock_is_hashed_and_names_no_place() -> None:
    entries = re.split(r"^(?=[a-z0-9-]+==)", LOCK + LOCAL, flags=re.MULTILINE)[1:]
    assert [entry.split("==")[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert not re.search(r"://|index-url|find-links|file:| /", LOCK + LOCAL)


# --- scripts/setup, with a uv that only writes down what it was asked

UV = """#!/bin/sh
[ "$1" = --version ] && { echo uv 1.0.0; exit; }
echo "$*" >>calls
case "$*" in
    venv*) mkdir -p .venv/bin; ln -s "$PYTHON" .venv/bin/python ;;
    *--offline*requirements.lock) exit 1 ;;
    "pip sync"*) [ ! -e offline ] ;;
    "pip install"*) touch .venv/bin/lawbook; chmod +x .venv/bin/lawbook ;;
esac
"""
TOOLS = ("sh", "git", "sed", "grep", "cat", "cksum", "mkdir", "dirname", "head", "touch", "tr", "chmod", "mv", "rm", "ln", "flock")


@dataclass(frozen=True)
class Checkout:
    """A copy of what scripts/setup reads, and a PATH that holds little."""

    folder: Path
    bin: Path

    def setup(self, *path: Path) -> subprocess.CompletedProcess[str]:
        env = {"PATH": ":".join(map(str, [*path, self.bin])), "HOME": str(self.folder), "PYTHON": BASE_PYTHON}
        return subprocess.run(["scripts/setup"], cwd=self.folder, env=env, capture_output=True, text=True, timeout=60)

    def calls(self) -> list[str]:
        """What uv was asked since the last look, one word a call."""
        log = self.folder / "calls"
        words = [re.sub(r"^pip ", "", line).split()[0] for line in log.read_text().splitlines()] if log.exists() else []
        log.unlink(missing_ok=True)
        return words


def program(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    folder, tools = tmp_path / "a folder", tmp_path / "bin"
    for name in ("scripts/setup", "requirements.lock", "pyproject.toml", "lawbook/__init__.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    tools.mkdir()
    for tool in TOOLS:
        if found := shutil.which(tool):
            (tools / tool).symlink_to(found)
    return Checkout(folder, tools)


@pytest.fixture
def ready(checkout: Checkout) -> Checkout:
    """The same with a uv, a python3.13 that refuses (as pyenv's shims do) and a good one behind it."""
    program(checkout.bin / "uv", UV)
    program(checkout.bin / "python3.13", "#!/bin/sh\necho 'command not found' >&2; exit 127\n")
    behind = checkout.bin.parent / "versions" / "3.13.0" / "bin" / "python3"
    behind.parent.mkdir(parents=True)
    behind.symlink_to(BASE_PYTHON)
    return checkout


def test_a_refusing_python_is_passed_over_and_the_second_run_does_nothing(ready: Checkout) -> None:
    first = ready.setup()
    assert first.returncode == 0, first.stderr
    assert f"making .venv with {BASE_PYTHON}\n" in first.stderr
    assert ready.calls() == ["venv", "sync", "sync", "install"]
    second = ready.setup()
    assert (second.returncode, second.stderr, ready.calls()) == (0, "", [])


def test_an_interrupted_set_up_begins_anew(ready: Checkout) -> None:
    (ready.folder / "offline").touch()
    broken = ready.setup()
    assert broken.returncode == 1
    assert broken.stderr.endswith("check the network and run this again.\n")
    (ready.folder / "offline").unlink()
    ready.calls()
    assert ready.setup().returncode == 0
    assert ready.calls()[0] == "venv"


def test_a_changed_project_is_installed_again_and_a_moved_one_made_again(ready: Checkout) -> None:
    ready.setup()
    ready.calls()
    with (ready.folder / "pyproject.toml").open("a") as project:
        project.write("# changed\n")
    assert ready.setup().returncode == 0
    assert ready.calls() == ["sync", "sync", "install"]
    moved = Checkout(ready.folder.rename(ready.folder.parent / "elsewhere"), ready.bin)
    assert moved.setup().returncode == 0
    assert moved.calls() == ["venv", "sync", "sync", "install"]


@pytest.mark.parametrize("missing", ["git", "requirements.lock"])
def test_what_is_missing_is_one_sentence(ready: Checkout, missing: str) -> None:
    for folder in (ready.folder, ready.bin):
        (folder / missing).unlink(missing_ok=True)
    answer = ready.setup()
    assert answer.returncode == 1
    assert re.fullmatch(rf"set-up: {missing} is missing: .* and run this again\.\n", answer.stderr)


def test_no_python_is_one_sentence(checkout: Checkout) -> None:
    places = ("usr/local/bin", "usr/local/*/bin", "opt/*/bin", "opt/*/*/bin")
    if any(found for place in places for found in Path("/").glob(f"{place}/python3*")):
        pytest.skip("this machine keeps a Python where the set-up always looks")
    answer = checkout.setup()
    assert answer.returncode == 1
    assert re.fullmatch(r"set-up: Python is missing: install 3\.12 or newer .* and run this again\.\n", answer.stderr)


# --- Around it


def test_continuous_integration_calls_make_test_and_nothing_else() -> None:
    commands = [line for line in (ROOT / ".ci/run").read_text().splitlines() if line and not line.startswith("#")]
    assert commands == ['cd "$(dirname "$0")/.." && exec make test']
    assert os.access(ROOT / ".ci/run", os.X_OK)
    assert os.access(ROOT / "scripts/setup", os.X_OK)


def test_make_plays_the_world_it_is_given() -> None:
    for given, world in (
        ([], "gym:FrozenLake-v1?is_slippery=false&map_seed=7&size=8"),
        (["WORLD=demo:twins", "ARGS=--seed 3"], "demo:twins"),
    ):
        asked = subprocess.run(["make", "-n", "play", *given], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        assert f"'{world}'" in asked and '/lawbook play "$world" --mind induce' in asked
        assert ("--seed 3" in asked) == bool(given)


def test_the_wheel_holds_the_whole_package(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, capture_output=True, check=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        inside = {name for name in wheel.namelist() if name.startswith("lawbook/")}
    here = {
        str(path.relative_to(ROOT)) for path in (ROOT / "lawbook").rglob("*") if path.is_file() and "__pycache__" not in path.parts
    }
    assert inside == here
    assert "lawbook/py.typed" in inside
