"""The policy `disagree`: where members part, by what they foresee; which way is taken; that it is written down and survives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lakes import CORNER, DOWN, LAKE, LEFT, NO_HOLES, RIGHT, TRUE, UP, Rivals
from minds import replaced

from lawbook.core.record import ActionKind, Status, freeze
from lawbook.core.results import Plan, Prediction, Probe, RunOutcome
from lawbook.errors import RefusedError, UsageError
from lawbook.ledger.events import EventKind
from lawbook.ledger.ledger import Event
from lawbook.planning.disagreement import find_disagreements as ways_of
from lawbook.planning.population import DisagreementCandidate, build_disagreement, choose_disagreement
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.runs.loops.memento3 import play
from lawbook.runs.session import Session
from lawbook.sandbox.host import Host, Program

FRAIL = replaced(TRUE, "    down, right = MOVES", "    assert state.row < 2\n    down, right = MOVES")
"""Fails on every action from the third row on."""


def bodies(session: Session, kind: EventKind) -> list[dict[str, Any]]:
    return [dict(event.body) for event in session.event_log.ledger if event.kind is kind]


def shown(cell: int, status: Status = Status.RUNNING) -> Prediction:
    return Prediction(freeze(np.full((1, 1), cell, dtype=np.uint8)), status)


# -- where members part -----------------------------------------------------------------------------------------------------


def test_members_part_where_frames_or_statuses_first_differ() -> None:
    seen = {0: [shown(1), shown(2)], 1: [shown(1), shown(3)], 4: [shown(1), shown(2, Status.OVER)], 5: [shown(1), shown(2)]}
    found = build_disagreement((LEFT, DOWN), 0, seen, recovery_cost=7)
    assert found.parts == ((0, 5), (1,), (4,)) and found.split_step == 2
    assert found.recovery_cost == 7  # one of them foresees a game over
    assert found.information_bits == pytest.approx(1.5)


def test_a_completing_step_is_judged_by_its_status_alone() -> None:
    found = build_disagreement((LEFT,), 0, {0: [shown(1, Status.COMPLETED)], 1: [shown(2, Status.COMPLETED)]}, recovery_cost=7)
    assert found.parts == ((0, 1),) and found.information_bits == 0 and found.recovery_cost == 0


def test_a_program_that_fails_on_a_way_parts_from_the_others() -> None:
    assert build_disagreement((LEFT, DOWN), 0, {0: [shown(1), shown(2)], 1: [shown(1)]}, recovery_cost=1).parts == ((0,), (1,))


@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=1, max_size=8))
def test_bits_are_between_none_and_all_apart(told: list[list[int]]) -> None:
    found = build_disagreement(
        (LEFT, DOWN, UP), 0, {m: [shown(cell) for cell in cells] for m, cells in enumerate(told)}, recovery_cost=1
    )
    assert -1e-9 <= found.information_bits <= np.log2(len(told)) + 1e-9
    assert sorted(member for part in found.parts for member in part) == list(range(len(told)))
    assert (found.information_bits < 1e-9) == (len({tuple(cells) for cells in told}) == 1)


# -- which way is taken -----------------------------------------------------------------------------------------------------


def ways(*rows: tuple[int | None, Sequence[Sequence[int]], int, int]) -> list[DisagreementCandidate]:
    return [
        DisagreementCandidate((LEFT,) * after, plan, tuple(map(tuple, parts)), after, back) for plan, parts, after, back in rows
    ]


def test_the_most_telling_comes_first_then_the_cheapest_then_a_plan() -> None:
    even, odd = [[0, 1], [2, 3]], [[0], [1, 2, 3]]
    far, near, probe = ways((0, even, 9, 0), (1, odd, 1, 0), (None, even, 9, 0))
    assert choose_disagreement([near, far]) is far  # two against two tells more than one against three
    assert (
        choose_disagreement([probe, far]) is far and choose_disagreement([far, probe]) is far
    )  # as telling, as cheap: the plan leads on
    cheap, deadly = ways((None, even, 3, 0), (0, even, 2, 5))
    assert choose_disagreement([deadly, cheap, far]) is cheap  # a game over costs the way back


def test_a_plan_that_all_believe_in_needs_no_trial() -> None:
    agreed, longer, doubtful = ways((0, [[0, 1]], 8, 0), (2, [[0, 1]], 9, 0), (1, [[0], [1]], 1, 0))
    assert choose_disagreement([doubtful, longer, agreed]) is agreed


def test_it_goes_where_members_part_soonest(tmp_path: Path, host: Host) -> None:
    for seed in range(2):  # nothing is drawn by chance
        config = RunConfig(LAKE, population=2, policy="disagree", seed=seed)
        with start_run(config, tmp_path, host=host, mind=Rivals([TRUE, CORNER])) as (_, session):
            assert session.state.outcome is None
            play(session)
            first = bodies(session, EventKind.DRAW)[0]
            assert (first["classes"], first["drawn"]) == ([[0], [1]], 1)  # the corner is three actions away, the goal six
            assert session.state.outcome is RunOutcome.WON and session.state.n_actions == 3 + 5 and session.state.n_mismatches == 1


def test_of_a_goal_that_all_foresee_nothing_is_tried(tmp_path: Path, host: Host) -> None:
    config = RunConfig(LAKE, population=2, policy="disagree")
    with start_run(config, tmp_path, host=host, mind=Rivals([NO_HOLES, TRUE])) as (_, session):
        play(session)
        assert session.state.n_actions == 6 and session.state.n_mismatches == 0  # the way around the holes is right for both


def test_one_action_may_tell_more_than_any_plan(tmp_path: Path, host: Host) -> None:
    """Three goals three ways off, and one action on which two members part from the others at once."""
    stuck = replaced(CORNER, "1: (0, -1), 2: (1, 0)", "1: (0, -1), 2: (0, 0)")  # does not believe that 2 goes down
    below = replaced(
        TRUE, "return here(state) == 2  # R4", "return (state.row, state.column) == (0, 2)  # R4", ("code 2", "code 9")
    )
    other = replaced(below, "1: (0, -1), 2: (1, 0)", "1: (0, -1), 2: (0, 0)")
    config = RunConfig(LAKE, population=4, policy="disagree")
    with start_run(config, tmp_path, host=host, mind=Rivals([CORNER, below, stuck, other])) as (_, session):
        play(session)
        first = bodies(session, EventKind.INTEND)[0]
        assert first["action"][0] == DOWN.id and first["sort"] == ActionKind.PROBE
        assert "0, 1 and 2, 3" in first["question"]
        assert set(first["predictions"]) == {"0", "1", "2", "3"}  # on disk before it is sent, by everybody
        assert session.state.n_unpredicted == 0 and session.state.outcome is RunOutcome.WON


def test_uniform_asks_no_such_thing(tmp_path: Path, host: Host) -> None:
    with start_run(RunConfig(LAKE, population=2), tmp_path, host=host, mind=Rivals([TRUE, CORNER])) as (_, session):
        for member in (0, 1):
            session.propose(session.call_mind(member, "propose"), member)
        plans = {member: session.plan(member) for member in (0, 1)}
        assert session.policy == "uniform" and session.find_disagreement_probe(plans) is None


def test_a_program_that_fails_on_the_others_plan_foresees_nothing_from_there(tmp_path: Path, host: Host) -> None:
    with start_run(RunConfig(LAKE, population=2, policy="disagree"), tmp_path, host=host, mind=Rivals([FRAIL, TRUE])) as (
        _,
        session,
    ):
        programs = {m: host.load(hypothesis.files) for m, hypothesis in enumerate((FRAIL, TRUE))}
        plan = (DOWN, DOWN, RIGHT, DOWN, RIGHT, RIGHT)
        assert all(isinstance(program, Program) for program in programs.values())
        first, *singles = ways_of(programs, session.record.current, [plan], ())  # type: ignore[arg-type]
        assert (first.split_step, first.parts) == (3, ((0,), (1,)))
        assert [single.actions for single in singles] == [(LEFT,), (RIGHT,), (UP,)] and not any(
            single.information_bits for single in singles
        )
        play(session)
        assert session.state.outcome is RunOutcome.WON


# -- it is the run's, not the moment's --------------------------------------------------------------------------------------


def test_the_policy_stands_in_run_toml_and_in_the_ledger(tmp_path: Path, host: Host) -> None:
    config = RunConfig(LAKE, population=2, policy="disagree")
    with start_run(config, tmp_path, host=host, mind=Rivals([TRUE, CORNER])) as (folder, session):
        assert 'policy = "disagree"' in folder.toml.read_text()
        assert folder.load_config() == config
        assert bodies(session, EventKind.OPEN)[0]["run"]["policy"] == "disagree"
    with pytest.raises(UsageError, match="uniform, disagree"):
        RunConfig(LAKE, policy="majority")


def test_a_run_of_before_there_were_policies_is_uniform(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, RunConfig(LAKE))
    lines = [line for line in folder.toml.read_text().splitlines() if not line.startswith("policy")]
    folder.toml.write_text("\n".join(lines))
    assert folder.load_config().policy == "uniform"


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("cut", [9, 20])
def test_a_run_that_broke_off_goes_the_same_way(tmp_path: Path, host: Host, cut: int) -> None:
    def actions(session: Session) -> list[Any]:
        return [(body["action"], body["sort"], body["member"]) for body in bodies(session, EventKind.INTEND)]

    config = RunConfig(LAKE, population=3, policy="disagree")
    minds = [NO_HOLES, CORNER, TRUE]
    with start_run(config, tmp_path, host=host, mind=Rivals(minds)) as (_, session):
        play(session)
        whole = actions(session)

    def listener(event: Event) -> None:
        if event.seq == cut:
            raise StoppedError

    with (
        pytest.raises(StoppedError),
        start_run(config, tmp_path, host=host, mind=Rivals(minds), listener=listener) as (folder, session),
    ):
        play(session)
    with resume_run(folder, host=host, mind=Rivals(minds)) as session:
        assert session.policy == "disagree"
        play(session)
        assert actions(session) == whole and session.state.outcome is RunOutcome.WON


def test_no_plan_of_yesterday_is_disputed(tmp_path: Path, host: Host) -> None:
    with start_run(RunConfig(LAKE, population=2, policy="disagree"), tmp_path, host=host, mind=Rivals([TRUE, CORNER])) as (
        _,
        session,
    ):
        for member in (0, 1):
            session.propose(session.call_mind(member, "propose"), member)
        plans = {member: session.plan(member) for member in (0, 1)}
        assert all(isinstance(plan, Plan) for plan in plans.values())
        session.send_exploration(Probe(DOWN, "Does 2 go down?"))
        with pytest.raises(RefusedError, match="plan again"):
            session.draw(plans)


def test_every_way_is_rolled_once_for_a_step(tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for a probe and drawing ask the same; what was rolled for the one is handed to the other."""
    rolled: list[int] = []

    def count_rolls(*args: Any) -> list[DisagreementCandidate]:
        rolled.append(len(args[2]))
        return ways_of(*args)

    monkeypatch.setattr("lawbook.planning.disagreement.find_disagreements", count_rolls)
    with start_run(RunConfig(LAKE, population=2, policy="disagree"), tmp_path, host=host, mind=Rivals([TRUE, CORNER])) as (
        _,
        session,
    ):
        for member in (0, 1):
            session.propose(session.call_mind(member, "propose"), member)
        plans = {member: session.plan(member) for member in (0, 1)}
        first = session.find_disagreement_probe(plans)
        assert session.find_disagreement_probe(plans) == first and rolled == [2]
        assert session.draw(plans) is not None and rolled == [2]
