"""The mind that thinks nothing: any available action, uniformly; a click goes to any cell. The floor to compare with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random

from lawbook.core.hypothesis import Hypothesis, Proposal
from lawbook.core.record import Action
from lawbook.core.results import Judgement, Probe
from lawbook.errors import MindError, UsageError
from lawbook.minds.base import Case, judge_by_citations


class RandomMind:
    """Explores only; its dice are thrown by (case.seed, case.call)."""

    name = "random"
    proposes = False

    def propose(self, case: Case) -> Proposal:
        """Raise MindError, always: this mind proposes nothing."""
        raise MindError("The mind random proposes nothing; play it with --protocol vanilla.")

    def judge(self, case: Case, hypothesis: Hypothesis) -> Judgement:
        """Judge by citations alone: the rules that the code names in comments."""
        return judge_by_citations(hypothesis)

    def explore(self, case: Case) -> Probe:
        """Choose any available action, uniformly; a click goes to any cell of the frame."""
        rng = Random(f"random:{case.seed}:{case.call}")
        observation = case.record.last
        action = rng.choice((observation.available if observation else ()) or case.interface.actions)
        if action not in case.interface.clicks:
            return Probe(Action(action), "What comes of it?")
        height, width = case.interface.shape
        return Probe(Action(action, rng.randrange(width), rng.randrange(height)), "What comes of it?")

    def receipt(self) -> Mapping[str, float | int | str]:
        """Return an empty receipt: it costs nothing."""
        return {}


class RandomSource:
    """The entry point `random`."""

    summary = "Any available action, uniformly; proposes nothing (protocol vanilla)."

    def names(self) -> Iterable[tuple[str, str]]:
        """Return the one address there is, with its summary."""
        return [("random", self.summary)]

    def make(self, argument: str) -> RandomMind:
        """Make the mind. Raises UsageError for any argument."""
        if argument:
            raise UsageError(f"The mind random takes nothing after a colon, not {argument!r}; write --mind random.")
        return RandomMind()


SOURCE = RandomSource()
