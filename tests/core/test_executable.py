"""What a run executes: both cases answer the same questions, and only a plan is run today."""

from __future__ import annotations

import pytest

from lawbook.core.executable import ControllerRun, PlanRun
from lawbook.core.record import Action
from lawbook.errors import RefusedError


def test_a_plan_knows_every_action_and_where_it_ends() -> None:
    plan = PlanRun((Action(3), Action(1)))
    assert plan.length == 2 and [plan.get_action(k) for k in range(2)] == [Action(3), Action(1)]
    assert [plan.is_finished(k) for k in range(4)] == [False, False, True, True]
    with pytest.raises(IndexError):
        plan.get_action(2)
    assert PlanRun(()).is_finished(0)


def test_a_controller_ends_at_its_limit_and_is_not_run_yet() -> None:
    controller = ControllerRun(0, "digest", "controller.py", "def until(state): return False", 5)
    assert controller.length is None and [controller.is_finished(k) for k in (0, 4, 5)] == [False, False, True]
    with pytest.raises(RefusedError, match="not available yet"):
        controller.get_action(0)
