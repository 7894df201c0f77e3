"""The things that an audit tells of hypotheses: versions while they stood, refusals, plans and choices, each with its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lawbook.core.executable import Executable, PlanRun
from lawbook.core.hypothesis import Hypothesis, Proposal
from lawbook.core.record import Action, Status
from lawbook.core.results import ClaimSummary, Verdict
from lawbook.ledger.events import CallAnswer, PredictedOutcome

RecordPosition = tuple[int, int]
"""How long a record was: (trajectories, steps of the last)."""


@dataclass(frozen=True)
class CountedClaims:
    """What a verdict says that a candidate claims of the record at `position`, against the hypothesis before it."""

    seq: int
    hypothesis: Hypothesis
    previous: Hypothesis | None
    position: RecordPosition
    claims: ClaimSummary


@dataclass(frozen=True)
class HypothesisLifetime:
    """A version while it might steer: from its acceptance until it fell, was replaced, or the ledger ends.

    accepted: the event of its verdict. until: the record that it must reproduce. fatal_prediction: (trajectory, step,
    prediction) that it is recorded to have predicted where it fell, None where it fell in another way or did not. replayed: the
    record on which it was accepted and the seed of that replay, None where nothing was replayed.
    """

    member: int
    version: int
    hypothesis: Hypothesis
    accepted: int
    until: RecordPosition
    fatal_prediction: tuple[int, int, PredictedOutcome] | None = None
    replayed: tuple[RecordPosition, str] | None = None


@dataclass(frozen=True)
class RefusedProposal:
    """A proposal that its replay refused, on the record as it stood; or its judge, after a replay that held (UNFAITHFUL)."""

    seq: int
    hypothesis: Hypothesis
    position: RecordPosition
    verdict: Verdict
    seed: str = ""


@dataclass
class AuditedPlan:
    """A plan, by which version and from where; hypothesis: what it was made in, None for one that no program was asked about.
    certified: it claims that there is no shorter one, after a search of so many nodes. predicted_frames, predicted_statuses: what
    it is predicted to show, once it was drawn; older ledgers know no statuses, and what resumed them had no predictions."""

    seq: int
    member: int
    version: int
    hypothesis: Hypothesis | None
    position: RecordPosition
    actions: tuple[Action, ...]
    subgoal: str | None
    question: str
    certified: bool = False
    nodes: int = 0
    predicted_frames: tuple[str, ...] = ()
    predicted_statuses: tuple[frozenset[Status], ...] | None = None
    predicted_open_cells: tuple[str | None, ...] | None = None
    to_frontier: bool = False

    @property
    def executable(self) -> Executable:
        """What following it means."""
        return PlanRun(self.actions)

    @property
    def aim(self) -> str:
        """What it is to end in: goal, subgoal or frontier."""
        return "frontier" if self.to_frontier else "goal" if self.subgoal is None else "subgoal"


@dataclass(frozen=True)
class PlanRoll:
    """A plan under way after a step that may have shown more than was predicted of it: what is left must still end in its aim.

    position: the record then. n_sent: steps of the plan sent by then. prediction: what the next was predicted to show, as that must
    be; None where the plan was ended instead (`changed`).
    """

    seq: int
    plan: AuditedPlan
    n_sent: int
    position: RecordPosition
    prediction: PredictedOutcome | None


@dataclass(frozen=True)
class DisagreementChoice:
    """What the policy `disagree` chose from there: one of several classes of plans, or to send one action first (a trial).

    hypotheses: what each member that might steer believed; plans: one of each class, in their order. class_index: index of the
    class that was drawn, None for a trial; action, member, question: of the trial.
    """

    seq: int
    position: RecordPosition
    hypotheses: Mapping[int, Hypothesis]
    plans: tuple[tuple[Action, ...], ...]
    class_index: int | None
    action: Action | None = None
    member: int | None = None
    question: str = ""


@dataclass
class AuditedMember:
    """One member. admissible: may it steer? answers: of its mind, by operation, that have had no consequence yet; asked: how many
    there were. asked_at: actions on record when it was last asked why nobody has a plan. planless_version: the one whose last
    search from here found no way to its goal that takes an action."""

    hypothesis: Hypothesis | None = None
    admissible: bool = False
    version: int = 0
    accepted_seq: int = -1
    proposal: Proposal | None = None
    proposed_seq: int = -1
    proposed_hash: str = ""
    replayed: tuple[RecordPosition, str] | None = None
    pending_answers: dict[str, CallAnswer] = field(default_factory=dict)
    n_calls: int = 0
    asked_at: int = -1
    planless_version: int | None = None
    failed_candidates: list[tuple[Hypothesis, int]] = field(default_factory=list)
