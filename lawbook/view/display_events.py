"""What can be told of a run: one class for each thing that happens, with a line and a mood for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lawbook.core.hypothesis import Decision, Hypothesis
from lawbook.core.record import Action, ActionKind, Status
from lawbook.core.results import Counterexample, Verdict, VerdictKind
from lawbook.ledger.events import AGENT_OP, COMMAND_OP, PERSON, IntendEvent, PlanEvent
from lawbook.ledger.opening import RecordedSettings, RecordedSpec
from lawbook.verification.open_cells import format_claims
from lawbook.view.formatting import extract_first_sentence, format_count, format_one_line
from lawbook.view.rulebook_diff import RuleChange, compare_rulebooks


@dataclass(frozen=True, kw_only=True)
class DisplayEvent:
    """One thing that happened. seq: number of the event that settled it; time: seconds since 1970; at: actions sent by then."""

    seq: int
    time: float
    at: int

    @property
    def line(self) -> str:
        """One line for a person, cleaned; empty when it is not worth one."""
        return ""

    @property
    def mood(self) -> str:
        """`good`, `bad`, `busy`, `ask` or `plain`: how to colour it."""
        return "plain"


@dataclass(frozen=True, kw_only=True)
class RunOpened(DisplayEvent):
    """run, spec, versions: as the opening has them. sandbox_level: of the sandbox, empty where none is told of."""

    run: RecordedSettings
    spec: RecordedSpec
    versions: Mapping[str, str] = field(default_factory=dict)
    sandbox_level: str = ""

    @property
    def line(self) -> str:
        run, (height, width) = self.run, self.spec.shape
        levels = format_count(self.spec.levels, "level") if self.spec.levels else "levels unknown"
        return format_one_line(
            f"{run.world}: {height} x {width} cells, {len(self.spec.actions)} actions, {levels}; "
            f"{run.mind} under {run.protocol}, budget {run.budget}"
        )


@dataclass(frozen=True, kw_only=True)
class StepTaken(DisplayEvent):
    """An action and what came back. intent: how it was announced. frames, level, status: of the observation;
    previous_frame: the settled one before it. exact_by_member: member -> whether its prediction came true (None: not compared).
    level_before: the level it was sent in."""

    action: Action
    intent: IntendEvent
    frames: tuple[str, ...]
    previous_frame: str
    status: Status
    level: int
    level_before: int
    exact_by_member: Mapping[int, bool | None]

    @property
    def frame(self) -> str:
        """The settled one."""
        return self.frames[-1]

    @property
    def action_kind(self) -> ActionKind:
        return self.intent.kind

    @property
    def line(self) -> str:
        match self.status:
            case Status.COMPLETED:
                return f"level {self.level_before + 1} completed"
            case Status.OVER:
                return f"game over after action {self.action}"
            case Status.TRUNCATED:
                return f"the world broke off after action {self.action} (its own time limit)"
        question = self.intent.question
        if self.action_kind is ActionKind.PROBE:
            return f"probe {self.action}: {format_one_line(question)}" if question else ""
        return f"reset: {format_one_line(question)}" if self.action_kind is ActionKind.RESET else ""

    @property
    def mood(self) -> str:
        if self.status is not Status.RUNNING:
            return "good" if self.status is Status.COMPLETED else "bad"
        return "ask" if self.action_kind is ActionKind.PROBE else "plain"


@dataclass(frozen=True, kw_only=True)
class ProposalJudged(DisplayEvent):
    """A proposal with the gate's answer. number: from 1; old_hypothesis: what it changed; new_hypothesis: what it would be;
    version: the new one's number, None when nothing new stands; member_label: `member 1: ` in a population, else empty."""

    number: int
    member: int
    decision: Decision
    trigger: str
    diagnosis: str
    old_hypothesis: Hypothesis | None
    new_hypothesis: Hypothesis
    verdict: Verdict
    version: int | None
    member_label: str = ""

    @property
    def is_accepted(self) -> bool:
        return self.verdict.outcome is VerdictKind.ADMISSIBLE

    @property
    def refusal_label(self) -> str:
        """`refused`, and by what it was refuted where it was."""
        outcome = self.verdict.outcome
        return "refused" if outcome is VerdictKind.REFUSED else f"refused ({outcome})"

    @cached_property
    def changes(self) -> list[RuleChange]:
        return compare_rulebooks(self.old_hypothesis.rulebook if self.old_hypothesis else "", self.new_hypothesis.rulebook)

    @property
    def line(self) -> str:
        if not self.is_accepted:
            return f"{self.member_label}{self.decision} {self.refusal_label}: {extract_first_sentence(self.verdict.reason, 300)}"
        if self.version is None:
            return ""
        marks = [f"{one.mark}{one.name}" for one in self.changes if one.mark != " " and one.name.startswith(("R", "U"))]
        if self.old_hypothesis is None:
            rule_changes = f" {format_count(len(marks), 'rule')};"
        else:
            rule_changes = f" {' '.join(marks)};" if marks else " the program alone;"
        replay_summary = (
            f"replays all {format_count(self.verdict.replayed, 'step')}" if self.verdict.replayed else "nothing on record to replay"
        )
        return (
            f"{self.member_label}v{self.version} accepted:{rule_changes} {replay_summary}, "
            f"{self.new_hypothesis.description_bytes:,} bytes"
            + (f"; {format_claims(self.verdict.claims)}" if self.verdict.claims is not None else "")
        )

    @property
    def mood(self) -> str:
        return "good" if self.is_accepted else "bad"


