"""The search for a way to a goal: shortest on any graph, within every limit, certified only where it may be, and never believed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from workers import PLENTY, START, counter, worker

from lawbook.core.hypothesis import ENGINE
from lawbook.core.record import Action
from lawbook.core.results import InitialObservation, Limits, NoPlan, ProgramError
from lawbook.sandbox.host import Host
from lawbook.sandbox.worker_client import CandidatePlan


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Host(step_seconds=2.0) as host:
        yield host


# -- search ----------------------------------------------------------------------------------------

Graph = dict[int, list[int]]


def graph_program(graph: Graph, goals: set[int], over: set[int] = frozenset(), extra: str = "") -> str:  # type: ignore[assignment]
    return f"""
GRAPH, GOALS, OVER = {graph!r}, {set(goals) or "set()"}, {set(over) or "set()"}
def initial_state(observation): return 0
def step(state, action): return GRAPH[state][action.id - 1]
def render(state): return [[state] * 4] * 4
def is_goal(state): return state in GOALS
def is_over(state): return state in OVER
{extra}
"""


def distance(graph: Graph, goals: set[int], over: set[int]) -> tuple[int | None, int]:
    """Length of a shortest way from 0 to a goal that passes no lost state, and how many states can be expanded at all."""
    far, queue, best = {0: 0}, deque([0]), None
    while queue:
        node = queue.popleft()
        if node in goals:
            best = far[node] if best is None else best
            continue
        if node in over:
            continue
        for other in graph[node]:
            if other not in far:
                far[other] = far[node] + 1
                queue.append(other)
    return best, sum(node not in over and node not in goals for node in far)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Graph, set[int], set[int]]:
    size, degree = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    nodes = st.integers(0, size - 1)
    graph = {node: draw(st.lists(nodes, min_size=degree, max_size=degree)) for node in range(size)}
    return graph, draw(st.sets(nodes, max_size=2)), draw(st.sets(nodes, max_size=3))


def searched(host: Host, source: str, limits: Limits, available: tuple[int, ...], goal: str | None = None) -> Any:
    with worker(host, source) as it:
        it.replay(InitialObservation(START.frame, 0, available), [])
        return it.search(limits, goal, clicks=(6,))


@given(graphs(), st.sampled_from(["", "def heuristic(state): return 0"]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_search_is_shortest_on_any_graph(host: Host, case: tuple[Graph, set[int], set[int]], extra: str) -> None:
    graph, goals, over = case
    best, reach = distance(graph, goals, over)
    available = tuple(range(1, len(graph[0]) + 1))
    answer = searched(host, graph_program(graph, goals, over, extra), PLENTY, available)
    if best is None:
        assert isinstance(answer, NoPlan) and answer.cut is None and answer.nodes == reach
        assert answer.exhausted
        return
    assert isinstance(answer, CandidatePlan) and len(answer.actions) == best
    assert answer.certified is (not extra or best == 0)
    node = 0
    for action in answer.actions:
        node = graph[node][action.id - 1]
    assert node in goals
    if best:
        assert isinstance(searched(host, graph_program(graph, goals, over, extra), Limits(depth=best - 1), available), NoPlan)
        exact = searched(host, graph_program(graph, goals, over, extra), Limits(depth=best), available)
        assert isinstance(exact, CandidatePlan) and len(exact.actions) == best


LINE = {node: [node + 1, max(0, node - 1)] for node in range(400)} | {400: [400, 399]}


def test_limits_hold(host: Host) -> None:
    line = graph_program(LINE, {300})
    for limits, cut, nodes in [(Limits(nodes=100, depth=1000), "nodes", 100), (Limits(nodes=1000, depth=50), "depth", 50)]:
        answer = searched(host, line, limits, (1, 2))
        assert isinstance(answer, NoPlan) and (answer.cut, answer.nodes, answer.exhausted) == (cut, nodes, False)
        assert cut in answer.reason
    slow = counter(top="import time", step="time.sleep(0.001)")[ENGINE]
    answer = searched(host, slow, Limits(nodes=10**9, depth=10**6, seconds=0.3), (1,))
    assert isinstance(answer, NoPlan) and answer.cut == "seconds" and 0.2 < answer.seconds < 2.0


def test_a_step_that_never_ends_in_a_search_is_a_fault(host: Host) -> None:
    answer = searched(host, counter(step="while state == 3: pass")[ENGINE], Limits(depth=10, seconds=0.2), (1,))
    assert isinstance(answer, ProgramError) and answer.kind == "time"


def test_running_out_of_memory_is_one_more_limit() -> None:
    source = counter(step="return (state, bytes(1 << 20))", render="frame = [[0] * 4] * 4")[ENGINE]
    with Host(memory_mb=64) as host:
        answer = searched(host, source, PLENTY, (1, 2))
    assert isinstance(answer, NoPlan) and answer.cut == "memory" and not answer.exhausted


def test_a_goal_that_holds_already_needs_no_actions(host: Host) -> None:
    answer = searched(host, graph_program(LINE, {0}, {0}), PLENTY, (1, 2))
    assert isinstance(answer, CandidatePlan) and answer.actions == () and answer.certified and answer.nodes == 0


def test_nothing_follows_game_over(host: Host) -> None:
    answer = searched(host, graph_program(LINE, {3}, {0}), PLENTY, (1, 2))
    assert isinstance(answer, NoPlan) and answer.exhausted


def test_a_heuristic_saves_states_and_is_not_certified(host: Host) -> None:
    """On a grid without walls, where one way is as good as another and a straight look at the goal expands only one of them."""
    grid = """
