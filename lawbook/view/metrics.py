"""The numbers of a run, computed in one place from its ledger alone: for `show`, `--json` and the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lawbook.core.record import RESET, Status
from lawbook.core.spending import dollars, tokens
from lawbook.errors import UsageError
from lawbook.ledger.ledger import Event, Kind, Ledger
from lawbook.runs.state import Sort, State
from lawbook.scoring.rhae import Level, game_score
from lawbook.view.costs import Bill, Billing
from lawbook.view.display_events import Called, Ended, Missed, Opened, Proposed, Remarked, Stepped, Told
from lawbook.view.event_stream import story
from lawbook.view.rulebook_diff import entries

__all__ = ["Brief", "LevelNumbers", "RunNumbers", "Skim", "brief", "dollars", "efficiency", "numbers", "tokens"]


@dataclass(frozen=True)
class LevelNumbers:
    """One level, from 0. actions: sent in it, resets and failed attempts included; baseline: what it takes, None where unknown."""

    level: int
    actions: int
    resets: int
    deaths: int
    completed: bool
    baseline: int | None


@dataclass(frozen=True)
class RunNumbers:
    """What a run came to.

    outcome: how it ended, None while it can go on. levels_completed: the furthest; levels: how many there are, None where the
    world never says. sorts: actions by kind (plan, probe, reset). compared, exact: predictions by any member that were compared
    with what was observed, and those that came true. proposals: by outcome of the gate; decisions: by decision. versions: accepted
    changes, all members. rules, description_bytes (rulebook plus program without comments), standing (admissible): per member.
    calls: of the mind, by operation, failed ones included. costs: sums of everything numeric in receipts; bill: what they mean.
    seconds: from the first event to the last, pauses aside.
    commands, refused_commands: of agents at their doors; printed: characters they were answered. assisted: times a person spoke.
    """

    world: str
    mind: str
    protocol: str
    population: int
    seed: int
    budget: int
    began: float
    seconds: float
    outcome: str | None
    sentence: str
    levels_completed: int
    levels: int | None
    baseline: str
    actions: int
    per_level: tuple[LevelNumbers, ...]
    sorts: dict[str, int]
    compared: int
    exact: int
    mismatches: int
    proposals: dict[str, int]
    decisions: dict[str, int]
    versions: int
    rules: tuple[int, ...]
    description_bytes: tuple[int, ...]
    standing: tuple[bool, ...]
    calls: dict[str, int]
    failed_calls: int
    thinking_seconds: float
    verifying_seconds: float
    replayed: int
    costs: dict[str, float] = field(default_factory=dict)
    sandbox: str = ""
    head: str = ""
    events: int = 0
    bill: Bill = field(default_factory=Bill)
    commands: int = 0
    refused_commands: int = 0
    printed: int = 0
    assisted: int = 0

    @property
    def refusals(self) -> int:
        return sum(number for outcome, number in self.proposals.items() if outcome != "admissible")

    @property
    def mind_calls(self) -> int:
        return sum(self.calls.values())

    @property
    def shortest(self) -> int | None:
        """Baseline of all completed levels together; None when one of them is unknown."""
        known = [level.baseline for level in self.per_level if level.completed]
        return sum(b for b in known if b is not None) if known and None not in known else None

    def json(self) -> dict[str, Any]:
        """For `--json`: flat, with levels as a list."""
        return {
            "outcome": self.outcome,
            "sentence": self.sentence,
            "world": self.world,
            "mind": self.mind,
            "protocol": self.protocol,
            "population": self.population,
            "seed": self.seed,
            "budget": self.budget,
            "levels_completed": self.levels_completed,
            "levels": self.levels,
            "actions": self.actions,
            "per_level": [
                {"level": one.level, "actions": one.actions, "completed": one.completed, "baseline": one.baseline}
                for one in self.per_level
            ],
            "baseline": self.baseline,
            "action_kinds": self.sorts,
            "versions": self.versions,
            "mismatches": self.mismatches,
            "proposals": self.proposals,
            "refusals": self.refusals,
            "mind_calls": self.mind_calls,
            "failed_calls": self.failed_calls,
            "predictions": self.compared,
            "exact_predictions": self.exact,
            "description_bytes": list(self.description_bytes),
            "seconds": round(self.seconds, 3),
            "costs": self.costs,
            "bill": self.bill.json(),
            "commands": self.commands,
            "refused_commands": self.refused_commands,
            "printed": self.printed,
            "assisted": self.assisted,
            "head": self.head,
        }


class Counting:
    """Counts as a run is told. Feed it every Told in order, then ask for `numbers`."""

    def __init__(self) -> None:
        self.opened: Opened | None = None
        self._ended: Ended | None = None
        self._last: Told | None = None
        self._sorts: Counter[str] = Counter()
        self._actions: Counter[int] = Counter()
        self._resets: Counter[int] = Counter()
        self._deaths: Counter[int] = Counter()
        self._furthest = 0
        self._compared = self._exact = self._mismatches = self._failed = self._replayed = 0
        self._proposals: Counter[str] = Counter()
        self._decisions: Counter[str] = Counter()
        self._calls: Counter[str] = Counter()
        self._costs: Counter[str] = Counter()
        self._versions = 0
        self._commands = self._refused = self._printed = self._assisted = 0
        self._thinking = self._verifying = self._paused = 0.0
        self._billing, self._level = Billing(), 0

    def add(self, told: Told) -> None:
        before, self._last = self._last, told
        match told:
            case Opened() if self.opened is None:
                self.opened = told
            case Opened() if before is not None:  # resumed: nothing happened in between
                self._paused += told.time - before.time
            case Stepped():
                self._step(told)
            case Missed():
                self._mismatches += 1
            case Proposed():
                self._proposals[told.verdict.outcome.value] += 1
                self._decisions[told.decision.value] += 1
                self._versions += told.version is not None
                self._verifying += told.verdict.seconds
                self._replayed += told.verdict.replayed
            case Called() if told.op == "door":
                self._commands += 1
                self._refused += bool(told.receipt.get("refused"))
                self._printed += int(told.receipt.get("characters", 0))
            case Remarked():
                self._assisted += told.by == "person"
            case Called():
                _add_costs(self._costs, told.receipt)
                self._billing.add(told, self._level)
                if not told.inner:
                    self._calls[told.op] += 1
                    self._failed += told.failed
                    self._thinking += told.seconds
            case Ended():
                self._ended = told

    def _step(self, step: Stepped) -> None:
        level = step.level_before
        self._actions[level] += 1
        self._resets[level] += step.action == RESET
        self._deaths[level] += step.status in (Status.OVER, Status.TRUNCATED)
        self._sorts[step.sort.value] += 1
        self._level = step.level
        self._furthest = max(self._furthest, step.level)
        compared = [exact for exact in step.exact.values() if exact is not None]
        self._compared += len(compared)
        self._exact += sum(compared)

    def numbers(self, state: State, ledger: Ledger) -> RunNumbers:
        assert self.opened is not None and self._last is not None, "a run begins with its opening"
        run, spec = self.opened.run, self.opened.spec
        levels, baselines = spec["levels"], spec["baselines"]
        played = max(self._actions, default=0) + 1
        hypotheses = [member.hypothesis for member in state.members]

        return RunNumbers(
            world=run["world"],
            mind=run["mind"],
            protocol=run["protocol"],
            population=run["population"],
            seed=run["seed"],
            budget=run["budget"],
            began=self.opened.time,
            seconds=self._last.time - self.opened.time - self._paused,
            outcome=self._ended.outcome if self._ended else None,
            sentence=self._ended.sentence if self._ended else "It has not ended and can be resumed.",
            levels_completed=self._furthest,
            levels=levels,
            baseline=spec["baseline"],
            actions=state.sent,
            per_level=tuple(
                LevelNumbers(
                    level,
                    self._actions[level],
                    self._resets[level],
                    self._deaths[level],
                    level < self._furthest,
                    baselines[level] if baselines and level < len(baselines) else None,
                )
                for level in range(max(played, levels or 0))
            ),
            sorts={sort.value: self._sorts[sort.value] for sort in Sort},
            compared=self._compared,
            exact=self._exact,
            mismatches=self._mismatches,
            proposals=dict(self._proposals),
            decisions=dict(self._decisions),
            versions=self._versions,
            rules=tuple(sum(name.startswith("R") for name in entries(h.rulebook)) if h else 0 for h in hypotheses),
            description_bytes=tuple(h.description_bytes if h else 0 for h in hypotheses),
            standing=tuple(member.admissible for member in state.members),
            calls=dict(self._calls),
            failed_calls=self._failed,
            thinking_seconds=self._thinking,
            verifying_seconds=self._verifying,
            replayed=self._replayed,
            costs={name: float(cost) for name, cost in self._costs.items()},
            sandbox=str(self.opened.sandbox.get("level", "")),
            head=ledger.head,
            events=len(ledger),
            bill=self._billing.bill,
            commands=self._commands,
            refused_commands=self._refused,
            printed=self._printed,
            assisted=self._assisted,
        )


def numbers(ledger: Ledger) -> RunNumbers:
    """The numbers of a whole ledger. Raises UsageError when it has no opening."""
    counting, state = Counting(), None
    for told, state in story(ledger):  # noqa: B007
        counting.add(told)
    assert state is not None
    return counting.numbers(state, ledger)


@dataclass(frozen=True)
class Brief:
    """What a list of runs tells of one: read off a few events, without folding the rest.

    per_level: actions sent in every level that was entered; baselines: what they take, None where nobody says. costs: sums of
    everything numeric in the mind's receipts. began, last: seconds since 1970.
    """

    world: str
    mind: str
    protocol: str
    population: int
    seed: int
    budget: int
    outcome: str | None
    levels_completed: int
    levels: int | None
    actions: int
    per_level: tuple[int, ...]
    baseline: str
    baselines: tuple[int | None, ...] | None
    costs: dict[str, float]
    began: float
    last: float
    palette: str
    frame: str | None

    @property
    def solved(self) -> tuple[int, int] | None:
        """(actions, baseline) of all completed levels together; None without any, or where a baseline is unknown."""
        known = (self.baselines or ())[: self.levels_completed]
        if not self.levels_completed or len(known) < self.levels_completed or None in known:
            return None
        return sum(self.per_level[: self.levels_completed]), sum(b for b in known if b is not None)

    @property
    def efficiency(self) -> float | None:
        """RHAE of Eq. 36, from 0 to 100, against whatever the world's baseline is: with a human one it is the official score."""
        return efficiency(self.per_level[: self.levels_completed], self.baselines or (), self.levels)


