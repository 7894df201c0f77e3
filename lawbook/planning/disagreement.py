"""Disagreement of members: every way that could be taken from here, rolled in every member's program."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Mapping, Sequence

from lawbook.core.record import Action, Trajectory
from lawbook.core.results import InitialObservation, NoPlan, Plan, Prediction, Probe, ProgramError
from lawbook.planning.population import DisagreementCandidate, build_disagreement, choose_disagreement, group_plans
from lawbook.sandbox.host import Program

_QUESTION_PATTERN = re.compile(r"What does action \d+ show here\? Of members [\d, and]+ each side foresees something else\.")


def find_disagreements(
    programs: Mapping[int, Program], trajectory: Trajectory, plans: Sequence[tuple[Action, ...]], clicks: Collection[int] | None
) -> list[DisagreementCandidate]:
    """Find the plans (one a class, in their order), then each single action from here that begins none of them.

    clicks: ids that need a place, and so are no single actions; None: the plans only. A member whose program fails on a way
    foresees nothing from there on. That the level is over costs a reset and the way back here.
    """
    first_actions = {plan[0] for plan in plans}
    single_actions = (
        [] if clicks is None else [Action(number) for number in trajectory.last.available if number and number not in clicks]
    )
    options: list[tuple[int | None, tuple[Action, ...]]] = [*enumerate(plans)]
    options += [(None, (action,)) for action in single_actions if action not in first_actions]
    member_predictions = {
        member: _predict_sequences(program, trajectory, [actions for _, actions in options]) for member, program in programs.items()
    }
    return [
        build_disagreement(
            actions, index, {member: predictions[k] for member, predictions in member_predictions.items()}, len(trajectory) + 1
        )
        for k, (index, actions) in enumerate(options)
    ]


class DisagreementFinder:
    """Chooses among plans, and single actions, by what members foresee. From one state of a run every way is rolled once.

    clicks: ids that need a place, and so are no single actions.
    """

    def __init__(self, clicks: Collection[int]) -> None:
        self._clicks = clicks
        self._key: object = None
        self._candidates: list[DisagreementCandidate] = []

    def choose(
        self,
        stamp: Hashable,
        programs: Mapping[int, Program],
        trajectory: Trajectory,
        plans: Mapping[int, Plan | NoPlan],
        include_single_actions: bool,
    ) -> DisagreementCandidate | None:
        """Choose what to send: a class of these plans, or a single action that begins none. None: there is nothing to choose from.

        stamp: changes with the record and with what any member believes; what was rolled under the same one is not rolled again.
        """
        member_plans = {member: plan for member, plan in plans.items() if isinstance(plan, Plan)}
        class_plans = [member_plans[group[0]].actions for group in group_plans(member_plans)]
        if len(class_plans) < 2:
            return None
        if self._key not in ((stamp, class_plans, True), (stamp, class_plans, include_single_actions)):
            clicks = self._clicks if include_single_actions else None
            self._candidates = find_disagreements(programs, trajectory, class_plans, clicks)
            self._key = (stamp, class_plans, include_single_actions)
        return choose_disagreement(
            [candidate for candidate in self._candidates if include_single_actions or candidate.class_index is not None]
        )


def make_probe(disagreement: DisagreementCandidate) -> tuple[Probe, int] | None:
    """Make the probe that a single action is sent as, and name the member to send it for. None for a plan."""
    if disagreement.class_index is not None:
        return None
    return Probe(disagreement.actions[0], format_question(disagreement)), disagreement.parts[0][0]


def format_question(disagreement: DisagreementCandidate) -> str:
    """Say in a sentence what sending it answers."""
    sides = " and ".join(", ".join(map(str, part)) for part in disagreement.parts)
    return f"What does action {disagreement.actions[0].id} show here? Of members {sides} each side foresees something else."


def is_disagreement_question(question: str) -> bool:
    """Return whether these are words of `format_question`: an action is sent because of what members foresee."""
    return _QUESTION_PATTERN.fullmatch(question) is not None


def _predict_sequences(program: Program, trajectory: Trajectory, sequences: Sequence[tuple[Action, ...]]) -> list[list[Prediction]]:
    """What one program predicts of each way, replayed in a fresh worker from the start of the trajectory."""
    worker = program.start_worker()
    if isinstance(worker, ProgramError):
        return [[] for _ in sequences]
    predictions = []
    with worker:
        for actions in sequences:
            replay = worker.replay(
                InitialObservation.from_observation(trajectory.first),
                [*trajectory.actions, *actions],
                observations=trajectory.observations,
            )
            steps = range(len(trajectory) + 1, len(replay.statuses))
            predictions.append([replay.get_prediction(k) for k in steps])
    return predictions
