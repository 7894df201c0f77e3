"""The folder an agent works in, read and written without trusting anything in it."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

from lawbook.core.hypothesis import ENGINE, MAX_BYTES, MAX_FILES, RULEBOOK, Hypothesis
from lawbook.errors import RefusedError, UsageError

FIDELITY = "fidelity.md"
"""Where the agent says, rule by rule, how its program keeps to its rulebook."""
SOCKET = ".law.sock"
"""The door of the workspace: a Unix socket that only its owner can open."""
PERCEPTION = "perception.py"
"""Ours, for the agent's own scripts; the host offers it to programs by itself."""

MAX_FOLDERS = 8
"""In each other, that a file may lie in."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([A-Za-z_]\w*)|import[ \t]+([^#;\n]+))", re.MULTILINE)
_NOFOLLOW = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
"""No link is followed, and a pipe put in place of a file does not hold us up."""


class Workspace:
    """One folder. Everything goes through a descriptor of it, so that moving it or putting a link in its place changes nothing.

    Only plain files in it are read, up to a size. What is written takes the place of whatever had the name, at once and
    whole, and never goes through a link. Raises UsageError when it cannot be made or opened.
    """

    def __init__(self, path: Path) -> None:
        try:
            path.mkdir(parents=True, exist_ok=True)
            self.path = path.resolve(strict=True)
            self._descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise UsageError(f"{path} cannot be a workspace ({error.strerror}); name a folder that can be written.") from error

    @classmethod
    def from_descriptor(cls, descriptor: int) -> Self:
        """The folder that is open at this descriptor, which from now on is the workspace's to close."""
        workspace = cls.__new__(cls)
        workspace.path, workspace._descriptor = Path(f"/proc/self/fd/{descriptor}"), descriptor
        return workspace

    @property
    def descriptor(self) -> int:
        return self._descriptor

    def has(self, name: str) -> bool:
        """Whether anything has that name, a broken link too."""
        try:
            os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
        except (OSError, ValueError):
            return False
        return True

    def read(self, name: str, max_bytes: int = MAX_BYTES) -> str:
        """The text of a file, UTF-8, at most `max_bytes` bytes; it may lie in a folder in here. Raises RefusedError with a sentence
        for everything else."""
        folders, base = _split_name(name)
        if not _NAME.fullmatch(base):
            raise RefusedError(f"{name[:99]!r} is no name of a file in your workspace; name one in it, such as notes/a.py.")
        with self._open_folder(folders, name) as folder_fd:
            try:
                file_fd = os.open(base, os.O_RDONLY | _NOFOLLOW, dir_fd=folder_fd)
            except FileNotFoundError:
                raise RefusedError(f"There is no {name} in your workspace; write it first.") from None
            except OSError as error:
                reason = "it is a link" if _is_link(base, folder_fd) else error.strerror
                raise RefusedError(f"{name} cannot be read ({reason}); make it a plain file.") from None
        try:
            if not stat.S_ISREG(os.fstat(file_fd).st_mode):
                raise RefusedError(f"{name} is no plain file; make it one.")
            with os.fdopen(file_fd, "rb", closefd=False) as stream:
                content = stream.read(max_bytes + 1)
        except OSError as error:
            raise RefusedError(f"{name} cannot be read ({error.strerror}); write it again.") from None
        finally:
            os.close(file_fd)
        if len(content) > max_bytes:
            raise RefusedError(f"{name} is longer than {max_bytes:,} bytes; make it shorter.")
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise RefusedError(f"{name} is not UTF-8 (byte {error.start:,}); write it as UTF-8 text.") from None

    def read_program(self) -> dict[str, str]:
        """The engine and every module of the workspace that it, or one of those, imports at the start of a line."""
        return self._add_modules({ENGINE: self.read(ENGINE)})

    def read_modules(self, source: str, *others: str) -> dict[str, str]:
        """What of the workspace a source imports, directly or by way of others, and the files `others` with theirs, as far as they
        are there and can be read."""
        files: dict[str, str] = {}
        names = [f"{module}.py" for module in _find_imported_modules(source)]
        for name in (*others, *names):
            if name != PERCEPTION and name not in files and self.has(name):
                with contextlib.suppress(RefusedError):
                    files |= self._add_modules({name: self.read(name)})
        return files

    def _add_modules(self, files: dict[str, str]) -> dict[str, str]:
        pending = list(files)
        while pending:
            for module in _find_imported_modules(files[pending.pop()]):
                file = f"{module}.py"
                if file in files or file == PERCEPTION or not self.has(file):
                    continue
                if len(files) == MAX_FILES:
                    raise RefusedError(f"The program has more than {MAX_FILES} files; keep them to {MAX_FILES}.")
                files[file] = self.read(file)
                pending.append(file)
        return files

    def read_hypothesis(self, *, rulebook: bool) -> Hypothesis:
        """What stands in the workspace now. rulebook: whether there has to be one (else it is empty)."""
        return Hypothesis(self.read(RULEBOOK) if rulebook else "", self.read_program())

    def write(self, name: str, content: str | bytes, *, executable: bool = False) -> None:
        """Put a file there, whole, in place of whatever has the name; a folder that it is to lie in has to be there. Raises
        RefusedError."""
        folders, base = _split_name(name)
        if not _NAME.fullmatch(base.lstrip(".")):
            raise RefusedError(f"{name[:99]!r} is no name for a file; use letters, digits, dots and underscores.")
        data = content.encode("utf-8", "replace") if isinstance(content, str) else content
        temporary_name = f".law-{secrets.token_hex(8)}"
        flags, mode = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW, 0o755 if executable else 0o644
        with self._open_folder(folders, name) as folder_fd:
            try:
                file_fd = os.open(temporary_name, flags, mode, dir_fd=folder_fd)
                try:
                    with os.fdopen(file_fd, "wb") as stream:
                        stream.write(data)
                    os.replace(temporary_name, base, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
                except BaseException:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(temporary_name, dir_fd=folder_fd)
                    raise
            except OSError as error:
                raise RefusedError(f"{name} cannot be written ({error.strerror}); make room for it in your workspace.") from None

    @contextlib.contextmanager
    def _open_folder(self, folders: Sequence[str], name: str) -> Iterator[int]:
        """A descriptor of a folder in the workspace, no link followed on the way. Raises RefusedError."""
        opened: list[int] = []
        try:
            for folder in folders:
                if not _NAME.fullmatch(folder):
                    raise RefusedError(f"{name[:99]!r} does not lie in your workspace; name a file in it, such as notes/a.py.")
                flags = os.O_RDONLY | os.O_DIRECTORY | _NOFOLLOW
                opened.append(os.open(folder, flags, dir_fd=opened[-1] if opened else self._descriptor))
            yield opened[-1] if opened else self._descriptor
        except OSError as error:
            raise RefusedError(f"{name} cannot be reached ({error.strerror}); its folders must be plain ones in here.") from None
        finally:
            for descriptor in opened:
                os.close(descriptor)

    def write_hypothesis(self, hypothesis: Hypothesis) -> None:
        """Put a rulebook and its program there."""
        for name, text in {RULEBOOK: hypothesis.rulebook, **hypothesis.files}.items():
            if text or name != RULEBOOK:
                self.write(name, text)

    def remove(self, name: str) -> None:
        """Take a file, a link or a socket away; nothing where there is none."""
        try:
            os.unlink(name, dir_fd=self._descriptor)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise RefusedError(f"{name} cannot be removed ({error.strerror}).") from None

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def find_changed_files(one: Hypothesis, two: Hypothesis) -> list[str]:
    """Names of the files in which two hypotheses differ, the rulebook first."""
    texts: list[Mapping[str, str]] = [{RULEBOOK: h.rulebook, **h.files} for h in (one, two)]
    return [name for name in dict.fromkeys((*texts[0], *texts[1])) if texts[0].get(name) != texts[1].get(name)]


def _find_imported_modules(source: str) -> list[str]:
    """Names of modules that a source imports, and some that it does not: over-reading does no harm."""
    modules: list[str] = []
    for one, several in _IMPORT.findall(source):
        modules += [one] if one else [re.split(r"[ \t.]", part.strip(), maxsplit=1)[0] for part in several.split(",")]
    return [name for name in dict.fromkeys(modules) if name.isidentifier() and len(name) <= 64]


def _split_name(name: str) -> tuple[list[str], str]:
    """(folders, name of the file) of a file that may lie in folders; a leading ./ aside."""
    *folders, base = name.removeprefix("./").split("/")
    return folders[:MAX_FOLDERS], base if len(folders) <= MAX_FOLDERS else ""


def _is_link(name: str, folder_fd: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder_fd, follow_symlinks=False).st_mode)
    except OSError:
        return False
