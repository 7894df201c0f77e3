"""Worlds and minds listed: every source with its summary and the names it knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.text import Text

from lawbook.cli.output import print_lines
from lawbook.errors import UsageError


def print_sources(
    kinds: Iterable[tuple[str, str]], load: Callable[[str], object], describe_missing: Callable[[str, object], str] = lambda *_: ""
) -> None:
    """Every kind with its summary and names. One that cannot be had is listed with the sentence that says why."""
    lines: list[Text] = []
    for kind, prefix in kinds:
        try:
            source = load(kind)
            names, summary = [(str(n), str(a)) for n, a in source.names()], str(source.summary)  # type: ignore[attr-defined]
            summary = " ".join(filter(None, (summary, describe_missing(kind, source))))
        except UsageError as error:
            names, summary = [], str(error)
        except Exception as error:  # somebody else's source: one that is broken does not hide the others
            names, summary = [], f"could not be listed ({type(error).__name__}: {error})"
        lines.append(Text.assemble((f"{kind}: " if prefix else f"{kind}  ", "bold"), summary))
        lines += [Text.assemble(f"  {prefix}{name}  ", (description, "dim")) for name, description in names if name != kind]
    print_lines(lines)
