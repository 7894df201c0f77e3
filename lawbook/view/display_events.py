"""What can be told of a run: one class for each thing that happens, with a line and a mood for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lawbook.core.hypothesis import Decision, Hypothesis
from lawbook.core.record import Action, Status
from lawbook.core.results import Counterexample, Outcome, Verdict
from lawbook.runs.state import Sort
from lawbook.view.formatting import count, first_sentence, one_line
from lawbook.view.rulebook_diff import Change, changes


@dataclass(frozen=True, kw_only=True)
class Told:
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
class Opened(Told):
    """run, spec, versions, sandbox: as the OPEN event has them."""

    run: Mapping[str, Any]
    spec: Mapping[str, Any]
    versions: Mapping[str, str] = field(default_factory=dict)
    sandbox: Mapping[str, Any] = field(default_factory=dict)

    @property
    def line(self) -> str:
        run, (height, width) = self.run, self.spec["shape"]
        levels = count(self.spec["levels"], "level") if self.spec["levels"] else "levels unknown"
        return one_line(
            f"{run['world']}: {height} x {width} cells, {len(self.spec['actions'])} actions, {levels}; "
            f"{run['mind']} under {run['protocol']}, budget {run['budget']}"
        )


@dataclass(frozen=True, kw_only=True)
class Stepped(Told):
    """An action and what came back. intent: the INTEND body. frames, level, status: of the observation; before: the settled frame
    before it. exact: member -> whether its prediction came true (None: not compared). level_before: the level it was sent in."""

    action: Action
    intent: Mapping[str, Any]
    frames: tuple[str, ...]
    before: str
    status: Status
    level: int
    level_before: int
    exact: Mapping[int, bool | None]

    @property
    def frame(self) -> str:
        """The settled one."""
        return self.frames[-1]

    @property
    def sort(self) -> Sort:
        return Sort(self.intent["sort"])

    @property
    def line(self) -> str:
        match self.status:
            case Status.COMPLETED:
                return f"level {self.level_before + 1} completed"
            case Status.OVER:
                return f"game over after action {self.action}"
            case Status.TRUNCATED:
                return f"the world broke off after action {self.action} (its own time limit)"
        question = self.intent["question"]
        if self.sort is Sort.PROBE:
            return f"probe {self.action}: {one_line(question)}" if question else ""
        return f"reset: {one_line(question)}" if self.sort is Sort.RESET else ""

    @property
    def mood(self) -> str:
        if self.status is not Status.RUNNING:
            return "good" if self.status is Status.COMPLETED else "bad"
        return "ask" if self.sort is Sort.PROBE else "plain"


@dataclass(frozen=True, kw_only=True)
class Proposed(Told):
    """A proposal with the gate's answer. number: from 1; before: what it changed; after: what it would be; version: the new one's
    number, None when nothing new stands; whose: `member 1: ` in a population, else empty."""

    number: int
    member: int
    decision: Decision
    why: str
    diagnosis: str
    before: Hypothesis | None
    after: Hypothesis
    verdict: Verdict
    version: int | None
    whose: str = ""

    @property
    def accepted(self) -> bool:
        return self.verdict.outcome is Outcome.ADMISSIBLE

    @property
    def refused(self) -> str:
        """`refused`, and by what it was refuted where it was."""
        outcome = self.verdict.outcome
        return "refused" if outcome is Outcome.REFUSED else f"refused ({outcome})"

    @cached_property
    def changes(self) -> list[Change]:
        return changes(self.before.rulebook if self.before else "", self.after.rulebook)

    @property
    def line(self) -> str:
        if not self.accepted:
            return f"{self.whose}{self.decision} {self.refused}: {first_sentence(self.verdict.reason, 300)}"
        if self.version is None:
            return ""
        marks = [f"{change.mark}{change.name}" for change in self.changes if change.mark != " " and change.name.startswith("R")]
        if self.before is None:
            what = f" {count(len(marks), 'rule')};"
        else:
            what = f" {' '.join(marks)};" if marks else " the program alone;"
        replayed = f"replays all {count(self.verdict.replayed, 'step')}" if self.verdict.replayed else "nothing on record to replay"
        return f"{self.whose}v{self.version} accepted:{what} {replayed}, {self.after.description_bytes:,} bytes"

    @property
    def mood(self) -> str:
        return "good" if self.accepted else "bad"


@dataclass(frozen=True, kw_only=True)
class Missed(Told):
    """A member's prediction was wrong, or its program failed. predicted, observed: frame ids, None where there is none to show;
    action: the one predicted, None for the first rendering of a trajectory or a failure while planning."""

    member: int
    verdict: Verdict
    action: Action | None
    predicted: str | None
    observed: str | None
    question: str = ""
    whose: str = ""

    @property
    def line(self) -> str:
        example = self.verdict.counterexample
        return f"{self.whose}wrong: {parted(example) if example else first_sentence(self.verdict.reason, 300)}"

    @property
    def mood(self) -> str:
        return "bad"


@dataclass(frozen=True, kw_only=True)
class Planned(Told):
    """The plan that is followed next. plan: its PLAN body; number: its event, which the INTENDs of its actions name;
    classes: members by identical plans; drawn: which class; ahead: ids of the frames it is predicted to show, where they are on
    record."""

    plan: Mapping[str, Any]
    number: int
    classes: list[list[int]]
    drawn: int
    ahead: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        shortest = ", certified shortest" if self.plan["certified"] else ""
        if self.plan["subgoal"] is None:
            target = "the goal"
        else:
            target = one_line(self.plan["question"]) or "a subgoal"
        return f"a plan of {count(len(self.plan['actions']), 'action')}{shortest}: {target}"

    @property
    def mood(self) -> str:
        return "busy" if self.plan["subgoal"] is None else "ask"


@dataclass(frozen=True, kw_only=True)
class Called(Told):
    """A call of a member's mind (op: propose, judge, explore or what those are made of), or what an agent did at its door (door) or
    cost (coder)."""

    member: int
    op: str
    answered: bool
    seconds: float
    receipt: Mapping[str, Any]
    inner: bool = False
    """Of the model behind a mind, and part of what the mind is being asked."""

    @property
    def line(self) -> str:
        told = self.failed and not self.inner  # the mind's own failure follows
        return f"the mind gave no answer ({self.op}, after {self.seconds:.1f} s)" if told else ""

    @property
    def mood(self) -> str:
        return "bad" if self.failed else "plain"

    @property
    def failed(self) -> bool:
        """A mind was asked and did not answer. What an agent did at its door, or cost, is no question to a mind."""
        return not self.answered and self.op not in ("door", "coder")


@dataclass(frozen=True, kw_only=True)
class Remarked(Told):
    """A note, or an exploration that could not be used. by: who said it, empty for the mind itself."""

    text: str
    bad: bool = False
    by: str = ""

    @property
    def line(self) -> str:
        return one_line(f"a person says: {self.text}" if self.by == "person" else self.text, 300)

    @property
    def mood(self) -> str:
        return "bad" if self.bad else "plain"


@dataclass(frozen=True, kw_only=True)
class Ended(Told):
    outcome: str
    sentence: str

    @property
    def line(self) -> str:
        return f"{self.outcome}: {one_line(self.sentence)}"

    @property
    def mood(self) -> str:
        return "good" if self.outcome == "won" else "bad"


def parted(example: Counterexample) -> str:
    """Where a prediction and what was observed part, in a few words."""
    what = f"action {example.action}" if example.action is not None else "the first sight of a trajectory"
    if example.expected is not example.predicted:
        return f"{what} was predicted to leave the level {example.predicted}, and left it {example.expected}"
    if not example.regions:
        return f"{what} showed something else than was predicted"
    top = min(region.top for region in example.regions)
    left = min(region.left for region in example.regions)
    bottom, right = max(region.bottom for region in example.regions), max(region.right for region in example.regions)
    return f"{what}, {count(example.cells, 'cell')} in {_span('row', top, bottom)}, {_span('column', left, right)}"


def _span(name: str, first: int, last: int) -> str:
    return f"{name} {first}" if first == last else f"{name}s {first}-{last}"
