"""One folder a run: what was asked for (run.toml), where everything lies, and how runs are found again."""

from __future__ import annotations

import os
import platform
import re
import time
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import tomli_w

from lawbook import __version__
from lawbook.core import spending
from lawbook.core.plugins import suggest_name
from lawbook.errors import UsageError
from lawbook.planning.population import POLICIES, UNIFORM
from lawbook.runs.consent import DEFAULT_MEMORY_MB

PACKAGES = ("numpy", "arcengine", "arc-agi", "gymnasium", "minigrid")
"""Packages whose versions can change what a run sees."""


_RANGES = {
    "population": (1, 100),
    "budget": (1, 10**9),
    "seed": (-(10**18), 10**18),
    "nodes": (1, 10**12),
    "memory_mb": (64, 1 << 20),
}


@dataclass(frozen=True)
class RunConfig:
    """The settings that a run was asked for.

    nodes: most states a search expands (results repeat). memory_mb: for one program. policy: how one of several classes of plans is
    taken (population.POLICIES). images, seed_with, fallback: see minds.fallback. max_...: what its mind may cost (spending.Caps),
    as long as no resume has said otherwise.
    """

    # No pydantic here, unlike in a campaign: to import it costs every run 80 ms before its first action.
    world: str
    mind: str = "induce"
    protocol: str = "memento3"
    population: int = 1
    budget: int = 500
    seed: int = 0
    nodes: int = 200_000
    memory_mb: int = DEFAULT_MEMORY_MB
    weak_sandbox: bool = False
    policy: str = UNIFORM
    images: bool = False
    seed_with: str = ""
    fallback: str = ""
    max_dollars: float | None = None
    max_tokens: int | None = None
    max_calls: int | None = None
    max_minutes: float | None = None

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise UsageError(f"There is no policy {self.policy!r}; choose one of {', '.join(POLICIES)}.")
        spending.Caps.from_settings(asdict(self))
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if value > high:
                raise UsageError(f"{name} must be at most {high:,}.")
            if value < low:
                raise UsageError(f"{name} must be at least {low:,}.")


AGENTS_LINK = "agents"
"""A link in a run folder to the places of its agents, for people to look at: nothing of ours follows it."""


@dataclass(frozen=True)
class RunFolder:
    """The paths of one run."""

    path: Path

    @property
    def toml(self) -> Path:
        """The path of run.toml."""
        return self.path / "run.toml"

    @property
    def ledger(self) -> Path:
        """The path of the ledger."""
        return self.path / "ledger.sqlite"

    @property
    def memory(self) -> Path:
        """The path of the accepted versions."""
        return self.path / "memory"

    @property
    def report(self) -> Path:
        """The path of the report."""
        return self.path / "report.html"

    @classmethod
    def create(cls, out: Path, config: RunConfig) -> RunFolder:
        """Create a folder in `out`, named by time and world, with its run.toml. Raises UsageError when it cannot be written."""
        world_name = "arc" if config.world.startswith("arc:") else config.world.split("?")[0]  # no path is to hold a game's name
        slug = re.sub(r"[^a-z0-9]+", "-", world_name.lower()).strip("-")[:40]
        settings = {name: value for name, value in asdict(config).items() if value is not None}  # TOML has no nothing
        stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{slug}"
        try:
            out.mkdir(parents=True, exist_ok=True)
            for number in range(1, 1000):
                path = out / (stem if number == 1 else f"{stem}-{number}")
                try:
                    path.mkdir()
                except FileExistsError:
                    continue
                folder = cls(path)
                folder.toml.write_text(tomli_w.dumps({"run": settings, "versions": collect_versions()}), encoding="utf-8")
                return folder
        except OSError as error:
            raise UsageError(f"Cannot make a run folder in {out} ({error.strerror}); choose another with --out.") from error
        raise UsageError(f"{out} holds too many runs of this second; choose another folder with --out.")

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Open an existing one. Raises UsageError when it is no run folder."""
        folder = cls(path)
        for required_file in (folder.toml, folder.ledger):
            if not required_file.is_file():
                raise UsageError(f"{path} is no run folder (it has no {required_file.name}); `lawbook runs` lists those there are.")
        folder.refuse_links()
        return folder

    def refuse_links(self) -> None:
        """Raise UsageError where a file of this folder is a link: one from elsewhere could have us read or write anywhere.

        Looked at are the folder itself, the git memory and its .git; what the folder's own name points at is its owner's affair,
        and the link `agents` is for people alone.
        """
        for place in (self.path, self.memory, self.memory / ".git"):
            try:
                with os.scandir(place) as entries:
                    link = next((entry.name for entry in entries if entry.is_symlink() and entry.name != AGENTS_LINK), None)
            except OSError:  # it is not there yet, or cannot be read: whoever reads it says so
                continue
            if link is not None:
                raise UsageError(f"{place / link} is a link, and no link is followed in a run folder; put the file itself there.")

    def write_report(self, text: str) -> None:
        """Write report.html beside its place and move it there, so that it is whole or as it was. Raises OSError."""
        unfinished = self.path / f".report-{os.getpid()}.html"
        try:
            with unfinished.open("x", encoding="utf-8", errors="backslashreplace") as stream:
                stream.write(text)
            unfinished.replace(self.report)
        finally:
            unfinished.unlink(missing_ok=True)

    def load_config(self) -> RunConfig:
        """Load the settings. Raises UsageError for a file that is broken or holds what this version does not know."""
        try:
            table: dict[str, Any] = tomllib.loads(self.toml.read_text(encoding="utf-8"))["run"]
            types = {field.name: type(field.default) if field.name != "world" else str for field in fields(RunConfig)}
            types |= spending.OPTIONS
            for name, value in table.items():
                if name not in types:
                    raise ValueError(f"there is no {name!r}.{suggest_name(name, types)}".rstrip("."))
                if type(value) not in (types[name], int if types[name] is float else types[name]):
                    raise ValueError(f"{name} = {value!r}")
            return RunConfig(**table)
        except UsageError as error:
            raise UsageError(f"{self.toml}: {error}") from error
        except (OSError, KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise UsageError(f"{self.toml} cannot be read ({str(error)[:300]}); mend it or start a new run.") from error


def list_runs(out: Path) -> Iterator[RunFolder]:
    """Run folders below `out`, newest name first."""
    if out.is_dir():
        for path in sorted(out.iterdir(), reverse=True):
            if (path / "run.toml").is_file() and (path / "ledger.sqlite").is_file():
                yield RunFolder(path)


def collect_versions() -> dict[str, str]:
    """Collect the versions of everything that can change what a run sees or does."""
    package_versions = {"lawbook": __version__, "python": platform.python_version(), "machine": platform.machine()}
    for package in PACKAGES:
        try:
            package_versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return package_versions