SIZE = 20
def initial_state(observation): return (0, 0)
def step(state, action): return (min(SIZE, state[0] + (action.id == 1)), min(SIZE, state[1] + (action.id == 2)))
def render(state): return [[0] * 4] * 4
def is_goal(state): return state == (SIZE, SIZE)
"""
    blind = searched(host, grid, PLENTY, (1, 2))
    sighted = searched(host, grid + "def heuristic(state): return 2 * SIZE - sum(state)", PLENTY, (1, 2))
    assert (
        isinstance(blind, CandidatePlan) and blind.certified and (blind.method, len(blind.actions), blind.nodes) == ("bfs", 40, 439)
    )
    assert isinstance(sighted, CandidatePlan) and not sighted.certified
    assert (sighted.method, len(sighted.actions), sighted.nodes) == ("astar", 40, 40)
    for wrong in ("'near'", "None", "float('nan')"):
        bad = searched(host, grid + f"def heuristic(state): return {wrong}", PLENTY, (1, 2))
        assert isinstance(bad, ProgramError) and "heuristic returned" in bad.reason


def test_a_key_folds_states_and_is_not_certified(host: Host) -> None:
    source = """
def initial_state(observation): return (0, 0)
def step(state, action): return (state[0] + (action.id == 1), state[1] + 1)
def render(state): return [[0] * 4] * 4
def is_goal(state): return state[0] == 5
def key(state): return state[0]
"""
    answer = searched(host, source, PLENTY, (1, 2))
    assert isinstance(answer, CandidatePlan) and len(answer.actions) == 5 and not answer.certified and answer.nodes == 5
    never = searched(host, source.replace("state[0] == 5", "False").replace("return state[0]", "return 0"), PLENTY, (1, 2))
    assert isinstance(never, NoPlan) and not never.exhausted


def test_a_programs_own_plan_goes_first(host: Host) -> None:
    for plan, method, length in [
        ("[1] * 9", "own", 5),  # cut at the goal
        ("(1, 2, 1, 1, 1, 1, 1)", "own", 7),  # longer than need be, and taken
        ("None", "bfs", 5),
        ("[2, 2]", "bfs", 5),  # does not get there
        ("iter(lambda: 2, 0)", "bfs", 5),  # never ends
    ]:
        answer = searched(host, graph_program(LINE, {5}, extra=f"def plan(state): return {plan}"), Limits(depth=50), (1, 2))
        assert isinstance(answer, CandidatePlan) and (answer.method, len(answer.actions)) == (method, length), plan
        assert answer.certified is (method == "bfs")
    other = searched(
        host, graph_program(LINE, {5}, extra="def plan(state): return [1] * 9"), PLENTY, (1, 2), "def subgoal(s): return s == 2"
    )
    assert isinstance(other, CandidatePlan) and other.method == "bfs" and len(other.actions) == 2
    behind = searched(host, graph_program(LINE, {5}), PLENTY, (1, 2), "def subgoal(s): return s == 7")
    assert isinstance(behind, NoPlan) and behind.exhausted, "a way to a subgoal does not lead through the level's completion"
    guided = graph_program(LINE, {5}, extra="def heuristic(state): return 0")
    assert isinstance(searched(host, guided, PLENTY, (1, 2), "def subgoal(s): return s == 7"), NoPlan)
    bad = searched(host, graph_program(LINE, {5}, extra="def plan(state): return 3"), PLENTY, (1, 2))
    assert isinstance(bad, ProgramError) and "plan returned 3" in bad.reason


CLICKS = """
def initial_state(observation): return ()
def step(state, action): return state + ((action.x, action.y),) if action.id == 6 else state
def render(state): return [[0] * 4] * 4
def is_goal(state): return state == ((2, 3), (0, 1))
"""


def test_clicks_are_tried_only_where_the_program_says(host: Host) -> None:
    answer = searched(host, CLICKS, PLENTY, (1, 6))
    assert isinstance(answer, NoPlan) and answer.exhausted
    for offered in [
        "[(6, 2, 3), (6, 0, 1)]",
        "(Click(2, 3), Click(0, 1))",
        "([6, x, y] for x, y in [(0, 1), (2, 3)])",
        "[1, (1,), (6, 0, 1), numpy.array([6, 2, 3]).tolist()]",
    ]:
        source = (
            CLICKS
            + f"""
