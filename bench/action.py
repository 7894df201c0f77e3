"""Milliseconds from one acknowledged action to the next, everything on disk, and their parts: `python bench/action.py`."""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import tempfile
import time
from pathlib import Path

from lawbook.core.record import Action
from lawbook.core.results import Subgoal
from lawbook.ledger.events import EventKind, NoteEvent
from lawbook.ledger.ledger import Event, Ledger
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.runs.loops.memento3 import explore, plan, reflect
from lawbook.runs.session import Session
from lawbook.sandbox.host import Host
from lawbook.worlds.process import WorldProcess

ANYWHERE = Subgoal("def subgoal(state):\n    return True\n", "how long does it take?")
BATCH = 100


def learn_to_walk(session: Session) -> list[Action]:
    """Let the built-in mind play the first level; two opposite moves from where the second begins that it predicts."""
    while session.record.level == 0 and not session.outcome:
        for member in session.list_due_members():
            reflect(session, member)
        if session.state.active_plan or plan(session):
            session.continue_plan()
        else:
            explore(session)
    for member in session.list_due_members():
        reflect(session, member)
    for one, other in itertools.permutations(session.record.last.available, 2) if session.record.last else ():
        before = session.record.current.last.frame
        there = session.probe(Action(one), "a way there").observation
        back = session.probe(Action(other), "and back?").observation
        for member in session.list_due_members():
            reflect(session, member)
        if there is not None and back is not None and (back.frame == before).all() and (there.frame != before).any():
            return [Action(one), Action(other)]
    raise SystemExit("No two moves that undo each other were found; try another world.")


def timed(world: str, actions: int, population: int, out: Path, host: Host) -> tuple[list[float], list[float]]:
    """Milliseconds between acknowledged actions of an executed plan; and from intent to outcome (commit, send, world, receive)."""
    acknowledged: list[float] = []
    sent: list[float] = []

    def listen(event: Event) -> None:
        if event.kind is EventKind.OBSERVE:
            acknowledged.append(time.perf_counter())
        elif event.kind is EventKind.INTEND:
            sent.append(time.perf_counter())

    gaps: list[float] = []
    inside: list[float] = []
    config = RunConfig(world, budget=actions + 500, population=population)
    with start_run(config, out, host=host, listener=listen) as (_, session):
        walk = learn_to_walk(session)
        for _ in range(actions // BATCH):
            acknowledged.clear()
            sent.clear()
            outcome = session.execute(walk * (BATCH // 2), ANYWHERE)
            assert not outcome.halt_reason, outcome.halt_reason
            gaps += [1e3 * (b - a) for a, b in itertools.pairwise(acknowledged)]
            inside += [1e3 * (b - a) for a, b in zip(sent, acknowledged, strict=True)]
    return gaps, inside


def parts(world: str, out: Path, count: int = 1000) -> dict[str, float]:
    """Median milliseconds of the pieces by themselves: the world's answer, one durable commit of two events."""
    with WorldProcess(world) as process:
        process.reset()
        answers = []
        for k in range(count):
            began = time.perf_counter()
            seen = process.step(Action(1 + k % 2))
            answers.append(time.perf_counter() - began)
            if seen.status != "running":
                process.reset()
    commits = []
    with Ledger.create(out / "commits.sqlite") as ledger:
        for k in range(count):
            began = time.perf_counter()
            ledger.write(NoteEvent(f"what came of action {k}"))
            ledger.write(NoteEvent(f"what action {k + 1} is predicted to show"))
            ledger.commit()
            commits.append(time.perf_counter() - began)
    syncs = []
    with open(out / "sync", "wb", buffering=0) as file:  # noqa: PTH123
        for _ in range(count):
            began = time.perf_counter()
            file.write(b"x" * 4096)
            os.fdatasync(file.fileno())
            syncs.append(time.perf_counter() - began)
    return {
        "the world's answer, through its process": 1e3 * statistics.median(answers),
        "two events appended and committed durably": 1e3 * statistics.median(commits),
        "of which the disk (4 KiB appended and fdatasync)": 1e3 * statistics.median(syncs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--world", default="demo:maze", help="64 x 64 cells (default: demo:maze)")
    parser.add_argument("--actions", type=int, default=2000)
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder, Host() as host:
        out = Path(folder)
        print(f"workload: {settings.world}, {settings.actions:,} actions in plans of {BATCH}, each predicted on disk beforehand")
        for population in (1, 2, 4):
            gaps, inside = timed(settings.world, settings.actions, population, out, host)
            late = sorted(gaps)[int(0.99 * len(gaps))]
            print(
                f"population {population}: {statistics.median(gaps):.2f} ms an action (median), {late:.2f} ms (p99); "
                f"{statistics.median(inside):.2f} ms of it from the intent to the outcome"
            )
        for name, milliseconds in parts(settings.world, out).items():
            print(f"  by itself: {name}: {milliseconds:.2f} ms")


if __name__ == "__main__":
    main()
