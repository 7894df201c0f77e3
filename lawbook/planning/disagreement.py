"""Where members part: every way that could be taken from here, rolled in every member's program."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from lawbook.core.record import Action, Trajectory
from lawbook.core.results import InitialObservation, Prediction, ProgramError
from lawbook.planning.population import DisagreementCandidate, build_disagreement
from lawbook.sandbox.host import Program

_QUESTION_PATTERN = re.compile(r"What does action \d+ show here\? Of members [\d, and]+ each side foresees something else\.")


def find_disagreements(
    programs: Mapping[int, Program], trajectory: Trajectory, plans: Sequence[tuple[Action, ...]], clicks: Collection[int] | None
) -> list[DisagreementCandidate]:
    """The plans (one a class, in their order), then each single action from here that begins none of them.

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


def format_question(disagreement: DisagreementCandidate) -> str:
    """What sending it answers, in a sentence."""
    sides = " and ".join(", ".join(map(str, part)) for part in disagreement.parts)
    return f"What does action {disagreement.actions[0].id} show here? Of members {sides} each side foresees something else."


def is_disagreement_question(question: str) -> bool:
    """Whether these are words of `question`: an action is sent because of what members foresee."""
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
