"""The watch: silent on every deterministic world, never on one that gives one history two outcomes."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from minds import Scripted

from lawbook.core.record import RESET, Action, Observation, Record, Status, freeze
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.verification.determinism import Contradiction, DeterminismChecker

Told = list[tuple[list[int], int | None]]  # trajectories: what is done, and after how many steps it is truncated


def outcome(history: tuple[int, ...], salt: int = 0) -> Observation:
    """A deterministic world: everything it shows is a function of the actions since the start."""
    chance = random.Random(repr((history, salt)))
    frame = np.array([[len(history), chance.randrange(4)]], np.uint8)
    status = chance.choices([Status.RUNNING, Status.OVER, Status.COMPLETED], [8, 1, 1])[0]
    return Observation((freeze(frame),), status, 0, (1, 2))


def told(trajectories: Told) -> Record:
    record = Record(levels=1)
    for actions, cut in trajectories:
        record.extend(RESET, Observation((freeze([[0, 0]]),), Status.RUNNING, 0, (1, 2)))
        history: tuple[int, ...] = ()
        for action in actions:
            history += (action,)
            seen = outcome(history)
            if len(history) == cut:
                seen = Observation((freeze([[99, 99]]),), Status.TRUNCATED, 0, (1, 2))
            record.extend(Action(action), seen)
            if seen.status is not Status.RUNNING:
                break
    return record


def watched(record: Record) -> list[Contradiction]:
    watch = DeterminismChecker()
    seen = (watch.add_step(index, trajectory.first, *step) for index, trajectory in enumerate(record) for step in trajectory.steps)
    return [contradiction for contradiction in seen if contradiction is not None]


TRAJECTORIES = st.lists(st.tuples(st.lists(st.integers(1, 2), max_size=6), st.none() | st.integers(1, 6)), max_size=8)


@given(TRAJECTORIES)
def test_a_deterministic_world_is_never_accused(trajectories: Told) -> None:
    assert watched(told(trajectories)) == []


@settings(max_examples=200)
@given(TRAJECTORIES, st.data())
def test_one_changed_outcome_is_found_exactly_when_its_history_has_another(trajectories: Told, data: st.DataObject) -> None:
    record = told(trajectories)
    histories: dict[tuple[Action, ...], list[tuple[int, int]]] = {}
    for index, trajectory in enumerate(record):
        for step, (_, seen) in enumerate(trajectory.steps, start=1):
            if seen.status is not Status.TRUNCATED:
                histories.setdefault(tuple(trajectory.actions[:step]), []).append((index, step))
    if not histories:
        return
    places = data.draw(st.sampled_from(sorted(histories.values())))
    index, step = data.draw(st.sampled_from(places))
    action, seen = record.trajectories[index].steps[step - 1]
    frame = seen.frame.copy()
    frame[0, 1] += 1
    completed = seen.status is Status.COMPLETED
    status = data.draw(st.sampled_from([Status.RUNNING, Status.OVER])) if completed else seen.status
    record.trajectories[index].steps[step - 1] = (action, Observation((freeze(frame),), status, 0, (1, 2)))
    found = watched(record)
    assert bool(found) == (len(places) > 1)
    if found:
        assert (index, step) in (found[0].first, found[0].second) and found[0].first < found[0].second
        assert {found[0].first, found[0].second} <= set(places)


def single(
    watch: DeterminismChecker, trajectory: int, action: Action, seen: Observation, first: Observation | None = None
) -> object:
    return watch.add_step(trajectory, first or Observation((freeze([[1, 2, 3]]),), Status.RUNNING, 0, (1,)), action, seen)


def shown(*cells: int, status: Status = Status.RUNNING) -> Observation:
    return Observation((freeze([[0, 0, 0]]), freeze([list(cells)])), status, 0, (1,))


def test_the_sentence_shows_both() -> None:
    watch = DeterminismChecker()
    assert single(watch, 3, Action(6, 1, 0), shown(1, 2, 3)) is None
    found = single(watch, 5, Action(6, 1, 0), shown(1, 7, 9))
    assert isinstance(found, Contradiction) and (found.first, found.second) == ((3, 1), (5, 1))
    assert found.sentence == (
        "The world is not deterministic: action 6@1,0 follows the same actions from the same start of level 0 at step 1 of "
        "trajectory 3 and at step 1 of trajectory 5, but the frames differ in 2 of 3 cells, first in row 0, column 1 (2 against 7)."
    )
    over = single(watch, 6, Action(6, 1, 0), shown(1, 2, 3, status=Status.OVER))
    assert isinstance(over, Contradiction) and "the first left it running, the second over" in over.sentence


def test_a_completions_frame_and_a_truncated_step_do_not_count() -> None:
    watch = DeterminismChecker()
    assert single(watch, 0, Action(1), shown(1, 2, 3, status=Status.COMPLETED)) is None
    assert single(watch, 1, Action(1), shown(4, 5, 6, status=Status.COMPLETED)) is None
    assert single(watch, 2, Action(1), shown(7, 8, 9, status=Status.TRUNCATED)) is None
    assert single(watch, 3, Action(1), shown(1, 2, 3)) is not None


@pytest.mark.parametrize(
    "first",
    [
        Observation((freeze([[1, 2, 4]]),), Status.RUNNING, 0, (1,)),
        Observation((freeze([[1], [2], [3]]),), Status.RUNNING, 0, (1,)),
        Observation((freeze([[1, 2, 3]]),), Status.RUNNING, 1, (1,)),
        Observation((freeze([[1, 2, 3]]),), Status.RUNNING, 0, (1, 2)),
    ],
)
def test_another_start_is_another_history(first: Observation) -> None:
    watch = DeterminismChecker()
    assert single(watch, 0, Action(1), shown(1, 1, 1)) is None
    assert single(watch, 1, Action(1), shown(2, 2, 2), first) is None


def test_other_actions_are_another_history() -> None:
    watch = DeterminismChecker()
    for trajectory, action in enumerate(
        [Action(1), Action(2), Action(6, 1, 0), Action(6, 0, 1), Action(61, 0, 0), Action(6, 10, 0)]
    ):
        assert single(watch, trajectory, action, shown(trajectory, 0, 0)) is None
    assert single(watch, 5, Action(1), shown(0, 0, 0)) is None, "a second step of trajectory 5, not the first of another"


def test_a_level_that_does_not_always_begin_alike_is_named_once() -> None:
    watch = DeterminismChecker()
    first = Observation((freeze([[1, 2, 3]]),), Status.RUNNING, 0, (1, 2))
    assert watch.add_opening(0, first) is None and watch.add_opening(2, first) is None
    assert watch.add_opening(3, Observation((freeze([[1, 1, 1]]),), Status.RUNNING, 1, (1, 2))) is None, "another level"
    assert watch.add_opening(4, Observation((freeze([[1, 7, 3]]),), Status.RUNNING, 0, (1, 2))) == (
        "Level 0 does not always begin alike: compare trajectory 0 and trajectory 4, "
        "where the frames differ in 1 of 3 cells, first in row 0, column 1 (2 against 7)."
    )
    assert watch.add_opening(5, Observation((freeze([[1, 9, 3]]),), Status.RUNNING, 0, (1, 2))) is None, "said already"
    fewer = watch.add_opening(6, Observation((freeze([[1, 1, 1]]),), Status.RUNNING, 1, (1,)))
    assert fewer is not None and fewer.endswith("the first offers actions 1, 2, the second 1.")


def test_a_run_where_resets_differ_goes_on_and_its_mind_is_told_once(tmp_path: Path) -> None:
    """A program is given the start of every trajectory, so nothing is lost; but a person and the mind are to know."""
    config = RunConfig("py:fickle_worlds:SOURCE/restless", protocol="vanilla", budget=40)
    with start_run(config, tmp_path, mind=Scripted()) as (folder, session):
        for _ in range(2):
            session.probe(Action(1), "?")
            session.reset("the same again?")
        assert session.outcome is None
        noted = session.build_case(0).notes
    assert len(noted) == 1 and "compare trajectory 0 and trajectory 1" in noted[0]
    with resume_run(folder, mind=Scripted()) as session:
        session.probe(Action(1), "?")
        session.reset("once more")
        assert session.build_case(0).notes == noted


def test_levels_that_begin_alike_are_not_spoken_of(tmp_path: Path) -> None:
    with start_run(RunConfig("demo:maze", protocol="vanilla", budget=40), tmp_path, mind=Scripted()) as (_, session):
        session.probe(Action(1), "?")
        session.reset("anew")
        assert session.outcome is None and not session.build_case(0).notes
