"""The mind that only remembers: which frame each action led to from which, and the nearest frame with something untried."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from lawbook.core.hypothesis import Hypothesis, Proposal
from lawbook.core.perception import clicks
from lawbook.core.record import Action, Frame, Status
from lawbook.core.results import Judgement, Probe
from lawbook.errors import MindError, UsageError
from lawbook.minds.base import Case, judge_by_citations

Graph = dict[bytes, dict[Action, bytes]]


class GraphMind:
    """Explores only. A frame is a state to it, it has no laws, and does nothing twice in one frame, except on its way."""

    name = "graph"
    proposes = False

    def propose(self, case: Case) -> Proposal:
        """Raise MindError, always: this mind proposes nothing."""
        raise MindError("The mind graph proposes nothing; play it with --protocol vanilla.")

    def judge(self, case: Case, hypothesis: Hypothesis) -> Judgement:
        """Judge by citations alone: the rules that the code names in comments."""
        return judge_by_citations(hypothesis)

    def explore(self, case: Case) -> Probe:
        """Choose the first action of the shortest known way to a frame with an untried action; that action where it is here."""
        graph, frames = _build_graph(case)
        observation = case.record.current.last
        action_ids = tuple(observation.available or case.interface.actions)
        start = observation.frame.tobytes()
        frames[start] = observation.frame
        frontier: deque[tuple[bytes, Action | None]] = deque([(start, None)])
        visited = {start}
        while frontier:
            node, first_action = frontier.popleft()
            transitions = graph.get(node, {})
            for action in _list_actions(frames[node], action_ids, case.interface.clicks):
                if action not in transitions:
                    return Probe(
                        first_action or action, "What comes of it?" if first_action is None else "On the way to something untried."
                    )
            for action, successor in transitions.items():
                if successor and successor not in visited:
                    visited.add(successor)
                    frontier.append((successor, first_action or action))
        action = _list_actions(observation.frame, action_ids, case.interface.clicks)[case.call % len(action_ids)]
        return Probe(action, "Everything within reach has been tried; once more?")

    def receipt(self) -> Mapping[str, float | int | str]:
        """Return an empty receipt: it costs nothing."""
        return {}


def _build_graph(case: Case) -> tuple[Graph, dict[bytes, Frame]]:
    """Frame -> action -> the frame it led to, or nothing where it ended the level; and the frames."""
    graph: Graph = {}
    frames: dict[bytes, Frame] = {}
    for trajectory in case.record:
        for step, (action, observation) in enumerate(trajectory.steps):
            frame = trajectory.get_frame(step)
            node = frame.tobytes()
            frames.setdefault(node, frame)
            frames.setdefault(observation.frame.tobytes(), observation.frame)
            graph.setdefault(node, {})[action] = observation.frame.tobytes() if observation.status is Status.RUNNING else b""
    return graph, frames


def _list_actions(frame: Frame, action_ids: tuple[int, ...], click_ids: tuple[int, ...]) -> list[Action]:
    """List what can be tried in a frame: every action, clicks on one of each kind of thing."""
    simple_actions = [Action(number) for number in action_ids if number not in click_ids]
    cells = clicks(frame) if any(number in click_ids for number in action_ids) else []
    return simple_actions + [Action(number, cell.x, cell.y) for number in action_ids if number in click_ids for cell in cells]


class GraphSource:
    """The entry point `graph`."""

    summary = "Remembers transitions and walks to the nearest untried action; proposes nothing (protocol vanilla)."

    def names(self) -> Iterable[tuple[str, str]]:
        """Return the one address there is, with its summary."""
        return [("graph", self.summary)]

    def make(self, argument: str) -> GraphMind:
        """Make the mind. Raises UsageError for any argument."""
        if argument:
            raise UsageError(f"The mind graph takes nothing after a colon, not {argument!r}; write --mind graph.")
        return GraphMind()


SOURCE = GraphSource()
