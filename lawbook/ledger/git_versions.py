"""The memory of versions: a git repository that keeps every accepted version addressable. Derived from the ledger."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path
from time import monotonic, sleep
from typing import NamedTuple

from lawbook.core.hypothesis import RULEBOOK, Hypothesis
from lawbook.errors import LawbookError, UsageError

_TAG = re.compile(r"m(\d+)-i(\d+)")
_WHO = b"Lawbook <lawbook@localhost>"
_BRANCH = "refs/heads/main"
_PATIENCE = 1.0
"""Seconds a lock file may still belong to a git that is about to end. Nobody else writes here: the ledger's lock sees to that."""
_SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.autocrlf": "false",
    "gc.auto": "0",
    "init.defaultBranch": "main",
    "advice.detachedHead": "false",
}


class Saved(NamedTuple):
    """One accepted iteration of one member, as the ledger tells it. time: seconds since 1970 (whole seconds reach the commit)."""

    member: int
    iteration: int
    hypothesis: Hypothesis
    message: str
    time: float

    @property
    def tag(self) -> str:
        return f"m{self.member}-i{self.iteration}"


class Entry(NamedTuple):
    """One line of the history: tag, commit id, time of acceptance in seconds since 1970, message."""

    tag: str
    commit: str
    time: int
    message: str


