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
from lawbook.sandbox.return_types import NonsenseError, action, short, truth

_now = time.perf_counter
_SLOW_NODE = 0.01
"""Seconds."""


class Way(NamedTuple):
    """How a search ended. actions: the way, or None. cut: the limit that was hit, or None. nodes: states expanded."""

    actions: list[Action] | None
    method: str
    cut: str | None
    nodes: int


class Bounds(NamedTuple):
    """nodes: states expanded at most; depth: longest way; deadline: on the clock of time.perf_counter."""

    nodes: int
    depth: int
    deadline: float


def search(engine: Engine, state: Any, goal: Callable[[Any], Any] | None, default: Iterable[Action], bounds: Bounds) -> Way:
    """The way from `state` to `goal` (None: is_goal). Raises whatever the program raises, and NonsenseError.

    Memory that runs out is one more limit. A goal that is also game over counts as a goal.
    """
    wanted = engine.is_goal if goal is None else goal
    over = engine.is_over if goal is None else _ended(engine)
    options = _Options(engine.actions, tuple(default))
    if truth(wanted(state), wanted):
        return Way([], "bfs", None, 0)
    if over is not None and truth(over(state), over):
        return Way(None, "bfs", None, 0)
    if engine.plan is not None and goal is None:
        own = _own(engine, state, options, bounds)
        if own is not None:
            return own
    return (_breadth_first if engine.heuristic is None else _a_star)(engine, state, wanted, over, options, bounds)


def _ended(engine: Engine) -> Callable[[Any], bool]:
    """Whether the level ends in a state: on the way to a subgoal its completion is as much in the way as game over."""
    is_goal, is_over = engine.is_goal, engine.is_over

    def ended(state: Any) -> bool:
        return truth(is_goal(state), is_goal) or (is_over is not None and truth(is_over(state), is_over))

    return ended


class _LateError(Exception):
    """The deadline passed in the middle of a node."""


class _Clock:
    """Asked about the deadline between nodes: of every node while nodes are slow, else of every 16th, since asking has a price.

    often: the nodes for which `nodes & often` is 0 are those to ask at. slow: then ask within a node too (`watched`).
    """

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._last = -float("inf")  # the first node has yet to prove quick
        self.often, self.slow = 0, True

    def late(self) -> bool:
        now = _now()
        self.slow = now - self._last > _SLOW_NODE * (self.often + 1)
        self.often = 0 if self.slow else 15
        self._last = now
        return now > self._deadline

    def watched(self, options: Iterable[Action]) -> Iterator[Action]:
        """`options`, for as long as there is time. Raises _LateError."""
        for option in options:
            if _now() > self._deadline:
                raise _LateError
            yield option


class _Options:
    """What a search tries in a state: what the program's `actions` offers, or the same everywhere (`fixed`, else None)."""

    def __init__(self, offered: Callable[[Any], Iterable[Any]] | None, default: tuple[Action, ...]) -> None:
        self._offered = offered
        self._seen: Any = None
        self._tidied = default
        self.fixed = default if offered is None else None

    def __call__(self, state: Any) -> tuple[Action, ...]:
        if self._offered is not None:
            raw = self._offered(state)
            if raw is not self._seen or type(raw) is not tuple:  # most programs return one constant tuple
                if not isinstance(raw, Iterable):
                    raise NonsenseError("type", f"actions returned {short(raw)}; it must return actions.")
                self._tidied = tuple(action(item, "actions") for item in raw)
                self._seen = raw
        return self._tidied