@dataclass(frozen=True, kw_only=True)
class PredictionFailed(DisplayEvent):
    """A member's prediction was wrong, or its program failed. predicted, observed: frame ids, None where there is none to show;
    action: the one predicted, None for the first rendering of a trajectory or a failure while planning."""

    member: int
    verdict: Verdict
    action: Action | None
    predicted: str | None
    observed: str | None
    question: str = ""
    member_label: str = ""

    @property
    def line(self) -> str:
        counterexample = self.verdict.counterexample
        return (
            f"{self.member_label}wrong: "
            f"{describe_counterexample(counterexample) if counterexample else extract_first_sentence(self.verdict.reason, 300)}"
        )

    @property
    def mood(self) -> str:
        return "bad"


@dataclass(frozen=True, kw_only=True)
class PlanStarted(DisplayEvent):
    """The plan that is followed next. plan: as it was found; plan_seq: its event, which the INTENDs of its actions name;
    classes: members by identical plans; drawn: which class; ahead: ids of the frames it is predicted to show, where they are on
    record."""

    plan: PlanEvent
    plan_seq: int
    classes: tuple[tuple[int, ...], ...]
    drawn_class: int
    predicted_frames: tuple[str, ...] = ()

    @property
    def n_actions(self) -> int:
        """How many actions it has."""
        return len(self.plan.actions or ())

    @property
    def line(self) -> str:
        certificate = ", certified shortest" if self.plan.certified else ""
        if self.plan.subgoal is None:
            target = "the goal"
        else:
            target = format_one_line(self.plan.question) or "a subgoal"
        return f"a plan of {format_count(self.n_actions, 'action')}{certificate}: {target}"

    @property
    def mood(self) -> str:
        return "busy" if self.plan.subgoal is None else "ask"


@dataclass(frozen=True, kw_only=True)
class MindCalled(DisplayEvent):
    """A call of a member's mind (op: propose, judge, explore or what those are made of), or what an agent did at its door (door) or
    cost (coder)."""

    member: int
    op: str
    answered: bool
    seconds: float
    receipt: Mapping[str, Any]
    is_model_call: bool = False
    """Of the model behind a mind, and part of what the mind is being asked."""

    @property
    def line(self) -> str:
        is_shown = self.has_failed and not self.is_model_call  # the mind's own failure follows
        return f"the mind gave no answer ({self.op}, after {self.seconds:.1f} s)" if is_shown else ""

    @property
    def mood(self) -> str:
        return "bad" if self.has_failed else "plain"

    @property
    def has_failed(self) -> bool:
        """A mind was asked and did not answer. What an agent did at its door, or cost, is no question to a mind."""
        return not self.answered and self.op not in (COMMAND_OP, AGENT_OP)


@dataclass(frozen=True, kw_only=True)
class NoteAdded(DisplayEvent):
    """A note, or an exploration that could not be used. author: who said it, empty for the mind itself."""

    text: str
    is_error: bool = False
    author: str = ""

    @property
    def line(self) -> str:
        return format_one_line(f"a person says: {self.text}" if self.author == PERSON else self.text, 300)

    @property
    def mood(self) -> str:
        return "bad" if self.is_error else "plain"


@dataclass(frozen=True, kw_only=True)
class RunEnded(DisplayEvent):
    outcome: str
    sentence: str

    @property
    def line(self) -> str:
        return f"{self.outcome}: {format_one_line(self.sentence)}"

    @property
    def mood(self) -> str:
        return "good" if self.outcome == "won" else "bad"


def describe_counterexample(counterexample: Counterexample) -> str:
    """Say in a few words where a prediction and what was observed part."""
    subject = f"action {counterexample.action}" if counterexample.action is not None else "the first sight of a trajectory"
    if counterexample.expected is not counterexample.predicted:
        return f"{subject} was predicted to leave the level {counterexample.predicted}, and left it {counterexample.expected}"
    if not counterexample.regions:
        return f"{subject} showed something else than was predicted"
    top = min(region.top for region in counterexample.regions)
    left = min(region.left for region in counterexample.regions)
    bottom, right = max(region.bottom for region in counterexample.regions), max(region.right for region in counterexample.regions)
    return (
        f"{subject}, {format_count(counterexample.cells, 'cell')} in {_format_span('row', top, bottom)}, "
        f"{_format_span('column', left, right)}"
    )


def _format_span(name: str, first: int, last: int) -> str:
    return f"{name} {first}" if first == last else f"{name}s {first}-{last}"
