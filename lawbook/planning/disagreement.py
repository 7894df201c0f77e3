"""Where members part: every way that could be taken from here, rolled in every member's program."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from lawbook.core.record import Action, Trajectory
from lawbook.core.results import Fault, Prediction, Start
from lawbook.planning.population import Way, way
from lawbook.sandbox.host import Program

_ASKED = re.compile(r"What does action \d+ show here\? Of members [\d, and]+ each side foresees something else\.")


def ways(
    programs: Mapping[int, Program], here: Trajectory, plans: Sequence[tuple[Action, ...]], clicks: Collection[int] | None
) -> list[Way]:
    """The plans (one a class, in their order), then each single action from here that begins none of them.

    clicks: ids that need a place, and so are no single actions; None: the plans only. A member whose program fails on a way
    foresees nothing from there on. That the level is over costs a reset and the way back here.
    """
    taken = {plan[0] for plan in plans}
    singles = [] if clicks is None else [Action(number) for number in here.last.available if number and number not in clicks]
    tried: list[tuple[int | None, tuple[Action, ...]]] = [*enumerate(plans)]
    tried += [(None, (action,)) for action in singles if action not in taken]
    seen = {member: _foreseen(program, here, [actions for _, actions in tried]) for member, program in programs.items()}
    return [
        way(actions, index, {member: foreseen[k] for member, foreseen in seen.items()}, len(here) + 1)
        for k, (index, actions) in enumerate(tried)
    ]


def question(way: Way) -> str:
    """What sending it answers, in a sentence."""
    told = " and ".join(", ".join(map(str, part)) for part in way.parts)
    return f"What does action {way.actions[0].id} show here? Of members {told} each side foresees something else."


def asked(question: str) -> bool:
    """Whether these are words of `question`: an action is sent because of what members foresee."""
    return _ASKED.fullmatch(question) is not None


def _foreseen(program: Program, here: Trajectory, ways: Sequence[tuple[Action, ...]]) -> list[list[Prediction]]:
    """What one program predicts of each way, replayed in a fresh worker from the start of the trajectory."""
    worker = program.worker()
    if isinstance(worker, Fault):
        return [[] for _ in ways]
    found = []
    with worker:
        for actions in ways:
            replay = worker.replay(Start.of(here.first), [*here.actions, *actions])
            shown = range(len(here) + 1, len(replay.statuses))
            found.append([Prediction(replay.frames[k].copy(), replay.statuses[k]) for k in shown])
    return found
