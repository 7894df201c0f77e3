"""A run that meets hostile programs, in a process of its own: names come in on stdin, one a line, and what became of each goes out.

Everything a program might reach for is here and would be had without the sandbox: a ledger, versions in git, a key in the
environment, somebody who listens on a port and on an abstract socket, and a bystander of the same user.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from attacks import sandbox
from hostile import BOOK, Hostile, everything, program
from minds import Scripted
from strays import processes

from lawbook.core.hypothesis import Decision, Proposal
from lawbook.core.record import Action
from lawbook.core.results import Limits, Plan, ProgramError
from lawbook.errors import RefusedError
from lawbook.runs.folder import RunConfig
from lawbook.runs.lifecycle import start_run
from lawbook.runs.session import Session
from lawbook.sandbox.confinement import libc
from lawbook.sandbox.host import Host

WORLD = "py:hostile_world:SOURCE/counter"
SECRET = "a secret"
MEMORY = 200 + os.getpid() % 89  # MB, and a number that tells our processes from everybody else's
PATIENT, IMPATIENT = 5.0, 0.15
"""Seconds that one call into a program may take: where time is not what is attacked, and where it is."""
NODES = 20_000
MARK = "lawbook-was-here"


class Ring:
    """The run, with all that stands about it."""

    def __init__(self, session: Session, host: Host, bystander: subprocess.Popen[bytes], doors: list[socket.socket]) -> None:
        self.session, self.host, self.bystander, self.doors = session, host, bystander, doors
        self.met = 0
        self.honest = program()
        run = session.event_log.ledger.path.parent
        self.words = {
            "RUN": str(run),
            "GAME": str(importlib.util.find_spec("hostile_world").origin),  # type: ignore[union-attr]
            "ENGINE": str(importlib.util.find_spec("arcengine").origin),  # type: ignore[union-attr]
            "LAWBOOK": str(importlib.util.find_spec("lawbook.sandbox.confinement").origin),  # type: ignore[union-attr]
            "PID": str(os.getpid()),
            "PORT": str(doors[0].getsockname()[1]),
            "ABSTRACT": f"lawbook-{os.getpid()}",
            "DESCRIPTOR": str(doors[0].fileno()),
            "HASH": _told([sys.executable, "-c", "print(hash('a') % 9999, end='')"]),
        }
        for member in (0, 1):
            session.propose(Proposal(Decision.REVISE_RULEBOOK, BOOK, self.honest), member)
        self.walk(5)
        self.session.reset("the first trajectory has five steps, and no more")

    def walk(self, steps: int) -> None:
        for _ in range(steps):
            sent = self.session.probe(Action(1), "goes on?")
            assert sent.actions and not sent.falsified, sent.halt_reason
        assert self.session.list_admissible_members() == [0, 1]

    def meet(self, one: Hostile) -> dict[str, Any]:
        """Propose `one`, bring it out, mend what it did, go on: what became of it, and what it left behind."""
        patience = IMPATIENT if "time" in one.kinds else PATIENT
        if one.when != "propose" and len(self.session.record.current) > 5:
            self.session.reset("to the start")
        longest = max(map(len, self.session.record))
        table = ", ".join(map(str, range(longest + 1)))
        words = {**self.words, "SECONDS": str(patience), "LONGEST": str(longest), "TABLE": table}
        files = {name: _filled(text, words) for name, text in one.files.items()}
        told = self.proposed(files, patience if one.when == "propose" else PATIENT)
        if one.when != "propose":
            assert told["kind"] == "admissible", told
            self.host._step_seconds = patience
            told = {"plan": self.planned, "act": self.acted, "follow": self.followed}[one.when](patience)
        self.host._step_seconds = PATIENT
        if self.session.state.members[0].hypothesis.files != self.honest:  # type: ignore[union-attr]
            assert self.session.propose(Proposal(Decision.REPAIR_CODE, None, self.honest)).admissible
        return {**told, "left": list(self.left_behind()), **self.sizes()}

    def proposed(self, files: dict[str, str], patience: float) -> dict[str, Any]:
        self.host._step_seconds = patience
        try:
            verdict = self.session.propose(Proposal(Decision.REPAIR_CODE, None, files, "hostile"))
        except RefusedError as refusal:
            return {"kind": "refused", "reason": str(refusal), "step": None}
        where = verdict.fault or verdict.counterexample
        kind = verdict.fault.kind if verdict.fault else verdict.outcome.value
        return {"kind": kind, "reason": verdict.reason, "step": where.step if where else None}

    def planned(self, patience: float) -> dict[str, Any]:
        found = self.session.plan(0, limits=Limits(nodes=NODES, seconds=min(patience, 1.0)))
        if isinstance(found, Plan):
            return {"kind": "plan", "reason": str(found.actions), "step": None}
        return self.falsified() or {"kind": found.cut or "none", "reason": found.reason, "step": None}

    def acted(self, patience: float) -> dict[str, Any]:
        sent = None
        for _ in range(max(map(len, self.session.record)) + 3):  # beyond everything on record
            sent = self.session.probe(Action(1), "and now?")
            if sent.falsified:
                break
        assert sent is not None and sent.falsified == (0,), sent
        return self.falsified() or {}

    def followed(self, patience: float) -> dict[str, Any]:
        plan = self.session.plan(0)
        assert isinstance(plan, Plan) and self.session.draw({0: plan}) == 0, plan
        sent = self.session.continue_plan()
        assert sent.halt_reason and sent.falsified == (0,), sent
        return self.falsified() or {}

    def falsified(self) -> dict[str, Any] | None:
        member = self.session.state.members[0]
        if member.admissible or member.verdict is None:
            return None
        fault = member.verdict.fault
        return {
            "kind": fault.kind if isinstance(fault, ProgramError) else "mismatch",
            "reason": member.verdict.reason,
            "step": None,
        }

    def left_behind(self) -> Iterator[str]:
        """Everything that should not be: in sentences."""
        self.met += 1
        if self.met % 10 == 0:
            if len(self.session.record.current) > 200:
                self.session.reset("to the start")
            self.walk(1)
        if self.session.list_admissible_members() != [0, 1]:
            yield f"may steer: {self.session.list_admissible_members()}"
        here = len(self.session.record.current)
        (seen,) = self.session.simulate([Action(1)])
        if not np.array_equal(seen.frame, np.full((4, 4), here + 1, np.uint8)):
            yield f"after step {here} the honest program shows {seen.frame.tolist()}"
        standing = {worker._pid for worker in self.session._predictor._workers.values()}
        strays = set(processes(MEMORY)) - set(self.host.pids) - standing
        if strays:
            yield f"processes {strays}"
        if self.bystander.poll() is not None:
            yield "the bystander is dead"
        for door in self.doors:
            with suppress(BlockingIOError):
                door.accept()
                yield "somebody got through a door"
        for folder in map(Path, ("/", "/tmp", "/dev/shm", self.words["RUN"], ".")):
            yield from (str(path) for path in folder.iterdir() if MARK in path.name)
        if self.met % 10 == 0 and (broken := self.session.event_log.ledger.check()):
            yield broken

    def sizes(self) -> dict[str, int]:
        """Descriptors of this process, and kilobytes that it and its zygotes keep."""
        return {
            "descriptors": len(list(Path("/proc/self/fd").iterdir())),
            "kilobytes": sum(map(_kept, (os.getpid(), *self.host.pids))),
        }


def _die_with_us() -> None:
    libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _told(command: list[str]) -> str:
    """What a command prints in an interpreter with the hash seed of a worker."""
    return subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": "0"}, capture_output=True, text=True, check=True).stdout


def _filled(text: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text


def _kept(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


@contextmanager
def ring(out: Path) -> Iterator[Ring]:
    os.environ["LAWBOOK_TEST_API_KEY"] = SECRET
    with (
        socket.create_server(("127.0.0.1", 0)) as port,
        socket.socket(socket.AF_UNIX) as abstract,
        subprocess.Popen(["sleep", "1000"], start_new_session=True, preexec_fn=_die_with_us) as bystander,
    ):
        abstract.bind(f"\0lawbook-{os.getpid()}")
        abstract.listen()
        for door in (port, abstract):
            door.setblocking(False)
        try:
            config = RunConfig(WORLD, budget=10_000, population=2, memory_mb=MEMORY)
            with sandbox(MEMORY) as host:
                host._step_seconds = PATIENT
                with start_run(config, out, host=host, mind=Scripted()) as (_, session):
                    yield Ring(session, host, bystander, [port, abstract])
        finally:
            bystander.kill()


def main() -> None:
    known = everything()
    with tempfile.TemporaryDirectory(prefix="hostile-run-") as folder:
        os.chdir(folder)
        with ring(Path(folder)) as the:
            print(json.dumps({"user": os.getuid(), **the.sizes()}), flush=True)
            for line in sys.stdin:
                print(json.dumps(the.meet(known[line.strip()])), flush=True)
    print(json.dumps({"left": processes(MEMORY)}), flush=True)


if __name__ == "__main__":
    main()
