"""The direct arm: a language model that is shown the two most recent observations and names one action. No memory, no model."""

from __future__ import annotations

from collections.abc import Iterable

from lawbook.core import frame_text
from lawbook.core.hypothesis import Hypothesis, Proposal
from lawbook.core.results import Judgement, Probe, Subgoal
from lawbook.errors import MindError, UsageError
from lawbook.minds.base import Case, judge_by_citations
from lawbook.minds.llm import outputs, providers
from lawbook.minds.llm.images import render_images
from lawbook.minds.llm.model import Model, Part, Receipt
from lawbook.minds.llm.operator_call import OperatorCaller, UnusableAnswerError


class DirectMind:
    """Table 5's baseline of Memento 3. Explores only: needs a protocol without a model requirement."""

    proposes = False

    def __init__(self, name: str, model: Model, *, images: bool = False) -> None:
        self.name = name
        self._caller = OperatorCaller(model, images=images)

    def propose(self, case: Case) -> Proposal:
        raise MindError(f"The mind {self.name} proposes nothing; play it with --protocol vanilla.")

    def judge(self, case: Case, hypothesis: Hypothesis) -> Judgement:
        return judge_by_citations(hypothesis)

    def explore(self, case: Case) -> Subgoal | Probe:
        try:
            return self._caller.ask(
                "direct",
                case,
                _build_parts(case),
                lambda text, final_attempt: outputs.read_direct(text, case.interface),
                outputs.ACTION_SCHEMA,
                make_images=lambda: render_images(case),
            )
        except UnusableAnswerError as error:
            return Subgoal("", "", unusable=str(error))

    def receipt(self) -> Receipt:
        return self._caller.receipt()


def _build_parts(case: Case) -> list[Part]:
    """The interface, and the two most recent observations with the action between them, over the start of a level too."""
    height, width = case.interface.shape
    click_note = f"; {', '.join(map(str, case.interface.clicks))} takes x and y" if case.interface.clicks else ""
    levels = f"The world has {case.interface.levels} levels. " if case.interface.levels else ""
    actions = ", ".join(map(str, case.interface.actions))
    description = (
        f"# The world\n\n{levels}Frames are {height} rows x {width} columns. The actions are {actions}{click_note}; RESET is 0."
    )
    parts = [Part("world", description, stable=True)]
    trajectory = case.record.current
    if len(trajectory):
        action, observation = trajectory.steps[-1]
        parts.append(Part("before", f"# The frame before\n\n{frame_text.format_board(trajectory.get_frame(len(trajectory) - 1))}"))
        change = frame_text.format_difference(trajectory.get_frame(len(trajectory) - 1), observation.frame)
        parts.append(Part("change", f"# Then action {action}\n\n{frame_text.clip_text(change, 2_000)}"))
    elif len(case.record) > 1 and len(case.record.trajectories[-2]):
        previous = case.record.trajectories[-2]
        title = f"# Before this level's start: the frame before action {previous.steps[-1][0]}"
        parts.append(Part("before", f"{title}\n\n{frame_text.format_board(previous.get_frame(len(previous) - 1))}"))
    available = ", ".join(map(str, trajectory.last.available))
    current_frame = (
        f"# The frame now (level {trajectory.last.level}, available: "
        f"{available})\n\n{frame_text.format_board(trajectory.last.frame)}"
    )
    refusal_note = f"\n\nYour last answer could not be used: {case.refusal}" if case.refusal else ""
    parts.append(Part("now", current_frame + refusal_note))
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
