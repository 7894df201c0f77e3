"""Runs that are killed and hindered at random, again and again, and what must be true afterwards. `make torture` does it 300 times.

One process plays nothing itself: it forks players, hears from each through a pipe what has become durable, kills what it drew at an
instant that it drew, and holds everything against a run of the same settings that nobody disturbed.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stories import STORIES, Story, parted, player, told

from lawbook.audit.report import audit_run, rebuild_git_memory
from lawbook.errors import LawbookError
from lawbook.ledger import sqlite_store
from lawbook.ledger.events import EventKind
from lawbook.ledger.ledger import Event, Ledger
from lawbook.runs.folder import RunFolder

PATIENCE = 300.0
"""Seconds after which a player counts as hanging, on a machine that has other things to do too."""
LINGER = 20.0
"""Seconds that what belonged to a dead player may take to end."""


@dataclass
class Heard:
    """What a player has told. observed: (event number, hash) of what was durable."""

    observed: list[tuple[int, str]] = field(default_factory=list, repr=False)
    thoughts: int = 0
    oracle: int | None = None
    paused: str | None = None
    crashed: str | None = None


class Playing:
    """Our side of a player. Reads its pipe whenever we wait for anything."""

    def __init__(self, story: Story, folder: RunFolder | None, out: Path, hinder: Callable[[], None] = lambda: None) -> None:
        self._end, theirs = os.pipe()
        self.heard, self.code, self._rest = Heard(), None, b""
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._end)
            player(story, folder, out, theirs, hinder)
        os.close(theirs)
        self.began = time.monotonic()

    def wait(self, until: Callable[[], bool] = lambda: False, seconds: float = PATIENCE) -> bool:
        """Listen until `until`, or the player has ended (then False)."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._listen(0.002)
            if until():
                return True
            if self.ended():
                self._listen(0.0)
                return False
        return True

    def ended(self) -> bool:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def _listen(self, seconds: float) -> None:
        while self._end >= 0 and select.select([self._end], [], [], seconds)[0]:
            chunk = os.read(self._end, 1 << 16)
            if not chunk:
                os.close(self._end)
                self._end = -1
                return
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            for line in lines:
                self._take(json.loads(line))
            seconds = 0.0

    def _take(self, said: dict[str, Any]) -> None:
        heard = self.heard
        if "observed" in said:
            heard.observed.append((said["observed"], said["hash"]))
        heard.thoughts += "thinking" in said
        heard.oracle = said.get("oracle", heard.oracle)
        heard.paused = said.get("paused", heard.paused)
        heard.crashed = said.get("crashed", heard.crashed)

    def close(self) -> None:
        self._listen(0.0)
        if self._end >= 0:
            os.close(self._end)
            self._end = -1


# -- processes -------------------------------------------------------------------------------------------------------------------


def tree(root: int) -> dict[int, str]:
    """Every descendant of a process, with its command line (what it was started with, where it was forked)."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                stat = (entry / "stat").read_text()
                parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    found: dict[int, str] = {}
    level = [root]
    while level:
        level = [child for parent in level for child in parents.get(parent, [])]
        for pid in level:
            with suppress(OSError):
                found[pid] = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return found


def victims(playing: Playing, kind: str) -> list[int]:
    """Process ids of a kind, at this instant; empty when there is none."""
    them = tree(playing.pid)
    zygotes = [pid for pid, line in them.items() if "lawbook.sandbox.zygote_server" in line]
    match kind:
        case "run" | "thinking":
            return [playing.pid]
        case "world":
            return [pid for pid, line in them.items() if "lawbook.worlds.process" in line]
        case "zygote":
            return [pid for pid in zygotes if _parent(pid) == playing.pid][:1]
        case "worker":
            return [pid for pid in zygotes if _parent(pid) != playing.pid][:1]
        case "mind":
            return [playing.heard.oracle] if playing.heard.oracle in them else []  # type: ignore[list-item]
        case "all":
            return [playing.pid, *them]
    raise ValueError(kind)


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return -1


def survivors(seconds: float = LINGER) -> dict[int, str]:
    """Our descendants that are still there after `seconds`: whoever lost its parent has become our child, and is waited for."""
    deadline = time.monotonic() + seconds
    while True:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        left = tree(os.getpid())
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.005)


def adopt() -> None:
    """Orphans of our descendants become our children (PR_SET_CHILD_SUBREAPER)."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


