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
_AUTHOR = b"Lawbook <lawbook@localhost>"
_BRANCH = "refs/heads/main"
_LOCK_SECONDS = 1.0
"""Seconds a lock file may still belong to a git that is about to end. Nobody else writes here: the ledger's lock sees to that."""
_SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.autocrlf": "false",
    "gc.auto": "0",
    "init.defaultBranch": "main",
    "advice.detachedHead": "false",
}


class AcceptedVersion(NamedTuple):
    """One accepted iteration of one member, as the ledger tells it. time: seconds since 1970 (whole seconds reach the commit)."""

    member: int
    iteration: int
    hypothesis: Hypothesis
    message: str
    time: float

    @property
    def tag(self) -> str:
        return f"m{self.member}-i{self.iteration}"


class VersionEntry(NamedTuple):
    """One line of the history: tag, commit id, time of acceptance in seconds since 1970, message."""

    tag: str
    commit: str
    time: int
    message: str


class GitVersions:
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
        version = AcceptedVersion(member, iteration, hypothesis, message, time)
        head, commit = self._resolve_commit(_BRANCH), self._resolve_commit(f"refs/tags/{version.tag}")
        if commit is None:
            self._import_versions(head, [version])
        elif self.load(version.tag) != hypothesis:
            raise LawbookError(
                f"The memory {self.path} has another {version.tag} than the ledger; it must be rebuilt from the ledger."
            )
        if commit is None or self._resolve_commit(f"{commit}^") == head:
            # The tag comes first, the branch and the files follow: a crash in between is finished here.
            self._run_checked("reset", "--quiet", "--hard", version.tag)
        return commit or str(self._resolve_commit(version.tag))

    def load(self, tag: str) -> Hypothesis:
        """Load the hypothesis that was saved under `tag`. Raises UsageError when there is none."""
        folder = self._find_folder(tag)
        files: dict[str, str] = {}
        with tarfile.open(fileobj=io.BytesIO(self._run_checked("archive", "--format=tar", tag, folder))) as archive:
            for item in archive:
                content = archive.extractfile(item)
                if content is not None:
                    files[item.name.removeprefix(f"{folder}/")] = content.read().decode("utf-8", "surrogatepass")
        return Hypothesis(files.pop(RULEBOOK, ""), files)

    def diff(self, old: str, new: str) -> str:
        """Return what changed from one tag to another, as git shows it; of two members too.

        Raises UsageError for an unknown tag.
        """
        options = ("--no-color", "--no-ext-diff", "--no-textconv")
        return self._run_checked("diff", *options, f"{old}:{self._find_folder(old)}", f"{new}:{self._find_folder(new)}").decode(
            "utf-8", "replace"
        )

    def log(self) -> list[VersionEntry]:
        """List everything saved, oldest first."""
        if not (self.path / ".git").exists():
            return []
        output = self._run_checked(
            "log", "--tags", "--topo-order", "--reverse", "-z", "--decorate-refs=refs/tags/", "--format=%H%n%ct%n%D%n%B"
        )
        entries = []
        for block in output.decode("utf-8", "replace").split("\0"):
            if block:
                commit, timestamp, tag, message = block.split("\n", 3)
                entries.append(VersionEntry(tag.removeprefix("tag: "), commit, int(timestamp), message.rstrip("\n")))
        return entries

    def describe_difference(self, versions: Iterable[AcceptedVersion]) -> str | None:
        """Say in a sentence in what this is not the repository that `versions` make; None when it is that one.

        Changes nothing, and lets git run nothing that a configuration or attributes found there might name.
        """
        accepted = list(versions)
        if not accepted and not self.path.exists():
            return None
        with tempfile.TemporaryDirectory() as folder:
            rebuilt = GitVersions.rebuild(Path(folder) / "memory", accepted)
            expected_refs, actual_refs = rebuilt._read_references(), self._read_references()
            expected_files, actual_files = rebuilt._read_files(), self._read_files()
        for name in sorted({*expected_refs, *actual_refs}):
            if expected_refs.get(name) != actual_refs.get(name):
                difference = (
                    "is missing"
                    if name not in actual_refs
                    else "is not in the ledger"
                    if name not in expected_refs
                    else "is another commit"
                )
                return f"{name.removeprefix('refs/tags/')} {difference}"
        if accepted and (fsck := self._run("fsck", "--full", "--no-dangling", "--no-progress")).returncode:
            return f"git finds it damaged ({_get_first_line(fsck.stderr + fsck.stdout)})"
        changed = sorted({*expected_files.items()} ^ {*actual_files.items()})
        return f"{changed[0][0]} is not as it was accepted last" if changed else None

    def _read_references(self) -> dict[str, str]:
        """What every branch and tag points at, and HEAD by name."""
        if not (self.path / ".git").exists():
            return {}
        output = self._run("for-each-ref", "--format=%(refname) %(objectname)").stdout.decode("utf-8", "replace")
        head = self._run("symbolic-ref", "HEAD").stdout.decode("utf-8", "replace").strip() if output else ""
        return dict(line.rsplit(" ", 1) for line in output.splitlines()) | ({"HEAD": head} if head else {})

    def _read_files(self) -> dict[str, bytes]:
        """Everything that lies in the folder, without what git keeps; of a link only that it is one."""
        files = {}
        for path in self.path.rglob("*"):
            name = path.relative_to(self.path)
            if name.parts[0] != ".git" and (path.is_symlink() or not path.is_dir()):
                files[str(name)] = path.read_bytes() if path.is_file() and not path.is_symlink() else b"\0link"
        return files

    @classmethod
    def rebuild(cls, path: Path, versions: Iterable[AcceptedVersion]) -> GitVersions:
        """Make the repository at `path` anew from what the ledger tells, in order; what was there is replaced at the very end."""
        repository, accepted = cls(path), list(versions)
        fresh, old = cls(path.with_name(f"{path.name}.rebuilt")), path.with_name(f"{path.name}.replaced")
        shutil.rmtree(fresh.path, ignore_errors=True)
        fresh.path.mkdir(parents=True)
        if accepted:
            fresh._import_versions(None, accepted)
            fresh._run_checked("reset", "--quiet", "--hard", accepted[-1].tag)
        shutil.rmtree(old, ignore_errors=True)
        if repository.path.exists():
            repository.path.rename(old)
        fresh.path.rename(repository.path)
        shutil.rmtree(old, ignore_errors=True)
        return repository

    def _import_versions(self, parent: str | None, versions: Iterable[AcceptedVersion]) -> None:
        """Commits and tags, in one process that publishes nothing before all of it is written."""
        if not (self.path / ".git" / "HEAD").exists():
            self.path.mkdir(parents=True, exist_ok=True)
            self._run_checked("init", "--quiet", "--template=")
        stream = io.BytesIO()
        for number, version in enumerate(versions, start=1):
            files = {RULEBOOK: version.hypothesis.rulebook, **version.hypothesis.files}
            stamp = b"%s %d +0000" % (_AUTHOR, int(version.time))
            stream.write(b"commit refs/tags/%s\nmark :%d\n" % (version.tag.encode(), number))
            stream.write(b"author %s\ncommitter %s\n" % (stamp, stamp))
            stream.write(_format_data(version.message.replace("\0", " ").encode("utf-8", "replace")))
            parent_ref = f":{number - 1}" if number > 1 else parent
            if parent_ref:
                stream.write(b"from %s\n" % parent_ref.encode())
            stream.write(b"D m%d\n" % version.member)
            for name, text in sorted(files.items()):
                stream.write(b"M 100644 inline m%d/%s\n" % (version.member, name.encode()))
                stream.write(_format_data(text.encode("utf-8", "surrogatepass")))
        self._run_checked("fast-import", "--quiet", "--done", stdin=stream.getvalue() + b"done\n")

    def _resolve_commit(self, name: str) -> str | None:
        result = self._run("rev-parse", "--quiet", "--verify", f"{name}^{{commit}}")
        return result.stdout.decode().strip() or None if result.returncode == 0 else None

    def _find_folder(self, tag: str) -> str:
        match = _TAG.fullmatch(tag)
        if match is None or self._resolve_commit(f"refs/tags/{tag}") is None:
            raise UsageError(f"There is no version {tag!r} in {self.path}; versions are named like m0-i3.")
        return f"m{match[1]}"

    def _run_checked(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Standard output of one git command. Raises LawbookError when it fails."""
        result = self._run(*arguments, stdin=stdin)
        if result.returncode != 0 and b".lock" in result.stderr:
            self._break_locks()
            result = self._run(*arguments, stdin=stdin)
        if result.returncode != 0:
            message = _get_first_line(result.stderr) or f"exit code {result.returncode}"
            raise LawbookError(f"git {arguments[0]} failed in {self.path} ({message}); the memory can be rebuilt from the ledger.")
        return result.stdout

    def _run(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["git", *arguments],
            input=stdin,
            capture_output=True,
            env=self._environment,
            cwd=self.path if self.path.exists() else None,
        )

    def _break_locks(self) -> None:
        """Remove lock files that a dead git has left, once a live one has had the time to end."""
        git_folder = self.path / ".git"
        deadline = monotonic() + _LOCK_SECONDS
        while locks := [*git_folder.glob("*.lock"), *(git_folder / "refs").rglob("*.lock")]:
            if monotonic() > deadline:
                for lock in locks:
                    lock.unlink(missing_ok=True)
                return
            sleep(0.05)


def _get_first_line(output: bytes) -> str:
    return next(iter(output.decode("utf-8", "replace").strip().splitlines()), "")


def _format_data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)
