"""Minds by name, `name` or `name:argument`, through the entry points of the group `lawbook.minds`."""

from __future__ import annotations

from lawbook.core import plugins
from lawbook.errors import UsageError
from lawbook.minds.base import Mind, MindSource

GROUP = "lawbook.minds"


def mind_names() -> list[str]:
    return list(plugins.offered(GROUP))


def mind_source(name: str) -> MindSource:
    """Raises UsageError for one that is not there or cannot be had."""
    known = plugins.offered(GROUP)
    if name not in known:
        raise UsageError(f"There is no mind {name!r}.{plugins.nearest(name, known)} There is: {', '.join(known)}.")
    source = plugins.load(known[name], f"{name} minds")
    if not isinstance(source, MindSource):
        raise UsageError(f"{known[name].value} makes no minds; it needs a summary, names() and make(argument).")
    return source


def make_mind(text: str, *, images: bool = False) -> Mind:
    """The mind called `name` or `name:argument`. images: one that is shown pictures too. Raises UsageError."""
    name, _, argument = text.partition(":")
    source = mind_source(name)
    if not images:
        return source.make(argument)
    if not getattr(source, "pictures", False):
        raise UsageError(f"The mind {name} takes no pictures; leave out --images.")
    mind: Mind = source.make(argument, images=True)  # type: ignore[call-arg]
    return mind
