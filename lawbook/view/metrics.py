"""The numbers of a run, computed in one place from its ledger alone: for `show`, `--json` and the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lawbook.core.record import RESET, ActionKind, Status
from lawbook.errors import UsageError
from lawbook.ledger.events import COMMAND_OP, PERSON, CallEvent, CloseEvent, EventKind, ObserveEvent, OpenEvent
from lawbook.ledger.ledger import Event, Ledger
from lawbook.protocols.protocol import PROTOCOLS
from lawbook.runs.state import State
from lawbook.scoring.rhae import LevelResult, game_score
from lawbook.verification.claims import ClaimCounts, count_claims
from lawbook.view.costs import ModelCosts, ModelCostsBuilder
from lawbook.view.display_events import (
    DisplayEvent,
    MindCalled,
    NoteAdded,
    PredictionFailed,
    ProposalJudged,
    RunEnded,
    RunOpened,
    StepTaken,
)
from lawbook.view.event_stream import read_display_events
from lawbook.view.rulebook_diff import parse_entries

__all__ = [
    "LevelMetrics",
    "RunMetrics",
    "RunSummary",
    "RunSummaryBuilder",
    "compute_metrics",
    "compute_rhae",
    "summarize_run",
]


@dataclass(frozen=True)
class LevelMetrics:
    """One level, from 0. actions: sent in it, resets and failed attempts included; baseline: what it takes, None where unknown."""

    level: int
    actions: int
    resets: int
    deaths: int
    completed: bool
    baseline: int | None


@dataclass(frozen=True)
class RunMetrics:
    """What a run came to.

    outcome: how it ended, None while it can go on. levels_completed: the furthest; levels: how many there are, None where the
    world never says. actions_by_kind: actions by kind (plan, probe, reset). compared_predictions, exact_predictions: predictions
    by any member that were compared with what was observed, and those that came true. proposals: by outcome of the gate;
    decisions: by decision. versions: accepted changes, all members. rules, description_bytes (rulebook plus program without
    comments), standing (admissible): per member. calls: of the mind, by operation, failed ones included. costs: sums of
    everything numeric in receipts; model_costs: what they mean. seconds: from the first event to the last, pauses aside.
    commands, refused_commands: of agents at their doors; printed_characters: characters they were answered. n_assists: times a
    person spoke. claims: of the first member, under a protocol that lets programs leave things open; else None.
    """

    world: str
    mind: str
    protocol: str
    population: int
    seed: int
    budget: int
    started_at: float
    seconds: float
    outcome: str | None
    sentence: str
    levels_completed: int
    levels: int | None
    baseline: str
    actions: int
    per_level: tuple[LevelMetrics, ...]
    actions_by_kind: dict[str, int]
    compared_predictions: int
    exact_predictions: int
    mismatches: int
    proposals: dict[str, int]
    decisions: dict[str, int]
    versions: int
    n_rules: tuple[int, ...]
    description_bytes: tuple[int, ...]
    admissible: tuple[bool, ...]
    calls: dict[str, int]
    failed_calls: int
    thinking_seconds: float
    verifying_seconds: float
    replayed_steps: int
    costs: dict[str, float] = field(default_factory=dict)
    sandbox: str = ""
    head: str = ""
    events: int = 0
    model_costs: ModelCosts = field(default_factory=ModelCosts)
    commands: int = 0
    refused_commands: int = 0
    printed_characters: int = 0
    n_assists: int = 0
    claims: ClaimCounts | None = None

    @property
    def refusals(self) -> int:
        return sum(n_proposals for outcome, n_proposals in self.proposals.items() if outcome != "admissible")

    @property
    def mind_calls(self) -> int:
        return sum(self.calls.values())

    @property
    def completed_baseline(self) -> int | None:
        """Baseline of all completed levels together; None when one of them is unknown."""
        baselines = [level.baseline for level in self.per_level if level.completed]
        return sum(baseline for baseline in baselines if baseline is not None) if baselines and None not in baselines else None

    def to_json(self) -> dict[str, Any]:
        """Return it for `--json`: flat, with levels as a list."""
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
                {"level": level.level, "actions": level.actions, "completed": level.completed, "baseline": level.baseline}
                for level in self.per_level
            ],
            "baseline": self.baseline,
            "action_kinds": self.actions_by_kind,
            "versions": self.versions,
            "mismatches": self.mismatches,
            "proposals": self.proposals,
            "refusals": self.refusals,
            "mind_calls": self.mind_calls,
            "failed_calls": self.failed_calls,
            "predictions": self.compared_predictions,
            "exact_predictions": self.exact_predictions,
            "description_bytes": list(self.description_bytes),
            "seconds": round(self.seconds, 3),
            "costs": self.costs,
            "bill": self.model_costs.to_json(),
            "commands": self.commands,
            "refused_commands": self.refused_commands,
            "printed": self.printed_characters,
            "assisted": self.n_assists,
            "head": self.head,
            **({"claims": self.claims.to_json()} if self.claims is not None else {}),
        }


class RunMetricsBuilder:
    """Counts as a run is told. Feed it every Told in order, then ask for `numbers`."""

    def __init__(self) -> None:
        self.opening: RunOpened | None = None
        self._end: RunEnded | None = None
        self._last_event: DisplayEvent | None = None
        self._actions_by_kind: Counter[str] = Counter()
        self._actions_by_level: Counter[int] = Counter()
        self._resets_by_level: Counter[int] = Counter()
        self._deaths_by_level: Counter[int] = Counter()
        self._furthest = 0
        self._compared = self._exact = self._mismatches = self._failed_calls = self._replayed = 0
        self._proposals: Counter[str] = Counter()
        self._decisions: Counter[str] = Counter()
        self._calls: Counter[str] = Counter()
        self._costs: Counter[str] = Counter()
        self._versions = 0
        self._commands = self._refused_commands = self._printed_characters = self._n_assists = 0
        self._thinking_seconds = self._verifying_seconds = self._paused_seconds = 0.0
        self._costs_builder, self._level = ModelCostsBuilder(), 0

    def add(self, event: DisplayEvent) -> None:
        """Count one event; all of a run are to be given, in order."""
        previous, self._last_event = self._last_event, event
        match event:
            case RunOpened() if self.opening is None:
                self.opening = event
            case RunOpened() if previous is not None:  # resumed: nothing happened in between
                self._paused_seconds += event.time - previous.time
            case StepTaken():
                self._add_step(event)
            case PredictionFailed():
                self._mismatches += 1
            case ProposalJudged():
                self._proposals[event.verdict.outcome.value] += 1
                self._decisions[event.decision.value] += 1
                self._versions += event.version is not None
                self._verifying_seconds += event.verdict.seconds
                self._replayed += event.verdict.replayed
            case MindCalled() if event.op == COMMAND_OP:
                self._commands += 1
                self._refused_commands += bool(event.receipt.get("refused"))
                self._printed_characters += int(event.receipt.get("characters", 0))
            case NoteAdded():
                self._n_assists += event.author == PERSON
            case MindCalled():
                _add_costs(self._costs, event.receipt)
                self._costs_builder.add(event, self._level)
                if not event.is_model_call:
                    self._calls[event.op] += 1
                    self._failed_calls += event.has_failed
                    self._thinking_seconds += event.seconds
            case RunEnded():
                self._end = event

    def _add_step(self, step: StepTaken) -> None:
        level = step.level_before
        self._actions_by_level[level] += 1
        self._resets_by_level[level] += step.action == RESET
        self._deaths_by_level[level] += step.status in (Status.OVER, Status.TRUNCATED)
        self._actions_by_kind[step.action_kind.value] += 1
        self._level = step.level
        self._furthest = max(self._furthest, step.level)
        outcomes = [exact for exact in step.exact_by_member.values() if exact is not None]
        self._compared += len(outcomes)
        self._exact += sum(outcomes)

    def build(self, state: State, ledger: Ledger) -> RunMetrics:
        """Return the numbers of the events so far. state: as they left it. Raises UsageError when none of them was an opening."""
        assert self.opening is not None and self._last_event is not None, "a run begins with its opening"
        run, spec = self.opening.run, self.opening.spec
        levels, baselines = spec.levels, spec.baselines
        n_levels_played = max(self._actions_by_level, default=0) + 1
        hypotheses = [member.hypothesis for member in state.members]

        return RunMetrics(
            world=run.world,
            mind=run.mind,
            protocol=run.protocol,
            population=run.population,
            seed=run.seed,
            budget=run.budget,
            started_at=self.opening.time,
            seconds=self._last_event.time - self.opening.time - self._paused_seconds,
            outcome=self._end.outcome if self._end else None,
            sentence=self._end.sentence if self._end else "It has not ended and can be resumed.",
            levels_completed=self._furthest,
            levels=levels,
            baseline=spec.baseline,
            actions=state.n_actions,
            per_level=tuple(
                LevelMetrics(
                    level,
                    self._actions_by_level[level],
                    self._resets_by_level[level],
                    self._deaths_by_level[level],
                    level < self._furthest,
                    baselines[level] if baselines and level < len(baselines) else None,
                )
                for level in range(max(n_levels_played, levels or 0))
            ),
            actions_by_kind={kind.value: self._actions_by_kind[kind.value] for kind in ActionKind},
            compared_predictions=self._compared,
            exact_predictions=self._exact,
            mismatches=self._mismatches,
            proposals=dict(self._proposals),
            decisions=dict(self._decisions),
            versions=self._versions,
            n_rules=tuple(
                sum(name.startswith(("R", "U")) for name in parse_entries(hypothesis.rulebook)) if hypothesis else 0
                for hypothesis in hypotheses
            ),
            description_bytes=tuple(hypothesis.description_bytes if hypothesis else 0 for hypothesis in hypotheses),
            admissible=tuple(member.admissible for member in state.members),
            calls=dict(self._calls),
            failed_calls=self._failed_calls,
            thinking_seconds=self._thinking_seconds,
            verifying_seconds=self._verifying_seconds,
            replayed_steps=self._replayed,
            costs={name: float(cost) for name, cost in self._costs.items()},
            sandbox=self.opening.sandbox_level,
            head=ledger.head,
            events=len(ledger),
            model_costs=self._costs_builder.costs,
            commands=self._commands,
            refused_commands=self._refused_commands,
            printed_characters=self._printed_characters,
            n_assists=self._n_assists,
        )


def compute_metrics(ledger: Ledger) -> RunMetrics:
    """Compute the numbers of a whole ledger. Raises UsageError when it has no opening."""
    builder, state = RunMetricsBuilder(), None
    for event, state in read_display_events(ledger):  # noqa: B007
        builder.add(event)
    assert state is not None
    metrics = builder.build(state, ledger)
    protocol = PROTOCOLS.get(metrics.protocol)  # a ledger may be of a protocol that is not known here
    return replace(metrics, claims=count_claims(ledger)) if protocol is not None and protocol.allows_open else metrics


@dataclass(frozen=True)
class RunSummary:
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
    def completed_totals(self) -> tuple[int, int] | None:
        """(actions, baseline) of all completed levels together; None without any, or where a baseline is unknown."""
        baselines = (self.baselines or ())[: self.levels_completed]
        if not self.levels_completed or len(baselines) < self.levels_completed or None in baselines:
            return None
        return sum(self.per_level[: self.levels_completed]), sum(baseline for baseline in baselines if baseline is not None)

    @property
    def rhae(self) -> float | None:
        """RHAE of Eq. 36, from 0 to 100, against whatever the world's baseline is: with a human one it is the official score."""
        return compute_rhae(self.per_level[: self.levels_completed], self.baselines or (), self.levels)


