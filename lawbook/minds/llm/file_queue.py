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
from lawbook.minds.llm.language_mind import LLMMind
from lawbook.minds.llm.model import ModelError, ModelReply, Request

TIMEOUT_SECONDS = 24 * 3600.0
SETTLE_SECONDS = 0.5
"""Seconds for which an answer's file must have stayed as it is before it is read: a writer that is slower renames."""
POLL_SECONDS = 0.1
ANSWER_SUFFIXES = ("json", "md", "txt")

_REQUEST = re.compile(r"(\d{3,9})-(\w+)\.request\.md")


@dataclass
class FileQueueModel:
    """A Model whose answers are files in `folder`. timeout: seconds to wait for one; notify: says once a request where it waits.

    For NNN-OP.request.md (the whole request), NNN-OP.schema.json (a JSON schema of the answer) and NNN-OP.N.png (pictures) the
    answer is NNN-OP.answer.md or .txt (plain text in the form the request asks for) or .json (an object of the schema).
    """

    folder: Path
    timeout: float = TIMEOUT_SECONDS
    notify: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True)
    supports_tools = False
    supports_images = True

    def __post_init__(self) -> None:
        self.name = f"files:{self.folder}"
        self._last_number = 0

    def ask(self, request: Request) -> ModelReply:
        """Write the request, wait for its answer. Raises ModelError when none came in time."""
        started_at = time.monotonic()
        try:
            stem = self._write_request(request)
            answer_file = self._wait_for_answer(stem)
        except OSError as error:
            raise ModelError(
                f"The folder {self.folder} cannot be used ({error.strerror}); make it writable, then resume."
            ) from error
        text = answer_file.read_text(encoding="utf-8", errors="replace")
        return ModelReply(text, {"model": self.name, "seconds": round(time.monotonic() - started_at, 3), "file": answer_file.name})

    def _write_request(self, request: Request) -> Path:
        """The request as files, and their path without an ending. One that was written before a crash is not written again."""
        self.folder.mkdir(parents=True, exist_ok=True)
        text = _format_request(request)
        numbers = sorted(
            (int(name_match[1]), name_match[2]) for path in self.folder.iterdir() if (name_match := _REQUEST.fullmatch(path.name))
        )
        last_number, last_op = numbers[-1] if numbers else (0, "")
        stem = self.folder / f"{last_number:03d}-{last_op}"
        if (
            last_number > self._last_number
            and last_op == request.op
            and _add_suffix(stem, "request.md").read_text(encoding="utf-8") == text
        ):
            self._last_number = last_number
            return stem
        self._last_number = last_number + 1
        stem = self.folder / f"{self._last_number:03d}-{request.op}"
        for number, image in enumerate(request.images, 1):
            _write_atomically(_add_suffix(stem, f"{number}.png"), image.png)
        _write_atomically(_add_suffix(stem, "schema.json"), (json.dumps(request.schema, indent=1) + "\n").encode())
        _write_atomically(_add_suffix(stem, "request.md"), text.encode("utf-8", "replace"))  # the last: whoever sees it can answer
        return stem

    def _wait_for_answer(self, stem: Path) -> Path:
        """The answer's file, once it is there, whole and has settled."""
        paths = [_add_suffix(stem, f"answer.{kind}") for kind in ANSWER_SUFFIXES]
        has_notified = False
        deadline = time.monotonic() + self.timeout
        previous: tuple[Path, int, int] | None = None
        since = 0.0
        while time.monotonic() < deadline:
            current = next(
                ((path, status.st_size, status.st_mtime_ns) for path in paths if (status := _try_stat(path)) and status.st_size),
                None,
            )
            if current is not None:
                if current != previous:
                    previous, since = current, time.monotonic()
                is_old = time.time() - current[2] / 1e9 >= SETTLE_SECONDS  # it lay there before we came
                if (is_old or time.monotonic() - since >= SETTLE_SECONDS) and _is_complete(current[0]):
                    return current[0]
            elif not has_notified:
                has_notified = True
                self.notify(f"lawbook: waiting for {paths[1]} (or .json, .txt)")
            time.sleep(POLL_SECONDS)
        raise ModelError(
            f"No answer to {_add_suffix(stem, 'request.md')} came within {self.timeout:g} s; write it, then resume the run."
        )


def _format_request(request: Request) -> str:
    """The request as one page of Markdown."""
    captions = "".join(f"\n\n(picture {k}: {image.caption})" for k, image in enumerate(request.images, 1))
    return f"{request.system.rstrip()}\n\n{request.text.rstrip()}{captions}\n"


def _add_suffix(stem: Path, suffix: str) -> Path:
    return stem.with_name(f"{stem.name}.{suffix}")


def _try_stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _is_complete(path: Path) -> bool:
    """Is it all there? A JSON object that does not parse may still be being written, for a while."""
    if path.suffix != ".json":
        return True
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return time.time() - path.stat().st_mtime > 10 * SETTLE_SECONDS
    return True


def _write_atomically(path: Path, content: bytes) -> None:
    """Atomically: a reader sees the whole file or none."""
    partial = path.with_name(f".{path.name}.part")
    partial.write_bytes(content)
    partial.replace(path)


class FileQueueSource:
    """The entry point `files`."""

    summary = "Each request as a file in a folder, answered by any agent, person or queue: --mind files:DIR."
    pictures = True

    def names(self) -> Iterable[tuple[str, str]]:
        return [("files:DIR", "?timeout=SECONDS to wait for an answer (default: a day)")]

    def make(self, argument: str, *, images: bool = False) -> LLMMind:
        return LLMMind(f"files:{argument}", make_file_queue_model(argument), images=images)


def make_file_queue_model(argument: str) -> FileQueueModel:
    """From `DIR` or `DIR?timeout=SECONDS`. Raises UsageError."""
    folder, _, query = argument.partition("?")
    if not folder:
        raise UsageError("The mind files needs a folder: --mind files:DIR.")
    timeout = TIMEOUT_SECONDS
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
    return FileQueueModel(path, timeout)


SOURCE = FileQueueSource()
