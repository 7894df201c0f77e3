"""The interface of a mind: propose, judge, explore, over a read-only Case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from lawbook.core.hypothesis import Decision, Hypothesis, Proposal, Trigger, find_rule_citations
from lawbook.core.record import Action, Record
from lawbook.core.results import ClaimSummary, Judgement, Probe, Subgoal, Verdict, VerdictKind


@dataclass(frozen=True)
class Interface:
    """All that a mind is told about the world: frame shape (H, W), action ids, which are clicks, number of levels or None."""

    shape: tuple[int, int]
    actions: tuple[int, ...]
    clicks: tuple[int, ...]
    levels: int | None


@dataclass(frozen=True)
class Version:
    """One earlier proposal of this member. n_actions: how many had been sent when it was made.

    claims: what its program claimed of the record then, where it may leave things open.
    """

    decision: Decision
    hypothesis: Hypothesis
    outcome: VerdictKind
    reason: str
    n_actions: int
    diagnosis: str = ""
    claims: ClaimSummary | None = None


@dataclass(frozen=True)
class PeerAction:
    """One sending since this member last proposed, one for each action. The answers of the world stand in the record.

    n_actions: sent by then, this one included. driver: the member whose plan, probe or reset it was (None: the reset of a level
    that was over). kind: plan, probe or reset.
    """

    n_actions: int
    driver: int | None
    kind: str
    actions: tuple[Action, ...]


@dataclass(frozen=True)
class Exchange:
    """One inner call of a mind: the answer as text, and what it cost (receipt: tokens, dollars, prompt version, retries)."""

    answer: str
    receipt: Mapping[str, float | int | str] = field(default_factory=dict)


class MindToolsProtocol(Protocol):
    """The tools of a mind while it thinks. Nothing here sends an action; all of it is a function of the ledger."""

    def python(self, code: str) -> str:
        """Run `code` in the sandbox over the record (frames as arrays, numpy, the perception helpers); return its output, cut."""
        ...

    def simulate(self, actions: Sequence[Action], trajectory: int = -1, step: int | None = None) -> str:
        """Say what this member's program predicts for `actions`, from the present or from a place on record.

        trajectory: index in the record, -1 the present one. step: after how many of its actions, None after all of them.
        """
        ...

    def exchange(self, step: str, request: str, ask: Callable[[], Exchange]) -> str:
        """Make one inner call, whole, and return its answer.

        The answer is the ledger's where this very request was answered before a crash. Else `ask` is called; what it says, with its
        cost, is durable before this returns. Raises MindError where a cap forbids the call.
        """
        ...


@dataclass(frozen=True)
class Case:
    """All that a mind is shown. Read-only; the whole record, never a future observation.

    hypothesis: this member's text, admissible or falsified (None at the start). admissible: may it steer?
    verdict: on the last proposal, or the mismatch that falsified the hypothesis. refusal: why the last answer to `explore` could
    not be used (empty: it could).
    call: number of this call to this member's mind, from 0; seed: seeds it. A mind's answer is a function of
    (record and the rest of this case, seed, call), so that a resumed run goes the same way.
    """

    interface: Interface
    record: Record
    trigger: Trigger
    hypothesis: Hypothesis | None
    admissible: bool
    verdict: Verdict | None
    refusal: str
    budget_left: int
    probes_left: int
    member: int
    population: int
    call: int
    seed: int
    needs_rulebook: bool = True
    history: Sequence[Version] = ()
    peer_actions: Sequence[PeerAction] = ()
    notes: Sequence[str] = ()
    rivals: Sequence[Hypothesis] = field(default=())
    """The other members' hypotheses, so that a mind can keep its own different."""
    no_plan: str = ""
    """Why this member's program shows no way to its goal, as its last search said."""
    allows_open: bool = False
    """A program may leave open what cannot be known, and is held to what it claims (protocol belief)."""
    tools: MindToolsProtocol | None = field(default=None, compare=False, repr=False)


class Mind(Protocol):
    """A proposer of hypotheses. `proposes` False: it only explores, and needs a protocol without a model requirement.

    What it may say of itself besides: DrivingMind, FreeMind, ExceptionCounter.
    """

    name: str
    proposes: bool

    def propose(self, case: Case) -> Proposal:
        """Reflect, revise and compile in one (Eq. 16-18). Raises MindError when no answer can be had."""
        ...

    def judge(self, case: Case, hypothesis: Hypothesis) -> Judgement:
        """Judge whether the program is faithful to the rulebook (Eq. 21). Raises MindError when no answer can be had."""
        ...

    def explore(self, case: Case) -> Subgoal | Probe:
        """Choose an intermediate target, or one action with its question, where no plan is known. Raises MindError."""
        ...

    def receipt(self) -> Mapping[str, float | int | str]:
        """Return the cost of the last call, failed or not: tokens, dollars, prompt version, retries. Empty when it is free."""
        ...


@runtime_checkable
class DrivingMind(Protocol):
    """A mind that may play the run itself, through a workspace. One that does not say so is asked, call by call."""

    drives: bool


@runtime_checkable
class FreeMind(Protocol):
    """A mind whose answers may cost nothing and be the same when asked again. One that does not say so is not asked twice."""

    free: bool


@runtime_checkable
class ExceptionCounter(Protocol):
    """A mind that can tell how much of what it wrote was learnt by heart. One that cannot counts as having learnt nothing so."""

    def count_exceptions(self, case: Case) -> int:
        """Count the observations that this member's program holds and no law of its explains."""
        ...


def is_driver(mind: object) -> bool:
    """Tell whether this mind plays the run itself."""
    return isinstance(mind, DrivingMind) and bool(mind.drives)


def is_free(mind: object) -> bool:
    """Tell whether this mind may be asked again at no cost, for the same answer."""
    return isinstance(mind, FreeMind) and bool(mind.free)


def judge_by_citations(hypothesis: Hypothesis) -> Judgement:
    """Judge mechanically: faithful when the rulebook has rules, each is cited in the code, and the code cites no other."""
    citations = find_rule_citations(hypothesis)
    rules = {rule: ", ".join(citations.citations.get(rule, ())) or "not cited by any line of code" for rule in citations.rules}
    if not citations.rules:
        return Judgement(False, rules, "The rulebook numbers no rules; begin each with R1, R2, ... at the start of a line.")
    if citations.uncited:
        return Judgement(
            False, rules, f"No line of code cites {', '.join(citations.uncited)}; implement it and cite it in a comment."
        )
    if citations.unknown:
        return Judgement(False, rules, f"The code cites {', '.join(citations.unknown)}, which the rulebook does not hold.")
    return Judgement(True, rules)


@runtime_checkable
class MindSource(Protocol):
    """The object that an entry point in the group `lawbook.minds` names; its name is the word before the first colon.

    What it may say of itself besides: PictureMindSource, and core.plugins.PackagedSource.
    """

    summary: str

    def names(self) -> Iterable[tuple[str, str]]:
        """Return (address, description) of every mind on offer, or of every form of address."""
        ...

    def make(self, argument: str) -> Mind:
        """Make the mind of `argument`: all that follows the first colon, or an empty string. Raises UsageError with a sentence."""
        ...


@runtime_checkable
class PictureMindSource(Protocol):
    """A source whose minds may be shown pictures. One that does not say so is refused with --images."""

    pictures: bool

    def make(self, argument: str, *, images: bool = False) -> Mind:
        """Make as MindSource.make does; images: the mind is shown pictures too."""
        ...
