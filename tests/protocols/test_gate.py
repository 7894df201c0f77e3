"""The gate's rules as data and sentences: decisions, allowances, plans, probes, resets, and the population's draw."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawbook.core.hypothesis import ENGINE, Decision, Hypothesis, Proposal
from lawbook.core.record import RESET, Action, Observation, Record, Status, freeze
from lawbook.core.results import Plan, Prediction
from lawbook.errors import UsageError
from lawbook.planning import population
from lawbook.protocols import gate
from lawbook.protocols.gate import find_broken_rule
from lawbook.protocols.protocol import PROTOCOLS, get_protocol

MEMENTO, BARE, VANILLA = PROTOCOLS["memento3"], PROTOCOLS["no-rulebook"], PROTOCOLS["vanilla"]
OLD = Hypothesis("R1. Walls stop.", {ENGINE: "# R1\nx = 1\n"})
NEW_BOOK, NEW_FILES = "R1. Walls stop.\nR2. Doors open.", {ENGINE: "# R1\nx = 2\n"}


@pytest.mark.parametrize(
    ("decision", "rulebook", "files", "admissible", "allowed"),
    [
        (Decision.RETAIN, None, None, True, True),
        (Decision.RETAIN, None, None, False, False),  # no answer to a wrong prediction
        (Decision.RETAIN, NEW_BOOK, None, True, False),
        (Decision.RETAIN, None, NEW_FILES, True, False),
        (Decision.RETAIN, OLD.rulebook, dict(OLD.files), True, True),  # written out again, and unchanged
        (Decision.REVISE_RULEBOOK, NEW_BOOK, NEW_FILES, False, True),
        (Decision.REVISE_RULEBOOK, NEW_BOOK, None, True, True),  # the prose may be all that was wrong
        (Decision.REVISE_RULEBOOK, None, NEW_FILES, False, False),
        (Decision.REVISE_RULEBOOK, OLD.rulebook, NEW_FILES, False, False),
        (Decision.REVISE_RULEBOOK, "  \n", NEW_FILES, False, False),
        (Decision.REPAIR_CODE, None, NEW_FILES, False, True),
        (Decision.REPAIR_CODE, NEW_BOOK, NEW_FILES, False, False),
        (Decision.REPAIR_CODE, None, dict(OLD.files), False, False),
        (Decision.SIMPLIFY, "R1. Walls.", None, True, True),
        (Decision.SIMPLIFY, "R1. Walls.", None, False, False),
        (Decision.SIMPLIFY, NEW_BOOK, None, True, False),  # longer
        (Decision.SIMPLIFY, None, None, True, False),  # as long
    ],
)
def test_decision_rules_of_memento3(
    decision: Decision, rulebook: str | None, files: dict[str, str] | None, admissible: bool, allowed: bool
) -> None:
    refusal = find_broken_rule(MEMENTO, OLD, admissible, Proposal(decision, rulebook, files))
    assert (refusal is None) == allowed, refusal


def test_the_first_proposal_must_bring_a_rulebook_where_one_is_needed() -> None:
    assert find_broken_rule(MEMENTO, None, False, Proposal(Decision.REVISE_RULEBOOK, NEW_BOOK, NEW_FILES)) is None
    assert find_broken_rule(MEMENTO, None, False, Proposal(Decision.RETAIN)) is not None
    assert find_broken_rule(MEMENTO, None, False, Proposal(Decision.REPAIR_CODE, None, NEW_FILES)) is not None


def test_without_a_rulebook_only_code_is_proposed() -> None:
    assert find_broken_rule(BARE, None, False, Proposal(Decision.REPAIR_CODE, None, NEW_FILES)) is None
    assert find_broken_rule(BARE, None, False, Proposal(Decision.REVISE_RULEBOOK, NEW_BOOK, NEW_FILES)) is not None
    assert find_broken_rule(BARE, None, False, Proposal(Decision.REPAIR_CODE, NEW_BOOK, NEW_FILES)) is not None


@given(
    st.sampled_from(list(Decision)),
    st.sampled_from([None, "", OLD.rulebook, NEW_BOOK]),
    st.sampled_from([None, dict(OLD.files), NEW_FILES]),
    st.booleans(),
    st.sampled_from([None, OLD]),
)
def test_what_passes_keeps_every_rule(
    decision: Decision, rulebook: str | None, files: dict[str, str] | None, admissible: bool, current: Hypothesis | None
) -> None:
    """Stated from the other side: whatever is let through has the property its decision stands for."""
    proposal = Proposal(decision, rulebook, files)
    if find_broken_rule(MEMENTO, current, admissible and current is not None, proposal) is None:
        new = proposal.apply_to(current)
        book_changed = new.rulebook != (current.rulebook if current else "")
        assert new.rulebook.strip()
        match decision:
            case Decision.RETAIN:
                assert new == current and admissible
            case Decision.REVISE_RULEBOOK:
                assert book_changed
            case Decision.REPAIR_CODE:
                assert not book_changed and current is not None and not new.has_same_program(current)
            case Decision.SIMPLIFY:
                assert current is not None and admissible and new.description_bytes < current.description_bytes


def test_every_refusal_is_a_sentence() -> None:
    for decision in Decision:
        refusal = find_broken_rule(MEMENTO, None, False, Proposal(decision))
        assert refusal is not None and refusal.endswith((".", ").")) and refusal[0].isalpha()


@pytest.mark.parametrize(("budget", "allowed"), [(1, 10), (99, 10), (100, 10), (250, 25), (2000, 200)])
def test_allowance(budget: int, allowed: int) -> None:
    assert MEMENTO.get_allowance(budget) == BARE.get_allowance(budget) == allowed
    assert VANILLA.get_allowance(budget) is None


def test_probes() -> None:
    assert gate.explain_probe_refusal(MEMENTO, True, 99, 100, "what does 1 do?") is None  # predicted: no allowance is used
    assert gate.explain_probe_refusal(MEMENTO, False, 9, 100, "what does 1 do?") is None
    assert "10 actions" in str(gate.explain_probe_refusal(MEMENTO, False, 10, 100, "what does 1 do?"))
    assert "question" in str(gate.explain_probe_refusal(MEMENTO, True, 0, 100, " "))
    assert gate.explain_probe_refusal(VANILLA, False, 10_000, 100, "what does 1 do?") is None


def test_plans_need_an_admissible_hypothesis_except_under_vanilla() -> None:
    assert gate.explain_plan_refusal(MEMENTO, False) is not None
    assert gate.explain_plan_refusal(MEMENTO, True) is None
    assert gate.explain_plan_refusal(VANILLA, False) is None


def test_a_plan_runs_to_its_end_and_ends_in_its_target() -> None:
    blank = np.zeros((1, 1), np.uint8)
    running, over, done = (Prediction(blank, status) for status in (Status.RUNNING, Status.OVER, Status.COMPLETED))
    assert gate.explain_end_refusal(MEMENTO, [running, running, done], True, "the goal", True) is None
    assert "not predicted to end in the goal" in str(gate.explain_end_refusal(MEMENTO, [running, running], False, "the goal", True))
    assert "Action 2" in str(gate.explain_end_refusal(MEMENTO, [running, over, running], True, "the named subgoal", False))
    assert "Action 1" in str(gate.explain_end_refusal(MEMENTO, [done, running], True, "the goal", True))


def test_unknown_protocol_names_the_known() -> None:
    with pytest.raises(UsageError, match="memento3"):
        get_protocol("memento4")


def _seen(status: Status = Status.RUNNING, level: int = 0) -> Observation:
    return Observation((freeze(np.zeros((2, 2), np.uint8)),), status, level, (1, 2))


def test_resets_that_would_restart_everything_are_refused_unless_meant() -> None:
    record = Record(levels=3)
    record.extend(None, _seen())
    assert gate.explain_reset_refusal(record, whole_game=False) is not None
    assert gate.explain_reset_refusal(record, whole_game=True) is None
    record.extend(Action(1), _seen())
    assert gate.explain_reset_refusal(record, whole_game=False) is None
    record.extend(RESET, _seen())
    assert gate.explain_reset_refusal(record, whole_game=False) is not None  # twice in a row
    record.extend(Action(1), _seen(Status.COMPLETED, 1))
    assert gate.explain_reset_refusal(record, whole_game=False) is not None  # right after a level-up
    record.extend(Action(1), _seen(Status.OVER, 1))
    assert gate.explain_reset_refusal(record, whole_game=False) is None


def _plan(*ids: int) -> Plan:
    return Plan(tuple(Action(i) for i in ids), (), True, None, 1, 0.0)


def test_identical_nonempty_plans_are_one_class() -> None:
    plans = {0: _plan(1, 2), 1: _plan(2), 2: _plan(1, 2), 3: _plan()}
    assert population.group_plans(plans) == [[0, 2], [1]]
    assert population.group_plans({0: _plan()}) == []


def test_a_class_is_drawn_uniformly_however_many_members_it_has() -> None:
    groups = [[0, 1, 2, 3], [4]]
    drawn = [population.draw_class(groups, seed, number) for seed in range(40) for number in range(25)]
    assert 430 < sum(drawn) < 570  # 1,000 draws, half of them of the class with one member
    assert drawn == [population.draw_class(groups, seed, number) for seed in range(40) for number in range(25)]
