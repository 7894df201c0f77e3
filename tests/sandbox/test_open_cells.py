"""A program that says what it does not know: read out of the worker exactly, refused where nobody allowed it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from workers import PLENTY, START

from lawbook.core.hypothesis import ENGINE, find_open_rules
from lawbook.core.record import Action, Status
from lawbook.core.results import NoPlan, ProgramError
from lawbook.sandbox.host import Host
from lawbook.sandbox.worker_client import Worker
from lawbook.sandbox.worker_replies import CandidatePlan

ONE, TWO = Action(1), Action(2)


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Host() as host:
        yield host


def source(*, render: str = "frame", goal: str = "False", over: str = "False") -> str:
    return f"""
import numpy as np
def initial_state(observation): return 0
def step(state, action): return state + action.id
def render(state):
    frame = np.zeros((4, 4), dtype=np.int16)
    frame[0, 0] = state % 200
    return {render}
def is_goal(state): return {goal}
def is_over(state): return {over}
"""


def start(host: Host, text: str, rules: tuple[int, ...] | None = (1, 7)) -> Worker:
    program = host.load({ENGINE: text}, rules)
    assert not isinstance(program, ProgramError), program
    worker = program.start_worker()
    assert isinstance(worker, Worker)
    return worker


def test_open_cells_and_statuses_come_out_as_they_were_said(host: Host) -> None:
    text = source(
        render="np.where(np.arange(16).reshape(4, 4) > 13, -7, frame) if state else frame", over="None if state > 1 else False"
    )
    with start(host, text) as worker:
        replay = worker.replay(START, [ONE, ONE, TWO])
        live = worker.step(ONE)
    assert replay.fault is None and not isinstance(live, ProgramError)
    assert replay.get_prediction(0).is_whole and replay.statuses == (Status.RUNNING,) * 4
    for prediction, count in ((replay.get_prediction(2), 2), (replay.get_prediction(3), 4), (live, 5)):
        assert prediction.open_cells is not None and prediction.alternatives == {Status.OVER}
        assert prediction.open_cells.tolist() == [[0] * 4, [0] * 4, [0] * 4, [0, 0, 7, 7]]
        assert prediction.frame[0, 0] == count and not prediction.frame[3].any() and prediction.frame.dtype == np.uint8


@pytest.mark.parametrize(
    ("goal", "over", "expected"),
    [
        ("True", "None", {Status.COMPLETED}),
        ("None", "False", {Status.RUNNING, Status.COMPLETED}),
        ("None", "None", {Status.RUNNING, Status.COMPLETED, Status.OVER}),
        ("None", "True", {Status.COMPLETED, Status.OVER}),
        ("False", "None", {Status.RUNNING, Status.OVER}),
        ("False", "True", {Status.OVER}),
        ("False", "False", {Status.RUNNING}),
    ],
)
def test_the_set_of_statuses_follows_the_contract(host: Host, goal: str, over: str, expected: set[Status]) -> None:
    with start(host, source(goal=goal, over=over)) as worker:
        assert worker.replay(START, []).get_prediction(0).statuses == expected


@pytest.mark.parametrize(
    ("text", "rules", "says"),
    [
        (source(render="frame - 1"), None, "cell of -1; a frame holds whole numbers from 0 to 255"),
        (source(render="frame - 2"), (1, 7), "the rulebook has no rule U2"),
        (source(render="frame + 300"), (1, 7), "cell of 300"),
        (source(render="frame - 300"), (1, 7), "the rulebook has no rule U300"),
        (source(render="(frame - 1)[:2]"), (1, 7), "shape (2, 4)"),
        (source(render="frame * 0.5"), (1, 7), "array of float64"),
        (source(goal="None"), None, "is_goal returned None"),
        (source(over="'perhaps'"), (1, 7), "is_over returned 'perhaps'"),
    ],
)
def test_what_is_no_answer_is_one_sentence(host: Host, text: str, rules: tuple[int, ...] | None, says: str) -> None:
    with start(host, text, rules) as worker:
        fault = worker.replay(START, [ONE]).fault
    assert fault is not None and fault.kind in ("type", "shape") and says in fault.reason


def test_a_search_passes_what_may_be_over_and_stops_at_what_may_be_a_goal(host: Host) -> None:
    text = source(goal="True if state == 5 else None if state == 3 else False", over="None if state == 2 else state > 9")
    with start(host, text) as worker:
        worker.replay(START, [])
        assert worker.search(_deep(), frontier=True).actions in ((ONE, TWO), (TWO, ONE))  # type: ignore[union-attr]
    with start(host, text) as worker:
        worker.replay(START, [])
        found = worker.search(_deep())
    assert isinstance(found, CandidatePlan) and sum(action.id for action in found.actions) == 5
    assert 3 not in np.cumsum([action.id for action in found.actions])


def test_a_frontier_that_was_stood_in_is_not_gone_to_again(host: Host) -> None:
    with start(host, source(goal="None if state == 3 else False", over="state > 9")) as worker:
        worker.replay(START, [TWO, ONE])
        assert isinstance(worker.search(_deep(), frontier=True), NoPlan)


def test_rules_of_what_cannot_be_known_are_numbered_like_rules() -> None:
    assert find_open_rules("R1. a\nU1. the bar\n- U12. fog\nU300. no\nU0. no\nabout U5\n") == {1, 12}


def _deep():  # type: ignore[no-untyped-def]
    from dataclasses import replace

    return replace(PLENTY, depth=20)