import numpy
class Click:
    id = 6
    def __init__(self, x, y): self.x, self.y = x, y
def actions(state): return {offered} if len(state) < 3 else []
"""
        )
        answer = searched(host, source, PLENTY, (1, 6))
        assert isinstance(answer, CandidatePlan) and answer.actions == (Action(6, 2, 3), Action(6, 0, 1)), offered


@pytest.mark.parametrize(
    ("offered", "says"),
    [
        ("None", "actions returned None"),
        ("['up']", "actions gave 'up'"),
        ("[(1, 2)]", "actions gave (1, 2)"),
        ("[None]", "actions gave None"),
        ("[0]", "0 is the reset"),
        ("[-1]", "numbered from 1"),
        ("[(1, 4, 0)]", "click at x=4, y=0"),
        ("[(1, 0, None)]", "click at x=0, y=None"),
        ("[10 ** 30]", "action"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_actions_that_are_none_are_faults(host: Host, offered: str, says: str) -> None:
    answer = searched(host, counter(goal="state == 1")[ENGINE] + f"def actions(state): return {offered}\n", PLENTY, (1,))
    assert isinstance(answer, ProgramError) and says in answer.reason


FORGED = [
    "other=1, nodes=-1",
    "actions=7",
    "actions=[[1]]",
    "actions=[['1', None, None]]",
    "actions=[[True, None, None]]",
    "actions=[[0, None, None]]",
    "actions=[[1, 9, 9]]",
    "actions=[[1 << 80, None, None]]",
    "actions=[[1, None, None]] * 2000",
    "actions=[[1, None, None]], cut='nodes'",
    "actions=[[1, None, None]], method='magic'",
]


def test_a_forged_plan_is_a_fault(host: Host) -> None:
    forge = """
import json, struct, os
def plan(state):
    text = json.dumps({"n": 3, "method": "bfs", "cut": None, "nodes": 1, "keyed": False, **FORGED}).encode()
    for descriptor in range(3, 64):
        try: os.write(descriptor, struct.pack("<4sII", b"LAW1", len(text), 0) + text)
        except OSError: pass
"""
    for forged in FORGED:
        answer = searched(host, counter()[ENGINE] + f"FORGED = dict({forged})\n" + forge, PLENTY, (1,))
        assert isinstance(answer, ProgramError) and answer.kind == "broken", forged
    lie = searched(host, counter()[ENGINE] + "FORGED = dict(actions=[[1, None, None]])\n" + forge, PLENTY, (1,))
    assert isinstance(lie, CandidatePlan)  # well-formed: that it is a lie shows when it is rolled
