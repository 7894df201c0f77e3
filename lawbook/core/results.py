"""Results that pass between the packages: predictions, counterexamples, verdicts, plans. Frozen data only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from lawbook.core.record import Action, Frame, Observation, Status, Trajectory


class InitialObservation(NamedTuple):
    """A program's view of the start of a trajectory: its first settled frame, the level (from 0), the available action ids.

    frames: the animation that led to it, the settled frame last; earlier: the attempts at this level before. Both are shown only
    to a program that may leave things open. Empty frames: the settled frame alone.
    """

    frame: Frame
    level: int
    available: tuple[int, ...]
    frames: Sequence[Frame] = ()
    earlier: Sequence[Trajectory] = ()

    @classmethod
    def from_trajectory(cls, trajectory: Trajectory) -> InitialObservation:
        """Make it from the first observation of a trajectory, and the attempts at its level before it."""
        first = trajectory.first
        return cls(first.frame, first.level, first.available, first.frames, trajectory.earlier)


class Prediction(NamedTuple):
    """A program's claim of what will be seen.

    frame: the settled frame, H x W uint8, 0 where it is left open. status: the status, or the likeliest of those left possible
    (running before completed before over). open_cells: H x W uint8, 0 where a cell is claimed and k where it is left open under
    rule Uk; None: every cell is claimed. alternatives: further statuses that are left possible.
    """

    frame: Frame
    status: Status
    open_cells: Frame | None = None
    alternatives: frozenset[Status] = frozenset()

    @property
    def statuses(self) -> frozenset[Status]:
        """Every status that is left possible."""
        return self.alternatives | {self.status}

    @property
    def is_whole(self) -> bool:
        """Say whether every cell and the status are claimed."""
        return self.open_cells is None and not self.alternatives

    def allows(self, status: Status) -> bool:
        """Say whether `status` is left possible."""
        return status is self.status or status in self.alternatives

    def is_same_as(self, other: Prediction) -> bool:
        """Say whether both claim the same and leave the same open."""
        return (
            (self.status, self.alternatives) == (other.status, other.alternatives)
            and bool((self.frame == other.frame).all())
            and (self.open_cells is None) == (other.open_cells is None)
            and (self.open_cells is None or other.open_cells is None or bool((self.open_cells == other.open_cells).all()))
        )


@dataclass(frozen=True)
class ProgramError:
    """The error of a program that could not answer: it did not load, raised, looped, broke a limit or returned nonsense.

    kind: short machine word (load, exception, time, memory, shape, type, exit, killed, forbidden, unrepeatable, ...); `subgoal`
    when it was the source of a subgoal that failed and not the program.
    reason: one or two sentences a mind can act on, with the innermost line of its own code where there is one.
    trajectory, step: where, when it happened during replay (step 0: initial_state or the first rendering).
    """

    kind: str
    reason: str
    trajectory: int | None = None
    step: int | None = None


class MismatchRegion(NamedTuple):
    """A rectangle of differing cells (rows top..bottom, columns left..right, inclusive) with the colours in it.

    before, expected, predicted: sorted distinct colours of the *differing* cells, before the action, as observed, as predicted.
    """

    top: int
    left: int
    bottom: int
    right: int
    cells: int
    before: tuple[int, ...]
    expected: tuple[int, ...]
    predicted: tuple[int, ...]


@dataclass(frozen=True)
class Counterexample:
    """The first place where a replay and the record part.

    trajectory: index in the record; step: number of the action in it, from 1 (0: the first rendering); level from 0.
    action: the action of that step, None at step 0.
    regions: differing cells grouped, largest first, empty when only the status differs; cells: how many differ in all.
    """

    trajectory: int
    step: int
    level: int
    action: Action | None
    expected: Status
    predicted: Status
    cells: int
    regions: tuple[MismatchRegion, ...]
    text: str
    """A paragraph a mind can act on."""


@dataclass(frozen=True)
class Judgement:
    """A judgement of whether a program implements its rulebook faithfully.

    rules: id -> where it is implemented, or what is missing.
    """

    faithful: bool
    rules: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""


class VerdictKind(StrEnum):
    """How a proposal ended. Only ADMISSIBLE replaces anything."""

    ADMISSIBLE = "admissible"
    REFUSED = "refused"  # broke a decision rule; never run
    FAULT = "fault"
    COUNTEREXAMPLE = "counterexample"
    UNFAITHFUL = "unfaithful"
    CHANGED = "changed"  # of a plan: after what was seen it no longer ends where it was to end; nobody was wrong


class OpenRuleCount(NamedTuple):
    """Cells that renderings of the record leave open under rule U`rule`.

    n_changed: of these, cells that the step changed; n_claimed_next: of these, cells that the next rendering claims.
    """

    rule: int
    n_open: int
    n_changed: int
    n_claimed_next: int


@dataclass(frozen=True)
class ClaimSummary:
    """Claims about the record of a program that may leave things open, against the version before it.

    rules: what it leaves open, by rule. n_changed: cells that steps changed; n_changed_claimed: of these, claimed. n_lost, n_won:
    claims of cells and statuses that the version before made and this one does not, and the other way round (0: there was none).
    lost_at: the first place that lost one, (trajectory, step).
    """

    rules: tuple[OpenRuleCount, ...] = ()
    n_changed: int = 0
    n_changed_claimed: int = 0
    n_lost: int = 0
    n_won: int = 0
    lost_at: tuple[int, int] | None = None


@dataclass(frozen=True)
class Verdict:
    """The gate's answer to a proposal, with the one thing that decided it.

    reason: a sentence or paragraph for the mind, empty when admissible.
    replayed: recorded steps that were replayed to reach it (0 when nothing had to be); seconds: wall-clock time it took.
    claims: what the program claims of the record, where it may leave things open and reproduces it.
    """

    outcome: VerdictKind
    reason: str = ""
    counterexample: Counterexample | None = None
    fault: ProgramError | None = None
    judgement: Judgement | None = None
    replayed: int = 0
    seconds: float = 0.0
    claims: ClaimSummary | None = None

    @property
    def admissible(self) -> bool:
        """True when the proposal was accepted."""
        return self.outcome is VerdictKind.ADMISSIBLE


@dataclass(frozen=True)
class Limits:
    """The limits of a search.

    nodes: states expanded. depth: longest plan in actions (None: the remaining budget). seconds: wall clock, a last resort; results
    that must repeat are bounded by nodes.
    """

    nodes: int = 200_000
    depth: int | None = None
    seconds: float = 30.0


@dataclass(frozen=True)
class Plan:
    """A way to a predicted goal, rolled once more in another worker.

    actions: what to send (empty: the goal is predicted to hold already).
    predictions: what each action is predicted to show, one for each action.
    certified: no shorter plan exists in the program (breadth-first, no `key`, within its own actions, nothing cut).
    cut: which limit was hit on the way, or None. nodes: states expanded. seconds: wall-clock time of the search.
    method: bfs, astar, or own (the program's `plan`). aim: goal, subgoal, or frontier (a state of which the program does not know
    whether it is a goal).
    """

    actions: tuple[Action, ...]
    predictions: tuple[Prediction, ...]
    certified: bool
    cut: str | None
    nodes: int
    seconds: float
    method: str = "bfs"
    aim: str = "goal"

    @property
    def risk(self) -> int:
        """How many of its states may be over, as far as the program knows."""
        return sum(Status.OVER in prediction.alternatives for prediction in self.predictions)


@dataclass(frozen=True)
class NoPlan:
    """No way was found. exhausted: the whole reachable space holds no goal; otherwise `cut` names the limit that was hit."""

    reason: str
    exhausted: bool
    cut: str | None
    nodes: int
    seconds: float


@dataclass(frozen=True)
class Subgoal:
    """A mind's intermediate target: source of `def subgoal(state) -> bool` over its program's states, and its question.

    unusable: why what the mind said could not be made into a subgoal or a probe; it is refused with this sentence."""

    source: str
    question: str
    unusable: str = ""


@dataclass(frozen=True)
class Probe:
    """One action and the question it answers. RESET starts the level anew: for one that cannot be won any more."""

    action: Action
    question: str


class RunOutcome(StrEnum):
    """How a run ended."""

    WON = "won"
    BUDGET = "budget"
    STUCK = "stuck"
    FINISHED = "finished"
    NONDETERMINISTIC = "nondeterministic"
    IN_DOUBT = "in_doubt"


@dataclass(frozen=True)
class ExecutionResult:
    """The outcome of sending actions to the world.

    actions: those really sent. observation: the last one received (None when nothing was sent).
    mismatch: how the acting member's prediction failed, if it did. falsified: all members whose prediction failed.
    halt_reason: why it stopped before its end, or an empty string.
    """

    actions: tuple[Action, ...]
    observation: Observation | None
    mismatch: Counterexample | None = None
    falsified: tuple[int, ...] = ()
    halt_reason: str = ""