# -- hindrances ------------------------------------------------------------------------------------------------------------------


def nothing() -> None:
    pass


def clock_jumps(seed: int) -> Callable[[], None]:
    """The clock goes backwards and forwards by up to a day between any two looks at it."""

    def hinder() -> None:
        chance, honest = random.Random(seed), time.time
        time.time = lambda: honest() + chance.uniform(-86400, 86400)

    return hinder


def pages_end_at(pages: int) -> Callable[[], None]:
    """SQLite finds its disk full when the ledger has so many pages: where no file system of our own can be had to fill."""

    def hinder() -> None:
        connect = sqlite_store._connect

        def connected(path: Path, mode: str) -> sqlite3.Connection:
            database = connect(path, mode)
            database.execute(f"PRAGMA max_page_count = {pages}")
            return database

        sqlite_store._connect = connected

    return hinder


class Disk:
    """Where runs are played: a file system of its own, as full as one likes, where one can be mounted."""

    def __init__(self, at: Path) -> None:
        self.path, self._filler = at, at / "filler"
        at.mkdir()
        size = ["-t", "tmpfs", "-o", "size=32m", "tmpfs", str(at)]
        self.own = subprocess.run(["mount", *size], capture_output=True).returncode == 0

    def fill(self, left: int) -> None:
        """Take everything but `left` bytes."""
        room = os.statvfs(self.path)
        with self._filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(room.f_bavail * room.f_frsize - left, 1))

    def clear(self) -> None:
        self._filler.unlink(missing_ok=True)

    def close(self) -> None:
        if self.own:
            subprocess.run(["umount", "-l", str(self.path)], check=False)


# -- what must be true -------------------------------------------------------------------------------------------------------------


class WrongError(AssertionError):
    """Something is not as it must be."""


