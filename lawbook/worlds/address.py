"""World addresses, `scheme:name?option=value&option=value`, and the entry points behind the schemes.

A scheme is an entry point in the group `lawbook.worlds`; the built-in ones use the same door as anybody's. Besides, `py:` names a
source by import path, to try one out before it is packaged: `py:package.module:SOURCE/name?option=value`, looked up where Python
looks and then in the working directory.

Nothing here imports an environment; `make` does, and belongs in the world's own process.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from pathlib import Path

from lawbook.core import plugins
from lawbook.errors import UsageError
from lawbook.worlds.world import World, WorldSource

GROUP = "lawbook.worlds"
ENVIRONMENTS = "lawbook.world_environments"
"""Entry points, by scheme, that say what of our environment variables a world's own process is given besides the usual."""
BY_PATH = "py"

_SCHEME = re.compile(r"[a-z][a-z0-9_-]*")
_OPTION = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_HINT = "`lawbook worlds` lists what there is."


@dataclass(frozen=True)
class WorldAddress:
    """Which world, and how it is set. `str()` gives the address back as it was written."""

    scheme: str
    name: str
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> WorldAddress:
        """Read `scheme:name?option=value&option=value`. Raises UsageError with a sentence where it is malformed."""
        scheme, colon, rest = text.strip().partition(":")
        if not colon or not _SCHEME.fullmatch(scheme):
            raise UsageError(f"{text!r} is no world; write a kind, a colon and a name, such as demo:maze?seed=3. {_HINT}")
        name, mark, tail = rest.partition("?")
        if not name or re.search(r"\s", name):
            raise UsageError(f"{text!r} names no world after {scheme + ':'!r}; write one, without spaces. {_HINT}")
        options: dict[str, str] = {}
        for part in tail.split("&") if mark else ():
            key, equals, value = part.partition("=")
            if not equals or not value or not _OPTION.fullmatch(key):
                raise UsageError(f"{part!r} in {text!r} is no option; write option=value, and & between two.")
            if key in options:
                raise UsageError(f"{text!r} sets {key!r} twice; keep one.")
            options[key] = value
        return cls(scheme, name, options)

    def __str__(self) -> str:
        options = "&".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.scheme}:{self.name}" + (f"?{options}" if options else "")


def load_world_source(scheme: str) -> WorldSource:
    """Load the source behind a scheme: for `lawbook worlds` and for `make_world`. Raises UsageError when it is not to be had."""
    entry = _find_entry_point(scheme)
    return _require_source(plugins.load_entry_point(entry, f"{scheme}: worlds"), entry.value)


def check_scheme(address: WorldAddress) -> None:
    """Refuse an unknown scheme before any process is started; loads nothing. Raises UsageError with the nearest known one."""
    if address.scheme != BY_PATH:
        _find_entry_point(address.scheme)


def make_world(address: WorldAddress) -> World:
    """Build the world, in this process. Raises UsageError for an unknown name, a bad option, a missing package."""
    entry = None if address.scheme == BY_PATH else _find_entry_point(address.scheme)
    source, name = (load_world_source(address.scheme), address.name) if entry else _load_by_path(address)
    try:
        return source.make(name, address.options)
    except ImportError as error:
        raise UsageError(plugins.format_missing_package(entry, f"{address.scheme}: worlds", error)) from error


def world_environment(address: WorldAddress, ticket: str = "") -> dict[str, str]:
    """Return environment variables for the world's own process besides the usual, by the scheme's entry point in `ENVIRONMENTS`.

    ticket: how a play that goes on elsewhere is taken up again; empty where there is none.
    """
    entry = plugins.list_entry_points(ENVIRONMENTS).get(address.scheme)
    if entry is None:
        return {}
    hook = plugins.load_entry_point(entry, f"{address.scheme}: worlds")
    assert callable(hook)
    environment: dict[str, str] = hook(address, ticket)
    return environment


def make_unknown_error(scheme: str, name: str, known: Collection[str]) -> UsageError:
    """Make what a source raises for a name it does not have."""
    return UsageError(f"There is no world {scheme}:{name}.{plugins.suggest_name(name, known)} There is: {', '.join(known)}.")


def _find_entry_point(scheme: str) -> EntryPoint:
    schemes = plugins.list_entry_points(GROUP)
    if scheme not in schemes:
        raise UsageError(f"There is no kind of world called {scheme!r}.{plugins.suggest_name(scheme, schemes)} {_HINT}")
    return schemes[scheme]


def _load_by_path(address: WorldAddress) -> tuple[WorldSource, str]:
    module, colon, rest = address.name.partition(":")
    attribute, slash, name = rest.partition("/")
    if not (module and colon and attribute and slash and name):
        raise UsageError(f"{address} names no source; write py:package.module:SOURCE/name.")
    working_folder = str(Path.cwd())
    if working_folder not in sys.path:
        sys.path.append(working_folder)  # last, so that a file lying about here shadows nothing
    try:
        source = getattr(importlib.import_module(module), attribute)
    except ImportError as error:
        raise UsageError(f"{address}: {module} could not be imported ({error}); check its name and where Python looks.") from error
    except AttributeError as error:
        raise UsageError(f"{address}: {module} has no {attribute}; name the object that makes worlds.") from error
    return _require_source(source, f"{module}:{attribute}"), name


def _require_source(source: object, origin: str) -> WorldSource:
    if not isinstance(source, WorldSource):
        raise UsageError(f"{origin} makes no worlds; it needs a summary, names() and make(name, options).")
    return source