def efficiency(solved: Sequence[int], baselines: Sequence[int | None], levels: int | None) -> float | None:
    """RHAE (Eq. 36), None where a baseline is unknown. solved: actions of the completed levels, the first ones; baselines: of all
    levels, in order."""
    known = [b for b in baselines[:levels] if b is not None]
    if not known or levels is None or len(known) < levels:
        return None
    return game_score([Level(solved[k] if k < len(solved) else 0, b, k < len(solved)) for k, b in enumerate(known)])


class Skim:
    """A Brief that grows. Feed it every event of the kinds it reads, in order."""

    KINDS = (Kind.OPEN, Kind.OBSERVE, Kind.CALL, Kind.CLOSE)

    def __init__(self) -> None:
        self._opening: Event | None = None
        self._per_level: Counter[int] = Counter()
        self._level = self._furthest = 0
        self._costs: Counter[str] = Counter()
        self._outcome: str | None = None
        self._last = 0.0
        self._frame: str | None = None

    def add(self, event: Event) -> None:
        body, self._last = event.body, event.time
        match event.kind:
            case Kind.OPEN:
                self._opening = event
            case Kind.OBSERVE:
                self._per_level[self._level] += body["action"] is not None
                self._level, self._frame = body["level"], body["frames"][-1]
                self._furthest = max(self._furthest, self._level)
            case Kind.CALL if body["op"] != "door":
                _add_costs(self._costs, body["receipt"])
            case Kind.CLOSE:
                self._outcome = body["outcome"]

    @property
    def brief(self) -> Brief:
        """Raises UsageError when the ledger has no opening."""
        if self._opening is None:
            raise UsageError("It was ended before it began.")
        run, spec = self._opening.body["run"], self._opening.body["spec"]
        baselines = spec["baselines"]
        return Brief(
            world=run["world"],
            mind=run["mind"],
            protocol=run["protocol"],
            population=run["population"],
            seed=run["seed"],
            budget=run["budget"],
            outcome=self._outcome,
            levels_completed=self._furthest,
            levels=spec["levels"],
            actions=sum(self._per_level.values()),
            per_level=tuple(self._per_level[level] for level in range(max(self._per_level, default=-1) + 1)),
            baseline=spec["baseline"],
            baselines=None if baselines is None else tuple(baselines),
            costs={name: float(cost) for name, cost in self._costs.items()},
            began=self._opening.time,
            last=self._last,
            palette=spec["palette"],
            frame=self._frame,
        )


def brief(ledger: Ledger) -> Brief:
    """Raises UsageError when the ledger has no opening."""
    skim = Skim()
    for event in ledger.events(Skim.KINDS):
        skim.add(event)
    return skim.brief


def _add_costs(costs: Counter[str], receipt: Mapping[str, Any]) -> None:
    """Everything numeric in the receipt of a call."""
    for name, cost in receipt.items():
        if isinstance(cost, int | float) and not isinstance(cost, bool):
            costs[name] += cost  # type: ignore[assignment]
