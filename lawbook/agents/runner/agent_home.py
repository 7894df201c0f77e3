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
from lawbook.sandbox.agent_process import AccessPolicy, exclude_paths, find_system_paths

_WRITABLE_FOLDERS = ("workspace", "home", "tmp")
"""What the agent writes to. Nothing in these is written, or followed, from outside by name: it may be a link by then."""
_READ_ONLY_FOLDERS = ("bin", "python")
"""What it only reads."""
_FOLDERS = (*_WRITABLE_FOLDERS, *_READ_ONLY_FOLDERS, "sessions", "empty")


@dataclass(frozen=True)
class AgentHome:
    """Folders of one agent, below one that says nothing of the world: an agent reads the path it works in."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> AgentHome:
        """Make what is not there yet. Raises UsageError when it cannot be."""
        agent_home = cls(folder.resolve())
        try:
            for name in _FOLDERS:
                (agent_home.folder / name).mkdir(parents=True, exist_ok=True)
            agent_home.folder.chmod(0o700)
            agent_home._link_python()
        except OSError as error:
            raise UsageError(f"Cannot make a place for an agent in {folder} ({error.strerror}); choose another --out.") from error
        return agent_home

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    def make_session_folder(self) -> Path:
        """A new folder, empty, for the settings of one session: nobody has written to it before, and none is used twice.
        Raises OSError."""
        return Path(tempfile.mkdtemp(dir=self.folder / "sessions"))

    def build_access_policy(self, agent_files: Iterable[str], hidden_paths: Sequence[Path]) -> AccessPolicy:
        """What it may touch. agent_files: of the agent's own program; hidden_paths: what it must never read, wherever that lies."""
        all_hidden = [*hidden_paths, *_list_secret_folders()]
        read_only = [str(self.folder / name) for name in _READ_ONLY_FOLDERS]
        readable = tuple(dict.fromkeys((*find_system_paths(all_hidden), *_list_python_paths(), *read_only, *agent_files)))
        writable = tuple(str(self.folder / name) for name in _WRITABLE_FOLDERS)
        return AccessPolicy(readable, writable, str(self.folder / "empty"), tuple(_list_library_folders()))

    def build_environment(self) -> dict[str, str]:
        """What its programs find set: nothing of the user's but a language and a clock."""
        inherited = ("LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH")  # the last: some interpreters find no library without
        variables = {name: value for name, value in os.environ.items() if name in inherited}
        return {
            **variables,
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

    def _link_python(self) -> None:
        """The very interpreter that runs programs, with numpy and nothing else that is installed."""
        interpreter = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
        for name in ("python3", "python"):
            _replace_link(self.folder / "bin" / name, interpreter)
        for part in _find_numpy_folders():
            _replace_link(self.folder / "python" / Path(part).name, part)


def _replace_link(link: Path, target: str) -> None:
    link.unlink(missing_ok=True)
    link.symlink_to(target)


def _find_numpy_folders() -> list[str]:
    package_folder = os.path.realpath(np.__path__[0])
    return [path for path in (package_folder, f"{package_folder}.libs") if Path(path).is_dir()]


def _list_python_paths() -> list[str]:
    """The interpreter and its library, without what is installed into it, and numpy."""
    interpreter = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
    shared_libraries = [str(path) for path in (Path(sys.base_prefix) / "lib").glob("libpython*")]
    library_parts = [
        part for library in _list_library_folders() for part in exclude_paths(library, _list_package_folders([library]))
    ]
    return [interpreter, *library_parts, *shared_libraries, *_find_numpy_folders()]


def _list_library_folders() -> list[str]:
    """Where the standard library is looked for: an import lists these folders."""
    folders = {os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}
    return sorted(folders | {f"{folder}/lib-dynload" for folder in folders})


def _list_package_folders(libraries: Iterable[str]) -> list[str]:
    """Folders into which packages are installed, games and Lawbook itself among them."""
    folders = [*site.getsitepackages(), *sys.path, *(sysconfig.get_path(name) for name in ("purelib", "platlib"))]
    folders += [f"{library}/{name}" for library in libraries for name in ("site-packages", "dist-packages")]
    return [os.path.realpath(folder) for folder in folders if Path(folder).name in ("site-packages", "dist-packages")]


def _list_secret_folders() -> list[Path]:
    """Where Lawbook's own source and everything that is installed beside it lie."""
    return [Path(path) for path in (*lawbook.__path__, *_list_package_folders([]))]
