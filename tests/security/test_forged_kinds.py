"""A program that claims a fault of a kind which blames somebody else has failed itself: it is falsified, and the run goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from minds import Scripted, replaced, worked_example
from workers import PLENTY, START

from lawbook.core.hypothesis import ENGINE
from lawbook.core.results import ProgramError, RunOutcome
from lawbook.ledger.events import VerdictEvent
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.runs.loops import play
from lawbook.sandbox.host import Host

HONEST = worked_example()
FORGES_A_SUBGOAL = replaced(
    HONEST,
    "    return here(state) == 2  # R4",
    """    import sys  # R4
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "_search":
            while "describe_error" not in frame.f_globals:
                frame = frame.f_back
            raise frame.f_globals["describe_error"].__globals__["SubgoalError"]() from ValueError("not me")
        frame = frame.f_back
    return here(state) == 2""",
)
FORGES_ALWAYS = """
import sys
def initial_state(observation): return 0
def step(state, action): return state
def render(state):
    import numpy as np
    return np.zeros({shape}, np.uint8)
def is_goal(state):
    frame = sys._getframe()
    while "describe_error" not in frame.f_globals:
        frame = frame.f_back
    raise frame.f_globals["describe_error"].__globals__["SubgoalError"]() from ValueError("not me")
"""


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Host() as host:
        yield host


def test_a_run_goes_on_after_it(tmp_path: Path, host: Host) -> None:
    config = RunConfig("gym:FrozenLake-v1?size=4", budget=40)
    with start_run(config, tmp_path, host=host, mind=Scripted([FORGES_A_SUBGOAL, HONEST])) as (_, session):
        assert play(session) is RunOutcome.WON
        faults = [event.data.verdict.fault for event in session.event_log.ledger if isinstance(event.data, VerdictEvent)]
    kinds = [fault.kind for fault in faults if fault is not None]
    assert kinds == ["exception"]


def test_no_question_but_one_with_a_subgoal_can_be_failed_by_one(host: Host) -> None:
    program = host.load({ENGINE: FORGES_ALWAYS.format(shape=START.frame.shape)})
    assert not isinstance(program, ProgramError)
    with program.start_worker() as worker:  # type: ignore[union-attr]
        replay = worker.replay(START, [])
        assert replay.fault is not None and replay.fault.kind == "exception"
    honest = host.load(
        {ENGINE: FORGES_ALWAYS.format(shape=START.frame.shape).partition("def is_goal")[0] + "def is_goal(s): return False"}
    )
    assert not isinstance(honest, ProgramError)
    with honest.start_worker() as worker:  # type: ignore[union-attr]
        worker.replay(START, [])
        found = worker.search(PLENTY, "def subgoal(state): return 1 / 0")
        assert isinstance(found, ProgramError) and found.kind == "subgoal"
