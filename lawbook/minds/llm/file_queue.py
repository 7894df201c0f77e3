"""A mind by hand: every request is written as a file, and any agent, person or queue writes the answer next to it."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl

from lawbook.errors import UsageError
from lawbook.minds.llm.language_mind import LanguageMind
from lawbook.minds.llm.model import ModelError, Reply, Request

TIMEOUT = 24 * 3600.0
SETTLED = 0.5
"""Seconds for which an answer's file must have stayed as it is before it is read: a writer that is slower renames."""
POLL = 0.1
ANSWERS = ("json", "md", "txt")

_REQUEST = re.compile(r"(\d{3,9})-(\w+)\.request\.md")


@dataclass
class FilesModel:
    """A Model whose answers are files in `folder`. timeout: seconds to wait for one; tell: says once a request where it waits.

    For NNN-OP.request.md (the whole request), NNN-OP.schema.json (a JSON schema of the answer) and NNN-OP.N.png (pictures) the
    answer is NNN-OP.answer.md or .txt (plain text in the form the request asks for) or .json (an object of the schema).
    """

    folder: Path
    timeout: float = TIMEOUT
    tell: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True)
    tools = False
    pictures = True

    def __post_init__(self) -> None:
        self.name = f"files:{self.folder}"
        self._asked = 0

    def ask(self, request: Request) -> Reply:
        """Write the request, wait for its answer. Raises ModelError when none came in time."""
        began = time.monotonic()
        try:
            stem = self._written(request)
            found = self._awaited(stem)
        except OSError as error:
            raise ModelError(
                f"The folder {self.folder} cannot be used ({error.strerror}); make it writable, then resume."
            ) from error
        text = found.read_text(encoding="utf-8", errors="replace")
        return Reply(text, {"model": self.name, "seconds": round(time.monotonic() - began, 3), "file": found.name})

    def _written(self, request: Request) -> Path:
        """The request as files, and their path without an ending. One that was written before a crash is not written again."""
        self.folder.mkdir(parents=True, exist_ok=True)
        text = _page(request)
        numbers = sorted((int(found[1]), found[2]) for path in self.folder.iterdir() if (found := _REQUEST.fullmatch(path.name)))
        last, op = numbers[-1] if numbers else (0, "")
        stem = self.folder / f"{last:03d}-{op}"
        if last > self._asked and op == request.op and _ending(stem, "request.md").read_text(encoding="utf-8") == text:
            self._asked = last
            return stem
        self._asked = last + 1
        stem = self.folder / f"{self._asked:03d}-{request.op}"
        for number, picture in enumerate(request.pictures, 1):
            _write(_ending(stem, f"{number}.png"), picture.png)
        _write(_ending(stem, "schema.json"), (json.dumps(request.schema, indent=1) + "\n").encode())
        _write(_ending(stem, "request.md"), text.encode("utf-8", "replace"))  # the last: whoever sees it can answer
        return stem

    def _awaited(self, stem: Path) -> Path:
        """The answer's file, once it is there, whole and has settled."""
        places = [_ending(stem, f"answer.{kind}") for kind in ANSWERS]
        told = False
        until = time.monotonic() + self.timeout
        before: tuple[Path, int, int] | None = None
        since = 0.0
        while time.monotonic() < until:
            seen = next(((path, at.st_size, at.st_mtime_ns) for path in places if (at := _stat(path)) and at.st_size), None)
            if seen is not None:
                if seen != before:
                    before, since = seen, time.monotonic()
                aged = time.time() - seen[2] / 1e9 >= SETTLED  # it lay there before we came
                if (aged or time.monotonic() - since >= SETTLED) and _whole(seen[0]):
                    return seen[0]
            elif not told:
                told = True
                self.tell(f"lawbook: waiting for {places[1]} (or .json, .txt)")
            time.sleep(POLL)
        raise ModelError(
            f"No answer to {_ending(stem, 'request.md')} came within {self.timeout:g} s; write it, then resume the run."
        )


def _page(request: Request) -> str:
    """The request as one page of Markdown."""
    shown = "".join(f"\n\n(picture {k}: {picture.caption})" for k, picture in enumerate(request.pictures, 1))
    return f"{request.system.rstrip()}\n\n{request.text.rstrip()}{shown}\n"


def _ending(stem: Path, ending: str) -> Path:
    return stem.with_name(f"{stem.name}.{ending}")


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _whole(path: Path) -> bool:
    """Is it all there? A JSON object that does not parse may still be being written, for a while."""
    if path.suffix != ".json":
        return True
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return time.time() - path.stat().st_mtime > 10 * SETTLED
    return True


def _write(path: Path, content: bytes) -> None:
    """Atomically: a reader sees the whole file or none."""
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(content)
    part.replace(path)


class FilesSource:
    """The entry point `files`."""

    summary = "Each request as a file in a folder, answered by any agent, person or queue: --mind files:DIR."
    pictures = True

    def names(self) -> Iterable[tuple[str, str]]:
        return [("files:DIR", "?timeout=SECONDS to wait for an answer (default: a day)")]

    def make(self, argument: str, *, images: bool = False) -> LanguageMind:
        return LanguageMind(f"files:{argument}", files_model(argument), images=images)


def files_model(argument: str) -> FilesModel:
    """From `DIR` or `DIR?timeout=SECONDS`. Raises UsageError."""
    folder, _, query = argument.partition("?")
    if not folder:
        raise UsageError("The mind files needs a folder: --mind files:DIR.")
    timeout = TIMEOUT
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name != "timeout":
            raise UsageError(f"The mind files has no option {name!r}; it takes timeout=SECONDS.")
        try:
            timeout = float(value)
        except ValueError:
            timeout = 0.0
        if not 0 < timeout <= 1e9:
            raise UsageError(f"timeout is a number of seconds above 0, not {value!r}.")
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise UsageError(f"{folder} is no folder; name one for --mind files:DIR.")
    return FilesModel(path, timeout)


SOURCE = FilesSource()
