"""The search for a shortest way to a goal in a program: breadth-first, A* where there is a heuristic, the program's own plan first.

Runs in the worker, beside the program, and is pure Python, because a step costs about a microsecond and a message a hundred.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from lawbook.core.record import Action
from lawbook.sandbox.program_loader import Engine
from lawbook.sandbox.return_types import ContractError, as_action, as_bool, as_optional_bool, format_value

_now = time.perf_counter
_SLOW_NODE_SECONDS = 0.01
"""Seconds."""


class SearchResult(NamedTuple):
    """The end of a search. actions: the way, or None. cut: the limit that was hit, or None. nodes: states expanded."""

    actions: list[Action] | None
    method: str
    cut: str | None
    nodes: int


class Bounds(NamedTuple):
    """nodes: states expanded at most; depth: longest way; deadline: on the clock of time.perf_counter."""

    nodes: int
    depth: int
    deadline: float


def search(
    engine: Engine,
    state: Any,
    goal: Callable[[Any], Any] | None,
    default_actions: Iterable[Action],
    bounds: Bounds,
    *,
    is_open: bool = False,
    frontier: bool = False,
    visited: Iterable[Any] = (),
) -> SearchResult:
    """Search for the way from `state` to `goal` (None: is_goal): breadth-first, or by A* (Hart, Nilsson and Raphael 1968).

    A* where the program has a heuristic; its own plan is tried first. Memory that runs out is one more limit. A goal that is also
    game over counts as a goal. is_open: is_goal and is_over may say None; a state where is_goal does ends its branch, one that may
    be over is passed. frontier: to such a state, in place of a goal, but not to one of `visited`, nor to this one: there it is not
    known after all. Raises whatever the program raises, and ContractError.
    """
    goal_test: Callable[[Any], Any]
    end_test: Callable[[Any], Any] | None
    if is_open:
        goal_test, end_test = _make_open_tests(engine, goal, frontier, [*visited, state])
    else:
        goal_test = engine.is_goal if goal is None else goal
        end_test = engine.is_over if goal is None else _make_end_test(engine)
    get_actions = _ActionGenerator(engine.actions, tuple(default_actions))
    if as_bool(goal_test(state), goal_test):
        return SearchResult([], "bfs", None, 0)
    if not frontier and end_test is not None and as_bool(end_test(state), end_test):
        return SearchResult(None, "bfs", None, 0)
    if engine.plan is not None and goal is None and not frontier:
        own_result = _try_own_plan(engine, state, goal_test, end_test, bounds)
        if own_result is not None:
            return own_result
    return (_search_breadth_first if engine.heuristic is None else _search_a_star)(
        engine, state, goal_test, end_test, get_actions, bounds
    )


def _make_end_test(engine: Engine) -> Callable[[Any], bool]:
    """Whether the level ends in a state: on the way to a subgoal its completion is as much in the way as game over."""
    is_goal, is_over = engine.is_goal, engine.is_over

    def is_ended(state: Any) -> bool:
        return as_bool(is_goal(state), is_goal) or (is_over is not None and as_bool(is_over(state), is_over))

    return is_ended


def _make_open_tests(
    engine: Engine, goal: Callable[[Any], Any] | None, frontier: bool, visited: Iterable[Any]
) -> tuple[Callable[[Any], bool], Callable[[Any], bool]]:
    """Tests of a state, for the aim and for the end of a branch, where is_goal and is_over may say None."""
    is_goal, is_over = engine.is_goal, engine.is_over
    known = set(visited) if frontier else set()

    def is_aim(state: Any) -> bool:
        if goal is not None:
            return as_bool(goal(state), goal)
        return as_optional_bool(is_goal(state), is_goal) is (None if frontier else True) and state not in known

    def is_ended(state: Any) -> bool:
        if as_optional_bool(is_goal(state), is_goal) is not False and state not in known:
            return True
        return is_over is not None and as_optional_bool(is_over(state), is_over) is True

    return is_aim, is_ended


class _DeadlineError(Exception):
    """The deadline passed in the middle of a node."""


class _DeadlineClock:
    """Asked about the deadline between nodes: of every node while nodes are slow, else of every 16th, since asking has a price.

    check_mask: the nodes for which `nodes & often` is 0 are those to ask at. is_slow: then ask within a node too
    (`iterate_until_deadline`).
    """

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._last_check = -float("inf")  # the first node has yet to prove quick
        self.check_mask, self.is_slow = 0, True

    def is_late(self) -> bool:
        now = _now()
        self.is_slow = now - self._last_check > _SLOW_NODE_SECONDS * (self.check_mask + 1)
        self.check_mask = 0 if self.is_slow else 15
        self._last_check = now
        return now > self._deadline

    def iterate_until_deadline(self, candidates: Iterable[Action]) -> Iterator[Action]:
        """`options`, for as long as there is time. Raises _LateError."""
        for candidate in candidates:
            if _now() > self._deadline:
                raise _DeadlineError
            yield candidate


class _ActionGenerator:
    """Actions that a search tries in a state: what the program's `actions` offers, or the same everywhere (`fixed`, else None)."""

    def __init__(self, program_actions: Callable[[Any], Iterable[Any]] | None, default_actions: tuple[Action, ...]) -> None:
        self._program_actions = program_actions
        self._last_raw: Any = None
        self._last_actions = default_actions
        self.fixed_actions = default_actions if program_actions is None else None

    def __call__(self, state: Any) -> tuple[Action, ...]:
        if self._program_actions is not None:
            raw = self._program_actions(state)
            if raw is not self._last_raw or type(raw) is not tuple:  # most programs return one constant tuple
                if not isinstance(raw, Iterable):
                    raise ContractError("type", f"actions returned {format_value(raw)}; it must return actions.")
                self._last_actions = tuple(as_action(item, "actions") for item in raw)
                self._last_raw = raw
        return self._last_actions


