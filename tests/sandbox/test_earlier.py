"""What a program is shown of the attempts before: the last of them, whole, to be read only, and only where things may be open."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from minds import Scripted

from lawbook.audit.report import audit_run
from lawbook.core.hypothesis import ENGINE, Hypothesis
from lawbook.core.record import (
    MAX_EARLIER_ATTEMPTS,
    MAX_EARLIER_FRAMES,
    RESET,
    Action,
    Observation,
    Record,
    Status,
    freeze,
    select_attempts,
)
from lawbook.core.results import InitialObservation, ProgramError
from lawbook.runs import loops
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.sandbox.host import Host
from lawbook.verification.replay import verify

ONE = Action(1)


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Host() as host:
        yield host


def observe(value: int, status: Status = Status.RUNNING, level: int = 0) -> Observation:
    return Observation((freeze(np.full((1, 2), value % 250, np.uint8)),), status, level, (1,))


def make_record(lengths: list[int]) -> Record:
    """One attempt at level 0 after the other, each of so many steps; the cells count all observations."""
    record, value = Record(levels=3), 0
    for length in lengths:
        record.extend(RESET if len(record) else None, observe(value))
        for _ in range(length):
            value += 1
            record.extend(ONE, observe(value))
        value += 1
    return record


@given(st.lists(st.integers(0, 90), min_size=1, max_size=80), st.sampled_from([0, 0, 0, 4300]))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_last_attempts_are_shown_as_many_as_fit(lengths: list[int], long: int) -> None:
    record = make_record([*lengths[:-1], *([long] if long else []), lengths[-1]])
    attempts = select_attempts(record.current.earlier)
    assert len(attempts) <= MAX_EARLIER_ATTEMPTS and sum(len(attempt.frames) for attempt in attempts) <= MAX_EARLIER_FRAMES
    before = record.trajectories[:-1][len(record) - 1 - len(attempts) :]
    for k, (attempt, trajectory) in enumerate(zip(attempts, before, strict=True)):
        assert len(attempt.statuses) == len(attempt.actions) + 1 == len(attempt.frames)
        whole = len(attempt.frames) == len(trajectory) + 1
        assert whole or (k == 0 and len(attempts) == 1 and len(attempt.frames) == MAX_EARLIER_FRAMES)
        assert (attempt.frames[-1] == trajectory.last.frame).all()
    if 0 < len(attempts) < min(len(record) - 1, MAX_EARLIER_ATTEMPTS):
        left_out = record.trajectories[len(record) - 2 - len(attempts)]
        assert sum(len(attempt.frames) for attempt in attempts) + len(left_out) + 1 > MAX_EARLIER_FRAMES


def test_only_this_level_and_without_the_frame_of_the_next() -> None:
    record = make_record([2, 1])
    record.extend(ONE, observe(77, Status.COMPLETED, 1))
    assert record.current.earlier == ()
    record.extend(RESET, observe(3, level=1))
    assert [t.first.level for t in record.current.earlier] == [1]
    (first, second) = select_attempts([*record.trajectories[:2]])
    assert len(first.frames) == 3
    assert second.statuses[-1] is Status.COMPLETED and len(second.actions) == 2 and len(second.frames) == 2


COUNTING = """
import numpy as np
def initial_state(observation):
    {look}
    return int(observation["frame"][0, 0]), shown
def step(state, action): return state[0] + 1, state[1]
def render(state):
    frame = np.full((1, 2), state[0], np.int16)
    frame[0, 1] = state[1]
    return frame
