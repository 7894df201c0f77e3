"""Entry points: how worlds and minds are found, ours and anybody's, through one door. Loads nothing until it is asked to."""

from __future__ import annotations

import difflib
import importlib.util
import re
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

from lawbook.errors import UsageError

_EXTRA = re.compile(r"""^([A-Za-z0-9_.-]+).*;.*\bextra == ['"]([^'"]+)['"]""")


def nearest(word: str, known: Iterable[str]) -> str:
    """` Did you mean 'demo'?` where something known is close to `word`, else an empty string. Starts with a space."""
    close = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""


def offered(group: str) -> dict[str, EntryPoint]:
    """Every name on offer in `group`, nothing loaded. Raises UsageError when two packages offer different things under one name."""
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise UsageError(
                f"Two packages offer {entry.name!r} in {group} ({other.value} and {entry.value}); uninstall one of them."
            )
    return found


def load(entry: EntryPoint, what: str) -> object:
    """What the entry point names. what: `gym: worlds`, for the sentence. Raises UsageError when it is not to be had."""
    try:
        return entry.load()
    except ImportError as error:
        raise UsageError(missing(entry, what, error)) from error
    except AttributeError as error:
        raise UsageError(f"The entry point {entry.value} of {what} leads nowhere; mend or uninstall it.") from error


def missing(entry: EntryPoint | None, what: str, error: ImportError) -> str:
    """The sentence for a package that is not installed; names the extra that brings it, where its distribution declares one."""
    package = (error.name or "").partition(".")[0]
    if not package:
        return f"{what} could not be imported ({error}); mend or reinstall the package they come from."
    found = [match for line in (entry.dist.requires or []) if (match := _EXTRA.match(line))] if entry and entry.dist else []
    extras = [match[2] for match in found if match[1].lower().replace("-", "_") == package.lower()]
    if entry and entry.dist and extras:
        extra = min(extras, key=lambda extra: (extra == "all", extra))  # the narrowest: builders write `all` out in full
        install = f"pip install '{entry.dist.name}[{extra}]' (in a clone: pip install '.[{extra}]')"
        return f"{what} need {package}, which is not installed; {install} brings it."
    return f"{what} need the Python module {package}, which is not installed; install the package that holds it."


def absent(entry: EntryPoint, kind: str, source: object) -> str:
    """The same sentence about a source that is listed without the package it names as its `package`; empty when that is there."""
    package = str(getattr(source, "package", ""))
    if not package or importlib.util.find_spec(package.partition(".")[0]) is not None:
        return ""
    return missing(entry, f"{kind}: worlds", ImportError(name=package))
