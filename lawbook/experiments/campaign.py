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
from lawbook.core.spending import read_dollars
from lawbook.errors import UsageError
from lawbook.ledger.ledger import Ledger
from lawbook.runs.folder import RunConfig, RunFolder, list_runs
from lawbook.scoring.billing import count_run
from lawbook.scoring.seed_statistics import SeedResult
from lawbook.view.metrics import RunSummary, summarize_run
from lawbook.worlds.address import WorldAddress, check_scheme

POLL_SECONDS = 0.2
"""Seconds between two looks at what is running."""
_EXIT_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class CampaignLimits:
    """What all runs together may take; None: no limit. money in dollars, minutes by the clock while the campaign is at work."""

    actions: int | None = None
    money: float | None = None
    minutes: float | None = None


@dataclass(frozen=True)
class CampaignConfig:
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
    caps: CampaignLimits = field(default_factory=CampaignLimits)

    @classmethod
    def read(cls, file: Path) -> CampaignConfig:
        """Raises UsageError with what is wrong in the file."""
        try:
            table = tomllib.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"{file} cannot be read ({error.strerror}); name a campaign file.") from error
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{file} is no TOML ({error}); mend it.") from error
        config = cls(
            **_validate_fields(
                file, cls, {**table, "caps": CampaignLimits(**_validate_fields(file, CampaignLimits, table.get("caps", {})))}
            )
        )
        if not config.worlds:
            raise UsageError(f"{file} names no worlds; write worlds = [...].")
        for world in config.worlds:
            check_scheme(WorldAddress.parse(world))
        if config.mode and config.mode not in settings.MODES:
            raise UsageError(f"{file}: mode is one of {', '.join(settings.MODES)}, not {config.mode!r}.")
        games = [
            WorldAddress.parse(run_config.world).name
            for run_config in config.list_run_configs()
            if run_config.world.startswith("arc:")
        ]
        if config.mode == "competition" and len(set(games)) < len(games):
            raise UsageError(f"{file}: a competition card takes each game once; leave one mind, protocol and seed.")
        return config

    def list_run_configs(self) -> list[RunConfig]:
        """Every run there is to be, in order. Raises UsageError."""
        return [
            RunConfig(world, mind, protocol, self.population, self.budget, seed, self.nodes)
            for world, mind, protocol, seed in product(self.worlds, self.minds, self.protocols, self.seeds)
        ]


_FIELD_TYPES: dict[str, tuple[type, ...]] = {"money": (int, float), "minutes": (int, float), "mode": (str,), "source_url": (str,)}
_ITEM_TYPES: dict[str, type] = {"worlds": str, "minds": str, "protocols": str, "seeds": int, "tags": str}


def _validate_fields(file: Path, config_class: type, table: Any) -> dict[str, Any]:
    """The fields of `kind` that a table gives, of the right types. Raises UsageError."""
    known, values = {f.name for f in fields(config_class)}, dict[str, Any]()
    if not isinstance(table, Mapping):
        raise UsageError(f"{file}: caps is a table; write [caps] and its limits below it.")
    for name, value in table.items():
        if name not in known:
            raise UsageError(f"{file}: there is no {name!r}; there is {', '.join(sorted(known))}.")
        if name in _ITEM_TYPES:
            if not isinstance(value, list) or not all(type(item) is _ITEM_TYPES[name] for item in value):
                raise UsageError(
                    f"{file}: {name} is a list of {'numbers' if _ITEM_TYPES[name] is int else 'texts'}, not {value!r}."
                )
            value = tuple(value)
        elif name != "caps" and (isinstance(value, bool) or not isinstance(value, _FIELD_TYPES.get(name, (int,)))):
            raise UsageError(f"{file}: {name} cannot be {value!r}.")
        values[name] = value
    if config_class is CampaignConfig and "worlds" not in values:
        raise UsageError(f"{file} names no worlds; write worlds = [...].")
    return values


@dataclass(frozen=True)
class CampaignRun:
    """One run of a campaign: what was asked for, where it lies (None: not begun), what it came to so far."""

    config: RunConfig
    folder: RunFolder | None
    brief: RunSummary | None

    @property
    def has_ended(self) -> bool:
        return self.brief is not None and self.brief.outcome is not None


