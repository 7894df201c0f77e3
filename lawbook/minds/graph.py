"""The mind that only remembers: which frame each action led to from which, and the nearest frame with something untried."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from lawbook.core.hypothesis import Hypothesis, Proposal
from lawbook.core.perception import clicks
from lawbook.core.record import Action, Frame, Status
from lawbook.core.results import Judgement, Probe
from lawbook.errors import MindError, UsageError
from lawbook.minds.base import Case, judge_by_trace

Graph = dict[bytes, dict[Action, bytes]]


class GraphMind:
    """Explores only. A frame is a state to it, it has no laws, and does nothing twice in one frame, except on its way."""

    name = "graph"
    proposes = False

    def propose(self, case: Case) -> Proposal:
        raise MindError("The mind graph proposes nothing; play it with --protocol vanilla.")

    def judge(self, case: Case, hypothesis: Hypothesis) -> Judgement:
        return judge_by_trace(hypothesis)

    def explore(self, case: Case) -> Probe:
        """The first action of the shortest known way to a frame with an untried action; that action where it is this frame."""
        graph, frames = _remembered(case)
        last = case.record.here.last
        tries = tuple(last.available or case.interface.actions)
        start = last.frame.tobytes()
        frames[start] = last.frame
        fringe: deque[tuple[bytes, Action | None]] = deque([(start, None)])
        known = {start}
        while fringe:
            here, first = fringe.popleft()
            done = graph.get(here, {})
            for action in _actions(frames[here], tries, case.interface.clicks):
                if action not in done:
                    return Probe(first or action, "What comes of it?" if first is None else "On the way to something untried.")
            for action, there in done.items():
                if there and there not in known:
                    known.add(there)
                    fringe.append((there, first or action))
        action = _actions(last.frame, tries, case.interface.clicks)[case.call % len(tries)]
        return Probe(action, "Everything within reach has been tried; once more?")

    def receipt(self) -> Mapping[str, float | int | str]:
        return {}


def _remembered(case: Case) -> tuple[Graph, dict[bytes, Frame]]:
    """Frame -> action -> the frame it led to, or nothing where it ended the level; and the frames."""
    graph: Graph = {}
    frames: dict[bytes, Frame] = {}
    for trajectory in case.record:
        for step, (action, seen) in enumerate(trajectory.steps):
            before = trajectory.frame(step)
            key = before.tobytes()
            frames.setdefault(key, before)
            frames.setdefault(seen.frame.tobytes(), seen.frame)
            graph.setdefault(key, {})[action] = seen.frame.tobytes() if seen.status is Status.RUNNING else b""
    return graph, frames


def _actions(frame: Frame, tries: tuple[int, ...], clicking: tuple[int, ...]) -> list[Action]:
    """What can be tried in a frame: every action, clicks on one of each kind of thing."""
    found = [Action(number) for number in tries if number not in clicking]
    places = clicks(frame) if any(number in clicking for number in tries) else []
    return found + [Action(number, place.x, place.y) for number in tries if number in clicking for place in places]


class GraphSource:
    """The entry point `graph`."""

    summary = "Remembers transitions and walks to the nearest untried action; proposes nothing (protocol vanilla)."

    def names(self) -> Iterable[tuple[str, str]]:
        return [("graph", self.summary)]

    def make(self, argument: str) -> GraphMind:
        if argument:
            raise UsageError(f"The mind graph takes nothing after a colon, not {argument!r}; write --mind graph.")
        return GraphMind()


SOURCE = GraphSource()
