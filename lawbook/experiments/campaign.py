"""Campaigns: worlds x minds x protocols x seeds from one TOML file, some at a time, capped, and gone on with where they stopped.

Nothing is remembered but what the runs themselves say: a cell whose run has ended is done, one that broke off is resumed.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import Any

from lawbook.arc import scorecards, settings
from lawbook.errors import UsageError
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import RunConfig, RunFolder, runs_in
from lawbook.scoring.billing import counting
from lawbook.scoring.seed_statistics import Done
from lawbook.view.metrics import Brief, brief, dollars
from lawbook.worlds.address import WorldAddress, check

TICK = 0.2
"""Seconds between two looks at what is running."""
_PARTING = 60.0


@dataclass(frozen=True)
class Caps:
    """What all runs together may take; None: no limit. money in dollars, minutes by the clock while the campaign is at work."""

    actions: int | None = None
    money: float | None = None
    minutes: float | None = None


@dataclass(frozen=True)
class Plan:
    """What a campaign file asks for. Every world is played by every mind under every protocol with every seed.

    budget, population, nodes: of each run. mode, tags, source_url: for arc: worlds, and the one card they are billed to.
    """

    worlds: tuple[str, ...]
    minds: tuple[str, ...] = ("induce",)
    protocols: tuple[str, ...] = ("memento3",)
    seeds: tuple[int, ...] = (0,)
    budget: int = 500
    population: int = 1
    nodes: int = 200_000
    mode: str = ""
    tags: tuple[str, ...] = ()
    source_url: str = ""
    caps: Caps = field(default_factory=Caps)

    @classmethod
    def read(cls, file: Path) -> Plan:
        """Raises UsageError with what is wrong in the file."""
        try:
            given = tomllib.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"{file} cannot be read ({error.strerror}); name a campaign file.") from error
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{file} is no TOML ({error}); mend it.") from error
        plan = cls(**_checked(file, cls, {**given, "caps": Caps(**_checked(file, Caps, given.get("caps", {})))}))
        if not plan.worlds:
            raise UsageError(f"{file} names no worlds; write worlds = [...].")
        for world in plan.worlds:
            check(WorldAddress.parse(world))
        if plan.mode and plan.mode not in settings.MODES:
            raise UsageError(f"{file}: mode is one of {', '.join(settings.MODES)}, not {plan.mode!r}.")
        games = [WorldAddress.parse(cell.world).name for cell in plan.cells() if cell.world.startswith("arc:")]
        if plan.mode == "competition" and len(set(games)) < len(games):
            raise UsageError(f"{file}: a competition card takes each game once; leave one mind, protocol and seed.")
        return plan

    def cells(self) -> list[RunConfig]:
        """Every run there is to be, in order. Raises UsageError."""
        return [
            RunConfig(world, mind, protocol, self.population, self.budget, seed, self.nodes)
            for world, mind, protocol, seed in product(self.worlds, self.minds, self.protocols, self.seeds)
        ]


_TYPES: dict[str, tuple[type, ...]] = {"money": (int, float), "minutes": (int, float), "mode": (str,), "source_url": (str,)}
_ITEMS: dict[str, type] = {"worlds": str, "minds": str, "protocols": str, "seeds": int, "tags": str}


def _checked(file: Path, kind: type, given: Any) -> dict[str, Any]:
    """The fields of `kind` that a table gives, of the right types. Raises UsageError."""
    known, found = {f.name for f in fields(kind)}, dict[str, Any]()
    if not isinstance(given, Mapping):
        raise UsageError(f"{file}: caps is a table; write [caps] and its limits below it.")
    for name, value in given.items():
        if name not in known:
            raise UsageError(f"{file}: there is no {name!r}; there is {', '.join(sorted(known))}.")
        if name in _ITEMS:
            if not isinstance(value, list) or not all(type(item) is _ITEMS[name] for item in value):
                raise UsageError(f"{file}: {name} is a list of {'numbers' if _ITEMS[name] is int else 'texts'}, not {value!r}.")
            value = tuple(value)
        elif name != "caps" and (isinstance(value, bool) or not isinstance(value, _TYPES.get(name, (int,)))):
            raise UsageError(f"{file}: {name} cannot be {value!r}.")
        found[name] = value
    if kind is Plan and "worlds" not in found:
        raise UsageError(f"{file} names no worlds; write worlds = [...].")
    return found


@dataclass(frozen=True)
class Cell:
    """One run of a campaign: what was asked for, where it lies (None: not begun), what it came to so far."""

    config: RunConfig
    folder: RunFolder | None
    brief: Brief | None

    @property
    def ended(self) -> bool:
        return self.brief is not None and self.brief.outcome is not None


class Campaign:
    """A campaign in a folder of its own, `DIR/<name of the file>`. Raises UsageError where another one lies there."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan, self.folder = plan, folder
        self._kept: dict[str, Any] = {"seconds": 0.0, "card": "", "closed": None}
        asked = json.loads(json.dumps([asdict(cell) for cell in plan.cells()]))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if self._file.exists():
                self._kept = json.loads(self._file.read_text(encoding="utf-8"))
                if self._kept["asked"] != asked:
                    raise UsageError(f"{folder} holds a campaign that asked for other runs; name another folder with --out.")
            self._kept["asked"] = asked
            self._keep()
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{folder} cannot hold a campaign ({error}); name another folder with --out.") from error

    @property
    def _file(self) -> Path:
        return self.folder / "campaign.json"

    def _keep(self) -> None:
        part = self._file.with_suffix(".part")
        part.write_text(json.dumps(self._kept, indent=1), encoding="utf-8")
        part.replace(self._file)

    @property
    def closed(self) -> dict[str, Any] | None:
        """What the card came to, once it was closed."""
        found: dict[str, Any] | None = self._kept["closed"]
        return found

    def cells(self) -> list[Cell]:
        """As they stand on disk now."""
        return [self._cell(number, config) for number, config in enumerate(self.plan.cells())]

    def _cell(self, number: int, config: RunConfig) -> Cell:
        folder = next(runs_in(self._place(number)), None)
        if folder is None:
            return Cell(config, None, None)
        try:
            with Ledger.open(folder.ledger, readonly=True) as ledger:
                return Cell(config, folder, brief(ledger))
        except UsageError:  # killed before its opening was written: it is begun anew
            return Cell(config, None, None)

    def _place(self, number: int) -> Path:
        return self.folder / f"{number:03}"  # a number: no path holds the name of a game

    def done(self) -> list[Done]:
        """Every run that was begun, as it stands."""
        found = []
        for cell in self.cells():
            if cell.folder is None or cell.brief is None:
                continue
            with Ledger.open(cell.folder.ledger, readonly=True) as ledger:
                try:
                    rhae = counting(ledger)[1].rhae
                except UsageError:  # it was opened, and nothing more
                    rhae = None
            told, asked = cell.brief, cell.config
            money, minutes = dollars(told.costs), (told.last - told.began) / 60
            levels = told.levels_completed, told.levels
            which = asked.world, asked.mind, asked.protocol, asked.seed
            found.append(Done(*which, told.outcome, *levels, told.actions, rhae, money, minutes))
        return found

    # -- at work -----------------------------------------------------------------------------------------------------------------

    def run(self, jobs: int = 1, say: Callable[[str], None] = lambda _: None) -> str:
        """Play what has not ended, `jobs` at a time; returns why it stopped, empty when every run has ended.

        A run that fails is left for the next time. Every run is a process of its own, asked to pause (SIGTERM) by a cap.
        """
        card = self._card()
        began, before = time.monotonic(), self._kept["seconds"]
        waiting = [number for number, cell in enumerate(self.cells()) if not cell.ended]
        running: dict[int, subprocess.Popen[str]] = {}
        given: dict[int, int] = {}  # what was promised to runs that may not have written it down yet
        stopped = spent = failed = ""
        try:
            while (waiting and not stopped and not spent) or running:
                self._kept["seconds"] = before + time.monotonic() - began
                stopped = stopped or self._over()
                if stopped:
                    _pause(running)
                for number in [n for n, process in running.items() if process.poll() is not None]:
                    failed = self._reap(number, running.pop(number), say) or failed
                while waiting and len(running) < jobs and not stopped and not spent:
                    command = self._command(waiting[0], given, card)
                    if command is None:  # those that are running go on: it is promised to them
                        spent = f"all {self.plan.caps.actions:,} actions are spent or promised"
                        break
                    running[waiting.pop(0)] = subprocess.Popen(
                        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
                    )
                time.sleep(TICK if running else 0)
        finally:
            _pause(running)
            for process in running.values():
                _wait(process)
            self._kept["seconds"] = before + time.monotonic() - began
            self._keep()
        stopped = stopped or spent
        if not stopped and not failed and self._kept["card"] and not self._kept["closed"]:
            self._kept["closed"] = scorecards.closed(self._kept["card"], self.plan.mode)
            self._keep()
        return stopped or failed

    def _card(self) -> str:
        """The one card of the campaign, opened when it is first needed."""
        if self.plan.mode not in settings.REMOTE:
            return ""
        if not self._kept["card"]:
            self._kept["card"] = scorecards.opened(self.plan.mode, self.plan.tags, self.plan.source_url)
            self._keep()
        return str(self._kept["card"])

    def _command(self, number: int, given: dict[int, int], card: str) -> list[str] | None:
        """What starts or resumes a cell; None when no action is left to give it. given: budgets by number, its own is added."""
        cell, lawbook = self._cell(number, self.plan.cells()[number]), [sys.executable, "-m", "lawbook", "play"]
        if cell.folder is not None:
            return [*lawbook, "--resume", str(cell.folder.path), "--quiet"]
        config, budget = cell.config, cell.config.budget
        if self.plan.caps.actions is not None:
            budget = min(budget, self.plan.caps.actions - sum(self._promised(given)))
            if budget < 1:
                return None
        given[number] = budget
        mode = self.plan.mode if config.world.startswith("arc:") else ""
        asked = {"mind": config.mind, "protocol": config.protocol, "seed": config.seed, "budget": budget}
        asked |= {"population": config.population, "nodes": config.nodes, "out": self._place(number)}
        options = [part for name, value in asked.items() for part in (f"--{name}", str(value))]
        return [*lawbook, settings.addressed(config.world, mode=mode, card=card if mode else ""), *options, "--quiet"]

    def _promised(self, given: Mapping[int, int]) -> Iterator[int]:
        """Actions of every cell: those sent by runs that ended, the budgets of those that have not."""
        for number, cell in enumerate(self.cells()):
            if cell.brief is not None:
                yield cell.brief.actions if cell.ended else cell.brief.budget
            else:
                yield given.get(number, 0)

    def _over(self) -> str:
        """Why everything is to pause now; empty where nothing says so."""
        caps = self.plan.caps
        if caps.minutes is not None and self._kept["seconds"] >= 60 * caps.minutes:
            return f"the {caps.minutes:g} minutes are over"
        if caps.money is not None:
            spent = sum(dollars(cell.brief.costs) or 0.0 for cell in self.cells() if cell.brief)
            if spent >= caps.money:
                return f"the money is spent (${spent:.2f} of ${caps.money:g})"
        return ""

    def _reap(self, number: int, process: subprocess.Popen[str], say: Callable[[str], None]) -> str:
        """Tell how a run ended; a sentence where it has not."""
        _, said = process.communicate()
        cell = self._cell(number, self.plan.cells()[number])
        told = cell.brief
        name = f"{number:03} {cell.config.world} {cell.config.mind} {cell.config.protocol} seed {cell.config.seed}"
        if cell.ended and told is not None:
            say(f"{name}: {told.outcome}, {told.levels_completed} levels, {told.actions} actions")
            return ""
        last = next((line for line in reversed(said.splitlines()) if line.strip()), f"exit code {process.returncode}")
        say(f"{name}: has not ended ({last})")
        return f"run {number:03} has not ended ({last})"


def _pause(running: Mapping[int, subprocess.Popen[str]]) -> None:
    for process in running.values():
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)


def _wait(process: subprocess.Popen[str]) -> None:
    try:
        process.communicate(timeout=_PARTING)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