class Campaign:
    """A campaign in a folder of its own, `DIR/<name of the file>`. Raises UsageError where another one lies there."""

    def __init__(self, config: CampaignConfig, folder: Path) -> None:
        self.config, self.folder = config, folder
        self._stored: dict[str, Any] = {"seconds": 0.0, "card": "", "closed": None}
        requested_runs = json.loads(json.dumps([asdict(run_config) for run_config in config.list_run_configs()]))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if self._file.exists():
                self._stored = json.loads(self._file.read_text(encoding="utf-8"))
                if self._stored["asked"] != requested_runs:
                    raise UsageError(f"{folder} holds a campaign that asked for other runs; name another folder with --out.")
            self._stored["asked"] = requested_runs
            self._save()
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{folder} cannot hold a campaign ({error}); name another folder with --out.") from error

    @property
    def _file(self) -> Path:
        return self.folder / "campaign.json"

    def _save(self) -> None:
        partial_file = self._file.with_suffix(".part")
        partial_file.write_text(json.dumps(self._stored, indent=1), encoding="utf-8")
        partial_file.replace(self._file)

    @property
    def closed_card(self) -> dict[str, Any] | None:
        """What the card came to, once it was closed."""
        card: dict[str, Any] | None = self._stored["closed"]
        return card

    def read_runs(self) -> list[CampaignRun]:
        """As they stand on disk now."""
        return [self._read_run(number, run_config) for number, run_config in enumerate(self.config.list_run_configs())]

    def _read_run(self, number: int, run_config: RunConfig) -> CampaignRun:
        folder = next(list_runs(self._make_run_path(number)), None)
        if folder is None:
            return CampaignRun(run_config, None, None)
        try:
            with Ledger.open(folder.ledger, readonly=True) as ledger:
                return CampaignRun(run_config, folder, summarize_run(ledger))
        except UsageError:  # killed before its opening was written: it is begun anew
            return CampaignRun(run_config, None, None)

    def _make_run_path(self, number: int) -> Path:
        return self.folder / f"{number:03}"  # a number: no path holds the name of a game

    def collect_results(self) -> list[SeedResult]:
        """Every run that was begun, as it stands."""
        results = []
        for run in self.read_runs():
            if run.folder is None or run.brief is None:
                continue
            with Ledger.open(run.folder.ledger, readonly=True) as ledger:
                try:
                    rhae = count_run(ledger)[1].rhae
                except UsageError:  # it was opened, and nothing more
                    rhae = None
            brief, config = run.brief, run.config
            money, minutes = read_dollars(brief.costs), (brief.last - brief.began) / 60
            levels = brief.levels_completed, brief.levels
            identity = config.world, config.mind, config.protocol, config.seed
            results.append(SeedResult(*identity, brief.outcome, *levels, brief.actions, rhae, money, minutes))
        return results

    # -- at work -----------------------------------------------------------------------------------------------------------------

    def run(self, jobs: int = 1, report_progress: Callable[[str], None] = lambda _: None) -> str:
        """Play what has not ended, `jobs` at a time; returns why it stopped, empty when every run has ended.

        A run that fails is left for the next time. Every run is a process of its own, asked to pause (SIGTERM) by a cap.
        """
        card = self._ensure_card()
        started, seconds_before = time.monotonic(), self._stored["seconds"]
        pending = [number for number, run in enumerate(self.read_runs()) if not run.has_ended]
        running: dict[int, subprocess.Popen[str]] = {}
        promised: dict[int, int] = {}  # what was promised to runs that may not have written it down yet
        stop_reason = spent_reason = failure = ""
        try:
            while (pending and not stop_reason and not spent_reason) or running:
                self._stored["seconds"] = seconds_before + time.monotonic() - started
                stop_reason = stop_reason or self._find_reached_limit()
                if stop_reason:
                    _pause_processes(running)
                for number in [index for index, process in running.items() if process.poll() is not None]:
                    failure = self._report_exit(number, running.pop(number), report_progress) or failure
                while pending and len(running) < jobs and not stop_reason and not spent_reason:
                    command = self._build_command(pending[0], promised, card)
                    if command is None:  # those that are running go on: it is promised to them
                        spent_reason = f"all {self.config.caps.actions:,} actions are spent or promised"
                        break
                    running[pending.pop(0)] = subprocess.Popen(
                        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
                    )
                time.sleep(POLL_SECONDS if running else 0)
        finally:
            _pause_processes(running)
            for process in running.values():
                _wait_for_exit(process)
            self._stored["seconds"] = seconds_before + time.monotonic() - started
            self._save()
        stop_reason = stop_reason or spent_reason
        if not stop_reason and not failure and self._stored["card"] and not self._stored["closed"]:
            self._stored["closed"] = scorecards.close_card(self._stored["card"], self.config.mode)
            self._save()
        return stop_reason or failure

    def _ensure_card(self) -> str:
        """The one card of the campaign, opened when it is first needed."""
        if self.config.mode not in settings.REMOTE_MODES:
            return ""
        if not self._stored["card"]:
            self._stored["card"] = scorecards.open_card(self.config.mode, self.config.tags, self.config.source_url)
            self._save()
        return str(self._stored["card"])

    def _build_command(self, number: int, promised: dict[int, int], card: str) -> list[str] | None:
        """What starts or resumes a cell; None when no action is left to give it. promised: budgets by number, its own is added."""
        run, base_command = (
            self._read_run(number, self.config.list_run_configs()[number]),
            [sys.executable, "-m", "lawbook", "play"],
        )
        if run.folder is not None:
            return [*base_command, "--resume", str(run.folder.path), "--quiet"]
        run_config, budget = run.config, run.config.budget
        if self.config.caps.actions is not None:
            budget = min(budget, self.config.caps.actions - sum(self._iter_promised_actions(promised)))
            if budget < 1:
                return None
        promised[number] = budget
        mode = self.config.mode if run_config.world.startswith("arc:") else ""
        asked = {"mind": run_config.mind, "protocol": run_config.protocol, "seed": run_config.seed, "budget": budget}
        asked |= {"population": run_config.population, "nodes": run_config.nodes, "out": self._make_run_path(number)}
        options = [part for name, value in asked.items() for part in (f"--{name}", str(value))]
        return [*base_command, settings.add_options(run_config.world, mode=mode, card=card if mode else ""), *options, "--quiet"]

    def _iter_promised_actions(self, promised: Mapping[int, int]) -> Iterator[int]:
        """Actions of every cell: those sent by runs that ended, the budgets of those that have not."""
        for number, run in enumerate(self.read_runs()):
            if run.brief is not None:
                yield run.brief.actions if run.has_ended else run.brief.budget
            else:
                yield promised.get(number, 0)

    def _find_reached_limit(self) -> str:
        """Why everything is to pause now; empty where nothing says so."""
        limits = self.config.caps
        if limits.minutes is not None and self._stored["seconds"] >= 60 * limits.minutes:
            return f"the {limits.minutes:g} minutes are over"
        if limits.money is not None:
            spent = sum(read_dollars(run.brief.costs) or 0.0 for run in self.read_runs() if run.brief)
            if spent >= limits.money:
                return f"the money is spent (${spent:.2f} of ${limits.money:g})"
        return ""

    def _report_exit(self, number: int, process: subprocess.Popen[str], report_progress: Callable[[str], None]) -> str:
        """Tell how a run ended; a sentence where it has not."""
        _, error_output = process.communicate()
        run = self._read_run(number, self.config.list_run_configs()[number])
        brief = run.brief
        name = f"{number:03} {run.config.world} {run.config.mind} {run.config.protocol} seed {run.config.seed}"
        if run.has_ended and brief is not None:
            report_progress(f"{name}: {brief.outcome}, {brief.levels_completed} levels, {brief.actions} actions")
            return ""
        last_line = next((line for line in reversed(error_output.splitlines()) if line.strip()), f"exit code {process.returncode}")
        report_progress(f"{name}: has not ended ({last_line})")
        return f"run {number:03} has not ended ({last_line})"


def _pause_processes(processes: Mapping[int, subprocess.Popen[str]]) -> None:
    for process in processes.values():
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)


def _wait_for_exit(process: subprocess.Popen[str]) -> None:
    try:
        process.communicate(timeout=_EXIT_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
