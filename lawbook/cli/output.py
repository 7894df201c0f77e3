"""What several commands do with what they made: print it, or write it where it was asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from rich.text import Text

from lawbook.errors import UsageError
from lawbook.view.console import Terminal


def print_lines(lines: Iterable[Text]) -> None:
    """Print lines to stdout, styled where a terminal reads them."""
    console = Terminal(file=sys.stdout, highlight=False)
    for line in lines:
        console.print(line, soft_wrap=True)


def write_output(path: Path, content: str | bytes) -> None:
    """Write a file and print where it lies. Raises UsageError when it cannot be written."""
    try:
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}); choose another place.") from error
    print(path)
