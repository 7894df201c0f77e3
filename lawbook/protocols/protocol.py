"""Protocols as rows of data: what the gate asks for under each, and what it compares."""

from __future__ import annotations

from dataclasses import dataclass

from lawbook.core.hypothesis import Hypothesis, find_open_rules
from lawbook.errors import UsageError


@dataclass(frozen=True)
class Protocol:
    """A named row of switches.

    needs_hypothesis: plans are executed only for an admissible hypothesis, predicted to end in the goal or a named subgoal.
    needs_rulebook: there is a rulebook, and the decision rules about it hold.
    needs_fidelity: the program must be judged faithful to the rulebook.
    compared_fields: what a prediction is compared on. unpredicted_share: share of the budget (at least 10 actions) that may be
    sent with no prediction; None: as many as one likes. needs_reason: a probe names the question it answers.
    allows_open: a program may leave cells and statuses open (under the rules Uk of its rulebook), and is held to what it claims.
    """

    name: str
    summary: str
    needs_hypothesis: bool
    needs_rulebook: bool
    needs_fidelity: bool
    compared_fields: tuple[str, ...] = ("frame", "status")
    unpredicted_share: float | None = 0.1
    needs_reason: bool = True
    allows_open: bool = False

    def get_allowance(self, budget: int) -> int | None:
        """How many actions may be sent with prediction NONE; None: unlimited."""
        return None if self.unpredicted_share is None else max(10, int(budget * self.unpredicted_share))

    def find_open_rules(self, rulebook: str) -> frozenset[int] | None:
        """Return the numbers k of the rules Uk under which cells may be left open; None where none may be."""
        return find_open_rules(rulebook) if self.allows_open else None

    def is_same_program(self, one: Hypothesis, other: Hypothesis) -> bool:
        """Whether two hypotheses run alike: the same program, and what it may leave open."""
        return one.has_same_program(other) and self.find_open_rules(one.rulebook) == self.find_open_rules(other.rulebook)


PROTOCOLS = {
    row.name: row
    for row in (
        Protocol("memento3", "rulebook, program, exact replay and fidelity before every plan", True, True, True),
        Protocol("no-rulebook", "the program alone: exact replay, no rulebook to be faithful to", True, False, False),
        Protocol("belief", "memento3, and a program may leave open what cannot be known", True, True, True, allows_open=True),
        Protocol("vanilla", "the same world and record, no model required", False, False, False, unpredicted_share=None),
    )
}


def get_protocol(name: str) -> Protocol:
    """The row of that name. Raises UsageError."""
    try:
        return PROTOCOLS[name]
    except KeyError:
        raise UsageError(f"There is no protocol {name!r}; choose one of {', '.join(PROTOCOLS)}.") from None
