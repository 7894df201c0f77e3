"""Where one agent lives: its workspace and its home, what it may read besides, and the Python it finds there."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import lawbook
from lawbook.errors import UsageError
from lawbook.sandbox.agent_process import Walls, system_paths, without

_OWN = ("workspace", "home", "tmp")
"""What the agent writes to. Nothing in these is written, or followed, from outside by name: it may be a link by then."""
_GIVEN = ("bin", "python")
"""What it only reads."""
_FOLDERS = (*_OWN, *_GIVEN, "sessions", "empty")


@dataclass(frozen=True)
class Place:
    """Folders of one agent, below one that says nothing of the world: an agent reads the path it works in."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> Place:
        """Make what is not there yet. Raises UsageError when it cannot be."""
        place = cls(folder.resolve())
        try:
            for name in _FOLDERS:
                (place.folder / name).mkdir(parents=True, exist_ok=True)
            place.folder.chmod(0o700)
            place._python()
        except OSError as error:
            raise UsageError(f"Cannot make a place for an agent in {folder} ({error.strerror}); choose another --out.") from error
        return place

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    def session(self) -> Path:
        """A new folder, empty, for the settings of one session: nobody has written to it before, and none is used twice.
        Raises OSError."""
        return Path(tempfile.mkdtemp(dir=self.folder / "sessions"))

    def walls(self, belongings: Iterable[str], hidden: Sequence[Path]) -> Walls:
        """What it may touch. belongings: of the agent's own program; hidden: what it must never read, wherever that lies."""
        shut = [*hidden, *_secret()]
        given = [str(self.folder / name) for name in _GIVEN]
        readable = tuple(dict.fromkeys((*system_paths(shut), *_python_paths(), *given, *belongings)))
        own = tuple(str(self.folder / name) for name in _OWN)
        return Walls(readable, own, str(self.folder / "empty"), tuple(_libraries()))

    def environment(self) -> dict[str, str]:
        """What its programs find set: nothing of the user's but a language and a clock."""
        kept = ("LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH")  # the last: some interpreters find no library without
        words = {name: value for name, value in os.environ.items() if name in kept}
        return {
            **words,
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "PATH": f"{self.folder / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "PYTHONPATH": str(self.folder / "python"),
            "PYTHONNOUSERSITE": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "SHELL": "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh",
        }

    def _python(self) -> None:
        """The very interpreter that runs programs, with numpy and nothing else that is installed."""
        real = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
        for name in ("python3", "python"):
            _link(self.folder / "bin" / name, real)
        for part in _numpy():
            _link(self.folder / "python" / Path(part).name, part)


def _link(link: Path, target: str) -> None:
    link.unlink(missing_ok=True)
    link.symlink_to(target)


def _numpy() -> list[str]:
    home = os.path.realpath(np.__path__[0])
    return [path for path in (home, f"{home}.libs") if Path(path).is_dir()]


def _python_paths() -> list[str]:
    """The interpreter and its library, without what is installed into it, and numpy."""
    real = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
    shared = [str(path) for path in (Path(sys.base_prefix) / "lib").glob("libpython*")]
    own = [part for library in _libraries() for part in without(library, _packages([library]))]
    return [real, *own, *shared, *_numpy()]


def _libraries() -> list[str]:
    """Where the standard library is looked for: an import lists these folders."""
    places = {os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}
    return sorted(places | {f"{place}/lib-dynload" for place in places})


def _packages(libraries: Iterable[str]) -> list[str]:
    """Folders into which packages are installed, games and Lawbook itself among them."""
    places = [*site.getsitepackages(), *sys.path, *(sysconfig.get_path(name) for name in ("purelib", "platlib"))]
    places += [f"{library}/{name}" for library in libraries for name in ("site-packages", "dist-packages")]
    return [os.path.realpath(place) for place in places if Path(place).name in ("site-packages", "dist-packages")]


def _secret() -> list[Path]:
    """Where Lawbook's own source and everything that is installed beside it lie."""
    return [Path(path) for path in (*lawbook.__path__, *_packages([]))]
