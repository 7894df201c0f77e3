"""Entry points: how worlds and minds are found, ours and anybody's, through one door. Loads nothing until it is asked to."""

from __future__ import annotations

import difflib
import importlib.util
import re
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

from lawbook.errors import UsageError

_EXTRA = re.compile(r"""^([A-Za-z0-9_.-]+).*;.*\bextra == ['"]([^'"]+)['"]""")


def suggest_name(name: str, known: Iterable[str]) -> str:
    """` Did you mean 'demo'?` where something known is close to `word`, else an empty string. Starts with a space."""
    matches = difflib.get_close_matches(name.lower(), list(known), n=1, cutoff=0.5)
    return f" Did you mean {matches[0]!r}?" if matches else ""


def list_entry_points(group: str) -> dict[str, EntryPoint]:
    """Every name on offer in `group`, nothing loaded. Raises UsageError when two packages offer different things under one name."""
    entries: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
        existing = entries.setdefault(entry.name, entry)
        if existing.value != entry.value:
            raise UsageError(
                f"Two packages offer {entry.name!r} in {group} ({existing.value} and {entry.value}); uninstall one of them."
            )
    return entries


def load_entry_point(entry: EntryPoint, label: str) -> object:
    """What the entry point names. label: `gym: worlds`, for the sentence. Raises UsageError when it is not to be had."""
    try:
        return entry.load()
    except ImportError as error:
        raise UsageError(format_missing_package(entry, label, error)) from error
    except AttributeError as error:
        raise UsageError(f"The entry point {entry.value} of {label} leads nowhere; mend or uninstall it.") from error


def format_missing_package(entry: EntryPoint | None, label: str, error: ImportError) -> str:
    """The sentence for a package that is not installed; names the extra that brings it, where its distribution declares one."""
    package = (error.name or "").partition(".")[0]
    if not package:
        return f"{label} could not be imported ({error}); mend or reinstall the package they come from."
    matches = [match for line in (entry.dist.requires or []) if (match := _EXTRA.match(line))] if entry and entry.dist else []
    extras = [match[2] for match in matches if match[1].lower().replace("-", "_") == package.lower()]
    if entry and entry.dist and extras:
        extra = min(extras, key=lambda extra: (extra == "all", extra))  # the narrowest: builders write `all` out in full
        install = f"pip install '{entry.dist.name}[{extra}]' (in a clone: pip install '.[{extra}]')"
        return f"{label} need {package}, which is not installed; {install} brings it."
    return f"{label} need the Python module {package}, which is not installed; install the package that holds it."


def describe_missing_package(entry: EntryPoint, kind: str, source: object) -> str:
    """The same sentence about a source that is listed without the package it names as its `package`; empty when that is there."""
    package = str(getattr(source, "package", ""))
    if not package or importlib.util.find_spec(package.partition(".")[0]) is not None:
        return ""
    return format_missing_package(entry, f"{kind}: worlds", ImportError(name=package))