def _search_breadth_first(
    engine: Engine,
    start: Any,
    goal_test: Callable[[Any], Any],
    end_test: Callable[[Any], Any] | None,
    get_actions: _ActionGenerator,
    bounds: Bounds,
) -> SearchResult:
    """Layer by layer, so the first way found is a shortest one. Every state is tested for the goal once, when it is first seen.

    States are kept in the order they were found, each with the index of the state it came from and the action that led to it
    (three flat lists: measured a tenth faster than one tuple a state).
    """
    step, key, fixed_actions = engine.step, engine.key, get_actions.fixed_actions
    node_limit, depth_limit, clock = bounds.nodes, bounds.depth, _DeadlineClock(bounds.deadline)
    visited = {start if key is None else key(start)}
    add_visited, n_visited, nodes = visited.add, 1, 0
    states, origins, actions = [start], [0], [Action(0)]
    layer_begin, layer_end = 0, 1  # the layer that is being expanded
    try:
        for _ in range(depth_limit):
            for index in range(layer_begin, layer_end):
                if nodes == node_limit:
                    return SearchResult(None, "bfs", "nodes", nodes)
                nodes += 1
                if not nodes & clock.check_mask and clock.is_late():
                    return SearchResult(None, "bfs", "seconds", nodes)
                state = states[index]
                candidates = fixed_actions or get_actions(state)
                for candidate in clock.iterate_until_deadline(candidates) if clock.is_slow else candidates:
                    successor = step(state, candidate)
                    if successor is state:
                        continue
                    add_visited(successor if key is None else key(successor))
                    if len(visited) == n_visited:
                        continue
                    n_visited += 1
                    is_goal = goal_test(successor)
                    if is_goal is not False and (is_goal is True or as_bool(is_goal, goal_test)):
                        return SearchResult([*_trace_path(index, origins, actions), candidate], "bfs", None, nodes)
                    if end_test is not None:
                        is_over = end_test(successor)
                        if is_over is not False and (is_over is True or as_bool(is_over, end_test)):
                            continue
                    states.append(successor)
                    origins.append(index)
                    actions.append(candidate)
            layer_begin, layer_end = layer_end, len(states)
            if layer_begin == layer_end:
                return SearchResult(None, "bfs", None, nodes)
    except MemoryError:
        return SearchResult(None, "bfs", "memory", nodes)
    except _DeadlineError:
        return SearchResult(None, "bfs", "seconds", nodes)
    return SearchResult(None, "bfs", "depth", nodes)


