"""Planning (Eq. 26): a search in one fresh worker from the replayed state, rolled once more in another before it counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lawbook.core.record import Action, Trajectory
from lawbook.core.results import InitialObservation, Limits, NoPlan, Plan, Prediction, ProgramError
from lawbook.sandbox.host import Program


def find_plan(
    program: Program,
    trajectory: Trajectory,
    limits: Limits,
    subgoal: str | None = None,
    clicks: Sequence[int] = (),
    frontier: bool = False,
) -> Plan | NoPlan | ProgramError:
    """Find the shortest way within `limits` from where `trajectory` has got to, to a state where the goal is predicted.

    subgoal: source of `def subgoal(state) -> bool`; None: the program's own `is_goal`. frontier: to the nearest state of which
    `is_goal` says None, in place of a goal. clicks: ids that need x and y. A state reached by replay in a fresh worker is the only
    start there is. Returns ProgramError(kind="unrepeatable") when the second worker arrives elsewhere than the first. Whatever
    goes wrong where a subgoal's code runs beside the program is a ProgramError of kind `subgoal`: it says nothing against the
    program, which cannot be told from it there.
    """
    worker = program.start_worker()
    if isinstance(worker, ProgramError):
        return worker
    with worker:
        replay = worker.replay(
            InitialObservation.from_observation(trajectory.first), trajectory.actions, observations=trajectory.observations
        )
        if replay.fault:
            return replay.fault
        result = worker.search(limits, subgoal, clicks=clicks, frontier=frontier)
    if isinstance(result, ProgramError):
        return _attribute_to_subgoal(subgoal, result)
    if isinstance(result, NoPlan):
        if frontier and result.cut is None:
            return replace(result, reason="No state that the program can reach has a goal that is not known.")
        return result
    rollout = roll(program, trajectory, result.actions, subgoal)
    if isinstance(rollout, ProgramError):
        return rollout
    predictions, holds = rollout
    arrives = holds is None if frontier else holds is True
    if not arrives and result.method == "own":
        reason = "The program's own plan does not end in the goal when it is rolled."
        return NoPlan(reason, exhausted=False, cut=None, nodes=result.nodes, seconds=result.seconds)
    if not arrives:
        reason = "A search reached the goal, but the same actions rolled from the start do not"
        explanation = "step uses more than its state and action, or changes a state in place"
        return _attribute_to_subgoal(subgoal, ProgramError("unrepeatable", f"{reason}: {explanation}."))
    return Plan(
        result.actions,
        predictions,
        result.certified,
        result.cut,
        result.nodes,
        result.seconds,
        result.method,
        aim="frontier" if frontier else "goal" if subgoal is None else "subgoal",
    )


def roll(
    program: Program, trajectory: Trajectory, actions: Sequence[Action], subgoal: str | None = None
) -> tuple[tuple[Prediction, ...], bool | None] | ProgramError:
    """Replay `trajectory` in a fresh worker, shown what was seen on the way (where it has an `update`), and go on with `actions`.

    Returns what each is predicted to show, and whether the goal (the subgoal) holds at the end; None: is_goal leaves that open.
    """
    worker = program.start_worker()
    if isinstance(worker, ProgramError):
        return worker
    with worker:
        replay = worker.replay(
            InitialObservation.from_observation(trajectory.first),
            [*trajectory.actions, *actions],
            observations=trajectory.observations,
        )
        if replay.fault:
            return replay.fault
        start = len(trajectory) + 1
        predictions = tuple(replay.get_prediction(k) for k in range(start, start + len(actions)))
        holds = worker.check_goal(subgoal)
    return _attribute_to_subgoal(subgoal, holds) if isinstance(holds, ProgramError) else (predictions, holds)


def _attribute_to_subgoal(subgoal: str | None, fault: ProgramError) -> ProgramError:
    return fault if subgoal is None else replace(fault, kind="subgoal")
