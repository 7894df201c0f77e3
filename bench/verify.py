"""What proving a program on the record costs: one replay against a bare loop, and all the proving of a whole run.

    python bench/verify.py [--steps 5000] [--actions 2000] [--repeat 7]

Bars: one replay reaches 0.7 of the bare loop (aim 0.9); a run's total grows as actions + revisions x record.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import reference

from lawbook.core.hypothesis import ENGINE
from lawbook.core.record import RESET, Action, Observation, Record, Status, freeze
from lawbook.core.results import InitialObservation, ProgramError
from lawbook.sandbox.host import Host, Program
from lawbook.verification.comparison import compare_prediction
from lawbook.verification.replay import verify

_UPDATE = """

def update(state, observation):
    return state
"""


def reference_program() -> ModuleType:
    """The reference program in this very interpreter: the world of the benchmark, and the body of the bare loop."""
    module = ModuleType("reference_program")
    exec(compile(reference.files()[ENGINE], ENGINE, "exec"), module.__dict__)  # noqa: S102
    return module


def world(program: ModuleType, steps: int) -> Iterator[tuple[Action, Observation]]:
    """What the world answers to a long walk, begun anew after each completion; openings come with RESET."""
    opening = Observation((freeze(reference.frame()),), Status.RUNNING, 0, reference.AVAILABLE)
    state = None
    for move in reference.walk(steps):
        if state is None:
            yield RESET, opening
            state = program.initial_state(InitialObservation.from_observation(opening)._asdict())
        state = program.step(state, Action(*move))
        done = program.is_goal(state)
        status = Status.COMPLETED if done else Status.RUNNING
        yield Action(*move), Observation((freeze(program.render(state)),), status, int(done), reference.AVAILABLE)
        state = None if done else state


def recorded(program: ModuleType, steps: int) -> Record:
    record = Record(levels=1)
    for action, observation in world(program, steps):
        record.extend(action, observation)
    return record


def bare(program: ModuleType, record: Record) -> float:
    """Seconds for step, render and compare with the recorded frame, and nothing else."""
    step, render, equal = program.step, program.render, np.array_equal
    began = time.perf_counter()
    for trajectory in record:
        state, settled = (
            program.initial_state(InitialObservation.from_observation(trajectory.first)._asdict()),
            trajectory.settled_frames,
        )
        for k, action in enumerate(trajectory.actions, start=1):
            state = step(state, action)
            if not equal(render(state), settled[k]) and trajectory.steps[k - 1][1].status is not Status.COMPLETED:
                raise AssertionError("the bare loop does not reproduce the record")
    return time.perf_counter() - began


def proven(program: Program, record: Record, twin: bool) -> float:
    began = time.perf_counter()
    verdict = verify(program, record, twin=twin)
    assert verdict.admissible, verdict.reason
    return time.perf_counter() - began


def one_replay(host: Host, steps: int, repeat: int) -> float:
    """Prints the ratio; returns seconds a verified step, with both passes."""
    local = reference_program()
    record = recorded(local, steps)
    program = loaded(host)
    loops, once, twice = [], [], []
    for _ in range(repeat):
        loops.append(bare(local, record))
        once.append(proven(program, record, twin=False))
        twice.append(proven(program, record, twin=True))
    ratios = [a / b for a, b in zip(loops, once, strict=True)]
    share = statistics.median(ratios)
    print(f"workload: {reference.NAME}; {steps:,} recorded steps in {len(record)} trajectories; medians of {repeat}, alternating")
    print(f"bare loop (step, render, compare)      {micro(loops, steps)} us a step")
    print(f"verify, warm host, one replay          {micro(once, steps)} us a step")
    print(
        f"ratio to the bare loop                 {share:8.2f}   (from {min(ratios):.2f} to {max(ratios):.2f}; bar 0.70, aim 0.90)"
    )
    extra = statistics.median(b - a for a, b in zip(once, twice, strict=True))
    print(f"repeatability pass (second interpreter){extra / steps * 1e6:8.1f} us a step more")
    return statistics.median(twice) / steps


def lockstep(host: Host, steps: int, repeat: int) -> None:
    """What a step costs a program with `update` that is shown each observation only after its prediction was taken."""
    local = reference_program()
    record = recorded(local, steps)
    files = {name: text + (_UPDATE if name == ENGINE else "") for name, text in reference.files().items()}
    program = host.load(files, (1,))
    assert isinstance(program, Program) and program.has_update
    worker = program.start_worker()
    assert not isinstance(worker, ProgramError)
    costs: dict[str, list[float]] = {"bulk": [], "bulk, all handed in": [], "lockstep": []}
    with worker:
        for _ in range(repeat):
            for name, spent in costs.items():
                began = time.perf_counter()
                for trajectory in record:
                    start = InitialObservation.from_observation(trajectory.first)
                    seen = [] if name == "bulk" else trajectory.observations
                    replay = worker.replay(start, trajectory.actions, observations=seen, in_lockstep=name == "lockstep")
                    assert replay.fault is None, replay.fault
                spent.append(time.perf_counter() - began)
    print()
    print(f"a program with update, {reference.NAME}; {steps:,} steps; medians of {repeat}, alternating")
    for name, spent in costs.items():
        print(f"replay, {name:30} {micro(spent, steps)} us a step")
    extra = [a - b for a, b in zip(costs["lockstep"], costs["bulk"], strict=True)]
    print(f"lockstep over bulk                     {micro(extra, steps)} us a step   (aim 30)")


def start_up(host: Host, seconds: float, repeat: int) -> None:
    record = Record(levels=1)
    record.extend(None, Observation((freeze(reference.frame()),), Status.RUNNING, 0, reference.AVAILABLE))
    program = loaded(host)
    print(f"start of the host, once (two interpreters, self-test)  {seconds * 1e3:8.1f} ms")
    for twin, name in [(False, "verify of nothing but a first frame       "), (True, "the same with the repeatability pass      ")]:
        costs = [proven(program, record, twin) for _ in range(max(repeat, 15))]
        print(f"{name}            {statistics.median(costs) * 1e3:8.1f} ms")


def whole_run(host: Host, actions: int, revisions: int) -> tuple[float, float, int]:
    """A run in which every action is predicted and compared live, and a changed program is proven `revisions` times, evenly spread.

    Returns (seconds of live prediction and comparison, seconds of proving with both passes, steps replayed in those).
    """
    program, local, record = loaded(host), reference_program(), Record(levels=1)
    live = proving = 0.0
    replayed = sent = 0
    worker = program.start_worker()
    assert not isinstance(worker, ProgramError)
    with worker:
        for action, observation in world(local, actions):
            if action == RESET:
                record.extend(action, observation)
                began = time.perf_counter()
                worker.replay(InitialObservation.from_observation(record.current.first), [])
                live += time.perf_counter() - began
                continue
            here = record.current
            began = time.perf_counter()
            predicted = worker.step(action)
            assert not isinstance(predicted, ProgramError)
            example = compare_prediction(
                predicted,
                observation,
                trajectory=len(record) - 1,
                step=len(here) + 1,
                level=0,
                action=action,
                before=here.last.frame,
            )
            live += time.perf_counter() - began
            assert example is None
            record.extend(action, observation)
            sent += 1
            if sent * revisions // actions > (sent - 1) * revisions // actions:
                began = time.perf_counter()
                verdict = verify(program, record)
                proving += time.perf_counter() - began
                assert verdict.admissible, verdict.reason
                replayed += verdict.replayed
    return live, proving, replayed


def all_of_a_run(host: Host, actions: int, each: float) -> None:
    print()
    print("a simulated run on the same program: every action predicted and compared live, each revision replayed in full, twice")
    print(" actions  revisions   live s  revisions s  total s  steps replayed  proving after every action s")
    for sent, revisions in [(actions // 4, 10), (actions // 2, 10), (actions, 10), (actions, 5), (actions, 20)]:
        live, proving, replayed = whole_run(host, sent, revisions)
        naive = each * sent * (sent + 1) / 2
        print(f"{sent:8,} {revisions:10} {live:8.2f} {proving:12.2f} {live + proving:8.2f} {replayed:15,} {naive:29.0f}")
    print(
        "last column: what replaying the record after every action would take, from the measured cost of a verified step (not run)"
    )


def loaded(host: Host) -> Program:
    program = host.load(reference.files())
    assert isinstance(program, Program), program
    return program


def micro(seconds: list[float], steps: int) -> str:
    return f"{statistics.median(seconds) / steps * 1e6:8.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--actions", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    began = time.perf_counter()
    with Host() as host:
        seconds = time.perf_counter() - began
        each = one_replay(host, options.steps, options.repeat)
        lockstep(host, options.steps, options.repeat)
        start_up(host, seconds, options.repeat)
        all_of_a_run(host, options.actions, each)


if __name__ == "__main__":
    main()