def is_goal(state): return False
"""


def show(host: Host, record: Record, look: str, rules: tuple[int, ...] | None = (1,)) -> int | ProgramError:
    """What the program renders in its second cell of what it is shown at the start of the present trajectory."""
    program = host.load({ENGINE: COUNTING.format(look=look)}, rules)
    assert not isinstance(program, ProgramError)
    with program.start_worker() as worker:  # type: ignore[union-attr]
        replay = worker.replay(InitialObservation.from_trajectory(record.current), [])
        return replay.fault or int(replay.frames[0][0, 1])


def test_a_program_is_shown_them_with_actions_and_statuses(host: Host) -> None:
    record = make_record([2, 0, 4])
    look = """
    first, second = observation["earlier"]
    assert [a.id for a in first["actions"]] == [1, 1] and first["statuses"] == ("running",) * 3
    assert first["frames"].shape == (3, 1, 2) and len(second["frames"]) == 1 and second["frames"].dtype == np.uint8
    shown = int(first["frames"][2, 0, 0]) * 10 + int(second["frames"][0, 0, 0])"""
    assert show(host, record, look) == 23


@pytest.mark.parametrize(
    "change",
    ['["frames"][0, 0, 0] = 1', '["frames"] = ()', '["actions"].append(1)', '["frames"].setflags(write=True)'],
)
def test_what_it_is_shown_cannot_be_changed(host: Host, change: str) -> None:
    fault = show(host, make_record([2, 0]), f'shown = 0; observation["earlier"][0]{change}')
    assert isinstance(fault, ProgramError) and fault.kind == "exception"


def test_where_nothing_may_be_open_nothing_is_shown(host: Host) -> None:
    look = 'shown = len(observation.get("earlier", "seven c"))'
    assert show(host, make_record([2, 0]), look, rules=None) == 7
    assert show(host, make_record([2, 0]), look) == 1


def test_a_claim_made_of_them_is_proven_trajectory_by_trajectory(host: Host) -> None:
    """The second cell of each first frame is the number of attempts before it: `earlier` alone tells, in every pass and order."""
    record = Record(levels=1)
    for k in range(6):
        row = np.array([[9, k]], np.uint8)
        record.extend(RESET if k else None, Observation((freeze(row),), Status.RUNNING, 0, (1,)))
        record.extend(ONE, Observation((freeze(np.array([[10, k]], np.uint8)),), Status.RUNNING, 0, (1,)))
    program = host.load({ENGINE: COUNTING.format(look='shown = len(observation["earlier"])')}, (1,))
    assert not isinstance(program, ProgramError)
    verdict = verify(program, record)
    assert verdict.admissible, verdict.reason
    blind = host.load({ENGINE: COUNTING.format(look="shown = 0")}, (1,))
    assert not isinstance(blind, ProgramError) and not verify(blind, record).admissible


def test_a_run_cut_in_its_second_attempt_goes_on_to_the_same_actions(tmp_path: Path, host: Host) -> None:
    text = (Path(__file__).parents[2] / "docs" / "contract.md").read_text(encoding="utf-8")
    section = text[text.index("### Fog, and a map") :]
    rulebook, program = (section.split(f"```{kind}\n")[1].split("```")[0] for kind in ("markdown", "python"))
    fog = Hypothesis(rulebook, {ENGINE: program})
    config = RunConfig("py:contract_worlds:SOURCE/fog", protocol="belief", budget=60)
    with start_run(config, tmp_path / "whole", host=host, mind=Scripted([fog])) as (_, session):
        loops.play(session)
        expected = [trajectory.actions for trajectory in session.record]
    assert len(expected) == 2
    with start_run(config, tmp_path / "cut", host=host, mind=Scripted([fog])) as (folder, session):
        step = session._executor.act
        calls = iter(range(1000))

        def stop(*args: object, **kwargs: object) -> object:
            if next(calls) == len(expected[0]) + 8:
                raise KeyboardInterrupt
            return step(*args, **kwargs)  # type: ignore[arg-type]

        session._executor.act = stop  # type: ignore[method-assign, assignment]
        with pytest.raises(KeyboardInterrupt):
            loops.play(session)
    copy = tmp_path / "copy"
    shutil.copytree(folder.path, copy)
    with resume_run(RunFolder(copy), host=host, mind=Scripted([fog])) as session:
        loops.play(session)
        assert [trajectory.actions for trajectory in session.record] == expected
    assert audit_run(RunFolder(copy), strict=True).holds


def test_an_update_is_shown_what_was_paid_and_all_frames(host: Host) -> None:
    text = COUNTING.format(look="shown = 0") + (
        '\ndef update(state, observation):\n    return state[0], int(10 * observation["reward"]) + len(observation["frames"])\n'
    )
    program = host.load({ENGINE: text}, (1,))
    assert not isinstance(program, ProgramError)
    record = make_record([0])
    paid = Observation((observe(5).frame, observe(1).frame), Status.RUNNING, 0, (1,), 2.5)
    with program.start_worker() as worker:  # type: ignore[union-attr]
        replay = worker.replay(InitialObservation.from_trajectory(record.current), [ONE, ONE], observations=[paid, observe(2)])
        assert replay.fault is None, replay.fault
        assert [int(frame[0, 1]) for frame in replay.frames] == [0, 0, 27]
