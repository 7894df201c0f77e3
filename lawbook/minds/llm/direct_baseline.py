"""The direct arm: a language model that is shown the two most recent observations and names one action. No memory, no model."""

from __future__ import annotations

from collections.abc import Iterable

from lawbook.core import frame_text
from lawbook.core.hypothesis import Hypothesis, Proposal
from lawbook.core.results import Judgement, Probe, Subgoal
from lawbook.errors import MindError, UsageError
from lawbook.minds.base import Case, judge_by_trace
from lawbook.minds.llm import outputs, providers
from lawbook.minds.llm.images import pictures
from lawbook.minds.llm.model import Model, Part, Receipt
from lawbook.minds.llm.operator_call import Calls, UnusableError


class DirectMind:
    """Table 5's baseline of Memento 3. Explores only: needs a protocol without a model requirement."""

    proposes = False

    def __init__(self, name: str, model: Model, *, images: bool = False) -> None:
        self.name = name
        self._calls = Calls(model, images=images)

    def propose(self, case: Case) -> Proposal:
        raise MindError(f"The mind {self.name} proposes nothing; play it with --protocol vanilla.")

    def judge(self, case: Case, hypothesis: Hypothesis) -> Judgement:
        return judge_by_trace(hypothesis)

    def explore(self, case: Case) -> Subgoal | Probe:
        try:
            return self._calls.ask(
                "direct",
                case,
                _parts(case),
                lambda said, last: outputs.read_direct(said, case.interface),
                outputs.ACTION_SCHEMA,
                pictures=lambda: pictures(case),
            )
        except UnusableError as error:
            return Subgoal("", "", unusable=str(error))

    def receipt(self) -> Receipt:
        return self._calls.receipt()


def _parts(case: Case) -> list[Part]:
    """The interface, and the two most recent observations with the action between them, over the start of a level too."""
    height, width = case.interface.shape
    clicks = f"; {', '.join(map(str, case.interface.clicks))} takes x and y" if case.interface.clicks else ""
    levels = f"The world has {case.interface.levels} levels. " if case.interface.levels else ""
    known = ", ".join(map(str, case.interface.actions))
    said = f"# The world\n\n{levels}Frames are {height} rows x {width} columns. The actions are {known}{clicks}; RESET is 0."
    parts = [Part("world", said, stable=True)]
    here = case.record.here
    if len(here):
        action, seen = here.steps[-1]
        parts.append(Part("before", f"# The frame before\n\n{frame_text.board(here.frame(len(here) - 1))}"))
        change = frame_text.difference(here.frame(len(here) - 1), seen.frame)
        parts.append(Part("change", f"# Then action {action}\n\n{frame_text.clip(change, 2_000)}"))
    elif len(case.record) > 1 and len(case.record.trajectories[-2]):
        before = case.record.trajectories[-2]
        title = f"# Before this level's start: the frame before action {before.steps[-1][0]}"
        parts.append(Part("before", f"{title}\n\n{frame_text.board(before.frame(len(before) - 1))}"))
    available = ", ".join(map(str, here.last.available))
    now = f"# The frame now (level {here.last.level}, available: {available})\n\n{frame_text.board(here.last.frame)}"
    refused = f"\n\nYour last answer could not be used: {case.refusal}" if case.refusal else ""
    parts.append(Part("now", now + refused))
    parts.append(Part("budget", f"{case.budget_left} actions are left."))
    return parts


class DirectSource:
    """The entry point `direct`."""

    summary = "A language model that sees the two most recent observations and names one action (protocol vanilla)."
    pictures = True
    package = "pydantic_ai"

    def names(self) -> Iterable[tuple[str, str]]:
        return [("direct:MODEL", "MODEL as after llm: such as anthropic:MODEL, or files:DIR")]

    def make(self, argument: str, *, images: bool = False) -> DirectMind:
        if not argument:
            raise UsageError("The mind direct needs a model, as after llm:; such as --mind direct:anthropic:MODEL.")
        return DirectMind(f"direct:{argument}", providers.connect(argument), images=images)


SOURCE = DirectSource()
