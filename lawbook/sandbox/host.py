"""The host: everything that a run needs to execute programs it does not trust. Owned by the run process."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from lawbook.core.hypothesis import ENGINE, MAX_BYTES, strip_comments
from lawbook.core.results import ProgramError
from lawbook.errors import HostError
from lawbook.sandbox.confinement import POSSIBLE, SELF_TEST_FILE, SandboxReport
from lawbook.sandbox.worker_client import Worker
from lawbook.sandbox.zygote_client import Zygote


class Host:
    """Two zygotes, whose workers differ in nothing but the hash seed of their interpreter, and the sandbox that was found to hold.

    weak: run although the sandbox does not keep programs from files and network.
    memory_mb: what a worker may use beyond what the bare interpreter does.
    hash_seeds: of the interpreters of workers and of twins.
    step_seconds: wall clock for one call into a program.
    wait: False leaves the self-test to `ready`, which must come before anything else: a zygote starts while we do something.

    A host belongs to one thread. Raises HostError when its processes cannot be started, or when the sandbox is too weak and `weak`
    was not asked for.
    """

    sandbox: SandboxReport

    def __init__(
        self,
        *,
        weak: bool = False,
        memory_mb: int = 512,
        hash_seeds: tuple[int, int] = (0, 1),
        step_seconds: float = 5.0,
        wait: bool = True,
    ) -> None:
        if sys.platform != "linux":
            raise HostError("Programs are run in a sandbox that only Linux has; use a Linux machine or a container.")
        self._step_seconds, self._weak = step_seconds, weak
        self._facts = {"hash seeds": ", ".join(map(str, hash_seeds)), "memory": f"{memory_mb} MB"}
        self._seeds, self._memory = hash_seeds, memory_mb << 20
        self._zygotes: tuple[Zygote, ...] = (Zygote(hash_seeds[0], self._memory),)
        self._is_tested = False
        if wait:
            self.wait_until_ready()

    @property
    def allows_weak(self) -> bool:
        """Say whether programs may run although the sandbox does not confine them: whoever started it said so."""
        return self._weak

    def wait_until_ready(self) -> None:
        """Wait until a zygote is up, and test once that the sandbox holds: what it found is `sandbox`.

        Raises HostError where it cannot be started, or is too weak.
        """
        if self._is_tested:
            return
        self._is_tested = True
        try:
            self._zygotes += (Zygote(self._seeds[1], self._memory),)  # not needed before the first proof: it starts meanwhile
            self.sandbox = self._run_self_test(self._facts)
            if not self.sandbox.is_confining and not self._weak:
                summary = ", ".join(f"{name} {result}" for name, result in self.sandbox.facts.items())
                raise HostError(
                    f"This machine cannot keep programs from files and network ({summary}); "
                    "use a Linux kernel with Landlock and seccomp, or pass --weak-sandbox if you trust whoever writes the programs."
                )
        except BaseException:
            self.close()
            raise

    def load(self, files: Mapping[str, str], open_rules: Collection[int] | None = None) -> Program | ProgramError:
        """Load a program once, in a worker that is thrown away: it compiles, imports, and defines the contract's functions.

        open_rules: numbers k of the rules Uk under which its renderings may leave cells open, and then its statuses too; None: a
        protocol under which everything is claimed. Returns a ProgramError where it does not load.
        """
        if sum(map(len, files.values())) > MAX_BYTES:
            return ProgramError("load", f"The program is longer than {MAX_BYTES:,} characters.")
        program = Program(self, files, open_rules)
        worker = program.start_worker()
        if isinstance(worker, ProgramError):
            return worker
        program.has_update = worker.has_update
        worker.close()
        return program

    def fork(self, *, twin: bool = False) -> Worker:
        """Fork a fresh sandboxed process without a program. For Program, and for the self-test. twin: in the second interpreter."""
        return Worker(self._zygotes[twin], step_seconds=self._step_seconds)

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids of the zygotes."""
        return tuple(zygote.pid for zygote in self._zygotes)

    def close(self) -> None:
        """End every process of this host. May be called again."""
        zygotes, self._zygotes = self._zygotes, ()
        for zygote in zygotes:
            zygote.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _run_self_test(self, facts: dict[str, str]) -> SandboxReport:
        layers = self._zygotes[0].wait_until_started()
        folder = Path(tempfile.gettempdir())  # a folder of its own would stay behind where we are killed meanwhile
        with self.fork() as worker:
            results = worker.run_self_test(str(Path(__file__).resolve()), str(folder))
        if results["write"] == POSSIBLE:
            (folder / SELF_TEST_FILE).unlink(missing_ok=True)
        return SandboxReport.from_facts({**facts, "landlock": layers["landlock"], "seccomp": layers["seccomp"], **results})


class Program:
    """A program that loaded once. `files`: file name -> source, bare: a program cannot read what does not count as description."""

    def __init__(self, host: Host, files: Mapping[str, str], open_rules: Collection[int] | None = None) -> None:
        self.open_rules = None if open_rules is None else frozenset(open_rules)
        self.files = {name: strip_comments(text) for name, text in files.items()}
        self.has_update = False
        """Whether it takes in what was seen (`update`); only where it may leave things open."""
        self._host = host

    def start_worker(self, *, twin: bool = False) -> Worker | ProgramError:
        """Start a fresh sandboxed process with the program loaded; twin: in the second interpreter.

        Returns a ProgramError where the program does not load there.
        """
        worker = self._host.fork(twin=twin)
        try:
            fault = worker.load(self.files, ENGINE, self.open_rules)
        except BaseException:
            worker.close()
            raise
        if fault is None:
            return worker
        worker.close()
        return fault
