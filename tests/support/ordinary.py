"""An ordinary user for tests that root runs: a Python, and this project, that `nobody` can read."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

NOBODY = 65534
_NOT_NEEDED = ("site-packages", "test", "idlelib", "tkinter", "turtledemo", "lib2to3", "config-*")
_TESTS = Path(__file__).parent


def command(folder: Path, script: Path) -> tuple[list[str], dict[str, str]]:
    """The command that runs `script` in an interpreter that everybody may read, and its environment. What of it lies where only
    root looks is linked into `folder`, which must be open to everybody."""
    packages = _offered(Path(sysconfig.get_path("purelib")), folder / "packages")
    project = _TESTS.parents[1]
    if not _open(project):
        for name in ("lawbook", "tests"):
            _linked(project / name, folder / "project" / name)
        project = folder / "project"
    libraries = sysconfig.get_config_var("LIBDIR")
    python = Path(sys.executable).resolve()
    if not _open(python):
        libraries = folder / "python" / "lib"
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        _linked(Path(sysconfig.get_path("stdlib")), libraries / version, _NOT_NEEDED)
        for library in Path(sysconfig.get_config_var("LIBDIR")).glob("libpython*.so*"):
            _link(library, libraries / library.name)
        _link(python, folder / "python" / "bin" / python.name)
        python = folder / "python" / "bin" / python.name
    paths = os.pathsep.join(map(str, (project, project / "tests" / "support", packages)))
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    settings = {"PYTHONPATH": paths, "LD_LIBRARY_PATH": str(libraries), "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return [str(python), str(project / "tests" / "support" / script.name)], {**kept, **settings}


def works(told: tuple[list[str], dict[str, str]]) -> bool:
    """Whether nobody can run that interpreter and finds this project there."""
    (python, _), environment = told
    check = [python, "-c", "import lawbook.runs.lifecycle, hostile"]
    return subprocess.run(check, env=environment, cwd="/", user=NOBODY, group=NOBODY, extra_groups=[], check=False).returncode == 0


def _open(path: Path) -> bool:
    """May everybody read this, and enter every folder above it?"""
    above = all(parent.stat().st_mode & stat.S_IXOTH for parent in path.resolve().parents)
    return above and bool(path.stat().st_mode & stat.S_IROTH)


def _offered(path: Path, place: Path) -> Path:
    return path if _open(path) else _linked(path, place)


def _linked(path: Path, place: Path, without: tuple[str, ...] = ()) -> Path:
    shutil.copytree(path, place, copy_function=_link, ignore=shutil.ignore_patterns(*without, "*.a"), dirs_exist_ok=True)
    for folder in _folders(place):
        folder.chmod(0o755)
    return place


def _folders(place: Path) -> Iterator[Path]:
    yield place
    yield from (path for path in place.rglob("*") if path.is_dir() and not path.is_symlink())


def _link(source: str | Path, place: str | Path) -> None:
    """A second name for a file; a copy where that would lie on another disk, or where not everybody may read it."""
    Path(place).parent.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):
        if Path(source).stat().st_mode & stat.S_IROTH:
            os.link(source, place)
            return
    shutil.copyfile(source, place)
    Path(place).chmod(0o755)
