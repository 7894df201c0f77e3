"""Every hostile program, proposed to a run as root and as an ordinary user: refused or stopped, the run goes on, nothing is left.

`hostile_run.py` is the run; what each program does, how it must end and what stops it stands in `hostile_*.py`.
"""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ordinary
import pytest
from hostile import ANY, CALLS, PATHS, Hostile, everything
from hostile_run import SECRET
from minds import DOCS

PROGRAMS = everything()
SCRIPT = Path(__file__).parents[1] / "support" / "hostile_run.py"
MORE_MEMORY = 60_000
"""Kilobytes that a run and its zygotes may keep more of after all of them: their texts are in its ledger's memory by then."""
USERS = ("us", "nobody")
ERRNO = {CALLS: errno.EPERM, PATHS: errno.EACCES}
"""What tells a system call that is not let through from a path that is not."""


class Met:
    """A run in a process of its own that meets programs as fast as it can; `of` waits for what became of one."""

    def __init__(self, command: list[str], environment: dict[str, str], names: list[str], **user: Any) -> None:
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **user
        )
        self._words = threading.Thread(target=self._listen, daemon=True)
        self.stderr = ""
        self._words.start()
        assert self.process.stdin is not None and self.process.stdout is not None
        self.begun = self._line()
        self.process.stdin.write("".join(f"{name}\n" for name in names))
        self.process.stdin.close()
        self._names = iter(names)
        self.told: dict[str, dict[str, Any]] = {}

    def of(self, name: str) -> dict[str, Any]:
        while name not in self.told:
            following = next(self._names)
            self.told[following] = self._line()
        return self.told[name]

    def end(self) -> dict[str, Any]:
        for name in self._names:
            self.told[name] = self._line()
        last = self._line()
        assert self.process.wait(30) == 0, self.stderr
        return last

    def _line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.process.wait(10)
            self._words.join(5)
            pytest.fail(f"the run itself has ended ({self.process.returncode}): {self.stderr[-2000:]}")
        return dict(json.loads(line))

    def _listen(self) -> None:
        assert self.process.stderr is not None
        self.stderr = self.process.stderr.read()


@pytest.fixture(scope="module")
def met(request: pytest.FixtureRequest) -> Iterator[dict[str, Met]]:
    """Both runs at once, over the programs that were asked for; each ends by itself, and leaves nothing."""
    chosen: dict[str, list[str]] = {}
    for item in request.session.items:
        given = getattr(item, "callspec", None)
        if item.path == request.path and given and "user" in given.params:
            chosen.setdefault(given.params["user"], []).extend([given.params["name"]] if "name" in given.params else [])
    names = {user: found or list(PROGRAMS) for user, found in chosen.items()}
    runs: dict[str, Met] = {}
    with tempfile.TemporaryDirectory(prefix="hostile-nobody-") as folder:
        Path(folder).chmod(0o755)
        try:
            if "us" in names:
                paths = os.pathsep.join([str(SCRIPT.parent), str(SCRIPT.parent.parent), *sys.path])
                runs["us"] = Met([sys.executable, str(SCRIPT)], {**os.environ, "PYTHONPATH": paths}, names["us"])
            if "nobody" in names and os.geteuid() == 0:
                told = ordinary.command(Path(folder), SCRIPT)
                if ordinary.works(told):
                    who = {"user": ordinary.NOBODY, "group": ordinary.NOBODY, "extra_groups": [], "cwd": "/"}
                    runs["nobody"] = Met(*told, names["nobody"], **who)
            yield runs
        finally:
            for run in runs.values():
                run.process.kill()
                run.process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_hostile_program_costs_itself(met: dict[str, Met], name: str, user: str) -> None:
    one, told = PROGRAMS[name], _run(met, user).of(name)
    assert told["kind"] in one.kinds, told
    assert one.says in told["reason"] and len(told["reason"]) < 2500
    assert SECRET not in told["reason"]
    assert one.at in (ANY, told["step"]) or told["kind"] == "broken", told  # when that is noticed is a race
    if told["kind"] == "forbidden" and "[Errno " in told["reason"]:
        assert f"[Errno {ERRNO[one.wall]}]" in told["reason"], "another wall stopped it than is said"
    assert told["left"] == []


@pytest.mark.slow
@pytest.mark.parametrize("user", USERS)
def test_nothing_stays_behind(met: dict[str, Met], user: str) -> None:
    """No process, no descriptor, no memory, after all of them; and the run that met them ends well."""
    run = _run(met, user)
    assert run.begun["user"] == (os.getuid() if user == "us" else ordinary.NOBODY)
    last = run.end()
    assert last == {"left": []}
    sizes = list(run.told.values())
    assert max(told["descriptors"] for told in sizes) <= run.begun["descriptors"] + 1
    assert sizes[-1]["kilobytes"] < run.begun["kilobytes"] + MORE_MEMORY


def _run(met: dict[str, Met], user: str) -> Met:
    if user not in met:
        if os.geteuid() == 0:  # not skipped: half of the suite would be gone unnoticed
            pytest.fail("the user nobody cannot run this project's Python here (see support/ordinary.py)")
        pytest.skip("whoever runs this is an ordinary user already")
    return met[user]


# -- the table in docs/sandbox.md ----------------------------------------------------------------------------------------------


def table(programs: dict[str, Hostile]) -> str:
    """Attack -> what stops it, as it stands in the documentation."""
    walls: dict[Any, list[str]] = {}
    for one in programs.values():
        walls.setdefault(one.wall, []).append(one.name)
    rows = [f"| {'; '.join(names)} | {wall.what} | {wall.shows} |" for wall, names in walls.items()]
    return "\n".join(["| attack | what stops it | how that ends |", "|---|---|---|", *rows])


def test_the_documentation_names_every_attack_and_what_stops_it() -> None:
    text = (DOCS / "sandbox.md").read_text(encoding="utf-8")
    shown = re.search(r"\| attack \|.*?(?=\n\n|\Z)", text, re.DOTALL)
    assert shown is not None and shown[0].strip() == table(PROGRAMS), f"put this into docs/sandbox.md:\n{table(PROGRAMS)}"
    count = re.search(r"(\d+) programs", text)
    assert count is not None and int(count[1]) == len(PROGRAMS)
