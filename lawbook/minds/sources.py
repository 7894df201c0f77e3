"""Minds by name, `name` or `name:argument`, through the entry points of the group `lawbook.minds`."""

from __future__ import annotations

from lawbook import plugins
from lawbook.errors import UsageError
from lawbook.minds.mind import Mind, MindSource

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


def make_mind(text: str) -> Mind:
    """The mind called `name` or `name:argument`. Raises UsageError."""
    name, _, argument = text.partition(":")
    return mind_source(name).make(argument)