class Torture:
    """Counts, and knows how undisturbed runs of every story look."""

    def __init__(self, seed: int, home: Path, say: Callable[[str], None] = lambda _: None) -> None:
        self.chance, self.home, self.say = random.Random(seed), home, say
        self.counts: Counter[str] = Counter()
        self.resumes: list[float] = []
        self._whole: dict[str, tuple[list[tuple[str, Any]], float]] = {}
        self._number = 0
        self._disk = Disk(home / "disk")
        self._temporary = home / "tmp"
        self._temporary.mkdir()
        os.environ["TMPDIR"] = tempfile.tempdir = str(self._temporary)
        adopt()

    @property
    def own_disk(self) -> bool:
        return self._disk.own

    def close(self) -> None:
        self._disk.close()

    def undisturbed(self, name: str) -> tuple[list[tuple[str, Any]], float]:
        """The events of this story when nobody disturbs it, and how long it takes."""
        if name not in self._whole:
            story = STORIES[name]
            playing = Playing(story, None, self._disk.path / f"whole-{name}")
            playing.wait()
            self.expect(playing.code == 0, f"undisturbed, {name} ends with {playing.code}: {playing.heard}")
            playing.close()
            (folder,) = (self._disk.path / f"whole-{name}").iterdir()
            self.after(playing)
            self._whole[name] = told(_events(RunFolder(folder))), time.monotonic() - playing.began
        return self._whole[name]

    def kills(self, number: int, stories: list[str]) -> None:
        """Disturb runs until `number` kills have landed; runs that are begun are played to their end and looked at."""
        while self.counts["kills"] < number:
            name = self.chance.choices(stories, [STORIES[one].weight for one in stories])[0]
            self.one(name, number)
            self.say(f"{self.counts['kills']} of {number}")

    def one(self, name: str, number: int = 10**9) -> None:
        """One run from its beginning to its end, killed up to nine times on the way."""
        want, seconds = self.undisturbed(name)
        self._number += 1
        out, story = self._disk.path / f"run-{self._number}", STORIES[name]
        folder: RunFolder | None = None
        acknowledged: dict[int, str] = {}
        kills = self.chance.randint(3, 9)
        while True:
            kind = "none" if kills <= 0 or self.counts["kills"] >= number else self._kind(folder)
            playing = Playing(story, folder, out, self._hindrance(kind, folder))
            if folder is not None and kind == "none":
                self.counts["resumes"] += 1
            landed = self._kill(playing, kind, seconds, folder)
            kills -= landed
            self._disk.clear()
            for seq, head in playing.heard.observed:
                self.expect(acknowledged.setdefault(seq, head) == head, f"{name}: event {seq} was acknowledged twice, differently")
            self.after(playing)
            if playing.code == 0 and kind not in ("busy", "full"):  # then SQLite could not fold its log into the file
                self._tidy(out)
            folder = self._folder(out, acknowledged)
            if folder is None:
                shutil.rmtree(out, ignore_errors=True)
                continue
            self._stands(folder, acknowledged, f"{name} after {kind}")
            if playing.code == 0 or _events(folder)[-1].kind is EventKind.CLOSE:
                break
            self.expect(landed or kind != "none", f"{name}: undisturbed it ends with {playing.code}: {playing.heard}")
        got = told(_events(folder))
        self.expect(not (where := parted(got, want)), f"{name} in {folder.path} parts from the undisturbed run at {where}")
        self._settled(folder, kind == "corrupted")
        self.counts["acknowledged"] += len(acknowledged)
        shutil.rmtree(out)

    def _kind(self, folder: RunFolder | None) -> str:
        kinds = {"run": 6, "all": 4, "world": 3, "zygote": 3, "worker": 3, "mind": 2, "thinking": 2, "full": 2, "clock": 1}
        kinds |= {"busy": 1} if folder else {}
        kinds |= {"locked": 1, "corrupted": 1} if folder and (folder.memory / ".git").is_dir() else {}
        return self.chance.choices([*kinds], [*kinds.values()])[0]

    def _hindrance(self, kind: str, folder: RunFolder | None) -> Callable[[], None]:
        if kind == "clock":
            return clock_jumps(self.chance.randrange(10**9))
        if kind == "full" and self._disk.own:
            self._disk.fill(self.chance.randint(0, 400_000))
        elif kind == "full":
            return pages_end_at((folder.ledger.stat().st_size // 4096 if folder else 0) + self.chance.randint(1, 40))
        return nothing

    def _kill(self, playing: Playing, kind: str, seconds: float, folder: RunFolder | None) -> bool:
        """Disturb a player at an instant; True when it came to that before the player had ended. Then wait for its end."""
        landed = True
        instant = playing.began + seconds * self.chance.random() ** (1.5 if folder else 1)  # a resumed run is nearer its end
        if kind in ("none", "full"):
            playing.wait()
            landed = kind == "full" and playing.code != 0
        elif kind == "thinking":
            thoughts = self.chance.randint(1, 8)
            landed = playing.wait(lambda: playing.heard.thoughts >= thoughts)
        else:
            landed = playing.wait(lambda: time.monotonic() >= instant)
        if landed and kind not in ("none", "full"):
            landed = self._deed(playing, kind, folder)
        self.counts[kind] += landed
        self.counts["kills"] += landed
        playing.wait()
        if not playing.ended():
            os.kill(playing.pid, signal.SIGKILL)
            raise WrongError(f"a player hangs after {kind}: {playing.heard}, {tree(playing.pid)}")
        self.expect(playing.heard.crashed is None, f"after {kind}: {playing.heard.crashed}")
        killed = kind in ("run", "all", "clock", "thinking") and landed
        self.expect(killed or playing.code in (0, 3), f"after {kind} a player ends with {playing.code}")
        said = playing.heard.paused
        self.expect(said is None or (said.endswith(".") and "\n" not in said), f"after {kind}, no sentence: {said!r}")
        return bool(landed)

    def _deed(self, playing: Playing, kind: str, folder: RunFolder | None) -> bool:
        git = folder.memory / ".git" if folder else None
        match kind:
            case "clock":
                os.kill(playing.pid, signal.SIGKILL)
                return True
            case "locked" if git:
                (git / "index.lock").touch()
                return True
            case "corrupted" if git:
                files = [path for path in git.rglob("*") if path.is_file()]
                for path in self.chance.sample(files, min(3, len(files))):
                    with suppress(OSError):
                        path.chmod(0o600)
                        path.write_bytes(self.chance.randbytes(self.chance.randint(0, 60)))
                return True
            case "busy" if folder:
                with suppress(sqlite3.Error), closing(sqlite3.connect(folder.ledger, timeout=5, isolation_level=None)) as other:
                    other.execute("BEGIN IMMEDIATE")
                    playing.wait(seconds=0.3)
                    other.execute("ROLLBACK")
                return True
        them: list[int] = []

        def there() -> bool:
            them[:] = victims(playing, kind)  # workers come and go: the next one there is
            return bool(them)

        playing.wait(there)
        for pid in them:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return bool(them)

    def _folder(self, out: Path, acknowledged: Mapping[int, str]) -> RunFolder | None:
        """The run that there is; None while there is nothing to go on with, and then nothing had been acknowledged."""
        found = [RunFolder(path) for path in out.iterdir()] if out.is_dir() else []
        self.expect(len(found) <= 1, f"more than one run in {out}")
        if found and found[0].ledger.is_file():
            with suppress(LawbookError), Ledger.open(found[0].ledger, readonly=True) as ledger:
                if len(ledger):
                    return found[0]
        self.expect(not acknowledged, f"what was acknowledged is gone: {acknowledged}")
        return None

    def _stands(self, folder: RunFolder, acknowledged: Mapping[int, str], when: str) -> None:
        """The chain holds, and every acknowledged observation is where it was."""
        with Ledger.open(folder.ledger, readonly=True) as ledger:
            self.expect(ledger.check() is None, f"{when}: {ledger.check()}")
            hashes = {event.seq: event.hash for event in ledger.read_events([EventKind.OBSERVE])}
        lost = [seq for seq, head in acknowledged.items() if hashes.get(seq) != head]
        self.expect(not lost, f"{when}: acknowledged events {lost} of {folder.path} are gone or other")

    def _settled(self, folder: RunFolder, corrupted: bool) -> None:
        """A finished run holds in a strict audit (every action once, the world played again frame by frame), and left nothing."""
        if corrupted:
            rebuild_git_memory(folder)
        found = audit_run(folder, strict=True)
        wrong = [line for line in found.lines if line.ok is False]
        self.expect(not wrong, f"{folder.path}: {wrong}")
        self.counts["runs"] += 1

    def _tidy(self, out: Path) -> None:
        """A run that has ended lies in its folder as it should, and nothing else does."""
        (folder,) = out.iterdir()
        more = {path.name for path in folder.iterdir()} - {"run.toml", "ledger.sqlite", "ledger.sqlite.lock", "memory"}
        self.expect(not more, f"{folder} holds {more} as well")

    def after(self, playing: Playing) -> None:
        """Nothing stays of a player that has ended: no process, no temporary file. Shared memory has no name and dies with them."""
        playing.close()
        left = survivors()
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.expect(not left, f"these are still there {LINGER:g} s later: {left}")
        files = list(self._temporary.iterdir())
        self.expect(not files, f"temporary files stay: {files}")

    def expect(self, truth: bool, else_: str) -> None:
        if not truth:
            raise WrongError(else_)


def _events(folder: RunFolder) -> list[Event]:
    with Ledger.open(folder.ledger, readonly=True) as ledger:
        return list(ledger)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300, help="how many must land (default: 300)")
    parser.add_argument("--seed", type=int, default=0, help="of everything that is drawn (default: 0)")
    parser.add_argument("--stories", default=",".join(STORIES), help=f"of {', '.join(STORIES)} (default: all)")
    parser.add_argument("--keep", action="store_true", help="keep the folder of a run that went wrong")
    given = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="torture-"))
    torture = Torture(given.seed, home, lambda line: print(line, flush=True))
    began = time.monotonic()
    try:
        print(f"runs lie on a {'file system of their own' if torture.own_disk else 'disk that cannot be filled'}", flush=True)
        torture.kills(given.kills, given.stories.split(","))
    except WrongError as wrong:
        print(f"WRONG (seed {given.seed}, {dict(torture.counts)}): {wrong}", file=sys.stderr)
        if given.keep:
            print(f"kept in {home}", file=sys.stderr)
        return 1
    finally:
        torture.close()
        if not given.keep:
            shutil.rmtree(home, ignore_errors=True)
    counts = dict(torture.counts)
    print(
        f"{counts.pop('kills')} kills in {counts.pop('runs')} runs, {time.monotonic() - began:.0f} s: nothing lost or sent twice,"
    )
    print(f"and every run ended as one that nobody disturbed. {json.dumps(counts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