def compute_rhae(completed_level_actions: Sequence[int], baselines: Sequence[int | None], levels: int | None) -> float | None:
    """Compute RHAE, 0 to 100 (Eq. 36 of the ARC-AGI-3 paper); None where a baseline is unknown.

    completed_level_actions: actions of the completed levels, which are the first ones. baselines: of all levels, in order. levels:
    how many there are, None where the world never says.
    """
    known_baselines = [baseline for baseline in baselines[:levels] if baseline is not None]
    if not known_baselines or levels is None or len(known_baselines) < levels:
        return None
    return game_score(
        [
            LevelResult(
                completed_level_actions[level] if level < len(completed_level_actions) else 0,
                baseline,
                level < len(completed_level_actions),
            )
            for level, baseline in enumerate(known_baselines)
        ]
    )


class RunSummaryBuilder:
    """A Brief that grows. Feed it every event of the kinds it reads, in order."""

    KINDS = (EventKind.OPEN, EventKind.OBSERVE, EventKind.CALL, EventKind.CLOSE)

    def __init__(self) -> None:
        self._opening: OpenEvent | None = None
        self._began = 0.0
        self._actions_by_level: Counter[int] = Counter()
        self._level = self._furthest = 0
        self._costs: Counter[str] = Counter()
        self._outcome: str | None = None
        self._last = 0.0
        self._frame: str | None = None

    def add(self, event: Event) -> None:
        """Count one event; all of a run are to be given, in order."""
        self._last = event.time
        match event.data:
            case OpenEvent() as opening:
                self._opening, self._began = opening, event.time
            case ObserveEvent() as observed:
                self._actions_by_level[self._level] += observed.action is not None
                self._level, self._frame = observed.level, observed.frames[-1]
                self._furthest = max(self._furthest, self._level)
            case CallEvent(is_command=False, receipt=receipt):
                _add_costs(self._costs, receipt)
            case CloseEvent(outcome=outcome):
                self._outcome = outcome.value

    @property
    def summary(self) -> RunSummary:
        """Raises UsageError when the ledger has no opening."""
        if self._opening is None:
            raise UsageError("It was ended before it began.")
        run, spec = self._opening.run, self._opening.spec
        return RunSummary(
            world=run.world,
            mind=run.mind,
            protocol=run.protocol,
            population=run.population,
            seed=run.seed,
            budget=run.budget,
            outcome=self._outcome,
            levels_completed=self._furthest,
            levels=spec.levels,
            actions=sum(self._actions_by_level.values()),
            per_level=tuple(self._actions_by_level[level] for level in range(max(self._actions_by_level, default=-1) + 1)),
            baseline=spec.baseline,
            baselines=spec.baselines,
            costs={name: float(cost) for name, cost in self._costs.items()},
            began=self._began,
            last=self._last,
            palette=spec.palette,
            frame=self._frame,
        )


def summarize_run(ledger: Ledger) -> RunSummary:
    """Compute the few numbers of a list of runs. Raises UsageError when the ledger has no opening."""
    builder = RunSummaryBuilder()
    for event in ledger.read_events(RunSummaryBuilder.KINDS):
        builder.add(event)
    return builder.summary


def _add_costs(costs: Counter[str], receipt: Mapping[str, Any]) -> None:
    """Everything numeric in the receipt of a call."""
    for name, cost in receipt.items():
        if isinstance(cost, int | float) and not isinstance(cost, bool):
            costs[name] += cost  # type: ignore[assignment]