def _trace_path(index: int, origins: list[int], actions: list[Action]) -> list[Action]:
    """The actions from the start to the state with index `at`."""
    path = []
    while index:
        path.append(actions[index])
        index = origins[index]
    return path[::-1]


def _search_a_star(
    engine: Engine,
    start: Any,
    goal_test: Callable[[Any], Any],
    end_test: Callable[[Any], Any] | None,
    get_actions: _ActionGenerator,
    bounds: Bounds,
) -> SearchResult:
    """Least (actions so far + `heuristic`) first; a state that is reached again by fewer actions is opened again.

    Equal ones: the deeper first, then the older. Kept as in _breadth_first.
    """
    step, key = engine.step, engine.key
    best_depth = {start if key is None else key(start): 0}
    states, origins, actions = [start], [0], [Action(0)]
    heap: list[tuple[float, int, int]] = [(0.0, 0, 0)]  # estimate of the whole way, minus the actions so far, index
    cut, nodes, clock = None, 0, _DeadlineClock(bounds.deadline)
    try:
        while heap:
            _, negative_depth, index = heapq.heappop(heap)
            depth, state = -negative_depth, states[index]
            if depth > best_depth[state if key is None else key(state)]:
                continue
            if index and as_bool(goal_test(state), goal_test):
                return SearchResult(_trace_path(index, origins, actions), "astar", None, nodes)
            if index and end_test is not None and as_bool(end_test(state), end_test):
                continue
            if depth == bounds.depth:
                cut = "depth"
                continue
            if nodes == bounds.nodes:
                return SearchResult(None, "astar", "nodes", nodes)
            nodes += 1
            if not nodes & clock.check_mask and clock.is_late():
                return SearchResult(None, "astar", "seconds", nodes)
            candidates = get_actions(state)
            for candidate in clock.iterate_until_deadline(candidates) if clock.is_slow else candidates:
                successor = step(state, candidate)
                successor_key = successor if key is None else key(successor)
                if depth + 1 < best_depth.get(successor_key, depth + 2):
                    best_depth[successor_key] = depth + 1
                    heapq.heappush(heap, (depth + 1 + _estimate_cost(engine, successor), -depth - 1, len(states)))
                    states.append(successor)
                    origins.append(index)
                    actions.append(candidate)
    except MemoryError:
        return SearchResult(None, "astar", "memory", nodes)
    except _DeadlineError:
        return SearchResult(None, "astar", "seconds", nodes)
    return SearchResult(None, "astar", cut, nodes)


def _estimate_cost(engine: Engine, state: Any) -> float:
    assert engine.heuristic is not None
    value = engine.heuristic(state)
    if isinstance(value, int | float) or hasattr(value, "__index__"):
        number = float(value)
        if number == number:
            return number
    raise ContractError("type", f"heuristic returned {format_value(value)}; it must return a number.")


def _try_own_plan(
    engine: Engine, state: Any, goal_test: Callable[[Any], Any], end_test: Callable[[Any], Any] | None, bounds: Bounds
) -> SearchResult | None:
    """The program's own plan, as far as its first goal state; None when it gives none that reaches the goal within the depth."""
    assert engine.plan is not None
    raw = engine.plan(state)
    if raw is None:
        return None
    if not isinstance(raw, Iterable):
        raise ContractError("type", f"plan returned {format_value(raw)}; it must return actions, or None.")
    actions: list[Action] = []
    for item in raw:
        if len(actions) == bounds.depth:
            return None
        actions.append(as_action(item, "plan"))
        state = engine.step(state, actions[-1])
        if as_bool(goal_test(state), goal_test):
            return SearchResult(actions, "own", None, len(actions))
        if end_test is not None and as_bool(end_test(state), end_test):
            return None
    return None