def _breadth_first(
    engine: Engine, start: Any, wanted: Callable[[Any], Any], over: Callable[[Any], Any] | None, options: _Options, bounds: Bounds
) -> Way:
    """Layer by layer, so the first way found is a shortest one. Every state is tested for the goal once, when it is first seen.

    States are kept in the order they were found, each with the index of the state it came from and the action that led to it
    (three flat lists: measured a tenth faster than one tuple a state).
    """
    step, key, fixed = engine.step, engine.key, options.fixed
    limit, depth, clock = bounds.nodes, bounds.depth, _Clock(bounds.deadline)
    seen = {start if key is None else key(start)}
    add, size, nodes = seen.add, 1, 0
    states, origins, actions = [start], [0], [Action(0)]
    begin, end = 0, 1  # the layer that is being expanded
    try:
        for _ in range(depth):
            for at in range(begin, end):
                if nodes == limit:
                    return Way(None, "bfs", "nodes", nodes)
                nodes += 1
                if not nodes & clock.often and clock.late():
                    return Way(None, "bfs", "seconds", nodes)
                state = states[at]
                tries = fixed or options(state)
                for tried in clock.watched(tries) if clock.slow else tries:
                    new = step(state, tried)
                    if new is state:
                        continue
                    add(new if key is None else key(new))
                    if len(seen) == size:
                        continue
                    size += 1
                    found = wanted(new)
                    if found is not False and (found is True or truth(found, wanted)):
                        return Way([*_way(at, origins, actions), tried], "bfs", None, nodes)
                    if over is not None:
                        lost = over(new)
                        if lost is not False and (lost is True or truth(lost, over)):
                            continue
                    states.append(new)
                    origins.append(at)
                    actions.append(tried)
            begin, end = end, len(states)
            if begin == end:
                return Way(None, "bfs", None, nodes)
    except MemoryError:
        return Way(None, "bfs", "memory", nodes)
    except _LateError:
        return Way(None, "bfs", "seconds", nodes)
    return Way(None, "bfs", "depth", nodes)


def _way(at: int, origins: list[int], actions: list[Action]) -> list[Action]:
    """The actions from the start to the state with index `at`."""
    way = []
    while at:
        way.append(actions[at])
        at = origins[at]
    return way[::-1]


def _a_star(
    engine: Engine, start: Any, wanted: Callable[[Any], Any], over: Callable[[Any], Any] | None, options: _Options, bounds: Bounds
) -> Way:
    """Least (actions so far + `heuristic`) first; a state that is reached again by fewer actions is opened again.

    Equal ones: the deeper first, then the older. Kept as in _breadth_first.
    """
    step, key = engine.step, engine.key
    best = {start if key is None else key(start): 0}
    states, origins, actions = [start], [0], [Action(0)]
    heap: list[tuple[float, int, int]] = [(0.0, 0, 0)]  # estimate of the whole way, minus the actions so far, index
    cut, nodes, clock = None, 0, _Clock(bounds.deadline)
    try:
        while heap:
            _, deep, at = heapq.heappop(heap)
            depth, state = -deep, states[at]
            if depth > best[state if key is None else key(state)]:
                continue
            if at and truth(wanted(state), wanted):
                return Way(_way(at, origins, actions), "astar", None, nodes)
            if at and over is not None and truth(over(state), over):
                continue
            if depth == bounds.depth:
                cut = "depth"
                continue
            if nodes == bounds.nodes:
                return Way(None, "astar", "nodes", nodes)
            nodes += 1
            if not nodes & clock.often and clock.late():
                return Way(None, "astar", "seconds", nodes)
            tries = options(state)
            for tried in clock.watched(tries) if clock.slow else tries:
                new = step(state, tried)
                name = new if key is None else key(new)
                if depth + 1 < best.get(name, depth + 2):
                    best[name] = depth + 1
                    heapq.heappush(heap, (depth + 1 + _estimate(engine, new), -depth - 1, len(states)))
                    states.append(new)
                    origins.append(at)
                    actions.append(tried)
    except MemoryError:
        return Way(None, "astar", "memory", nodes)
    except _LateError:
        return Way(None, "astar", "seconds", nodes)
    return Way(None, "astar", cut, nodes)


def _estimate(engine: Engine, state: Any) -> float:
    assert engine.heuristic is not None
    value = engine.heuristic(state)
    if isinstance(value, int | float) or hasattr(value, "__index__"):
        number = float(value)
        if number == number:
            return number
    raise NonsenseError("type", f"heuristic returned {short(value)}; it must return a number.")


def _own(engine: Engine, state: Any, options: _Options, bounds: Bounds) -> Way | None:
    """The program's own plan, as far as its first goal state; None when it gives none that reaches the goal within the depth."""
    assert engine.plan is not None
    raw = engine.plan(state)
    if raw is None:
        return None
    if not isinstance(raw, Iterable):
        raise NonsenseError("type", f"plan returned {short(raw)}; it must return actions, or None.")
    actions: list[Action] = []
    for item in raw:
        if len(actions) == bounds.depth:
            return None
        actions.append(action(item, "plan"))
        state = engine.step(state, actions[-1])
        if truth(engine.is_goal(state), engine.is_goal):
            return Way(actions, "own", None, len(actions))
        if engine.is_over is not None and truth(engine.is_over(state), engine.is_over):
            return None
    return None
