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
_SEE = "`lawbook worlds` lists what there is."


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
            raise UsageError(f"{text!r} is no world; write a kind, a colon and a name, such as demo:maze?seed=3. {_SEE}")
        name, mark, tail = rest.partition("?")
        if not name or re.search(r"\s", name):
            raise UsageError(f"{text!r} names no world after {scheme + ':'!r}; write one, without spaces. {_SEE}")
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


def world_source(scheme: str) -> WorldSource:
    """The source behind a scheme, loaded: for `lawbook worlds` and for `make`. Raises UsageError when it is not to be had."""
    entry = _entry(scheme)
    return _as_source(plugins.load(entry, f"{scheme}: worlds"), entry.value)


def check(address: WorldAddress) -> None:
    """Refuse an unknown scheme before any process is started; loads nothing. Raises UsageError with the nearest known one."""
    if address.scheme != BY_PATH:
        _entry(address.scheme)


def make(address: WorldAddress) -> World:
    """Build the world, in this process. Raises UsageError for an unknown name, a bad option, a missing package."""
    entry = None if address.scheme == BY_PATH else _entry(address.scheme)
    source, name = (world_source(address.scheme), address.name) if entry else _by_path(address)
    try:
        return source.make(name, address.options)
    except ImportError as error:
        raise UsageError(plugins.missing(entry, f"{address.scheme}: worlds", error)) from error


def world_environment(address: WorldAddress, ticket: str = "") -> dict[str, str]:
    """Environment variables for the world's own process besides the usual, by the scheme's entry point in `ENVIRONMENTS`.

    ticket: how a play that goes on elsewhere is taken up again; empty where there is none.
    """
    entry = plugins.offered(ENVIRONMENTS).get(address.scheme)
    if entry is None:
        return {}
    hook = plugins.load(entry, f"{address.scheme}: worlds")
    assert callable(hook)
    environment: dict[str, str] = hook(address, ticket)
    return environment


def unknown(scheme: str, name: str, known: Collection[str]) -> UsageError:
    """What a source raises for a name it does not have."""
    return UsageError(f"There is no world {scheme}:{name}.{plugins.nearest(name, known)} There is: {', '.join(known)}.")


def _entry(scheme: str) -> EntryPoint:
    known = plugins.offered(GROUP)
    if scheme not in known:
        raise UsageError(f"There is no kind of world called {scheme!r}.{plugins.nearest(scheme, known)} {_SEE}")
    return known[scheme]


def _by_path(address: WorldAddress) -> tuple[WorldSource, str]:
    module, colon, rest = address.name.partition(":")
    attribute, slash, name = rest.partition("/")
    if not (module and colon and attribute and slash and name):
        raise UsageError(f"{address} names no source; write py:package.module:SOURCE/name.")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # last, so that a file lying about here shadows nothing
    try:
        source = getattr(importlib.import_module(module), attribute)
    except ImportError as error:
        raise UsageError(f"{address}: {module} could not be imported ({error}); check its name and where Python looks.") from error
    except AttributeError as error:
        raise UsageError(f"{address}: {module} has no {attribute}; name the object that makes worlds.") from error
    return _as_source(source, f"{module}:{attribute}"), name


def _as_source(source: object, where: str) -> WorldSource:
    if not isinstance(source, WorldSource):
        raise UsageError(f"{where} makes no worlds; it needs a summary, names() and make(name, options).")
    return source
