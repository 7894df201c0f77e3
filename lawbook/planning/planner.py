"""Planning (Eq. 26): a search in one fresh worker from the replayed state, rolled once more in another before it counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lawbook.core.record import Action, Trajectory
from lawbook.core.results import Fault, Limits, NoPlan, Plan, Prediction, Start
from lawbook.sandbox.host import Program


def find_plan(
    program: Program, here: Trajectory, limits: Limits, subgoal: str | None = None, clicks: Sequence[int] = ()
) -> Plan | NoPlan | Fault:
    """The shortest way within `limits` from where `here` has got to, to a state where the goal is predicted.

    subgoal: source of `def subgoal(state) -> bool`; None: the program's own `is_goal`. clicks: ids that need x and y. A state
    reached by replay in a fresh worker is the only start there is. Returns Fault(kind="unrepeatable") when the second worker
    arrives elsewhere than the first. Whatever goes wrong where a subgoal's code runs beside the program is a Fault of kind
    `subgoal`: it says nothing against the program, which cannot be told from it there.
    """
    worker = program.worker()
    if isinstance(worker, Fault):
        return worker
    with worker:
        replay = worker.replay(Start.of(here.first), here.actions)
        if replay.fault:
            return replay.fault
        found = worker.search(limits, subgoal, clicks=clicks)
    if isinstance(found, Fault):
        return _of(subgoal, found)
    if isinstance(found, NoPlan):
        return found
    rolled = roll(program, here, found.actions, subgoal)
    if isinstance(rolled, Fault):
        return rolled
    predictions, holds = rolled
    if not holds and found.method == "own":
        reason = "The program's own plan does not end in the goal when it is rolled."
        return NoPlan(reason, exhausted=False, cut=None, nodes=found.nodes, seconds=found.seconds)
    if not holds:
        reason = "A search reached the goal, but the same actions rolled from the start do not"
        why = "step uses more than its state and action, or changes a state in place"
        return _of(subgoal, Fault("unrepeatable", f"{reason}: {why}."))
    return Plan(found.actions, predictions, found.certified, found.cut, found.nodes, found.seconds, found.method)


def roll(
    program: Program, here: Trajectory, actions: Sequence[Action], subgoal: str | None = None
) -> tuple[tuple[Prediction, ...], bool] | Fault:
    """Replay `here` in a fresh worker and go on with `actions`: what each is predicted to show; does the goal hold at the end?"""
    worker = program.worker()
    if isinstance(worker, Fault):
        return worker
    with worker:
        replay = worker.replay(Start.of(here.first), [*here.actions, *actions])
        if replay.fault:
            return replay.fault
        start = len(here) + 1
        predictions = tuple(Prediction(replay.frames[k].copy(), replay.statuses[k]) for k in range(start, start + len(actions)))
        holds = worker.holds(subgoal)
    return _of(subgoal, holds) if isinstance(holds, Fault) else (predictions, holds)


def _of(subgoal: str | None, fault: Fault) -> Fault:
    return fault if subgoal is None else replace(fault, kind="subgoal")
