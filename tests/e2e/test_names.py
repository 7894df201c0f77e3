"""Names stay hidden: nothing that a mind or a program sees, frames aside, holds a game's id, its title, or a path with one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arc_games import lay_out
from arc_server import demo_source

from lawbook.core import ipc
from lawbook.core.hypothesis import Hypothesis, Proposal
from lawbook.core.record import Action
from lawbook.core.results import Judgement, Probe, Subgoal
from lawbook.ledger.events import EventKind
from lawbook.ledger.ledger import Ledger
from lawbook.minds.base import Case, Mind
from lawbook.minds.registry import make_mind
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.runs.lifecycle import start_run
from lawbook.runs.loops.memento3 import play
from lawbook.sandbox.host import Host

NAMES = re.compile(rb"zq77|a walk in|zquare|0a1b2c3d", re.IGNORECASE)


def spells(what: object, seen: set[int] | None = None) -> Iterator[bytes]:
    """Every text, byte string and attribute that can be reached from an object, whatever it is; arrays aside."""
    seen = set() if seen is None else seen
    if id(what) in seen or what is None or isinstance(what, int | float | np.ndarray | type):
        return
    seen.add(id(what))
    if isinstance(what, str):
        yield what.encode("utf-8", "surrogatepass")
    elif isinstance(what, bytes | Path):
        yield os.fsencode(what)
    elif isinstance(what, Mapping):
        for key, value in what.items():
            yield from spells(key, seen)
            yield from spells(value, seen)
    elif isinstance(what, list | tuple | set | frozenset):
        for item in what:
            yield from spells(item, seen)
    else:
        inside = [field.name for field in fields(what)] if is_dataclass(what) else []
        inside += [
            *getattr(what, "__dict__", {}),
            *(name for kind in type(what).__mro__ for name in getattr(kind, "__slots__", ())),
        ]
        for name in dict.fromkeys(inside):
            yield from spells(getattr(what, name, None), seen)


def titles(of: int) -> dict[str, bytes]:
    """What the system says of a process and all its children: title, arguments, environment, working directory, open files."""
    found = {}
    for pid in [of, *children(of)]:
        proc = Path("/proc", str(pid))
        try:
            for name in ("comm", "cmdline", "environ"):
                found[f"{pid} {name}"] = (proc / name).read_bytes()
            links = [proc / "cwd", *(proc / "fd").iterdir()]
            found[f"{pid} links"] = b"\n".join(os.fsencode(link.readlink()) for link in links)
        except OSError:  # it has just ended
            continue
    return found


def children(of: int) -> list[int]:
    found = []
    for task in Path("/proc", str(of), "task").glob("*/children"):
        for pid in map(int, task.read_text().split()):
            found += [pid, *children(pid)]
    return found


class Listening:
    """A real mind, and everything it is ever shown."""

    def __init__(self, mind: Mind, host: Host) -> None:
        self.mind, self.host = mind, host
        self.name, self.proposes = mind.name, mind.proposes
        self.shown: list[bytes] = []
        self.titles: dict[str, bytes] = {}

    def _listen(self, *what: object) -> None:
        self.shown += [*spells(what)]
        for pid in self.host.pids:
            self.titles |= titles(pid)

    def propose(self, case: Case) -> Proposal:
        self._listen(case)
        return self.mind.propose(case)

    def judge(self, case: Case, hypothesis: Hypothesis) -> Judgement:
        self._listen(case, hypothesis)
        return self.mind.judge(case, hypothesis)

    def explore(self, case: Case) -> Subgoal | Probe:
        self._listen(case)
        return self.mind.explore(case)

    def receipt(self) -> Mapping[str, float | int | str]:
        return self.mind.receipt()


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Listening, RunFolder, list[bytes]]]:
    """A run of the built-in mind on a game with names, all it was shown, and all that was sent to programs."""
    root = tmp_path_factory.mktemp("places")
    lay_out(root / "games", source=demo_source("maze", "zq77"))
    patch, sent = pytest.MonkeyPatch(), list[bytes]()
    patch.setenv("LAWBOOK_GAMES", str(root / "games"))
    patch.setenv("ZQ77", "a walk in zquare")  # of our own environment nothing is passed on
    real = ipc.send

    def overheard(sock: Any, header: dict[str, Any], blobs: Any = ()) -> None:
        if str(sys._getframe(1).f_globals["__name__"]).startswith("lawbook.sandbox"):
            sent.extend([repr(header).encode(), *(bytes(blob) for blob in blobs)])
        real(sock, header, blobs)

    patch.setattr(ipc, "send", overheard)
    try:
        with Host() as host:
            mind = Listening(make_mind("induce"), host)
            with start_run(RunConfig("arc:zq77", budget=40), root / "runs", host=host, mind=mind) as (folder, session):
                play(session)
            yield mind, folder, sent
    finally:
        patch.undo()


def holds(texts: list[bytes]) -> list[bytes]:
    return [text[:200] for text in texts if NAMES.search(text)]


def test_the_search_finds_what_is_there() -> None:
    """A test that cannot fail would be worth nothing: names deep inside are found."""
    case = {"a": [Probe(Action(1), "is this Zquare?")], "b": Path("/games/zq77"), "c": b"0a1b2c3d"}
    assert len(holds([*spells(case)])) == 3
    sleeper = subprocess.Popen(["sleep", "5"], env={"ZQ": "A Walk In"})
    try:
        assert holds([*titles(os.getpid()).values()])
    finally:
        sleeper.kill()
        sleeper.wait()


def test_no_case_holds_a_name(told: tuple[Listening, RunFolder, list[bytes]]) -> None:
    mind, _, _ = told
    assert len(mind.shown) > 20 and holds(mind.shown) == []


def test_no_message_to_a_program_holds_a_name(told: tuple[Listening, RunFolder, list[bytes]]) -> None:
    _, _, sent = told
    assert len(sent) > 20 and holds(sent) == []


def test_no_process_that_runs_programs_has_a_name_about_it(told: tuple[Listening, RunFolder, list[bytes]]) -> None:
    mind, _, _ = told
    assert len(mind.titles) >= 4 * 2 and holds([*mind.titles.values()]) == []


def test_no_file_of_the_memory_holds_a_name(told: tuple[Listening, RunFolder, list[bytes]]) -> None:
    _, folder, _ = told
    files = [path for path in folder.memory.rglob("*") if path.is_file()]
    assert any(path.name == "world_model.md" for path in files)
    assert holds([path.read_bytes() for path in files]) == [] and holds([os.fsencode(path) for path in files]) == []
    log = subprocess.run(["git", "-C", str(folder.memory), "log", "-p", "--all"], capture_output=True, check=True).stdout
    assert log and holds([log]) == []


def test_nothing_that_was_said_during_the_run_holds_a_name(told: tuple[Listening, RunFolder, list[bytes]]) -> None:
    """Verdicts, refusals, plans, calls: the opening alone says which world it is, and that is for people."""
    _, folder, _ = told
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        said = [repr(dict(event.body)).encode() for event in ledger if event.kind is not EventKind.OPEN]
        texts = [ledger.get_text(row[0]).encode() for row in ledger._query("SELECT id FROM contents WHERE kind = 'text'")]
    assert len(said) > 20 and texts and holds(said + texts) == []
