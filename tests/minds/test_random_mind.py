"""The mind that thinks nothing: any available action, by its own dice only."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from lawbook.core.hypothesis import Trigger
from lawbook.core.record import Observation, Record, Status
from lawbook.errors import MindError, UsageError
from lawbook.minds.base import Case, Interface
from lawbook.minds.random import SOURCE
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.runs.loops.memento3 import play
from lawbook.sandbox.host import Host


def case(call: int, seed: int = 0, available: tuple[int, ...] = (1, 2, 4)) -> Case:
    record = Record()
    record.extend(None, Observation((np.zeros((3, 5), np.uint8),), Status.RUNNING, 0, available))
    interface = Interface((3, 5), (1, 2, 3, 4), (4,), None)
    return Case(interface, record, Trigger.EXPLORE, None, False, None, "", 9, 9, 0, 1, call, seed)


def test_dice_are_thrown_by_seed_and_call() -> None:
    mind = SOURCE.make("")
    first = [mind.explore(case(call)) for call in range(50)]
    assert first == [SOURCE.make("").explore(case(call)) for call in reversed(range(50))][::-1]
    assert first != [mind.explore(case(call, seed=1)) for call in range(50)]


def test_every_available_action_is_as_likely_and_no_other_is_tried() -> None:
    mind = SOURCE.make("")
    actions = [mind.explore(case(call)).action for call in range(600)]
    counts = Counter(action.id for action in actions)
    assert set(counts) == {1, 2, 4}
    assert min(counts.values()) > 150
    clicks = {(action.x, action.y) for action in actions if action.id == 4}
    assert clicks == {(x, y) for x in range(5) for y in range(3)}
    assert all(action.x is None and action.y is None for action in actions if action.id != 4)


def test_it_proposes_nothing() -> None:
    mind = SOURCE.make("")
    assert not mind.proposes
    with pytest.raises(MindError):
        mind.propose(case(0))
    with pytest.raises(UsageError):
        SOURCE.make("wild")


def test_it_plays_a_world_to_the_end_of_its_budget_and_repeats_itself(tmp_path: Path) -> None:
    sent = []
    with Host() as host:
        for _ in range(2):
            config = RunConfig("gym:FrozenLake-v1?size=8", mind="random", protocol="vanilla", budget=25, seed=3)
            with start_run(config, tmp_path, host=host) as (_, session):
                play(session)
                assert session.state.n_actions == 25
                sent.append([action for trajectory in session.record for action in trajectory.actions])
    assert sent[0] == sent[1]
