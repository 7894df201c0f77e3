"""How near the search comes to a bare loop, states a second, and what a worker costs to start: `python bench/plan.py`."""

from __future__ import annotations

import argparse
import gc
import importlib.util
import statistics
import time
from types import ModuleType
from typing import Any

import reference

from lawbook.core.record import Action
from lawbook.core.results import InitialObservation, Limits, ProgramError
from lawbook.sandbox.host import Host, Program
from lawbook.sandbox.worker_client import CandidatePlan


def engine() -> ModuleType:
    """The reference program as a module of this interpreter, outside the sandbox."""
    spec = importlib.util.spec_from_file_location("world_model_engine", reference.FOLDER / "world_model_engine.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bare(module: ModuleType, start: Any, actions: tuple[Action, ...]) -> int:
    """The least that a breadth-first search can do: actions, step, is_goal, and a set. No way is kept, no limit checked."""
    step, is_goal = module.step, module.is_goal
    seen, frontier, expanded = {start}, [start], 0
    while frontier:
        following = []
        for state in frontier:
            expanded += 1
            for action in actions:
                new = step(state, action)
                if new not in seen:
                    seen.add(new)
                    if is_goal(new):
                        return expanded
                    following.append(new)
        frontier = following
    raise AssertionError("the reference program has a way to its goal")


def found(program: Program, start: InitialObservation) -> tuple[CandidatePlan, float]:
    """One search in a fresh worker, and the seconds until that worker was ready."""
    began = time.perf_counter()
    worker = program.start_worker()
    ready = time.perf_counter() - began
    assert not isinstance(worker, ProgramError)
    with worker:
        worker.replay(start, [])
        answer = worker.search(Limits(nodes=1_000_000, depth=200, seconds=60.0))
    assert isinstance(answer, CandidatePlan), answer
    return answer, ready


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=9)
    repeat = parser.parse_args().repeat
    start = InitialObservation(reference.frame(), 0, reference.AVAILABLE)
    actions = tuple(Action(number) for number in reference.AVAILABLE)
    module = engine()
    state = module.initial_state({"frame": start.frame, "level": 0, "available_actions": start.available})
    bares, ours, starts = [], [], []
    began = time.perf_counter()
    with Host() as host:
        up = time.perf_counter() - began
        program = host.load(reference.files())
        assert isinstance(program, Program), program
        gc.collect()
        gc.freeze()  # a worker starts frozen too
        for _ in range(repeat):
            began = time.perf_counter()
            expanded = bare(module, state, actions)
            bares.append(time.perf_counter() - began)
            answer, ready = found(program, start)
            assert answer.nodes == expanded, (answer.nodes, expanded)
            ours.append(answer.seconds)
            starts.append(ready)
    loop, search = statistics.median(bares), statistics.median(ours)
    each = ", ".join(f"{one / other:.2f}" for one, other in zip(bares, ours, strict=True))
    print(f"workload: {reference.NAME}; breadth-first to a goal {len(answer.actions)} actions deep, {expanded:,} states expanded")
    print(f"search: {search * 1e3:.0f} ms, {expanded / search:,.0f} states/s; bare loop: {loop * 1e3:.0f} ms; medians of {repeat}")
    print(f"ratio: {loop / search:.2f} of the bare loop (each repetition: {each})")
    print(f"start-up: host with self-test {up * 1e3:.0f} ms; fresh worker ready {statistics.median(starts) * 1e3:.1f} ms (median)")


if __name__ == "__main__":
    main()