class GitMemory:
    """A folder with `m0/world_model.md`, `m0/world_model_engine.py`, ... (`m1/` with a population): the versions accepted last.

    One commit and one tag (`m0-i3`) an accepted iteration, in one line of history. Ids are a function of what was saved, in order:
    a rebuild from the ledger gives the same ones. The user's own git configuration and hooks play no part.
    """

    def __init__(self, path: Path) -> None:
        """The repository at `path`; made when something is first saved. Raises UsageError where git is not installed."""
        self.path = Path(path)
        if shutil.which("git") is None:
            raise UsageError("Versions are kept with git, which is not installed; install it (Debian: apt install git).")
        self._environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": "/nonexistent",
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_CONFIG_COUNT": str(len(_SETTINGS)),
            # Named outright, so that git never goes looking for a repository in the folders above.
            "GIT_DIR": str(self.path.resolve() / ".git"),
            "GIT_WORK_TREE": str(self.path.resolve()),
            **{f"GIT_CONFIG_KEY_{i}": name for i, name in enumerate(_SETTINGS)},
            **{f"GIT_CONFIG_VALUE_{i}": value for i, value in enumerate(_SETTINGS.values())},
        }

    def save(self, member: int, hypothesis: Hypothesis, iteration: int, message: str, time: float) -> str:
        """Commit and tag one iteration accepted at `time`; returns the commit id. Saved again after a crash it is the same commit.

        Raises LawbookError when the tag stands for something else already, or git fails: then `rebuild` from the ledger.
        """
        saved = Saved(member, iteration, hypothesis, message, time)
        head, there = self._id(_BRANCH), self._id(f"refs/tags/{saved.tag}")
        if there is None:
            self._import(head, [saved])
        elif self.load(saved.tag) != hypothesis:
            raise LawbookError(
                f"The memory {self.path} has another {saved.tag} than the ledger; it must be rebuilt from the ledger."
            )
        if there is None or self._id(f"{there}^") == head:
            # The tag comes first, the branch and the files follow: a crash in between is finished here.
            self._git("reset", "--quiet", "--hard", saved.tag)
        return there or str(self._id(saved.tag))

    def load(self, tag: str) -> Hypothesis:
        """The hypothesis that was saved under `tag`. Raises UsageError when there is none."""
        folder = self._folder(tag)
        files: dict[str, str] = {}
        with tarfile.open(fileobj=io.BytesIO(self._git("archive", "--format=tar", tag, folder))) as archive:
            for item in archive:
                content = archive.extractfile(item)
                if content is not None:
                    files[item.name.removeprefix(f"{folder}/")] = content.read().decode("utf-8", "surrogatepass")
        return Hypothesis(files.pop(RULEBOOK, ""), files)

    def diff(self, old: str, new: str) -> str:
        """What changed from one tag to another, as git shows it; of two members too. Raises UsageError for an unknown tag."""
        options = ("--no-color", "--no-ext-diff", "--no-textconv")
        return self._git("diff", *options, f"{old}:{self._folder(old)}", f"{new}:{self._folder(new)}").decode("utf-8", "replace")

    def log(self) -> list[Entry]:
        """Everything saved, oldest first."""
        if not (self.path / ".git").exists():
            return []
        out = self._git(
            "log", "--tags", "--topo-order", "--reverse", "-z", "--decorate-refs=refs/tags/", "--format=%H%n%ct%n%D%n%B"
        )
        entries = []
        for block in out.decode("utf-8", "replace").split("\0"):
            if block:
                commit, when, tag, message = block.split("\n", 3)
                entries.append(Entry(tag.removeprefix("tag: "), commit, int(when), message.rstrip("\n")))
        return entries

    def differs(self, versions: Iterable[Saved]) -> str | None:
        """In what this is not the repository that `versions` make, as a sentence; None when it is that one.

        Changes nothing, and lets git run nothing that a configuration or attributes found there might name.
        """
        every = list(versions)
        if not every and not self.path.exists():
            return None
        with tempfile.TemporaryDirectory() as folder:
            made = GitMemory.rebuild(Path(folder) / "memory", every)
            ours, theirs = made._references(), self._references()
            files, found = made._files(), self._files()
        for name in sorted({*ours, *theirs}):
            if ours.get(name) != theirs.get(name):
                how = "is missing" if name not in theirs else "is not in the ledger" if name not in ours else "is another commit"
                return f"{name.removeprefix('refs/tags/')} {how}"
        if every and (broken := self._run("fsck", "--full", "--no-dangling", "--no-progress")).returncode:
            return f"git finds it damaged ({_first_line(broken.stderr + broken.stdout)})"
        changed = sorted({*files.items()} ^ {*found.items()})
        return f"{changed[0][0]} is not as it was accepted last" if changed else None

    def _references(self) -> dict[str, str]:
        """What every branch and tag points at, and HEAD by name."""
        if not (self.path / ".git").exists():
            return {}
        told = self._run("for-each-ref", "--format=%(refname) %(objectname)").stdout.decode("utf-8", "replace")
        head = self._run("symbolic-ref", "HEAD").stdout.decode("utf-8", "replace").strip() if told else ""
        return dict(line.rsplit(" ", 1) for line in told.splitlines()) | ({"HEAD": head} if head else {})

    def _files(self) -> dict[str, bytes]:
        """Everything that lies in the folder, without what git keeps; of a link only that it is one."""
        found = {}
        for path in self.path.rglob("*"):
            name = path.relative_to(self.path)
            if name.parts[0] != ".git" and (path.is_symlink() or not path.is_dir()):
                found[str(name)] = path.read_bytes() if path.is_file() and not path.is_symlink() else b"\0link"
        return found

    @classmethod
    def rebuild(cls, path: Path, versions: Iterable[Saved]) -> GitMemory:
        """The repository at `path`, made anew from what the ledger tells, in order; what was there is replaced at the very end."""
        memory, every = cls(path), list(versions)
        fresh, old = cls(path.with_name(f"{path.name}.rebuilt")), path.with_name(f"{path.name}.replaced")
        shutil.rmtree(fresh.path, ignore_errors=True)
        fresh.path.mkdir(parents=True)
        if every:
            fresh._import(None, every)
            fresh._git("reset", "--quiet", "--hard", every[-1].tag)
        shutil.rmtree(old, ignore_errors=True)
        if memory.path.exists():
            memory.path.rename(old)
        fresh.path.rename(memory.path)
        shutil.rmtree(old, ignore_errors=True)
        return memory

    def _import(self, parent: str | None, versions: Iterable[Saved]) -> None:
        """Commits and tags, in one process that publishes nothing before all of it is written."""
        if not (self.path / ".git" / "HEAD").exists():
            self.path.mkdir(parents=True, exist_ok=True)
            self._git("init", "--quiet", "--template=")
        stream = io.BytesIO()
        for number, saved in enumerate(versions, start=1):
            files = {RULEBOOK: saved.hypothesis.rulebook, **saved.hypothesis.files}
            stamp = b"%s %d +0000" % (_WHO, int(saved.time))
            stream.write(b"commit refs/tags/%s\nmark :%d\n" % (saved.tag.encode(), number))
            stream.write(b"author %s\ncommitter %s\n" % (stamp, stamp))
            stream.write(_data(saved.message.replace("\0", " ").encode("utf-8", "replace")))
            before = f":{number - 1}" if number > 1 else parent
            if before:
                stream.write(b"from %s\n" % before.encode())
            stream.write(b"D m%d\n" % saved.member)
            for name, text in sorted(files.items()):
                stream.write(b"M 100644 inline m%d/%s\n" % (saved.member, name.encode()))
                stream.write(_data(text.encode("utf-8", "surrogatepass")))
        self._git("fast-import", "--quiet", "--done", feed=stream.getvalue() + b"done\n")

    def _id(self, name: str) -> str | None:
        found = self._run("rev-parse", "--quiet", "--verify", f"{name}^{{commit}}")
        return found.stdout.decode().strip() or None if found.returncode == 0 else None

    def _folder(self, tag: str) -> str:
        match = _TAG.fullmatch(tag)
        if match is None or self._id(f"refs/tags/{tag}") is None:
            raise UsageError(f"There is no version {tag!r} in {self.path}; versions are named like m0-i3.")
        return f"m{match[1]}"

    def _git(self, *arguments: str, feed: bytes = b"") -> bytes:
        """Standard output of one git command. Raises LawbookError when it fails."""
        done = self._run(*arguments, feed=feed)
        if done.returncode != 0 and b".lock" in done.stderr:
            self._break_locks()
            done = self._run(*arguments, feed=feed)
        if done.returncode != 0:
            said = _first_line(done.stderr) or f"exit code {done.returncode}"
            raise LawbookError(f"git {arguments[0]} failed in {self.path} ({said}); the memory can be rebuilt from the ledger.")
        return done.stdout

    def _run(self, *arguments: str, feed: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["git", *arguments],
            input=feed,
            capture_output=True,
            env=self._environment,
            cwd=self.path if self.path.exists() else None,
        )

    def _break_locks(self) -> None:
        """Remove lock files that a dead git has left, once a live one has had the time to end."""
        inside = self.path / ".git"
        deadline = monotonic() + _PATIENCE
        while locks := [*inside.glob("*.lock"), *(inside / "refs").rglob("*.lock")]:
            if monotonic() > deadline:
                for lock in locks:
                    lock.unlink(missing_ok=True)
                return
            sleep(0.05)


def _first_line(said: bytes) -> str:
    return next(iter(said.decode("utf-8", "replace").strip().splitlines()), "")


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)
