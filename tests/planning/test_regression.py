"""Completed levels are planned again after a program changed, and those that it can no longer solve are told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from meadow import Meadow, recorded
from minds import Scripted, replaced, worked_example

from lawbook.cli.main import main
from lawbook.core.hypothesis import ENGINE, Decision, Hypothesis, Proposal
from lawbook.core.record import Action
from lawbook.core.results import Limits
from lawbook.planning.regression import describe_regressions, find_completing_trajectories, replan_completed_levels
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.sandbox.host import Host, Program
from lawbook.worlds.world import World

LEVELS = [["@.G....."], ["@...G..."], ["@......G"]]
RIGHT, LEFT = Action(3), Action(1)


class Source:
    """The meadows of this file as worlds, for `py:test_regression:SOURCE/any`."""

    summary = "A row to walk along."

    def names(self) -> Iterator[tuple[str, str]]:
        yield "any", "three levels"

    def make(self, name: str, options: Mapping[str, str]) -> World:
        return Meadow(LEVELS)


SOURCE = Source()


def true() -> Hypothesis:
    """The worked example of the contract, with the colours of a meadow and its last row, which nobody enters."""
    found = worked_example()
    for old, new in [
        ("grid == 4", "grid == 1"),
        ("grid[row, column] = 3", "grid[row, column] = 5"),
        ("state.shape[0] - 1)", "state.shape[0] - 2)"),
        ("] = 4  # R1", "] = 1  # R1"),
        ("here(state) == 1", "here(state) == 8"),
        ("here(state) == 2", "here(state) == 3"),
    ]:
        found = replaced(found, old, new)
    return found


TRUE = true()
LAME = Hypothesis(TRUE.rulebook, {ENGINE: TRUE.files[ENGINE] + "\n\ndef key(state):\n    return state.column // 5\n"})
"""Verifies, and sees two places only: the first two goals have fallen together with their starts."""


def loaded(host: Host, hypothesis: Hypothesis) -> Program:
    program = host.load(hypothesis.files)
    assert isinstance(program, Program)
    return program


def test_every_completed_level_is_planned_from_its_recorded_start(host: Host) -> None:
    # Two levels, with steps that led nowhere, and part of a third.
    record = recorded(Meadow(LEVELS), [1, 3, 3, 3, 3, 1, 3, 3, 3, 3, 3])
    assert [(t.first.level, len(t)) for t in find_completing_trajectories(record)] == [(0, 3), (1, 6)]
    found = replan_completed_levels(loaded(host, TRUE), record)
    assert [(one.level, one.recorded_length, one.planned_length) for one in found] == [(0, 3, 2), (1, 6, 4)]
    assert describe_regressions({0, 1}, found) == ""
    lame = replan_completed_levels(loaded(host, LAME), record)
    assert [one.planned_length for one in lame] == [None, None] and all(one.exhausted for one in lame)
    assert "level 0 (completed in 3 actions)" in describe_regressions(
        set(), lame
    ) and "level 1 (completed in 6" in describe_regressions(set(), lame)


def test_a_level_that_is_only_too_large_is_told_when_it_was_not_before(host: Host) -> None:
    record = recorded(Meadow(LEVELS), [3, 3, 3, 3, 3, 3])
    found = replan_completed_levels(loaded(host, TRUE), record, limits=Limits(nodes=1))
    assert [one.planned_length for one in found] == [None, None] and not any(one.exhausted for one in found)
    assert describe_regressions(set(), found) == "" and "level 1" in describe_regressions({1}, found)


def test_the_mind_reads_of_it_and_nothing_else_changes(tmp_path: Path, host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    config = RunConfig("py:test_regression:SOURCE/any", mind="scripted", budget=30)
    with start_run(config, tmp_path, host=host, mind=Scripted()) as (folder, session):
        assert session.propose(Proposal(Decision.REVISE_RULEBOOK, TRUE.rulebook, TRUE.files, "")).admissible
        session.execute([RIGHT, RIGHT])
        assert session.record.level == 1 and session.state.notes == []
        assert session.propose(Proposal(Decision.REPAIR_CODE, None, LAME.files, "")).admissible  # it verifies
        (note,) = session.build_case(0).notes
        assert "sees no way any more" in note and "level 0 (completed in 2 actions)" in note
        assert session.propose(Proposal(Decision.REPAIR_CODE, None, TRUE.files, "")).admissible
        assert len(session.state.notes) == 1  # nothing is lost any more
    assert main(["regress", str(folder.path)]) == 0
    assert "level 1: planned in 2 actions, completed in 2" in capsys.readouterr().out
